"""One BLAS thread: the bits of LAPACK depend on the number of threads, and small QRs are faster."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run a block, or a decorated function, on one BLAS thread."""
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> ThreadpoolController:
    """Return the libraries with threads; cached, because the search takes 3 ms."""
    return ThreadpoolController()
