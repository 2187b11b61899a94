"""Computed torque: exact with the exact model, bounded with a wrong one, critically damped."""

from dataclasses import replace

import numpy as np
import pytest
from loops import some_state

from robotid_sim.control.controller import Setpoint
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.joint import Friction


def test_without_error_the_torque_is_the_inverse_dynamics(robot):
    q, dq, ddq = some_state(robot, 1)
    tau = ComputedTorque(robot)(0.0, q, dq, Setpoint(q, dq, ddq))
    wanted = joint_torque(robot, q, dq, ddq)
    np.testing.assert_allclose(tau, wanted, rtol=1e-12, atol=1e-10)  # rounding


def test_errors_pass_through_mass_and_gains(robot):
    q, dq, ddq = some_state(robot, 2)
    e, de = some_state(robot, 3)[1:]
    controller = ComputedTorque(robot, kp=400.0, kd=40.0)
    with_error = controller(0.0, q - e, dq, Setpoint(q, dq, ddq))
    without = controller(0.0, q - e, dq, Setpoint(q - e, dq, ddq))
    M = mass_matrix(robot, q - e)
    scale = np.abs(M).max() * 400.0
    rounding = 1e-12 * max(scale, 1.0)
    np.testing.assert_allclose(with_error - without, M @ (400.0 * e), atol=10 * rounding)
    rate = controller(0.0, q, dq - de, Setpoint(q, dq - de, ddq + 40.0 * de))
    damped = controller(0.0, q, dq - de, Setpoint(q, dq, ddq))
    friction = joint_torque(robot, q, dq, 0 * q) - joint_torque(robot, q, dq - de, 0 * q)
    rigid = replace(robot, joints=tuple(replace(j, friction=Friction()) for j in robot.joints))
    friction -= joint_torque(rigid, q, dq, 0 * q) - joint_torque(rigid, q, dq - de, 0 * q)
    # The damped law differs only by friction, which is taken at the reference velocity.
    np.testing.assert_allclose(damped - rate, friction, atol=100 * rounding)


def test_exact_model_tracks_to_the_held_torque(arm):
    options = FourierOptions(period=5.0, periods=1)
    trajectory = random_feasible(arm, np.random.default_rng(0), options)
    with Plant(arm) as plant:
        log = rollout(plant, ComputedTorque(arm), trajectory)
    error = np.abs(log.q - trajectory(log.t).q).max()
    # A torque held over dt is dt/2 late on average: e = (d tau/dt / M) dt / (2 kp), at friction
    # reversals some 500 rad/s^3 * 1e-3 / 5000 = 1e-4 rad (4e-5 measured).
    assert error < 1e-4


def test_error_of_a_wrong_model_is_bounded_by_the_torque_mismatch(experiment, arm):
    virtual = experiment(arm)
    reference = virtual.trajectory(virtual.log.t)
    error = np.abs(virtual.log.q - reference.q).max(axis=0)
    state = (reference.q, reference.dq, reference.ddq)
    mismatch = joint_torque(virtual.plant, *state) - joint_torque(virtual.nominal, *state)
    M = mass_matrix(virtual.nominal, reference.q)
    wanted = np.linalg.solve(M, mismatch[..., None])[..., 0]
    # e = (s^2 + kd s + kp)^-1 M^-1 mismatch, whose largest gain is 1/kp; friction at the true
    # velocity instead of the reference adds to the mismatch, hence the factor.
    assert (error < 2.0 * np.abs(wanted).max(axis=0) / 2500.0).all()
    assert (error > 1e-4).all()  # the nominal is wrong indeed


def test_an_error_decays_like_a_critically_damped_oscillator(arm):
    frictionless = replace(arm, joints=tuple(replace(j, friction=Friction()) for j in arm.joints))
    start, goal = np.array([0.02, -0.01]), np.zeros(2)
    controller = ComputedTorque(frictionless)
    with Plant(frictionless) as plant:
        plant.reset(start, np.zeros(2))
        path = []
        for k in range(150):
            path.append(plant.q)
            plant.step(controller(k * plant.dt, plant.q, plant.dq, Setpoint(goal, goal, goal)))
    t = np.arange(150)[:, None] * 1e-3
    wanted = start * (1.0 + 50.0 * t) * np.exp(-50.0 * t)
    # The hold delays the loop by dt/2 of its time constant 1/50 s: 2.5 %, at most twice.
    assert np.abs(np.array(path) - wanted).max() < 0.05 * np.abs(start).max()


def test_friction_follows_the_reference_and_not_the_noise(arm):
    q = some_state(arm, 4)[0]
    controller = ComputedTorque(arm, kp=0.0, kd=0.0)
    still, creeping = (
        controller(0.0, q, v, Setpoint(q, np.zeros(2), np.zeros(2)))
        for v in (np.zeros(2), np.full(2, 1e-6))
    )
    # Coulomb friction at the measured velocity would change by Fc 1e-6 / eps = 1e-4 N m.
    np.testing.assert_allclose(still, creeping, atol=1e-8)


@pytest.mark.parametrize("gains", [{"kp": -1.0}, {"kd": -1.0}, {"kp": float("nan")}])
def test_negative_gains_are_refused(arm, gains):
    with pytest.raises(OptionError, match="gains must not be negative"):
        ComputedTorque(arm, **gains)
