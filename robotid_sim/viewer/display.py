"""Check for a display on which PyBullet's window can draw."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable

from robotid_sim.engine.engines import is_installed
from robotid_sim.errors import MissingExtraError, OptionError

DISPLAY_TOKEN = "robotid-display-works"
"""Token of a child process that opened a window; its return code is not reliable.

Without a display PyBullet ends the whole process with code 1, on an X server without OpenGL with
code 0.
"""

DISPLAY_TIMEOUT = 30.0  # [s]


def is_display_variable_set() -> bool:
    """Return whether DISPLAY is set; True on other systems than Linux, which do not need it."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY"))


def is_display_available(timeout: float = DISPLAY_TIMEOUT) -> bool:
    """Return whether a child process could open PyBullet's window."""
    return is_display_variable_set() and DISPLAY_TOKEN in child_output(try_display, timeout)


def child_output(function: Callable[[], None], timeout: float) -> str:
    """Run a function in a child process and return its output; empty if it hangs."""
    name = function.__name__
    command = (
        f"from robotid_sim.signals import end_with_parent; end_with_parent({os.getpid()}); "
        f"from {function.__module__} import {name}; {name}()"
    )
    try:
        process = subprocess.run(
            [sys.executable, "-P", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.decode(errors="replace")


def is_pybullet_installed() -> bool:
    """Return whether PyBullet, whose window shows motions, is installed."""
    return is_installed("pybullet")


def require_pybullet() -> None:
    """Raise `MissingExtraError` unless PyBullet is installed."""
    if not is_pybullet_installed():
        raise MissingExtraError(
            "a window for motions needs PyBullet: pip install pybullet; `robotid view` shows logs, "
            "trajectories and results in a browser"
        )


def require_display() -> None:
    """Raise unless there are PyBullet and a display with OpenGL.

    Raises `MissingExtraError` without PyBullet; `OptionError`, with the remedy, without a display.
    """
    require_pybullet()
    if not is_display_available():
        raise OptionError(no_display_message())


def no_display_message() -> str:
    """Compose the message for a missing display."""
    name = os.environ.get("DISPLAY")
    state = f"DISPLAY is '{name}'" if name else "DISPLAY is not set"
    return (
        f"no display with OpenGL ({state}); `robotid view --record FILE.png`, .gif or .mp4 renders "
        "without a display, and --web shows it in a browser"
    )


def try_display() -> None:
    """Open a small window and print the token; for the child process."""
    import pybullet

    skip_exit_handlers()
    if pybullet.connect(pybullet.GUI, options="--width=64 --height=64") >= 0:
        print(f"\n{DISPLAY_TOKEN}", flush=True)  # noqa: T201 - the parent reads it
        pybullet.disconnect()


def skip_exit_handlers() -> None:
    """Make a later ``exit`` of C skip all cleanup that libraries have registered so far.

    PyBullet and the X library call ``exit`` in the thread of the window. HDF5 then waits for
    Python's lock, which the main thread holds while it waits for the window: a deadlock.
    """
    if sys.platform != "win32":
        libc = ctypes.CDLL(None)
        libc["__cxa_atexit"](ctypes.cast(libc["_exit"], ctypes.c_void_p), None, None)
