"""The program: what runs before the command line is loaded, which takes a while."""

import os
import signal
import sys
from types import FrameType

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
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _End:
    """A handler with a descriptor of its own: libraries are loaded with stderr captured."""

    def __init__(self, stderr: int) -> None:
        self.stderr = stderr

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        os.write(self.stderr, b"robotid: interrupted before any work\n")
        os._exit(INTERRUPTED)
