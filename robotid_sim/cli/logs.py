"""Logs on the command line: ours, or any that can be imported."""

from collections.abc import Sequence
from pathlib import Path

from robotid_sim.cli import output
from robotid_sim.importing.import_map import load_map
from robotid_sim.importing.reading import ReadLog, read_log, read_logs
from robotid_sim.model.robot import Robot


def read(paths: Sequence[Path], robot: Robot, mapping: Path | None) -> list[ReadLog]:
    """Return the logs of some files for a robot, each part of one with gaps by itself."""
    return read_logs(paths, robot, None if mapping is None else load_map(mapping))


def read_one(path: Path, robot: Robot, mapping: Path | None) -> ReadLog:
    """Return the log of a file for a robot, the longest part of one with gaps."""
    return read_log(path, robot, None if mapping is None else load_map(mapping))


def print_notes(logs: Sequence[ReadLog]) -> None:
    """Print what was concluded, dropped and resampled when logs were read."""
    for log in logs:
        for note in log.notes:
            output.print_line(f"{log.name}: {note}")


def notes_of(logs: Sequence[ReadLog]) -> dict[str, list[str]]:
    """Return the notes on every log that was imported, as JSON values."""
    return {log.name: list(log.notes) for log in logs if log.notes}
