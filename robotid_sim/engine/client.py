"""A PyBullet client whose functions need no client number.

The module also captures what the engine prints, for use in error messages.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from robotid_sim.engine.closing import Closeable


class CapturedText:
    """Text that was printed to the C-level stdout and stderr while a block ran."""

    text: str = ""


@contextmanager
def capture_output() -> Iterator[CapturedText]:
    """Redirect file descriptors 1 and 2 into a buffer while the block runs.

    PyBullet prints the reasons of failures only to C stdout and stderr, which Python cannot access.
    """
    captured = CapturedText()
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as buffer:
        try:
            os.dup2(buffer.fileno(), 1)
            os.dup2(buffer.fileno(), 2)
            yield captured
        finally:
            for original, descriptor in zip(saved, (1, 2), strict=True):
                os.dup2(original, descriptor)
                os.close(original)
            buffer.seek(0)
            captured.text = buffer.read().decode(errors="replace").strip()


with capture_output():  # prints its build time
    import pybullet

EngineError: type[Exception] = pybullet.error
"""Exception of PyBullet."""


class EngineClient(Closeable):
    """The names of PyBullet, with functions bound to a client; use it in a ``with`` block.

    Parameters
    ----------
    window_options : str, optional
        Options of PyBullet's window; None for no window. Without a display, PyBullet ends the
        process when it opens the window.
    """

    def __init__(self, window_options: str | None = None) -> None:
        # Bullet prints its options; therefore a client without a window gets none.
        self.number: int = (
            pybullet.connect(pybullet.DIRECT)
            if window_options is None
            else pybullet.connect(pybullet.GUI, options=window_options)
        )

    def __getattr__(self, name: str) -> Any:
        value = getattr(pybullet, name)
        if callable(value) and not isinstance(value, type):
            value = partial(value, physicsClientId=self.number)
        setattr(self, name, value)  # the next access finds the attribute directly
        return value

    def close(self) -> None:
        """Disconnect from the engine."""
        if self.number >= 0:
            pybullet.disconnect(physicsClientId=self.number)
            vars(self).clear()  # another client may soon get this number
            self.number = -1
