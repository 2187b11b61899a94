"""The kernels of OpenBLAS, which are chosen when NumPy loads it."""

import importlib.util
import os
import platform
import re
from pathlib import Path

CORETYPE_VARIABLE = "OPENBLAS_CORETYPE"
"""Variable that sets the kernels of OpenBLAS."""

KERNELS, NEEDED = "Haswell", {"avx2", "fma"}
"""Kernels of OpenBLAS for all x86-64 processors since 2013, and the instructions that they have."""

MAX_VERSION = (0, 3, 33)
"""The newest OpenBLAS that can work with them on all of those processors.

The next one, of NumPy 2.5, cuts matrices on AMD's Zen 4 and 5 as for AVX-512, whichever kernels
are set, and those then write beyond their stack (its issues 6013 and 6021).
"""


def common_kernels() -> dict[str, str]:
    """Return the setting by which OpenBLAS works on this processor as on others.

    By default it takes the kernels of the processor. Those of another one sum in another order, and
    then the search for a motion ends elsewhere: a seed would not give the same digits there. Who
    has set the variable has chosen; an OpenBLAS that is not known keeps its kernels.
    """
    if CORETYPE_VARIABLE in os.environ or not processor_flags() >= NEEDED:
        return {}
    versions = [openblas_of(package) for package in ("numpy", "scipy")]
    if any(version is None or version > MAX_VERSION for version in versions):
        return {}
    return {CORETYPE_VARIABLE: KERNELS}


def openblas_of(package: str) -> tuple[int, ...] | None:
    """Return the version of the OpenBLAS that the wheel of a package brings, without loading it.

    None of a package that was built elsewhere: it may load any.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    try:
        configuration = Path(spec.origin).with_name("__config__.py").read_text(encoding="utf-8")
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
