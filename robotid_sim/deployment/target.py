"""Targets: controllers of robots with the files that they read and the logs that they write.

A target is a TOML file in the folder ``targets``; the files of its packages are templates.
"""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from robotid_sim.config_section import ConfigSection
from robotid_sim.deployment.played_motion import Interpolation
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.inputs import read_toml
from robotid_sim.model.robot import Robot

TARGET_FOLDER = Path(__file__).with_name("targets")

MIN_RATE, MAX_RATE = 1.0, 1000.0
"""Range of the rate of set points [Hz]."""


class MotionForm(ConfigSection):
    """File of a motion, with one set point in a row."""

    file: str
    """Name of the file, with ``{percent}`` for the speed."""
    template: str
    """Template of the file."""
    row: str
    """Pattern of a row with groups ``q``, ``dq`` and ``ddq``, as far as the file has them."""


class LogForm(ConfigSection):
    """Log as the controller or its recorder writes it."""

    form: Literal["csv", "bag", "parquet"] = "csv"
    rate: float
    """Samples per second."""
    time: str = ""
    """Name of the column of the stamps."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Column by quantity, with ``{k}`` for the number of the joint."""
    first: int = 0
    """Number of the first joint."""
    noise: dict[str, dict[str, float]]
    """Assumed sensors by their names in `robotid list sensors`."""


class Target(ConfigSection):
    """A controller, or a program that sends set points to one."""

    name: str
    source: str
    """Source of the format."""
    dof: tuple[int, ...] = ()
    """Permitted numbers of joints; empty for any."""
    rate: float = Field(ge=MIN_RATE, le=MAX_RATE)
    """Set points per second, at full speed."""
    is_stream: bool = True
    """Whether the rate is constant; otherwise every speed has the set points of full speed."""
    interpolation: Interpolation
    """Motion between set points: smoothed lines, a clamped cubic spline, or quintics."""
    unit: Literal["rad", "deg"] = "rad"
    """Unit of revolute joints."""
    motion: MotionForm
    files: dict[str, str] = Field(default_factory=dict)
    """Template by the name of each further file."""
    steps: tuple[str, ...]
    """Steps of the operator, one sentence each."""
    stop: str
    """How to stop the motion."""
    watchdog: str
    """Condition at which the controller stops the motion."""
    record: str
    """Signals to record."""
    notes: tuple[str, ...] = ()
    profile: str | None = None
    """Profile of the importer for its logs."""
    log: LogForm

    def with_rate(self, rate: float) -> "Target":
        """Return the target with another rate of set points [Hz]."""
        if not MIN_RATE <= rate <= MAX_RATE:
            raise OptionError(
                f"--rate must be {MIN_RATE:g} to {MAX_RATE:g} set points a second, got {rate:g}"
            )
        return self.model_copy(update={"rate": rate})

    def require_robot(self, robot: Robot) -> None:
        """Raise `OptionError` if the controller does not fit the number or kind of the joints."""
        if self.dof and robot.dof not in self.dof:
            counts = " or ".join(map(str, self.dof))
            raise OptionError(
                f"{self.name} has {counts} joints, '{robot.name}' has {robot.dof}; choose another "
                "target, or the chain with --base and --tip"
            )
        if self.unit == "deg" and any(robot.prismatic):
            raise OptionError(
                f"{self.name} takes degrees; '{robot.name}' has prismatic joints; choose another "
                "target"
            )


@cache
def list_targets() -> dict[str, Target]:
    """Read all targets, by the name of their file."""
    files = sorted(TARGET_FOLDER.glob("*.toml"))
    return {file.stem: Target.model_validate(read_toml(file, "target")) for file in files}


def find_target(name: str) -> Target:
    """Find a target by its name; raises `UnknownNameError` if there is none."""
    if name not in list_targets():
        raise UnknownNameError.from_names("target", name, [*list_targets()])
    return list_targets()[name]
