"""Words of ``robotid identify``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from robotid_sim.cli import options
from robotid_sim.cli.completion import names
from robotid_sim.model.mesh_files import MeshMode

Estimators = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Estimator, repeatable; the last one is chosen.  [default: ols, wls, consistent]",
        autocompletion=names("estimators"),
    ),
]
HoldOutText = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="Predict data left out of the fit: last:30%, blocks:4 (each in turn), or a log.",
    ),
]
ParameterFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of the parameters (CSV).  [default: OUT-parameters.csv; of estimate.json "
        "parameters.csv]",
    ),
]
UrdfFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the identified robot here.")
]
Draws = Annotated[
    tuple[int, Path] | None,
    typer.Option(
        metavar="N DIR",
        help="Write N robots that the log and the nominal model leave possible, as URDF.",
    ),
]


def _table(values: Mapping[str, Any]) -> list[Path]:
    """Return the table of parameters that is written unless another one is asked for."""
    from robotid_sim.pipeline.parameter_file import table_beside

    return [] if values["parameters"] else [table_beside(values["out"])]


@options.for_study(*("seed", "plugin", "nominal"), beside=_table, needs={"no_replay": "report"})
def identify(
    robot: options.RobotArg,
    log: options.SeveralLogs,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Estimate file (JSON).")],
    estimator: Estimators = None,
    torque_gain_std: options.GainStd = None,
    terms: options.Terms = None,
    mapping: options.MapFile = None,
    hold_out: HoldOutText = None,
    urdf: UrdfFile = None,
    draws: Draws = None,
    meshes: options.Meshes = MeshMode.COPY,
    parameters: ParameterFile = None,
    report: options.ReportFile = None,
    no_replay: options.NoReplay = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Identify parameters from logs, of the virtual experiment or of a machine.

    Several logs of one robot are fitted together, each weighed by its noise. For a machine's log
    ROBOT is the nominal model. A log of a wrong sign, unit or column, or with clipped torques, is
    refused. Exit 1 if the fit failed or is in doubt: all is written then, with a warning that says
    why.
    """
