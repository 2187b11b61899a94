"""The record of a closed-loop run: one class, in JSON and back."""

import json

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from robotid_sim.validation.control_run import ControlRun
from robotid_sim.validation.metrics import StepMetrics

RECORD = TypeAdapter(ControlRun)
PER_JOINT = (
    *("rms_error", "max_error", "iae", "itae", "torque_mismatch", "energy", "energy_signed"),
    *("torque_rms", "torque_variation", "chattering_index", "peak_torque", "peak_ratio"),
)


def record(**changes) -> ControlRun:
    values = {name: np.array([0.1 * k, 0.3]) for k, name in enumerate(PER_JOINT, start=1)}
    values |= {"controller": "pid", "model": "true", "scenario": "undisturbed", "task": "step"}
    values |= {"tip_rms_error": 0.1, "tip_max_error": 0.2, "tip_iae": 0.3, "tip_itae": 0.4}
    values |= {"rise_time": 0.25, "settling_time": None, "overshoot": 0.07}
    values |= {"steady_state_error": 0.5, "saturated": 0.0, "torque_error": np.ones(2)}
    return ControlRun(**values, tip_step=StepMetrics(0.1, 0.2, 0.125, 0.0), **changes)


def test_json_has_units_in_its_names_and_nothing_that_is_not_a_result() -> None:
    content = record().content()
    assert content["rise_time_s"] == 0.25
    assert content["overshoot_percent"] == 100.0 * 0.07
    assert content["tip_step"]["overshoot_percent"] == 12.5
    assert content["energy_j"] == [0.1 * 6, 0.3]
    assert content["saturated_s"] == 0.0
    assert not {"trace", "torque_error", "overshoot", "energy", "step"} & set(content)


def test_what_is_read_is_what_was_written() -> None:
    content = record(run=3).content()
    read = RECORD.validate_json(json.dumps(content))
    assert read.content() == content
    assert read.step == record().step
    assert not read.peak_torque.flags.writeable


def test_a_run_without_a_step_has_none() -> None:
    content = {**record().content(), "overshoot_percent": None, "tip_step": None}
    assert RECORD.validate_python(content).step is None


@pytest.mark.parametrize("name", ["rms_error", "saturated_s"])
def test_an_incomplete_record_is_refused(name) -> None:
    content = record().content()
    del content[name]
    with pytest.raises(ValidationError, match=name):
        RECORD.validate_python(content)
