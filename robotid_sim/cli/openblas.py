"""The kernels of OpenBLAS, which are chosen when NumPy loads it."""

import importlib.util
import os
import platform
import re
from pathlib import Path

CORETYPE_VARIABLE = "OPENBLAS_CORETYPE"
"""Variable that sets the kernels of OpenBLAS."""

KERNELS, NEEDED_INSTRUCTIONS = "Haswell", {"avx2", "fma"}
"""Kernels of OpenBLAS for all x86-64 processors since 2013, and the instructions that they need."""

MAX_VERSION = (0, 3, 33)
"""The newest OpenBLAS in which these kernels work on all of those processors.

The next one, of NumPy 2.5, divides matrices into blocks for AVX-512 on AMD's Zen 4 and 5, whichever
kernels are set, and kernels without AVX-512 then write beyond their stack (its issues 6013 and
6021).
"""


def common_kernels() -> dict[str, str]:
    """Return the setting with which OpenBLAS computes the same digits on all processors.

    By default OpenBLAS takes kernels for the processor. Different kernels sum in different order,
    so that a search for a motion may find another one: a seed would not give the same digits on
    another processor. A variable that the user has set is not changed, nor are the kernels of an
    unknown OpenBLAS.
    """
    if CORETYPE_VARIABLE in os.environ or not processor_flags() >= NEEDED_INSTRUCTIONS:
        return {}
    versions = [openblas_of(package) for package in ("numpy", "scipy")]
    if any(version is None or version > MAX_VERSION for version in versions):
        return {}
    return {CORETYPE_VARIABLE: KERNELS}


def openblas_of(package: str) -> tuple[int, ...] | None:
    """Return the version of the OpenBLAS that the wheel of a package brings, without loading it.

    None for a package that is not from a wheel: its OpenBLAS is unknown.
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
    """Return the instructions of an x86-64 processor on Linux; empty elsewhere."""
    if platform.machine() != "x86_64":
        return set()
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next((set(line.split()) for line in lines if line.startswith("flags")), set())
    except OSError:
        return set()
