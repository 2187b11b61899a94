"""The window on a display of our own: it plays, pauses, seeks, switches, and closes cleanly."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image
from robots import DATA
from virtual_display import difference, screenshot, virtual_display, wait_for, xdotool

from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.viewer import colors
from robotid_sim.viewer.view_settings import WINDOW_LAYERS

pytestmark = pytest.mark.gui

ARM = (260, 60, 1020, 670)
"""Where the robot is in the window: between PyBullet's panels."""

LEFT, RIGHT = 1051, 1241
"""Ends of the sliders [pixels]."""
TIME, BUTTON = 105, 171
"""Heights of the slider of the time and of the button [pixels]."""
SWITCHES = {name: 215 + 44 * k for k, name in enumerate(WINDOW_LAYERS)}
"""Heights of the sliders of the layers [pixels]."""

TITLE = "Bullet Physics"
OPENING = 180.0
"""Longest wait for the window on a busy machine [s]; it takes 8 s on an idle one."""

MOVED, STILL = 2e-3, 2e-4
"""Share of the pixels that differ when the arm moves, and when it does not."""


def has_sliders(picture: Image.Image) -> bool:
    """Return whether the last of the sliders is there, which come after the robot."""
    y = SWITCHES[WINDOW_LAYERS[-1]]
    return bool(np.ptp(np.asarray(picture.crop((LEFT, y - 8, RIGHT, y + 8)), dtype=int)) > 60)


@contextmanager
def viewer(display: str, *words: object) -> Iterator["subprocess.Popen[str]"]:
    """Start ``robotid view`` and wait until its window shows the robot."""
    program = subprocess.Popen(
        [sys.executable, "-m", "robotid_sim", "view", *map(str, words)],
        env={**os.environ, "DISPLAY": display},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: has_sliders(screenshot(display)) or program.poll() is not None, OPENING)
        assert program.poll() is None, program.stderr.read()
        yield program
    finally:
        if program.poll() is None:
            program.kill()
        program.wait(30.0)
        for pipe in (program.stdout, program.stderr):
            pipe.close()


def ended_cleanly(program: "subprocess.Popen[str]") -> None:
    out, err = program.communicate(timeout=90.0)
    assert (program.returncode, out, err) == (0, "", "")


@pytest.fixture
def display() -> Iterator[str]:
    with virtual_display() as name:
        yield name


def changes(display: str, before: Image.Image, box=ARM, by: float = MOVED) -> None:
    """Wait until a part of the screen differs from a picture."""
    wait_for(lambda: difference(before, screenshot(display), box) > by)


def settles(display: str) -> Image.Image:
    """Wait until nothing moves any more; return the picture."""

    def still() -> Image.Image | None:
        before = screenshot(display)
        time.sleep(1.5)
        after = screenshot(display)
        return after if difference(before, after, (0, 0, 1280, 800)) < STILL else None

    return wait_for(still)


def press_button(display: str) -> None:
    drag(display, 1150, BUTTON, 1150)


def drag(display: str, x: int, y: int, end: int) -> None:
    """Press the mouse button, move along a line, and let go, slowly enough for every frame."""
    middle = (x + end) // 2
    words = ["mousemove", x, y, "sleep", 0.3, "mousedown", 1, "sleep", 0.3, "mousemove", middle, y]
    xdotool(display, *words, "sleep", 0.3, "mousemove", end, y, "sleep", 0.3, "mouseup", 1)


def test_plays_pauses_goes_to_a_time_and_quits(display) -> None:
    with viewer(display, "irb140") as program:
        changes(display, screenshot(display))  # plays
        press_button(display)
        still = settles(display)  # pauses
        drag(display, LEFT, TIME, 1120)
        changes(display, still)
        still = settles(display)
        press_button(display)
        changes(display, still)  # goes on
        xdotool(display, "mousemove", 640, 300, "key", "Escape")
        ended_cleanly(program)


def test_every_log_after_the_first_is_a_ghost_of_its_own_color(display, arm, tmp_path) -> None:
    files = []
    for k, angle in enumerate((0.0, 0.9, -0.9)):
        pose = np.tile([0.5 + angle, 0.4], (50, 1))
        log = Log(
            t=0.02 * np.arange(50),
            q=pose,
            tau_meas=0.0 * pose,
            joint_names=arm.joint_names,
            joint_units=arm.joint_units,
        )
        files += ["--log", tmp_path / f"{k}.h5"]
        save_log(log, files[-1])
    with viewer(display, DATA / "2r.urdf", "--show", "none", *files) as program:
        shown = np.asarray(settles(display).crop(ARM), dtype=int)
        tint = shown - shown.mean(axis=-1, keepdims=True)
        for color in colors.ANIMATION_COLORS[1:3]:
            toward = np.array(color) - np.mean(color)
            along = tint @ toward / np.linalg.norm(toward)
            across = np.linalg.norm(tint, axis=-1)
            assert ((along > 10) & (along > 0.9 * across)).mean() > 4e-3
        xdotool(display, "mousemove", 640, 300, "key", "Escape")
        ended_cleanly(program)


def test_switches_and_the_mouse_change_the_picture(display) -> None:
    with viewer(display, "irb140", "--show", "path") as program:
        press_button(display)
        still = settles(display)
        for layer in ("path", "frames", "inertia", "torque"):
            ends = (RIGHT, LEFT) if layer == "path" else (LEFT, RIGHT)
            drag(display, ends[0], SWITCHES[layer], ends[1])
            changes(display, still, by=5e-4)
            still = settles(display)
        xdotool(display, "mousemove", 640, 300, "keydown", "Control_L")
        drag(display, 640, 300, 740)
        xdotool(display, "keyup", "Control_L")
        changes(display, still)  # the view was turned
        xdotool(display, "key", "Escape")
        ended_cleanly(program)


@pytest.mark.parametrize("how", ["windowclose", "windowkill"])
def test_closing_the_window_is_a_clean_end(display, how) -> None:
    with viewer(display, DATA / "2r.urdf") as program:
        windows = wait_for(lambda: xdotool(display, "search", "--name", TITLE).split())
        xdotool(display, how, windows[-1])
        ended_cleanly(program)


def test_the_window_goes_with_its_program(display) -> None:
    with viewer(display, DATA / "2r.urdf") as program:
        program.kill()
        wait_for(lambda: not xdotool(display, "search", "--name", TITLE))


def test_ctrl_c_closes_the_window(display) -> None:
    with viewer(display, DATA / "2r.urdf") as program:
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=90.0)
        assert program.returncode == 130
        assert "Traceback" not in err
        wait_for(lambda: not xdotool(display, "search", "--name", TITLE))


def test_a_display_that_goes_away_is_a_clean_end() -> None:
    with virtual_display() as name:
        program = viewer(name, DATA / "2r.urdf")
        running = program.__enter__()
    ended_cleanly(running)
    program.__exit__(None, None, None)


def test_a_display_without_opengl_is_one_line_and_exit_2() -> None:
    with virtual_display(opengl=False) as name:
        done = subprocess.run(
            [sys.executable, "-m", "robotid_sim", "view", "irb140"],
            env={**os.environ, "DISPLAY": name},
            capture_output=True,
            text=True,
            timeout=60.0,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "--record" in done.stderr
