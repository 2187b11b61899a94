"""Space that a robot occupies during its motion, for the fit of cameras."""

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
"""Margin around the base in the picture, over the reach."""

POSE_COUNT = 120
"""Number of poses of a motion for the fit of the camera."""

UNIT_VECTORS = np.asarray(trimesh.creation.icosphere(subdivisions=1).vertices)
"""Unit vectors spread evenly over the sphere, shape (42, 3)."""

_log = logging.getLogger(__name__)


def visuals_and_bounds(
    animations: Sequence[Animation], models: Iterable[Robot]
) -> tuple[list[robot_visuals.VisualPart], Float2D]:
    """List the parts of the robot, and points swept by its motions and by ellipsoids of models.

    With ghosts in their own colors the robot is gray, so that colors are not confused.
    """
    robot = animations[0].robot
    parts, surface = find_drawable_parts(robot)
    if any(animation.color for animation in animations[1:]):
        parts = [replace(part, rgba=colors.rgba(colors.REFERENCE_COLOR)) for part in parts]
    poses = [a.q[:: max(1, a.t.size // POSE_COUNT)] for a in animations]
    return parts, motion_points(robot, add_ellipsoid_points(surface, models), np.vstack(poses))


def find_drawable_parts(robot: Robot) -> tuple[list[robot_visuals.VisualPart], dict[int, Float2D]]:
    """List the drawable parts of a robot, and points on the surface of its bodies.

    If the engine cannot read a mesh, bars between its joints represent the whole robot. The points
    are in the frame of their body, -1 the base, shape (N, 3) each.
    """
    parts = robot_visuals.robot_parts(robot)
    try:
        surface = surface_points(robot, parts)
    except RobotIdError as error:
        _log.warning("%s; bars replace the meshes", error)
        surface = {}
    if not surface:
        parts = robot_visuals.robot_parts(robot, files=False)
        surface = surface_points(robot, parts)
    return parts, surface


def surface_points(robot: Robot, parts: Sequence[robot_visuals.VisualPart]) -> dict[int, Float2D]:
    """Find points on the parts of every body in its frame, shape (N, 3) each.

    They are from pictures by PyBullet or, for MuJoCo, the vertices of the meshes.
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
    """Add points on the inertia ellipsoids of models to the surface points."""
    clouds = {body: [points] for body, points in surface.items()}
    for model in models:
        for body, link in enumerate(model.links):
            if ellipsoid := robot_visuals.inertia_ellipsoid(link.phi):
                axes = ellipsoid.rotation * ellipsoid.semi_axes
                clouds.setdefault(body, []).append(ellipsoid.center + UNIT_VECTORS @ axes.T)
    return {body: np.vstack(points) for body, points in clouds.items()}


def motion_points(robot: Robot, surface: Mapping[int, Float2D], q: Float2D) -> Float2D:
    """Compute the swept points of a motion: extreme points of every body, and the tip, (P, 3).

    The margin around the base is always included.
    """
    outer = {
        body: points[np.unique((points @ UNIT_VECTORS.T).argmax(axis=0))]
        for body, points in surface.items()
    }
    margin = BASE_MARGIN_SHARE * robot_visuals.reach(robot)
    swept = [np.diag([margin, margin, 0.0]), np.diag([-margin, -margin, 0.0])]
    swept += [outer.pop(-1)] if -1 in outer else []
    for sample in q:
        poses = link_poses(robot, sample)
        swept.append(tip_pose(robot, sample)[None, :3, 3])
        swept += [p @ poses[body, :3, :3].T + poses[body, :3, 3] for body, p in outer.items()]
    return np.vstack(swept)
