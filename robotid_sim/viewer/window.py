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

from robotid_sim.engine.client import EngineClient, EngineError
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.signals import end_with_parent
from robotid_sim.viewer.animation import Animation, JointState
from robotid_sim.viewer.billboards import FOV, LIGHT, Billboard, look, window_camera
from robotid_sim.viewer.camera import Camera, Margins
from robotid_sim.viewer.colors import WINDOW_SKY
from robotid_sim.viewer.display import exit_at_once
from robotid_sim.viewer.joint_curves import JointCurves
from robotid_sim.viewer.joint_panel import JointPanel, legend
from robotid_sim.viewer.playback_controls import PlaybackControls
from robotid_sim.viewer.timeline import Timeline
from robotid_sim.viewer.view_settings import ViewSettings
from robotid_sim.viewer.window_content import Update, WindowContent
from robotid_sim.viewer.window_events import WindowEvents
from robotid_sim.viewer.window_title import set_title

OPENED, CLOSED, FAILED = "opened", "closed", "failed"
"""What the process reports to its parent."""

TICK = 1.0 / 60.0
UPDATE_EVERY = 1.0 / 30.0
"""Time between commands that take the window a frame [s]: panel, time line, path, color in turn."""
UNIT = 1.25
"""Pixels per unit of panel and time line."""
EDGE = 12
"""Their distance from the edges of the window [pixels]."""


@dataclass(frozen=True, slots=True, eq=False)
class ViewerInput:
    """Everything that the window needs to know."""

    animations: tuple[Animation, ...]
    models: Mapping[str, Robot]
    settings: ViewSettings
    speed: float = 1.0
    loop: bool = False


class ViewerWindow:
    """The window and everything in it; `folder` holds textures as long as it is open."""

    def __init__(self, show: ViewerInput, folder: Path) -> None:
        first, settings = show.animations[0], show.settings
        self._controls = PlaybackControls(
            first.start, first.end, settings=settings, speed=show.speed, loop=show.loop
        )
        self._controls.joint = settings.joint_of(first.robot)
        client = self._client = _open_window(settings)
        masses = "inertia" in settings.layers
        self._content = WindowContent(client, show.animations, show.models, folder, masses=masses)
        compared = show.models if len(show.models) > 1 else {}
        notes = legend(show.animations, compared)
        contacts, self._compared = self._content.contacts, len(show.animations) > 1
        self._panel = JointPanel(first, UNIT, notes, contacts)
        self._curves = JointCurves(first, UNIT, compared, show.animations[1:])
        self._timeline = Timeline(self._controls, UNIT, contacts.spans())
        state = first.at(first.start)
        self._panel_board = Billboard(client, self._panel.draw(state), folder)
        self._curves_board = Billboard(client, self._curves.draw(first.start, 0), folder)
        self._timeline_board = Billboard(client, self._timeline.draw(), folder)
        self._timeline_box, self._updated = (0.0, 0.0, 1.0, 1.0), 0.0
        self._drawn: dict[str, object] = {}
        boards = (self._update_panel, self._update_curves, self._update_timeline)
        self._updates: deque[Update] = deque([*boards, *self._content.updates()])
        self._events = WindowEvents(client, self._controls, self._share_at)
        self._tick()
        set_title(f"{first.robot.name}: {first.name}")  # before the robot can be seen
        client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, 1)

    def run(self) -> None:
        """Play until the window is closed or the parent process is gone."""
        parent, last = os.getppid(), time.perf_counter()
        while not self._controls.closed and os.getppid() == parent:
            if not self._client.isConnected():  # escape closes it by itself
                return
            now = time.perf_counter()
            self._controls.advance(now - last)
            self._events.read(now)
            self._tick()
            last = now
            time.sleep(max(0.0, TICK - (time.perf_counter() - now)))
        self._client.close()

    def _tick(self) -> None:
        """Bring everything in the window up to date."""
        controls = self._controls
        state = self._content.animation.at(controls.time)
        self._content.pose(state, controls.layers)
        camera = window_camera(self._client)
        if camera is not None:
            if controls.new_view:
                camera = self._fit_camera(camera) or camera
                controls.new_view = False
            self._follow_camera(camera)
        now = time.perf_counter()
        if now - self._updated < UPDATE_EVERY:
            return
        for update in list(self._updates):
            self._updates.rotate(-1)
            if update(state, controls.layers):
                self._updated = now
                break  # one at a time, for each takes the window a frame

    def _changed(self, what: str, state: object) -> bool:
        """Return whether something looks other than it was drawn last, and note its new state."""
        changed = self._drawn.get(what) != state
        self._drawn[what] = state
        return changed

    def _update_panel(self, state: JointState, layers: set[str]) -> bool:
        note = self._controls.state
        named = self._compared or bool(layers & {"inertia", "curves"})
        if "panel" not in layers or not self._changed("panel", (state.t, note, named)):
            return False
        self._panel_board.update(self._panel.draw(state, note, legend=named))
        return True

    def _update_curves(self, state: JointState, layers: set[str]) -> bool:
        joint = self._controls.joint
        if "curves" not in layers or not self._changed("curves", (state.t, joint)):
            return False
        self._curves_board.update(self._curves.draw(state.t, joint))
        return True

    def _update_timeline(self, _: JointState, layers: set[str]) -> bool:
        controls = self._controls
        pixel = round(controls.share * self._timeline.size[0])
        looks = (pixel, controls.loop, controls.camera, frozenset(layers))
        if not self._changed("timeline", looks):
            return False
        self._timeline_board.update(self._timeline.draw())
        return True

    def _fit_camera(self, camera: Camera) -> Camera | None:
        """Look from the chosen direction, so that the whole motion is in the free space."""
        width, height = camera.width, camera.height
        below = (self._timeline.size[1] + 2.0 * EDGE) / height
        aside = (self._panel.size[0] + 2.0 * EDGE) / width
        margins = Margins(left=min(aside, 0.4), right=0.03, top=0.04, bottom=min(below, 0.4))
        name, points = self._controls.camera, self._content.points
        fitted = Camera.fitted(points, name, width, height, fov=FOV, margins=margins)
        look(self._client, fitted.distance, fitted.yaw, fitted.pitch, fitted.target)
        return window_camera(self._client)

    def _follow_camera(self, camera: Camera) -> None:
        """Keep panel, curves and time line in their places in the window, and ghosts behind."""
        layers = self._controls.layers
        boards = [("panel", self._panel_board), ("curves", self._curves_board)]
        shown = [board for name, board in boards if name in layers]
        view = (camera.width, camera.height, camera.yaw, camera.pitch, *camera.eye, len(shown))
        if not self._changed("places", view):
            return
        self._content.stand_back(camera)
        shrink = min(1.0, (camera.width - 2.0 * EDGE) / self._timeline.size[0])
        width, height = (shrink * side for side in self._timeline.size)
        left, top = 0.5 * (camera.width - width), camera.height - EDGE - height
        self._timeline_box = (left, top, width, height)
        self._timeline_board.place(camera, left, top, shrink)
        below = float(EDGE)
        for _, board in boards:
            if board in shown:
                board.place(camera, EDGE, below, shrink)
                below += shrink * board.size[1] + EDGE
            else:
                board.hide()

    def _share_at(self, x: float, y: float) -> float | None:
        left, top, width, height = self._timeline_box
        return self._timeline.share_at((x - left) / width, (y - top) / height)


def _open_window(settings: ViewSettings) -> EngineClient:
    """Return a client with an empty window that draws nothing yet."""
    sky = zip(("red", "green", "blue"), WINDOW_SKY, strict=True)
    background = " ".join(f"--background_color_{name}={value / 255.0}" for name, value in sky)
    client = EngineClient(f"--width={settings.width} --height={settings.height} {background}")
    exit_at_once()  # again, for the display's libraries have asked for clean-up by now
    for name in ("GUI", "KEYBOARD_SHORTCUTS", "MOUSE_PICKING", "RENDERING"):
        client.configureDebugVisualizer(getattr(client, f"COV_ENABLE_{name}"), 0)
    client.configureDebugVisualizer(lightPosition=[10.0 * value for value in LIGHT])
    return client


def main(parent: int) -> None:
    """Open the window on what the parent process sends, and say how it went."""
    end_with_parent(parent)
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
            with contextlib.suppress(EngineError):  # the window was closed between two calls
                window.run()
    except RobotIdError as error:
        print(f"{FAILED} {error}", file=words, flush=True)
    else:
        print(CLOSED, file=words, flush=True)
