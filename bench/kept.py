"""Tasks of long benches whose results are kept in a file, so that an ended bench goes on.

A line of the file is a task and its result as JSON; a worker writes it when the task ends. What the
file holds is not run again: remove it when the code that it measures has changed.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from robotid_sim.parallel import map_tasks

Task = TypeVar("Task", bound=tuple)
Result = TypeVar("Result")


def map_kept(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    file: Path | None,
    kind: Any,
    workers: int = 1,
) -> list[Result]:
    """Return ``function(task)`` of every task, of the file where it holds it.

    Parameters
    ----------
    function : callable
        Of a module, for other processes.
    tasks : sequence of tuples
        Of strings and numbers, told apart by their JSON.
    file : Path, optional
        Where results are read and kept; by default they are not.
    kind : type
        Of a result, for pydantic.
    workers : int
        Number of processes.
    """
    known: dict[str, Result] = {}
    if file is not None and file.exists():
        adapter = TypeAdapter(kind)
        for line in file.read_text().splitlines():
            row = json.loads(line)
            known[json.dumps(row["task"])] = adapter.validate_python(row["result"])
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    left = [task for task in tasks if json.dumps(task) not in known]
    results = map_tasks(
        partial(_and_keep, function, file),
        left,
        workers,
        lambda share: print(f"{share:.0%}", end=" ", file=sys.stderr, flush=True),
    )
    known |= {json.dumps(task): result for task, result in zip(left, results, strict=True)}
    return [known[json.dumps(task)] for task in tasks]


def _and_keep(function: Callable[[Task], Result], file: Path | None, task: Task) -> Result:
    result = function(task)
    if file is not None:
        # Not by pydantic: a class of the script is made anew in a worker, without what it needs.
        row = json.dumps({"task": task, "result": result}, default=asdict)
        with file.open("a") as lines:
            lines.write(row + "\n")
    return result
