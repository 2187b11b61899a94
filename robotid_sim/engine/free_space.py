"""The free space of a robot: links apart from one another and above a floor."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from robotid_sim.arrays import Float1D, freeze
from robotid_sim.engine.proximity import FLOOR_NAME, Proximity, base_bottom, is_bodiless
from robotid_sim.errors import InfeasibleError
from robotid_sim.excitation.penalties import Clearance
from robotid_sim.kinematics.workspace import CAPSULE_THICKNESS
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

LEAST_CUTOFF, CUTOFF_RATIO = 0.01, 1.25
"""Cut-off of distances: smallest one [m], and ratio to the clearance."""

FLOOR_TOLERANCE = 0.01
"""Largest |z| of the lowest point of a base that is taken to stand at z = 0 [m]."""


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
