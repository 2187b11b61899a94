"""``robotid import``: a machine's log as a log of robotid."""

from pathlib import Path
from typing import Annotated, Any

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command()
def import_(
    source: Annotated[
        list[Path],
        options.argument(
            "SOURCE", "CSV, NPZ, MAT, HDF5, Parquet or ROS bag; or files that share the columns."
        ),
    ],
    robot: Annotated[
        str,
        options.value(
            "ROBOT",
            "Catalog name, URDF or MJCF: joints, units, limits.",
            autocompletion=options.names("robots"),
        ),
    ],
    out: Annotated[Path, options.output_option("Log to write, .h5 or .csv.")],
    mapping: options.MapFile = None,
    write_map: Annotated[
        Path | None,
        options.file(
            "Write the inferred map here (TOML) for correction; if the import fails, a draft."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        options.value(
            "NAME", "Profile of a vendor's recorder, or none.  [default: by the columns]"
        ),
    ] = None,
    topic: Annotated[
        str | None,
        options.value("NAME", "Topic to read, if the bag has several with joint states."),
    ] = None,
    segment: Annotated[
        int | None,
        options.value(
            "N",
            "Number of the part to write, if gaps split the log.  [default: the longest part]",
            min=1,
        ),
    ] = None,
    base: options.BaseLink = None,
    tip: options.TipLink = None,
    assume_limits: options.AssumeLimits = False,
    json: options.Json = False,
) -> int:
    """Turn a machine's log in any usual form into one that the other commands read.

    Columns are matched to joints by name or order, units by name or limits; a map overrides both.
    """
    from robotid_sim.pipeline.foreign_log import convert_log
    from robotid_sim.report.text import import_text

    output.begin(out, write_map)
    # Only the joints of the robot matter; `check` reports impossible inertia.
    read = rid.load_robot(robot, base=base, tip=tip, assume_limits=assume_limits, formal=True)
    chosen: dict[str, Any] = {"profile": profile, "topic": topic, "segment": segment}
    conversion = convert_log(source, read, out, mapping=mapping, write_map=write_map, **chosen)
    content = {"robot": read.name, **conversion.content(), "file": str(out)}
    output.print_result(content, import_text(conversion, read), [out, write_map], as_json=json)
    return 0
