"""A machine's log in a foreign form, written as a log of ours."""

from collections.abc import Sequence
from pathlib import Path

from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.importing.import_map import ImportMap, load_map, save_map
from robotid_sim.importing.importer import ImportedLog, import_log
from robotid_sim.importing.match import draft, list_unused_columns, match
from robotid_sim.importing.readers import read_foreign_log
from robotid_sim.measurement.files import save_log
from robotid_sim.model.robot import Robot


def convert_log(
    source: Sequence[Path],
    robot: Robot,
    out: Path,
    *,
    mapping: Path | None = None,
    write_map: Path | None = None,
    profile: str | None = None,
    topic: str | None = None,
    segment: int | None = None,
) -> ImportedLog:
    """Import a log and write it; with `write_map` also what was concluded of its columns.

    The files are of one log; `mapping` is a map to follow and `profile` one of a vendor's recorder.
    If the import fails, a draft of the map is written. Of a bag with several topics of joint states
    one is taken, of a log with gaps a segment, from 1 and by default the longest. Raises
    `FileFormatError` if a file cannot be read or written, and `LogError` if the columns do not tell
    which joint and quantity they are.
    """
    if out.suffix.lower() not in (".h5", ".hdf5", ".csv"):
        raise FileFormatError(f"cannot write {out}: give a log a name that ends in .h5 or .csv")
    known = ImportMap() if mapping is None else load_map(mapping)
    if profile is not None:
        known = known.model_copy(update={"profile": profile})
    try:
        imported = import_log(source, robot, known, topic=topic, segment=segment)
    except LogError as error:
        if write_map is None:
            raise
        recording = read_foreign_log(source, topic)
        try:
            drafted = match(recording, robot, known).mapping
        except LogError:
            drafted = draft(recording, robot, known)
        left = ", ".join(list_unused_columns(recording, drafted))
        save_map(drafted, write_map, f"to be corrected; columns left over: {left}")
        raise LogError(f"{error}; what is known of the columns is in {write_map}") from error
    save_log(imported.log, out)
    if write_map is not None:
        save_map(imported.mapping, write_map)
    return imported
