"""Links that keep their distance to one another and to the floor."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, MotionArrays
from robotid_sim.errors import OptionError
from robotid_sim.excitation.constraints import SCALE, MotionConstraint, Slopes, of_position

Distances = Callable[[Float2D], tuple[Float2D, Float]]
"""From positions (N, n) to distances (N, P) and their gradients (N, P, n)."""

REST_SHARE = 0.8
"""Share of the distance at rest that pairs keep which are near there."""

TOUCH = 1e-3
"""What hulls that overlap at rest may overlap more, and the distance at rest below which pairs must
only not touch [m]."""

DEEP = 0.02
"""Overlap at rest from which convex hulls say nothing of two links [m]: one encloses the other, as
a shoulder does the arm that turns in it."""


@dataclass(frozen=True, eq=False)
class Clearance(MotionConstraint):
    """Links keep their distance to one another and to the floor.

    The distances come from outside, because only the engine knows the geometry: see
    `robotid_sim.engine.proximity.Proximity.along`.
    """

    distances: Distances
    names: tuple[str, ...]
    """What every distance is between, shape (P,)."""
    clearance: float = 0.02
    """Smallest distance [m]."""
    rest: Float1D | None = None
    """Pose [rad or m] that counts as safe, shape (n,): pairs that are nearer there, as the links of
    a wrist are, keep REST_SHARE of their distance in it."""
    pushed: Distances | None = None
    """Distances with a way out of overlaps, see `robotid_sim.engine.proximity.Proximity.pushed`."""
    least: Float1D = field(init=False, repr=False)
    """Smallest distance of every pair [m], shape (P,)."""
    relaxed: tuple[str, ...] = field(init=False, repr=False, default=())
    """What is nearer than the clearance already at rest, and what it keeps, in words."""
    samples: ClassVar[int] = 60
    smooth: ClassVar[bool] = False
    slack: ClassVar[float] = 0.1
    checked: ClassVar[int] = 600
    checked_quickly: ClassVar[int] = 180

    def __post_init__(self) -> None:
        if not 0.0 <= self.clearance < np.inf:
            raise OptionError(f"the clearance must not be negative, got {self.clearance}")
        least = np.full(len(self.names), self.clearance)
        if self.rest is not None:
            at_rest = self.distances(np.asarray(self.rest)[None])[0][0]
            # Hulls that overlap at rest, as those of a wrist may, must not do so more deeply.
            near = np.where(at_rest > TOUCH, REST_SHARE * at_rest, 0.0)
            distances = np.where(at_rest > 0.0, near, at_rest - TOUCH)
            distances[at_rest < -DEEP] = -np.inf
            relaxed = tuple(
                self._relaxed(name, keep, now)
                for name, keep, now in zip(self.names, distances, at_rest, strict=True)
                if keep < self.clearance
            )
            object.__setattr__(self, "relaxed", relaxed)
            least = np.minimum(least, distances)
        object.__setattr__(self, "least", least)

    def _relaxed(self, name: str, keep: float, now: float) -> str:
        """Return what a pair keeps instead of the clearance, in words."""
        if keep == -np.inf:
            return f"{name} are not kept apart: their hulls overlap by {-1e3 * now:.3g} mm at rest"
        return (
            f"{name} keep {1e3 * keep:.3g} mm, not {1e3 * self.clearance:g} mm, for they are "
            f"{1e3 * now:.3g} mm apart at rest"
        )

    def keeps(self, q: Float2D) -> bool:
        """Return whether all pairs keep their distance in every pose of a path, shape (N, n)."""
        return bool((self.distances(np.asarray(q))[0] >= self.least).all())

    @property
    def bounds(self) -> tuple[Float1D, Float1D]:
        """Return the clearance over SCALE as lower bound."""
        return self.least / SCALE, np.full(len(self.names), np.inf)

    def values(self, motion: MotionArrays) -> Float2D:
        """Return the distances over SCALE."""
        return np.asarray(self.distances(motion[0])[0] / SCALE)

    def slopes(self, motion: MotionArrays) -> Slopes:
        """Return their gradients over SCALE."""
        return of_position(self.distances(motion[0])[1] / SCALE)

    def soft_values(self, motion: MotionArrays) -> Float2D:
        """Return distances over SCALE, overlaps with a way out."""
        return np.asarray((self.pushed or self.distances)(motion[0])[0] / SCALE)

    def soft_slopes(self, motion: MotionArrays) -> Slopes:
        """Return their gradients over SCALE."""
        return of_position((self.pushed or self.distances)(motion[0])[1] / SCALE)

    def label(self, k: int) -> str:
        """Return the pair."""
        return f"distance of {self.names[k]}"
