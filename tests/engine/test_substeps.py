"""How many sub-steps a plant needs, and how fast its error falls with them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.dynamics import forward_dynamics
from robotid_sim.engine.plant import Plant
from robotid_sim.engine.substeps import MAX_SUBSTEPS, substeps_for
from robotid_sim.errors import OptionError
from robotid_sim.model.friction import Friction
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Link, Robot

DT = 1e-3  # [s]


def wrist(*, inertia: float = 0.0019, Fc: float = 1.5, eps: float = 0.05, Ia: float = 0.0) -> Robot:
    """Return a light wrist: explicit friction on it chatters at 4 kHz."""
    phi = np.zeros(10)
    phi[0], phi[[4, 6, 9]] = 0.5, inertia
    joint = Joint(
        "wrist",
        np.eye(4),
        np.array([0.0, 0.0, 1.0]),
        prismatic=False,
        lower=-3.0,
        upper=3.0,
        velocity=7.0,
        acceleration=70.0,
        friction=Friction(Fc=Fc, eps=eps),
        rotor_inertia=Ia,
    )
    return Robot("wrist", (Link("hand", phi),), (joint,))


def reversals(robot: Robot, substeps: int, *, leapfrog: bool) -> float:
    """Return the share of sub-steps that turn the velocity around, some time after a push."""
    with Plant(robot, dt=DT / substeps, substeps=1, leapfrog=leapfrog) as plant:
        plant.reset(np.zeros(1), np.array([0.2]))
        speeds = []
        for _ in range(400):
            plant.step(np.zeros(1))
            speeds.append(plant.dq[0])
    signs = np.sign(speeds[100:])
    return float(np.mean(signs[1:] * signs[:-1] < 0.0))


# Semi-implicit Euler turns the velocity at every sub-step, leapfrog at every other one.
@pytest.mark.parametrize(("leapfrog", "share"), [(False, 0.9), (True, 0.45)])
def test_too_few_sub_steps_chatter_and_the_number_given_does_not(leapfrog, share) -> None:
    robot = wrist()
    enough = substeps_for(robot, np.zeros((1, 1)), DT)
    assert enough == 16  # 1e-3 * 1.5 / (0.05 * 0.0019) = 15.8
    assert reversals(robot, 4, leapfrog=leapfrog) > share
    assert reversals(robot, enough, leapfrog=leapfrog) == 0.0


def test_rotor_inertia_lowers_the_number() -> None:
    q = np.zeros((1, 1))
    assert substeps_for(wrist(Ia=0.02), q, DT) == 4
    assert substeps_for(wrist(Ia=0.02), q, DT, minimum=1) == 2
    assert substeps_for(wrist(), q, 0.5 * DT) == 8


def test_the_lightest_pose_along_the_path_decides(irb140: Robot) -> None:
    rng = np.random.default_rng(0)
    path = rng.uniform(irb140.limits.lower, irb140.limits.upper, (200, 6))
    phi = irb140.parameters()
    phi[10 * 6 :].reshape(-1, 4)[:, 1] *= 10.0  # Coulomb friction
    stiff = irb140.with_parameters(phi)
    whole = substeps_for(stiff, path, DT, minimum=1)
    parts = [substeps_for(stiff, path[k : k + 50], DT, minimum=1) for k in range(0, 200, 50)]
    assert whole == max(parts)
    assert substeps_for(stiff, path, DT, minimum=whole + 3) == whole + 3


def test_stock_irb140_needs_no_more_than_the_minimum(irb140: Robot) -> None:
    rng = np.random.default_rng(1)
    path = rng.uniform(irb140.limits.lower, irb140.limits.upper, (200, 6))
    assert substeps_for(irb140, path, DT) == 4


def test_too_stiff_friction_names_joint_and_remedy() -> None:
    robot = wrist(eps=1e-3)
    with pytest.raises(OptionError) as caught:
        substeps_for(robot, np.zeros((1, 1)), DT)
    message = str(caught.value)
    for word in ("'wrist'", "Fc 1.5", "eps 0.001", str(MAX_SUBSTEPS), "Ia"):
        assert word in message


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
