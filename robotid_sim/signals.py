"""The signals that end a program, and processes that end with their parent."""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

SIGNAL_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

ENDING_SIGNALS = tuple(getattr(signal, name) for name in SIGNAL_NAMES if hasattr(signal, name))
"""Signals of Ctrl-C, of ``kill``, ``timeout`` and schedulers, and of a closed terminal."""

SAFE_PATH_VARIABLE = "PYTHONSAFEPATH"
"""Variable that keeps the working folder out of the module path of a new process."""

PARENT_CHECK_INTERVAL = 0.2
"""Time between two checks of the parent [s]."""

RESEND_DELAY = 1e-3
"""Delay of the repetition of a signal that arrived where an exception would do harm [s]."""

UNPICKLE_FUNCTION = "_numba_unpickle"
"""A function of Numba that compiled code calls, and whose exceptions it drops."""

LLVM_MODULE = "llvmlite.binding."
"""Modules that own allocations of the compiler, and free them twice after an exception."""

GRACE_TIME = 1.8
"""Time for a command to clean up [s]; a design writes its best result in 1.3 s."""


@contextmanager
def postpone_signals() -> Iterator[None]:
    """Postpone signals that end the program until the block has ended.

    Blocking them in this thread is not sufficient: another thread receives them, and Python still
    runs their handlers in the main thread. Only the main thread can be interrupted and set
    handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    handled = {n: h for n, h in handlers.items() if h not in (signal.SIG_IGN, None)}
    try:
        for number in handled:
            signal.signal(number, lambda number, _frame: received.append(number))
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)


def end_with_parent(parent: int) -> None:
    """End this process when its parent has ended for any reason.

    A process whose parent is killed becomes the child of another one; pipes that it reads may be
    held open by its siblings.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_at_signals() -> None:
    """Make signals end the process immediately with a message; ignored signals remain ignored."""
    if sys.stderr:
        end = _End(os.dup(sys.stderr.fileno()))
        for number in ENDING_SIGNALS:
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                signal.signal(number, end)


def let_signals_raise() -> None:
    """Turn signals into an exception, for a command that must clean up."""
    handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    ends = {number: end for number, end in handlers.items() if isinstance(end, _End)}
    if ends:
        # Ends the process `GRACE_TIME` after a signal, even if its main thread is busy;
        # Python writes the number of the signal, before it calls a handler.
        end = next(iter(ends.values()))
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

        def watch() -> None:
            number = 0
            while number not in ENDING_SIGNALS:
                number = os.read(reader, 1)[0]
            time.sleep(GRACE_TIME)
            end.end(number, "in the middle of a step; files that were written by then are complete")

        threading.Thread(target=watch, daemon=True).start()
        interrupt = Interrupt()
        sys.unraisablehook = interrupt.again_if_dropped
        for number in ends:
            signal.signal(number, interrupt)


def last_signal() -> int | None:
    """Return the signal that ended this command."""
    for number in ENDING_SIGNALS:
        handler = signal.getsignal(number)
        if isinstance(handler, Interrupt):
            return handler.number
    return None


def interrupt_exit_code() -> int:
    """Return the exit code of a command that was interrupted: 128 and the signal."""
    return 128 + (last_signal() or signal.SIGINT)


class _End:
    """Handler with its own file descriptor, because stderr is captured while libraries load."""

    def __init__(self, stderr: int) -> None:
        self.stderr = stderr

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self.end(number, "before any work")

    def end(self, number: int, when: str) -> NoReturn:
        """Print a line and end the process."""
        try:
            os.write(self.stderr, f"robotid: interrupted {when}\n".encode())
        finally:  # nobody reads it if the terminal was closed
            os._exit(128 + number)


class Interrupt:
    """Handler that raises once, so that cleanup is not interrupted again.

    A signal during a compiled function is sent again when the function has ended: to return its
    first array Numba calls a Python function, in which a pending signal is handled, and ignores
    exceptions there: the caller would get a SystemError. The same applies to the compiler: an
    exception between a call of LLVM and the record of who owns its result causes memory to be freed
    twice.
    """

    number: int | None = None
    """Number of the received signal."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.number is not None:
            return
        if _is_exception_lost(frame):
            _send_again(number)
        else:
            self.number = number
            warnings.simplefilter("ignore")  # warnings of libraries about unfinished work
            raise KeyboardInterrupt

    def again_if_dropped(self, dropped: "sys.UnraisableHookArgs") -> None:
        """Handle again a signal whose exception Python dropped; an ``unraisablehook``.

        Functions that are called when an object is deleted have no caller that could get it.
        """
        number = self.number
        if number is None or not issubclass(dropped.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(dropped)
        else:
            self.number = None
            _send_again(number)


def _is_exception_lost(frame: FrameType | None) -> bool:
    """Return whether a compiled function, the compiler or the unraisable hook is on the stack."""
    # On a busy machine a signal is sent again before the hook has returned.
    hook = Interrupt.again_if_dropped.__code__
    while frame is not None:
        module, code = frame.f_globals.get("__name__") or "", frame.f_code
        if code is hook or code.co_name == UNPICKLE_FUNCTION or module.startswith(LLVM_MODULE):
            return True
        frame = frame.f_back
    return False


def _send_again(number: int) -> None:
    """Send the main thread a signal after a short delay.

    A signal raised by another thread would not interrupt it in a call that sleeps or waits.
    """

    def send() -> None:
        if sys.platform == "win32":
            signal.raise_signal(number)
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, number)

    timer = threading.Timer(RESEND_DELAY, send)
    timer.daemon = True
    timer.start()
