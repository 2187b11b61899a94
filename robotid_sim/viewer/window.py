"""The viewer's window: a process of its own, because PyBullet ends the process with the window.

A window manager closes a window that it does not know how to ask by cutting its connection to the
display, upon which the X library ends the process; so does a display that goes away.
"""

import contextlib
import os
import pickle
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, JointState
from robotid_sim.viewer.billboards import LIGHT, SKY, Billboard, WindowCamera, look
from robotid_sim.viewer.camera import Camera, Margins
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.display import exit_at_once
from robotid_sim.viewer.joint_panel import JointPanel
from robotid_sim.viewer.playback_controls import PlaybackControls
from robotid_sim.viewer.timeline import Timeline
from robotid_sim.viewer.view_settings import ViewSettings
from robotid_sim.viewer.window_content import WindowContent
from robotid_sim.viewer.window_events import WindowEvents

with captured_output():  # prints its build time
    import pybullet

OPENED, CLOSED, FAILED = "opened", "closed", "failed"
"""What the process tells its parent."""

FOV = 90.0
"""Field of view of PyBullet's window [deg]."""

TICK = 1.0 / 60.0
UPDATE_EVERY = 1.0 / 30.0
"""Time between commands that take the window a frame [s]: panel, time line, path, color in turn."""
UNIT = 1.25
"""Pixels per unit of the cards."""
EDGE = 12
"""Distance of the cards from the edges of the window [pixels]."""


@dataclass(frozen=True, slots=True, eq=False)
class ViewerInput:
    """Everything that the window needs to know."""

    playbacks: tuple[Animation, ...]
    models: Mapping[str, Robot]
    view: ViewSettings
    speed: float = 1.0
    loop: bool = False


class ViewerWindow:
    """The window and everything in it.

    Parameters
    ----------
    show : ViewerInput
        What is shown.
    folder : Path
        For textures, as long as the window is open.
    """

    def __init__(self, show: ViewerInput, folder: Path) -> None:
        first = show.playbacks[0]
        self._player = PlaybackControls(
            first.start,
            first.end,
            layers=show.view.layers,
            camera=show.view.camera,
            speed=show.speed,
            loop=show.loop,
        )
        sky = zip(("red", "green", "blue"), SKY, strict=True)
        background = " ".join(f"--background_color_{name}={value / 255.0}" for name, value in sky)
        size = f"--width={show.view.width} --height={show.view.height}"
        self._client = pybullet.connect(pybullet.GUI, options=f"{size} {background}")
        exit_at_once()  # again, for the display's libraries have asked for clean-up by now
        for flag in (
            pybullet.COV_ENABLE_GUI,
            pybullet.COV_ENABLE_KEYBOARD_SHORTCUTS,
            pybullet.COV_ENABLE_MOUSE_PICKING,
            pybullet.COV_ENABLE_RENDERING,
        ):
            self._configure(flag, 0)
        pybullet.configureDebugVisualizer(
            lightPosition=[10.0 * value for value in LIGHT], physicsClientId=self._client
        )
        self._stage = WindowContent(
            self._client,
            show.playbacks,
            show.models,
            folder,
            masses="inertia" in show.view.layers,
        )
        self._panel = JointPanel(first, UNIT, _legend(show))
        self._strip = Timeline(self._player, UNIT)
        self._panel_card = Billboard(self._client, self._panel.draw(first.at(first.start)), folder)
        self._strip_card = Billboard(self._client, self._strip.draw(), folder)
        self._placed: tuple[WindowCamera, bool] | None = None
        self._strip_box = (0.0, 0.0, 1.0, 1.0)
        self._updated = 0.0
        self._panel_shown: tuple[object, ...] | None = None
        self._strip_shown: tuple[object, ...] | None = None
        self._updates = deque([self._update_panel, self._update_strip, *self._stage.updates()])
        self._inputs = WindowEvents(self._client, self._player, self._share_at)
        self._tick()
        self._configure(pybullet.COV_ENABLE_RENDERING, 1)

    def run(self) -> None:
        """Play until the window is closed or the parent process is gone."""
        parent, last = os.getppid(), time.perf_counter()
        while not self._player.closed and os.getppid() == parent:
            if not pybullet.isConnected(self._client):  # escape closes it by itself
                return
            now = time.perf_counter()
            self._player.advance(now - last)
            self._inputs.read(now)
            self._tick()
            last = now
            time.sleep(max(0.0, TICK - (time.perf_counter() - now)))
        pybullet.disconnect(physicsClientId=self._client)

    def _tick(self) -> None:
        """Bring everything in the window up to date."""
        player = self._player
        sample = self._stage.playback.at(player.time)
        self._stage.pose(sample, player.layers)
        view = WindowCamera.read(self._client)
        if view is not None:
            if player.new_view:
                view = self._take_view(view) or view
                player.new_view = False
            self._place_cards(view)
        now = time.perf_counter()
        if now - self._updated < UPDATE_EVERY:
            return
        for update in list(self._updates):
            self._updates.rotate(-1)
            if update(sample, player.layers):
                self._updated = now
                break  # one at a time, for each takes the window a frame

    def _update_panel(self, sample: JointState, layers: set[str]) -> bool:
        shown = (sample.t, self._player.state)
        if shown == self._panel_shown or "panel" not in layers:
            return False
        self._panel_shown = shown
        self._panel_card.update(self._panel.draw(sample, self._player.state))
        return True

    def _update_strip(self, _: JointState, layers: set[str]) -> bool:
        player = self._player
        pixel = round(player.share * self._strip.size[0])
        shown = (pixel, player.loop, player.camera, frozenset(layers))
        if shown == self._strip_shown:
            return False
        self._strip_shown = shown
        self._strip_card.update(self._strip.draw())
        return True

    def _take_view(self, view: WindowCamera) -> WindowCamera | None:
        """Look from the player's direction, so that the whole motion is in the free space."""
        below = (self._strip.size[1] + 2.0 * EDGE) / view.height
        aside = (self._panel.size[0] + 2.0 * EDGE) / view.width
        margins = Margins(left=min(aside, 0.4), right=0.03, top=0.04, bottom=min(below, 0.4))
        camera = Camera.fitted(
            self._stage.points,
            self._player.camera,
            view.width,
            view.height,
            fov=FOV,
            margins=margins,
        )
        look(self._client, camera.distance, camera.yaw, camera.pitch, camera.target)
        return WindowCamera.read(self._client)

    def _place_cards(self, view: WindowCamera) -> None:
        """Keep the cards in their corners of the window while the camera moves."""
        on = "panel" in self._player.layers
        if self._placed is not None and not view.moved(self._placed[0]) and on == self._placed[1]:
            return
        self._placed = view, on
        width, height = self._strip.size
        shrink = min(1.0, (view.width - 2.0 * EDGE) / width)
        left, top = 0.5 * (view.width - shrink * width), view.height - EDGE - shrink * height
        self._strip_box = (left, top, shrink * width, shrink * height)
        self._strip_card.place(view, left, top, shrink)
        if on:
            self._panel_card.place(view, EDGE, EDGE, shrink)
        else:
            self._panel_card.hide()

    def _share_at(self, x: float, y: float) -> float | None:
        left, top, width, height = self._strip_box
        return self._strip.share_at((x - left) / width, (y - top) / height)

    def _configure(self, flag: int, value: int) -> None:
        pybullet.configureDebugVisualizer(flag, value, physicsClientId=self._client)


def main() -> None:
    """Open the window on what the parent process sends, and say how it went."""
    # PyBullet writes to descriptors 1 and 2; the parent hears of us by a copy of descriptor 1.
    words = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stderr = os.fdopen(os.dup(2), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    exit_at_once()
    show = pickle.load(sys.stdin.buffer)
    try:
        with tempfile.TemporaryDirectory() as folder:
            window = ViewerWindow(show, Path(folder))
            print(OPENED, file=words, flush=True)
            with contextlib.suppress(pybullet.error):  # the window was closed between two calls
                window.run()
    except RobotIdError as error:
        print(f"{FAILED} {error}", file=words, flush=True)
    else:
        print(CLOSED, file=words, flush=True)


def _legend(show: ViewerInput) -> list[tuple[str, Rgb]]:
    notes = []
    if len(show.playbacks) > 1:
        marks = (colors.PATH, colors.GHOST)
        notes += [(p.name, c) for p, c in zip(show.playbacks, marks, strict=False)]
    if len(show.models) > 1:
        names = enumerate(show.models)
        notes += [(name, colors.model_color(name, k)) for k, name in names]
    return notes
