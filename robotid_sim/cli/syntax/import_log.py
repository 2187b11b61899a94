"""Words of ``robotid import``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import names

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
    typer.Option(
        metavar="FILE",
        help="Write the map here (TOML), to be corrected; a draft of it if the import fails.",
    ),
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
    mapping: options.MapFile = None,
    write_map: WriteMap = None,
    topic: Topic = None,
    segment: SegmentNumber = None,
    base: options.BaseLink = None,
    tip: options.TipLink = None,
    assume_limits: options.AssumeLimits = False,
    json: options.Json = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Turn a machine's log in any usual form into one that the other commands read.

    Columns are matched to joints by name or order, units by name or limits; a map overrides both.
    """
