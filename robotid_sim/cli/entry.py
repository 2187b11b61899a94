"""The program: what runs before the command line is loaded, which takes a while."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""Exit code at Ctrl-C."""


def entry() -> None:
    """Run as a program.

    While modules load, Ctrl-C ends the process at once: nothing is begun then, and libraries turn
    the exception into errors of their own. From the first step of a command on it is an exception.
    """
    end_at_interrupts()
    from robotid_sim.cli.app import main

    sys.exit(main())


def end_at_interrupts() -> None:
    """Make Ctrl-C end the process at once, with a line that says so."""
    if sys.stderr and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _End(os.dup(sys.stderr.fileno())))


def let_interrupts_raise() -> None:
    """Make Ctrl-C an exception again, for a command that has something to put in order."""
    if isinstance(signal.getsignal(signal.SIGINT), _End):
        signal.signal(signal.SIGINT, raise_outside_of_compiled_code)


def raise_outside_of_compiled_code(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; from within a compiled function, where it has been called.

    To return arrays Numba calls a function in Python, which is where a signal of the time before is
    handled, and takes no notice of exceptions there: the caller would get a SystemError.
    """
    within = frame
    while within is not None and within.f_code.co_name != "_numba_unpickle":
        within = within.f_back
    caller = within and within.f_back
    if caller is None:
        signal.default_int_handler(number, frame)
    else:
        caller.f_trace = _raise_here
        sys.settrace(_trace_nothing)  # events of `caller`, which has its own function, come with it


def _raise_here(_frame: FrameType, _event: str, _arg: object) -> NoReturn:
    sys.settrace(None)
    raise KeyboardInterrupt


def _trace_nothing(_frame: FrameType, _event: str, _arg: object) -> None:
    return None


class _End:
    """A handler with a descriptor of its own: libraries are loaded with stderr captured."""

    def __init__(self, stderr: int) -> None:
        self.stderr = stderr

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        os.write(self.stderr, b"robotid: interrupted before any work\n")
        os._exit(INTERRUPTED)
