"""A limit of the time of a block, in any thread."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class LateError(BaseException):
    """A block took too long; no part of the program takes it for an error of its own."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise `LateError` in the block when it has taken so long [s]; None for no limit.

    The exception comes between two steps of Python, after a call of a library has returned; signals
    would do the same in main threads only, and tasks of a cluster run in others.
    """
    if seconds is None:
        yield
        return
    thread, over = threading.get_ident(), threading.Event()

    def end() -> None:
        over.set()
        exception = ctypes.py_object(LateError)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:  # compiled code turns the exception into one of its own
        if over.is_set():
            raise LateError from error
        raise
    finally:
        timer.cancel()
        timer.join()
        # What came too late for the block must not come after it.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
