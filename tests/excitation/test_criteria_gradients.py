"""Every criterion's gradient equals its differences: with noise, prior and several motions."""

from dataclasses import replace

import numpy as np
import pytest
from excitations import first_joints, random_root, richardson, start_of

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.perturb import perturb

GRADIENT = 1e-8
"""Largest error of a gradient, relative to its norm; what remains is Richardson's rounding."""

CASES = {
    **{name: CRITERIA.build(name) for name in CRITERIA},
    "normalized, soft": CRITERIA.build("normalized-condition-number", p=3.0),
    "raw, soft": CRITERIA.build("condition-number", p=3.0),
    "raw, weighed": CRITERIA.build("condition-number", floor=0.3),
    "e, soft": CRITERIA.build("e-optimality", p=3.0),
    "e, unit": CRITERIA.build("e-optimality", scaling="unit"),
    "a, unit": CRITERIA.build("a-optimality", scaling="unit"),
    "combined, soft": CRITERIA.build("combined-condition", p=3.0, y1=0.3, y2=2.0),
    "combined, unit": CRITERIA.build("combined-condition", columns="unit", y1=0.3, y2=2.0),
}


@pytest.fixture(scope="module", params=["2r", "irb140"])
def model(request):
    """The planar arm and the first three joints of the ABB IRB 140, with nominal parameters."""
    nominal = perturb(first_joints(request.param, 3), np.random.default_rng(1))
    return nominal, base_parameters(nominal)


def setting(model, given):
    """Return what `Criterion.given` takes, by name."""
    nominal, basis = model
    rng = np.random.default_rng(5)
    noise = rng.uniform(0.1, 2.0, nominal.dof)
    size = np.sqrt(20_000.0)  # of the root of a log with that many samples and noise one
    prior = size * random_root(basis.rank, rng) / (noise.mean() if given == "both" else 0.01)
    return {
        "plain": {},
        "noise": {"noise_std": noise},
        "prior": {"prior": prior, "samples": 20_000.0},
        "both": {"noise_std": noise, "prior": prior, "samples": 20_000.0},
        "two motions": {"prior": prior, "samples": 40_000.0, "motions": 2},
    }[given]


@pytest.mark.parametrize("given", ["plain", "noise", "prior", "both", "two motions"])
@pytest.mark.parametrize("name", CASES)
def test_gradient_along_the_motion_equals_richardson_differences(model, name, given):
    criterion = CASES[name].given(**setting(model, given))
    problem = ExcitationProblem(*model, FourierOptions(), criterion)
    x, rng = start_of(problem), np.random.default_rng(3)
    gradient = problem.gradient(x)
    direction = rng.standard_normal(x.size)
    direction /= np.linalg.norm(direction)
    difference = richardson(problem.value, x, direction)
    assert abs(gradient @ direction - difference) <= GRADIENT * np.linalg.norm(gradient)


def test_torque_jacobian_of_two_motions_equals_richardson_differences(model):
    criterion = CASES["d-optimality"].given(motions=2)
    problem = ExcitationProblem(*model, FourierOptions(), criterion)
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


def test_two_motions_keep_limits_and_trajectories_each_for_itself(model):
    options = FourierOptions()
    both = ExcitationProblem(*model, options, CASES["d-optimality"].given(motions=2))
    alone = ExcitationProblem(*model, options, CASES["d-optimality"])
    one, two = (start_of(alone, seed) for seed in (0, 1))
    x = np.concatenate([one, 3.0 * two])
    mended = both.within_limits(x)
    np.testing.assert_array_equal(mended[: one.size], alone.within_limits(one))
    np.testing.assert_array_equal(mended[one.size :], alone.within_limits(3.0 * two))
    rows = both.kinematic_constraints()[0].A @ x
    np.testing.assert_allclose(rows, np.r_[alone.limits @ one, 3.0 * (alone.limits @ two)])
    again = both.coordinates(both.trajectories(x))
    np.testing.assert_allclose(again, x, atol=1e-12)
    torque = np.r_[alone.use(alone.constraints[0], one), alone.use(alone.constraints[0], 3.0 * two)]
    np.testing.assert_allclose(both.use(both.constraints[0], x), torque, rtol=1e-12)


def test_two_equal_motions_have_the_information_per_sample_of_one(model):
    x = start_of(ExcitationProblem(*model, FourierOptions(), CASES["d-optimality"]))
    for name in CRITERIA:
        one = ExcitationProblem(*model, FourierOptions(), CASES[name])
        two = ExcitationProblem(*model, FourierOptions(), CASES[name].given(motions=2))
        assert two.value(np.r_[x, x]) == pytest.approx(one.value(x), rel=1e-9), name


def test_noise_of_every_motion_is_its_own(model):
    problem = ExcitationProblem(*model, FourierOptions(), CASES["d-optimality"])
    one, two = start_of(problem, 0), start_of(problem, 1)
    information = []
    for x in (one, two):
        W = problem.regressor(x)
        scale = problem.torque_scale**2 + ((W @ problem.criterion.beta) ** 2).mean(axis=0)
        rows = (W / np.sqrt(scale)[:, None]).reshape(-1, W.shape[2])
        information.append(rows.T @ rows / len(W))
    together = replace(problem, criterion=problem.criterion.given(motions=2))
    expected = -np.linalg.slogdet(0.5 * sum(information))[1]
    assert together.value(np.r_[one, two]) == pytest.approx(expected, rel=1e-9)
