"""The two-link arm of the ELPIDSO paper: model, data, criterion, searches and their variants."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.optim.minimize import minimize
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.model import (
    ATTRACTION_VALUES,
    GAIN_SETS,
    INERTIA_WEIGHTS,
    drive_in_engine,
    integrate,
    is_routh_hurwitz_stable,
    largest_real_part,
    radius,
)
from robotid_sim.papers.twolink.trials import (
    ADDED_LOADS,
    DIVERSITY_POINTS,
    VARIANT_NAMES,
    TorqueCriterion,
    add_point_mass,
    best_at,
    criterion_of,
    drive_loaded,
    fit_positions,
    make_optimizer,
    mean_squared_error,
    minimize_criterion,
    relative_error,
    search,
    spread_of,
    sum_torque_errors,
)

LARGEST_RESIDUAL = 1e-9
"""Torque error of exact parameters in the engine: rounding [N m]."""


def test_parameters_are_those_the_paper_prints() -> None:
    np.testing.assert_allclose(model.TRUE_PARAMETERS, model.PRINTED_PARAMETERS, atol=1e-4)


def test_torque_is_linear_in_the_parameters_but_for_a_known_part() -> None:
    right, printed = model.identity_errors()
    assert right < 1e-12
    assert printed == pytest.approx(model.PRINTED_ARM.e1 * model.PRINTED_ARM.e2, rel=1e-3)


def test_regressor_is_the_lagrangian_of_the_arm() -> None:
    a = model.PRINTED_ARM
    q, dq, ddq = np.random.default_rng(0).uniform(-3.0, 3.0, (3, 20, 2))
    (d1, d2), (a1, a2) = dq.T, ddq.T
    c1, c2, s2, c12 = np.cos(q[:, 0]), np.cos(q[:, 1]), np.sin(q[:, 1]), np.cos(q.sum(axis=1))
    reach = a.me * a.l1 * a.lce
    h22 = a.Ie + a.me * a.lce**2
    h12 = h22 + reach * c2
    h11 = a.I1 + a.m1 * a.lc1**2 + h12 + reach * c2 + a.me * a.l1**2
    g1 = a.g * (a.m1 * a.lc1 + a.me * a.l1) * c1
    g2 = a.g * a.me * a.lce * c12
    tau1 = h11 * a1 + h12 * a2 - reach * s2 * (2.0 * d1 * d2 + d2**2) + g1 + g2
    tau2 = h12 * a1 + h22 * a2 + reach * s2 * d1**2 + g2
    tau = np.stack([tau1, tau2], axis=1)
    np.testing.assert_allclose(model.torque(q, dq, ddq), tau, atol=1e-12)
    linear = model.regressor(q, dq, ddq) @ model.TRUE_PARAMETERS + model.compute_known_torque(q)
    np.testing.assert_allclose(linear, tau, atol=1e-12)


def test_hanging_motion_is_small_and_excites_badly() -> None:
    for run in integrate(model.FITTED_RHOS):
        assert np.abs(run.q - run.q[0]).max() < 0.03
        assert 1100.0 < np.linalg.cond(run.regressor()) < 1600.0


def test_least_squares_is_exact_on_exact_data() -> None:
    for run in integrate(model.FITTED_RHOS):
        found = TorqueCriterion.from_run(run)
        np.testing.assert_allclose(found.least_squares, model.TRUE_PARAMETERS, atol=1e-12)
        assert found.floor < 1e-28


def test_criterion_is_the_mean_squared_error() -> None:
    run = integrate([1.0])[0]
    goal = TorqueCriterion.from_run(run)
    x = np.array([5.0, 2.0, 4.0, 1.0])
    direct = mean_squared_error(run, x)
    assert goal.floor + goal.excess(x[None])[0] == pytest.approx(direct, rel=1e-10)


def test_bounded_least_squares_stays_in_the_box_and_is_no_better() -> None:
    run = integrate([1.0])[0]
    outside = (run.regressor() @ np.array([6.7, 3.4, 3.0, -0.1])).reshape(-1, 2)
    goal = TorqueCriterion.from_run(replace(run, tau=outside + model.compute_known_torque(run.q)))
    boxed = goal.minimize_in_box()
    assert boxed[3] == 0.0
    assert goal.excess(boxed[None])[0] > 0.0
    around = np.clip(boxed + np.random.default_rng(0).normal(0, 1e-3, (200, 4)), 0, model.UPPER)
    assert (goal.excess(around) >= goal.excess(boxed[None])[0]).all()


@pytest.mark.slow
def test_engine_moves_the_arm_as_the_equations_do() -> None:
    run, exact = drive_in_engine(4.0), integrate([4.0])[0]
    assert np.abs(run.q - exact.q[: run.t.size]).max() < 2e-5  # of 3e-3 rad
    np.testing.assert_allclose(
        TorqueCriterion.from_run(run).least_squares, model.TRUE_PARAMETERS, atol=1e-10
    )


def test_true_parameters_predict_and_half_of_them_miss_half() -> None:
    run = integrate([5.0])[0]
    assert (relative_error(run, model.TRUE_PARAMETERS) < 1e-12).all()
    np.testing.assert_allclose(
        relative_error(run, 0.0 * model.TRUE_PARAMETERS).min(), 1.0, atol=0.01
    )


def test_noisy_positions_ruin_every_estimate_alike() -> None:
    found = fit_positions(1.0, 1e-6, max_evals=20_000, seed=0, run=0)["methods"]
    for method in ("LS", "ELPIDSO"):
        assert 0.3 < found[method]["relative"] < 0.7
    assert found["ELPIDSO"]["excess"] >= found["LS in the box"]["excess"] * (1.0 - 1e-9)


def test_search_depends_on_its_stream_alone() -> None:
    one, other = (search("exact", "ELPIDSO", 0.5, 2000, 0, run) for run in (0, 1))
    assert one["parameters"] != other["parameters"]
    assert one["curve"][-1] == one["excess"]


def test_curve_is_the_best_so_far() -> None:
    history = np.array([[20.0, 5.0], [40.0, 3.0], [60.0, 1.0]])
    assert best_at(history, np.array([20.0, 45.0, 60.0, 99.0])).tolist() == [5.0, 3.0, 1.0, 1.0]


@pytest.fixture(scope="module")
def criterion() -> TorqueCriterion:
    return TorqueCriterion.from_run(integrate([0.5])[0])


@pytest.mark.parametrize("variant", VARIANT_NAMES)
def test_a_variant_keeps_its_budget_and_its_box(criterion, variant) -> None:
    found, again = (minimize_criterion(variant, criterion, 2000, 0, ["test"]) for _ in range(2))
    assert found == again
    assert found["evaluations"] == 2000
    assert len(found["diversity"]) == DIVERSITY_POINTS
    beta = np.array(found["parameters"])
    assert ((beta >= model.LOWER) & (beta <= model.UPPER)).all()
    assert found["excess"] == pytest.approx(float(criterion.excess(beta[None])[0]))


def batches(variant: str) -> list[np.ndarray]:
    """Return the points that a variant asks for on a bowl, batch by batch."""
    asked: list[np.ndarray] = []

    def cost(X: np.ndarray) -> np.ndarray:
        asked.append(X)
        return ((X - 3.0) ** 2).sum(axis=1)

    rng = np.random.default_rng(0)
    bounds = np.zeros(4), np.full(4, 10.0)
    minimize(cost, *bounds, method=make_optimizer(variant), max_evals=2000, rng=rng)
    return asked


def test_without_mutation_no_single_point_is_asked_for() -> None:
    assert min(len(X) for X in batches("ELPIDSO")) == 1
    assert {len(X) for X in batches("without mutation")} == {20}


def test_drawn_velocities_move_the_swarm_at_once_and_rest_does_not() -> None:
    # the pull to the best point of all begins at zero, and every particle is at its own
    first, *rest = (X for X in batches("ELPIDSO") if len(X) > 1)
    np.testing.assert_allclose(rest[0], first, atol=1.0)
    first, *rest = (X for X in batches("drawn velocities") if len(X) > 1)
    assert np.abs(rest[0] - first).max() > 1.0


def test_diversity_is_the_mean_distance_from_the_center_in_boxes() -> None:
    X = np.zeros((2, 4))
    X[1, 0] = 10.0  # the whole box
    assert spread_of(X) == pytest.approx(0.5)


def test_routh_hurwitz_is_about_the_roots_and_not_about_the_update() -> None:
    for gains in GAIN_SETS:
        for w in INERTIA_WEIGHTS:
            for f in ATTRACTION_VALUES:
                assert is_routh_hurwitz_stable(gains, w, f) == (
                    largest_real_part(gains, w, f) < 0.0
                )
    assert is_routh_hurwitz_stable((1.0, 0.5, 0.5), 0.4, 2.0)
    assert radius((1.0, 0.5, 0.5), 0.4, 2.0) > 2.0
    assert all(radius(GAIN_SETS[0], w, f) < 1.0 for w in INERTIA_WEIGHTS for f in ATTRACTION_VALUES)


@pytest.mark.slow
@pytest.mark.parametrize("load", ADDED_LOADS)
def test_a_changed_payload_has_the_parameters_of_its_mass(load) -> None:
    run, residual = drive_loaded(load), {}
    for name, parameters in {
        "new": add_point_mass(*ADDED_LOADS[load]),
        "old": model.TRUE_PARAMETERS,
    }.items():
        residual[name] = np.abs(run.target() - run.regressor() @ parameters).max()
    assert residual["new"] < LARGEST_RESIDUAL
    assert residual["old"] > 1e3 * LARGEST_RESIDUAL


def test_the_accumulated_error_is_the_sum_over_the_samples() -> None:
    run = integrate([5.0])[0]
    np.testing.assert_allclose(sum_torque_errors(run, model.TRUE_PARAMETERS), 0.0, atol=1e-10)
    off = model.TRUE_PARAMETERS + np.array([0.1, 0.0, 0.0, 0.0])
    by_hand = 0.1 * np.abs(run.regressor()[0::2, 0]).sum()
    np.testing.assert_allclose(sum_torque_errors(run, off), [by_hand, 0.0], atol=1e-9)


def test_data_of_two_engines_are_kept_apart() -> None:
    one, other = (criterion_of("noisy", 4.0, 0, engine) for engine in ("pybullet", "mujoco"))
    assert one.floor != other.floor
    np.testing.assert_allclose(one.least_squares, other.least_squares, atol=1e-3)
