"""How much room a robot and its motion take, which is what cameras are placed by."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import trimesh

from robotid_sim.arrays import Float2D
from robotid_sim.engine.client import EngineClient
from robotid_sim.errors import RobotIdError
from robotid_sim.kinematics.forward import link_poses, tip_pose
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.posed_robot import PosedRobot
from robotid_sim.viewer.renderer import camera_image
from robotid_sim.viewer.robot_visuals import VisualPart, inertia_ellipsoid, reach, robot_parts

PROBE_PIXELS = 160
"""Width of the pictures that measure the size of a robot."""

AROUND_BASE = 0.1
"""Share of the reach around the base that is always in the picture."""

POSES = 120
"""Poses of a motion that the camera is fitted to."""

DIRECTIONS = np.asarray(trimesh.creation.icosphere(subdivisions=1).vertices)
"""Unit vectors spread evenly over the sphere, shape (42, 3)."""

_log = logging.getLogger(__name__)


def visuals_and_bounds(
    animations: Sequence[Animation], models: Iterable[Robot]
) -> tuple[list[VisualPart], Float2D]:
    """Return the parts of the robot, and what its motions sweep with the masses of models.

    Beside ghosts of their own colors the robot is gray, so that no color is taken for another.
    """
    robot = animations[0].robot
    parts, surface = drawable(robot)
    if any(animation.color for animation in animations[1:]):
        parts = [replace(part, rgba=colors.rgba(colors.REFERENCE)) for part in parts]
    poses = [a.q[:: max(1, a.t.size // POSES)] for a in animations]
    return parts, motion_points(robot, with_masses(surface, models), np.vstack(poses))


def drawable(robot: Robot) -> tuple[list[VisualPart], dict[int, Float2D]]:
    """Return the parts of a robot that Bullet can draw, and points on the surface of its bodies.

    Where Bullet cannot read a mesh the whole robot is drawn as bars between its joints. The points
    are in the frame of their body, -1 the base, shape (N, 3) each.
    """
    parts = robot_parts(robot)
    try:
        surface = surface_points(robot, parts)
    except RobotIdError as error:
        _log.warning("%s; bars are drawn in place of the meshes", error)
        surface = {}
    if not surface:
        parts = robot_parts(robot, files=False)
        surface = surface_points(robot, parts)
    return parts, surface


def surface_points(robot: Robot, parts: Sequence[VisualPart]) -> dict[int, Float2D]:
    """Return points on the parts of every body in its frame, shape (N, 3) each.

    Measured in depth pictures from six sides, so that it holds for every mesh format.
    """
    poses = link_poses(robot, robot.home)
    origins = np.vstack([np.zeros(3), poses[:, :3, 3], tip_pose(robot, robot.home)[:3, 3]])
    middle = 0.5 * (origins.max(axis=0) + origins.min(axis=0))
    half = float(np.ptp(origins, axis=0).max()) + 0.5
    frames = {-1: np.eye(4), **dict(enumerate(poses))}
    surface: dict[int, list[Float2D]] = {}
    with EngineClient() as client:
        posed = PosedRobot(client, robot, parts)
        posed.pose(robot.home)
        options = {
            "shadow": 0,
            "flags": client.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
            "renderer": client.ER_TINY_RENDERER,
        }
        for yaw, pitch in ((0, 0), (90, 0), (180, 0), (270, 0), (0, 90), (0, -90)):
            camera = Camera.distant(middle, half, yaw, pitch, PROBE_PIXELS)
            image = camera_image(client, camera, **options)
            hit = image.mask >= 0
            points = camera.eye + camera.rays()[hit] * image.depth[hit, None]
            links = (image.mask[hit] >> 24) - 1
            for link in np.unique(links):
                body = posed.body_of_link(int(link))
                local = (points[links == link] - frames[body][:3, 3]) @ frames[body][:3, :3]
                surface.setdefault(body, []).append(local)
    return {body: np.vstack(points) for body, points in surface.items()}


def with_masses(surface: Mapping[int, Float2D], models: Iterable[Robot]) -> dict[int, Float2D]:
    """Return the surface points and points on the inertia ellipsoids of models."""
    clouds = {body: [points] for body, points in surface.items()}
    for model in models:
        for body, link in enumerate(model.links):
            if ellipsoid := inertia_ellipsoid(link.phi):
                axes = ellipsoid.rotation * ellipsoid.semi_axes
                clouds.setdefault(body, []).append(ellipsoid.center + DIRECTIONS @ axes.T)
    return {body: np.vstack(points) for body, points in clouds.items()}


def motion_points(robot: Robot, surface: Mapping[int, Float2D], q: Float2D) -> Float2D:
    """Return what a motion sweeps: outermost points of every body, and the tip, shape (P, 3).

    The surroundings of the base are always among it.
    """
    outer = {
        body: points[np.unique((points @ DIRECTIONS.T).argmax(axis=0))]
        for body, points in surface.items()
    }
    near = AROUND_BASE * reach(robot)
    swept = [np.diag([near, near, 0.0]), np.diag([-near, -near, 0.0])]
    swept += [outer.pop(-1)] if -1 in outer else []
    for sample in q:
        poses = link_poses(robot, sample)
        swept.append(tip_pose(robot, sample)[None, :3, 3])
        swept += [p @ poses[body, :3, :3].T + poses[body, :3, 3] for body, p in outer.items()]
    return np.vstack(swept)
