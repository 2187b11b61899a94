"""The window on a display of our own: it plays, pauses, scrubs, switches, and closes cleanly."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pybullet
import pytest
from PIL import Image
from robots import DATA
from virtual_display import difference, screenshot, virtual_display, wait_for, xdotool

from robotid_sim.engine.client import EngineClient
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.viewer import colors
from robotid_sim.viewer.billboards import cover, window_camera
from robotid_sim.viewer.playback_controls import KEYS, SWITCHES, PlaybackControls
from robotid_sim.viewer.timeline import Timeline
from robotid_sim.viewer.window_events import WindowEvents, key_name

ARM = (400, 40, 1240, 690)
"""Where the robot is in the window: beside the panel, above the time line."""
PANEL = (14, 14, 290, 290)
STRIP = (190, 690, 1090, 784)

TITLE = "joint sweep"
OPENING = 180.0
"""Longest wait for the window on a busy machine [s]; it takes 4 s on an idle one."""

MOVED, STILL = 2e-3, 2e-4
"""Share of the pixels that differ when the arm moves, and when it does not."""


class Keys:
    """A player, and presses as PyBullet reports them."""

    def __init__(self) -> None:
        self.player = PlaybackControls(0.0, 10.0)
        self.inputs = WindowEvents(None, self.player, lambda x, y: None)

    def take(self, code: int, state: int, now: float = 0.0) -> None:
        self.inputs.take_keys({code: state} if state else {}, now)


DOWN, FIRST, UP = (
    pybullet.KEY_IS_DOWN,
    pybullet.KEY_WAS_TRIGGERED | pybullet.KEY_IS_DOWN,
    pybullet.KEY_WAS_RELEASED,
)


def test_a_window_that_draws_nothing_yet_or_any_more_has_no_camera(monkeypatch) -> None:
    def reported(matrix):
        angles = (0.0, 0.0, 1.0, (0.0, 0.0, 0.0))
        nothing = (None,) * 5
        return lambda physicsClientId: (640, 480, matrix, *nothing, *angles)

    for matrix, seen in ((np.eye(4), True), (np.zeros((4, 4)), False), (np.eye(4) * np.nan, False)):
        monkeypatch.setattr(pybullet, "getDebugVisualizerCamera", reported(matrix.ravel()))
        with EngineClient() as client:
            assert (window_camera(client) is not None) == seen
    monkeypatch.setattr(pybullet, "getDebugVisualizerCamera", lambda physicsClientId: None)
    with EngineClient() as client:
        assert window_camera(client) is None


def test_a_texture_arrives_though_pybullet_loses_commands(monkeypatch, tmp_path) -> None:
    arrived = []

    def lossy(body, link, textureUniqueId, **_):
        lossy.calls += 1
        if lossy.calls > 3:
            arrived.append((body, link, textureUniqueId))

    lossy.calls = 0
    monkeypatch.setattr(pybullet, "changeVisualShape", lossy)
    monkeypatch.setattr(pybullet, "loadTexture", lambda file, physicsClientId: 7)
    with EngineClient() as client:
        assert cover(client, 4, Image.new("RGB", (2, 2)), tmp_path) == 7
    assert set(arrived) == {(4, -1, 7)}


def test_every_key_of_the_help_has_a_code() -> None:
    codes = [key_name(code) for code in (*range(32, 127), *range(65280, 65320))]
    for group in (group for row in KEYS for group in row):
        assert set(group[:-1]) <= set(codes)


def test_capital_letters_mean_the_same() -> None:
    assert key_name(ord("F")) == key_name(ord("f")) == "f"
    assert key_name(pybullet.B3G_SHIFT) is None


def test_a_press_counts_once_however_long_it_is_reported() -> None:
    keys = Keys()
    for state in (FIRST, DOWN, DOWN, UP, 0):
        keys.take(ord(" "), state, now=10.0)
    assert not keys.player.playing
    keys.take(ord(" "), FIRST)
    assert keys.player.playing


def test_a_press_so_short_that_only_its_end_is_seen_counts() -> None:
    keys = Keys()
    keys.take(ord(" "), UP)
    keys.take(ord(" "), 0)
    assert not keys.player.playing


def test_a_held_arrow_repeats_after_a_while_and_a_held_letter_never() -> None:
    keys = Keys()
    keys.player.seek(0.5)
    keys.take(pybullet.B3G_RIGHT_ARROW, FIRST, now=0.0)
    once = keys.player.time
    keys.take(pybullet.B3G_RIGHT_ARROW, DOWN, now=0.1)
    assert keys.player.time == once
    for k in range(30):
        keys.take(pybullet.B3G_RIGHT_ARROW, DOWN, now=0.5 + 0.05 * k)
    assert keys.player.time > once + 0.9
    for k in range(30):
        keys.take(ord("l"), FIRST if k == 0 else DOWN, now=3.0 + k)
    assert keys.player.loop


def test_the_time_line_is_where_it_is_drawn() -> None:
    strip = Timeline(PlaybackControls(0.0, 10.0))
    line = 17.0 / 84.0
    assert strip.share_at(0.5, line) == pytest.approx(0.5)
    assert strip.share_at(0.0, line) == strip.share_at(0.005, line) == 0.0
    assert strip.share_at(1.0, line) == 1.0
    assert strip.share_at(0.5, 0.9) is None  # the keys
    assert strip.share_at(1.2, line) is None
    assert strip.share_at(0.5, -0.1) is None
    assert strip.draw().size == strip.size


def has_knob(picture: Image.Image) -> bool:
    """Return whether the time line is there, which is the last to be drawn."""
    strip = np.asarray(picture.crop(STRIP), dtype=int)
    return bool((np.abs(strip - colors.PATH).max(axis=-1) < 30).sum() > 50)


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
        wait_for(lambda: has_knob(screenshot(display)) or program.poll() is not None, OPENING)
        assert program.poll() is None, program.stderr.read()
        xdotool(display, "mousemove", 700, 300)
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


@pytest.mark.gui
def test_plays_pauses_steps_scrubs_and_quits(display) -> None:
    with viewer(display, "irb140") as program:
        changes(display, screenshot(display))  # plays
        xdotool(display, "key", "space")
        still = settles(display)  # pauses
        for _ in range(3):
            xdotool(display, "key", "Up")
            time.sleep(0.5)
        changes(display, still)  # scrubs by keys
        changes(display, still, PANEL)
        still = settles(display)
        xdotool(display, "mousemove", 420, 704, "click", 1)
        changes(display, still)  # scrubs by the time line
        changes(display, still, STRIP)
        still = settles(display)
        xdotool(display, "mousemove", 700, 300, "key", "space")
        changes(display, still)  # goes on
        xdotool(display, "key", "q")
        ended_cleanly(program)


@pytest.mark.gui
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
        for color in colors.ANIMATIONS[1:3]:
            toward = np.array(color) - np.mean(color)
            along = tint @ toward / np.linalg.norm(toward)
            across = np.linalg.norm(tint, axis=-1)
            assert ((along > 15) & (along > 0.95 * across)).mean() > 2e-3
        xdotool(display, "key", "q")
        ended_cleanly(program)


@pytest.mark.gui
def test_switches_and_cameras_change_the_picture(display) -> None:
    with viewer(display, "irb140", "--show", "panel,path") as program:
        xdotool(display, "key", "space")
        still = settles(display)
        places = {"h": PANEL, "g": PANEL, "x": STRIP}  # nothing touches yet
        for key in [*SWITCHES, "1", "2", "3"]:
            xdotool(display, "key", key)
            changes(display, still, STRIP, by=1e-4)
            changes(display, still, places.get(key, ARM), by=1e-4 if key == "x" else 5e-4)
            still = settles(display)
        xdotool(display, "mousemove", 700, 300, "mousedown", 1)
        for x in range(700, 820, 20):
            time.sleep(0.1)
            xdotool(display, "mousemove", x, 320)
        xdotool(display, "mouseup", 1)
        changes(display, still)  # the view was turned
        xdotool(display, "key", "Escape")
        ended_cleanly(program)


@pytest.mark.gui
@pytest.mark.parametrize("how", ["windowclose", "windowkill"])
def test_closing_the_window_is_a_clean_end(display, how) -> None:
    with viewer(display, DATA / "2r.urdf") as program:
        windows = wait_for(lambda: xdotool(display, "search", "--name", TITLE).split())
        xdotool(display, how, windows[-1])
        ended_cleanly(program)


@pytest.mark.gui
def test_the_window_goes_with_its_program(display) -> None:
    with viewer(display, DATA / "2r.urdf") as program:
        program.kill()
        wait_for(lambda: not xdotool(display, "search", "--name", TITLE))


@pytest.mark.gui
def test_ctrl_c_closes_the_window(display) -> None:
    with viewer(display, DATA / "2r.urdf") as program:
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=90.0)
        assert program.returncode == 130
        assert "Traceback" not in err
        wait_for(lambda: not xdotool(display, "search", "--name", TITLE))


@pytest.mark.gui
def test_a_display_that_goes_away_is_a_clean_end() -> None:
    with virtual_display() as name:
        program = viewer(name, DATA / "2r.urdf")
        running = program.__enter__()
    ended_cleanly(running)
    program.__exit__(None, None, None)


@pytest.mark.gui
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
