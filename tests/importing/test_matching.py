"""Headers of vendors: which columns are taken, which are not, and why."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from foreign_forms import arm
from robots import urdf_path

from robotid_sim.errors import LogError
from robotid_sim.importing.foreign_log import ForeignLog
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.match import match
from robotid_sim.model.catalog import load_robot


def recorded(*patterns, count):
    """Return columns of zeros by pattern and number, with a time."""
    names = [p.format(k=k, k1=k + 1) for p in patterns for k in range(count)]
    columns = {name: np.zeros(20) for name in names if "{" not in name}
    return ForeignLog(columns | {"timestamp": np.arange(20) / 500.0})


def taken(result, quantity):
    """Return the columns of a quantity, in the order of the joints."""
    return [getattr(joint, quantity) for joint in result.mapping.joints.values()]


def test_headers_of_a_panda_are_understood() -> None:
    robot = load_robot(urdf_path("panda"), formal=True)
    log = recorded(
        *("q_{k}", "q_d_{k}", "dq_{k}", "dq_d_{k}", "ddq_d_{k}", "theta_{k}", "dtheta_{k}"),
        *("tau_J_{k}", "tau_J_d_{k}", "dtau_J_{k}", "tau_ext_hat_filtered_{k}"),
        count=7,
    )
    result = match(log, robot)
    assert taken(result, "position") == [f"q_{k}" for k in range(7)]
    assert taken(result, "velocity") == [f"dq_{k}" for k in range(7)]
    assert taken(result, "torque") == [f"tau_J_{k}" for k in range(7)]
    assert taken(result, "command") == [None] * 7  # it is without gravity
    assert result.notes[0].startswith("profile Franka")


def test_headers_of_a_ur_are_understood() -> None:
    robot = load_robot(urdf_path("ur10"), formal=True)
    log = recorded(
        *("target_q_{k}", "target_qd_{k}", "target_qdd_{k}", "target_current_{k}"),
        *("target_moment_{k}", "actual_q_{k}", "actual_qd_{k}", "actual_current_{k}"),
        *("joint_temperatures_{k}", "joint_control_output_{k}"),
        count=6,
    )
    with pytest.raises(LogError, match="motor currents but no torques: give torque_constant"):
        match(log, robot, ImportMap(profile="none"))
    assert any("times 10 10 9 9 9 9 N m/A ± 30 %" in note for note in match(log, robot).notes)
    joints = {name: {"torque_constant": 10.0} for name in robot.joint_names}
    result = match(log, robot, ImportMap.model_validate({"joints": joints}))
    assert taken(result, "position") == [f"actual_q_{k}" for k in range(6)]
    assert taken(result, "velocity") == [f"actual_qd_{k}" for k in range(6)]
    assert taken(result, "current") == [f"actual_current_{k}" for k in range(6)]
    assert taken(result, "command") == [None] * 6  # target_moment is of the controller's model
    assert not any("WARNING" in note for note in result.notes)
    assert result.mapping.time == "timestamp"


def test_columns_of_another_number_of_joints_are_not_taken_by_order() -> None:
    with pytest.raises(LogError, match="no columns are the positions of the joints shoulder"):
        match(recorded("q_{k}", "tau_{k}", count=3), arm())


def test_joint_names_come_before_order() -> None:
    log = recorded("q_{k}", "tau_{k}", count=2)
    columns = {**log.columns, "pos elbow": np.zeros(20), "pos shoulder": np.zeros(20)}
    result = match(ForeignLog(columns), arm())
    assert taken(result, "position") == ["pos shoulder", "pos elbow"]
    assert result.reasons["position"] == "by joint name; not q"


def test_the_map_in_the_docs_has_keys_that_there_are() -> None:
    page = Path(__file__).parents[2] / "docs/how-to/csv-log.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    example = next(block for block in blocks if "[coupling]" in block)
    mapping = ImportMap.model_validate(tomllib.loads(example))
    assert mapping.joints["joint_1"].gear_ratio == 32.0
    for name in re.findall(r"also ([\w, ]+)", example):
        for key in name.split(", "):
            sections = (ImportMap, type(mapping.joints["joint_1"]))
            assert any(key.strip() in section.model_fields for section in sections)
