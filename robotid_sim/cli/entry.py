"""The program: start-up before the command line is loaded."""

import gc
import io
import os
import signal
import sys

from robotid_sim.cli.openblas import common_kernels
from robotid_sim.signals import ENDING_SIGNALS, SAFE_PATH_VARIABLE, Interrupt, end_at_signals

CHILD_ENVIRONMENT = {
    SAFE_PATH_VARIABLE: "1",
    "NUMBA_CACHE_DIR": "",
    "NUMBA_CACHE_LOCATOR_CLASSES": "",
}
"""Environment without code from the working folder: Python would add it to the module path, and a
file of Numba in it may name another cache of compiled code."""

LOADING_THRESHOLDS = (20_000, 20, 20)
"""Thresholds of garbage collection: modules create many lasting objects, and with the default of
700 a short command spends a tenth of its time on them."""


def entry() -> None:
    """Run as a program.

    While modules load, a signal ends the program at once: no work has begun, and libraries would
    convert an exception. While a command runs, it raises an exception, and ends the program after
    `GRACE_TIME`; once the command is done, it again ends the program at once.
    """
    gc.set_threshold(*LOADING_THRESHOLDS)
    open_streams()
    end_at_signals()
    os.environ.update(common_kernels())
    for name, value in CHILD_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from robotid_sim.cli.app import main

    code = main()
    for number in ENDING_SIGNALS:  # no code handles an exception from here on
        if isinstance(signal.getsignal(number), Interrupt):
            signal.signal(number, signal.SIG_DFL)
    exec("")  # resets the flag by which "python -m" ends by SIGINT after a KeyboardInterrupt
    sys.exit(code)


def open_streams() -> None:
    """Redirect closed streams to nowhere, and replace characters that a locale cannot encode.

    Otherwise a file could be opened in place of a closed stream and be overwritten.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
