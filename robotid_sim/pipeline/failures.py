"""Logs of runs that ended before their time, kept for who looks why."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robotid_sim.errors import ControllerError, SimulationDiverged
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.validation.closed_loop import ClosedLoop

_log = logging.getLogger(__name__)


@contextmanager
def saved_if_diverged(path: Path | None) -> Iterator[None]:
    """Save the log of a loop that diverges within the block, if there is a path, and say where."""
    try:
        yield
    except (SimulationDiverged, ControllerError) as error:
        if path is not None and isinstance(error.log, Log):
            save_log(error.log, path)
            error.args = (f"{error}; log up to there: {path}", *error.args[1:])
        raise


def save_failures(loop: ClosedLoop, folder: Path, of: str = "") -> list[Path]:
    """Save the logs of runs that ended before their time, oldest first; return the files.

    Their names begin with `of`; earlier files of such names are removed. Raises `FileFormatError`
    if one cannot be written.
    """
    for old in folder.glob(f"{of}failed-*.h5"):
        old.unlink()
    paths = []
    for k, failure in enumerate(loop.failures, start=1):
        _log.warning("%s", failure)
        if failure.log is not None:
            paths.append(folder / f"{of}failed-{k}.h5")
            save_log(failure.log, paths[-1])
    return paths
