"""Runs from a rest pose back to it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.errors import OptionError
from robotid_sim.files import write_json
from robotid_sim.trajectory.fourier import SCHEMA_VERSION
from robotid_sim.trajectory.motion_basis import (
    BSplineBasis,
    FourierQuinticBasis,
    MotionBasis,
    QuinticBasis,
)
from robotid_sim.trajectory.reference import Reference, require_number, require_start

BASES: dict[str, type[MotionBasis]] = {
    "b-spline": BSplineBasis,
    "fourier-quintic": FourierQuinticBasis,
    "quintic": QuinticBasis,
}
"""Bases by the name of the family."""


@dataclass(frozen=True, slots=True, eq=False)
class RestToRest:
    """Repeated run from a rest pose back to it, as a combination of functions of a basis.

    Velocity and acceleration vanish at both ends of every run. Repeated runs are periodic.
    """

    joint_names: tuple[str, ...]
    basis: MotionBasis
    coefficients: Float2D
    """Coefficients of the functions [rad or m, or per second], shape (d, n)."""
    periods: int = 1
    """Number of runs."""
    start: float = 0.0

    def __post_init__(self) -> None:
        freeze(self, (self.basis.size, len(self.joint_names)), "coefficients")
        require_number("periods", self.periods)
        require_start(self.start)
        if self.periods < 1 or self.periods != int(self.periods):
            raise OptionError(f"a trajectory needs at least one run, got {self.periods}")

    @property
    def duration(self) -> float:
        """Last time [s]."""
        return self.periods * self.basis.duration

    @property
    def period(self) -> float | None:
        """Time of a run [s]; None if there is only one."""
        return self.basis.duration if self.periods > 1 else None

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times `t` [s]; before and after it the robot rests."""
        times = np.clip(np.asarray(t, dtype=float), 0.0, self.duration)
        run = np.where(times < self.duration, times % self.basis.duration, self.basis.duration)
        parts = [self.basis.derivative(run, order) @ self.coefficients for order in (0, 1, 2)]
        return Reference(*parts)

    def content(self) -> dict[str, Any]:
        """Return what the JSON form holds."""
        family = next(name for name, basis in BASES.items() if basis is type(self.basis))
        return {
            "family": family,
            "joint_names": list(self.joint_names),
            "basis": asdict(self.basis),
            "coefficients": self.coefficients.tolist(),
            "periods": self.periods,
        }

    @classmethod
    def of_content(cls, family: str, content: Mapping[str, Any]) -> Self:
        """Return the trajectory that `content` describes, without its key ``family``."""
        values = dict(content)
        names = tuple(str(name) for name in values.pop("joint_names"))
        return cls(names, BASES[family](**values.pop("basis")), **values)

    def save(self, path: str | Path) -> None:
        """Write the trajectory as JSON; all bits are kept."""
        write_json(path, "trajectory", SCHEMA_VERSION, self.content())
