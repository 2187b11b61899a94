"""PyBullet's window: a separate process, because PyBullet ends the process with the window.

A window manager closes such a window by disconnecting it from the display; the X library then ends
the process, as it does when the display disappears.
"""

import contextlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from robotid_sim.engine.client import EngineClient, EngineError
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.signals import end_with_parent
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.colors import WINDOW_SKY_COLOR
from robotid_sim.viewer.display import skip_exit_handlers
from robotid_sim.viewer.view_settings import WINDOW_LAYERS, ViewSettings
from robotid_sim.viewer.window_scene import WindowScene

OPENED, CLOSED, FAILED = "opened", "closed", "failed"
"""Reports of the process to its parent."""

TICK_TIME = 1.0 / 60.0
"""Time between two states [s]."""

HIDDEN_PREVIEWS = ("RGB_BUFFER", "DEPTH_BUFFER", "SEGMENTATION_MARK")
"""Previews of PyBullet's GUI that the window does not have."""

MAX_SPEED = 4.0
"""Upper end of the speed slider [seconds of motion per second]."""


class PlaybackControls:
    """Controls of the window: time in the motion, speed and layers.

    The motion runs from `start` to `end` [s] and repeats; `layers` are the initial ones,
    `speed` is in seconds of motion per second. In PyBullet only the user can move a slider, so that
    the time slider sets a time and does not follow the motion.
    """

    def __init__(
        self, client: EngineClient, start: float, end: float, layers: Iterable[str], speed: float
    ) -> None:
        self._client, self._start, self._end = client, start, end
        self.time, self.playing = start, True
        # PyBullet omits the first letter; a slider whose lower end exceeds the upper is a button.
        add, shown = client.addUserDebugParameter, set(layers)
        self._time = add(" time [s]", start, end, start)
        self._speed = add(" speed", 0.0, max(MAX_SPEED, speed), speed)
        self._button = add(" play / pause", 1, 0, 0)
        self._switches = {name: add(f" {name}", 0, 1, int(name in shown)) for name in WINDOW_LAYERS}
        self._last = self._read()

    @property
    def layers(self) -> set[str]:
        """Layers whose slider is in its right half."""
        read = self._client.readUserDebugParameter
        return {name for name, slider in self._switches.items() if read(slider) > 0.5}

    def advance(self, seconds: float) -> None:
        """Apply sliders and button, and advance by the elapsed wall-clock time [s].

        A moved time slider sets the time and pauses.
        """
        (time, presses), (last_time, last_presses) = self._read(), self._last
        self._last = (time, presses)
        if time != last_time:
            self.time, self.playing = time, False
        elif presses != last_presses:
            self.playing = not self.playing
        if self.playing:
            speed = self._client.readUserDebugParameter(self._speed)
            elapsed = self.time + seconds * speed - self._start
            self.time = self._start + elapsed % (self._end - self._start)

    def _read(self) -> tuple[float, float]:
        """Read the time of the slider [s], and the number of presses of the button."""
        read = self._client.readUserDebugParameter
        return read(self._time), read(self._button)


@dataclass(frozen=True, slots=True, eq=False)
class WindowInput:
    """Input of the window's process."""

    animations: tuple[Animation, ...]
    models: Mapping[str, Robot]
    settings: ViewSettings
    speed: float = 1.0


def open_window(settings: ViewSettings) -> EngineClient:
    """Open a client with a window that does not yet draw, so that loading is fast."""
    sky = zip(("red", "green", "blue"), WINDOW_SKY_COLOR, strict=True)
    background = " ".join(f"--background_color_{name}={value / 255.0}" for name, value in sky)
    client = EngineClient(f"--width={settings.width} --height={settings.height} {background}")
    skip_exit_handlers()  # again, because the display libraries have registered cleanup
    for name in (*(f"{name}_PREVIEW" for name in HIDDEN_PREVIEWS), "MOUSE_PICKING", "RENDERING"):
        client.configureDebugVisualizer(getattr(client, f"COV_ENABLE_{name}"), 0)
    return client


def play(client: EngineClient, scene: WindowScene, controls: PlaybackControls) -> None:
    """Play until the window is closed or the parent process has ended."""
    client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, 1)
    parent, last = os.getppid(), time.perf_counter()
    while client.isConnected() and os.getppid() == parent:
        before, last = last, time.perf_counter()
        controls.advance(last - before)
        scene.update(scene.animation.state_at(controls.time), controls.layers)
        time.sleep(max(0.0, TICK_TIME - (time.perf_counter() - last)))


def main(parent: int) -> None:
    """Open the window on the input of the parent process, and report the outcome."""
    end_with_parent(parent)
    # PyBullet writes to descriptors 1 and 2; reports to the parent use a copy of descriptor 1.
    reports = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stderr = os.fdopen(os.dup(2), "w", encoding="utf-8")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    skip_exit_handlers()
    content: WindowInput = pickle.load(sys.stdin.buffer)
    first, settings = content.animations[0], content.settings
    try:
        client = open_window(settings)
        scene = WindowScene(client, content.animations, content.models, settings)
        controls = PlaybackControls(client, first.start, first.end, settings.layers, content.speed)
        print(OPENED, file=reports, flush=True)
        with contextlib.suppress(EngineError):  # the window was closed between two calls
            play(client, scene, controls)
            client.close()
    except RobotIdError as error:
        print(f"{FAILED} {error}", file=reports, flush=True)
    else:
        print(CLOSED, file=reports, flush=True)
