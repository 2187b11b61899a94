"""``robotid import``: a machine's log in a foreign form as a log of ours."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from robotid_sim.cli import options, output
from robotid_sim.cli.completion import names
from robotid_sim.cli.logs import MapFile
from robotid_sim.errors import FileFormatError
from robotid_sim.files import require_writable
from robotid_sim.importing.import_map import JointMap, load_map, save_map
from robotid_sim.importing.importer import ImportedLog, import_log
from robotid_sim.importing.match import BY_NAME
from robotid_sim.measurement.files import save_log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.section import Table

FEW = 8
"""Unused columns that are named."""


Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="SOURCE", help="CSV, NPZ, MAT, HDF5, Parquet, ROS bag; or files of columns."
    ),
]
RobotOption = Annotated[
    str,
    typer.Option(
        metavar="ROBOT",
        help="Catalog name, URDF or MJCF: joints, units, limits.",
        autocompletion=names("robots"),
    ),
]
WriteMap = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the complete map here (TOML), to be corrected."),
]
Topic = Annotated[
    str | None, typer.Option(metavar="NAME", help="Topic of a bag with several of joint states.")
]
SegmentNumber = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Part of a log with gaps.  [default: the longest one]"),
]


def import_(
    source: Sources,
    robot: RobotOption,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="Log to write, .h5 or .csv.")
    ],
    mapping: MapFile = None,
    write_map: WriteMap = None,
    topic: Topic = None,
    segment: SegmentNumber = None,
    base: options.BaseLink = None,
    tip: options.TipLink = None,
    assume_limits: options.AssumeLimits = False,
    json: options.Json = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> int:
    """Turn a machine's log in any usual form into one that the other commands read.

    Columns are matched to joints by name or order, units by name or limits; a map overrides both.
    """
    del verbose, debug
    if out.suffix.lower() not in (".h5", ".hdf5", ".csv"):
        raise FileFormatError(f"cannot write {out}: give a log a name that ends in .h5 or .csv")
    outputs = [path for path in (out, write_map) if path is not None]
    for path in outputs:
        require_writable(path)
    # Only its joints matter here: inertia that cannot be is `check`'s to tell.
    read = load_robot(robot, base=base, tip=tip, assume_limits=assume_limits, formal=True)
    known = None if mapping is None else load_map(mapping)
    imported = import_log(source, read, known, topic=topic, segment=segment)
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
        cells = {q: [getattr(joints[name], q) for name in robot.joint_names] for q in others}
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
