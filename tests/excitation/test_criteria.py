"""Criteria and the chain rule through the dynamics: every gradient equals its differences."""

import numpy as np
import pytest
from excitations import richardson, start_of

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.criteria import DOptimality
from robotid_sim.excitation.criteria_spectrum import ConditionNumber
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.sensitivity import torque_sensitivity
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.perturb import perturb

GRADIENT = 1e-8
"""Largest error of a gradient, relative to its norm; what remains is Richardson's rounding."""

SMOOTH = [DOptimality(), ConditionNumber(p=4.0), ConditionNumber()]


def problem_of(robot, criterion, **options):
    nominal = perturb(robot, np.random.default_rng(1))
    basis = base_parameters(nominal)
    return ExcitationProblem(nominal, basis, FourierOptions(**options), criterion)


@pytest.mark.parametrize("criterion", SMOOTH, ids=repr)
def test_gradient_along_the_motion_equals_richardson_differences(robot, criterion):
    problem = problem_of(robot, criterion)
    x, rng = start_of(problem), np.random.default_rng(3)
    gradient = problem.gradient(x)
    for _ in range(3):
        direction = rng.standard_normal(x.size)
        direction /= np.linalg.norm(direction)
        difference = richardson(problem.value, x, direction)
        assert abs(gradient @ direction - difference) <= GRADIENT * np.linalg.norm(gradient)


@pytest.mark.parametrize("criterion", SMOOTH, ids=repr)
def test_gradient_in_the_regressor_equals_richardson_differences(criterion):
    rng = np.random.default_rng(0)
    W, direction = rng.standard_normal((2, 30, 3, 7))
    scale = np.array([1.0, 5.0, 0.2])
    gradient = criterion(W, scale)[1]
    difference = richardson(lambda V: criterion(V, scale)[0], W, direction)
    assert (gradient * direction).sum() == pytest.approx(difference, rel=GRADIENT)


def test_torque_sensitivity_equals_richardson_differences(robot):
    problem = problem_of(robot, DOptimality())
    nominal, motion = problem.nominal, problem.space.on_grid(80).motion(start_of(problem))
    rng = np.random.default_rng(0)
    slopes = torque_sensitivity(nominal, motion)
    for k, slope in enumerate(slopes):
        direction = rng.standard_normal(motion[k].shape)

        def torque(part, k=k):
            moved = [part if m == k else other for m, other in enumerate(motion)]
            return joint_torque(nominal, *moved)

        step = 1e-3 * nominal.eps.min() if k == 1 else 4e-3  # friction is steep at reversals
        difference = richardson(torque, motion[k], direction, step)
        ours = np.einsum("jti,tj->ti", slope, direction)
        assert np.abs(ours - difference).max() <= GRADIENT * np.abs(slope).max()


def test_torque_jacobian_equals_richardson_differences(robot):
    problem = problem_of(robot, DOptimality())
    x = start_of(problem)
    direction = np.random.default_rng(0).standard_normal(x.size) / np.sqrt(x.size)
    jacobian = problem.use_jacobian(problem.constraints[0], x)
    assert jacobian.shape == (problem.use(problem.constraints[0], x).size, x.size)
    difference = richardson(
        lambda y: problem.use(problem.constraints[0], y),
        x,
        direction,
        step=1e-3 * problem.nominal.eps.min(),
    )
    error = np.abs(jacobian @ direction - difference).max()
    assert error <= 100.0 * GRADIENT * np.abs(jacobian).max()  # the small step costs digits


def test_d_optimality_does_not_depend_on_the_base_set_but_for_a_constant():
    rng = np.random.default_rng(0)
    one, two = rng.standard_normal((2, 40, 3, 5))
    change = rng.standard_normal((5, 5))
    scale = np.ones(3)
    criterion = DOptimality()
    before = criterion(one, scale)[0] - criterion(two, scale)[0]
    after = criterion(one @ change, scale)[0] - criterion(two @ change, scale)[0]
    assert after == pytest.approx(before, rel=1e-10)  # rounding


def test_d_optimality_is_information_per_sample():
    W = np.random.default_rng(0).standard_normal((40, 3, 5))
    scale = np.array([1.0, 2.0, 3.0])
    twice = np.concatenate([W, W])
    assert DOptimality()(W, scale)[0] == pytest.approx(DOptimality()(twice, scale)[0], rel=1e-12)


def test_condition_number_is_numpys_and_the_soft_one_lies_above():
    W = np.random.default_rng(0).standard_normal((40, 3, 5))
    sharp = ConditionNumber()(W, np.ones(3))[0]
    assert np.exp(sharp) == pytest.approx(np.linalg.cond(W.reshape(-1, 5)), rel=1e-12)
    soft = [ConditionNumber(p=p)(W, np.ones(3))[0] for p in (2.0, 8.0, 200.0)]
    assert soft[0] > soft[1] > soft[2] >= sharp  # the last two differ by rounding
    assert soft[2] == pytest.approx(sharp, abs=0.01)


@pytest.mark.parametrize("criterion", SMOOTH, ids=repr)
def test_a_regressor_without_full_rank_is_infinitely_bad(criterion):
    W = np.random.default_rng(0).standard_normal((40, 3, 5))
    W[..., 4] = 0.0
    value, gradient = criterion(W, np.ones(3))
    assert value == np.inf
    assert not gradient.any()


def test_registry_builds_the_criteria_and_ends_its_stages_with_them():
    assert set(CRITERIA) == {
        "a-optimality",
        "combined-condition",
        "condition-number",
        "d-optimality",
        "e-optimality",
        "normalized-condition-number",
    }
    for name in CRITERIA:
        criterion = CRITERIA.build(name)
        assert criterion.stages()[-1] == criterion
        assert criterion.symbol
