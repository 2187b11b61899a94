"""Compilation of numerical kernels by numba, with a disk cache if it can be written."""

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
from numba.core import serialize
from numba.core.typing.templates import signature

F = TypeVar("F", bound=Callable[..., object])

# To return an array Numba calls this Python function, in which a signal handler may raise an
# exception that Numba drops. A cache in C returns without executing Python code.
_unpickle = serialize._numba_unpickle  # noqa: SLF001 - Numba has no other place
if not hasattr(_unpickle, "cache_info"):
    serialize._numba_unpickle = lru_cache(maxsize=None)(_unpickle)  # noqa: SLF001 - the same

types: Any = numba.types
"""Types of compiled code."""

STAMP_ATTRIBUTE = "_source_stamp"
"""Attribute in which numba keeps the stamp of a cache."""

MIN_SAMPLES_PER_THREAD = 2000
"""Smallest batch for a separate thread."""


def jit(function: F) -> F:
    """Compile `function` in nopython mode; cache on disk if possible.

    No fastmath: the same input gives the same bits. Kernels run without the interpreter lock.
    Kernels that call one another must be in one file, because the cache does not notice edits of a
    callee in another file; otherwise use `jit_calling`.
    """
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # neither the package folder nor the home folder is writable
        return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def jit_calling(*modules: ModuleType | Path) -> Callable[[F], F]:
    """Return `jit` for kernels that call kernels of other modules; their edits renew the cache.

    Numba stamps a cache with the source of the kernel only; here the stamp includes the sources of
    the modules. A module that need not be loaded is given by its file. If a version of numba stores
    its stamp elsewhere, nothing is cached.
    """
    files = [getattr(module, "__file__", module) for module in modules]
    sources = [Path(str(file)).read_bytes() for file in files]
    digest = hashlib.sha256(b"".join(sources)).hexdigest()

    def compile_kernel(function: F) -> F:
        kernel = jit(function)
        index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        attributes = getattr(index, "__dict__", {})
        if STAMP_ATTRIBUTE not in attributes:
            return cast(F, numba.njit(nogil=True, error_model="numpy")(function))
        attributes[STAMP_ATTRIBUTE] = (attributes[STAMP_ATTRIBUTE], digest)
        return kernel

    return compile_kernel


def c_functions(library: Path) -> Callable[..., Any]:
    """Load a C library and return a function that makes its functions callable by compiled code.

    The returned function takes a name and the types of result and arguments. Compiled code refers
    to functions by name, so that it can be cached.
    """
    llvmlite.binding.load_library_permanently(str(library))
    make_signature: Callable[..., Any] = signature
    return lambda name, *kinds: types.ExternalFunction(name, make_signature(*kinds))


def run_in_threads(kernel: Callable[[slice], None], samples: int) -> None:
    """Run a kernel on disjoint parts of a batch of independent samples, one thread per core.

    Every sample is computed separately, so the bits do not depend on the number of threads.

    `kernel` takes the slice of the samples to work on.
    """
    count = samples // MIN_SAMPLES_PER_THREAD
    if count > 1:  # querying the cores costs more than a small batch
        count = min(os.cpu_count() or 1, count)
    if count <= 1:
        kernel(slice(0, samples))
        return
    edges = [samples * k // count for k in range(count + 1)]
    parts = [slice(*pair) for pair in pairwise(edges)]
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(kernel, parts))
