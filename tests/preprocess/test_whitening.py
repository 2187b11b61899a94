"""Differences at the times of torques, even and uneven."""

from dataclasses import replace

import numpy as np
import pytest
from test_rts import log_of

from robotid_sim.preprocess.whitening import NODES, Stencil

DT = 0.02


def quintic(t):
    """Return a polynomial that six samples determine, with its derivatives, columns of one."""
    p = np.polynomial.Polynomial([0.3, -1.0, 2.0, 0.7, -3.0, 1.5])
    return [p.deriv(k)(t)[:, None] if k else p(t)[:, None] for k in range(3)]


def log(offset, uneven):
    t = np.arange(50) * DT
    even = replace(log_of(quintic(t)[0], DT), torque_time_offset=offset)
    if not uneven:
        return even
    late = np.random.default_rng(0).uniform(-0.5, 0.5, t.size) * DT
    return replace(even, torque_times=t + late)


@pytest.mark.parametrize("offset", [0.0, 0.7 * DT, -2.3 * DT])
@pytest.mark.parametrize("uneven", [False, True])
def test_differences_of_a_quintic_are_exact_at_the_torque_times(offset, uneven):
    it = log(offset, uneven)
    inner = slice(8, -8)
    for found, exact in zip(Stencil.of(it).motion(it.q), quintic(it.action_times), strict=True):
        assert np.allclose(found[inner], exact[inner], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("uneven", [False, True])
def test_slopes_are_those_of_a_torque_by_its_samples(uneven):
    it, rng = log(0.3 * DT, uneven), np.random.default_rng(0)
    stencil, partial = Stencil.of(it), rng.standard_normal((3, it.t.size, 1))
    slopes = stencil.slopes(partial)
    assert slopes.shape == (it.t.size, 1, NODES.size)
    n = np.zeros_like(it.q)
    n[8:-8] = rng.standard_normal((it.t.size - 16, 1))
    torque = sum(p * x for p, x in zip(partial, stencil.motion(n), strict=True))
    x = rng.standard_normal(n.shape)
    adjoint = stencil.transposed(slopes, x)
    assert (adjoint * n).sum() == pytest.approx((x * torque).sum(), rel=1e-9)
