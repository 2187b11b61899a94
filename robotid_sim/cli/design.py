"""``robotid design``: excitation trajectories."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.cli import output
from robotid_sim.cli.study_options import recipe
from robotid_sim.cli.syntax.design import COMPARED, numbered
from robotid_sim.cli.view import show_motion
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.files import require_writable
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_design import build_criterion, build_design
from robotid_sim.pipeline.build_robot import build_basis, build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import Designs, designs_by_criteria, explanation
from robotid_sim.pipeline.excitation import design as design_stage
from robotid_sim.progress import Progress
from robotid_sim.progress_display import progress_line
from robotid_sim.report.design_report import DesignSummary, design_report
from robotid_sim.report.page import write_page
from robotid_sim.section import number, percent
from robotid_sim.signals import interrupted_code
from robotid_sim.streams import Streams
from robotid_sim.trajectory.csv_export import export_csv
from robotid_sim.trajectory.reference import run_time
from robotid_sim.trajectory.trajectory_files import save_trajectory
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.display import require_display


def design(
    *,
    robot: str,
    out: Path,
    family: str | None,
    criterion: str | None,
    solver: str | None,
    count: int | None,
    prior: list[Path] | None,
    clearance: float | None,
    floor: float | None,
    csv: Path | None,
    explain: bool,
    compare: bool,
    report: Path | None,
    no_replay: bool,
    view: bool,
    json: bool,
    workers: int,
    study: StudyConfig,
) -> int:
    """Do ``robotid design``; its words are in `cli.syntax.design`."""
    for path in filter(None, (out, report, csv)):
        require_writable(path)
    if view:
        require_display()
    chosen = {"family": family, "criterion": criterion, "solver": solver, "count": count}
    study = study.with_design(
        {**chosen, "prior": None if prior is None else tuple(prior)},
        {"clearance": clearance, "floor": floor},
    )
    plant = build_robot(robot, study.robot)
    with progress_line(enabled=not json) as progress:
        summary = _designed(plant, study, compare, explain, workers, progress)
    designs = summary.designs
    files = _written(designs, out, summary.nominal)
    if csv is not None:
        export_csv(designs.trajectories[0], csv, summary.plan.rate, summary.nominal)
    if report is not None and not designs.interrupted:
        write_page(design_report(summary, recipe(study)), report, replay=not no_replay)
    content = {"robot": plant.name, **_content(summary, files)}
    if json:
        output.print_json(content)
    else:
        _print(summary, content)
        if csv is not None and study.nominal.file is None:  # it is for a machine
            output.print_line(
                f"The motion is for a nominal model drawn about that of {robot}, as in a virtual "
                f"study: if {robot} is the best model of a machine, give --nominal {robot}."
            )
        output.print_written([*files, csv, None if designs.interrupted else report])
    if view:
        show_motion(Animation.of_trajectory(summary.nominal, designs.trajectories[0], out.stem))
    if designs.interrupted:
        return interrupted_code()
    return 1 if any(result.violated for result in designs.designs) else 0


def _designed(
    plant: Robot, study: StudyConfig, compare: bool, explain: bool, workers: int, progress: Progress
) -> DesignSummary:
    """Return the designs that the command asks for."""
    nominal = build_nominal(plant, study)
    basis = build_basis(nominal, study)
    plan, rng = build_design(nominal, basis, study), Streams(study.seed)
    designs = design_stage(nominal, basis, plan, rng("design"), workers=workers, progress=progress)
    if designs.interrupted:  # what is there is to be written at once
        compare = explain = False
    criteria = {name: build_criterion(study.design, name) for name in COMPARED if compare}
    rngs = {name: rng("design") for name in criteria}
    others = designs_by_criteria(nominal, basis, plan, rngs, criteria, progress)
    reasons = explanation(nominal, basis, designs.trajectories, plan) if explain else None
    return DesignSummary(nominal, basis, plan, designs, others, reasons)


def _written(designs: Designs, out: Path, nominal: Robot) -> list[Path]:
    """Write the trajectories; return their files."""
    files = [out, *numbered(out, len(designs.trajectories))]
    for trajectory, path in zip(designs.trajectories, files, strict=True):
        save_trajectory(trajectory, path, nominal)
    return files


def _content(summary: DesignSummary, files: list[Path]) -> dict[str, Any]:
    """Return what ``--json`` prints, but for the robot."""
    designs, plan, basis = summary.designs, summary.plan, summary.basis
    first = designs.designs[0]
    std = [float(value) if np.isfinite(value) else None for value in summary.std]
    values = basis.of(summary.nominal.parameters()).tolist()
    content: dict[str, Any] = {
        "trajectory": str(files[0]),
        **asdict(summary.assessed),
        "criterion": CRITERIA.name_of(plan.criterion),
        "criterion_symbol": first.criterion.symbol,
        "criterion_before": first.value_before,
        "criterion_after": first.value_after,
        "starts": list(first.start_values),
        "success": first.success,
        "message": first.message,
        "base_parameters": [
            {"name": name, "unit": unit, "nominal": value, "expected_std": deviation}
            for name, unit, value, deviation in zip(
                basis.names, basis.units, values, std, strict=True
            )
        ],
        "family": FAMILIES.name_of(plan.family),
        "violated": [str(v) for result in designs.designs for v in result.violated],
        "relaxed": list(designs.relaxed),
        "prior": list(plan.prior_names),
        "compared": {name: asdict(value) for name, value in summary.other_assessed.items()},
    }
    if designs.sequence is not None:
        content["trajectories"] = [str(path) for path in files]
        content["log_dets"] = list(designs.sequence.log_dets)
    if summary.explanation is not None:
        content["explanation"] = summary.explanation.sentences()
    content["contacts"] = [f"{found}; no real arm may run this" for found in summary.contacts]
    content["assumptions"] = summary.assumptions
    return content


def _print(summary: DesignSummary, content: dict[str, Any]) -> None:
    trajectories = summary.designs.trajectories
    path = trajectories[0]
    output.print_line(
        f"{content['robot']}: {content['family']}, runs of {run_time(path):g} s, "
        f"{path.duration - path.start:g} s of motion in all"
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
    uses = (f"{kind} {percent(content[f'{kind}_ratio'])}" for kind in kinds)
    output.print_line(f"use of the limits by the nominal model: {', '.join(uses)}")
    for key, word in (
        ("violated", "VIOLATED"),
        ("relaxed", "RELAXED"),
        ("contacts", "CONTACT"),
        ("assumptions", "ASSUMED"),
    ):
        for text in content[key]:
            output.print_line(f"{word}: {text}")
    if "log_dets" in content:
        dets = ", ".join(number(value) for value in content["log_dets"])
        output.print_line(f"log det of the information after each trajectory: {dets}")
    output.print_line()
    if summary.others:
        output.print_line("designs side by side")
        output.print_table(summary.criteria_table())
        output.print_line()
    if "explanation" in content:
        for sentence in content["explanation"]:
            output.print_line(f"  {sentence}")
        output.print_line()
    title = "expected accuracy, torque noise 1 % of RMS, white, motion exactly known"
    if len(trajectories) > 1:
        title += f", from all {len(trajectories)} trajectories"
    output.print_line(title + (", with the prior" if content["prior"] else ""))
    output.print_table(summary.accuracy_table())
