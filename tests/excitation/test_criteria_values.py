"""What the criteria measure: numpy's own numbers, their invariances, and what they are blind to."""

from dataclasses import replace

import numpy as np
import pytest
from excitations import first_joints, random_root

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.criteria_spectrum import parameter_sizes
from robotid_sim.excitation.design import excitation_quality, random_designs, torque_scale
from robotid_sim.excitation.information import expected_std, planned_information
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.perturb import perturb

ROUNDING = 1e-10
SCALE = np.array([1.0, 5.0, 0.2])
BETA = np.array([2.0, -0.5, 0.0, 30.0, 1.0])


def regressor(seed=0, rank=5):
    return np.random.default_rng(seed).standard_normal((40, 3, rank))


def covariance(W, noise):
    """Return the covariance per sample for noise by joint."""
    rows = (W / noise[:, None]).reshape(-1, W.shape[-1])
    return np.linalg.inv(rows.T @ rows / len(W))


def value(name, W, **options):
    return CRITERIA.build(name, **options)(W, SCALE)[0]


def test_a_optimality_is_the_trace_of_the_covariance():
    W = regressor()
    trace = np.trace(covariance(W, SCALE))
    assert np.exp(value("a-optimality", W)) == pytest.approx(trace, rel=ROUNDING)


def test_e_optimality_is_the_largest_eigenvalue_and_the_soft_one_lies_above():
    W = regressor()
    C = covariance(W, SCALE)
    sharp = value("e-optimality", W)
    assert np.exp(sharp) == pytest.approx(np.linalg.eigvalsh(C)[-1], rel=ROUNDING)
    soft = [value("e-optimality", W, p=p) for p in (1.0, 3.0, 9.0)]
    assert soft[0] > soft[1] > soft[2] > sharp
    assert soft[0] == pytest.approx(value("a-optimality", W), rel=ROUNDING)


@pytest.mark.parametrize("name", ["a-optimality", "e-optimality"])
def test_nominal_scaling_measures_errors_relative_to_the_parameters(name):
    W, sizes = regressor(), parameter_sizes(BETA)
    tau = W @ BETA
    noise = np.sqrt((tau**2).mean(axis=0) + SCALE**2)
    C = covariance(W, noise) / np.outer(sizes, sizes)
    expected = np.trace(C) if name == "a-optimality" else np.linalg.eigvalsh(C)[-1]
    assert np.exp(value(name, W, beta=BETA)) == pytest.approx(expected, rel=ROUNDING)
    C = covariance(W, noise)
    expected = np.trace(C) if name == "a-optimality" else np.linalg.eigvalsh(C)[-1]
    found = value(name, W, beta=BETA, scaling="unit")
    assert np.exp(found) == pytest.approx(expected, rel=ROUNDING)


def test_parameter_sizes_are_magnitudes_above_a_tenth_of_the_median():
    np.testing.assert_allclose(parameter_sizes(BETA), [2.0, 0.5, 0.15, 30.0, 1.0])
    np.testing.assert_array_equal(parameter_sizes(np.zeros(3)), np.ones(3))


@pytest.mark.parametrize("columns", ["raw", "unit"])
def test_combined_condition_is_the_weighted_sum(columns):
    W = regressor()
    flat = W.reshape(-1, 5) / np.sqrt(len(W))
    if columns == "unit":
        flat = flat / np.linalg.norm(flat, axis=0)
    s = np.linalg.svd(flat, compute_uv=False)
    expected = s[0] / s[-1] + 0.3 / s[-1] + 2.0 * s[0]
    found = value("combined-condition", W, columns=columns, y1=0.3, y2=2.0)
    assert np.exp(found) == pytest.approx(expected, rel=ROUNDING)
    bare = value("combined-condition", W, columns=columns, y1=0.0, y2=0.0)
    kind = {"raw": "condition-number", "unit": "normalized-condition-number"}[columns]
    assert bare == pytest.approx(value(kind, W), rel=ROUNDING)


def test_normalized_condition_number_ignores_units_and_the_raw_one_does_not():
    W, units = regressor(), np.array([1.0, 1e-3, 50.0, 7.0, 1e4])
    normalized = value("normalized-condition-number", W)
    assert value("normalized-condition-number", W * units) == pytest.approx(normalized, rel=1e-9)
    assert value("condition-number", W * units) > value("condition-number", W) + 1.0


def test_d_optimality_ignores_units_but_for_a_constant():
    one, two, units = regressor(0), regressor(1), np.array([1.0, 1e-3, 50.0, 7.0, 1e4])
    apart = [
        value("d-optimality", one * unit) - value("d-optimality", two * unit)
        for unit in (np.ones(5), units)
    ]
    assert apart[1] == pytest.approx(apart[0], rel=1e-9)


@pytest.mark.parametrize("name", ["condition-number", "normalized-condition-number"])
def test_condition_numbers_weigh_joints_only_where_told(name):
    W, noise = regressor(), np.array([1.0, 2.0, 0.1])
    unweighed = value(name, W)
    assert CRITERIA.build(name)(W, 100.0 * SCALE[::-1])[0] == unweighed
    weighed = value(name, W / SCALE[:, None])
    assert value(name, W, floor=1.0) == pytest.approx(weighed, rel=ROUNDING)
    by_noise = value(name, W / noise[:, None])
    assert value(name, W, noise_std=noise) == pytest.approx(by_noise, rel=ROUNDING)


@pytest.mark.parametrize("name", CRITERIA)
def test_known_noise_replaces_the_torque_scale(name):
    W, noise = regressor(), np.array([1.0, 2.0, 0.1])
    criterion = CRITERIA.build(name, beta=BETA, noise_std=noise)
    assert criterion(W, SCALE)[0] == criterion(W, 3.0 * SCALE)[0]


@pytest.mark.parametrize("name", CRITERIA)
def test_a_prior_of_zeros_changes_nothing(name):
    W = regressor()
    criterion = CRITERIA.build(name, beta=BETA, floor=1.0)
    given = criterion.given(prior=np.zeros((5, 5)), samples=1000.0)
    for before, after in zip(criterion(W, SCALE), given(W, SCALE), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["a-optimality", "d-optimality", "e-optimality"])
def test_a_prior_never_makes_the_result_less_accurate(name):
    rng = np.random.default_rng(4)
    for _ in range(20):
        W, prior = rng.standard_normal((20, 3, 5)), random_root(5, rng)
        criterion = CRITERIA.build(name, beta=BETA)
        given = criterion.given(prior=1e4 * prior, samples=1000.0)
        assert given(W, SCALE)[0] < criterion(W, SCALE)[0]


def test_a_prior_adds_to_the_information_of_as_many_samples_as_the_log_will_have():
    W, noise, prior = (
        regressor(),
        np.array([1.0, 2.0, 0.1]),
        random_root(5, np.random.default_rng(2)),
    )
    samples = 1000.0
    rows = (W / noise[:, None]).reshape(-1, 5)
    total = prior.T @ prior + samples / len(W) * rows.T @ rows
    criterion = CRITERIA.build("d-optimality").given(noise_std=noise, prior=prior, samples=samples)
    log_det = 5 * np.log(samples) - criterion(W, SCALE)[0]
    assert log_det == pytest.approx(np.linalg.slogdet(total)[1], rel=ROUNDING)


def test_prior_rows_stand_below_the_regressor_of_a_condition_number():
    W, noise, prior = (
        regressor(),
        np.array([1.0, 2.0, 0.1]),
        random_root(5, np.random.default_rng(2)),
    )
    rows = (W / noise[:, None]).reshape(-1, 5) * np.sqrt(1000.0 / len(W))
    stacked = np.vstack([rows, prior])
    criterion = CRITERIA.build("condition-number")
    given = criterion.given(noise_std=noise, prior=prior, samples=1000.0)
    cond = np.exp(given(W, SCALE)[0])
    assert cond == pytest.approx(np.linalg.cond(stacked), rel=ROUNDING)


@pytest.mark.parametrize("name", CRITERIA)
def test_a_prior_of_full_rank_makes_up_for_a_regressor_without(name):
    W = regressor()
    W[..., 4] = 0.0
    criterion = CRITERIA.build(name, floor=1.0)
    assert criterion(W, SCALE)[0] == np.inf
    assert not criterion(W, SCALE)[1].any()
    given = criterion.given(prior=random_root(5, np.random.default_rng(0)), samples=10.0)
    assert np.isfinite(given(W, SCALE)[0])


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("a-optimality", {"scaling": "none"}, OptionError),
        ("e-optimality", {"scaling": "none"}, OptionError),
        ("combined-condition", {"columns": "none"}, OptionError),
        ("combined-condition", {"y1": -1.0}, OptionError),
        ("d-optimality", {"floor": 0.0}, OptionError),
        ("d-optimality", {"noise_std": [1.0, 0.0]}, OptionError),
        ("d-optimality", {"noise_std": [[1.0]]}, ShapeError),
    ],
)
def test_impossible_options_are_refused(name, options, error):
    with pytest.raises(error):
        CRITERIA.build(name, **options)


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_can_be_designed_for(arm, name):
    basis, criterion = base_parameters(arm), CRITERIA.build(name)
    settings = DesignPlan(search=GradientSearch(starts=1, candidates=20, iterations=30))
    result = optimal_design(
        arm, basis, np.random.default_rng(0), replace(settings, criterion=criterion)
    )
    assert result.value_after < result.value_before - 0.01
    found = excitation_quality(arm, basis, result.trajectory)
    assert max(found.position_ratio, found.velocity_ratio) <= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("joint_parameters", "factor", "gap"), [((), 5.0, 40.0), (("Fv", "Fc", "Ia"), 1.7, 15.0)]
)
def test_normalized_condition_number_is_blind_to_the_size_of_the_motion(
    joint_parameters, factor, gap
):
    """Of irb140's first three joints: its design is worse than D-optimality's, and than random.

    Measured for seeds 0 to 3: standard deviations 9 to 25 times larger in the geometric mean and
    log det 60 to 89 lower without joint parameters; 2.1 to 2.8 times and 30 to 41 with them.
    """
    nominal = perturb(first_joints("irb140", 3), np.random.default_rng(1))
    basis = base_parameters(nominal, joint_parameters)
    noise = 0.01 * torque_scale(nominal)

    def merits(trajectory):
        std = expected_std(nominal, basis, trajectory, noise_std=noise)
        log_det = planned_information(nominal, basis, [trajectory]).log_det
        return np.exp(np.log(std).mean()), log_det

    results = [
        optimal_design(
            nominal, basis, np.random.default_rng(0), DesignPlan(criterion=CRITERIA.build(name))
        )
        for name in ("normalized-condition-number", "d-optimality")
    ]
    blind, best = (merits(result.trajectory) for result in results)
    draws = random_designs(
        nominal, basis, np.random.default_rng(9), options=FourierOptions(), candidates=50
    )
    middle = np.median([merits(draw.trajectory) for draw in draws], axis=0)
    conds = [
        excitation_quality(nominal, basis, result.trajectory).cond_normalized for result in results
    ]
    assert conds[0] < 0.6 * conds[1]  # it does what it says
    assert blind[0] > factor * best[0]
    assert blind[1] < best[1] - gap
    assert blind[0] > middle[0]
    assert blind[1] < middle[1]
