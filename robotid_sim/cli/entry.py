"""The program: what runs before the command line is loaded."""

import importlib.util
import io
import os
import platform
import re
import signal
import sys
from pathlib import Path

from robotid_sim.signals import ENDING, SAFE_PATH, Interrupt, end_at_signals

CORETYPE = "OPENBLAS_CORETYPE"
"""The variable that tells OpenBLAS which kernels to take."""

KERNELS, NEEDED = "Haswell", {"avx2", "fma"}
"""Kernels of OpenBLAS for all x86-64 processors since 2013, and the instructions that they have."""

NEWEST = (0, 3, 33)
"""The newest OpenBLAS that can work with them on all of those processors.

The next one, of NumPy 2.5, cuts matrices on AMD's Zen 4 and 5 as for AVX-512, whichever kernels it
was told to take, and those then write beyond their stack (its issues 6013 and 6021).
"""


def common_kernels() -> dict[str, str]:
    """Return the setting by which OpenBLAS works on this processor as on others.

    By default it takes the kernels of the processor. Those of another one sum in another order, and
    then the search for a motion ends elsewhere: a seed would not give the same digits there. Who
    has set the variable has chosen; an OpenBLAS that is not known keeps its kernels.
    """
    if CORETYPE in os.environ or not processor_flags() >= NEEDED:
        return {}
    versions = [openblas_of(package) for package in ("numpy", "scipy")]
    if any(version is None or version > NEWEST for version in versions):
        return {}
    return {CORETYPE: KERNELS}


def openblas_of(package: str) -> tuple[int, ...] | None:
    """Return the version of the OpenBLAS that the wheel of a package brings, without loading it.

    None of a package that was built elsewhere: it may load any.
    """
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return None
    try:
        configuration = Path(found.origin).with_name("__config__.py").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r"OpenBLAS (\d+)\.(\d+)\.(\d+)", configuration)
    return tuple(int(part) for part in match.groups()) if match else None


def processor_flags() -> set[str]:
    """Return the instructions of an x86-64 processor on Linux; none are known of others."""
    if platform.machine() != "x86_64":
        return set()
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next((set(line.split()) for line in lines if line.startswith("flags")), set())
    except OSError:
        return set()


CHILDREN = {SAFE_PATH: "1", "NUMBA_CACHE_DIR": "", "NUMBA_CACHE_LOCATOR_CLASSES": ""}
"""What keeps the working folder from being a source of code: Python puts it on the path of modules,
and a file of Numba in it may name another cache of compiled code."""


def entry() -> None:
    """Run as a program.

    While modules load, a signal that ends programs does so at once: nothing is begun then, and
    libraries turn the exception into errors of their own. From the first step of a command on it is
    an exception, and after `GRACE` the end; once the command is done it ends the program again.
    """
    open_streams()
    end_at_signals()
    os.environ.update(common_kernels())
    for name, value in CHILDREN.items():
        os.environ.setdefault(name, value)
    from robotid_sim.cli.app import main

    code = main()
    for number in ENDING:  # nobody is left to take an exception
        if isinstance(signal.getsignal(number), Interrupt):
            signal.signal(number, signal.SIG_DFL)
    exec("")  # "python -m" ends by SIGINT where an exception of it left the text executed last
    sys.exit(code)


def open_streams() -> None:
    """Let streams that are closed lead nowhere, and characters that a locale lacks be replaced.

    A file would be opened in the place of a closed one otherwise, and be written into.
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
