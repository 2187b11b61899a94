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
    """Ctrl-C, with the work done until then.

    A task that catches KeyboardInterrupt may raise it with what it has; `map_tasks` raises it with
    the results of all tasks that have one, in order.
    """

    def __init__(self, results: Sequence[Any]) -> None:
        super().__init__("interrupted")
        self.results = list(results)


def no_progress(share: float) -> None:
    """Report progress to nobody."""


_keeping: list[None] = []
"""As many entries as blocks of `keep_workers` that are open."""

AHEAD_WORKERS = 2
"""Processes for the work of `run_ahead`, which leave further cores to current work."""

LEAK_FILTER = "ignore:resource_tracker"
"""Option of Python against the warnings of a tracker of files that others shall remove."""

Outputs = Generator[tuple[int, Any, Exception | None], None, None]

_ahead: list[Outputs] = []
"""Results of `run_ahead` that have not been collected."""

_begun: list[None] = []
"""Not empty if processes were begun since the last ones ended."""


@contextmanager
def keep_workers() -> Iterator[None]:
    """Let the processes of one `map_tasks` serve the next ones within the block, to save time.

    They take some seconds to start, for they load and compile what their tasks need.
    """
    _keeping.append(None)
    try:
        yield
    finally:
        _keeping.pop()
        if not _keeping:
            _end_workers()


def run_ahead(work: Callable[[], Result], workers: int) -> Callable[[], Result]:
    """Begin ``work()`` in another process and return a function that waits for its result.

    With one worker, outside `keep_workers`, within a worker or with another backend of joblib it
    runs here, when its result is asked for.

    The work is pickled: a function of a module, or a `functools.partial` of one. Waiting returns
    its result, or raises what it raised.
    """
    if workers < 2 or not _keeping or _is_in_worker() or not _is_default_backend():
        return partial(_alone, _call_task, work)
    with _processes(), postpone_signals(), _unheard():
        parallel = Parallel(AHEAD_WORKERS, return_as="generator_unordered", max_nbytes=None)
        outputs: Outputs = parallel([delayed(_run_numbered)((), _call_task, 0, work)])
        _ahead.append(outputs)  # a signal that has waited comes next

    def wait() -> Result:
        if outputs not in _ahead:  # the processes have ended since
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
    """Return ``function(task)`` of every task, in the order of the tasks.

    Every task runs on one BLAS thread, in this process too, so that the bits of the results do not
    depend on `workers`. Inside a worker all tasks run serially. A ``joblib.parallel_config`` around
    the call sends the tasks to another backend, such as a cluster.

    With more than one worker, started afresh unless within `keep_workers`, function and tasks are
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
            raise errors[min(errors)]  # the first by its task, not by the clock
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
    """Run ``function(task)`` of every task and give each result away when it is there.

    Processes are as for `map_tasks`. `take` is called in this process, in the order in which tasks
    end, with the number of the task and its result, or None and the exception that it raised; what
    it raises ends all. `going` is asked before every further task. With `apart` a single task goes
    to one of several workers, too, so that this process outlives one that dies. Tasks that are
    short are given in batches (``auto``: as many as take 0.2 s to 2 s), for to send and take them
    costs as much.
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
            except Exception as error:  # a task may raise anything; the caller decides
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
    """Return whether this is a worker already: of this pool, or of a cluster."""
    return multiprocessing.parent_process() is not None or get_active_backend()[0].nesting_level > 0


def _is_default_backend() -> bool:
    """Return whether no other backend was chosen around the call."""
    return isinstance(get_active_backend()[0], LokyBackend)


def _processes() -> parallel_config:
    """Return the block within which joblib runs tasks in the processes of this pool."""
    _begun.append(None)
    options = {"inner_max_num_threads": 1, "initializer": begin_worker}
    return parallel_config(backend="loky", initargs=(os.getpid(), list_plugins()), **options)


@contextmanager
def _unheard() -> Iterator[None]:
    """Begin processes that ignore the signals of a terminal to its process group.

    Workers leave it to the parent as soon as they can, and before that would die with a traceback,
    as they do where the parent goes before it has told them their task: signals to it wait. A
    tracker of joblib's files that dies is missed by the next one. Trackers remove what a killed
    parent left, and do not say so. None of them takes modules from the working folder.
    """
    safe = os.environ.get(SAFE_PATH_VARIABLE)
    os.environ[SAFE_PATH_VARIABLE] = "1"
    sent_to_all = set(ENDING_SIGNALS) - {signal.SIGTERM}
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, sent_to_all)
    sys.warnoptions.append(LEAK_FILTER)  # processes are begun with these
    try:
        for tracker in (resource_tracker, loky_tracker):
            tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, sent_to_all)  # trackers let them through again
        yield
    finally:
        sys.warnoptions.remove(LEAK_FILTER)
        if safe is None:
            del os.environ[SAFE_PATH_VARIABLE]
        else:
            os.environ[SAFE_PATH_VARIABLE] = safe
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)


def _end_workers() -> None:
    if not _begun:  # others of the program are left alone
        return
    _begun.clear()
    with _silence_end():
        while _ahead:
            outputs = _ahead.pop()
            with suppress(_UnneededResult):
                outputs.throw(_UnneededResult())
        # They have no task whose result is wanted, and take a second to end by themselves.
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


@contextmanager
def _silence_end() -> Iterator[None]:
    """Silence loky's thread where it is stopped with a task that it has not yet received.

    It forgets all tasks then, looks for that one the next moment and ends with a KeyError, after it
    has killed the processes.
    """
    say = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        ours = args.thread is not None and args.thread.name == "ExecutorManagerThread"
        if not (ours and args.exc_type is KeyError):
            say(args)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = say


def _collect(
    function: Callable[[Item], Result],
    tasks: Sequence[Item],
    workers: int,
    take: Take[Result],
    going: Callable[[], bool],
    batch_size: BatchSize,
) -> None:
    # A killed run loses only the batches at work, and after an error no further ones begin.
    options = {"batch_size": batch_size, "pre_dispatch": workers, "max_nbytes": None}
    parallel = Parallel(workers, return_as="generator_unordered", **options)
    work = delayed(partial(_run_numbered, list_plugins()))
    numbered = (work(function, k, task) for k, task in enumerate(tasks) if going())
    outputs: Outputs | None = None
    try:
        with postpone_signals(), _unheard():
            outputs = parallel(numbered)
        for number, result, error in outputs:
            take(number, result, error)
    except BaseException as stop:
        if outputs is not None:
            outputs.throw(stop)  # ends the workers, which closing the generator would warn of
        raise


class _UnneededResult(Exception):
    pass


def _run_numbered(
    plugins: Sequence[str], function: Callable[[Item], Result], number: int, task: Item
) -> tuple[int, Result | None, Exception | None]:
    try:
        load_plugins(plugins)  # of a pool that did not begin with them
        return number, _alone(function, task), None
    except Exception as error:  # a task may raise anything; the caller raises it again
        error.add_note(f"In a worker:\n{format_exc()}")
        return number, None, error


def _alone(function: Callable[[Item], Result], task: Item) -> Result:
    """Run a task on one BLAS thread, with the libraries that its module has loaded by now."""
    with one_blas_thread():
        return function(task)


def begin_worker(parent: int, plugins: Sequence[str] = ()) -> None:
    """Leave signals of the terminal to the parent, end with it, and load its plugins."""
    for number in set(ENDING_SIGNALS) - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    end_with_parent(parent)
    load_plugins(plugins)
