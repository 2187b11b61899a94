"""A display of our own for the tests of the window: Xvfb, with or without OpenGL."""

import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from PIL import Image, ImageGrab

WAIT = 90.0  # [s]


@contextmanager
def virtual_display(*, opengl: bool = True) -> Iterator[str]:
    """Start an X server on a free number; give its name, such as ``:3``."""
    read, write = os.pipe()
    server = subprocess.Popen(
        [
            *("Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24"),
            *("+extension" if opengl else "-extension", "GLX", "-nolisten", "tcp"),
            # A server starts anew when its last client leaves, as after a screenshot, and refuses
            # those who knock meanwhile.
            "-noreset",
        ],
        pass_fds=(write,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        ready, _, _ = select.select([read], [], [], WAIT)
        number = os.read(read, 16).decode().strip() if ready else ""
        if not number:
            raise RuntimeError("Xvfb did not start")
        yield f":{number}"
    finally:
        os.close(read)
        server.terminate()
        server.wait(WAIT)


def screenshot(display: str) -> Image.Image:
    """Return what the display shows."""
    return ImageGrab.grab(xdisplay=display).convert("RGB")


def difference(a: Image.Image, b: Image.Image, box: tuple[int, int, int, int]) -> float:
    """Return the share of pixels in a box that differ visibly between two pictures."""
    first, second = (np.asarray(i.crop(box), dtype=int) for i in (a, b))
    return float((np.abs(first - second).max(axis=-1) > 12).mean())


def xdotool(display: str, *words: object) -> str:
    """Run xdotool on the display and return what it says."""
    done = subprocess.run(
        ["xdotool", *map(str, words)],
        env={**os.environ, "DISPLAY": display},
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )
    return done.stdout


def wait_for(condition, timeout: float = WAIT):
    """Return the first truthy answer of a condition, or fail."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.1)
    raise AssertionError("waited too long")
