"""Run the work of a campaign in local processes, whose death is handled, or on a Dask cluster."""

import asyncio
import ctypes
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from joblib import parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from robotid_sim.errors import OptionError
from robotid_sim.parallel import Item, Result, begin_worker, each_task, keep_workers

LOCAL_CLUSTER = "local"
"""The cluster of processes of this machine."""

_log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Largest number of attempts of work whose process dies."""


@contextmanager
def send_work(cluster: str | None, workers: int | None) -> Iterator[int]:
    """Send the work of the context to processes and yield their number.

    `cluster` is ``local`` or the address of a Dask scheduler, by default processes of joblib.
    `workers` is the number of local processes, by default one per core. Raises `OptionError` if
    Dask is not installed or no scheduler answers.
    """
    count = workers or os.cpu_count() or 1
    if cluster is None:
        with keep_workers():
            yield count
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise OptionError(
            "--cluster needs Dask's distributed: pip install 'robotid_sim[cluster]'"
        ) from error
    if cluster == LOCAL_CLUSTER:
        # The campaign reports relevant events of processes itself.
        logging.getLogger("distributed").propagate = False
        options = {"threads_per_worker": 1, "dashboard_address": None, "preload": [__name__]}
        with LocalCluster(n_workers=count, silence_logs=logging.ERROR, **options) as local:
            with Client(local), parallel_config(backend="dask"):
                try:
                    yield count
                finally:
                    local.sync(_kill_workers, local.workers.values())
        return
    try:
        client = Client(cluster, timeout=10)
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler answers at --cluster {cluster}: {error}") from error
    with client, parallel_config(backend="dask"):
        yield max(1, sum(client.nthreads().values()))


async def _kill_workers(workers: Iterable[Any]) -> None:
    """Kill Dask processes, because an orderly shutdown takes seconds, or longer during work."""
    closing = [worker.close(timeout=0.1) for worker in workers]
    await asyncio.gather(*closing, return_exceptions=True)  # may time out on a busy machine


def retry_each(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    store: Callable[[Item, Result | None], None],
) -> None:
    """Pass the result of every item to `store`; None if its process died `MAX_ATTEMPTS` times.

    After the death of a process, all running items are repeated; the last attempt of each runs
    alone. An exception of an item ends the work. `function` runs in other processes, see
    `each_task`; `store` is called in this one.
    """
    waiting, attempts = dict(enumerate(items)), dict.fromkeys(range(len(items)), 0)
    while waiting:
        suspect = next((k for k in waiting if attempts[k] == MAX_ATTEMPTS - 1), None)
        numbers = list(waiting) if suspect is None else [suspect]

        def take(
            place: int, result: Result | None, error: Exception | None, numbers: Any = numbers
        ) -> None:
            if error is not None:
                raise error
            store(waiting.pop(numbers[place]), result)

        try:
            tasks = [waiting[k] for k in numbers]
            each_task(function, tasks, workers, take, apart=True, batch_size="auto")
        except worker_errors() as error:
            _log.warning("a process died (%s); its work is repeated", error)
            remaining = [k for k in numbers if k in waiting]
            for number in remaining[:workers]:  # the running items are among the first
                attempts[number] += 1
                if attempts[number] >= MAX_ATTEMPTS:
                    store(waiting.pop(number), None)


def worker_errors() -> tuple[type[Exception], ...]:
    """Return the errors raised by the death of a process."""
    dask = sys.modules.get("distributed.scheduler")  # loaded only if there is a cluster
    dask_errors = () if dask is None else (dask.KilledWorker,)
    return (TerminatedWorkerError, BrokenProcessPool, *dask_errors)


def dask_setup(_worker: Any) -> None:
    """Ignore Ctrl-C, which the parent handles, and end with the parent."""
    begin_worker(os.getppid())


class TimeLimitError(BaseException):
    """The time limit was exceeded; not an `Exception`, so that no other code handles it."""


@contextmanager
def limit_seconds(seconds: float | None) -> Iterator[None]:
    """Raise `TimeLimitError` in the context after `seconds` [s]; None for no limit.

    The exception is raised between two Python instructions, after a library call has returned.
    Signals would work in main threads only, but tasks of a cluster run in other threads.
    """
    if seconds is None:
        yield
        return
    thread, over = threading.get_ident(), threading.Event()

    def end() -> None:
        over.set()
        exception = ctypes.py_object(TimeLimitError)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:  # compiled code may convert the exception
        if over.is_set():
            raise TimeLimitError from error
        raise
    finally:
        timer.cancel()
        timer.join()
        # A late exception must not be raised after the context.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
