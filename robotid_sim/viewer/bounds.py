"""How much room a robot and its motion take, which is what cameras are placed by."""

import logging
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from robotid_sim.arrays import Float2D, Int1D
from robotid_sim.dynamics.kinematics import link_poses, tip_pose
from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.environment import far_camera
from robotid_sim.viewer.inertia_ellipsoid import inertia_ellipsoid
from robotid_sim.viewer.posed_robot import PosedRobot, direct_client
from robotid_sim.viewer.robot_visuals import VisualPart, reach, robot_parts

with captured_output():  # prints its build time
    import pybullet

PROBE_PIXELS = 160
"""Width of the pictures that measure the size of a robot."""

AROUND_BASE = 0.1
"""Share of the reach around the base that is always in the picture."""

_log = logging.getLogger(__name__)


def drawable(robot: Robot) -> tuple[list[VisualPart], dict[int, Float2D]]:
    """Return the parts of a robot that Bullet can draw, and points on the surface of its bodies.

    Where Bullet cannot read a mesh the whole robot is drawn as bars between its joints. The points
    are in the frame of their body, -1 the base, shape (N, 3) each.
    """
    parts = robot_parts(robot)
    try:
        found = surface_points(robot, parts)
    except RobotIdError as error:
        _log.warning("%s; bars are drawn in place of the meshes", error)
        found = {}
    if not found:
        parts = robot_parts(robot, files=False)
        found = surface_points(robot, parts)
    return parts, found


def surface_points(robot: Robot, parts: Sequence[VisualPart]) -> dict[int, Float2D]:
    """Return points on the parts of every body in its frame, shape (N, 3) each.

    Measured in depth pictures from six sides, so that it holds for every mesh format.
    """
    poses = link_poses(robot, robot.home)
    origins = np.vstack([np.zeros(3), poses[:, :3, 3], tip_pose(robot, robot.home)[:3, 3]])
    middle = 0.5 * (origins.max(axis=0) + origins.min(axis=0))
    half = float(np.ptp(origins, axis=0).max()) + 0.5
    found: dict[int, list[Float2D]] = {}
    with direct_client() as client:
        puppet = PosedRobot(client, robot, parts)
        puppet.pose(robot.home)
        for yaw, pitch in ((0, 0), (90, 0), (180, 0), (270, 0), (0, 90), (0, -90)):
            camera = far_camera(middle, half, yaw, pitch, PROBE_PIXELS)
            points, link = _depth_picture(client, camera)
            for k in np.unique(link):
                found.setdefault(puppet.body_of_link(int(k)), []).append(points[link == k])
    frames = {-1: np.eye(4), **dict(enumerate(poses))}
    return {
        body: (np.vstack(seen) - frames[body][:3, 3]) @ frames[body][:3, :3]
        for body, seen in found.items()
    }


def with_masses(surface: Mapping[int, Float2D], models: Iterable[Robot]) -> dict[int, Float2D]:
    """Return the surface points and points on the inertia ellipsoids of models."""
    found = {body: [points] for body, points in surface.items()}
    for model in models:
        for body, link in enumerate(model.links):
            ellipsoid = inertia_ellipsoid(link.phi)
            if ellipsoid is not None:
                axes = ellipsoid.rotation * ellipsoid.semi_axes
                found.setdefault(body, []).append(ellipsoid.center + _directions() @ axes.T)
    return {body: np.vstack(points) for body, points in found.items()}


def motion_points(robot: Robot, surface: Mapping[int, Float2D], q: Float2D) -> Float2D:
    """Return what a motion sweeps: outermost points of every body, and the tip, shape (P, 3).

    The surroundings of the base are always among it.
    """
    outer = {
        body: points[np.unique((points @ _directions().T).argmax(axis=0))]
        for body, points in surface.items()
    }
    swept = [outer[-1]] if -1 in outer else []
    for sample in q:
        poses = link_poses(robot, sample)
        swept.append(tip_pose(robot, sample)[None, :3, 3])
        for body, points in outer.items():
            if body >= 0:
                swept.append(points @ poses[body, :3, :3].T + poses[body, :3, 3])
    near = AROUND_BASE * reach(robot)
    return np.vstack([np.diag([near, near, 0.0]), np.diag([-near, -near, 0.0]), *swept])


def _directions(count: int = 60) -> Float2D:
    """Return unit vectors spread evenly over the sphere, a spiral by the golden angle, (N, 3)."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z**2)
    return np.column_stack([r * np.cos(turn), r * np.sin(turn), z])


def _depth_picture(client: int, camera: Camera) -> tuple[Float2D, Int1D]:
    """Return the points that a camera sees, shape (N, 3), and the link that each belongs to."""
    *_, buffer, mask = pybullet.getCameraImage(
        camera.width,
        camera.height,
        camera.view_matrix().T.ravel().tolist(),
        camera.projection_matrix().T.ravel().tolist(),
        shadow=0,
        flags=pybullet.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        renderer=pybullet.ER_TINY_RENDERER,
        physicsClientId=client,
    )
    shape = (camera.height, camera.width)
    mask, depth = np.reshape(mask, shape), camera.depth(np.reshape(buffer, shape))
    seen = mask >= 0
    points = camera.eye + camera.rays()[seen] * depth[seen, None]
    return points, (mask[seen] >> 24) - 1
