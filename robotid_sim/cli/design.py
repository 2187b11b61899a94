"""``robotid design``: excitation trajectories."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from robotid_sim.arrays import Float1D
from robotid_sim.cli import options, output
from robotid_sim.cli.view import show_motion
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.excitation.design import assess
from robotid_sim.excitation.explain import Explanation
from robotid_sim.excitation.optimal import DesignResult
from robotid_sim.files import require_writable
from robotid_sim.model.robot import Robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.excitation import (
    Designs,
    basis_of,
    check_design,
    compared_designs,
    contacts,
    designs,
    expected_accuracy,
    explanation,
)
from robotid_sim.study.robots import nominal_robot, read_robot
from robotid_sim.study.study import versions
from robotid_sim.trajectory import export_csv
from robotid_sim.trajectory.reference import Excitation, run_time
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.display import require_display

INTERRUPTED = 130
"""Exit code at Ctrl-C."""

COMPARED = ("d-optimality", "condition-number", "normalized-condition-number")


@options.for_study
def design(
    robot: options.RobotArg,
    out: Annotated[Path, typer.Option("-o", "--out", help="Trajectory file (JSON).")],
    family: Annotated[
        str | None, typer.Option(help="Family of motions.  [default: fourier]")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option(help="What to minimize.  [default: d-optimality]")
    ] = None,
    solver: Annotated[
        str | None, typer.Option(help="slsqp, random or an optimizer.  [default: slsqp]")
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="Trajectories, each given those before; OUT-2.json and so on."),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        typer.Option(help="Trajectory (JSON) or log that exists already, repeatable."),
    ] = None,
    clearance: Annotated[
        float | None,
        typer.Option(min=0.0, help="Distance that links keep to one another and the floor [m]."),
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(help="Height of the floor in the root frame [m]; alone, nothing touches."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Also write the (first) motion for a robot controller, way back added."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which parameters stay poorly excited and why.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help=f"Also design by {', '.join(COMPARED)}, side by side.")
    ] = False,
    report: options.ReportFile = None,
    view: options.ShowMotion = False,
    json: options.Json = False,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; the result does not depend on it.")
    ] = 1,
    *,
    study: StudyConfig,
) -> int:
    """Design an optimal excitation: a Fourier series, by D-optimality unless configured otherwise.

    Only the nominal model is used. The solver starts from the best of many random feasible motions;
    at Ctrl-C the best so far is written. What is written keeps all constraints on a grid ten times
    finer than the solver's; if not, it is said what is violated by how much. Exit 1 then, and if no
    excitation satisfies the limits.
    """
    for path in filter(None, (out, report, csv)):
        require_writable(path)
    if view:
        require_display()
    study = _chosen(study, family, criterion, solver, count, prior, clearance, floor)
    plant = read_robot(robot, study.robot)
    check_design(plant, study)
    with output.progress_bar(enabled=not json) as progress:
        found = designs(plant, study, workers=workers, progress=progress)
        others = compared_designs(plant, study, COMPARED, progress) if compare else {}
    files = _written(found, out)
    model = nominal_robot(plant, study)
    basis = basis_of(model, study)
    if csv is not None:
        export_csv(found.trajectories[0], csv, study.experiment.rate, model)
    told = explanation(model, basis, found.trajectories, study) if explain else None
    content = _content(plant, model, basis, found, files, study, others, told)
    content["contacts"] = contacts(model, found.trajectories, study)
    if report is not None:
        from robotid_sim.report.design_report import design_report  # loads matplotlib
        from robotid_sim.report.page import write_page

        again = (study, options.command_line(), versions())
        write_page(design_report(model, basis, found, others, told, *again), report)
    if json:
        output.print_json(content)
    else:
        _print_design(found, content, told)
    if view:
        show_motion(Animation.of_trajectory(model, found.trajectories[0], out.stem))
    if found.interrupted:
        return INTERRUPTED
    return 1 if any(one.violated for one in found.designs) else 0


def _chosen(
    study: StudyConfig,
    family: str | None,
    criterion: str | None,
    solver: str | None,
    count: int | None,
    prior: list[Path] | None,
    clearance: float | None,
    floor: float | None,
) -> StudyConfig:
    """Return the study with the choices of the command line."""
    wanted: dict[str, Any] = {
        "family": family,
        "criterion": criterion,
        "solver": solver,
        "count": count,
        "prior": None if prior is None else tuple(prior),
    }
    made = {name: value for name, value in wanted.items() if value is not None}
    space = {"clearance": clearance, "floor": floor}
    kept = {name: value for name, value in space.items() if value is not None}
    constraints = study.design.constraints.model_copy(update=kept)
    design = study.design.model_copy(update={**made, "constraints": constraints})
    return study.model_copy(update={"design": design})


def _written(found: Designs, out: Path) -> list[Path]:
    """Write the trajectories; return their files."""
    files = [out]
    files += [
        out.with_name(f"{out.stem}-{k}{out.suffix}") for k in range(2, len(found.trajectories) + 1)
    ]
    for trajectory, path in zip(found.trajectories, files, strict=True):
        trajectory.save(path)
    return files


def _content(
    plant: Robot,
    model: Robot,
    basis: BaseParameters,
    found: Designs,
    files: list[Path],
    study: StudyConfig,
    others: dict[str, DesignResult],
    told: Explanation | None,
) -> dict[str, Any]:
    first = found.designs[0]
    trajectory = found.trajectories[0]
    std = expected_accuracy(model, basis, found.trajectories, study)
    content: dict[str, Any] = {"robot": plant.name, "trajectory": str(files[0])}
    content |= describe_design(model, basis, trajectory, first, study, std)
    content["family"] = study.design.family
    content["violated"] = [str(v) for one in found.designs for v in one.violated]
    content["relaxed"] = list(found.relaxed)
    content["prior"] = [str(path) for path in study.design.prior]
    content["compared"] = {
        name: asdict(assess(model, basis, other.trajectory)) for name, other in others.items()
    }
    if found.sequence is not None:
        content["trajectories"] = [str(path) for path in files]
        content["log_dets"] = list(found.sequence.log_dets)
    if told is not None:
        content["explanation"] = told.sentences()
    return content


def describe_design(
    model: Robot,
    basis: BaseParameters,
    trajectory: Excitation,
    result: DesignResult,
    study: StudyConfig,
    std: Float1D,
) -> dict[str, Any]:
    """Return what the design reports: criterion, use of the limits, expected accuracy."""
    known = [float(value) if np.isfinite(value) else None for value in std]
    values = basis.of(model.parameters()).tolist()
    parts = zip(basis.names, basis.units, values, known, strict=True)
    return {
        **asdict(assess(model, basis, trajectory)),
        "criterion": study.design.criterion,
        "criterion_symbol": result.criterion.symbol,
        "criterion_before": result.value_before,
        "criterion_after": result.value_after,
        "starts": list(result.start_values),
        "success": result.success,
        "message": result.message,
        "base_parameters": [
            {"name": name, "unit": unit, "nominal": value, "expected_std": deviation}
            for name, unit, value, deviation in parts
        ],
    }


def _print_design(found: Designs, content: dict[str, Any], told: Explanation | None) -> None:
    path, number = found.trajectories[0], output.number
    output.print_line(
        f"{content['robot']}: {content['family']}, runs of {run_time(path):g} s, "
        f"{path.duration - path.start:g} s in all"
    )
    output.print_line(
        f"{content['criterion']}, {content['criterion_symbol']}: "
        f"{number(content['criterion_before'])} best random draw, "
        f"{number(content['criterion_after'])} design ({content['message']})"
    )
    output.print_line(
        f"condition number of the base regressor: {number(content['cond_raw'])} raw, "
        f"{number(content['cond_normalized'])} with unit columns"
    )
    kinds = ("position", "velocity", "acceleration", "torque")
    uses = (f"{kind} {output.percent(content[f'{kind}_ratio'])}" for kind in kinds)
    output.print_line(f"use of the limits by the nominal model: {', '.join(uses)}")
    for key, word in (("violated", "VIOLATED"), ("relaxed", "RELAXED"), ("contacts", "CONTACT")):
        for text in content[key]:
            output.print_line(f"{word}: {text}")
    if "log_dets" in content:
        dets = ", ".join(number(value) for value in content["log_dets"])
        output.print_line(f"log det of the information after each trajectory: {dets}")
    output.print_line()
    _print_comparison(content)
    if told is not None:
        for sentence in told.sentences():
            output.print_line(f"  {sentence}")
        output.print_line()
    rows = [
        [p["name"], p["unit"], number(p["nominal"]), number(p["expected_std"], 2)]
        for p in content["base_parameters"]
    ]
    title = "expected accuracy, torque noise 1 % of RMS, white, motion exactly known"
    if len(found.trajectories) > 1:
        title += f", from all {len(found.trajectories)} trajectories"
    if content["prior"]:
        title += ", with the prior"
    columns = ["base parameter", "unit", "nominal", "expected std"]
    output.print_table(title, columns, rows, text_columns=2)
    files = ", ".join(content.get("trajectories", [content["trajectory"]]))
    output.print_line(f"written to {files}")


def _print_comparison(content: dict[str, Any]) -> None:
    if not content["compared"]:
        return
    rows = [
        [name, *(output.number(one[key]) for key in ("log_det", "cond_raw", "cond_normalized"))]
        for name, one in content["compared"].items()
    ]
    columns = ["criterion", "log det", "condition number", "with unit columns"]
    output.print_table("designs side by side", columns, rows)
    output.print_line()
