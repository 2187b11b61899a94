"""Compiled friction: closed forms, passivity, the complementarity problem of sticking joints."""

import numpy as np
import pytest
from friction_oracle import friction_torque

from robotid_sim.dynamics.friction_kernels import smooth_acceleration, stick_slip_acceleration
from robotid_sim.model.friction_laws import (
    COLUMNS,
    FRICTION_LAWS,
    Asymmetric,
    LoadDependent,
    SmoothCoulomb,
    Stribeck,
    column,
)

SMOOTH = [name for name in FRICTION_LAWS if not FRICTION_LAWS[name].sticks]


def numbers(robot):
    """Return Fv, Fc, Fo, eps of every joint."""
    laws = [joint.friction for joint in robot.joints]
    return (np.array([getattr(law, name) for law in laws]) for name in ("Fv", "Fc", "Fo", "eps"))


def states(dof, seed=0):
    rng = np.random.default_rng(seed)
    dq = rng.standard_normal((500, dof)) * rng.choice([1e-3, 0.1, 2.0], (500, 1))
    return dq, 50.0 * rng.standard_normal((500, dof))


def test_laws_are_their_formulas(irb140):
    Fv, Fc, Fo, eps = numbers(irb140)
    dq, load = states(6)
    sign, forward = np.tanh(dq / eps), dq >= 0.0
    falling = 0.4 * Fc * np.exp(-(np.abs(dq / 0.2) ** 1.5))
    for law, wanted in (
        (SmoothCoulomb(), Fv * dq + Fc * sign + Fo),
        (Stribeck(static=1.4, velocity=0.2, shape=1.5), Fv * dq + (Fc + falling) * sign + Fo),
        (
            Asymmetric(coulomb=0.3, viscous=-0.2),
            np.where(forward, 0.8, 1.2) * Fv * dq + np.where(forward, 1.3, 0.7) * Fc * sign + Fo,
        ),
        (LoadDependent(share=0.07), Fv * dq + (Fc + 0.07 * np.abs(load)) * sign + Fo),
    ):
        found = friction_torque(law.coefficients(irb140), dq, load)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
    own = [joint.friction.torque(dq[:, j]) for j, joint in enumerate(irb140.joints)]
    found = friction_torque(SmoothCoulomb().coefficients(irb140), dq, load)
    np.testing.assert_allclose(found, np.column_stack(own), rtol=1e-13)


@pytest.mark.parametrize("name", SMOOTH)
def test_friction_takes_power_at_every_velocity(irb140, name):
    rows = FRICTION_LAWS.build(name).coefficients(irb140)
    rows[:, COLUMNS.index("Fo")] = 0.0  # an offset is no friction
    dq, load = states(6, seed=1)
    assert (friction_torque(rows, dq, load) * dq >= 0.0).all()


def problem(rng, n):
    """Return a random mass matrix, rotors, torques and coefficients, some joints at rest."""
    A = rng.standard_normal((n, n))
    M = (A @ A.T + 1e-3 * np.eye(n)) * 10.0 ** rng.uniform(-2.0, 1.0)
    rows = np.ones((n, len(COLUMNS)))
    rows[:, COLUMNS.index("load")] = 0.0
    for side in ("forward", "backward"):
        limit = rng.uniform(0.0, 5.0, n) * (rng.random(n) < 0.9)
        for name in ("Fc", "Fs"):
            rows[:, COLUMNS.index(f"{name}_{side}")] = limit
    dq = rng.standard_normal(n) * rng.choice([0.0, 1e-3, 1.0], n)
    return M, rng.uniform(0.0, 0.2, n), 3.0 * rng.standard_normal(n), rows, dq


def test_sticking_and_sliding_joints_satisfy_coulombs_law_together():
    rng = np.random.default_rng(0)
    dt, stuck = 2.5e-4, 0
    for _ in range(500):
        n = int(rng.integers(1, 8))
        M, rotor, rest, rows, dq = problem(rng, n)
        ddq, friction, ok = stick_slip_acceleration(M, rotor, rest, rows, dq, dt)
        assert ok
        after = dq + dt * ddq
        forward, backward = column(rows, "Fc_forward"), column(rows, "Fc_backward")
        still = np.abs(after) < 1e-11  # rounding of 1 rad/s through a condition of 1e4
        stuck += still.sum()
        np.testing.assert_allclose(friction[after > 1e-11], forward[after > 1e-11])
        np.testing.assert_allclose(friction[after < -1e-11], -backward[after < -1e-11])
        assert (friction[still] <= forward[still] + 1e-9).all()
        assert (friction[still] >= -backward[still] - 1e-9).all()
        assert friction @ after >= -1e-9  # it never drives
        size = np.abs(rest).max() + np.abs(M).max() * np.abs(ddq).max()
        residual = (M + np.diag(rotor)) @ ddq + friction - rest
        assert np.abs(residual).max() < 1e-12 * size
    assert 300 < stuck < 1000  # the problems are neither all stuck nor all sliding


def test_friction_and_transmitted_torque_are_solved_together(irb140):
    rng = np.random.default_rng(2)
    rows = LoadDependent(share=0.2).coefficients(irb140)
    for _ in range(50):
        M, rotor, tau, _, _ = problem(rng, 6)
        h, v = 20.0 * rng.standard_normal(6), rng.standard_normal(6)
        ddq, friction, ok = smooth_acceleration(M, rotor, tau, h, rows, v)
        assert ok
        load = M @ ddq + h
        size = np.abs(load).max()
        wanted = friction_torque(rows, v[None], load[None])[0]
        np.testing.assert_allclose(friction, wanted, rtol=0.0, atol=1e-11 * size)
        np.testing.assert_allclose(load + rotor * ddq + friction, tau, atol=1e-11 * size)
