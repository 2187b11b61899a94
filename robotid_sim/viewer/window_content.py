"""What stands in PyBullet's window: robot, ghost, masses, frames, floor, tool path.

Commands that change what is drawn, a color or a texture, wait for the window's next frame; those
that move a body do not. So what can be switched stays once it has been loaded and stands elsewhere
while it is off, and at most one waiting command is given at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from robotid_sim.engine.client import EngineClient
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, JointState, torque_share
from robotid_sim.viewer.billboards import add_floor
from robotid_sim.viewer.bounds import visuals_and_bounds
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.posed_robot import PosedRobot
from robotid_sim.viewer.robot_visuals import VisualPart, frame_parts, inertia_parts, reach

GHOST_OPACITY, FADED = 0.4, 0.25

PATH_STEP = 0.0025
"""Distance of a path's points over the reach, so close that they look like a line."""
MOST_POINTS = 12000
AHEAD = 0.35
"""Opacity of the path that is still to come."""
TONES = 24
"""Steps of the torque color."""

Update = Callable[[JointState, set[str]], bool]
"""Brings something up to date with a state and the layers shown.

It gives the window at most one command for which it waits, and returns whether it did.
"""


class WindowContent:
    """Everything in the window but panel and time line.

    A second animation is shown as a ghost. `models` are those whose masses are shown; with `masses`
    the camera leaves room for them. `folder` takes textures.
    """

    def __init__(
        self,
        client: EngineClient,
        animations: Sequence[Animation],
        models: Mapping[str, Robot],
        folder: Path,
        *,
        masses: bool,
    ) -> None:
        self.animation, self._models = animations[0], models
        self._client, self._robot = client, self.animation.robot
        bounding = models.values() if masses else ()
        self._parts, self.points = visuals_and_bounds(animations, bounding)
        self._posed = {"robot": self._load("robot")}
        self._ghost = animations[1] if len(animations) > 1 else None
        self._last: tuple[float, list[str]] | None = None
        paths = zip(animations, colors.ANIMATIONS, strict=False)
        self._paths = [_PathPoints(client, a, color) for a, color in paths]
        self._tones = [0] * (self._robot.dof + 1)
        self._next_body = 0
        add_floor(client, self.points, folder)

    def pose(self, state: JointState, layers: set[str]) -> None:
        """Move everything to a state, and show or hide what is switched."""
        visible = self._visible(state, layers)
        if (state.t, visible) == self._last:
            return
        self._last = state.t, visible
        for name in visible:
            if name not in self._posed:  # loading takes a moment
                self._posed[name] = self._load(name)
        for name, posed in self._posed.items():
            posed.show(visible=name in visible)
            if name == "ghost" and self._ghost is not None:
                posed.pose(self._ghost.at(state.t).q)
            elif posed.visible:
                posed.pose(state.q)

    def updates(self) -> list[Update]:
        """Return the functions that bring colors up to date."""
        return [self._color_next_body, *(path.update for path in self._paths)]

    def _load(self, name: str) -> PosedRobot:
        """Return what `_visible` calls by this name."""
        robot, parts, size = self._robot, self._parts, reach(self._robot)
        merged = name in ("torque", "ghost")
        if name == "torque":
            parts = _tinted(parts, colors.warm(0.0), 1.0)
        elif name == "faded":
            parts = _tinted(parts, None, FADED)
        elif name == "ghost":
            moving = [part for part in parts if part.body >= 0]
            parts = _tinted(moving, colors.GHOST, GHOST_OPACITY)
        elif name == "frames":
            parts = frame_parts(robot, 0.12 * size)
        elif name != "robot":
            model = name.removeprefix("masses of ")
            robot, index = self._models[model], list(self._models).index(model)
            color = colors.rgba(colors.model_color(model, index))
            parts = inertia_parts(robot, color, dot=0.014 * size)
        return PosedRobot(self._client, robot, parts, merged=merged)

    def _visible(self, state: JointState, layers: set[str]) -> list[str]:
        """Return the names of the posed robots that are to be seen."""
        masses = "inertia" in layers
        if "torque" in layers and state.tau is not None:
            names = ["torque"]
        else:
            names = ["faded" if masses else "robot"]
        names += [f"masses of {name}" for name in self._models] * masses
        return names + ["frames"] * ("frames" in layers) + ["ghost"] * (self._ghost is not None)

    def _color_next_body(self, state: JointState, layers: set[str]) -> bool:
        if "torque" not in self._posed or state.tau is None or "torque" not in layers:
            return False
        shares = torque_share(self._robot, state.tau)
        tones = [round(TONES * min(abs(float(share)), 1.0)) for share in shares] + [0]
        for _ in tones:  # the last one is the base, which bears no torque of its own
            k = self._next_body = (self._next_body + 1) % len(tones)
            if tones[k] != self._tones[k]:
                self._tones[k] = tones[k]
                color = colors.rgba(colors.warm(tones[k] / TONES))
                self._posed["torque"].paint({k if k < len(shares) else -1: color})
                return True
        return False


class _PathPoints:
    """The tool path as points close together: the one line drawing that takes one command."""

    def __init__(self, client: EngineClient, animation: Animation, color: Rgb) -> None:
        path = animation.tool_path()
        along = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))]
        count = along[-1] / (PATH_STEP * reach(animation.robot))
        even = np.linspace(0.0, along[-1], int(np.clip(count, 2, MOST_POINTS)))
        self._points = np.column_stack([np.interp(even, along, axis) for axis in path.T]).tolist()
        self._times = np.interp(even, along, animation.t)
        faint = AHEAD * np.array(color) + (1.0 - AHEAD) * np.array(colors.WINDOW_SKY)
        self._colors = [(faint / 255.0).tolist(), [value / 255.0 for value in color]]
        self._client = client
        self._items: list[int] = []
        self._drawn = -1

    def update(self, state: JointState, layers: set[str]) -> bool:
        """Color the path up to a state; return whether there was anything to do."""
        visible = "path" in layers
        count = max(1, int(np.searchsorted(self._times, state.t, side="right"))) if visible else -1
        if count == self._drawn:
            return False
        self._drawn = count
        if not visible:
            for item in self._items:
                self._client.removeUserDebugItem(item)
            self._items = []
        elif not self._items:
            self._items = [self._draw(0, len(self._points), 2.0), self._draw(1, count, 4.0)]
        else:
            self._items[1] = self._draw(1, count, 4.0, replaceItemUniqueId=self._items[1])
        return True

    def _draw(self, color: int, count: int, size: float, **old: int) -> int:
        """Draw the first points, or replace them; the larger ones behind the tool lie on top."""
        places, shades = self._points[:count], [self._colors[color]] * count
        return int(self._client.addUserDebugPoints(places, shades, size, **old))


def _tinted(parts: Sequence[VisualPart], color: Rgb | None, opacity: float) -> list[VisualPart]:
    """Return the parts in one color, or their own, and translucent."""
    if color is None:
        return [replace(part, rgba=(*part.rgba[:3], opacity)) for part in parts]
    return [replace(part, rgba=colors.rgba(color, opacity)) for part in parts]
