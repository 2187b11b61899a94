"""Keeping what the engine prints away from the terminal, and at hand for messages."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


class Captured:
    """Text that was printed to the C-level stdout and stderr while a block ran."""

    text: str = ""


@contextmanager
def captured_output() -> Iterator[Captured]:
    """Redirect file descriptors 1 and 2 into a buffer while the block runs.

    PyBullet prints to C stdout and stderr at import and at load, where Python cannot see it, and
    gives the reason of a failure nowhere else.
    """
    captured = Captured()
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
