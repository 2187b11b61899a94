"""Contents of PyBullet's window: robot, ghosts, inertia ellipsoids, frames, tool paths, a text.

Commands that change a color, a text or a line wait for the window's next frame; those that move a
body do not. So switchable bodies are loaded once and moved away while they are off, and one color
is changed at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.engine.client import EngineClient
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import (
    Animation,
    ContactTimes,
    JointState,
    animation_colors,
    torque_share,
)
from robotid_sim.viewer.bounds import visuals_and_bounds
from robotid_sim.viewer.camera import Camera, Margins
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.pybullet_renderer import PosedRobot
from robotid_sim.viewer.robot_visuals import VisualPart, frame_parts, inertia_parts, reach
from robotid_sim.viewer.view_settings import ViewSettings

FIELD_OF_VIEW = 90.0
"""Field of view of PyBullet's window [deg]."""

SIDE, TOP, BOTTOM = 260, 60, 135
"""Parts of the window covered by PyBullet's panels at its edges, with a margin [pixels]."""

GHOST_OPACITY, FADED_OPACITY = 0.4, 0.25

GHOST_SHIFT = 0.006
"""Shift of a ghost over the distance of the camera; without it, a ghost that coincides with the
robot, which is common with a reference, would flicker."""

MAX_LINES = 400
"""Number of lines of all paths; every line takes PyBullet 2 ms."""

TONE_COUNT = 24
"""Steps of the torque color."""

TEXT_INTERVAL = 0.1
"""Time between changes of the text [s of motion]."""


class WindowScene:
    """The robot of the first animation in a window, the others as ghosts.

    The layer ``inertia`` shows the inertia ellipsoids of `models`.
    """

    def __init__(
        self,
        client: EngineClient,
        animations: Sequence[Animation],
        models: Mapping[str, Robot],
        settings: ViewSettings,
    ) -> None:
        self.animation, robot = animations[0], animations[0].robot
        self._client, self._animations = client, animations
        bounding = models.values() if "inertia" in settings.layers else ()
        parts, points = visuals_and_bounds(animations, bounding)
        tones, size = animation_colors(animations), reach(robot)
        self._robots = {1.0: PosedRobot(client, robot, parts)}
        self._robots[FADED_OPACITY] = PosedRobot(client, robot, _tint(parts, None, FADED_OPACITY))
        self._painted: dict[float, dict[int, Rgb | None]] = {
            opacity: dict.fromkeys(range(-1, robot.dof)) for opacity in self._robots
        }
        moving = [part for part in parts if part.body >= 0]
        self._ghosts = [
            PosedRobot(client, robot, _tint(moving, tone, GHOST_OPACITY)) for tone in tones[1:]
        ]
        self._frames = PosedRobot(client, robot, frame_parts(robot, 0.12 * size))
        self._ellipsoids = []
        for k, (name, model) in enumerate(models.items()):
            color = colors.rgba(colors.model_color(name, k))
            ellipsoids = inertia_parts(model, color, dot=0.014 * size)
            self._ellipsoids.append(PosedRobot(client, model, ellipsoids))
        self._contacts = ContactTimes.from_animation(self.animation)
        self._paths = [
            (_evenly_spaced(animation.tool_path(), MAX_LINES // len(animations) + 1).tolist(), tone)
            for animation, tone in zip(animations, tones, strict=True)
        ]
        self._lines: list[int] = []
        self._text, self._text_item = "", -1
        self._set_view(points, settings)

    def update(self, state: JointState, layers: set[str]) -> None:
        """Set a state, and show the layers."""
        opacity = FADED_OPACITY if "inertia" in layers else 1.0
        for alpha, robot in self._robots.items():
            robot.show(visible=alpha == opacity)
            robot.pose(state.q)
        for animation, ghost in zip(self._animations[1:], self._ghosts, strict=True):
            ghost.pose(animation.state_at(state.t).q)
        for layer, robots in (("frames", [self._frames]), ("inertia", self._ellipsoids)):
            for robot in robots:
                robot.show(visible=layer in layers)
                robot.pose(state.q)
        self._paint(state, layers, opacity)
        if ("path" in layers) != bool(self._lines):
            client = self._client
            # Without drawing, so that lines do not wait for frames.
            client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, 0)
            for line in self._lines:
                client.removeUserDebugItem(line)
            self._lines = [
                client.addUserDebugLine(start, end, colors.rgba(tone)[:3], 2.5)
                for points, tone in self._paths * ("path" in layers)
                for start, end in pairwise(points)
            ]
            client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, 1)
        shown = self.animation.robot
        time = TEXT_INTERVAL * round(state.t / TEXT_INTERVAL)
        text = f"{shown.name}: {self.animation.name}, {time:z.1f} s"
        if "contacts" in layers and (red := self._contacts.contacts_at(state.t)):
            names = (shown.base if body < 0 else shown.links[body].name for body in sorted(red))
            text += f", contact: {', '.join(names)}"
        if text != self._text:
            old = {"replaceItemUniqueId": self._text_item} if self._text else {}
            self._text_item = self._client.addUserDebugText(
                text, self._text_place, colors.rgba(colors.INK_COLOR)[:3], 1.3, **old
            )
            self._text = text

    def _set_view(self, points: Float2D, settings: ViewSettings) -> None:
        """Set the chosen view so that the points and the text above them lie between the panels."""
        low, high = points.min(axis=0), points.max(axis=0)
        above = np.array([*(0.5 * (low + high))[:2], high[2] + 0.1 * (high - low)[2]])
        width, height = settings.width, settings.height
        side, top, bottom = (
            min(share, 0.4) for share in (SIDE / width, TOP / height, BOTTOM / height)
        )
        free = Margins(side, side, top, bottom)
        view = np.vstack([points, above])
        camera = Camera.fit(view, settings.camera, width, height, fov=FIELD_OF_VIEW, margins=free)
        self._client.resetDebugVisualizerCamera(
            camera.distance, camera.yaw, camera.pitch, camera.target.tolist()
        )
        right, _, back = camera.axes.T
        self._text_place = (above - 0.35 * camera.distance * right).tolist()  # start of the text
        for ghost in self._ghosts:
            ghost.shift(-GHOST_SHIFT * camera.distance * back)

    def _paint(self, state: JointState, layers: set[str], opacity: float) -> None:
        """Update the color of the body whose update has waited longest."""
        robot, painted = self.animation.robot, self._painted[opacity]
        if "torque" in layers and state.tau is not None:
            steps = np.round(TONE_COUNT * torque_share(robot, state.tau)) / TONE_COUNT
            target: dict[int, Rgb | None] = dict(enumerate(map(colors.warm, steps)))
            target[-1] = colors.warm(0.0)  # the base has no joint torque
        else:
            red = self._contacts.contacts_at(state.t) if "contacts" in layers else frozenset[int]()
            target = {body: colors.CONTACT_COLOR if body in red else None for body in painted}
        for body in list(painted):
            if painted[body] != target[body]:
                del painted[body]
                painted[body] = color = target[body]
                paint = None if color is None else colors.rgba(color, opacity)
                self._robots[opacity].paint({body: paint})
                return


def _evenly_spaced(path: Float2D, count: int) -> Float2D:
    """Compute points at equal distances along a path, shape (count, 3)."""
    along = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))]
    even = np.linspace(0.0, along[-1], count)
    return np.column_stack([np.interp(even, along, axis) for axis in path.T])


def _tint(parts: Sequence[VisualPart], color: Rgb | None, opacity: float) -> list[VisualPart]:
    """Make the parts translucent, in one color or their own."""
    if color is None:
        return [replace(part, rgba=(*part.rgba[:3], opacity)) for part in parts]
    return [replace(part, rgba=colors.rgba(color, opacity)) for part in parts]
