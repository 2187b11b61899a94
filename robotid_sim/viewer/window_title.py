"""The title of PyBullet's window, which PyBullet itself does not let one choose."""

import os
import sys
from collections.abc import Iterator
from typing import Any

THEIRS = "Bullet Physics"
"""How the title begins that PyBullet gives its window."""


def set_title(title: str) -> None:
    """Give PyBullet's window a title where the display is an X server; elsewhere do nothing."""
    if not sys.platform.startswith("linux") or not os.environ.get("DISPLAY"):
        return
    # Imported here: only a window needs it, and it is installed on Linux only.
    from Xlib.display import Display
    from Xlib.error import DisplayError, XError

    try:
        display = Display()
        try:
            for window in _windows(display.screen().root):
                if str(window.get_wm_name() or "").startswith(THEIRS):
                    window.set_wm_name(title)
            display.sync()
        finally:
            display.close()
    except (DisplayError, XError, OSError):  # a title is not worth a window
        return


def _windows(window: Any) -> Iterator[Any]:
    """Give a window of the X server and all below it; a window manager puts frames around."""
    yield window
    for child in window.query_tree().children:
        yield from _windows(child)
