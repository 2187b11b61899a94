"""Information of existing data: sums, roots, and the designs that take it into account."""

from dataclasses import replace

import numpy as np
import pytest
from excitations import random_root, seeded

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.design import random_feasible, torque_scale
from robotid_sim.excitation.information import (
    Prior,
    assume_noise,
    compute_expected_std,
    compute_information,
    design_noise,
    log_samples,
)
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.space import FourierOptions

OPTIONS = FourierOptions()
SMALL = DesignPlan(search=GradientSearch(starts=1, candidates=20, iterations=30))


def two_draws(robot):
    return [random_feasible(robot, seeded(seed), OPTIONS) for seed in (0, 1)]


def test_prior_of_an_information_matrix_keeps_it_whatever_the_units():
    rng = seeded()
    for units in (np.ones(6), 10.0 ** np.linspace(-6.0, 6.0, 6)):
        root = random_root(6, rng) * units
        prior = Prior.from_information(root.T @ root)
        scale = np.outer(units, units)
        np.testing.assert_allclose(prior.information / scale, root.T @ root / scale, atol=1e-12)
        assert not np.tril(prior.root, -1).any()
        assert prior.log_det == pytest.approx(np.linalg.slogdet(root.T @ root)[1], rel=1e-9)
        inverse = np.linalg.inv(root)
        np.testing.assert_allclose(prior.std, np.linalg.norm(inverse, axis=1), rtol=1e-8)


def test_data_of_some_parameters_make_a_prior_too():
    half = np.diag([4.0, 1.0, 0.0])
    prior = Prior.from_information(half)
    np.testing.assert_allclose(prior.information, half, atol=1e-12)
    assert not prior.is_full_rank
    assert prior.log_det == -np.inf
    assert np.isinf(prior.std).all()
    assert (prior + Prior.from_information(np.diag([0.0, 0.0, 9.0]))).log_det == pytest.approx(
        np.log(36.0)
    )


def test_priors_add_up_and_none_adds_nothing():
    one, two = (Prior(random_root(4, seeded(seed))) for seed in (0, 1))
    np.testing.assert_allclose((one + two).information, one.information + two.information)
    np.testing.assert_allclose((one + Prior.none(4)).information, one.information)
    assert Prior.none(4).is_empty
    assert not one.is_empty


@pytest.mark.parametrize("root", [np.ones((3, 3)), np.zeros((3, 2)), np.diag([1.0, np.nan])])
def test_what_is_no_root_is_refused(root):
    with pytest.raises(ShapeError):
        Prior(root)


@pytest.mark.parametrize("matrix", [np.array([[1.0, 2.0], [0.0, 1.0]]), np.diag([1.0, -1.0])])
def test_what_is_no_information_is_refused(matrix):
    with pytest.raises(OptionError):
        Prior.from_information(matrix)


def test_prior_of_a_linear_problem_is_that_of_its_log(arm):
    """The rows of an estimation problem and the planned trajectory tell the same."""
    basis, trajectory = base_parameters(arm), two_draws(arm)[0]
    noise, dt = np.array([0.1, 0.3]), 4e-3
    t = np.arange(0.0, trajectory.duration, dt)
    reference = trajectory(t)
    W = torque_regressor(arm, reference.q, reference.dq, reference.ddq, basis.columns)
    tau = joint_torque(arm, reference.q, reference.dq, reference.ddq)
    problem = LinearProblem(W.reshape(-1, basis.rank), tau.ravel(), basis, arm.joint_names, dt)
    measured = Prior.from_rows(problem.W, noise)
    planned = compute_information(arm, basis, [trajectory], noise_std=noise, dt=dt)
    assert log_samples(trajectory, dt) == log_samples(OPTIONS, dt) == len(t)
    assert measured.log_det == pytest.approx(planned.log_det, abs=0.1)  # Coulomb on its grid
    np.testing.assert_allclose(measured.std, planned.std, rtol=0.03)


def test_planned_information_adds_up_and_gives_the_expected_std(arm):
    basis, (one, two) = base_parameters(arm), two_draws(arm)
    alone = [compute_information(arm, basis, [series]) for series in (one, two)]
    both = compute_information(arm, basis, [one, two])
    expected = alone[0].information + alone[1].information
    np.testing.assert_allclose(both.information, expected, rtol=1e-9, atol=1e-6)
    assert compute_information(arm, basis, []).is_empty
    noise = assume_noise(arm, one)
    std = compute_information(arm, basis, [one], noise_std=noise).std
    np.testing.assert_allclose(compute_expected_std(arm, basis, one), std, rtol=1e-12)


def test_design_noise_has_the_floor_of_the_torque_scale(arm):
    trajectory = two_draws(arm)[0]
    bare = assume_noise(arm, trajectory)
    floor = 0.01 * 0.5 * torque_scale(arm)
    np.testing.assert_allclose(design_noise(arm, trajectory, 0.5), np.hypot(bare, floor))


def test_criterion_given_a_prior_is_the_log_det_of_the_sum(arm):
    basis, (one, two) = base_parameters(arm), two_draws(arm)
    prior = compute_information(arm, basis, [one])
    criterion = CRITERIA.build("d-optimality").set_nominal(basis.project(arm.parameters()))
    m = log_samples(OPTIONS, 1e-3)
    given = criterion.set_data(prior=prior.root, samples=m)
    reference = two(np.arange(500) * two.base_period / 500)  # the grid of compute_information
    W = torque_regressor(arm, reference.q, reference.dq, reference.ddq, basis.columns)
    log_det = basis.rank * np.log(m / 0.01**2) - given(W, torque_scale(arm))[0]
    both = compute_information(arm, basis, [one, two])
    assert log_det == pytest.approx(both.log_det, rel=1e-10)


@pytest.mark.parametrize("name", ["d-optimality", "condition-number"])
def test_a_prior_of_nothing_gives_the_same_bits(arm, name):
    basis, settings = base_parameters(arm), replace(SMALL, criterion=CRITERIA.build(name))
    one = optimal_design(arm, basis, seeded(), settings)
    two = optimal_design(arm, basis, seeded(), replace(settings, prior=Prior.none(basis.rank)))
    assert one.trajectory.a.tobytes() == two.trajectory.a.tobytes()
    assert one.value_after == two.value_after


def test_noise_of_the_joints_changes_the_design(arm):
    basis = base_parameters(arm)
    noise = [np.array([1.0, 0.01]), np.array([0.01, 1.0])]
    designs = [optimal_design(arm, basis, seeded(), replace(SMALL, noise_std=std)) for std in noise]
    for ours, other, std in zip(designs, designs[::-1], noise, strict=True):
        mine, theirs = (
            compute_information(arm, basis, [design.trajectory], noise_std=std).log_det
            for design in (ours, other)
        )
        assert mine > theirs
