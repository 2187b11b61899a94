"""Schema of result.json as pydantic models, reading and writing.

Lists have one entry per joint in the order of `robot.joint_names` unless noted; unknown values are
null, never NaN. Fields of parts of the study that did not run are empty.
"""

import json
import math
import platform
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import FileFormatError
from robotid_sim.files import check_schema, read_json, write_text
from robotid_sim.renamed import RENAMED_CHECKS
from robotid_sim.validation.control_run import ControlRun

SCHEMA_VERSION = 2
"""Since version 2 the name of a check states its quantity; see `upgrade_result`."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Add the fields of every part to ``help``."""
        document_attributes(cls)


class RobotResult(_Model):
    """The robot of the study."""

    name: str
    """Name of the robot."""
    dof: int
    """Number of joints."""
    joint_names: list[str]
    """Joints from base to tip."""
    joint_units: list[str]
    """Unit of every position: rad or m."""
    urdf_sha256: str | None
    """SHA-256 of the URDF; null for a robot that was built in Python."""


class TrajectoryResult(_Model):
    """The excitation and its use of the limits."""

    family: str
    """Form of the motion."""
    criterion: str
    """Criterion that the design minimized."""
    base_set: list[str]
    """Names of the base parameters of the condition numbers."""
    cond_raw: float
    """Condition number of the base regressor."""
    cond_normalized: float
    """Condition number of the base regressor with columns of unit length."""
    duration_s: float
    """Duration [s]."""
    max_position_ratio: float
    """Largest use of a position limit."""
    max_velocity_ratio: float
    """Largest use of a velocity limit."""
    max_acceleration_ratio: float
    """Largest use of an acceleration limit."""
    max_torque_ratio_nominal: float
    """Largest use of a torque limit by the nominal model."""
    max_torque_ratio_true: float | None
    """Largest use of a torque limit by the plant; null for a machine."""


class ContactResult(_Model):
    """The deepest contact of two links on a motion."""

    motion: str
    """``excitation``, ``unseen`` or the name of a task."""
    links: tuple[str, str]
    """The two links."""
    depth_m: float
    """Depth of the contact of their convex hulls [m]."""
    t_s: float
    """Time in the motion [s]."""

    def __str__(self) -> str:
        first, second = self.links
        return (
            f"{first} and {second} touch, {1e3 * self.depth_m:.2g} mm deep at t = {self.t_s:.3g} s"
        )


class MeasurementResult(_Model):
    """The log."""

    preset: str
    """Preset of the sensors; ``custom`` for others, ``unknown`` for a machine."""
    samples: int
    """Number of samples."""
    dt_s: float
    """Time between samples [s]."""
    engine: str = "unknown"
    """Engine of the plant: its name, or ``unknown`` for a log of a machine."""
    feedback: str
    """Feedback of the controller: ``clean state``, or the sensors."""
    torque_noise_std: list[float | None]
    """Standard deviation of the torque noise [N m or N]."""
    encoder_noise_std: list[float | None]
    """Standard deviation of the position noise [rad or m]."""


class ComparedPreprocessor(_Model):
    """One preprocessor of the comparison."""

    name: str
    """Name of the preprocessor."""
    torque_error_rms: list[float]
    """RMS difference of filtered and true torque [N m or N]."""
    parameter_error_over_bound: float | None
    """RMS of the parameter errors over their Cramér-Rao standard deviations."""


class PreprocessingResult(_Model):
    """The used preprocessor, and the comparison with others."""

    chosen: str
    """The preprocessor that was used."""
    message: str = ""
    """Decisions of an adaptive preprocessor, with reasons."""
    compared: list[ComparedPreprocessor] = []
    """Comparison of torque filters."""


class ParameterResult(_Model):
    """One parameter."""

    name: str
    """Name of the parameter."""
    unit: str
    """Its unit."""
    value: float
    """Estimate."""
    std: float | None
    """Standard deviation; null if unknown."""
    true: float | None
    """Value of the plant; null for a machine."""


class PredictionResult(_Model):
    """Prediction of the validation motion."""

    torque_rms: list[float]
    """RMS difference of predicted and measured torque [N m or N]."""
    torque_rms_relative: list[float]
    """RMS difference over the RMS measured torque."""
    noise_std: list[float | None]
    """Standard deviation of the torque noise [N m or N]; null if unknown."""
    model_error_relative: list[float | None]
    """RMS difference of predicted and true torque over the RMS true torque."""


class EstimateResult(_Model):
    """Result of one estimator."""

    estimator: str
    """Its name."""
    success: bool
    """Whether there is a result."""
    message: str
    """Message of the estimator."""
    seconds: float
    """Time of the fit [s]."""
    physically_consistent: bool
    """Whether the parameters are physically consistent."""
    torque_rms: list[float]
    """RMS residual of the fit [N m or N]."""
    torque_rms_relative: list[float]
    """RMS residual over the RMS torque."""
    fitness_over_ls: float | None
    """Weighted sum of squares over its minimum without constraints; null for another
    criterion."""
    criterion_over_optimum: float | None
    """Criterion over its optimum, if it is not a sum of squares."""
    nees: float | None
    """Normalized estimation error squared, per parameter; null for biased estimators."""
    base_parameters: list[ParameterResult]
    """Base parameters, with the truth if it is known."""
    parameters: list[ParameterResult]
    """Standard parameters of the identified robot."""
    validation: PredictionResult | None
    """Prediction of the validation motion; null if there is none."""


class CheckResult(_Model):
    """One check of the verdict: passed if value <= limit.

    Only the value of ``all_base_parameters_excited`` must be at least its limit.
    """

    name: str
    """Name of the check."""
    passed: bool
    """Whether the check passed."""
    value: float | None
    """Measured value; null if unknown."""
    limit: float
    """Largest value that passes."""
    lower: float | None = None
    """Smallest value that passes, if there is one."""
    message: str = ""
    """Probable cause of a failure, if known."""

    @classmethod
    def from_limit(cls, name: str, value: float | None, limit: float) -> "CheckResult":
        """Check that a value is finite and not above its limit."""
        number = None if value is None else finite(value)
        passed = number is not None and number <= limit
        return cls(name=name, passed=passed, value=number, limit=limit)

    @classmethod
    def from_range(
        cls, name: str, value: float | None, lower: float, upper: float
    ) -> "CheckResult":
        """Check that a value lies in a range."""
        check = cls.from_limit(name, value, upper)
        passed = check.passed and check.value is not None and bool(check.value >= lower)
        return check.model_copy(update={"lower": float(lower), "passed": passed})


class VerdictResult(_Model):
    """The verdict: passed if every check passed."""

    passed: bool
    """Whether all checks passed."""
    checks: list[CheckResult]
    """The checks."""


class StudyResult(_Model):
    """All results of a study."""

    schema_: str = Field(default=f"robotid/result/{SCHEMA_VERSION}", alias="schema")
    """Kind and version of the file."""
    robot: RobotResult
    seed: int
    """Seed of all randomness."""
    versions: dict[str, str]
    """Versions of the packages that affect the numbers."""
    reproducible: bool
    """Whether the same seed gives the same numbers; false with a time budget."""
    assumptions: list[str]
    """Assumptions as sentences."""
    trajectory: TrajectoryResult
    contacts: list[ContactResult] = []
    """Link contacts on the motions; empty for a robot without geometry."""
    measurement: MeasurementResult
    preprocessing: PreprocessingResult
    estimates: list[EstimateResult]
    """Results of all estimators."""
    chosen: str
    """The estimate of the identified robot and the closed loop."""
    control: list[ControlRun] = []
    """Runs of the closed loop."""
    timings: dict[str, float]
    """Duration of every stage, in order [s]."""
    verdict: VerdictResult

    @model_validator(mode="after")
    def _require_one_robot(self) -> Self:
        """Require the chosen estimate, and numbers for every joint."""
        if self.chosen not in [estimate.estimator for estimate in self.estimates]:
            raise ValueError(f"there is no estimate '{self.chosen}'; 'chosen' must name one")
        joints = len(self.robot.joint_names)
        for validation in (estimate.validation for estimate in self.estimates):
            if validation is None:
                continue
            for values in (validation.torque_rms_relative, validation.model_error_relative):
                if values is not None and len(values) != joints:
                    raise ValueError(f"a prediction needs {joints} numbers, got {len(values)}")
        return self

    @property
    def selected_estimate(self) -> EstimateResult:
        """The estimate of the identified robot."""
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
        content = read_json(path, "result", SCHEMA_VERSION, {1: upgrade_result})
        content["schema"] = f"robotid/result/{SCHEMA_VERSION}"
        check_schema(content["schema"], "result", SCHEMA_VERSION, path)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            text = f"{path} is not a complete result: '{key}': {first['msg']}"
            raise FileFormatError(text) from error


def upgrade_result(content: dict[str, Any]) -> dict[str, Any]:
    """Replace the old names of checks of a result, in place."""
    verdict = content.get("verdict")
    checks = verdict.get("checks") if isinstance(verdict, dict) else None
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict) and "name" in check:
            check["name"] = RENAMED_CHECKS.get(str(check["name"]), check["name"])
    return content


def robot_of_result(path: str | Path) -> str:
    """Read the name of the robot of a result.json.

    Raises `FileFormatError` if the file is missing, of another kind or of a newer schema, or has no
    robot.
    """
    robot = read_json(path, "result", SCHEMA_VERSION, {1: upgrade_result}).get("robot")
    if not isinstance(robot, dict) or "name" not in robot:
        raise FileFormatError(f"{path} is not a complete result: it names no robot")
    return str(robot["name"])


def finite(value: float) -> float | None:
    """Return a number, or None if it is not finite."""
    return float(value) if math.isfinite(value) else None


RECORDED_PACKAGES = (
    "robotid_sim",
    "pybullet",
    "mujoco",
    "numpy",
    "scipy",
    "numba",
    "clarabel",
    "h5py",
)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect the numbers."""
    installed = {p: version(p) for p in RECORDED_PACKAGES if find_spec(p) is not None}
    return {"python": platform.python_version(), **installed}
