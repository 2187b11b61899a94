"""What stands in PyBullet's window: the robot in its guises, ghosts, masses, frames, floor, path.

Commands that change what is drawn, a color or a texture, wait for the window's next frame; those
that move a body do not. So what can be switched stays once it has been made and stands elsewhere
while it is off, and at most one waiting command is given at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from robotid_sim.engine.quiet import captured_output
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, JointState, torque_share
from robotid_sim.viewer.billboards import SKY, add_floor
from robotid_sim.viewer.bounds import drawable, motion_points, with_masses
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.posed_robot import PosedRobot
from robotid_sim.viewer.robot_visuals import VisualPart, frame_parts, inertia_parts, reach

with captured_output():  # prints its build time
    import pybullet

GHOST_OPACITY, FADED = 0.4, 0.25

PATH_STEP = 0.0025
"""Distance of a path's points over the reach, so close that they look like a line."""
MOST_POINTS = 12000
AHEAD = 0.35
"""Opacity of the path that is still to come."""
TONES = 24
"""Steps of the torque color."""
POSES = 120


class WindowContent:
    """Everything in the window but the cards.

    Parameters
    ----------
    client : int
        PyBullet client with a window.
    playbacks : sequence of Animation
        The motion, and optionally one more as a ghost.
    models : mapping of str to Robot
        Whose masses are shown.
    folder : Path
        For textures.
    masses : bool
        Make room for them when the camera is placed.
    """

    def __init__(
        self,
        client: int,
        playbacks: Sequence[Animation],
        models: Mapping[str, Robot],
        folder: Path,
        *,
        masses: bool,
    ) -> None:
        self._client = client
        self.playback = playbacks[0]
        robot = self.playback.robot
        poses = [p.q[:: max(1, p.t.size // POSES)] for p in playbacks]
        parts, surface = drawable(robot)
        if masses:
            surface = with_masses(surface, models.values())
        self.points = motion_points(robot, surface, np.vstack(poses))
        self._puppets = {"robot": PosedRobot(client, robot, parts)}
        self._makers = self._wardrobe(playbacks, models)
        self._ghost_motion = playbacks[1] if len(playbacks) > 1 else None
        self._models = tuple(models)
        self._posed: tuple[float, list[str]] | None = None
        self._paths = [
            _PathPoints(client, p, color)
            for p, color in zip(playbacks, (colors.PATH, colors.GHOST), strict=False)
        ]
        self._tones = [0] * (robot.dof + 1)
        self._next_body = 0
        add_floor(client, self.points, folder)

    def _wardrobe(
        self, playbacks: Sequence[Animation], models: Mapping[str, Robot]
    ) -> dict[str, Callable[[], PosedRobot]]:
        """Return what makes each puppet when it is first seen; loading takes a moment."""
        client, robot = self._client, playbacks[0].robot
        parts, size = self._puppets["robot"].parts, reach(robot)
        moving = [part for part in parts if part.body >= 0]
        cold, pale = colors.warm(0.0), colors.GHOST

        def masses(name: str, index: int) -> PosedRobot:
            color = colors.rgba(colors.model_color(name, index))
            found = inertia_parts(models[name], color, dot=0.014 * size)
            return PosedRobot(client, models[name], found)

        return {
            "torque": lambda: PosedRobot(client, robot, _tinted(parts, cold, 1.0), merged=True),
            "faded": lambda: PosedRobot(client, robot, _tinted(parts, None, FADED)),
            "ghost": lambda: PosedRobot(
                client, robot, _tinted(moving, pale, GHOST_OPACITY), merged=True
            ),
            "frames": lambda: PosedRobot(client, robot, frame_parts(robot, 0.12 * size)),
            **{f"masses of {name}": partial(masses, name, k) for k, name in enumerate(models)},
        }

    def pose(self, sample: JointState, layers: set[str]) -> None:
        """Move everything to a sample, and show or hide what is switched."""
        shown = self._shown(sample, layers)
        if (sample.t, shown) == self._posed:
            return
        self._posed = sample.t, shown
        for name in shown:
            if name not in self._puppets:
                self._puppets[name] = self._makers[name]()
        for name, puppet in self._puppets.items():
            puppet.show(visible=name in shown)
            if name == "ghost" and self._ghost_motion is not None:
                puppet.pose(self._ghost_motion.at(sample.t).q)
            elif puppet.visible:
                puppet.pose(sample.q)

    def _shown(self, sample: JointState, layers: set[str]) -> list[str]:
        """Return the names of the puppets that are to be seen."""
        masses = "inertia" in layers
        if "torque" in layers and sample.tau is not None:
            names = ["torque"]
        else:
            names = ["faded" if masses else "robot"]
        if masses:
            names += [f"masses of {name}" for name in self._models]
        names += ["frames"] * ("frames" in layers) + ["ghost"] * (self._ghost_motion is not None)
        return names

    def updates(self) -> list[Callable[[JointState, set[str]], bool]]:
        """Return the functions that bring colors up to date.

        Each takes the sample and the layers shown, gives the window at most one command for which
        it waits, and returns whether it did.
        """

        def follow(path: _PathPoints) -> Callable[[JointState, set[str]], bool]:
            return lambda sample, layers: path.update(sample.t, visible="path" in layers)

        return [self._color_next_body, *(follow(path) for path in self._paths)]

    def _color_next_body(self, sample: JointState, layers: set[str]) -> bool:
        if "torque" not in self._puppets or sample.tau is None or "torque" not in layers:
            return False
        shares = torque_share(self.playback.robot, sample.tau)
        tones = [round(TONES * min(abs(float(share)), 1.0)) for share in shares] + [0]
        for _ in tones:  # the last one is the base, which bears no torque of its own
            self._next_body = (self._next_body + 1) % len(tones)
            tone = tones[self._next_body]
            if tone != self._tones[self._next_body]:
                self._tones[self._next_body] = tone
                body = self._next_body if self._next_body < len(shares) else -1
                self._puppets["torque"].paint({body: colors.rgba(colors.warm(tone / TONES))})
                return True
        return False


class _PathPoints:
    """The tool path as points close together: the one line drawing that takes one command."""

    def __init__(self, client: int, playback: Animation, color: Rgb) -> None:
        path, times = playback.tool_path(), playback.t
        along = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))]
        count = along[-1] / (PATH_STEP * reach(playback.robot))
        even = np.linspace(0.0, along[-1], int(np.clip(count, 2, MOST_POINTS)))
        self._points = np.column_stack([np.interp(even, along, axis) for axis in path.T]).tolist()
        self._times = np.interp(even, along, times)
        faint = [AHEAD * c + (1.0 - AHEAD) * s for c, s in zip(color, SKY, strict=True)]
        self._colors = [[value / 255.0 for value in rgb] for rgb in (faint, color)]
        self._client = client
        self._items: list[int] = []
        self._shown = -1

    def update(self, time: float, *, visible: bool) -> bool:
        """Color the path up to a time [s]; return whether there was anything to do."""
        done = max(1, int(np.searchsorted(self._times, time, side="right"))) if visible else -1
        if done == self._shown:
            return False
        self._shown = done
        if not visible:
            for item in self._items:
                pybullet.removeUserDebugItem(item, physicsClientId=self._client)
            self._items = []
        elif not self._items:
            self._items = [self._draw(0, len(self._points), 2.0), self._draw(1, done, 4.0)]
        else:
            self._items[1] = self._draw(1, done, 4.0, replaceItemUniqueId=self._items[1])
        return True

    def _draw(self, color: int, count: int, size: float, **old: int) -> int:
        """Draw the first points, or replace them; the larger ones behind the tool lie on top."""
        item = pybullet.addUserDebugPoints(
            self._points[:count],
            [self._colors[color]] * count,
            size,
            physicsClientId=self._client,
            **old,
        )
        return int(item)


def _tinted(parts: Sequence[VisualPart], color: Rgb | None, opacity: float) -> list[VisualPart]:
    """Return the parts in one color, or their own, and translucent."""
    return [
        replace(
            part,
            rgba=(*part.rgba[:3], opacity) if color is None else colors.rgba(color, opacity),
        )
        for part in parts
    ]
