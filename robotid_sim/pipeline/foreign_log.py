"""Convert a log of a machine to the log format of robotid_sim."""

from collections.abc import Sequence
from pathlib import Path

from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.importing.import_map import ImportMap, load_map, save_map
from robotid_sim.importing.importer import ImportedLog, import_log
from robotid_sim.importing.match import draft_map, list_unused_columns, match
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
    """Import a log and write it, and with `write_map` also its map of columns.

    The files belong to one log; `mapping` is a map of columns, `profile` the name of a built-in
    one. If the import fails, a draft of the map is written. `topic` selects the joint states of a
    bag, `segment` a part of a log with gaps, counted from 1 and by default the longest. Raises
    `FileFormatError` if a file cannot be read or written, and `LogError` if joint or quantity of a
    column is ambiguous.
    """
    if out.suffix.lower() not in (".h5", ".hdf5", ".csv"):
        raise FileFormatError(f"cannot write {out}: the name of a log must end in .h5 or .csv")
    columns_map = ImportMap() if mapping is None else load_map(mapping)
    if profile is not None:
        columns_map = columns_map.model_copy(update={"profile": profile})
    try:
        imported = import_log(source, robot, columns_map, topic=topic, segment=segment)
    except LogError as error:
        if write_map is None:
            raise
        recording = read_foreign_log(source, topic)
        try:
            drafted = match(recording, robot, columns_map).mapping
        except LogError:
            drafted = draft_map(recording, robot, columns_map)
        unused = ", ".join(list_unused_columns(recording, drafted))
        save_map(drafted, write_map, f"to be corrected; unused columns: {unused}")
        raise LogError(f"{error}; correct the draft of the map in {write_map}") from error
    save_log(imported.log, out)
    if write_map is not None:
        save_map(imported.mapping, write_map)
    return imported
