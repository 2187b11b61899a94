"""The two-link arm of the ELPIDSO paper: model, data, criterion."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.model import drive_in_engine, integrate
from robotid_sim.papers.twolink.trials import (
    TorqueCriterion,
    best_at,
    differentiated,
    mean_squared_error,
    relative_error,
    search,
)


def test_parameters_are_those_the_paper_prints() -> None:
    np.testing.assert_allclose(model.TRUE, model.PRINTED, atol=1e-4)


def test_torque_is_linear_in_the_parameters_but_for_a_known_part() -> None:
    right, printed = model.identity_errors()
    assert right < 1e-12
    assert printed == pytest.approx(model.ARM.e1 * model.ARM.e2, rel=1e-3)


def test_regressor_is_the_lagrangian_of_the_arm() -> None:
    a = model.ARM
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
    linear = model.regressor(q, dq, ddq) @ model.TRUE + model.known_torque(q)
    np.testing.assert_allclose(linear, tau, atol=1e-12)


def test_hanging_motion_is_small_and_excites_badly() -> None:
    for run in integrate(model.FITTED):
        assert np.abs(run.q - run.q[0]).max() < 0.03
        assert 1100.0 < np.linalg.cond(run.regressor()) < 1600.0


def test_least_squares_is_exact_on_exact_data() -> None:
    for run in integrate(model.FITTED):
        found = TorqueCriterion.of_run(run)
        np.testing.assert_allclose(found.least_squares, model.TRUE, atol=1e-12)
        assert found.floor < 1e-28


def test_criterion_is_the_mean_squared_error() -> None:
    run = integrate([1.0])[0]
    goal = TorqueCriterion.of_run(run)
    x = np.array([5.0, 2.0, 4.0, 1.0])
    direct = mean_squared_error(run, x)
    assert goal.floor + goal.excess(x[None])[0] == pytest.approx(direct, rel=1e-10)
    again = TorqueCriterion.from_content(goal.content())
    assert again.excess(x[None])[0] == goal.excess(x[None])[0]


def test_bounded_least_squares_stays_in_the_box_and_is_no_better() -> None:
    run = integrate([1.0])[0]
    outside = (run.regressor() @ np.array([6.7, 3.4, 3.0, -0.1])).reshape(-1, 2)
    goal = TorqueCriterion.of_run(replace(run, tau=outside + model.known_torque(run.q)))
    boxed = goal.in_the_box()
    assert boxed[3] == 0.0
    assert goal.excess(boxed[None])[0] > 0.0
    around = np.clip(boxed + np.random.default_rng(0).normal(0, 1e-3, (200, 4)), 0, model.UPPER)
    assert (goal.excess(around) >= goal.excess(boxed[None])[0]).all()


@pytest.mark.slow
def test_engine_moves_the_arm_as_the_equations_do() -> None:
    run, exact = drive_in_engine(4.0), integrate([4.0])[0]
    assert np.abs(run.q - exact.q[: run.t.size]).max() < 2e-5  # of 3e-3 rad
    np.testing.assert_allclose(TorqueCriterion.of_run(run).least_squares, model.TRUE, atol=1e-10)


def test_true_parameters_predict_and_half_of_them_miss_half() -> None:
    run = integrate([5.0])[0]
    assert (relative_error(run, model.TRUE) < 1e-12).all()
    np.testing.assert_allclose(relative_error(run, 0.0 * model.TRUE).min(), 1.0, atol=0.01)


def test_noisy_positions_ruin_every_estimate_alike() -> None:
    found = differentiated(1.0, 1e-6, max_evals=20_000, seed=0, run=0)["methods"]
    for method in ("LS", "ELPIDSO"):
        assert 0.3 < found[method]["relative"] < 0.7
    assert found["ELPIDSO"]["excess"] >= found["LS in the box"]["excess"] * (1.0 - 1e-9)


def test_search_depends_on_its_stream_alone() -> None:
    goal = TorqueCriterion.of_run(integrate([1.0])[0]).content()
    one, same, other = (
        search("ELPIDSO", goal, 2000, 0, [name]) for name in ("run 0", "run 0", "run 1")
    )
    assert one == same
    assert one["parameters"] != other["parameters"]
    assert one["evaluations"] == 2000
    assert one["curve"][-1] == one["excess"]


def test_curve_is_the_best_so_far() -> None:
    history = np.array([[20.0, 5.0], [40.0, 3.0], [60.0, 1.0]])
    assert best_at(history, np.array([20.0, 45.0, 60.0, 99.0])).tolist() == [5.0, 3.0, 1.0, 1.0]
