"""Work on processes that may die: what they had is begun again."""

import logging
import sys
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib.externals.loky.process_executor import TerminatedWorkerError

from robotid_sim.parallel import Item, Result, each_task

_log = logging.getLogger(__name__)

TRIES = 3
"""Times that work is begun whose process dies."""


def each_retried(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    keep: Callable[[Item, Result | None], None],
) -> None:
    """Give every item's result to `keep`, None where its process died again and again.

    When a process dies all that were at work are suspected; the last try of each is alone. What an
    item raises ends all. The function goes to processes, see `each_task`; `keep` is called in this
    one when a result is there.
    """
    waiting, begun = dict(enumerate(items)), dict.fromkeys(range(len(items)), 0)
    while waiting:
        suspect = next((k for k in waiting if begun[k] == TRIES - 1), None)
        numbers = list(waiting) if suspect is None else [suspect]

        def take(
            place: int, result: Result | None, error: Exception | None, numbers: Any = numbers
        ) -> None:
            if error is not None:
                raise error
            keep(waiting.pop(numbers[place]), result)

        try:
            tasks = [waiting[k] for k in numbers]
            each_task(function, tasks, workers, take, apart=True, batch_size="auto")
        except lost_worker() as error:
            _log.warning("a process died (%s); its work is begun again", error)
            left = [k for k in numbers if k in waiting]
            for number in left[:workers]:  # those at work are among the first
                begun[number] += 1
                if begun[number] >= TRIES:
                    keep(waiting.pop(number), None)


def lost_worker() -> tuple[type[Exception], ...]:
    """Return the errors that say that a process died."""
    dask = sys.modules.get("distributed.scheduler")  # of this run, if it has a cluster
    own = () if dask is None else (dask.KilledWorker,)
    return (TerminatedWorkerError, BrokenProcessPool, *own)
