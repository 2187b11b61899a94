"""Logs on the command line: ours, or any that can be imported."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robotid_sim.cli import output
from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import LogError
from robotid_sim.importing.import_map import load_map
from robotid_sim.importing.reading import ReadLog, long_log, read_log, read_logs
from robotid_sim.measurement.long_log import LongLog
from robotid_sim.model.robot import Robot


def read(paths: Sequence[Path], robot: Robot, mapping: Path | None) -> list[ReadLog]:
    """Return the logs of some files for a robot, each part of one with gaps by itself."""
    return read_logs(paths, robot, None if mapping is None else load_map(mapping))


@contextmanager
def opened(
    paths: Sequence[Path], robot: Robot, mapping: Path | None, *, whole: bool
) -> Iterator[tuple[list[ReadLog], LongLog | None]]:
    """Give the logs of some files, and a log that is too long for memory, of which its head is.

    With `whole`, or with a map, no log is too long.
    """
    with nullcontext() if whole or mapping else long_log(paths, robot) as long:
        if long is None:
            yield read(paths, robot, mapping), None
        else:
            yield [ReadLog(long.head, paths[0].name)], long


def excerpts(long: LongLog, head: ReadLog) -> list[ReadLog]:
    """Return parts of a long log that show what is wrong with it; `head` is its beginning."""
    return [ReadLog(part, head.name) for part in long.excerpts(EXCERPTS)]


def read_one(path: Path, robot: Robot, mapping: Path | None) -> ReadLog:
    """Return the log of a file for a robot, the longest part of one with gaps."""
    return read_log(path, robot, None if mapping is None else load_map(mapping))


def require_distinct(logs: Sequence[ReadLog]) -> None:
    """Raise `LogError` if two logs hold the same samples, which say nothing new."""
    for one, two in combinations(logs, 2):
        same = ("q", "tau_meas")
        if all(np.array_equal(getattr(one.log, x), getattr(two.log, x)) for x in same):
            raise LogError(
                f"{one.name} and {two.name} hold the same samples: give logs of different runs"
            )


EXCERPTS = 4
"""Parts of a long log in which errors are looked for before the fit."""


class Against(NamedTuple):
    """What contradicts logs, in words; empty if nothing does."""

    errors: str
    couplings: str


def contradicted(
    logs: Sequence[ReadLog], nominal: Robot, basis: BaseParameters, *, force: bool
) -> Against:
    """Return what contradicts logs before anything is fitted to them.

    Raises `LogError` if they hold an error that is not forced upon the fit.
    """
    each = [contradictions(log.log, nominal, basis) for log in logs]
    errors, couplings = (
        _together(logs, [texts[kind] for texts in each]) for kind in range(len(Against._fields))
    )
    if errors and not force:
        raise LogError(
            f"{errors}; correct the log, or give --force to go on with it as it is (`robotid "
            "diagnose` says more)"
        )
    return Against(errors, couplings)


def _together(logs: Sequence[ReadLog], texts: Sequence[Sequence[str]]) -> str:
    by_name = [f"{log.name}: {'; '.join(t)}" for log, t in zip(logs, texts, strict=True) if t]
    return "; ".join(by_name)


def print_doubt(why: str) -> None:
    """Print what contradicts logs that were taken in spite of it, if anything."""
    if why:
        output.print_line(f"WARNING: of the log: {why}")


def print_notes(logs: Sequence[ReadLog]) -> None:
    """Print what was concluded, dropped and resampled when logs were read."""
    for log in logs:
        for note in log.notes:
            output.print_line(f"{log.name}: {note}")


def notes_of(logs: Sequence[ReadLog]) -> dict[str, list[str]]:
    """Return the notes on every log that was imported, as JSON values."""
    return {log.name: list(log.notes) for log in logs if log.notes}
