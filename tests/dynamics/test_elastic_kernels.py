"""Compiled friction: closed forms, passivity, the complementarity problem of sticking joints."""

import numpy as np
import pytest
from friction_oracle import friction_torque

from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.dynamics.elastic_kernels import stick_slip_acceleration
from robotid_sim.model.friction_law import (
    COLUMNS,
    FRICTION_LAWS,
    Asymmetric,
    LoadDependent,
    SmoothCoulomb,
    Stribeck,
    column,
)
from robotid_sim.model.geometry import Link
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot

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
        forward, backward = column(rows, "Fc_forward"), column(rows, "Fc_backward")
        drive, limit = M + np.diag(rotor), np.column_stack([forward, backward])
        ddq, friction, ok = stick_slip_acceleration(drive, rest, limit, dq, dt)
        assert ok
        after = dq + dt * ddq
        still = np.abs(after) < 1e-11  # rounding of 1 rad/s through a condition of 1e4
        stuck += still.sum()
        np.testing.assert_allclose(friction[after > 1e-11], forward[after > 1e-11])
        np.testing.assert_allclose(friction[after < -1e-11], -backward[after < -1e-11])
        assert (friction[still] <= forward[still] + 1e-9).all()
        assert (friction[still] >= -backward[still] - 1e-9).all()
        assert friction @ after >= -1e-9  # it never drives
        size = np.abs(rest).max() + np.abs(M).max() * np.abs(ddq).max()
        residual = drive @ ddq + friction - rest
        assert np.abs(residual).max() < 1e-12 * size
    assert 300 < stuck < 1000  # the problems are neither all stuck nor all sliding


def step(robot, rows, q, dq, tau, dt=2.5e-4):
    """Return acceleration, velocity and friction of a step, of which the torques are exact."""
    model = (robot.geometry, robot.gravity, robot.parameters(), rows)
    held, ddq, v, friction, ok = kernels.plant_step(*model, q, dq, tau, dt)
    assert ok
    load = rigid_body_torque(robot, q, v, ddq)
    size = np.abs(load).max() + np.abs(tau).max()
    wanted = friction_torque(rows, v[None], load[None])[0]
    np.testing.assert_allclose(friction, wanted, rtol=0.0, atol=1e-11 * size)
    rotor = np.array([joint.rotor_inertia for joint in robot.joints])
    np.testing.assert_allclose(load + rotor * ddq + friction, tau, rtol=0.0, atol=1e-11 * size)
    engine = rigid_body_torque(robot, q, dq, ddq)  # what a frictionless engine accelerates with
    np.testing.assert_allclose(held, engine, rtol=0.0, atol=1e-11 * size)
    return ddq, v, friction


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("dt", [0.0, 2.5e-4])
def test_a_step_obeys_the_equation_of_motion_at_its_velocity(irb140, name, dt):
    rng = np.random.default_rng(2)
    law = LoadDependent(share=0.2) if name == "load-dependent" else FRICTION_LAWS.build(name)
    rows = law.coefficients(irb140)
    for dq in rng.standard_normal((50, 6)) * rng.choice([0.0, 1e-3, 1.0], (50, 1)):
        q = rng.uniform(irb140.limits.lower, irb140.limits.upper)
        ddq, v, _ = step(irb140, rows, q, dq, 30.0 * rng.standard_normal(6), dt)
        share = (v - dq) / np.where(ddq == 0.0, 1.0, ddq) / (dt or 1.0)
        moved = np.abs(ddq) > 1e-3
        assert (share[moved] >= 0.4999 * (dt > 0.0)).all()
        assert (share[moved] <= 1.0001 * (dt > 0.0)).all()


@pytest.mark.parametrize("stiff", [1.0, 1e2, 1e4])
def test_stiff_friction_of_coupled_joints_is_solved_wherever_a_step_starts(irb140, stiff):
    rng = np.random.default_rng(3)
    rows = SmoothCoulomb().coefficients(irb140)
    rows[:, [COLUMNS.index(f"F{k}_{s}") for k in "cs" for s in ("forward", "backward")]] *= stiff
    for dq in rng.standard_normal((200, 6)) * 10.0 ** rng.uniform(-4.0, 0.5, (200, 6)):
        q = rng.uniform(irb140.limits.lower, irb140.limits.upper)
        tau = 30.0 * rng.standard_normal(6)
        ddq, v, _ = step(irb140, rows, q, dq, tau)
        # Not only at that velocity: it lies within the step that the acceleration makes.
        moved = np.abs(2.5e-4 * ddq) > 0.01 * max(0.1, np.abs(2.5e-4 * ddq).max())
        share = (v - dq)[moved] / (2.5e-4 * ddq[moved])
        assert (share > 0.49).all()
        assert (share < 1.01).all()


@pytest.mark.parametrize("z", [1e-4, 1e-2, 1.0, 1.9, 2.1, 30.0, 1e4])
def test_linear_friction_takes_what_the_way_takes_and_never_turns_a_joint(z):
    one, dt = rigid_joint(), 1e-3
    rows = SmoothCoulomb().coefficients(one)
    rows[:, :2] = Fv = 0.5 * z / dt  # on an inertia of 0.5
    ddq, v, _ = step(one, rows, np.zeros(1), np.ones(1), np.zeros(1), dt)
    end = 1.0 + dt * ddq[0]
    if z <= 2.0:
        assert 0.5 * (end - 1.0) == pytest.approx(-Fv * dt * 0.5 * (1.0 + end), rel=1e-9)
    assert end == pytest.approx(max(0.0, (2.0 - z) / (2.0 + z)), abs=1e-9)
    assert 0.0 < v[0] <= 1.0


def test_the_share_of_a_step_goes_from_half_to_one():
    assert kernels.friction_step_share(0.0) == kernels.friction_step_share(2.0) == 0.5
    z = np.geomspace(2.0, 1e8, 2000)
    shares = np.array([kernels.friction_step_share(value) for value in z.tolist()])
    assert (np.diff(shares) > 0.0).all()
    assert shares[-1] == pytest.approx(1.0, abs=1e-7)
    np.testing.assert_allclose((1.0 - shares) * z, 1.0, rtol=1e-6)  # the end is at rest


def rigid_joint():
    """Return a flywheel of 0.5 kg m^2 without friction or gravity."""
    phi = np.zeros(10)
    phi[0], phi[[4, 6, 9]] = 2.0, 0.5
    limits = {"lower": -9.0, "upper": 9.0, "velocity": 9.0, "acceleration": 90.0}
    axis = np.array([1.0, 0.0, 0.0])
    joint = Joint("joint", np.eye(4), axis, prismatic=False, **limits)
    return Robot("flywheel", (Link("body", phi),), (joint,), gravity=np.zeros(3))
