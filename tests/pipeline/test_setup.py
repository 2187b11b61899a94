"""The setup of a study, what is built once and refused, and the table of its parameters."""

import csv
import gc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from robots import urdf_path

from robotid_sim.dynamics import base_parameters as base_parameters_module
from robotid_sim.errors import FileFormatError, InfeasibleError, OptionError
from robotid_sim.estimation import problem as problem_module
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.model.urdf_xml import parse_xml
from robotid_sim.pipeline import build, nominal
from robotid_sim.pipeline.build import build_setup, load_kernels
from robotid_sim.pipeline.build_robot import build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig, load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.identification import CSV_COLUMNS, default_table_path, parameter_rows
from robotid_sim.pipeline.nominal import torque_mismatch
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.pipeline.study import run_study
from robotid_sim.streams import Streams

SMALL = {"design": {"candidates": 5, "iterations": 2}}


def reachable(*values):
    """Return all that can be reached from values by references, but for classes and modules."""
    seen, stack = {}, list(values)
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, type | ModuleType):
            continue
        if callable(value) and hasattr(value, "__globals__"):
            continue  # a function of a module reaches all of the module
        seen[id(value)] = value
        stack += gc.get_referents(value)
    return seen.values()


@pytest.fixture(scope="module", params=["twolink", pytest.param("irb140", marks=pytest.mark.slow)])
def setup(request):
    robot = load_robot(request.param)
    return build.build_setup(robot, load_config(None, SMALL).quick())


def holds_the_plant(values, plant):
    """Return what among values is the plant, its parameters, or its file."""
    phi, document = plant.parameters(), plant.document
    hits = []
    for value in values:
        if isinstance(value, Robot) and np.array_equal(value.parameters(), phi):
            hits.append(value)
        if isinstance(value, bytes) and document is not None and value == document.xml:
            hits.append(value)
    return hits


def test_the_plant_is_in_the_cell(setup):
    plant = setup.cell.plant
    assert any(value is plant for value in holds_the_plant(reachable(setup.cell), plant))


@pytest.mark.slow
def test_the_plant_is_not_reachable_from_what_design_and_identify_receive(setup):
    plant = setup.cell.plant
    designed_with = (setup.nominal, setup.basis, setup.excitation)
    assert holds_the_plant(reachable(*designed_with), plant) == []
    designs = design_excitation(*designed_with, setup.streams("design"))
    log = run_experiment(setup.cell, designs.trajectories[0], setup.streams("measure"))
    received = (log, setup.nominal, setup.basis, setup.fit)
    assert holds_the_plant(reachable(*received), plant) == []
    fit = fit_logs(*received, setup.streams("identify"))
    assert holds_the_plant(reachable(fit), plant) == []


def test_masses_of_the_plant_are_not_in_the_text_of_the_nominal_model(setup):
    document = setup.nominal.document
    assert document is not None
    masses = {float(e.get("value")) for e in parse_xml(document.xml, document.path).iter("mass")}
    assert masses
    assert not masses & {float(link.phi[0]) for link in setup.cell.plant.links if link.phi[0]}


def counted(monkeypatch, owner, name, key):
    """Count the calls of a function wherever it was imported, by a key of its arguments."""
    calls, function = Counter(), getattr(owner, name)

    def counting(*args, **kwargs):
        calls[key(*args, **kwargs)] += 1
        return function(*args, **kwargs)

    for module in list(__import__("sys").modules.values()):
        if getattr(module, "__name__", "").startswith("robotid_sim"):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, attribute, counting)
    return calls


def rows_of(motion, *_):
    """Return what decides the rows of a problem."""
    arrays = b"".join(getattr(motion, name).tobytes() for name in ("t", "q", "tau"))
    return arrays, repr(motion.row_filter)


@pytest.mark.slow
def test_nominal_basis_and_problem_are_built_once(monkeypatch, tmp_path):
    nominals = counted(monkeypatch, nominal, "perturb_nominal", lambda *_, **__: "nominal")
    columns = ("Fv", "Fc", "Ia")
    bases = counted(
        monkeypatch,
        base_parameters_module,
        "base_parameters",
        lambda robot, names=(), *_: tuple(names),
    )
    problems = counted(monkeypatch, problem_module, "build_problem", rows_of)
    setup = build.build_setup(urdf_path("2r"), load_config(None, SMALL).quick())
    study = run_study(setup, tmp_path)
    assert nominals == {"nominal": 1}
    assert bases[columns] == 1
    assert problems[rows_of(study.fit.motion)] == 1
    # Nor any other problem, such as that of the unseen log, but that of the smoothed motion: the
    # fit asks it for gravity.
    assert set(problems.values()) == {1}
    assert isinstance(study.log, Log)


def test_nominal_is_wrong_within_the_band_on_every_joint(robot: Robot) -> None:
    mismatch = torque_mismatch(build_nominal(robot, StudyConfig()), robot)
    assert (mismatch >= 0.05).all()
    assert (mismatch <= 0.30).all()


def test_nominal_depends_on_the_seed_alone(irb140: Robot) -> None:
    first, again, other = (
        build_nominal(irb140, load_config(None, {"seed": seed})).parameters() for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_nominal_file_is_read_and_another_robot_refused(irb140: Robot, iiwa: Robot, tmp_path):
    write_urdf(irb140.with_payload(1.0), tmp_path / "nominal.urdf")
    config = load_config(None, {"nominal": {"file": str(tmp_path / "nominal.urdf")}})
    nominal = build_nominal(irb140, config)
    assert nominal.links[-1].phi[0] == pytest.approx(irb140.links[-1].phi[0] + 1.0)
    with pytest.raises(OptionError, match="other joints or another geometry"):
        build_nominal(iiwa, config)


def test_stages_draw_from_their_own_children_of_the_seed() -> None:
    draws = [Streams(0)(name).random() for name in ("design", "measure", "design")]
    assert draws[0] == draws[2] != draws[1]


def test_payload_of_the_configuration_hangs_at_the_tip() -> None:
    config = load_config(None, {"robot": {"payload": {"mass": 2.0, "com": [0.0, 0.0, 0.1]}}})
    bare = build_robot("irb140", StudyConfig().robot)
    loaded = build_robot("irb140", config.robot)
    np.testing.assert_allclose(
        loaded.links[-1].phi, bare.with_payload(2.0, (0.0, 0.0, 0.1)).links[-1].phi
    )


def refused(error, match, name="twolink", **sections):
    with pytest.raises(error, match=match):
        build_setup(name, load_config(None, sections))


@pytest.mark.slow
def test_constraints_that_no_motion_keeps_are_refused_at_the_start():
    box = {"lower": [9.0, 9.0, 9.0], "upper": [9.1, 9.1, 9.1]}
    refused(InfeasibleError, "even at rest", design={"constraints": {"boxes": [box]}})
    refused(InfeasibleError, "below the floor", "irb140", design={"constraints": {"floor": 1.0}})


def test_an_arm_too_weak_for_any_pose_is_refused_at_the_start():
    joints = {f"joint_{k}": {"effort": 0.01} for k in range(1, 7)}
    refused(InfeasibleError, "of 'irb140' needs", "irb140", robot={"joints": joints})


def test_sensors_of_another_robot_are_refused_at_the_start():
    sensors = {"motor-current": {"torque_constant": [1.0, 2.0, 3.0]}}
    refused(OptionError, "3 entries for 2 joints", sensors=sensors)


@pytest.mark.slow
def test_a_home_that_must_move_is_said_and_shared_by_all_that_begin_there():
    weak = {"joints": {"joint_2": {"effort": 30.0, "acceleration": 5.0}}}
    setup = build_setup("irb140", load_config(None, {"robot": weak}))
    assert any("home is (" in note for note in setup.assumptions)
    assert setup.unseen.home is not None
    np.testing.assert_array_equal(setup.unseen.home, setup.nominal.home)
    assert np.abs(setup.nominal.home).max() > 0.1


def compiled():
    """Return the names of our compiled functions with the types that they are compiled for.

    What a weak proxy stands for is not asked for its class: it may be gone.
    """
    return {
        (function.py_func.__module__, function.py_func.__name__, signature)
        for function in gc.get_objects()
        if issubclass(type(function), Dispatcher)
        and function.py_func.__module__.startswith("robotid")
        for signature in function.signatures
    }


@pytest.mark.slow
def test_experiment_and_filters_find_their_functions_loaded():
    setup = build_setup("irb140", StudyConfig().quick())
    load_kernels()
    before = compiled()
    assert {"smooth_steps", "kalman_filter"} <= {name for _, name, _ in before}
    log = run_experiment(setup.cell, setup.unseen, np.random.default_rng(0))
    setup.fit.preprocessor(log, setup.nominal)
    assert compiled() == before


@pytest.fixture
def rows(quick_study) -> list[dict[str, str]]:
    _, folder = quick_study
    with (folder / "parameters.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert tuple(reader.fieldnames or ()) == CSV_COLUMNS
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
    nominal = fit.basis.project(fit.nominal.parameters())
    np.testing.assert_array_equal(numbers(base, "nominal"), nominal)


def test_intervals_hold_the_truth(quick_study, rows) -> None:
    whole, _ = quick_study
    base = of_kind(rows, "base")
    lower, upper, std = (numbers(base, name) for name in ("lower", "upper", "std"))
    half, sided = 0.5 * (upper - lower), ~whole.fit.chosen.is_at_bound
    assert sided.sum() > 45
    assert (lower[~sided] == 0.0).all()
    assert (half > 1.9 * std)[sided].all()  # Student's t has wider tails than 1.96
    middle = 0.5 * (lower + upper)
    np.testing.assert_allclose(middle[sided], numbers(base, "value")[sided], atol=1e-9)
    true = whole.fit.basis.project(whole.plant.parameters())
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
        assert (row["grouping"] == "not identifiable") is (name in basis.not_identifiable)
        assert (row["grouping"] == "not in the fit") is name.startswith("Fo")
        assert bool(row["std"]) is bool(row["lower"]) is bool(row["upper"]) is alone
    assert full["m2"]["grouping"].split("; ")[0] == "Izz1R"
    assert full["m1"]["grouping"] == "not identifiable"


def test_without_a_robot_or_intervals_cells_are_empty(quick_study) -> None:
    fit = quick_study[0].fit
    bare = replace(fit, consistent_robot=None, chosen=replace(fit.chosen, cov=None, cov_white=None))
    for row in parameter_rows(bare).rows:
        cells = dict(zip(CSV_COLUMNS, row, strict=True))
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
    tables = [default_table_path(tmp_path / name).name for name in names]
    assert tables == ["parameters.csv", "wls-parameters.csv", "huber-parameters.csv"]
