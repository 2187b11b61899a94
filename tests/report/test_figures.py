"""Figures of a study: their numbers are those of the values they are made of."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.chart import Chart, Curve, Matrix, Panel, Space
from robotid_sim.diagnostics.directions import weakest_direction, weakest_directions
from robotid_sim.estimation.problem import rows_of
from robotid_sim.estimation.state_functions import joint_states
from robotid_sim.excitation.design import excitation_quality
from robotid_sim.pipeline.trust import bin_residuals
from robotid_sim.report.figures.closed_loop import (
    energy_differences,
    joint_errors,
    tool_errors,
    torque_differences,
)
from robotid_sim.report.figures.excitation import design_convergence, excitation, tool_path
from robotid_sim.report.figures.parameters import (
    MAX_MEAN_RATIO,
    base_parameters,
    correlation,
    friction,
    information_over_time,
    residuals_over_state,
    singular_values,
)
from robotid_sim.report.figures.torques import prediction, residuals, torque_filters
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.prediction import Prediction, predictions


def marks(chart: Chart, label: str) -> list:
    return [m for p in chart.panels if isinstance(p, Panel) for m in p.marks if m.label == label]


def test_excitation_shows_the_use_of_the_limits_that_the_design_states(study) -> None:
    chart = excitation(study.trajectory, study.nominal)
    found = excitation_quality(study.nominal, study.fit.basis, study.trajectory)
    stated = (found.position_ratio, found.velocity_ratio, found.acceleration_ratio)
    for panel, ratio in zip(chart.panels, (*stated, found.torque_ratio), strict=True):
        largest = max(np.abs(mark.y[mark.x >= 0.0]).max() for mark in panel.marks)
        assert largest == pytest.approx(ratio, rel=0.01)  # on another grid of times
        assert panel.levels == (-1.0, 1.0)
    assert list(chart.legend()) == list(study.plant.joint_names)


def test_excitation_without_torque_limits_says_so(study) -> None:
    free = study.nominal.joints[0]
    joints = tuple(replace(joint, effort=np.inf) for joint in study.nominal.joints)
    assert free.effort < np.inf
    chart = excitation(study.trajectory, replace(study.nominal, joints=joints))
    assert chart.panels[3].y_label == "torque / peak [-]"


def test_tool_path_is_closed_and_starts_where_the_approach_ends(study) -> None:
    space = tool_path(study.trajectory, study.nominal).panels[0]
    assert isinstance(space, Space)
    curves = {label: points for label, _, points in space.curves}
    np.testing.assert_allclose(curves["excitation"][0], curves["excitation"][-1], atol=1e-9)
    np.testing.assert_allclose(curves["approach"][-1], curves["excitation"][0], atol=1e-9)
    np.testing.assert_allclose(curves["arm at the start"][-1], curves["approach"][0], atol=1e-9)


def test_tool_path_of_a_motion_without_approach_has_none(study) -> None:
    home = study.plant.home
    move = PointToPoint(study.plant.joint_names, home, home + 0.2, 0.0, 2.0)
    space = tool_path(move, study.plant).panels[0]
    assert [label for label, _, _ in space.curves] == ["arm at the start", "excitation"]


def test_torque_filters_zoom_at_a_reversal(study) -> None:
    log = study.log
    motion = study.fit.preprocessor(log, study.nominal)
    chart = torque_filters(log, motion, {"half": 0.5 * log.tau_meas})
    assert len(chart.panels) == 2 * log.dof
    for j in range(log.dof):
        zoom = chart.panels[2 * j + 1]
        true = next(m for m in zoom.marks if m.label == "true")
        half = next(m for m in zoom.marks if m.label == "half")
        measured = next(m for m in zoom.marks if m.label == "measured")
        np.testing.assert_array_equal(half.y, 0.5 * measured.y)
        # The joint turns within two samples of the middle of the zoom.
        at = float(zoom.title.split()[-2])
        k = int(np.argmin(np.abs(log.t - at)))
        near = log.truth.dq[k - 12 : k + 13, j]
        assert near.min() < 0.0 < near.max()
        assert np.abs(true.x).max() <= 60.0 + 1e-6  # [ms]


def test_torque_filters_of_a_log_without_truth_show_none(study) -> None:
    log = replace(study.log, truth=None)
    chart = torque_filters(log, study.fit.preprocessor(log, study.nominal), {})
    assert list(chart.legend()) == ["measured"]


def test_torque_filters_show_what_is_left_without_the_true_torque(study) -> None:
    log = study.log
    chart = torque_filters(log, study.fit.preprocessor(log, study.nominal), {"x": log.truth.tau})
    measured, filtered = chart.panels[0].marks
    assert not filtered.y.any()
    noise = (log.tau_meas - log.truth.tau)[:, 0]
    assert np.std(measured.y) == pytest.approx(np.std(noise), rel=0.2)


def predicted(study, log) -> tuple[Prediction, Prediction]:
    fit = study.fit
    motion = fit.preprocessor(log, fit.nominal)
    return predictions(fit.chosen.beta, log, motion, fit.nominal, fit.basis)


@pytest.mark.slow
def test_residuals_have_the_spectrum_and_the_distribution_of_their_noise(study) -> None:
    fitted, _ = predicted(study, study.log)
    chart = residuals(fitted)
    for spectrum, distribution in zip(chart.panels[::2], chart.panels[1::2], strict=True):
        power, flat = spectrum.marks
        assert power.y.mean() == pytest.approx(flat.y.mean(), rel=0.5)
        steps, normal = distribution.marks
        assert np.trapezoid(steps.y, steps.x) == pytest.approx(1.0, abs=0.02)
        assert np.trapezoid(normal.y, normal.x) == pytest.approx(1.0, abs=1e-3)


def test_noise_is_what_periods_do_not_repeat() -> None:
    rng, t = np.random.default_rng(1), 0.1 * np.arange(4000)
    noise, ripple = rng.normal(0.0, 0.2, t.size), np.sin(2.0 * np.pi * 1.5 * t)
    rows = (noise + ripple)[:, None]
    fitted = Prediction(("a",), ("N m",), t, rows, 0.0 * rows, *np.ones((2, 1)), None)
    power, flat, floor = residuals(fitted, period=8.0).panels[0].marks
    assert power.y.max() > 20.0 * flat.y[0]
    assert floor.y.mean() == pytest.approx(2.0 * 0.2**2 / 10.0, rel=0.1)
    assert floor.y.max() < 2.0 * floor.y.mean()
    for period in (None, 8.05, 300.0):  # no whole rows, or too long
        assert len(residuals(fitted, period).panels[0].marks) == 2


def changed(fit, of_state):
    """Return a fit whose rows of joint 2 have a torque beside, a function of its state."""
    state = joint_states(fit.motion, fit.nominal)[1]
    beside = np.zeros((fit.motion.t.size, fit.problem.dof))
    beside[:, 1] = of_state(state)
    rows = rows_of(fit.motion, beside) * 3.0 * fit.chosen.noise_std[1]
    return replace(
        fit,
        problem_without_terms=replace(
            fit.problem_without_terms, y=fit.problem_without_terms.y + rows.ravel()
        ),
    )


@pytest.mark.parametrize(
    ("panel", "of_state"),
    [
        (0, lambda s: np.sin(8.0 * s.q)),
        (1, lambda s: s.dq * np.abs(s.dq) / (s.dq**2).max()),
        (2, lambda s: np.abs(s.load) * s.sign / np.abs(s.load).max()),
    ],
)
def test_residuals_over_the_state_show_what_the_model_lacks(study, panel, of_state) -> None:
    fit = study.fit
    for shown in residuals_over_state(
        bin_residuals(fit), fit.problem_without_terms.joint_names
    ).panels:
        assert max(np.abs(mark.y).max() for mark in shown.marks) < MAX_MEAN_RATIO
    residuals_of = bin_residuals(changed(fit, of_state))
    shown = residuals_over_state(residuals_of, fit.problem_without_terms.joint_names).panels[panel]
    sizes = [np.abs(mark.y).max() for mark in shown.marks]
    assert sizes[1] > MAX_MEAN_RATIO
    assert max(sizes[:1] + sizes[2:]) < MAX_MEAN_RATIO


def test_singular_values_mark_the_directions_of_the_table(study) -> None:
    weakest = weakest_directions(study.fit.problem, study.fit.chosen, 3)
    curve, points = singular_values(weakest).panels[0].marks
    assert curve.y[0] == 1.0
    assert (np.diff(curve.y) <= 0.0).all()
    np.testing.assert_array_equal(points.y, curve.y[-3:])
    assert [direction.ratio for direction in weakest] == pytest.approx(1.0 / points.y)
    assert weakest[-1].text == weakest_direction(study.fit.problem, study.fit.chosen).text


def test_information_over_time_is_by_stretch_and_parameter(study) -> None:
    matrix = information_over_time(study.assessment.information, study.fit.chosen.names).panels[0]
    assert matrix.columns == study.fit.chosen.names
    assert matrix.values.shape == (len(matrix.names), len(matrix.columns))
    assert matrix.names[0].startswith("0 to ")
    # Without one stretch the rest says less, and the parts say no more than all.
    assert matrix.values.min() >= 0.0
    assert 0.1 < matrix.values.max() < 1.0


def test_the_design_converges_from_the_best_draw_to_the_best_start(study) -> None:
    designs = study.designs.designs
    panel = design_convergence(designs, "d-optimality").panels[0]
    assert panel.levels == (designs[0].value_before, designs[0].value_after)
    assert len(panel.marks) == len(designs[0].start_values)
    assert panel.marks[0].y[0] == designs[0].value_before
    assert designs[0].value_after < designs[0].value_before
    assert design_convergence((replace(designs[0], histories=()),), "d-optimality") is None


def test_prediction_shows_the_residual_whose_rms_is_stated(study) -> None:
    found, before = predicted(study, study.unseen)
    chart = prediction(found, before, study.fit.chosen.noise_std, "unseen")
    for j in range(study.plant.dof):
        residual = next(m for m in chart.panels[2 * j + 1].marks if isinstance(m, Curve))
        assert np.sqrt((residual.y**2).mean()) == pytest.approx(found.torque_rms[j])
        assert (residual.x > 0.0).all()
        assert residual.x[-1] < study.unseen.t[-1]
    stated = next(e for e in study.result.estimates if e.estimator == study.result.chosen)
    np.testing.assert_allclose(found.torque_rms, stated.validation.torque_rms)
    assert (before.torque_rms > found.torque_rms).all()


def test_base_parameters_are_scaled_by_the_bound(study) -> None:
    estimate, basis = study.fit.chosen, study.fit.basis
    true, nominal = (basis.project(r.parameters()) for r in (study.plant, study.nominal))
    bound = 2.0 * estimate.std
    chart = base_parameters(estimate, nominal, true, bound)
    points = marks(chart, "consistent, 95 % interval")[0]
    np.testing.assert_allclose(points.x, (estimate.beta - true) / bound)
    np.testing.assert_allclose(points.x_error, 1.96 / 2.0, rtol=1e-4)
    np.testing.assert_allclose(marks(chart, "nominal")[0].x, (nominal - true) / bound)
    assert chart.panels[0].y_ticks == estimate.names


def test_base_parameters_without_truth_stand_about_the_estimate(study) -> None:
    estimate = study.fit.chosen
    chart = base_parameters(estimate, np.zeros(len(estimate.names)), None, None)
    assert not marks(chart, "consistent, 95 % interval")[0].x.any()
    assert "estimate" in chart.panels[0].x_label


def test_correlation_has_a_unit_diagonal_and_names_the_strongest_pair(study) -> None:
    chart = correlation(study.fit.chosen)
    matrix = chart.panels[0]
    assert isinstance(matrix, Matrix)
    np.testing.assert_allclose(np.diag(matrix.values), 1.0)
    assert np.abs(matrix.values).max() < 1.0 + 1e-9
    off = np.abs(matrix.values - np.eye(len(matrix.names)))
    i, j = np.unravel_index(off.argmax(), off.shape)
    assert f"{matrix.names[i]} and {matrix.names[j]}" in chart.caption


def test_closed_loop_figures_show_the_runs(study) -> None:
    names, units = study.plant.joint_names, study.plant.joint_units
    chart = joint_errors(study.loop, names, units)
    run = study.loop.find("nominal", "sinusoidal", "circle-fast")
    shown = marks(chart, "nominal")[1]  # joint 1: undisturbed, sinusoidal, joint 2 …
    at = np.searchsorted(run.trace.t, shown.x)
    np.testing.assert_array_equal(run.trace.t[at], shown.x)
    np.testing.assert_allclose(shown.y, 1e3 * run.trace.error[at, 0])
    assert np.abs(shown.y).max() == pytest.approx(1e3 * run.max_error[0], rel=0.01)
    tip = marks(tool_errors(study.loop), "true")[0]
    assert tip.y.min() >= 0.0
    difference = marks(torque_differences(study.loop, names, units), "nominal")[0]
    true = study.loop.find("true", "undisturbed", "circle-fast")
    nominal = study.loop.find("nominal", "undisturbed", "circle-fast")
    np.testing.assert_allclose(difference.y, (nominal.trace.tau - true.trace.tau)[at, 0])
    energy = marks(energy_differences(study.loop, names), "nominal")[0]
    assert energy.y[-1] == pytest.approx(nominal.energy[0] - true.energy[0], rel=0.05)
    assert not marks(energy_differences(study.loop, names), "true")


def test_captions_name_the_task_that_is_drawn(study) -> None:
    step = replace(study.loop.tasks[0], name="joint-step")
    first = study.loop.tasks[0].name
    laps = [run for run in study.loop.runs if run.task == first]
    runs = tuple(replace(run, task="joint-step") for run in laps)
    loop = replace(study.loop, tasks=(step,), runs=runs)
    arguments = (loop, study.plant.joint_names, study.plant.joint_units)
    for chart in (joint_errors(*arguments), energy_differences(*arguments[:2])):
        assert "joint-step" in chart.caption
        assert "path" not in chart.caption


def test_measured_friction_lies_on_the_fitted_curve_away_from_standstill(study) -> None:
    chart, true = friction(study.assessment.friction), study.plant.joints
    pairs = zip(marks(chart, "measured"), marks(chart, "fitted"), true, strict=True)
    for measured, fitted, joint in pairs:
        law = joint.friction
        wanted = law.Fv * fitted.x + law.Fc * np.tanh(fitted.x / law.eps)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(fitted.y, wanted, atol=0.02 * size)
        fast = np.abs(measured.x) > 5.0 * law.eps
        expected = np.interp(measured.x, fitted.x, fitted.y)
        np.testing.assert_allclose(measured.y[fast], expected[fast], atol=0.1 * size)
    assert not marks(chart, "with unmodeled torque")
