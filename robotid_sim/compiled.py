"""Compilation of numerical kernels by numba, with a disk cache where one can be written."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def jit(function: F) -> F:
    """Compile `function` in nopython mode; cache on disk if possible.

    No fastmath and no threads: the same input gives the same bits. Kernels that call one another
    belong in one file, because the cache does not see edits in a callee of another file.
    """
    try:
        return cast(F, numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # neither the package folder nor the home folder can be written
        return cast(F, numba.njit(error_model="numpy")(function))
