"""MuJoCo's window for an animation: the robot and its ghosts, to look at and to play."""

import time
from collections.abc import Sequence
from dataclasses import replace

import mujoco
import mujoco.viewer

from robotid_sim.errors import OptionError
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, animation_colors
from robotid_sim.viewer.bounds import visuals_and_bounds
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.display import no_display
from robotid_sim.viewer.mujoco_scene import MujocoScene
from robotid_sim.viewer.playback_controls import PlaybackControls
from robotid_sim.viewer.view_settings import ViewSettings

GHOST_OPACITY = 0.4

TICK = 1.0 / 60.0
"""Time between pictures [s]."""

KEY_NAMES = {32: "space", 262: "right", 263: "left", 264: "down", 265: "up", 76: "l", 82: "r"}
"""Keys as the window numbers them, and as `PlaybackControls` calls them."""


def show_in_mujoco(
    animations: Sequence[Animation], settings: ViewSettings, *, speed: float, loop: bool
) -> None:
    """Show a motion in MuJoCo's window until that is closed.

    The space bar pauses, arrows move through the motion, R starts again, L loops. Raises
    `OptionError` if there is no display with OpenGL.
    """
    first = animations[0]
    parts, points = visuals_and_bounds(animations, ())
    scene, tones = MujocoScene(colors.WINDOW_SKY), animation_colors(animations)
    robots = [scene.add(first.robot, parts)]
    for tone in tones[1:]:
        rgba = colors.rgba(tone, GHOST_OPACITY)
        robots.append(scene.add(first.robot, [replace(part, rgba=rgba) for part in parts]))
    controls = PlaybackControls(first.start, first.end, settings=settings, speed=speed, loop=loop)

    def press(key: int) -> None:
        controls.press(KEY_NAMES.get(key, ""))

    model, data = scene.update()
    try:
        window = mujoco.viewer.launch_passive(
            model, data, key_callback=press, show_left_ui=False, show_right_ui=False
        )
    except (mujoco.FatalError, RuntimeError) as error:
        raise OptionError(no_display()) from error
    with window:
        _aim(window.cam, Camera.fitted(points, settings.camera, settings.width, settings.height))
        last = time.perf_counter()
        while window.is_running():
            before, last = last, time.perf_counter()
            controls.advance(last - before)
            with window.lock():
                for robot, animation in zip(robots, animations, strict=True):
                    robot.pose(animation.at(controls.time).q)
                scene.update()
            window.sync()
            time.sleep(max(0.0, TICK - (time.perf_counter() - last)))


def _aim(view: "mujoco.MjvCamera", camera: Camera) -> None:
    """Point the camera of the window as ours; the user may turn it."""
    view.type = mujoco.mjtCamera.mjCAMERA_FREE
    view.lookat, view.distance = camera.target, camera.distance
    view.azimuth, view.elevation = camera.yaw + 90.0, camera.pitch
