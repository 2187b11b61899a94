"""``robotid design``: excitation trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from robotid_sim.cli import options, output
from robotid_sim.cli.view import show_motion
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.design import assess
from robotid_sim.excitation.explain import Explanation
from robotid_sim.excitation.optimal import DesignResult
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.files import require_writable
from robotid_sim.model.robot import Robot
from robotid_sim.streams import Streams
from robotid_sim.study.build import build_basis, build_nominal, build_robot
from robotid_sim.study.build_design import build_criterion, build_design
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.excitation import (
    Designs,
    contacts,
    designs_by_criteria,
    expected_accuracy,
    explanation,
)
from robotid_sim.study.excitation import design as design_stage
from robotid_sim.trajectory.csv_export import export_csv
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
    space = {"clearance": clearance, "floor": floor}
    chosen: dict[str, Any] = {
        "family": family,
        "criterion": criterion,
        "solver": solver,
        "count": count,
    }
    chosen["prior"] = None if prior is None else tuple(prior)
    study = study.with_design(chosen, space)
    plant = build_robot(robot, study.robot)
    model = build_nominal(plant, study)
    basis = build_basis(model, study)
    plan = build_design(model, basis, study)
    task = _Task(plant.name, model, basis, plan)
    rng = Streams(study.seed)
    with output.progress_bar(enabled=not json) as progress:
        designs = design_stage(
            model, basis, plan, rng("design"), workers=workers, progress=progress
        )
        criteria = {name: build_criterion(study.design, name) for name in COMPARED if compare}
        rngs = {name: rng("design") for name in criteria}
        others = designs_by_criteria(model, basis, plan, rngs, criteria, progress)
    files = _written(designs, out)
    if csv is not None:
        export_csv(designs.trajectories[0], csv, plan.rate, model)
    reasons = explanation(model, basis, designs.trajectories, plan) if explain else None
    content = task.content(designs, files, others, reasons)
    if report is not None:
        from robotid_sim.report.design_report import design_report  # loads matplotlib
        from robotid_sim.report.page import write_page

        recipe = options.recipe(study)
        write_page(design_report(model, basis, designs, others, reasons, plan, recipe), report)
    if json:
        output.print_json(content)
    else:
        _print_design(designs, content, reasons)
    if view:
        show_motion(Animation.of_trajectory(model, designs.trajectories[0], out.stem))
    if designs.interrupted:
        return INTERRUPTED
    return 1 if any(result.violated for result in designs.designs) else 0


def _written(designs: Designs, out: Path) -> list[Path]:
    """Write the trajectories; return their files."""
    files = [out]
    files += [
        out.with_name(f"{out.stem}-{k}{out.suffix}")
        for k in range(2, len(designs.trajectories) + 1)
    ]
    for trajectory, path in zip(designs.trajectories, files, strict=True):
        trajectory.save(path)
    return files


class _Task(NamedTuple):
    """What is designed for what."""

    robot: str
    model: Robot
    basis: BaseParameters
    plan: DesignPlan

    def content(
        self,
        designs: Designs,
        files: list[Path],
        others: Mapping[str, DesignResult],
        reasons: Explanation | None,
    ) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        model, basis, plan = self.model, self.basis, self.plan
        trajectories = designs.trajectories
        content: dict[str, Any] = {"robot": self.robot, "trajectory": str(files[0])}
        content |= self._design(trajectories, designs.designs[0])
        content["family"] = FAMILIES.name_of(plan.family)
        content["violated"] = [str(v) for result in designs.designs for v in result.violated]
        content["relaxed"] = list(designs.relaxed)
        content["prior"] = list(plan.prior_names)
        content["compared"] = {
            name: asdict(assess(model, basis, other.trajectory)) for name, other in others.items()
        }
        if designs.sequence is not None:
            content["trajectories"] = [str(path) for path in files]
            content["log_dets"] = list(designs.sequence.log_dets)
        if reasons is not None:
            content["explanation"] = reasons.sentences()
        content["contacts"] = contacts(model, trajectories, plan)
        return content

    def _design(self, trajectories: Sequence[Excitation], result: DesignResult) -> dict[str, Any]:
        """Return what is reported: criterion, use of the limits, expected accuracy."""
        model, basis = self.model, self.basis
        std = expected_accuracy(model, basis, trajectories, self.plan)
        finite = [float(value) if np.isfinite(value) else None for value in std]
        values = basis.of(model.parameters()).tolist()
        parts = zip(basis.names, basis.units, values, finite, strict=True)
        return {
            **asdict(assess(model, basis, trajectories[0])),
            "criterion": CRITERIA.name_of(self.plan.criterion),
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


def _print_design(designs: Designs, content: dict[str, Any], reasons: Explanation | None) -> None:
    path, number = designs.trajectories[0], output.number
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
    if reasons is not None:
        for sentence in reasons.sentences():
            output.print_line(f"  {sentence}")
        output.print_line()
    rows = [
        [p["name"], p["unit"], number(p["nominal"]), number(p["expected_std"], 2)]
        for p in content["base_parameters"]
    ]
    title = "expected accuracy, torque noise 1 % of RMS, white, motion exactly known"
    if len(designs.trajectories) > 1:
        title += f", from all {len(designs.trajectories)} trajectories"
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
        [name, *(output.number(worth[key]) for key in ("log_det", "cond_raw", "cond_normalized"))]
        for name, worth in content["compared"].items()
    ]
    columns = ["criterion", "log det", "condition number", "with unit columns"]
    output.print_table("designs side by side", columns, rows)
    output.print_line()
