"""One BLAS thread: the bits of LAPACK depend on the number of threads, and small QRs are faster."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run a block, or a decorated function, on one BLAS thread."""
    with threadpool_limits(1):
        yield
