"""A path in joint space at a speed that is given with it."""

from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import BSpline

from robotid_sim.arrays import Float1D
from robotid_sim.errors import OptionError
from robotid_sim.kinematics.following import resting_spline
from robotid_sim.tasks.path import JointPath
from robotid_sim.trajectory.reference import Reference


@dataclass(frozen=True, slots=True, eq=False)
class TimedPath:
    """A path whose phase is the time: at rest at both ends, in between as fast as it was given."""

    path: JointPath
    """Its points are at equal steps of the time."""
    duration: float
    """Time [s]."""
    period: float | None = None
    start: float = 0.0
    _spline: BSpline = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.duration > 0.0:
            raise OptionError(f"a timed path needs a duration above zero, got {self.duration} s")
        t = np.linspace(0.0, self.duration, len(self.path.points))
        object.__setattr__(self, "_spline", resting_spline(t, self.path.points))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        return self.path.joint_names

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times `t`; before and after the motion the robot rests."""
        times = np.asarray(t, dtype=float)
        inside = ((times > 0.0) & (times < self.duration))[:, None]
        q, dq, ddq = (self._spline(np.clip(times, 0.0, self.duration), nu) for nu in (0, 1, 2))
        return Reference(q=q, dq=np.where(inside, dq, 0.0), ddq=np.where(inside, ddq, 0.0))
