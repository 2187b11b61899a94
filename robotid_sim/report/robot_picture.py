"""The robot as it looks, with the path of its tool: a picture for a page."""

import io
import logging

from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.section import Picture
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.compositor import Compositor
from robotid_sim.viewer.view_settings import ViewSettings

SETTINGS = ViewSettings(
    width=960, height=640, layers=frozenset({"path", "contacts"}), renderer="software"
)
SHARPNESS = 2.0
"""Rendered pixels per pixel."""

_log = logging.getLogger(__name__)


def robot_picture(robot: Robot, trajectory: Trajectory) -> tuple[Picture, ...]:
    """Return the robot in the middle of a motion; nothing if it cannot be drawn."""
    animation = Animation.of_trajectory(robot, trajectory)
    try:
        with Compositor([animation], SETTINGS) as compositor:
            image = compositor.frame(0.5 * (animation.start + animation.end), SHARPNESS)
    except RobotIdError as error:
        _log.warning("the page has no picture of the robot: %s", error)
        return ()
    data = io.BytesIO()
    image.save(data, format="PNG", optimize=True)
    picture = Picture(
        name="robot",
        title="The robot on its motion",
        caption=f"{robot.name} in the middle of the motion, with the path of its tool over all of "
        "it. Links that touch something are red.",
        png=data.getvalue(),
    )
    return (picture,)
