"""``robotid validate``: an estimate on unseen data and in the closed loop."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robotid_sim.cli import logs, output
from robotid_sim.cli.predict import estimates_of, predict_file
from robotid_sim.cli.study_options import recipe
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import FileFormatError
from robotid_sim.estimation.consistent import Lift
from robotid_sim.estimation.estimate import Estimate, load_chosen
from robotid_sim.files import require_writable, write_json
from robotid_sim.importing.reading import ReadLog
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.progress_display import progress_line
from robotid_sim.report.loop_section import model_table
from robotid_sim.report.page import write_page
from robotid_sim.report.tables import check_table, prediction_table
from robotid_sim.report.validation_report import validation_report
from robotid_sim.streams import Streams
from robotid_sim.study.build import build_cell, build_comparison, build_models, build_preprocessor
from robotid_sim.study.build_design import build_space
from robotid_sim.study.build_robot import build_basis, build_nominal, build_robot
from robotid_sim.study.compared_models import compared_models
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.contacts import contact_notes, contacts
from robotid_sim.study.result import CheckResult, ContactResult
from robotid_sim.study.stages import lift_estimate
from robotid_sim.study.study import save_failures, saved_if_diverged
from robotid_sim.study.verdict import loop_checks
from robotid_sim.validation.closed_loop import ClosedLoop, closed_loop
from robotid_sim.validation.log_prediction import with_friction_velocity, with_gravity
from robotid_sim.validation.prediction import Prediction, predictions

CSV = "csv"
"""Task whose path is a file."""


def validate(
    *,
    robot: str,
    estimate: Path,
    log: Path | None,
    out: Path | None,
    controller: list[str] | None,
    task: list[str] | None,
    scenario: list[str] | None,
    model: list[str] | None,
    runs: int | None,
    report: Path | None,
    no_replay: bool,
    force: bool,
    json: bool,
    workers: int | None,
    study: StudyConfig,
) -> int:
    """Do ``robotid validate``; its words are in `cli.syntax.validate`."""
    for path in filter(None, (out, report)):
        require_writable(path)
    unseen = None if log is None else load_log(log)
    if log is not None and unseen is not None and unseen.origin == "machine":
        given = (robot, estimate, log, None)
        return predict_file(
            *given, study, out=out, report=report, no_replay=no_replay, force=force, json=json
        )
    study = _with_choices(study, controller, task, scenario, model, runs)
    plant = build_robot(robot, study.robot)
    nominal = with_gravity(build_nominal(plant, study), load_chosen(estimate)[2])
    basis = build_basis(nominal, study)
    estimates, chosen, context = estimates_of(estimate, plant, basis)
    nominal = with_friction_velocity(nominal, context)
    others = build_models(plant, study.control, tuple(e.estimator for e in estimates))
    lifted = _lifted(chosen, nominal, basis, estimate)
    against = _contradicted(unseen, str(log), nominal, basis, force=force)
    predicted = None if unseen is None else _predicted(chosen, unseen, nominal, basis, study)
    cell, space = build_cell(plant, nominal, study), build_space(nominal, study)
    comparison = replace(build_comparison(study.control), space=space)
    beside = out or estimate
    diverged = saved_if_diverged(beside.with_name(f"{beside.stem}-diverged.h5"))
    with progress_line(enabled=not json) as progress, diverged:
        count, rng = workers or os.cpu_count() or 1, Streams(study.seed)("control")
        models = compared_models(lifted.robot, estimates, nominal, basis, others)
        loop = closed_loop(cell, nominal, models, rng, comparison, workers=count, progress=progress)
        save_failures(loop, beside.parent, f"{beside.stem}-")
    checks = loop_checks(plant, loop, study.validation)
    touching = _contacts(nominal, loop, None if space is None else space.floor)
    content = _content(plant, chosen, lifted, predicted, loop, checks, touching, against)
    if out is not None:
        write_json(out, "validation", 1, content)
    if report is not None:
        page = validation_report(plant, chosen, predicted, loop, checks, recipe(study), unseen)
        write_page(page, report, replay=not no_replay)
    if json:
        output.print_json(content)
    else:
        _print(plant, lifted, predicted, loop, checks, touching)
        logs.print_doubt(against)
        output.print_written([out, report])
    return 0 if all(check.passed for check in checks) and not against else 1


def _contradicted(
    unseen: Log | None, name: str, nominal: Robot, basis: BaseParameters, *, force: bool
) -> str:
    """Return what contradicts the log, in spite of which it is used; empty if nothing does."""
    read = [] if unseen is None else [ReadLog(unseen.require_robot(nominal), name)]
    return logs.contradicted(read, nominal, basis, force=force).errors


def _contacts(nominal: Robot, loop: ClosedLoop, floor: float | None) -> list[ContactResult]:
    """Return the links that touch on the paths of the tasks."""
    return contacts(nominal, {task.name: task.trajectory for task in loop.tasks}, floor)


def _lifted(chosen: Estimate, nominal: Robot, basis: BaseParameters, path: Path) -> Lift:
    """Return the robot of an estimate; raise `FileFormatError` if the fit in a file failed."""
    lifted = lift_estimate(chosen, nominal, basis)
    if lifted is None:
        why = f"the chosen fit failed: {chosen.message}"
        if chosen.success:
            why = "no robot that can exist is known to be near the chosen estimate"
        raise FileFormatError(f"{path}: {why}")
    return lifted


def _predicted(
    chosen: Estimate, unseen: Log, nominal: Robot, basis: BaseParameters, study: StudyConfig
) -> tuple[Prediction, Prediction]:
    """Return what the estimate and what the nominal model predict of a log."""
    motion = build_preprocessor(study.preprocess)(unseen, nominal)
    return predictions(chosen.beta, unseen, motion, nominal, basis)


def _content(
    plant: Robot,
    chosen: Estimate,
    lifted: Lift,
    predicted: tuple[Prediction, Prediction] | None,
    loop: ClosedLoop,
    checks: Sequence[CheckResult],
    touching: Sequence[ContactResult],
    against: str,
) -> dict[str, Any]:
    rms = None if predicted is None else predicted[0].torque_rms.tolist()
    relative = None if predicted is None else predicted[0].torque_rms_relative.tolist()
    return {
        "robot": plant.name,
        "estimator": chosen.estimator,
        "identified": lifted.message,
        "bandwidth": loop.gains.bandwidth,
        "error_bound": loop.gains.error_bound.tolist(),
        "bandwidth_limited": list(loop.gains.limited),
        "torque_rms": rms,
        "torque_rms_relative": relative,
        "control": [run.content() for run in loop.runs],
        "contacts": [str(contact) for contact in touching],
        "checks": [check.model_dump(mode="json") for check in checks],
        **({"doubt": against} if against else {}),
    }


def _print(
    plant: Robot,
    lifted: Lift,
    predicted: tuple[Prediction, Prediction] | None,
    loop: ClosedLoop,
    checks: Sequence[CheckResult],
    touching: Sequence[ContactResult],
) -> None:
    output.print_line(f"{plant.name}: {lifted.message}")
    output.print_line(
        f"bandwidth {loop.gains.bandwidth:.4g} rad/s; error bound under the disturbance "
        + " ".join(f"{1e3 * bound:.3g}" for bound in loop.gains.error_bound)
        + " (10^-3 rad or m)"
    )
    if loop.gains.limited:
        joints = ", ".join(loop.gains.limited)
        output.print_line(f"the error bound is above the specified error at {joints}")
    if predicted is not None:
        output.print_line()
        output.print_line("prediction of the log")
        output.print_table(prediction_table(*predicted))
    output.print_line()
    output.print_table(model_table(loop, plant.joint_units))
    output.print_line()
    output.print_table(check_table(checks))
    for note in contact_notes(touching):
        output.print_line(note)


def _with_choices(
    study: StudyConfig,
    controllers: list[str] | None,
    tasks: list[str] | None,
    scenarios: list[str] | None,
    models: list[str] | None,
    runs: int | None,
) -> StudyConfig:
    """Return the study with the choices of the command line; options by task stay."""
    control = study.control
    choices: dict[str, Any] = {
        "controllers": None if controllers is None else tuple(controllers),
        "tasks": None if tasks is None else dict(_task(word, control.tasks) for word in tasks),
        "scenarios": None if scenarios is None else tuple(scenarios),
        "models": None if models is None else tuple(models),
        "runs": runs,
    }
    choices = {key: value for key, value in choices.items() if value is not None}
    return study.model_copy(update={"control": control.model_copy(update=choices)})


def _task(word: str, tasks: Mapping[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return name and options of a task; after ``csv:`` stands the file of its path."""
    name, _, file = word.partition(":")
    if name != CSV or not file:
        return word, tasks.get(word, {})
    return CSV, {**tasks.get(CSV, {}), "path": file}
