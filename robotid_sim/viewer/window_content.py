"""What stands in PyBullet's window: robot, ghosts, masses, frames, floor, tool path.

Commands that change what is drawn, a color or a texture, wait for the window's next frame; those
that move a body do not. So what can be switched stays once it has been loaded and stands elsewhere
while it is off, and at most one waiting command is given at a time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from robotid_sim.engine.client import EngineClient
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, JointState, animation_colors, torque_share
from robotid_sim.viewer.billboards import add_floor
from robotid_sim.viewer.bounds import visuals_and_bounds
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.contact_times import ContactTimes
from robotid_sim.viewer.posed_robot import PosedRobot
from robotid_sim.viewer.robot_visuals import VisualPart, frame_parts, inertia_parts, reach

GHOST_OPACITY, FADED = 0.4, 0.25
BEHIND = 0.006
"""Shift of a ghost over the distance of the camera, as `overlays.BIAS` in pictures."""

PATH_STEP = 0.0025
"""Distance of a path's points over the reach, so close that they look like a line."""
MOST_POINTS = 12000
AHEAD = 0.35
"""Opacity of the path that is still to come."""
TONES = 24
"""Steps of the torque color."""

Key = tuple[str, int | str | None]
"""A posed robot: its kind, and which body, model or ghost it is of; None for all bodies."""

Update = Callable[[JointState, set[str]], bool]
"""Brings something up to date with a state and the layers shown.

It gives the window at most one command for which it waits, and returns whether it did.
"""


class WindowContent:
    """Everything in the window but panel and time line.

    Animations after the first are shown as ghosts. `models` are those whose masses are shown; with
    `masses` the camera leaves room for them. `folder` takes textures.
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
        self._ghosts, tones = animations[1:], animation_colors(animations)
        self._ghost_colors = tones[1:]
        self.contacts = ContactTimes.of(self.animation)
        # Nothing is drawn yet, which makes loading fast; later it would stop the motion.
        self._posed = {key: self._load(key) for key in self._keys()}
        self._last: tuple[float, list[Key]] | None = None
        paths = zip(animations, tones, strict=True)
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
        if ("torque", None) in visible and not self._posed["torque", None].visible:
            with undrawn(self._client):
                while self._color_next_body(state, layers):
                    pass
        for key, posed in self._posed.items():
            posed.show(visible=key in visible)
            kind, which = key
            if kind == "ghost":
                posed.pose(self._ghosts[int(which or 0)].at(state.t).q)
            elif posed.visible:
                posed.pose(state.q)

    def stand_back(self, camera: Camera) -> None:
        """Shift ghosts of their own colors a little away from the camera.

        Where they are in the robot's place, which is their normal case, it would shimmer otherwise.
        """
        away = -BEHIND * camera.distance * camera.axes[:, 2]
        for k, ghost in enumerate(self._ghosts):
            if ghost.color:
                self._posed["ghost", k].shift(away)

    def updates(self) -> list[Update]:
        """Return the functions that bring colors up to date."""
        return [self._color_next_body, *(path.update for path in self._paths)]

    def _load(self, key: Key) -> PosedRobot:
        """Return what `_visible` calls by this key.

        Bodies that touch at some time are robots of their own, for a color takes a frame.
        """
        kind, which = key
        robot, parts, size = self._robot, self._parts, reach(self._robot)
        if kind in ("robot", "faded", "touching"):
            ever = self.contacts.ever
            parts = [p for p in parts if p.body == which or (which is None and p.body not in ever)]
        match kind:
            case "faded":
                parts = _tinted(parts, None, FADED)
            case "touching":
                parts = _tinted(parts, colors.CONTACT, 1.0)
            case "torque":
                parts = _tinted(parts, colors.warm(0.0), 1.0)
            case "ghost":
                moving = [part for part in parts if part.body >= 0]
                parts = _tinted(moving, self._ghost_colors[int(which or 0)], GHOST_OPACITY)
            case "frames":
                parts = frame_parts(robot, 0.12 * size)
            case "masses":
                model = str(which)
                robot, index = self._models[model], list(self._models).index(model)
                color = colors.rgba(colors.model_color(model, index))
                parts = inertia_parts(robot, color, dot=0.014 * size)
        return PosedRobot(self._client, robot, parts, merged=kind in ("torque", "ghost"))

    def _keys(self) -> list[Key]:
        """Return the keys of everything that can be seen."""
        ever = sorted(self.contacts.ever)
        keys: list[Key] = [(kind, k) for kind in ("robot", "faded") for k in (None, *ever)]
        keys += [("touching", k) for k in ever] + [("masses", name) for name in self._models]
        keys += [("torque", None)] * (self.animation.tau is not None) + [("frames", None)]
        return keys + self._ghost_keys()

    def _ghost_keys(self) -> list[Key]:
        return [("ghost", k) for k in range(len(self._ghosts))]

    def _visible(self, state: JointState, layers: set[str]) -> list[Key]:
        """Return the keys of the posed robots that are to be seen."""
        masses = "inertia" in layers
        if "torque" in layers and state.tau is not None:
            keys: list[Key] = [("torque", None)]
        else:
            kind = "faded" if masses else "robot"
            red = self.contacts.at(state.t) if "contacts" in layers else frozenset[int]()
            moved = sorted(self.contacts.ever)
            keys = [(kind, None), *(("touching" if k in red else kind, k) for k in moved)]
        keys += [("masses", name) for name in self._models] * masses
        keys += [("frames", None)] * ("frames" in layers)
        return keys + self._ghost_keys()

    def _color_next_body(self, state: JointState, layers: set[str]) -> bool:
        if state.tau is None or "torque" not in layers:
            return False
        shares = torque_share(self._robot, state.tau)
        tones = [round(TONES * min(abs(float(share)), 1.0)) for share in shares] + [0]
        for _ in tones:  # the last one is the base, which bears no torque of its own
            k = self._next_body = (self._next_body + 1) % len(tones)
            if tones[k] != self._tones[k]:
                self._tones[k] = tones[k]
                color = colors.rgba(colors.warm(tones[k] / TONES))
                self._posed["torque", None].paint({k if k < len(shares) else -1: color})
                return True
        return False


@contextmanager
def undrawn(client: EngineClient) -> Iterator[None]:
    """Let the window keep its last picture: what changes meanwhile need not wait for frames."""
    client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, 0)
    try:
        yield
    finally:
        client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, 1)


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
