"""Words and units of pages: what stands in two places says the same."""

from dataclasses import replace

import pytest

from robotid_sim.pipeline.result import CheckResult
from robotid_sim.report.figures.torques import prediction
from robotid_sim.report.finding import limits_of_noise, trust_section
from robotid_sim.report.tables import check_table, limits_table, relative_text
from robotid_sim.section import percent
from robotid_sim.validation.prediction import predictions


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
            ("nees_in_band", 2.5, 0.4),
            ("rank_full", 1.0, None),
            ("no_saturation", 1.0, None),
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
