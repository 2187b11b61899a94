"""Gravity that a log shows to be another than the model's: direction, strength, and neither."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.gravity_fit import (
    gravity_columns,
    gravity_errors,
    refine_gravity,
    revise_gravity,
)
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.model.robot import Robot

SHARE = 0.1
"""Noise of the rows over 1 % of the RMS torque: as behind the low-pass of the rows."""


def turned(gravity, degrees):
    """Return gravity on a base that leans about an axis between x and y."""
    angle, side = np.radians(degrees), np.radians(40.0)
    down = [np.sin(angle) * np.cos(side), np.sin(angle) * np.sin(side), -np.cos(angle)]
    return np.linalg.norm(gravity) * np.array(down)


def motion_of(case, gravity, seed=0):
    """Return the motion of a robot in another gravity than the model's."""
    robot: Robot = replace(case.robot, gravity=gravity)
    tau = joint_torque(robot, *case.state)
    return case.motion(tau + SHARE * case.white(np.random.default_rng(seed)))


def revised(case, gravity, seed=0):
    return revise_gravity(motion_of(case, gravity, seed), case.robot, case.basis)


def test_the_right_gravity_stays(case):
    assert all(revised(case, case.robot.gravity, seed) is None for seed in range(10))


@pytest.mark.parametrize("degrees", [0.3, 1.0, 5.0])
def test_a_tilted_base_is_found_with_its_own_base_parameters(case, degrees):
    gravity = turned(case.robot.gravity, degrees)
    fit = revised(case, gravity)
    std = np.sqrt(np.diag(fit.cov))
    assert np.all(np.abs(fit.nominal.gravity - gravity)[:2] < 4.0 * std[:2].max())
    assert std[2] == 0.0
    assert np.linalg.norm(fit.nominal.gravity) == pytest.approx(np.linalg.norm(gravity))
    assert fit.basis.rank == case.basis.rank + 2  # first moments of the link on the vertical axis
    (text,) = fit.sentences()
    assert f"{degrees:.2g}"[:2] in text
    assert "the base is tilted" in text


@pytest.mark.parametrize("factor", [0.97, 1.04])
def test_another_strength_is_found_and_may_be_the_clock(case, factor):
    fit = revised(case, factor * case.robot.gravity)
    assert fit.excess == pytest.approx(factor - 1.0, abs=0.003)
    assert fit.angle == pytest.approx(0.0, abs=1e-9)
    assert fit.basis.rank == case.basis.rank
    (text,) = fit.sentences()
    assert ("weaker" in text) == (factor < 1.0)
    assert ("fast" in text) == (factor < 1.0)


def test_a_slow_clock_is_gravity_of_another_strength(case):
    """With times c t, torques are those of inertia c^2 phi in gravity g over c^2."""
    c = 0.98
    tau = case.tau + SHARE * case.white(np.random.default_rng(0))
    motion = case.motion(tau)
    slow = replace(motion, t=c * motion.t, dq=motion.dq / c, ddq=motion.ddq / c**2)
    fit = revise_gravity(slow, case.robot, case.basis)
    assert fit.excess == pytest.approx(c**-2 - 1.0, abs=0.003)
    problem = build_problem(slow, fit.nominal, fit.basis)
    beta = WeightedLeastSquares().fit(problem).beta
    true = fit.basis.of(case.robot.parameters())
    moments = [k for k, name in enumerate(fit.basis.names) if name.startswith("m")]
    std = WeightedLeastSquares().fit(problem).std[moments]
    far = np.abs(beta[moments] - c**2 * true[moments])
    assert np.all(far < 5.0 * std + 0.002 * np.abs(true[moments]))  # of the strength
    # One deviation of the random effects is what a clock would be wrong by.
    widened = replace(problem, random=gravity_errors(fit, problem, slow, beta))
    std = WeightedLeastSquares().fit(widened).std
    assert (np.abs(beta - true) < 2.0 * std).mean() > 0.9


def test_columns_are_the_derivatives_of_the_torque(case):
    motion = motion_of(case, case.robot.gravity)
    problem = build_problem(motion, case.robot, case.basis)
    columns = gravity_columns(problem, motion, case.beta)
    assert columns.shape == (len(motion.t), case.robot.dof, 3)
    along = np.linalg.norm(case.robot.gravity) * columns[:, :, 2]
    still = np.zeros_like(motion.q)
    no_friction = case.robot.with_parameters(case.robot.parameters())
    weight = joint_torque(no_friction, motion.q, still, still) - joint_torque(
        replace(no_friction, gravity=np.zeros(3)), motion.q, still, still
    )
    np.testing.assert_allclose(along, weight, atol=1e-6 * np.abs(weight).max())


def test_another_motion_of_the_log_refines_it(case):
    gravity = turned(case.robot.gravity, 1.0)
    fit = revised(case, gravity, seed=0)
    again = refine_gravity(fit, motion_of(case, gravity, seed=1))
    assert np.degrees(again.angle) == pytest.approx(1.0, abs=0.05)


def test_a_robot_without_gravity_has_none_to_revise(case):
    floating = replace(case.robot, gravity=np.zeros(3))
    assert revise_gravity(motion_of(case, np.zeros(3)), floating, case.basis) is None
