"""The signals that end a program, and processes that end with their parent."""

import os
import signal
import threading
import time

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

ENDING = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
"""Ctrl-C, what ``kill``, ``timeout`` and schedulers send, and a terminal that is closed."""

LOOKS_AFTER = 0.2
"""Time between two looks at the parent [s]."""


def end_with_parent(parent: int) -> None:
    """End this process when its parent has ended, however that ended.

    A process whose parent is killed becomes the child of another one; pipes that it reads may be
    held open by its siblings.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOKS_AFTER)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
