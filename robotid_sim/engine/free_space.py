"""The free space of a robot: links apart from one another and above a floor."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, MotionArrays, freeze
from robotid_sim.engine.proximity import FLOOR_NAME, Proximity, base_bottom, is_bodiless
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.excitation.constraints import (
    LENGTH_SCALE,
    MotionConstraint,
    Slopes,
    position_slopes,
)
from robotid_sim.kinematics.workspace import CAPSULE_THICKNESS
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

LEAST_CUTOFF, CUTOFF_RATIO = 0.01, 1.25
"""Cut-off of distances: smallest one [m], and ratio to the clearance."""

FLOOR_TOLERANCE = 0.01
"""Largest |z| of the lowest point of a base that is taken to stand at z = 0 [m]."""


Distances = Callable[[Float2D], tuple[Float2D, Float]]
"""Function from positions (N, n) to distances (N, P) and their gradients (N, P, n)."""

REST_DISTANCE_SHARE = 0.8
"""Share of the distance at rest that is kept by pairs that are near one another at rest."""

TOUCH_DISTANCE = 1e-3
"""Further overlap of hulls that overlap at rest, and distance at rest below which pairs must only
not touch [m]."""

MAX_OVERLAP = 0.02
"""Overlap at rest above which convex hulls are not used for two links [m]: one encloses the other,
as a shoulder encloses the arm that turns in it."""


@dataclass(frozen=True, eq=False)
class Clearance(MotionConstraint):
    """Links keep their distance to one another and to the floor.

    The caller provides the distances, because only the engine knows the geometry: see
    `robotid_sim.engine.proximity.Proximity.measure`.
    """

    distances: Distances
    names: tuple[str, ...]
    """Pair of every distance, shape (P,)."""
    clearance: float = 0.02
    """Smallest distance [m]."""
    rest: Float1D | None = None
    """Pose [rad or m] that counts as safe, shape (n,): pairs that are nearer in it, such as links
    of a wrist, keep `REST_DISTANCE_SHARE` of that distance."""
    pushed: Distances | None = None
    """Distances with gradients that lead out of overlaps, see
    `robotid_sim.engine.proximity.Proximity.measure_pushed`."""
    least: Float1D = field(init=False, repr=False)
    """Smallest distance of every pair [m], shape (P,)."""
    relaxed: tuple[str, ...] = field(init=False, repr=False, default=())
    """Pairs nearer than the clearance at rest, with their distance, as text."""
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
            # Hulls that overlap at rest, such as hulls of a wrist, must not overlap more deeply.
            reduced = np.where(at_rest > TOUCH_DISTANCE, REST_DISTANCE_SHARE * at_rest, 0.0)
            distances = np.where(at_rest > 0.0, reduced, at_rest - TOUCH_DISTANCE)
            distances[at_rest < -MAX_OVERLAP] = -np.inf
            relaxed = tuple(
                self._describe_relaxation(name, keep, now)
                for name, keep, now in zip(self.names, distances, at_rest, strict=True)
                if keep < self.clearance
            )
            object.__setattr__(self, "relaxed", relaxed)
            least = np.minimum(least, distances)
        object.__setattr__(self, "least", least)

    def _describe_relaxation(self, name: str, keep: float, now: float) -> str:
        """Describe the distance that a pair keeps instead of the clearance."""
        if keep == -np.inf:
            return f"{name} are not kept apart: their hulls overlap by {-1e3 * now:.3g} mm at rest"
        return (
            f"{name} keep {1e3 * keep:.3g} mm, not {1e3 * self.clearance:g} mm, for they are "
            f"{1e3 * now:.3g} mm apart at rest"
        )

    def is_clear(self, q: Float2D) -> bool:
        """Return whether all pairs keep their distance in every pose of a path, shape (N, n)."""
        return bool((self.distances(np.asarray(q))[0] >= self.least).all())

    @property
    def bounds(self) -> tuple[Float1D, Float1D]:
        """Return the clearance over `LENGTH_SCALE` as lower bound."""
        return self.least / LENGTH_SCALE, np.full(len(self.names), np.inf)

    def values(self, motion: MotionArrays) -> Float2D:
        """Return the distances over `LENGTH_SCALE`."""
        return np.asarray(self.distances(motion[0])[0] / LENGTH_SCALE)

    def slopes(self, motion: MotionArrays) -> Slopes:
        """Return their gradients over `LENGTH_SCALE`."""
        return position_slopes(self.distances(motion[0])[1] / LENGTH_SCALE)

    def soft_values(self, motion: MotionArrays) -> Float2D:
        """Return distances over `LENGTH_SCALE`, with slopes that lead out of overlaps."""
        return np.asarray((self.pushed or self.distances)(motion[0])[0] / LENGTH_SCALE)

    def soft_slopes(self, motion: MotionArrays) -> Slopes:
        """Return their gradients over `LENGTH_SCALE`."""
        return position_slopes((self.pushed or self.distances)(motion[0])[1] / LENGTH_SCALE)

    def label(self, k: int) -> str:
        """Return the pair."""
        return f"distance of {self.names[k]}"


@public_value
@dataclass(frozen=True, eq=False)
class FreeSpace:
    """Clearance of the links of a robot to one another and to the floor."""

    robot: Robot
    """Kinematics and geometry."""
    rest: Float1D
    """Pose that counts as safe [rad or m], shape (n,); see `Clearance.rest`."""
    clearance: float = 0.0
    """Smallest distance between links that are not neighbors, and to the floor [m]."""
    floor: float | None = None
    """Height of the floor in the root frame [m]; None for no floor."""

    def __post_init__(self) -> None:
        freeze(self, (self.robot.dof,), "rest")

    @contextmanager
    def open(self) -> Iterator[Clearance]:
        """Yield the constraint on motions; the engine is open in the block.

        Raises `InfeasibleError` if a link is below the floor at rest.
        """
        cutoff = max(LEAST_CUTOFF, CUTOFF_RATIO * self.clearance)
        with Proximity(self.robot, floor=self.floor, cutoff=cutoff) as proximity:
            low = _lowest(proximity, self.rest)
            if low is not None:
                raise InfeasibleError(
                    f"{low[0]} is {low[1]:.3g} m below the floor in the rest pose; lower "
                    "design.constraints.floor or choose another start"
                )
            names = tuple(str(pair) for pair in proximity.pairs)
            yield Clearance(
                proximity.measure, names, self.clearance, self.rest, proximity.measure_pushed
            )


def assume_floor(robot: Robot, rest: Float1D) -> tuple[float | None, tuple[str, ...]]:
    """Return the height at which a base stands [m], and what is assumed of geometry, as text.

    None where a base has no geometry, or where the robot reaches below it in the rest pose, as arms
    do that hang or are mounted on a wall or a torso.
    """
    notes = tuple[str, ...]()
    if is_bodiless(robot):
        share = f"{CAPSULE_THICKNESS:.0%} of the reach"
        notes = (f"no geometry: capsules along the kinematics replace it, of radius {share}",)
    bottom = base_bottom(robot)
    if bottom is None:
        return None, (*notes, "no floor: the base has no geometry that stands on one")
    height = 0.0 if abs(bottom) < FLOOR_TOLERANCE else bottom
    with Proximity(robot, floor=height) as proximity:
        low = _lowest(proximity, rest)
    if low is not None:
        return None, (
            *notes,
            f"no floor: {low[0]} is below the base in the rest pose, by {low[1]:.2g} m",
        )
    return height, (*notes, f"the floor is at z = {height:.3g} m of the root frame, under the base")


def _lowest(proximity: Proximity, q: Float1D) -> tuple[str, float] | None:
    """Return the link that is deepest in the floor, and its depth [m]; None if there is none."""
    distances, _ = proximity(q)
    pairs = zip(proximity.pairs, distances.tolist(), strict=True)
    below = [(-distance, pair.first) for pair, distance in pairs if pair.second == FLOOR_NAME]
    depth, link = max(below, default=(0.0, ""))
    return (link, depth) if depth > 0.0 else None
