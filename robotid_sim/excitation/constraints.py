"""Constraints of an excitation in addition to kinematic limits: torque and workspace."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D, MotionArrays, readonly
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.errors import OptionError
from robotid_sim.excitation.sensitivity import regressor_sensitivity, torque_sensitivity
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Excitation, run_time

Slopes = tuple[Float, Float, Float]
"""Derivatives of values, shape (N, m), by position, velocity, acceleration, each (N, m, n)."""


class MotionConstraint(ABC):
    """Values along a motion that must stay within bounds; scaled to about 1 at the bounds."""

    samples: ClassVar[int] = 80
    """Number of points of a run at which the solver imposes the constraint."""

    slack: ClassVar[float] = 0.02
    """Share of the range that the solver does not use, as a margin for the times between."""

    checked: ClassVar[int] = 800
    """Number of points of a run at which a result is checked, at least ten times `samples`."""

    checked_quickly: ClassVar[int] = 240
    """Number of points during a search."""

    smooth: ClassVar[bool] = True
    """Whether slopes are continuous, as sequential quadratic programming requires."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[Float1D, Float1D]:
        """Lower and upper bound of every value, shape (m,)."""

    @abstractmethod
    def values(self, motion: MotionArrays) -> Float2D:
        """Return the values at every sample, shape (N, m)."""

    @abstractmethod
    def slopes(self, motion: MotionArrays) -> Slopes:
        """Return their derivatives by the motion."""

    def soft_values(self, motion: MotionArrays) -> Float2D:
        """Compute the values for a solver that may start far outside of the bounds."""
        return self.values(motion)

    def soft_slopes(self, motion: MotionArrays) -> Slopes:
        """Return their derivatives by the motion."""
        return self.slopes(motion)

    @abstractmethod
    def label(self, k: int) -> str:
        """Name value `k`, for messages."""

    def excess(self, motion: MotionArrays) -> Float2D:
        """Compute the violation of the bounds, shape (N, m); not positive where satisfied."""
        return self.compute_excess(self.values(motion))

    def compute_excess(self, values: Float2D) -> Float2D:
        """Compute the excess of values, shape (N, m), over the bounds; not positive inside."""
        lower, upper = self.bounds
        return np.maximum(values - upper, lower - values)


@dataclass(frozen=True, eq=False)
class TorqueLimit(MotionConstraint):
    r"""Torque limits for a model, optionally with uncertain parameters.

    .. math:: |\tau_j| + u \sqrt{\textstyle\sum_k (Y_{jk} \phi_k)^2} \le \rho\, \bar\tau_j

    The root is the standard deviation of the torque if every parameter has an independent relative
    error u; friction and rotor parameters count like the others.
    """

    robot: Robot
    """The nominal model."""
    ratio: float = 0.75
    """Share rho of the limits; infinity for none."""
    uncertainty: float = 0.0
    """Relative uncertainty u of every parameter."""
    joints: Int1D = field(init=False, repr=False)
    """Indices of the joints that have a limit."""
    checked: ClassVar[int] = 4000
    checked_quickly: ClassVar[int] = 4000

    def __post_init__(self) -> None:
        if not (self.ratio > 0.0 and 0.0 <= self.uncertainty < np.inf):
            raise OptionError(
                f"torque ratio {self.ratio} must be positive, uncertainty {self.uncertainty} not "
                "negative"
            )
        limited = np.flatnonzero(np.isfinite(self.ratio * self.robot.limits.effort))
        object.__setattr__(self, "joints", limited)

    @property
    def _allowance(self) -> Float1D:
        return np.asarray(self.ratio * self.robot.limits.effort[self.joints])

    @property
    def bounds(self) -> tuple[Float1D, Float1D]:
        """Return -1 and 1; with an uncertainty, one bound for each edge of the band."""
        ones, free = np.ones(self.joints.size), np.full(self.joints.size, np.inf)
        if self.uncertainty == 0.0:
            return -ones, ones
        return np.concatenate([-free, -ones]), np.concatenate([ones, free])

    def values(self, motion: MotionArrays) -> Float2D:
        """Return torque over allowance, or the upper and the lower edge of its band."""
        tau = joint_torque(self.robot, *motion)[:, self.joints] / self._allowance
        if self.uncertainty == 0.0:
            return np.asarray(tau)
        size = self.uncertainty * np.linalg.norm(self._contributions(motion), axis=2)
        spread = size[:, self.joints] / self._allowance
        return np.hstack([tau + spread, tau - spread])

    def slopes(self, motion: MotionArrays) -> Slopes:
        """Return the exact derivatives."""
        scale = self._allowance[None, :, None]
        # From (moving joint, sample, joint with the torque) to (sample, value, joint).
        slopes = torque_sensitivity(self.robot, motion)
        nominal = [np.moveaxis(part, 0, 2)[:, self.joints] / scale for part in slopes]
        if self.uncertainty == 0.0:
            return nominal[0], nominal[1], nominal[2]
        phi, parts = self.robot.parameters(), self._contributions(motion)
        size = np.linalg.norm(parts, axis=2, keepdims=True)
        weights = self.uncertainty * parts * phi / np.maximum(size, np.finfo(float).tiny)
        columns = np.arange(phi.size)
        by_joint = []
        for j in self.joints:
            only = np.zeros_like(weights)
            only[:, j] = weights[:, j]
            by_joint.append(regressor_sensitivity(self.robot, columns, motion, only))
        spread = [np.stack(parts, axis=1) / scale for parts in zip(*by_joint, strict=True)]
        both = [np.hstack([t + s, t - s]) for t, s in zip(nominal, spread, strict=True)]
        return both[0], both[1], both[2]

    def label(self, k: int) -> str:
        """Return the joint's name."""
        joint = self.robot.joint_names[int(self.joints[k % self.joints.size])]
        return f"torque of joint '{joint}'"

    def _contributions(self, motion: MotionArrays) -> Float:
        """Return the torque that every parameter contributes, shape (N, n, p)."""
        columns = np.arange(self.robot.parameters().size)
        return np.asarray(torque_regressor(self.robot, *motion, columns) * self.robot.parameters())


@dataclass(frozen=True, eq=False)
class TipBox(MotionConstraint):
    """The tip stays within a box of the root frame."""

    robot: Robot
    lower: Float1D
    upper: Float1D
    """Lower and upper corner [m], shape (3,); infinite for an open side."""

    def __post_init__(self) -> None:
        lower, upper = (np.array(getattr(self, name), dtype=float) for name in ("lower", "upper"))
        if lower.shape != (3,) or upper.shape != (3,) or not (lower < upper).all():
            raise OptionError(
                f"a box needs three lower bounds below three upper ones, got {lower.tolist()} and "
                f"{upper.tolist()}"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def bounds(self) -> tuple[Float1D, Float1D]:
        """Return the box, in meters over `LENGTH_SCALE`."""
        return self.lower / LENGTH_SCALE, self.upper / LENGTH_SCALE

    def values(self, motion: MotionArrays) -> Float2D:
        """Return the position of the tip over `LENGTH_SCALE`."""
        return tip_states(self.robot, motion[0])[0] / LENGTH_SCALE

    def slopes(self, motion: MotionArrays) -> Slopes:
        """Return the Jacobian of the tip over `LENGTH_SCALE`."""
        return position_slopes(tip_states(self.robot, motion[0])[1] / LENGTH_SCALE)

    def label(self, k: int) -> str:
        """Return the coordinate's name."""
        return f"{'xyz'[k]} of the tip"


@dataclass(frozen=True, eq=False)
class TipPlane(MotionConstraint):
    """The tip stays on one side of a plane, ``normal @ position <= offset``."""

    robot: Robot
    normal: Float1D
    """Normal vector, shape (3,), of any length."""
    offset: float
    """Offset along the normal [m], if the normal has unit length."""

    def __post_init__(self) -> None:
        normal = readonly(self.normal, shape=(3,), name="normal of a plane")
        if not np.linalg.norm(normal) > 0.0:
            raise OptionError("the normal of a plane must not be zero")
        object.__setattr__(self, "normal", normal)

    @property
    def bounds(self) -> tuple[Float1D, Float1D]:
        """Return the offset over `LENGTH_SCALE` as upper bound."""
        return np.array([-np.inf]), np.array([self.offset / LENGTH_SCALE])

    def values(self, motion: MotionArrays) -> Float2D:
        """Return the height over the plane over `LENGTH_SCALE`."""
        return (tip_states(self.robot, motion[0])[0] @ self.normal)[:, None] / LENGTH_SCALE

    def slopes(self, motion: MotionArrays) -> Slopes:
        """Return its derivative."""
        J = tip_states(self.robot, motion[0])[1]
        return position_slopes(np.einsum("i,tij->tj", self.normal, J)[:, None] / LENGTH_SCALE)

    def label(self, k: int) -> str:
        """Return the plane."""
        del k
        n = ", ".join(f"{value:g}" for value in self.normal)
        return f"tip beyond the plane ({n}) . p = {self.offset:g} m"


LENGTH_SCALE = 0.1
"""Unit of length of constraints in space [m]; it scales them like other constraints."""


def tip_states(robot: Robot, q: Float2D) -> tuple[Float2D, Float]:
    """Return positions of the tip, shape (N, 3), and velocity Jacobians, shape (N, 3, n)."""
    point = np.ascontiguousarray(robot.T_last_tip[:3, 3])
    positions, jacobians = [], []
    for sample in np.ascontiguousarray(q):
        last = kernels.link_poses(robot.geometry, sample)[-1]
        positions.append(last[:3, :3] @ point + last[:3, 3])
        jacobians.append(kernels.jacobian(robot.geometry, sample, point)[:3])
    return np.array(positions), np.array(jacobians)


def position_slopes(by_q: Float) -> Slopes:
    """Make the slopes of values that depend on positions only."""
    return by_q, np.zeros_like(by_q), np.zeros_like(by_q)


def tighten_bounds(constraint: MotionConstraint) -> tuple[Float1D, Float1D]:
    """Tighten the bounds of a constraint by its slack."""
    lower, upper = constraint.bounds
    room = [np.where(np.isfinite(b), constraint.slack * np.abs(b), 0.0) for b in (lower, upper)]
    return lower + room[0], upper - room[1]


@document_attributes
@dataclass(frozen=True, slots=True)
class Violation:
    """A bound that a motion violates."""

    quantity: str
    t: float
    """Time of the largest violation [s]."""
    value: float
    """Value at this time."""
    bound: float
    """Bound of the value."""
    unit: str

    def __str__(self) -> str:
        side = "above" if self.value > self.bound else "below"
        return (
            f"{self.quantity} is {self.value:.4g} {self.unit}, {side} {self.bound:.4g} "
            f"{self.unit}, "
            f"at t = {self.t:.3f} s"
        )


def violations(
    constraints: Sequence[MotionConstraint],
    t: Float1D,
    motion: MotionArrays,
    tolerance: float = 1e-9,
) -> list[Violation]:
    """List every bound that a motion violates, at its worst time.

    Times t [s], shape (N,), and the motion, each part (N, n), belong together; violations up to the
    tolerance, in the scale of the constraint, count as rounding.
    """
    rows = []
    for constraint in constraints:
        values = constraint.values(motion)
        excess = constraint.compute_excess(values)
        lower, upper = constraint.bounds
        torque = isinstance(constraint, TorqueLimit)
        unit, scale = ("of the allowance", 1.0) if torque else ("m", LENGTH_SCALE)
        for k in np.flatnonzero(excess.max(axis=0) > tolerance).tolist():
            when = int(excess[:, k].argmax())
            value = values[when, k]
            bound = upper[k] if value > upper[k] else lower[k]
            worst = (float(t[when]), float(value * scale), float(bound * scale))
            rows.append(Violation(constraint.label(k), *worst, unit))
    return rows


def find_violations(
    trajectory: Excitation, constraints: Sequence[MotionConstraint], *, quickly: bool = False
) -> list[Violation]:
    """Find the violations of a trajectory in its first run and on the approach and return.

    `quickly` uses a coarser grid and stops at the first violated constraint.
    """
    run, rows = run_time(trajectory), []
    for constraint in constraints:
        step = run / (constraint.checked_quickly if quickly else constraint.checked)
        t = np.arange(trajectory.start, run + 0.5 * step, step)
        reference = trajectory(t)
        rows += violations([constraint], t, (reference.q, reference.dq, reference.ddq))
        if quickly and rows:
            break
    return rows
