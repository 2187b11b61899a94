"""Spectral radii against Poli's closed form, against simulated particles, and for all defaults."""

import numpy as np
import pytest

from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.optim.qpso import LARGEST_CONTRACTION
from robotid_sim.optim.stability import (
    Moving,
    order2_limit,
    pid_map,
    spectral_radius,
    stability,
    swarm_map,
)

WITH_VELOCITY = [name for name in OPTIMIZERS if isinstance(OPTIMIZERS.build(name), Moving)]

STABLE_THROUGHOUT = {"bso", "constriction-pso", "pso", "rwpso", "sedsabso"}


@pytest.mark.parametrize("w", [-0.5, 0.0, 0.3, 0.5, 0.7298, 0.9, 0.99])
def test_order_2_region_ends_where_poli_says(w):
    limit = order2_limit(w)
    assert swarm_map(w, 0.499 * limit, 0.499 * limit).order2() < 1.0
    assert swarm_map(w, 0.501 * limit, 0.501 * limit).order2() > 1.0
    assert swarm_map(w, limit / 2.0, limit / 2.0).order2() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("w", [-0.5, 0.0, 0.5, 0.9])
def test_order_1_region_ends_at_the_classical_line(w):
    limit = 4.0 * (1.0 + w)  # mean pull 2 (1 + w)
    assert swarm_map(w, 0.499 * limit, 0.499 * limit).order1() < 1.0
    assert swarm_map(w, 0.501 * limit, 0.501 * limit).order1() > 1.0


def test_order_2_is_the_narrower_region():
    for w in np.linspace(-0.9, 0.9, 7):
        for c in np.linspace(0.1, 3.0, 7):
            both = swarm_map(w, c, c)
            assert both.order2() >= both.order1() - 1e-12  # rounding


def measured_moments(step, states, particles=1_000_000):
    """Return E[A (x) A] of a random linear step, from its action on many unit vectors."""
    rng = np.random.default_rng(0)
    columns = []
    for first in np.eye(states):
        for second in np.eye(states):
            # One draw of A acts on both vectors.
            images = step(first[:, None], second[:, None], rng, particles // states**2)
            columns.append(np.mean(images[0][:, None] * images[1][None, :], axis=2).ravel())
    return np.column_stack(columns)


def pulls(c1, c2, rng, count):
    return c1 * rng.random(count) + c2 * rng.random(count)


def test_second_moments_are_those_of_simulated_particles():
    w, c1, c2 = 0.5, 2.3, 1.2

    def step(one, two, rng, count):
        u, inertia = pulls(c1, c2, rng, count), w + 0.2 * rng.standard_normal(count)

        def move(x, v):
            v = inertia * v - u * x
            return np.array([x + v, v])

        return move(*one), move(*two)

    expected = swarm_map(w, c1, c2, w_variance=0.04).moments()
    # About five standard errors of a mean of 250,000 products of size one.
    np.testing.assert_allclose(measured_moments(step, 2), expected, atol=0.02)


def test_second_moments_of_the_pid_swarm_are_those_of_simulated_particles():
    w, c1, c2, kp, ki, kd = 0.6, 0.9, 1.1, 1.0, 0.05, 0.1

    def step(one, two, rng, count):
        u = pulls(c1, c2, rng, count)

        def move(x, v, last, total):
            E = -u * x
            total = total + E
            v = w * v + kp * E + ki * total + kd * (E - last)
            return np.array([x + v, v, E, total])

        return move(*one), move(*two)

    expected = pid_map(w, c1, c2, kp, ki, kd).moments()
    np.testing.assert_allclose(measured_moments(step, 4), expected, atol=0.02)


def test_pid_swarm_without_integral_and_derivative_is_the_usual_swarm():
    pid, usual = pid_map(0.7, 1.5, 1.2, 1.0, 0.0, 0.0), swarm_map(0.7, 1.5, 1.2)
    assert pid.order1() == pytest.approx(usual.order1())
    assert pid.order2() == pytest.approx(usual.order2())


def worst_radius(w, gains):
    """Return the largest radius for constant pulls up to 2."""
    return max(
        spectral_radius(pid_map(w, pull, pull, *gains).mean())
        for pull in np.linspace(0.05, 2.0, 40)
    )


def test_default_gains_of_elpidso_are_stable_for_every_constant_pull():
    for w in (0.9, 0.65, 0.4):
        assert worst_radius(w, (1.0, 0.05, 0.1)) < 0.98


@pytest.mark.parametrize(
    ("w", "gain", "radius"),
    [(0.65, 0.3, 1.24), (0.9, 0.5, 1.80), (0.65, 0.5, 2.20), (0.4, 0.5, 2.55)],
)
def test_large_gains_are_unstable_in_discrete_time_although_routh_hurwitz_holds(w, gain, radius):
    pull = 2.0  # the largest
    left = (1.0 - w + pull * (1.0 + gain)) * (1.0 + gain)
    assert left > (1.0 + pull * gain) * gain  # eq. (18) of Yan, Lu, Levy (2015)
    mean = pid_map(w, pull, pull, 1.0, gain, gain).mean()
    assert spectral_radius(mean) == pytest.approx(radius, abs=0.005)


@pytest.mark.parametrize("name", WITH_VELOCITY)
def test_every_default_ends_inside_the_order_2_region(name):
    along = stability(OPTIMIZERS.build(name))
    assert along.settles
    assert along.order1[-1] < 1.0
    assert (along.flags == ()) == (name in STABLE_THROUGHOUT)
    if name in STABLE_THROUGHOUT:
        assert along.order2.max() < 0.99


def test_every_swarm_with_velocities_has_a_map():
    assert set(WITH_VELOCITY) == STABLE_THROUGHOUT | {"elpidso", "ldw-pso", "mupso", "qpso-qubit"}


def test_the_mean_of_the_pid_swarm_is_stable_all_along():
    assert stability(OPTIMIZERS.build("elpidso")).order1.max() < 1.0


def test_linearly_decreasing_inertia_enters_the_region_when_it_passes_one_half():
    along = stability(OPTIMIZERS.build("ldw-pso"), steps=1000)
    assert order2_limit(0.5) == 4.0
    assert np.mean(along.order2 >= 1.0) == pytest.approx(0.8, abs=0.001)


def test_constriction_is_stable_of_order_2_beyond_4_07():
    for c in (4.08, 4.1, 4.5, 6.0, 12.0):
        swarm = OPTIMIZERS.build("constriction-pso", c1=c / 2.0, c2=c / 2.0)
        assert stability(swarm, steps=1).settles
    swarm = OPTIMIZERS.build("constriction-pso", c1=2.03, c2=2.03)
    assert not stability(swarm, steps=1).settles


def test_no_inertia_makes_the_pulls_of_the_published_rwpso_stable():
    for w in np.linspace(-1.0, 1.0, 201):
        assert swarm_map(w, 1.5, 3.0).order2() > 1.0


def test_the_delta_well_contracts_below_its_critical_coefficient():
    swarm = OPTIMIZERS.build("qpso-delta")
    assert swarm.alpha_end < swarm.alpha_start < LARGEST_CONTRACTION
    # ln of the factor alpha ln(1/u) by which the distance to the well changes, in the mean
    jump = np.random.default_rng(0).exponential(size=1_000_000)
    drift = np.log(LARGEST_CONTRACTION) + np.log(jump).mean()
    assert abs(drift) < 4.0 * np.log(jump).std() / 1000.0  # four standard errors
