r"""Families of excitations: coordinates in units of the limits.

A family is a record of options. For a robot it gives a space: a map from coordinates x, shape (d,),
to trajectories, which optimizers can use without knowing the family. At x = 0 the robot rests;
scaling a point toward zero makes the motion smaller.

A linear space keeps its limits by ``|A x| <= 1`` with a constant matrix, a nonlinear space by
values that must not exceed one.

For Fourier series from rest to rest there are coordinates in which kinematic limits are linear: per
joint they are the offset from the middle of the position range and 2 H - 2 coefficients of the
null space of the rest conditions, all in units of the largest value within the limits. Limits hold
between grid points too: a trigonometric polynomial p of degree H satisfies

.. math:: \max |p| \le \frac{\max_{\text{grid}} |p|}{\cos(\pi H / M)}

on M equidistant points [1]_.

References
----------
.. [1] Ehlich, Zeller (1964), "Schwankung von Polynomen zwischen Gitterpunkten", Mathematische
   Zeitschrift 86, 41-44.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.linalg import block_diag

from robotid_sim.arrays import Float, Float1D, Float2D, MotionArrays
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.fourier import (
    FourierTrajectory,
    fourier_basis,
    fourier_jerk_basis,
    rest_basis,
)
from robotid_sim.trajectory.motion_basis import require_few
from robotid_sim.trajectory.reference import APPROACH_SHARE, Excitation, approach_duration


class ExcitationGrid(Protocol):
    """Map from coordinates to the motion at equidistant times of one run."""

    def motion(self, x: Float1D) -> MotionArrays:
        """Return position, velocity and acceleration, each of shape (N, n)."""

    def pull_back(
        self, by_q: Float2D, by_dq: Float2D, by_ddq: Float2D, x: Float1D | None = None
    ) -> Float1D:
        """Convert gradients with respect to the motion, each (N, n), to the gradient by x, (d,).

        A linear map does not depend on `x`, which may be omitted.
        """

    def jacobian(self, x: Float1D) -> tuple[Float, Float, Float]:
        """Return the derivatives of position, velocity, acceleration by x, each (N, n, d)."""


class ExcitationSpace(Protocol):
    """All trajectories of a family for one robot."""

    @property
    def robot(self) -> Robot:
        """The robot."""

    @property
    def size(self) -> int:
        """Number of coordinates d."""

    def make_grid(self, samples: int) -> ExcitationGrid:
        """Return the map to the motion at `samples` equidistant times of one run from zero."""

    def trajectory(self, x: Float1D) -> Excitation:
        """Return the trajectory with the given coordinates, with its approach from home."""

    def coordinates(self, trajectory: Any) -> Float1D:
        """Return the coordinates of a trajectory of this space."""

    def random(self, rng: np.random.Generator, margin: float = 1.0) -> Float1D:
        """Return random coordinates that use `margin` of the kinematic limits."""


@runtime_checkable
class LinearSpace(ExcitationSpace, Protocol):
    """A space whose motion is affine in the coordinates."""

    def limit_matrix(self) -> Float2D:
        """Return A such that ``|A x| <= 1`` keeps all kinematic limits at all times."""


@runtime_checkable
class NonlinearSpace(ExcitationSpace, Protocol):
    """A space whose motion is not affine in the coordinates."""

    def limit_values(self, x: Float1D) -> Float1D:
        """Compute the shares of the limits, at most one if feasible; infinite without a motion."""


@document_attributes
@dataclass(frozen=True, kw_only=True)
class ExcitationFamily(ABC):
    """A kind of motion; a frozen dataclass of its options, with at least these."""

    check_robot: ClassVar[str] = "twolink"
    """Catalog robot on which `robotid_sim.testing` checks the family."""

    period: float = 10.0
    """Time of one run [s]."""
    periods: int = 3
    """Number of runs; Fourier fits and period means exclude the first of several runs."""
    margin: float = 0.9
    """Share of the position, velocity and acceleration limits that the reference uses."""
    torque_ratio: float = 0.75
    """Share of the torque limits that the nominal model may need; infinity for none."""

    def __post_init__(self) -> None:
        for name in ("period", "periods", "margin", "torque_ratio", "amplitude", "jerk"):
            value = getattr(self, name, None)
            if value is not None and not value > 0.0:
                raise OptionError(f"design option '{name}' must be positive, got {value}")
        for name in ("margin", "amplitude"):
            if getattr(self, name, 1.0) > 1.0:
                raise OptionError(f"design option '{name}' must not exceed 1")
        for name in ("harmonics", "points", "poses"):
            require_few(name, getattr(self, name, 0))

    @abstractmethod
    def space(self, robot: Robot) -> ExcitationSpace:
        """Return the space of the family for a robot."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearGrid:
    """Linear map from coordinates to the motion on a grid of equidistant times."""

    position: Float2D
    """Position by coordinates, shape (N, d), with d coordinates per joint."""
    velocity: Float2D
    acceleration: Float2D
    middle: Float1D
    """Middle of the position range, shape (n,)."""
    unit: Float2D
    """Units of the coordinates, shape (d, n)."""

    def motion(self, x: Float1D) -> MotionArrays:
        """Return position, velocity and acceleration, each of shape (N, n)."""
        X = x.reshape(self.unit.shape[::-1]).T * self.unit
        return self.middle + self.position @ X, self.velocity @ X, self.acceleration @ X

    def pull_back(
        self, by_q: Float2D, by_dq: Float2D, by_ddq: Float2D, x: Float1D | None = None
    ) -> Float1D:
        """Convert gradients by the motion, (N, n), to the gradient by the coordinates."""
        del x  # the map is the same everywhere
        X = self.position.T @ by_q + self.velocity.T @ by_dq + self.acceleration.T @ by_ddq
        return np.asarray((X * self.unit).T.ravel())

    def jacobian(self, x: Float1D) -> tuple[Float, Float, Float]:
        """Return the derivatives of the motion by the coordinates, each (N, n, n d)."""
        d, n = self.unit.shape
        by_x = np.zeros((3, len(self.position), n, n, d))
        for j in range(n):
            for order, part in enumerate((self.position, self.velocity, self.acceleration)):
                by_x[order, :, j, j] = part * self.unit[:, j]
        q, dq, ddq = by_x.reshape(3, -1, n, x.size)
        return q, dq, ddq


def random_in_limits(
    blocks: list[Float2D], rng: np.random.Generator, margin: float = 1.0
) -> Float1D:
    """Return random coordinates of a linear space that use `margin` of the limits of every joint.

    The shape of the motion is normally distributed and scaled to the limits; the first coordinate
    of a joint is its offset, uniform over the remaining range. Every block A_j, shape (R_j, d),
    means ``|A_j x_j| <= 1``.
    """
    x = []
    for A in blocks:
        shape = rng.standard_normal(A.shape[1] - 1)
        limit_share = A[:, 1:] @ shape
        is_position = A[:, 0] != 0.0  # positions; only their range limits the shape
        half_swing = 0.5 * np.ptp(limit_share[is_position])
        shape *= margin / max(half_swing, float(np.abs(limit_share[~is_position]).max()))
        limit_share = A[is_position, 1:] @ shape
        # |use + slope * offset| <= margin, with one slope for all positions
        slope = float(A[is_position, 0][0])
        low, high = (-margin - limit_share.min()) / slope, (margin - limit_share.max()) / slope
        offset = 0.5 * (low + high) + 0.5 * max(high - low, 0.0) * rng.uniform(-1.0, 1.0)
        x.append(np.append(offset, shape))
    return np.concatenate(x)


class JointSpace(ABC):
    """Linear space of coordinates by joint, in units of the largest value within the limits."""

    unit: Float2D
    """Units of the coordinates, shape (d, n)."""

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.unit.size

    def limit_matrix(self) -> Float2D:
        """Return A such that ``|A x| <= 1`` keeps all kinematic limits at all times."""
        return np.asarray(block_diag(*self._limit_share_matrices()))

    def random(self, rng: np.random.Generator, margin: float = 1.0) -> Float1D:
        """Return random coordinates that use `margin` of the kinematic limits."""
        return random_in_limits(self._limit_share_matrices(), rng, margin)

    @abstractmethod
    def _limit_share_matrices(self) -> list[Float2D]:
        """Return A_j for every joint j, such that ``|A_j x_j| <= 1`` keeps its limits."""


LIMIT_SAMPLES = 16
"""Grid points per harmonic at which limits are imposed, for a tightening of 2 %."""


@document_attributes
@dataclass(frozen=True, kw_only=True)
class FourierOptions(ExcitationFamily):
    """Finite Fourier series whose coefficients let every period start and end at rest.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, eq. (9).

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> rid.FourierOptions(harmonics=3, period=5.0).periods
    3
    """

    harmonics: int = 5
    """Number of harmonics; at least 2."""
    amplitude: float = 1.0
    """Additional scale of the motion about its offsets; below 1 for small motions."""
    jerk: float | None = None
    """Jerk limit of every joint [rad/s^3 or m/s^3]; None for no limit."""

    def __post_init__(self) -> None:
        if self.harmonics < 2 or self.periods < 1:
            raise OptionError("a design needs at least 2 harmonics and 1 period")
        super().__post_init__()

    def space(self, robot: Robot) -> "FourierSpace":
        """Return the space of these series for a robot."""
        return FourierSpace(robot, self)


@dataclass(frozen=True, slots=True, eq=False)
class FourierSpace(JointSpace):
    """All Fourier series of one robot and one choice of options."""

    robot: Robot
    options: FourierOptions
    unit: Float2D = field(init=False)
    """Units of the coordinates, shape (2 H - 1, n)."""

    def __post_init__(self) -> None:
        limits = self.robot.limits
        omega = 2.0 * np.pi / self.options.period
        slope = np.minimum(limits.velocity, omega * limits.half_range)
        count = 2 * self.options.harmonics - 2
        object.__setattr__(self, "unit", np.vstack([limits.half_range, *[slope] * count]))

    def make_grid(self, samples: int) -> LinearGrid:
        """Return the map to the motion at `samples` equidistant times of one period."""
        H, T = self.options.harmonics, self.options.period
        parts = zip((1.0, 0.0, 0.0), fourier_basis(self._times(samples), H, T), strict=True)
        q, dq, ddq = (
            np.hstack([np.full((samples, 1), offset), part @ rest_basis(H)])
            for offset, part in parts
        )
        return LinearGrid(q, dq, ddq, self.robot.limits.middle, self.unit)

    def _limit_share_matrices(self) -> list[Float2D]:
        """Return the matrix of every joint from coordinates to shares of its limits."""
        H, options, limits = self.options.harmonics, self.options, self.robot.limits
        samples = LIMIT_SAMPLES * H
        grid = self.make_grid(samples)
        share = options.margin * np.cos(np.pi * H / samples)
        bernstein = 2.0 * np.pi / options.period * H  # |p'| <= H omega max |p|
        blocks = []
        for j in range(self.robot.dof):
            swing = options.amplitude * limits.velocity[j]
            rows = [grid.position / limits.half_range[j], grid.velocity / swing]
            if bernstein * limits.velocity[j] > limits.acceleration[j]:
                rows.append(grid.acceleration / (options.amplitude * limits.acceleration[j]))
            if options.amplitude < 1.0:
                centered = grid.position - np.eye(1, len(self.unit))
                rows.append(centered / (options.amplitude * limits.half_range[j]))
            if options.jerk is not None:
                jerk = fourier_jerk_basis(self._times(samples), H, options.period) @ rest_basis(H)
                rows.append(np.hstack([np.zeros((samples, 1)), jerk]) / options.jerk)
            blocks.append(np.vstack(rows) * self.unit[:, j] / share)
        return blocks

    def _times(self, samples: int) -> Float1D:
        return np.asarray(np.arange(samples) * self.options.period / samples)

    def trajectory(self, x: Float1D) -> FourierTrajectory:
        """Return the series with the given coordinates, with its approach from home."""
        X = x.reshape(self.unit.shape[::-1]).T * self.unit
        a, b = np.split((rest_basis(self.options.harmonics) @ X[1:]).T, 2, axis=1)
        return add_approach(self.robot, self.robot.limits.middle + X[0], a, b, self.options)

    def coordinates(self, trajectory: FourierTrajectory) -> Float1D:
        """Return the coordinates of a series."""
        series = np.hstack([trajectory.a, trajectory.b]) @ rest_basis(self.options.harmonics)
        X = np.vstack([trajectory.q0 - self.robot.limits.middle, series.T])
        return np.asarray((X / self.unit).T.ravel())


def add_approach(
    robot: Robot, q0: Float1D, a: Float2D, b: Float2D, options: FourierOptions
) -> FourierTrajectory:
    """Make a Fourier series with an approach from home, before time zero, within the rate limits.

    The middle q0 has shape (n,), coefficients a and b are as in `FourierTrajectory` (n, H).
    """
    series = FourierTrajectory(robot.joint_names, q0, a, b, options.period, options.periods)
    first = series(np.zeros(1)).q[0]
    lead = approach_duration(robot.limits, robot.home, first, APPROACH_SHARE)
    return FourierTrajectory(
        robot.joint_names, q0, a, b, options.period, options.periods, robot.home, lead
    )
