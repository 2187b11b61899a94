"""``robotid design``: excitation trajectories."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from robotid_sim.cli import design_options as of_design
from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


def _list_further_files(values: Mapping[str, Any]) -> list[Path]:
    """Return the files of the second and further trajectories."""
    from robotid_sim.pipeline.design import number_paths

    return number_paths(values["out"], values["count"] or 1)


@command(
    *("seed", "plugin", "quick", "nominal", "no_clearance"),
    further_files=_list_further_files,
    needs={"no_replay": "report"},
    excludes={"clearance": "no_clearance", "floor": "no_clearance"},
)
def design(
    robot: options.RobotArg,
    out: Annotated[Path, options.output_option("Trajectory file (JSON).")],
    family: of_design.FamilyName = None,
    criterion: of_design.CriterionName = None,
    solver: of_design.Solver = None,
    count: of_design.Count = None,
    prior: of_design.PriorFiles = None,
    clearance: of_design.LinkClearance = None,
    floor: of_design.FloorHeight = None,
    csv: of_design.CsvFile = None,
    explain: of_design.Explain = False,
    compare: of_design.Compare = False,
    report: options.ReportFile = None,
    no_replay: options.NoReplay = False,
    view: options.ShowMotion = False,
    json: options.Json = False,
    workers: of_design.Processes = 1,
    *,
    study: options.Configuration,
) -> int:
    """Design an optimal excitation: a Fourier series, by D-optimality unless configured otherwise.

    Only the nominal model is used. The solver starts from the best of many random feasible motions;
    on Ctrl-C the best motion so far is written, without a report. The constraints are checked on a
    grid ten times finer than the solver's, and violations are printed. Exit 1 in that case, or if
    no excitation satisfies the limits.
    """
    from robotid_sim.cli.study_options import recipe
    from robotid_sim.pipeline.design import design as design_motions
    from robotid_sim.report.design_report import design_details, design_report, design_text
    from robotid_sim.report.page import write_page
    from robotid_sim.signals import interrupt_exit_code
    from robotid_sim.viewer.display import require_display
    from robotid_sim.viewer.sources import show_motion

    output.begin(out, report, csv)
    if view:
        require_display()
    chosen = {"family": family, "criterion": criterion, "solver": solver, "count": count}
    space = {"clearance": clearance, "floor": floor}
    study = study.with_design({**chosen, "prior": None if prior is None else tuple(prior)}, space)
    with output.progress_line() as progress:
        result = design_motions(
            robot, study, compare=compare, explain=explain, workers=workers, progress=progress
        )
    files = result.write(out, csv)
    if report is not None and not result.designs.is_interrupted:
        write_page(design_report(result, recipe(study)), report, replay=not no_replay)
    text = [*design_text(result)]
    if csv is not None and study.nominal.file is None:  # it is for a machine
        text.append(
            f"The motion is for a nominal model drawn about that of {robot}, as in a virtual "
            f"study: if {robot} is the best model of a machine, give --nominal {robot}."
        )
    written = [*files, csv, None if result.designs.is_interrupted else report]
    output.print_result(result.content(files), text, written, design_details(result), as_json=json)
    if view:
        show_motion(result.nominal, result.trajectories[0], out.stem)
    if result.designs.is_interrupted:
        return interrupt_exit_code()
    return 0 if result.passed else 1
