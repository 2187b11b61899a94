"""Tables, words and findings of a study's page: bodies, digits, limits, the robot."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.model.inertia import unpack
from robotid_sim.pipeline.result import CheckResult
from robotid_sim.report.figures.torques import prediction
from robotid_sim.report.finding import (
    clear_shares,
    limits_of_noise,
    noise_limited,
    summarize_study,
    trust_section,
)
from robotid_sim.report.loop_section import better_nominal_notes
from robotid_sim.report.sections import bodies_section
from robotid_sim.report.tables import (
    check_table,
    limits_table,
    number_within,
    parameter_table,
    relative_text,
)
from robotid_sim.section import percent
from robotid_sim.validation.prediction import predictions


def test_bodies_have_the_numbers_of_their_models(study) -> None:
    (table,) = bodies_section(study.fit, study.plant).tables
    assert table.columns[2:] == ("95 % interval", "nominal", "identified.urdf", "true")
    robots = (study.nominal, study.fit.consistent_robot.robot, study.plant)
    spreads = [of.std for of in study.fit.bodies()]
    assert len(table.rows) == 3 * study.plant.dof
    for k, row in enumerate(table.rows):
        link, size = divmod(k, 3)
        scale, first = (1.0, 1e3, 1.0)[size], 7 * link + (0, 1, 4)[size]
        for robot, cell in zip(robots, row[3:], strict=True):
            mass, center, central = unpack(robot.links[link].phi)
            expected = scale * np.array(([mass], center, np.diag(central))[size])
            spread = scale * np.array(spreads[first : first + len(expected)])
            shown = np.array([float(text) for text in cell.split(", ")])
            assert (np.abs(shown - expected) <= 0.051 * spread).all()


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (11.81083, 0.0026, "11.8108"),
        (1234.567, 14.0, "1235"),
        (1234.567, 1.4, "1234.6"),
        (4.04e-15, 0.0026, "0.0000"),
        (-5.1731e-9, 2.6e-10, "-5.17e-09"),
        (0.0, 1e-9, "0"),
        (1.23456, 0.0, "1.235"),
        (1.23456, np.inf, "1.235"),
    ],
)
def test_values_end_where_the_second_digit_of_their_deviation_is(value, std, text) -> None:
    assert number_within(value, std) == text


def test_base_parameters_stand_with_their_intervals(study) -> None:
    fit, intervals = study.fit, study.fit.intervals()
    before = fit.basis.project(study.nominal.parameters())
    table = parameter_table(fit.chosen, fit.basis, before, intervals=intervals)
    column = table.columns.index("95 % interval")
    ends = np.array([[float(end) for end in row[column].split(" … ")] for row in table.rows])
    within = fit.chosen.std
    assert (np.abs(ends[:, 0] - intervals.lower) < within).all()
    assert (np.abs(ends[:, 1] - intervals.upper) < within).all()


def test_a_nominal_model_that_tracks_better_is_named_and_explained(study) -> None:
    loop, units = study.loop, study.plant.joint_units

    def scaled(factor: float):
        runs = (
            replace(run, rms_error=factor * run.rms_error) if run.model == "nominal" else run
            for run in loop.runs
        )
        return replace(loop, runs=tuple(runs))

    assert better_nominal_notes(scaled(1e3), units) == []
    (note,) = better_nominal_notes(scaled(1e-6), units)
    for task in loop.tasks:
        assert f"{task.name} (undisturbed)" in note


def test_finding_states_gap_error_and_known_parameters(study) -> None:
    basis, chosen = study.fit.basis, study.fit.chosen
    text = summarize_study(study.result, chosen, basis, 0.04)
    assert text.startswith("Identification closed 96 % of the tracking gap")
    assert text.endswith(".")
    assert "\n" not in text
    known = int((np.abs(chosen.beta) > 10.0 * chosen.std).sum())
    assert f"{known} of {basis.rank} base parameters" in text


def test_finding_without_a_loop_has_no_gap(study) -> None:
    text = summarize_study(study.result, study.fit.chosen, study.fit.basis, None)
    assert "gap" not in text
    assert "predicts torques" in text


def test_failed_verdict_comes_first(study) -> None:
    checks = list(study.result.verdict.checks)
    checks[4] = checks[4].model_copy(update={"passed": False, "value": 0.02})
    judged = study.result.verdict.model_copy(update={"passed": False, "checks": checks})
    result = study.result.model_copy(update={"verdict": judged})
    text = summarize_study(result, study.fit.chosen, study.fit.basis, 0.04)
    assert text.startswith("Failed: model error on the validation motion / RMS torque")
    assert "2 %, limit 0.6 %" in text


def test_joint_with_uncertain_parameters_is_noise_limited(study) -> None:
    chosen, basis = study.fit.chosen, study.fit.basis
    last = [k for k, name in enumerate(chosen.names) if "6" in name]
    cov = chosen.cov.copy()
    cov[last, last] = (10.0 * chosen.beta[last]) ** 2
    noisy = replace(chosen, cov=cov)
    assert clear_shares(noisy, basis)[5] == 0.0
    assert "joint_6" in noise_limited(noisy, basis)
    assert "less than half of those of joint_6" in summarize_study(study.result, noisy, basis, 0.0)
    assert "joint_1" not in noise_limited(noisy, basis)
    unknown = replace(chosen, cov=np.diag((10.0 * chosen.beta) ** 2))
    assert "less than half of those of every joint" in summarize_study(
        study.result, unknown, basis, 0.0
    )


@pytest.mark.parametrize(
    ("std", "value", "text"),
    [(0.5, -10.0, "5"), (2.1, 1.0, "> 100"), (7e-3, 1e-14, "> 100"), (1.0, 0.0, "> 100")],
)
def test_a_std_beyond_its_value_is_no_percentage(std, value, text) -> None:
    assert relative_text(std, value) == text


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (1.0, 2, "100 %"),
        (0.996, 2, "100 %"),
        (0.123, 2, "12 %"),
        (12.3, 2, "1230 %"),
        (1e9, 2, "1e+11 %"),
    ],
)
def test_a_share_beyond_one_has_no_exponent(share, digits, text) -> None:
    assert percent(share, digits) == text


def test_a_check_of_a_band_shows_both_ends() -> None:
    checks = [
        CheckResult(name=name, passed=True, value=1.0, limit=limit, lower=lower)
        for name, limit, lower in (
            ("covariance_matches_error", 2.5, 0.4),
            ("all_base_parameters_excited", 1.0, None),
            ("no_torque_saturation", 1.0, None),
        )
    ]
    assert [row[-1] for row in check_table(checks).rows] == ["0.4 … 2.5", "= 1", "≤ 1"]


def test_the_page_counts_badly_and_well_known_parameters_alike(study) -> None:
    chosen, basis = study.fit.chosen, study.fit.basis
    (section,) = trust_section(study.assessment)
    known = int(limits_of_noise(chosen, basis).split()[0])
    note = next(n for n in section.notes if "have a standard deviation" in n)
    bad = int(note.split()[0])
    assert known + bad == len(chosen.names)
    assert len(note.split(": ")[1].split(", ")) == bad
    # One standard deviation on the page: that of the table of base parameters.
    assert not any("std" in column for table in section.tables for column in table.columns)


@pytest.mark.parametrize(
    ("kinds", "units"),
    [
        ("revolute", {"Fv [N m s/rad]", "Fc [N m]", "eps [rad/s]", "Ia [kg m²]"}),
        ("mixed", {"Fv [N s/m, N m s/rad]", "Fc [N, N m]", "eps [m/s, rad/s]", "Ia [kg, kg m²]"}),
    ],
)
def test_limits_and_drives_have_units(study, kinds, units) -> None:
    joints = study.plant.joints
    if kinds == "mixed":
        joints = (replace(joints[0], prismatic=True), *joints[1:])
    assert units <= set(limits_table(replace(study.plant, joints=joints)).columns)


def test_a_log_of_which_nothing_is_known_is_not_called_unseen(study) -> None:
    found = study.fit
    motion = found.preprocessor(study.log, study.nominal)
    made = predictions(found.chosen.beta, study.log, motion, study.nominal, found.basis)
    chart = prediction(*made, found.chosen.noise_std, "given")
    assert chart.title == "Prediction of a log"
    assert "seen" not in chart.caption
