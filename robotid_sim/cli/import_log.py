"""``robotid import``: a machine's log in a foreign form as a log of ours."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from robotid_sim.cli import output
from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.files import require_writable
from robotid_sim.importing.import_map import JointMap, load_map, save_map
from robotid_sim.importing.importer import ImportedLog, draft_map, import_log
from robotid_sim.importing.match import BY_NAME
from robotid_sim.measurement.files import save_log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.table import Table

FEW = 8
"""Unused columns that are named."""


def import_(
    *,
    source: list[Path],
    robot: str,
    out: Path,
    mapping: Path | None,
    write_map: Path | None,
    topic: str | None,
    segment: int | None,
    base: str | None,
    tip: str | None,
    assume_limits: bool,
    json: bool,
) -> int:
    """Do ``robotid import``; its words are in `cli.syntax.import_log`."""
    if out.suffix.lower() not in (".h5", ".hdf5", ".csv"):
        raise FileFormatError(f"cannot write {out}: give a log a name that ends in .h5 or .csv")
    outputs = [path for path in (out, write_map) if path is not None]
    for path in outputs:
        require_writable(path)
    # Only its joints matter here: inertia that cannot be is `check`'s to tell.
    read = load_robot(robot, base=base, tip=tip, assume_limits=assume_limits, formal=True)
    known = None if mapping is None else load_map(mapping)
    try:
        imported = import_log(source, read, known, topic=topic, segment=segment)
    except LogError as error:
        if write_map is None:
            raise
        drafted, left = draft_map(source, read, known, topic=topic)
        save_map(drafted, write_map, f"to be corrected; columns left over: {', '.join(left)}")
        raise LogError(f"{error}; what is known of the columns is in {write_map}") from error
    save_log(imported.log, out)
    if write_map is not None:
        save_map(imported.mapping, write_map)
    if json:
        output.print_json(_report(imported, read, out))
    else:
        _print(imported, read)
        output.print_written([out, write_map])
    return 0


def _report(imported: ImportedLog, robot: Robot, out: Path) -> dict[str, Any]:
    log = imported.log
    return {
        "robot": robot.name,
        "samples": log.t.size,
        "start": float(log.t[0]),
        "dt": log.dt,
        "map": imported.mapping.model_dump(by_alias=True, exclude_none=True, mode="json"),
        "matched": dict(imported.reasons),
        "notes": list(imported.notes),
        "unused": list(imported.unused),
        "file": str(out),
    }


def _print(imported: ImportedLog, robot: Robot) -> None:
    log, joints = imported.log, imported.mapping.joints
    output.print_line(
        f"{robot.name}: {log.t.size} samples, {1.0 / log.dt:.6g} Hz, {log.t[0]:.6g} to "
        f"{log.t[-1]:.6g} s"
    )
    output.print_line()
    columns = {
        "quantity": list(imported.reasons),
        "unit": [_units(joints.values(), quantity) for quantity in imported.reasons],
        "columns": list(imported.reasons.values()),
    }
    output.print_table(Table.of(columns, text_columns=3))
    by_name = [q for q, reason in imported.reasons.items() if reason == BY_NAME]
    others = [quantity for quantity in imported.reasons if quantity not in by_name]
    if others:
        output.print_line()
        cells = {q: [getattr(joints[name], q) or "-" for name in robot.joint_names] for q in others}
        output.print_table(
            Table.of({"joint": robot.joint_names, **cells}, text_columns=len(cells) + 1)
        )
    output.print_line()
    for note in imported.notes:
        output.print_line(note)
    if imported.unused:
        more = len(imported.unused) - FEW
        text = ", ".join(imported.unused[:FEW]) + (f" and {more} more" if more > 0 else "")
        output.print_line(f"not used: {text}")


def _units(joints: Iterable[JointMap], quantity: str) -> str:
    """Return the units of a quantity in its columns."""
    kind = "torque" if quantity == "command" else quantity
    units = (getattr(joint, f"{kind}_unit") for joint in joints if getattr(joint, quantity))
    return ", ".join(dict.fromkeys(units))
