"""MuJoCo's window on a display of our own: the robot is in it and moves."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from virtual_display import difference, screenshot, virtual_display, wait_for

SCRIPT = """
import sys
for name in ("pybullet", "pybullet_data", "pybullet_utils"):
    sys.modules[name] = None
from robotid_sim.cli.app import main
sys.exit(main(["view", "irb140"]))
"""

OPENING = 120.0
"""Longest wait for the window on a busy machine [s]."""


def orange(picture) -> int:
    """Return how many pixels have about the color of the arm."""
    pixels = np.asarray(picture.convert("RGB"), dtype=int)
    return int((pixels[..., 0] - pixels[..., 2] > 80).sum())


@pytest.mark.gui
def test_the_window_shows_the_robot_which_moves() -> None:
    with virtual_display() as display:
        child = subprocess.Popen(
            [sys.executable, "-c", SCRIPT], env=os.environ | {"DISPLAY": display}
        )
        try:
            wait_for(lambda: orange(screenshot(display)) > 2000, OPENING)
            before = screenshot(display)
            time.sleep(2.0)
            assert difference(before, screenshot(display), (0, 0, *before.size)) > 1e-3
            assert child.poll() is None
        finally:
            child.kill()
            child.wait()
