"""Which joints of an arm carry a point along a path, and from which pose they start."""

import itertools
from dataclasses import replace
from typing import Literal

import numpy as np

from robotid_sim.errors import PathError
from robotid_sim.kinematics.carried_point import CarriedPoint
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.kinematics.inverse import beyond_limits
from robotid_sim.kinematics.workspace import configurations
from robotid_sim.model.robot import Robot

Follow = Literal["wrist", "tip"]

LEAST_RANK = 1e-3
"""Least singular value of the carrying joints' Jacobian over its largest, at a typical pose."""

WELL_INSIDE = 0.9
"""Share of the position range in which the pose at the center should be."""


def carried_point(
    robot: Robot,
    follow: Follow,
    point: tuple[float, float, float] | None,
    center: tuple[float, float, float] | None,
) -> CarriedPoint:
    """Return the point of a robot that is to be carried, with a pose where it is at the center.

    Parameters
    ----------
    robot : Robot
        Kinematics and limits.
    follow : str
        ``wrist``: the first three joints that can carry a point do, the others rest at home.
        ``tip``: six joints carry the tip and hold its orientation.
    point : tuple of float, optional
        The point [m] in the frame of the third of these joints' body, or of the tip. By default the
        tip, or the origin of the second joint after these three, the wrist center of usual arms.
    center : tuple of float, optional
        Center in the root frame [m]; by default where the best conditioned configuration has it.

    Raises
    ------
    PathError
        If the joints cannot carry a point, or the center is out of reach.
    """
    rows = 3 if follow == "wrist" else 6
    candidates = []
    bare = _bare(robot, _carriers(robot, rows, point), point)
    limits = robot.limits
    for q in configurations(robot):
        start = np.array(robot.home)
        start[bare.moved] = q[bare.moved]
        seed = replace(bare, q_start=start)
        seed = replace(seed, held=seed.pose()[:3, :3])
        candidate = seed if center is None else seed.moved_to(np.array(center))
        if candidate is None or beyond_limits(robot, candidate.q_start) is not None:
            continue
        use = np.abs(candidate.q_start - limits.middle) / limits.half_range
        candidates.append((bool(use[bare.moved].max() > WELL_INSIDE), candidate.index(), candidate))
    if not candidates:
        raise PathError(
            f"the center {center} is out of reach of '{robot.name}' within its limits; choose "
            "another 'center' or leave it to the search"
        )
    return min(candidates, key=lambda entry: entry[:2])[2]


def _bare(robot: Robot, moved: list[int], point: tuple[float, float, float] | None) -> CarriedPoint:
    """Return a point that given joints carry, at the home pose."""
    bodies, local = robot.dof, robot.T_last_tip[:3, 3]
    if len(moved) == 3:
        wrist = moved[-1] + 2
        if point is not None:
            bodies, local = moved[-1] + 1, np.array(point)
        elif wrist < robot.dof:
            bodies, local = wrist, robot.geometry[wrist, :3]
    elif point is not None:
        local = robot.T_last_tip[:3] @ np.append(point, 1.0)
    held = link_poses(robot, robot.home)[bodies - 1][:3, :3]
    geometry = robot.geometry[:bodies]
    return CarriedPoint(robot.name, geometry, local, np.array(moved), robot.home, held)


def _carriers(robot: Robot, rows: int, point: tuple[float, float, float] | None) -> list[int]:
    """Return the first joints that can carry a point or a tip, with the others at home.

    Raises `PathError` if there are not enough.
    """
    for moved in itertools.combinations(range(robot.dof), rows):
        bare = _bare(robot, list(moved), point)
        for q in configurations(robot)[1:4]:
            start = np.array(robot.home)
            start[list(moved)] = q[list(moved)]
            if replace(bare, q_start=start).index() < 1.0 / LEAST_RANK:
                return list(moved)
    directions = "a point in all directions" if rows == 3 else "its tip and hold the orientation"
    raise PathError(
        f"no {rows} joints of '{robot.name}' can move {directions}; choose another 'point' or "
        "another family of excitations"
    )
