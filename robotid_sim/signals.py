"""The signals that end a program, and processes that end with their parent."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

ENDING = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
"""Ctrl-C, what ``kill``, ``timeout`` and schedulers send, and a terminal that is closed."""

SAFE_PATH = "PYTHONSAFEPATH"
"""Variable that keeps the working folder off the path of modules of a new process."""

LOOKS_AFTER = 0.2
"""Time between two looks at the parent [s]."""


@contextmanager
def postponed() -> Iterator[None]:
    """Let signals that end the program come when the block has ended.

    To block them in this thread would not do: another one takes them, and Python runs their
    handlers in the main thread all the same. Only that one can be interrupted, and set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING}
    heard = {n: handler for n, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in heard:
            signal.signal(number, lambda number, _frame: came.append(number))
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


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
