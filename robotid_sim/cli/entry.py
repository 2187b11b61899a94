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
"""Objects between collections of garbage: modules make many that last, by 700 a tenth of the time
of a short command goes into looking through them."""


def entry() -> None:
    """Run as a program.

    While modules load, a signal that ends programs does so at once: nothing has begun then, and
    libraries convert the exception. From the first step of a command on it is
    an exception, and after `GRACE` the end; once the command is done it ends the program again.
    """
    gc.set_threshold(*LOADING_THRESHOLDS)
    open_streams()
    end_at_signals()
    os.environ.update(common_kernels())
    for name, value in CHILD_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from robotid_sim.cli.app import main

    code = main()
    for number in ENDING_SIGNALS:  # no handler of exceptions is left
        if isinstance(signal.getsignal(number), Interrupt):
            signal.signal(number, signal.SIG_DFL)
    exec("")  # "python -m" ends by SIGINT where an exception of it left the text executed last
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
