"""Friction that is stiff against inertia: four sub-steps follow it, and how fast errors fall."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from robots import single, urdf_path

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.dynamics import forward_dynamics
from robotid_sim.engine.plant import MAX_SUBSTEPS, Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.model.joint import Friction
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import PointToPoint

pytestmark = pytest.mark.usefixtures("each_engine")

DT = 1e-3  # [s]
FC, EPS = 1.5, 0.03


def wrist(inertia: float) -> Robot:
    """Return a light wrist: with 2e-4 kg m^2, explicit friction needs 250 sub-steps."""
    return single(inertia=inertia, Fc=FC, eps=EPS)


def swung(robot: Robot, substeps: int, *, leapfrog: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity at every 1/5 ms while torque goes to and fro past friction."""
    positions, speeds = [], []
    with Plant(robot, dt=0.2 * DT, substeps=substeps, leapfrog=leapfrog) as plant:
        plant.reset(np.zeros(1), np.array([0.2]))
        for k in range(2500):
            plant.step(np.array([1.02 * FC * np.sin(2.0 * np.pi * 5.0 * 0.2 * DT * (k // 5))]))
            positions.append(plant.q[0])
            speeds.append(plant.dq[0])
    return np.array(positions), np.array(speeds)


@pytest.mark.parametrize("inertia", [2e-3, 2e-4])
def test_a_light_joint_with_stiff_friction_moves_as_with_many_explicit_sub_steps(inertia) -> None:
    robot = wrist(inertia)
    q, dq = swung(robot, 1)
    q_fine, dq_fine = swung(robot, MAX_SUBSTEPS, leapfrog=False)
    assert np.abs(q - q_fine).max() < 0.01 * np.ptp(q_fine)
    assert np.sqrt(((dq - dq_fine) ** 2).mean()) < 0.01 * dq_fine.std()
    assert dq_fine.std() > EPS  # it moves


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("inertia", [2e-3, 2e-5])
def test_a_joint_that_stops_does_not_chatter(inertia, substeps) -> None:
    with Plant(wrist(inertia), dt=DT / substeps, substeps=1) as plant:
        plant.reset(np.zeros(1), np.array([2.0]))
        speeds = []
        for _ in range(200):
            plant.step(np.zeros(1))
            speeds.append(plant.dq[0])
    dq = np.array(speeds)
    turned = np.abs(dq[1:][dq[1:] * dq[:-1] < 0.0])
    assert (turned > 1e-3 * EPS).sum() <= 2
    assert (turned < 0.5 * EPS).all()  # no bounce back
    assert np.abs(dq[-1]) < 1e-9


def test_explicit_friction_does_chatter() -> None:
    with Plant(wrist(2e-3), dt=DT / 4, substeps=1, leapfrog=False) as plant:
        plant.reset(np.zeros(1), np.array([0.2]))
        speeds = []
        for _ in range(200):
            plant.step(np.zeros(1))
            speeds.append(plant.dq[0])
    signs = np.sign(speeds[100:])
    assert np.mean(signs[1:] * signs[:-1] < 0.0) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", FRICTION_LAWS)
def test_four_sub_steps_move_a_light_joint_as_many_do_under_every_law(name) -> None:
    robot, law = wrist(2e-4), FRICTION_LAWS.build(name)
    if law.terms(robot) and hasattr(law, "share"):  # more would hold a light joint where it is
        law = FRICTION_LAWS.build(name, share=0.02)
    motion = PointToPoint(robot.joint_names, np.zeros(1), np.array([0.6]), 0.0, 0.6)
    runs = []
    for substeps in (4, MAX_SUBSTEPS):
        with Plant(robot, substeps=substeps, friction=law) as plant:
            runs.append(rollout(plant, ComputedTorque(robot), motion).truth)
    few, many = runs
    assert np.ptp(many.q) > 0.25
    # Stribeck's falling friction makes so light a joint jump, which it does at another moment.
    close = 0.02 if name == "stribeck" else 1e-3
    assert np.abs(few.q - many.q).max() < close * np.ptp(many.q)


def smooth_motion(robot: Robot, substeps: int, *, leapfrog: bool) -> np.ndarray:
    """Return where a robot is after 0.2 s under constant torques."""
    dt = 0.01  # [s] coarse, so that the error stands out of the rounding
    q, dq, tau = np.array([0.3, -0.4]), np.array([0.2, 0.5]), np.array([20.0, 5.0])
    with Plant(robot, dt=dt, substeps=substeps, leapfrog=leapfrog) as plant:
        # The engine's velocity lags its position by half a sub-step, from the start.
        plant.reset(q, dq - 0.5 * dt / substeps * forward_dynamics(robot, q, dq, tau))
        for _ in range(20):
            plant.step(tau)
        return plant.q


@pytest.mark.parametrize(("leapfrog", "order"), [(True, 2), (False, 1)])
def test_halving_the_sub_step_divides_the_error(robot_2r, leapfrog: bool, order: int) -> None:
    fine = smooth_motion(robot_2r, 256, leapfrog=True)
    errors = [np.abs(smooth_motion(robot_2r, n, leapfrog=leapfrog) - fine).max() for n in (2, 4, 8)]
    for coarse, half in pairwise(errors):
        # Of the leading order; the next one and the error of the reference take up to a tenth.
        assert coarse / half == pytest.approx(2.0**order, rel=0.1)


@pytest.fixture
def robot_2r() -> Robot:
    """Return the planar arm with viscous friction only: tanh would not be smooth enough."""
    robot = Robot.from_urdf(urdf_path("2r"))
    joints = tuple(replace(j, friction=Friction(Fv=j.friction.Fv)) for j in robot.joints)
    return replace(robot, joints=joints)
