"""parameters.csv: one row a parameter, numbers as in the estimate and in identified.urdf."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robotid_sim.errors import FileFormatError
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.identification import COLUMNS, parameter_rows, table_beside


@pytest.fixture
def rows(quick_study) -> list[dict[str, str]]:
    _, folder = quick_study
    with (folder / "parameters.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert tuple(reader.fieldnames or ()) == COLUMNS
        return list(reader)


def of_kind(rows: list[dict[str, str]], kind: str) -> list[dict[str, str]]:
    return [row for row in rows if row["kind"] == kind]


def numbers(rows: list[dict[str, str]], column: str) -> np.ndarray:
    return np.array([float(row[column] or "nan") for row in rows])


def test_base_rows_are_the_chosen_estimate(quick_study, rows) -> None:
    whole, _ = quick_study
    fit, base = whole.fit, of_kind(rows, "base")
    assert [row["parameter"] for row in base] == list(fit.chosen.names)
    assert [row["grouping"] for row in base] == list(fit.basis.groupings)
    assert [row["unit"] for row in base] == list(fit.chosen.units)
    np.testing.assert_array_equal(numbers(base, "value"), fit.chosen.beta)
    nominal = fit.basis.of(fit.nominal.parameters())
    np.testing.assert_array_equal(numbers(base, "nominal"), nominal)


def test_intervals_hold_the_truth(quick_study, rows) -> None:
    whole, _ = quick_study
    base = of_kind(rows, "base")
    lower, upper, std = (numbers(base, name) for name in ("lower", "upper", "std"))
    half, sided = 0.5 * (upper - lower), ~whole.fit.chosen.at_bound
    assert sided.sum() > 45
    assert (lower[~sided] == 0.0).all()
    assert (half > 1.9 * std)[sided].all()  # Student's t has wider tails than 1.96
    middle = 0.5 * (lower + upper)
    np.testing.assert_allclose(middle[sided], numbers(base, "value")[sided], atol=1e-9)
    true = whole.fit.basis.of(whole.plant.parameters())
    held = np.mean((lower <= true) & (true <= upper))
    assert held > 0.85  # 95 % of 52, of one seed


def test_full_rows_are_those_of_the_identified_robot(quick_study, rows) -> None:
    whole, folder = quick_study
    robot, full = Robot.from_urdf(folder / "identified.urdf"), of_kind(rows, "full")
    assert [row["parameter"] for row in full] == list(robot.parameter_names)
    np.testing.assert_allclose(numbers(full, "value"), robot.parameters(), rtol=1e-9, atol=1e-9)
    bodies = [row["body"] for row in full]
    assert bodies[:20:10] == ["link_1", "link_2"]
    assert bodies[60:68:4] == ["joint_1", "joint_2"]
    np.testing.assert_array_equal(numbers(full, "nominal"), whole.nominal.parameters())


def test_groupings_say_what_the_log_tells_of_a_parameter(quick_study, rows) -> None:
    whole, _ = quick_study
    basis = whole.fit.basis
    full = {row["parameter"]: row for row in of_kind(rows, "full")}
    for name, row in full.items():
        alone = name in basis.identifiable_alone
        assert (row["grouping"] == "alone") is alone
        assert (row["grouping"] == "not identifiable") is (name in basis.no_effect)
        assert (row["grouping"] == "not in the fit") is name.startswith("Fo")
        assert bool(row["std"]) is bool(row["lower"]) is bool(row["upper"]) is alone
    assert full["m2"]["grouping"].split("; ")[0] == "Izz1R"
    assert full["m1"]["grouping"] == "not identifiable"


def test_without_a_robot_or_intervals_cells_are_empty(quick_study) -> None:
    fit = quick_study[0].fit
    bare = replace(fit, lift=None, chosen=replace(fit.chosen, cov=None, cov_white=None))
    for row in parameter_rows(bare).rows:
        cells = dict(zip(COLUMNS, row, strict=True))
        assert cells["value"] == "" or cells["kind"] == "base"
        assert cells["std"] == cells["lower"] == ""
        assert cells["nominal"]


def test_a_failed_fit_leaves_no_table(quick_study, tmp_path) -> None:
    fit = quick_study[0].fit
    estimate, path = tmp_path / "estimate.json", tmp_path / "parameters.csv"
    assert fit.write_files(estimate, path) == [estimate, path]
    failed = replace(fit, chosen=replace(fit.chosen, success=False))
    assert failed.write_files(estimate, path) == [estimate]
    assert not path.exists()
    with pytest.raises(FileFormatError, match="choose a folder"):
        fit.write_files(estimate, Path(tmp_path / "none" / "parameters.csv"))


def test_every_estimate_of_a_folder_has_its_own_table(tmp_path) -> None:
    names = ("estimate.json", "wls.json", "huber.json")
    tables = [table_beside(tmp_path / name).name for name in names]
    assert tables == ["parameters.csv", "wls-parameters.csv", "huber-parameters.csv"]
