"""``robotid design``: an excitation trajectory."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from robotid_sim.arrays import Float1D
from robotid_sim.cli import options, output
from robotid_sim.cli.view import show_motion
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.engine.display import require_display
from robotid_sim.engine.playback import Playback
from robotid_sim.files import require_writable
from robotid_sim.model.robot import Robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.robots import nominal_robot, read_robot
from robotid_sim.study.stages import basis_of, design_result
from robotid_sim.study.study import versions
from robotid_sim.trajectory.design import assess
from robotid_sim.trajectory.information import expected_std
from robotid_sim.trajectory.optimal import DesignResult

INTERRUPTED = 130
"""Exit code at Ctrl-C."""


@options.for_study
def design(
    robot: options.RobotArg,
    out: Annotated[Path, typer.Option("-o", "--out", help="Trajectory file (JSON).")],
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

    Only the nominal model is used. The solver starts from the best of many random feasible series;
    at Ctrl-C the best so far is written. Exit 1 if no excitation satisfies the limits.
    """
    for path in filter(None, (out, report)):
        require_writable(path)
    if view:
        require_display()
    plant = read_robot(robot, study.robot)
    with output.progress_bar(enabled=not json) as progress:
        result = design_result(plant, study, workers=workers, progress=progress)
    result.trajectory.save(out)
    model = nominal_robot(plant, study)
    basis = basis_of(model, study)
    std = expected_std(model, basis, result.trajectory, dt=1.0 / study.experiment.rate)
    content = {"robot": plant.name, "trajectory": str(out)}
    content |= describe_design(model, basis, result, study, std)
    if report is not None:
        from robotid_sim.report.design_report import design_report  # loads matplotlib
        from robotid_sim.report.page import write_page

        command = options.command_line()
        page = design_report(model, basis, result, std, study, command, versions())
        write_page(page, report)
    if json:
        output.print_json(content)
    else:
        _print_design(result, content)
    if view:
        show_motion(Playback.of_trajectory(model, result.trajectory, out.stem))
    return INTERRUPTED if result.interrupted else 0


def describe_design(
    model: Robot, basis: BaseParameters, result: DesignResult, study: StudyConfig, std: Float1D
) -> dict[str, Any]:
    """Return what the design reports: criterion, use of the limits, expected accuracy."""
    path = result.trajectory
    known = [float(value) if np.isfinite(value) else None for value in std]
    values = basis.of(model.parameters()).tolist()
    parts = zip(basis.names, basis.units, values, known, strict=True)
    return {
        **asdict(assess(model, basis, path)),
        "criterion": study.design.criterion,
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


def _print_design(result: DesignResult, content: dict[str, Any]) -> None:
    path, number = result.trajectory, output.number
    output.print_line(
        f"{content['robot']}: {path.periods} periods of {path.base_period:g} s, "
        f"{path.harmonics} harmonics, approach {path.approach:g} s"
    )
    output.print_line(
        f"{content['criterion']}, {result.criterion.symbol}: {number(result.value_before)} best "
        f"random draw, {number(result.value_after)} design ({result.message})"
    )
    output.print_line(
        f"condition number of the base regressor: {number(content['cond_raw'])} raw, "
        f"{number(content['cond_normalized'])} with unit columns"
    )
    kinds = ("position", "velocity", "acceleration", "torque")
    uses = (f"{kind} {output.percent(content[f'{kind}_ratio'])}" for kind in kinds)
    output.print_line(f"use of the limits by the nominal model: {', '.join(uses)}")
    output.print_line()
    rows = [
        [p["name"], p["unit"], number(p["nominal"]), number(p["expected_std"], 2)]
        for p in content["base_parameters"]
    ]
    title = "expected accuracy, torque noise 1 % of RMS, white, motion exactly known"
    columns = ["base parameter", "unit", "nominal", "expected std"]
    output.print_table(title, columns, rows, text_columns=2)
    output.print_line(f"trajectory written to {content['trajectory']}")
