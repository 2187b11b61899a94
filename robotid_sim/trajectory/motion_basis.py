r"""Basis functions of time for runs from rest to rest.

One joint of a run moves as :math:`q(t) = \sum_k c_k f_k(t)` for times from 0 to T. The first
function is one: its coefficient is the pose in which the run starts and ends. The others vanish at
both ends with their first two derivatives.

Every basis has a `duration` T [s], a `size` d, ``derivative(t, m)`` of shape (N, d) for orders m
from 0 to 3, and ``bounds(m)``, rows B with :math:`\max_t |q^{(m)}(t)| \le \max |B c|`: limits are
linear and hold at all times, not only on a grid.

The module also defines the runs themselves, as trajectories.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.interpolate import BPoly, BSpline

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.errors import OptionError
from robotid_sim.files import write_json
from robotid_sim.trajectory.fourier import SCHEMA_VERSION
from robotid_sim.trajectory.reference import (
    PEAK_ACCELERATION,
    PEAK_JERK,
    PEAK_VELOCITY,
    Reference,
    require_count,
    require_duration,
    require_number,
    require_start,
    unit_quintic,
)

PIECES_PER_INTERVAL = 4
"""Pieces of a knot interval with separate control points; the hull is tight to 3 %."""

PIECES_PER_HARMONIC = 5
PIECE_DEGREE = 4
LIMIT_RESERVE = 1e-3
"""Share of limits reserved for the interpolation error of a piece, 5e-5 of the fastest harmonic."""


MAX_FUNCTIONS = 50
"""Largest number of harmonics, control points or poses of a joint for which memory suffices."""


def require_few(name: str, count: int) -> None:
    """Raise if a joint has so many functions of time that a design runs out of memory.

    The matrix of limits grows with the square of their number: at 50 harmonics of six joints the
    solver takes gigabytes. Raises `OptionError` if there are more than `MAX_FUNCTIONS`.
    """
    if count > MAX_FUNCTIONS:
        raise OptionError(
            f"design option '{name}' is {count}; give at most {MAX_FUNCTIONS}: the limits of more "
            "do not fit into memory"
        )


def _require_basis(duration: float, name: str, count: int) -> None:
    """Raise `OptionError` unless a basis has a positive duration, and functions to combine."""
    require_duration("duration", duration)
    require_count(name, count)


@dataclass(frozen=True, slots=True)
class FourierQuinticBasis:
    r"""Sines and cosines, each plus a quintic so that it is at rest at both ends.

    .. math:: q(t) = c_0 + \sum_{k=1}^{H} \frac{a_k}{k\omega} \sin k\omega t
        - \frac{b_k}{k\omega} \cos k\omega t + P(t)

    The published polynomial [1]_ has six coefficients that follow from position, velocity and
    acceleration at both ends. As the series has equal values at both ends, with s = t / T,

    .. math:: P = p + v T (s - 10 s^3 + 15 s^4 - 6 s^5) + \tfrac{1}{2} \alpha T^2 s^2 (1 - s)^2,

    where p, v and :math:`\alpha` compensate the series at the ends. Unlike the coefficients of a
    series without it, all 2 H are free.

    References
    ----------
    .. [1] Wu, Zhu, Wang, Liu (2012), "Closed-loop dynamic parameter identification of robot
       manipulators using modified Fourier series", Int. J. Advanced Robotic Systems,
       doi:10.5772/45818.
    """

    duration: float
    harmonics: int

    def __post_init__(self) -> None:
        _require_basis(self.duration, "harmonics", self.harmonics)

    @property
    def size(self) -> int:
        """Number of functions."""
        return 2 * self.harmonics + 1

    def derivative(self, t: Float1D, order: int) -> Float2D:
        """Return a derivative of all functions at times within the run, (N, d)."""
        T = self.duration
        kw = 2.0 * np.pi / T * np.arange(1, self.harmonics + 1)
        phase = np.outer(t, kw) + 0.5 * np.pi * order
        series = np.hstack([np.sin(phase), -np.cos(phase)]) * np.tile(kw, 2) ** (order - 1.0)
        none = np.zeros_like(kw)
        p, v, alpha = np.r_[none, 1.0 / kw], np.r_[none - 1.0, none], np.r_[none, -kw]
        s = t / T
        slope = [s - unit_quintic(s), 1.0 - unit_quintic(s, 1)]
        slope += [-unit_quintic(s, 2), -unit_quintic(s, 3)]
        bend = [s**2 * (1.0 - s) ** 2, 2.0 * s * (1.0 - s) * (1.0 - 2.0 * s)]
        bend += [2.0 - 12.0 * s + 12.0 * s**2, 24.0 * s - 12.0]
        polynomial = np.outer(slope[order] * T ** (1 - order), v)
        polynomial += np.outer(0.5 * bend[order] * T ** (2 - order), alpha)
        if order == 0:
            polynomial += p
        first = np.ones if order == 0 else np.zeros
        return np.hstack([first((len(t), 1)), series + polynomial])

    def bounds(self, order: int) -> Float2D:
        """Return rows that bound a derivative at all times: control points of short pieces."""
        edges = np.linspace(0.0, self.duration, PIECES_PER_HARMONIC * self.harmonics + 1)
        rows = control_points(lambda t: self.derivative(t, order), edges, PIECE_DEGREE)
        return rows / (1.0 - LIMIT_RESERVE)


@dataclass(frozen=True, slots=True)
class BSplineBasis:
    r"""Cubic B-splines over equal intervals, clamped at both ends.

    With the first three control points alike, and the last three, velocity and acceleration vanish
    at both ends; the control points between are free. Limits bound the control points of the
    derivatives in Bezier form on quarters of the knot intervals, whose convex hull contains them:
    more rows than B-spline control points, but within 3 % of the extrema.

    A cubic spline has two continuous derivatives. Therefore accelerations and torques have corners,
    and the jerk jumps at every knot, also at the start from rest: commanded torques are continuous,
    but elastic joints ring at each jump, and a jerk limit bounds the jerk between the knots.

    References
    ----------
    .. [1] Rackl, Lampariello, Hirzinger (2012), "Robot excitation trajectories for dynamic
       parameter identification using optimized B-splines", IEEE ICRA,
       doi:10.1109/ICRA.2012.6225279.
    .. [2] de Boor (1978), "A practical guide to splines", Springer, ch. IX to XI.
    """

    duration: float
    points: int
    """Number of free control points."""

    def __post_init__(self) -> None:
        _require_basis(self.duration, "points", self.points)

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.points + 1

    @property
    def knots(self) -> Float1D:
        """Different knots [s]; there are three more intervals than free control points."""
        return np.linspace(0.0, self.duration, self.points + 4)

    def derivative(self, t: Float1D, order: int) -> Float2D:
        """Return a derivative of all functions at times within the run, (N, d)."""
        edges = self.knots
        knots = np.r_[[edges[0]] * 3, edges, [edges[-1]] * 3]
        control = np.zeros((self.points + 6, self.size))
        control[:, 0] = 1.0
        control[3:-3, 1:] = np.eye(self.points)
        return np.asarray(BSpline(knots, control, 3)(t, nu=order))

    def bounds(self, order: int) -> Float2D:
        """Return rows that bound a derivative at all times: Bezier control points."""
        pieces = (PIECES_PER_INTERVAL, PIECES_PER_INTERVAL, 1, 1)[order]
        edges = np.linspace(0.0, self.duration, pieces * (self.points + 3) + 1)
        return control_points(lambda t: self.derivative(t, order), edges, 3 - order)


@dataclass(frozen=True, slots=True)
class QuinticBasis:
    r"""Quintics from pose to pose, at rest in each; equal times for all segments.

    Published designs choose velocities and accelerations at the poses too [1]_. Here they vanish:
    every segment is monotone and its extrema are known exactly: :math:`\frac{15}{8} \delta / h`,
    :math:`\frac{10}{\sqrt 3} \delta / h^2` and :math:`60\, \delta / h^3` for a displacement
    :math:`\delta` in a time h. The jerk jumps at every pose.

    References
    ----------
    .. [1] Gautier, Khalil (1992), "Exciting trajectories for the identification of base inertial
       parameters of robots", Int. J. Robotics Research, doi:10.1177/027836499201100408.
    """

    duration: float
    poses: int
    """Number of free poses; the run also starts and ends in a rest pose."""

    def __post_init__(self) -> None:
        _require_basis(self.duration, "poses", self.poses)

    @property
    def size(self) -> int:
        """Number of functions."""
        return self.poses + 1

    def derivative(self, t: Float1D, order: int) -> Float2D:
        """Return a derivative of all functions at times within the run, (N, d)."""
        h = self.duration / self.size
        s = t[:, None] / h - np.arange(self.size)
        way = np.where((s >= 0.0) & (s < 1.0), unit_quintic(np.clip(s, 0.0, 1.0), order), 0.0)
        if order == 0:
            way[s >= 1.0] = 1.0
        first = np.ones if order == 0 else np.zeros
        return np.hstack([first((len(t), 1)), (way[:, :-1] - way[:, 1:]) / h**order])

    def bounds(self, order: int) -> Float2D:
        """Return rows whose largest value is the largest value of a derivative."""
        poses = np.eye(self.size)
        poses[:, 0] = 1.0
        if order == 0:
            return poses
        peak = (PEAK_VELOCITY, PEAK_ACCELERATION, PEAK_JERK)[order - 1]
        ways = np.diff(np.vstack([poses, poses[:1]]), axis=0)
        return np.asarray(peak * (self.size / self.duration) ** order * ways)


MotionBasis = FourierQuinticBasis | BSplineBasis | QuinticBasis
"""Functions of time for one joint."""


def control_points(function: Callable[[Float1D], Float2D], edges: Float1D, degree: int) -> Float2D:
    """Return Bernstein coefficients of a function on every piece between edges.

    Exact for piecewise polynomials of the degree; others are interpolated at Chebyshev points.
    `function` maps times (N,) to values (N, d) and is continuous if the degree is not zero; `edges`
    are the ends of the M pieces, shape (M + 1,). The convex hull of the rows, shape (M degree + 1,
    d), for degree zero (M, d), contains the function.
    """
    if degree == 0:
        return function(0.5 * (edges[1:] + edges[:-1]))
    # Inside the pieces: at their ends a derivative may belong to the neighboring piece.
    s = 0.5 - 0.5 * np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    bernstein = np.stack(
        [BPoly(np.eye(degree + 1)[:, k, None], [0.0, 1.0])(s) for k in range(degree + 1)], axis=1
    )
    t = edges[:-1, None] + np.diff(edges)[:, None] * s
    values = function(t.ravel()).reshape(len(t), degree + 1, -1)
    rows = np.linalg.solve(bernstein, values)
    return np.vstack([rows[0, :1], *rows[:, 1:]])


BASIS_CLASSES: dict[str, type[MotionBasis]] = {
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
        """Return the content of the JSON form."""
        family = next(name for name, basis in BASIS_CLASSES.items() if basis is type(self.basis))
        return {
            "family": family,
            "joint_names": list(self.joint_names),
            "basis": asdict(self.basis),
            "coefficients": self.coefficients.tolist(),
            "periods": self.periods,
        }

    @classmethod
    def from_content(cls, family: str, content: Mapping[str, Any]) -> Self:
        """Return the trajectory that `content` describes, without its key ``family``."""
        values = dict(content)
        names = tuple(str(name) for name in values.pop("joint_names"))
        return cls(names, BASIS_CLASSES[family](**values.pop("basis")), **values)

    def save(self, path: str | Path) -> None:
        """Write the trajectory as JSON; all bits are kept."""
        write_json(path, "trajectory", SCHEMA_VERSION, self.content())
