"""The one process pool: ordered results that do not depend on the number of processes."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from traceback import format_exc
from typing import Any, Literal, TypeVar, cast

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from joblib.parallel import LokyBackend, get_active_backend

from robotid_sim.errors import OptionError
from robotid_sim.plugins import list_plugins, load_plugins
from robotid_sim.progress import Portion
from robotid_sim.signals import (
    ENDING_SIGNALS,
    SAFE_PATH_VARIABLE,
    end_with_parent,
    postpone_signals,
)
from robotid_sim.threads import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

BatchSize = int | Literal["auto"]

Take = Callable[[int, Result | None, Exception | None], None]
"""Callback with the number of a task and its result, or None and its exception."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the results available by then.

    A task that catches KeyboardInterrupt may raise it with its partial result; `map_tasks` raises
    it with the results of all tasks that have one, in order.
    """

    def __init__(self, results: Sequence[Any]) -> None:
        super().__init__("interrupted")
        self.results = list(results)


def no_progress(share: float) -> None:
    """Report progress to nobody."""


_keeping: list[None] = []
"""One entry for every open block of `keep_workers`."""

AHEAD_WORKERS = 2
"""Number of processes for `run_ahead`, which leaves other cores to current work."""

LEAK_FILTER = "ignore:resource_tracker"
"""Python option that silences the resource tracker about files that other processes remove."""

Outputs = Generator[tuple[int, Any, Exception | None], None, None]

_ahead: list[Outputs] = []
"""Results of `run_ahead` that have not been collected."""

_begun: list[None] = []
"""Not empty if processes were started since the last ones ended."""


@contextmanager
def keep_workers() -> Iterator[None]:
    """Reuse the processes of `map_tasks` within the block, to save time.

    They take some seconds to start, because they load and compile the code of their tasks.
    """
    _keeping.append(None)
    try:
        yield
    finally:
        _keeping.pop()
        if not _keeping:
            _end_workers()


def run_ahead(work: Callable[[], Result], workers: int) -> Callable[[], Result]:
    """Start ``work()`` in another process and return a function that waits for its result.

    With one worker, outside `keep_workers`, within a worker or with another backend of joblib it
    runs in this process, when its result is requested.

    The work is pickled: a function of a module, or a `functools.partial` of one. Waiting returns
    its result or raises its exception.
    """
    if workers < 2 or not _keeping or _is_in_worker() or not _is_default_backend():
        return partial(_alone, _call_task, work)
    with _processes(), postpone_signals(), _ignore_terminal_signals():
        parallel = Parallel(AHEAD_WORKERS, return_as="generator_unordered", max_nbytes=None)
        outputs: Outputs = parallel([delayed(_run_numbered)((), _call_task, 0, work)])
        _ahead.append(outputs)  # a pending signal is delivered next

    def wait() -> Result:
        if outputs not in _ahead:  # the processes have ended in the meantime
            return _alone(_call_task, work)
        ((_, result, error),) = outputs
        _ahead.remove(outputs)
        if error is not None:
            raise error
        return cast("Result", result)

    return wait


def _call_task(work: Callable[[], Result]) -> Result:
    return work()


def map_tasks(
    function: Callable[[Item], Result],
    tasks: Sequence[Item],
    workers: int = 1,
    progress: Callable[[Portion], None] = no_progress,
) -> list[Result]:
    """Compute ``function(task)`` for every task, in the order of the tasks.

    Every task runs on one BLAS thread, in this process too, so that the bits of the results do not
    depend on `workers`. Inside a worker all tasks run serially. A ``joblib.parallel_config`` around
    the call sends the tasks to another backend, such as a cluster.

    With more than one worker, newly started unless within `keep_workers`, function and tasks are
    pickled: a function of a module, or a `functools.partial` of one. `progress` is called in this
    process with the tasks done. Raises `Interrupted` at Ctrl-C, after the processes have ended, and
    `OptionError` if `workers` is not positive.
    """
    if workers < 1:
        raise OptionError(f"the number of workers must be at least 1, got {workers}")
    results: dict[int, Result] = {}
    errors: dict[int, Exception] = {}

    def take(number: int, result: Result | None, error: Exception | None) -> None:
        if error is None:
            results[number] = cast("Result", result)
        else:
            errors[number] = error
        if errors and all(k in results for k in range(min(errors))):
            raise errors[min(errors)]  # the first in the order of tasks, not in time
        if error is None:
            progress(Portion(len(results), len(tasks)))

    try:
        each_task(function, tasks, workers, take, going=lambda: not errors)
    except KeyboardInterrupt as interrupt:
        partial = interrupt.results if isinstance(interrupt, Interrupted) else []
        raise Interrupted([*_sort_results(results), *partial]) from interrupt
    return _sort_results(results)


def each_task(
    function: Callable[[Item], Result],
    tasks: Sequence[Item],
    workers: int,
    take: Take[Result],
    *,
    going: Callable[[], bool] = lambda: True,
    apart: bool = False,
    batch_size: BatchSize = 1,
) -> None:
    """Run ``function(task)`` for every task and pass on each result as soon as it is ready.

    Processes are as for `map_tasks`. `take` is called in this process, in the order in which tasks
    end, with the number of the task and its result, or None and its exception; an exception of
    `take` ends all tasks. No task starts after `going` returns false. With `apart` even a single
    task runs in a worker, so that this process survives if the worker dies. Tasks that are short
    are given in batches (``auto``: as many as take 0.2 s to 2 s), because sending and receiving a
    task takes as long.
    """
    if workers < 1:
        raise OptionError(f"the number of workers must be at least 1, got {workers}")
    count = min(workers, len(tasks) + apart)
    if count <= 1 or _is_in_worker():
        for number, task in enumerate(tasks):
            if not going():
                break
            try:
                result = _alone(function, task)
            except Exception as error:  # a task may raise any exception; the caller decides
                take(number, None, error)
            else:
                take(number, result, None)
        return
    work = (function, tasks, count, take, going, batch_size)
    if not _is_default_backend():
        _collect(*work)
        return
    try:
        with _processes(), _silence_end():
            _collect(*work)
    except BaseException:
        _end_workers()
        raise
    if not _keeping:
        _end_workers()


def _sort_results(results: dict[int, Result]) -> list[Result]:
    return [results[number] for number in sorted(results)]


def _is_in_worker() -> bool:
    """Return whether this process is a worker of this pool or of a cluster."""
    return multiprocessing.parent_process() is not None or get_active_backend()[0].nesting_level > 0


def _is_default_backend() -> bool:
    """Return whether no other backend was chosen around the call."""
    return isinstance(get_active_backend()[0], LokyBackend)


def _processes() -> parallel_config:
    """Return the context in which joblib runs tasks in the processes of this pool."""
    _begun.append(None)
    options = {"inner_max_num_threads": 1, "initializer": begin_worker}
    return parallel_config(backend="loky", initargs=(os.getpid(), list_plugins()), **options)


@contextmanager
def _ignore_terminal_signals() -> Iterator[None]:
    """Start processes that ignore the signals of a terminal to its process group.

    A worker that is not yet set up would die with a traceback at a signal, or if the parent ended
    before sending its task; therefore signals to the parent are delayed. A dead tracker of joblib's
    files would cause warnings of the next one. Trackers silently remove the files of a killed
    parent. None of them imports modules from the working folder.
    """
    safe = os.environ.get(SAFE_PATH_VARIABLE)
    os.environ[SAFE_PATH_VARIABLE] = "1"
    sent_to_all = set(ENDING_SIGNALS) - {signal.SIGTERM}
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, sent_to_all)
    sys.warnoptions.append(LEAK_FILTER)  # processes start with these
    try:
        for tracker in (resource_tracker, loky_tracker):
            tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, sent_to_all)  # trackers unblock them again
        yield
    finally:
        sys.warnoptions.remove(LEAK_FILTER)
        if safe is None:
            del os.environ[SAFE_PATH_VARIABLE]
        else:
            os.environ[SAFE_PATH_VARIABLE] = safe
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _end_workers() -> None:
    if not _begun:  # other processes of the program are not touched
        return
    _begun.clear()
    with _silence_end():
        while _ahead:
            outputs = _ahead.pop()
            with suppress(_UnneededResult):
                outputs.throw(_UnneededResult())
        # No result of their tasks is needed, and they would take a second to end by themselves.
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


@contextmanager
def _silence_end() -> Iterator[None]:
    """Silence loky's thread if it is stopped with a task that it has not yet received.

    It then forgets all tasks, looks up that task and ends with a KeyError, after killing the
    processes.
    """
    old_hook = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        is_loky = args.thread is not None and args.thread.name == "ExecutorManagerThread"
        if not (is_loky and args.exc_type is KeyError):
            old_hook(args)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = old_hook


def _collect(
    function: Callable[[Item], Result],
    tasks: Sequence[Item],
    workers: int,
    take: Take[Result],
    going: Callable[[], bool],
    batch_size: BatchSize,
) -> None:
    # A killed run loses only the running batches, and after an error no further ones start.
    options = {"batch_size": batch_size, "pre_dispatch": workers, "max_nbytes": None}
    parallel = Parallel(workers, return_as="generator_unordered", **options)
    work = delayed(partial(_run_numbered, list_plugins()))
    numbered = (work(function, k, task) for k, task in enumerate(tasks) if going())
    outputs: Outputs | None = None
    try:
        with postpone_signals(), _ignore_terminal_signals():
            outputs = parallel(numbered)
        for number, result, error in outputs:
            take(number, result, error)
    except BaseException as stop:
        if outputs is not None:
            outputs.throw(stop)  # ends the workers; closing the generator would give a warning
        raise


class _UnneededResult(Exception):
    pass


def _run_numbered(
    plugins: Sequence[str], function: Callable[[Item], Result], number: int, task: Item
) -> tuple[int, Result | None, Exception | None]:
    try:
        load_plugins(plugins)  # of a pool that was not started with them
        return number, _alone(function, task), None
    except Exception as error:  # a task may raise any exception; the caller raises it again
        error.add_note(f"In a worker:\n{format_exc()}")
        return number, None, error


def _alone(function: Callable[[Item], Result], task: Item) -> Result:
    """Run a task on one BLAS thread, including BLAS libraries that its module has loaded by now."""
    with one_blas_thread():
        return function(task)


def begin_worker(parent: int, plugins: Sequence[str] = ()) -> None:
    """Leave signals of the terminal to the parent, end with it, and load its plugins."""
    for number in set(ENDING_SIGNALS) - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    end_with_parent(parent)
    load_plugins(plugins)
