"""Space that a robot and its motion take, for the placement of cameras."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import trimesh

from robotid_sim.arrays import Float2D
from robotid_sim.engine.engines import engine_named
from robotid_sim.errors import RobotIdError
from robotid_sim.kinematics.forward import link_poses, tip_pose
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors, robot_visuals
from robotid_sim.viewer.animation import Animation

BASE_MARGIN_SHARE = 0.1
"""Share of the reach around the base that is always in the picture."""

POSE_COUNT = 120
"""Poses of a motion that the camera is fitted to."""

UNIT_VECTORS = np.asarray(trimesh.creation.icosphere(subdivisions=1).vertices)
"""Unit vectors spread evenly over the sphere, shape (42, 3)."""

_log = logging.getLogger(__name__)


def visuals_and_bounds(
    animations: Sequence[Animation], models: Iterable[Robot]
) -> tuple[list[robot_visuals.VisualPart], Float2D]:
    """Return the parts of the robot, and the points that its motions and models' masses sweep.

    Beside ghosts of their own colors the robot is gray, so that no color is taken for another.
    """
    robot = animations[0].robot
    parts, surface = drawable(robot)
    if any(animation.color for animation in animations[1:]):
        parts = [replace(part, rgba=colors.rgba(colors.REFERENCE_COLOR)) for part in parts]
    poses = [a.q[:: max(1, a.t.size // POSE_COUNT)] for a in animations]
    return parts, motion_points(robot, add_ellipsoid_points(surface, models), np.vstack(poses))


def drawable(robot: Robot) -> tuple[list[robot_visuals.VisualPart], dict[int, Float2D]]:
    """Return the parts of a robot that can be drawn, and points on the surface of its bodies.

    Where the engine cannot read a mesh, bars between its joints stand for the whole robot. The
    points are in the frame of their body, -1 the base, shape (N, 3) each.
    """
    parts = robot_visuals.robot_parts(robot)
    try:
        surface = surface_points(robot, parts)
    except RobotIdError as error:
        _log.warning("%s; bars are drawn in place of the meshes", error)
        surface = {}
    if not surface:
        parts = robot_visuals.robot_parts(robot, files=False)
        surface = surface_points(robot, parts)
    return parts, surface


def surface_points(robot: Robot, parts: Sequence[robot_visuals.VisualPart]) -> dict[int, Float2D]:
    """Return points on the parts of every body in its frame, shape (N, 3) each.

    Seen in PyBullet's pictures, which hold what it has read, or corners of the meshes for MuJoCo.
    Raises `RobotIdError` if a mesh cannot be read.
    """
    if engine_named(None) == "pybullet":
        from robotid_sim.viewer.pybullet_renderer import surface_in_pictures

        return surface_in_pictures(robot, parts)
    surface: dict[int, list[Float2D]] = {}
    for part in parts:
        surface.setdefault(part.body, []).append(
            robot_visuals.part_solid(part, placed=True).vertices
        )
    return {body: np.vstack(points) for body, points in surface.items()}


def add_ellipsoid_points(
    surface: Mapping[int, Float2D], models: Iterable[Robot]
) -> dict[int, Float2D]:
    """Return the surface points and points on the inertia ellipsoids of models."""
    clouds = {body: [points] for body, points in surface.items()}
    for model in models:
        for body, link in enumerate(model.links):
            if ellipsoid := robot_visuals.inertia_ellipsoid(link.phi):
                axes = ellipsoid.rotation * ellipsoid.semi_axes
                clouds.setdefault(body, []).append(ellipsoid.center + UNIT_VECTORS @ axes.T)
    return {body: np.vstack(points) for body, points in clouds.items()}


def motion_points(robot: Robot, surface: Mapping[int, Float2D], q: Float2D) -> Float2D:
    """Return the points that a motion sweeps: outermost ones of every body, and the tip, (P, 3).

    The surroundings of the base are always among it.
    """
    outer = {
        body: points[np.unique((points @ UNIT_VECTORS.T).argmax(axis=0))]
        for body, points in surface.items()
    }
    near = BASE_MARGIN_SHARE * robot_visuals.reach(robot)
    swept = [np.diag([near, near, 0.0]), np.diag([-near, -near, 0.0])]
    swept += [outer.pop(-1)] if -1 in outer else []
    for sample in q:
        poses = link_poses(robot, sample)
        swept.append(tip_pose(robot, sample)[None, :3, 3])
        swept += [p @ poses[body, :3, :3].T + poses[body, :3, 3] for body, p in outer.items()]
    return np.vstack(swept)
