r"""Placement of a tip task in the workspace of an arm: deterministic, by kinematics only.

The shapes of the tip are closed curves in a plane. With the phase :math:`\varphi` from 0 to
:math:`2 \pi`, in units of the size, they are:

- circle: :math:`(\cos\varphi, \sin\varphi)`;
- line, along the diagonal of the plane: :math:`-\cos\varphi\,(1, 1)/\sqrt 2`, that is
  :math:`A + (B - A)(1 - \cos\varphi)/2` from one end A to the other and back;
- figure-eight, the lemniscate of Gerono: :math:`(\sin\varphi, \sin\varphi\cos\varphi)`;
- pick-and-place: up, across and down by overlapping minimum-jerk motions, and back.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import PathError
from robotid_sim.kinematics.following import MIN_POINTS, Poses, follow
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.kinematics.inverse import POSE_DEMAND, Demand, PathSolution
from robotid_sim.kinematics.workspace import (
    motion_axes,
    path_starts,
    reach,
    sort_by_condition,
    tip_demand,
)
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import unit_quintic

PlaneName = Literal["xy", "yz", "xz"]

PLANE_AXES: dict[PlaneName, tuple[int, int]] = {"xy": (0, 1), "yz": (1, 2), "xz": (0, 2)}
"""Axes of the root frame that span a plane, in the order of the two offsets."""

LIFT_PHASE = (0.0, 0.4)
TRANSFER_PHASE = (0.2, 0.8)
LOWERING_PHASE = (0.6, 1.0)
"""Start and end of the motions of a transfer, over its duration."""


@document_attributes
@dataclass(frozen=True, slots=True)
class PlaneShape:
    """Closed curve of the tip in a plane, with an analog in joint space as replacement."""

    name: str
    size_name: str
    """Meaning of the size: ``radius``, ``half length`` or ``half width``."""
    joint_name: str
    """Name of the analog in joint space."""
    planes: tuple[PlaneName, ...]
    """Planes of the root frame to try, in this order."""
    offsets: Callable[[Float1D], Float2D]
    """Function from phases (M,) to offsets from the center over the size, shape (M, 2)."""
    swing: Callable[[Float1D, int], Float2D]
    """Function from phases (M,) and n joints to the joint analog in [-1, 1], shape (M, n)."""


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
    """Compute offsets from (-1, -1/2) over (0, 1/2) to a rest at (1, -1/2), and back."""
    time = phase / np.pi
    time = np.where(time > 1.0, 2.0 - time, time)  # back along the same path
    height = _minimum_jerk(time, *LIFT_PHASE) - _minimum_jerk(time, *LOWERING_PHASE)
    return np.column_stack([2.0 * _minimum_jerk(time, *TRANSFER_PHASE) - 1.0, height - 0.5])


def _minimum_jerk(time: Float1D, begin: float, end: float) -> Float1D:
    """Compute the motion from 0 to 1, at rest at both ends, with the least integral of jerk^2."""
    return unit_quintic(np.clip((time - begin) / (end - begin), 0.0, 1.0))


def _make_alternating_swing(
    offsets: Callable[[Float1D], Float2D],
) -> Callable[[Float1D, int], Float2D]:
    """Make the joint analog in which joints alternate between the first and second offset."""

    def alternate(phase: Float1D, dof: int) -> Float2D:
        return offsets(phase)[:, np.arange(dof) % 2]

    return alternate


FLAT_PLANE_ORDER: tuple[PlaneName, ...] = ("xy", "yz", "xz")
UPRIGHT_PLANE_ORDER: tuple[PlaneName, ...] = ("xz", "yz", "xy")

CIRCLE_SHAPE = PlaneShape(
    "circle", "radius", "joint-ellipse", FLAT_PLANE_ORDER, _circle, _ellipse_swing
)
LINE_SHAPE = PlaneShape("line", "half length", "joint-line", FLAT_PLANE_ORDER, _line, _line_swing)
FIGURE_EIGHT_SHAPE = PlaneShape(
    "figure-eight",
    "half width",
    "joint-figure-eight",
    FLAT_PLANE_ORDER,
    _figure_eight,
    _make_alternating_swing(_figure_eight),
)
PICK_AND_PLACE_SHAPE = PlaneShape(
    "pick-and-place",
    "half width",
    "joint-pick-and-place",
    UPRIGHT_PLANE_ORDER,
    _pick_and_place,
    _make_alternating_swing(_pick_and_place),
)


MAX_PLACED_SINGULARITY_INDEX = 100.0
"""Largest singularity index along a path with a searched center."""

MAX_SINGULARITY_INDEX = 1000.0
"""Largest singularity index along a path with a given center: above it, the arm is near-singular
by Fazilat, Zioui (2025), Mathematics 13(16), 2631, doi:10.3390/math13162631."""

CONTACT_MESSAGE = "its links would touch one another or the floor, or come too close"
"""Reason to reject a path that the arm can follow."""

ContactCheck = Callable[[Float2D], bool]
"""Function that checks whether all poses of a path, shape (N, n), are free of contacts."""

SIZE_SHARES = (0.15, 0.10, 0.05)
"""Sizes to try, over the reach of the arm."""


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """A path of the tip, and joint positions from which to search for its first pose."""

    poses: Poses
    q_start: Float1D
    label: str = ""
    """Description for messages."""


def best_of(
    robot: Robot,
    attempts: Iterable[Attempt],
    demand: Demand,
    largest_index: float,
    is_clear: ContactCheck | None = None,
    points: int = MIN_POINTS,
) -> tuple[Attempt, PathSolution] | None:
    """Select the first good attempt, otherwise the best one.

    None without attempts. A good attempt has a singularity index up to
    `MAX_PLACED_SINGULARITY_INDEX` and no contacts. The best one gets furthest with an index up to
    `largest_index`; of complete paths the best conditioned one is selected.
    """
    best, best_merit = None, (False, -1.0, False, 0.0)
    for attempt in attempts:
        solution = follow(robot, attempt.poses, attempt.q_start, demand, largest_index, points)
        solution = check_clearance(solution, is_clear)
        worst = float(solution.singularity_index.max(initial=1.0))
        if solution.failure is None and worst <= MAX_PLACED_SINGULARITY_INDEX:
            return attempt, solution
        # If two stop at the same point, the obstacle on a reachable path is more helpful.
        merit = (solution.failure is None, solution.share, solution.within_reach, -worst)
        if best is None or merit > best_merit:
            best, best_merit = (attempt, solution), merit
    return best


def check_clearance(solution: PathSolution, is_clear: ContactCheck | None) -> PathSolution:
    """Record an obstacle in a solution with contacts."""
    if is_clear is None or solution.failure is not None or is_clear(solution.q):
        return solution
    return replace(solution, failure=CONTACT_MESSAGE)


def place(
    robot: Robot,
    shape: PlaneShape,
    center: tuple[float, float, float] | None,
    plane: PlaneName | None,
    size: float | None,
    is_clear: ContactCheck | None = None,
) -> PathSolution | None:
    """Find joint positions along a shape of the tip; None if no shape fits without given options.

    Without a center, the shape is tried around the home pose and random configurations, the best
    conditioned first; with a center, the orientations of these poses are tried. Planes are the
    planes of the root frame, or the plane of a planar arm. Raises `PathError` if no shape with the
    given center, plane or size works.
    """
    demand = tip_demand(robot)
    sizes = [share * reach(robot) for share in SIZE_SHARES] if size is None else [size]
    attempts: Iterable[Attempt] = ()
    if demand.rank >= 2 and center is None:
        attempts = _try_configurations(robot, shape, demand, plane, sizes)
    elif demand.rank >= 2:
        attempts = _try_center(robot, shape, demand, np.array(center), plane, sizes)
    limit = MAX_PLACED_SINGULARITY_INDEX if center is None else MAX_SINGULARITY_INDEX
    best = best_of(robot, attempts, demand, limit, is_clear)
    if best is not None and best[1].failure is None:
        return best[1]
    if center is None and plane is None and size is None:
        return None
    if best is not None and center is not None:
        raise PathError(
            f"{best[0].label}: {best[1].failure}; choose a smaller {shape.size_name} or another "
            "center"
        )
    raise PathError(_describe_failure(robot, shape, demand, plane, size, best))


def _describe_failure(
    robot: Robot,
    shape: PlaneShape,
    demand: Demand,
    plane: PlaneName | None,
    size: float | None,
    best: tuple[Attempt, PathSolution] | None,
) -> str:
    name = shape.name
    name += "" if size is None else f" of {shape.size_name} {size:g} m"
    name += "" if plane is None else f" in the plane {plane}"
    if best is None:
        return (
            f"'{robot.name}' reaches no {name}: its tip moves along a single curve; omit center, "
            "plane and size for a task in joint space"
        )
    orientation = " of constant orientation" if demand == POSE_DEMAND else ""
    return (
        f"'{robot.name}' reaches no {name}{orientation} within its limits at a singularity index "
        f"below {MAX_PLACED_SINGULARITY_INDEX:g} (best: {best[0].label}, {best[1].failure}); "
        f"choose a smaller {shape.size_name} or omit it"
    )


def _try_configurations(
    robot: Robot, shape: PlaneShape, demand: Demand, plane: PlaneName | None, sizes: list[float]
) -> Iterator[Attempt]:
    planes = _list_planes(robot, shape, demand, plane)
    for q in sort_by_condition(robot, demand):
        for size in sizes:
            for axes in planes:
                yield _attempt(shape, tip_pose(robot, q), axes, size, q)


def _try_center(
    robot: Robot,
    shape: PlaneShape,
    demand: Demand,
    center: Float1D,
    plane: PlaneName | None,
    sizes: list[float],
) -> Iterator[Attempt]:
    planes = _list_planes(robot, shape, demand, plane)
    for middle, q in path_starts(robot, center, demand):
        for size in sizes:
            for axes in planes:
                yield _attempt(shape, middle, axes, size, q)


def _list_planes(
    robot: Robot, shape: PlaneShape, demand: Demand, plane: PlaneName | None
) -> list[Float2D]:
    if plane is not None:
        return [np.eye(3)[list(PLANE_AXES[plane])]]
    if demand.rank == 2:
        return [motion_axes(robot, demand)]
    return [np.eye(3)[list(PLANE_AXES[name])] for name in shape.planes]


def _attempt(shape: PlaneShape, middle: Float2D, axes: Float2D, size: float, q: Float1D) -> Attempt:
    def poses(phase: Float1D) -> Float2D:
        frames = np.repeat(middle[None], len(phase), axis=0)
        frames[:, :3, 3] += size * shape.offsets(phase) @ axes
        return frames

    x, y, z = np.round(middle[:3, 3], 3) + 0.0  # no negative zero
    label = f"{shape.name} of {shape.size_name} {size:.3f} m around ({x:g}, {y:g}, {z:g})"
    return Attempt(poses, q, label)
