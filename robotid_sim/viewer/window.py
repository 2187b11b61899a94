"""PyBullet's window: a process of its own, because PyBullet ends the process with the window.

A window manager closes a window that it does not know how to ask by cutting its connection to the
display, upon which the X library ends the process; so does a display that goes away.
"""

import contextlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from robotid_sim.engine.client import EngineClient, EngineError
from robotid_sim.errors import RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.signals import end_with_parent
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.colors import WINDOW_SKY
from robotid_sim.viewer.display import exit_at_once
from robotid_sim.viewer.playback_controls import PlaybackControls
from robotid_sim.viewer.view_settings import ViewSettings
from robotid_sim.viewer.window_scene import WindowScene

OPENED, CLOSED, FAILED = "opened", "closed", "failed"
"""What the process reports to its parent."""

TICK = 1.0 / 60.0
"""Time between two states [s]."""

HIDDEN = ("RGB_BUFFER", "DEPTH_BUFFER", "SEGMENTATION_MARK")
"""Previews of PyBullet's GUI."""


@dataclass(frozen=True, slots=True, eq=False)
class WindowInput:
    """Everything that the window needs to know."""

    animations: tuple[Animation, ...]
    models: Mapping[str, Robot]
    settings: ViewSettings
    speed: float = 1.0


def open_window(settings: ViewSettings) -> EngineClient:
    """Return a client with a window that draws nothing yet, which makes loading fast."""
    sky = zip(("red", "green", "blue"), WINDOW_SKY, strict=True)
    background = " ".join(f"--background_color_{name}={value / 255.0}" for name, value in sky)
    client = EngineClient(f"--width={settings.width} --height={settings.height} {background}")
    exit_at_once()  # again, for the display's libraries have asked for clean-up by now
    for name in (*(f"{name}_PREVIEW" for name in HIDDEN), "MOUSE_PICKING", "RENDERING"):
        client.configureDebugVisualizer(getattr(client, f"COV_ENABLE_{name}"), 0)
    return client


def play(client: EngineClient, scene: WindowScene, controls: PlaybackControls) -> None:
    """Play until the window is closed or the parent process is gone."""
    client.configureDebugVisualizer(client.COV_ENABLE_RENDERING, 1)
    parent, last = os.getppid(), time.perf_counter()
    while client.isConnected() and os.getppid() == parent:
        before, last = last, time.perf_counter()
        controls.advance(last - before)
        scene.update(scene.animation.at(controls.time), controls.layers)
        time.sleep(max(0.0, TICK - (time.perf_counter() - last)))


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
    show: WindowInput = pickle.load(sys.stdin.buffer)
    first, settings = show.animations[0], show.settings
    try:
        client = open_window(settings)
        scene = WindowScene(client, show.animations, show.models, settings)
        controls = PlaybackControls(client, first.start, first.end, settings.layers, show.speed)
        print(OPENED, file=words, flush=True)
        with contextlib.suppress(EngineError):  # the window was closed between two calls
            play(client, scene, controls)
            client.close()
    except RobotIdError as error:
        print(f"{FAILED} {error}", file=words, flush=True)
    else:
        print(CLOSED, file=words, flush=True)
