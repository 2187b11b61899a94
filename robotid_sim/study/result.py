"""result.json: its schema as pydantic models, reading and writing.

Lists without another remark have one entry per joint in the order of `robot.joint_names`; what is
unknown is null, never NaN. Fields that belong to parts of the study that did not run are empty.
"""

import json
import math
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from robotid_sim.docstrings import documented
from robotid_sim.errors import FileFormatError
from robotid_sim.files import check_schema, read_json, write_text
from robotid_sim.validation.control_run import ControlRun

VERSION = 1


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Let ``help`` show what every part holds."""
        documented(cls)


class RobotResult(_Model):
    """The robot of the study."""

    name: str
    dof: int
    joint_names: list[str]
    joint_units: list[str]
    urdf_sha256: str | None


class TrajectoryResult(_Model):
    """The excitation and its use of the limits."""

    family: str
    criterion: str
    base_set: list[str]
    cond_raw: float
    cond_normalized: float
    duration_s: float
    max_position_ratio: float
    max_velocity_ratio: float
    max_acceleration_ratio: float
    max_torque_ratio_nominal: float
    max_torque_ratio_true: float | None


class ContactResult(_Model):
    """Two links that a motion drives into one another, where they are deepest."""

    motion: str
    """``excitation``, ``unseen`` or the name of a task."""
    links: tuple[str, str]
    depth_m: float
    """Of their convex hulls."""
    t_s: float
    """When, in the time of the motion."""

    def __str__(self) -> str:
        first, second = self.links
        return (
            f"{first} and {second} touch, {1e3 * self.depth_m:.2g} mm deep at t = {self.t_s:.3g} s"
        )


class MeasurementResult(_Model):
    """The log."""

    preset: str
    samples: int
    dt_s: float
    engine: str = "unknown"
    """What integrated the plant: its name, or ``unknown`` for a machine's log."""
    feedback: str
    torque_noise_std: list[float | None]
    encoder_noise_std: list[float | None]


class ComparedPreprocessor(_Model):
    """One preprocessor of the comparison."""

    name: str
    torque_error_rms: list[float]
    parameter_error_over_bound: float | None


class PreprocessingResult(_Model):
    """The preprocessor that was used and those it was compared with."""

    chosen: str
    message: str = ""
    """What a preprocessor that adapts has decided, and why."""
    compared: list[ComparedPreprocessor] = []


class ParameterResult(_Model):
    """One parameter."""

    name: str
    unit: str
    value: float
    std: float | None
    true: float | None


class PredictionResult(_Model):
    """Prediction on the unseen trajectory."""

    torque_rms: list[float]
    torque_rms_relative: list[float]
    noise_std: list[float | None]
    model_error_relative: list[float | None]


class EstimateResult(_Model):
    """One estimator's result."""

    estimator: str
    success: bool
    message: str
    seconds: float
    physically_consistent: bool
    torque_rms: list[float]
    torque_rms_relative: list[float]
    fitness_over_ls: float | None
    criterion_over_optimum: float | None
    nees: float | None
    base_parameters: list[ParameterResult]
    parameters: list[ParameterResult]
    validation: PredictionResult | None


class CheckResult(_Model):
    """One check of the verdict: passed if value <= limit (>= for ``rank_full``)."""

    name: str
    passed: bool
    value: float | None
    limit: float
    lower: float | None = None
    """Least value that passes, where there is one."""
    message: str = ""
    """What is probably behind a failure, where that is known."""

    @classmethod
    def at_most(cls, name: str, value: float | None, limit: float) -> "CheckResult":
        """Return the check of a value that must be finite and no larger than its limit."""
        number = None if value is None else finite(value)
        passed = number is not None and number <= limit
        return cls(name=name, passed=passed, value=number, limit=limit)

    @classmethod
    def between(cls, name: str, value: float | None, lower: float, upper: float) -> "CheckResult":
        """Return the check of a value that must lie in a range."""
        check = cls.at_most(name, value, upper)
        passed = check.passed and check.value is not None and bool(check.value >= lower)
        return check.model_copy(update={"lower": float(lower), "passed": passed})


class VerdictResult(_Model):
    """The verdict: passed if every check passed."""

    passed: bool
    checks: list[CheckResult]


class StudyResult(_Model):
    """Everything that a study found."""

    schema_: str = Field(default=f"robotid/result/{VERSION}", alias="schema")
    robot: RobotResult
    seed: int
    versions: dict[str, str]
    reproducible: bool
    assumptions: list[str]
    trajectory: TrajectoryResult
    contacts: list[ContactResult] = []
    """Links that touch on what was run; empty for a robot without geometry."""
    measurement: MeasurementResult
    preprocessing: PreprocessingResult
    estimates: list[EstimateResult]
    chosen: str
    control: list[ControlRun] = []
    timings: dict[str, float]
    verdict: VerdictResult

    @property
    def chosen_estimate(self) -> EstimateResult:
        """The estimate that the identified robot is made from."""
        return next(e for e in self.estimates if e.estimator == self.chosen)

    def content(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return self.model_dump(mode="json", by_alias=True)

    def save(self, path: str | Path) -> None:
        """Write result.json."""
        write_text(path, json.dumps(self.content(), indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "StudyResult":
        """Read result.json.

        Raises `FileFormatError` if the file is missing, incomplete, of another kind or of a newer
        schema.
        """
        content = read_json(path, "result", VERSION)
        content["schema"] = f"robotid/result/{VERSION}"
        check_schema(content["schema"], "result", VERSION, path)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            text = f"{path} is not a complete result: '{key}': {first['msg']}"
            raise FileFormatError(text) from error


def robot_of_result(path: str | Path) -> str:
    """Return the name of the robot that a result.json is of, whatever else it holds.

    Raises `FileFormatError` if the file is missing, of another kind or of a newer schema, or names
    no robot.
    """
    robot = read_json(path, "result", VERSION).get("robot")
    if not isinstance(robot, dict) or "name" not in robot:
        raise FileFormatError(f"{path} is not a complete result: it names no robot")
    return str(robot["name"])


def finite(value: float) -> float | None:
    """Return a number, or None if it is not finite."""
    return float(value) if math.isfinite(value) else None
