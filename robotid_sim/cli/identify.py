"""``robotid identify``: from a log to parameters."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options, output
from robotid_sim.cli.completion import names
from robotid_sim.cli.progress_line import progress_line
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.estimation.estimate import save_estimates
from robotid_sim.files import require_distinct, require_writable
from robotid_sim.measurement.files import load_log
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.report.identification_report import identification_report
from robotid_sim.report.page import write_page
from robotid_sim.report.tables import parameter_table, residual_table
from robotid_sim.report.trust_section import lack_of_fit
from robotid_sim.streams import Streams
from robotid_sim.study.build import build_basis, build_fit, build_nominal_of_log, build_robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.parameter_file import NAME as PARAMETERS
from robotid_sim.study.parameter_file import write_parameters
from robotid_sim.study.stages import Identification, with_gross_doubt
from robotid_sim.study.stages import identify as identify_stage
from robotid_sim.study.study import estimate_context, write_identified

LogFile = Annotated[Path, typer.Argument(metavar="LOG", help="Log of a robot, .h5 or .csv.")]
Estimators = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Estimator, repeatable; the last one is chosen.  [default: ols, wls, consistent]",
        autocompletion=names("estimators"),
    ),
]
GainStd = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        callback=options.finite,
        min=0.0,
        max=0.9,
        help="Relative standard deviation of the torque constants, which no log shows.",
    ),
]
ParameterFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Table of the parameters (CSV).  [default: parameters.csv beside OUT]"
    ),
]
UrdfFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the identified robot here.")
]


@options.for_study("seed", "plugin", "nominal")
def identify(
    robot: options.RobotArg,
    log: LogFile,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Estimate file (JSON).")],
    estimator: Estimators = None,
    torque_gain_std: GainStd = None,
    urdf: UrdfFile = None,
    meshes: options.Meshes = MeshMode.COPY,
    parameters: ParameterFile = None,
    report: options.ReportFile = None,
    json: options.Json = False,
    *,
    study: StudyConfig,
) -> int:
    """Identify parameters from a log, of the virtual experiment or of a machine.

    For a machine's log ROBOT is the nominal model. Exit 1 if the fit failed or is in doubt: all is
    written then, with a warning that says why.
    """
    if estimator:
        chosen = {"estimators": tuple(estimator), "chosen": estimator[-1]}
        estimation = study.estimation.model_copy(update=chosen)
        study = study.model_copy(update={"estimation": estimation})
    if torque_gain_std is not None:
        given = study.estimation.model_copy(update={"torque_gain_std": torque_gain_std})
        study = study.model_copy(update={"estimation": given})
    require_writable(out)
    table = parameters or out.with_name(PARAMETERS)
    outputs = [path for path in (out, table, urdf, report) if path is not None]
    require_distinct(outputs, [log])
    for path in outputs:
        require_writable(path)
    model, data = build_robot(robot, study.robot), load_log(log)
    plan, nominal = build_fit(study), build_nominal_of_log(model, data, study)
    basis, rng = build_basis(nominal, study), Streams(study.seed)("identify")
    with progress_line(enabled=not json) as progress:
        fit = identify_stage(data, nominal, basis, plan, rng, progress=progress)
        fit = with_gross_doubt(data, fit)
    if urdf is not None and fit.lift is None:  # before anything is written
        raise InconsistentInertiaError(f"no robot to write to {urdf}: {fit.chosen.message}")
    context = estimate_context(fit)
    save_estimates(list(fit.estimates), out, **context)
    write_parameters(fit, table)
    if urdf is not None:
        write_identified(fit, urdf, meshes)
    if report is not None:
        write_page(identification_report(nominal, data, fit, options.recipe(study)), report)
    if json:
        estimates = [estimate.content() for estimate in fit.estimates]
        output.print_json({"robot": model.name, **context, "estimates": estimates})
    else:
        _print(model.name, fit)
        output.print_written([out, table, urdf, report])
    return 0 if fit.chosen.success and not fit.doubt else 1


def _print(name: str, fit: Identification) -> None:
    chosen, nominal = fit.chosen, fit.nominal
    output.print_line(f"{name}: {chosen.rows} rows, {len(chosen.names)} base parameters")
    output.print_line()
    output.print_table(residual_table(fit.estimates, nominal.joint_units))
    if not chosen.success:
        output.print_line(f"{chosen.estimator}: {chosen.message}")
        return
    output.print_line()
    output.print_table(parameter_table(chosen, fit.basis, fit.basis.of(nominal.parameters())))
    if fit.lift is not None:
        output.print_line(f"identified robot: {fit.lift.message}")
    for sentence in lack_of_fit(fit):
        output.print_line(sentence)
    if fit.doubt:
        output.print_line(f"WARNING: {fit.doubt}")
