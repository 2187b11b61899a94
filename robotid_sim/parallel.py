"""The one process pool: ordered results that do not depend on the number of processes."""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from robotid_sim.errors import OptionError

Item = TypeVar("Item")
Result = TypeVar("Result")


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


def map_tasks(
    function: Callable[[Item], Result],
    tasks: Sequence[Item],
    workers: int = 1,
    progress: Callable[[float], None] = no_progress,
) -> list[Result]:
    """Return ``function(task)`` of every task, in the order of the tasks.

    Every task runs on one BLAS thread, in this process too, so that the bits of the results do not
    depend on `workers`. Inside a worker all tasks run serially.

    Parameters
    ----------
    function : callable
        With more than one worker it and the tasks are pickled: a function of a module, or a
        `functools.partial` of one.
    tasks : sequence
        The arguments.
    workers : int
        Number of processes, started afresh; one means this process.
    progress : callable
        Called in this process with the share of tasks done.

    Raises
    ------
    Interrupted
        At Ctrl-C, after the processes have ended.
    OptionError
        If `workers` is not positive.
    """
    if workers < 1:
        raise OptionError(f"the number of workers must be at least 1, got {workers}")
    inside_a_worker = multiprocessing.parent_process() is not None
    count = 1 if inside_a_worker else min(workers, len(tasks))
    if count <= 1:
        return _serially(function, tasks, progress)
    return _in_processes(function, tasks, count, progress)


def _serially(
    function: Callable[[Item], Result],
    tasks: Sequence[Item],
    progress: Callable[[float], None],
) -> list[Result]:
    results: list[Result] = []
    try:
        for task in tasks:
            results.append(_alone(function, task))
            progress(len(results) / len(tasks))
    except Interrupted as interrupt:
        raise Interrupted([*results, *interrupt.results]) from interrupt
    except KeyboardInterrupt as interrupt:
        raise Interrupted(results) from interrupt
    return results


def _in_processes(
    function: Callable[[Item], Result],
    tasks: Sequence[Item],
    workers: int,
    progress: Callable[[float], None],
) -> list[Result]:
    others = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit threads and the engine
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_ignore_interrupts)
    futures: list[Future[Result]] = []
    try:
        futures += [pool.submit(_alone, function, task) for task in tasks]
        for done, future in enumerate(futures, 1):
            future.result()
            progress(done / len(tasks))
        return [future.result() for future in futures]
    except BaseException as error:
        finished = [f.result() for f in futures if f.done() and f.exception() is None]
        for future in futures:
            future.cancel()
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        pool.shutdown()  # its own thread collects the processes; a second join would race with it
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(finished) from error
        raise
    finally:
        pool.shutdown()


def _alone(function: Callable[[Item], Result], task: Item) -> Result:
    """Run a task on one BLAS thread, with the libraries that its module has loaded by now."""
    with threadpool_limits(1):
        return function(task)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
