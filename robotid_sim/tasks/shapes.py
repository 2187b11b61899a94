r"""Shapes that a tip can draw in a plane: closed curves over the phase, of unit size.

With the phase :math:`\varphi` from 0 to :math:`2 \pi`, in units of the size:

- circle: :math:`(\cos\varphi, \sin\varphi)`;
- line, along the diagonal of the plane: :math:`-\cos\varphi\,(1, 1)/\sqrt 2`, that is
  :math:`A + (B - A)(1 - \cos\varphi)/2` from one end A to the other and back;
- figure-eight, the lemniscate of Gerono: :math:`(\sin\varphi, \sin\varphi\cos\varphi)`;
- pick-and-place: up, across and down by minimum-jerk motions that overlap at the corners, and back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.trajectory.quintic import unit_quintic

PlaneName = Literal["xy", "yz", "xz"]

PLANES: dict[PlaneName, tuple[int, int]] = {"xy": (0, 1), "yz": (1, 2), "xz": (0, 2)}
"""Axes of the root frame that span a plane: those of the two offsets."""

LIFT = (0.0, 0.4)
ACROSS = (0.2, 0.8)
LOWER = (0.6, 1.0)
"""When the motions of a transfer begin and end, over its time."""


@documented
@dataclass(frozen=True, slots=True)
class PlaneShape:
    """A closed curve in a plane, and what the joints do where no tip can draw it."""

    name: str
    size_name: str
    """What the size is: ``radius``, ``half length`` or ``half width``."""
    joint_name: str
    """Name of the analog in joint space."""
    planes: tuple[PlaneName, ...]
    """Planes of the root frame to try, in this order."""
    offsets: Callable[[Float1D], Float2D]
    """From phases (M,) to offsets from the center over the size, shape (M, 2)."""
    swing: Callable[[Float1D, int], Float2D]
    """From phases (M,) and n joints to positions of the joint analog in [-1, 1], shape (M, n)."""


def _circle(phase: Float1D) -> Float2D:
    return np.column_stack([np.cos(phase), np.sin(phase)])


def _ellipse_swing(phase: Float1D, dof: int) -> Float2D:
    return np.asarray(np.cos(phase[:, None] + np.pi / 3.0 * np.arange(dof)))


def _line(phase: Float1D) -> Float2D:
    return np.outer(-np.cos(phase), np.full(2, np.sqrt(0.5)))


def _line_swing(phase: Float1D, dof: int) -> Float2D:
    return np.outer(-np.cos(phase), np.ones(dof))


def _figure_eight(phase: Float1D) -> Float2D:
    return np.column_stack([np.sin(phase), np.sin(phase) * np.cos(phase)])


def _pick_and_place(phase: Float1D) -> Float2D:
    """Return offsets: from (-1, -1/2) over (0, 1/2) to (1, -1/2), where it rests, and back."""
    time = phase / np.pi
    time = np.where(time > 1.0, 2.0 - time, time)  # the way back is the way there
    lifted = _minimum_jerk(time, *LIFT) - _minimum_jerk(time, *LOWER)
    return np.column_stack([2.0 * _minimum_jerk(time, *ACROSS) - 1.0, lifted - 0.5])


def _minimum_jerk(time: Float1D, begin: float, end: float) -> Float1D:
    """Return the motion from 0 to 1 at rest at both ends with the least integral of jerk^2."""
    return unit_quintic(np.clip((time - begin) / (end - begin), 0.0, 1.0))


def _alternating(offsets: Callable[[Float1D], Float2D]) -> Callable[[Float1D, int], Float2D]:
    """Return the joint analog in which joints take the first and the second offset in turn."""

    def swing(phase: Float1D, dof: int) -> Float2D:
        return offsets(phase)[:, np.arange(dof) % 2]

    return swing


FLAT_FIRST: tuple[PlaneName, ...] = ("xy", "yz", "xz")
UPRIGHT_FIRST: tuple[PlaneName, ...] = ("xz", "yz", "xy")

CIRCLE = PlaneShape("circle", "radius", "joint-ellipse", FLAT_FIRST, _circle, _ellipse_swing)
LINE = PlaneShape("line", "half length", "joint-line", FLAT_FIRST, _line, _line_swing)
FIGURE_EIGHT = PlaneShape(
    "figure-eight",
    "half width",
    "joint-figure-eight",
    FLAT_FIRST,
    _figure_eight,
    _alternating(_figure_eight),
)
PICK_AND_PLACE = PlaneShape(
    "pick-and-place",
    "half width",
    "joint-pick-and-place",
    UPRIGHT_FIRST,
    _pick_and_place,
    _alternating(_pick_and_place),
)
