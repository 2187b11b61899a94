"""``robotid run``: the whole study."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from robotid_sim.cli import output
from robotid_sim.cli.command_line import command_line
from robotid_sim.cli.loading import load_kernels
from robotid_sim.cli.view import show_motion
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import kept_workers, run_ahead
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.contacts import contact_notes
from robotid_sim.pipeline.folder import FILES, require_study_folder, study_folder
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.pipeline.setup import Setup
from robotid_sim.pipeline.study import Study, study_in
from robotid_sim.progress import Progress
from robotid_sim.progress_display import progress_line
from robotid_sim.report.loop_section import model_table
from robotid_sim.report.page import write_page
from robotid_sim.report.study_report import study_report
from robotid_sim.report.tables import (
    check_table,
    filter_table,
    joint_table,
    nees_band,
    nees_of,
    scored_table,
)
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.display import require_display

_log = logging.getLogger(__name__)


def run(
    *,
    robot: str,
    out: Path,
    estimator: list[str] | None,
    dry_run: bool,
    view: bool,
    json: bool,
    workers: int | None,
    meshes: MeshMode,
    no_replay: bool,
    study: StudyConfig,
) -> int:
    """Do ``robotid run``; its words are in `cli.syntax.run`."""
    began = time.perf_counter()
    study = study.with_estimators(estimator or ())
    plant = build_robot(robot, study.robot)
    if dry_run:
        setup = build_setup(plant, study)
        require_study_folder(out, setup, command_line())
        _print_plan(setup, study, out, as_json=json)
        return 0
    if view:
        require_display()
    count = workers or os.cpu_count() or 1
    with kept_workers():
        run_ahead(partial(load_kernels, study.experiment.engine), count)
        setup = build_setup(plant, study)
        with study_folder(out, setup, command_line()) as folder, _log_file(folder / "run.log"):
            with progress_line(enabled=not json) as progress:
                done = study_in(folder, setup, workers=count, meshes=meshes, progress=progress)
                _write_report(done, folder, count, progress, replay=not no_replay)
    result = done.result
    if json:
        output.print_json(result.content())
    else:
        print_result(done, out, time.perf_counter() - began)
    if view:
        show_motion(Animation.of_log(plant, done.log), models=_models(done))
    return 0 if result.verdict.passed else 1


def _models(done: Study) -> dict[str, Robot]:
    models = {"true": done.setup.cell.plant, "nominal": done.setup.nominal}
    if done.fit.lift is not None:
        models["identified"] = done.fit.lift.robot
    return models


def _write_report(
    done: Study, folder: Path, workers: int, progress: Progress, *, replay: bool
) -> None:
    began = time.perf_counter()
    page = study_report(done, command_line())
    write_page(page, folder / "report.html", folder / "figures", progress, workers, replay=replay)
    _log.info("report: %.2f s", time.perf_counter() - began)


@contextmanager
def _log_file(path: Path) -> Iterator[None]:
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    logger = logging.getLogger("robotid_sim")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


def _print_plan(setup: Setup, study: StudyConfig, out: Path, *, as_json: bool) -> None:
    plant, family = setup.cell.plant, setup.excitation.family
    plan = {
        "robot": plant.name,
        "dof": plant.dof,
        "joint_names": list(plant.joint_names),
        "base_parameters": setup.basis.rank,
        "excitation_s": family.periods * family.period,
        "candidates": study.design.candidates,
        "sensors": study.sensors,
        "preprocessor": study.preprocess.name,
        "estimators": list(setup.fit.estimators),
        "seed": study.seed,
        "out": str(out),
        "files": list(FILES),
        "assumptions": setup.assumptions,
    }
    if as_json:
        output.print_json(plan)
        return
    for key, value in plan.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        output.print_line(f"{key:16} {text}")


def print_result(done: Study, folder: Path, seconds: float) -> None:
    """Print a study as a person reads it: what was done, how good, the verdict."""
    result, chosen = done.result, done.result.chosen_estimate
    _print_setting(result)
    output.print_line()
    output.print_table(joint_table(result))
    output.print_line()
    ratios = [
        abs(p.value - p.true) / p.std
        for p in chosen.base_parameters
        if p.std is not None and p.true is not None
    ]
    if ratios:
        nees = nees_of(result)
        text = "" if nees is None else f"; NEES of WLS {nees:.3g}, {nees_band(result)}"
        output.print_line(
            f"base parameters: |error| / std median {np.median(ratios):.2f}, worst "
            f"{max(ratios):.2f}{text}"
        )
        output.print_line()
    tables = [scored_table(result)]
    if result.preprocessing.compared:
        noise = result.measurement.torque_noise_std
        tables.append(filter_table(result.preprocessing.compared, noise))
    if done.loop is not None and done.loop.runs:
        tables.append(model_table(done.loop, result.robot.joint_units))
    tables.append(check_table(result.verdict.checks))
    for table in tables:
        output.print_table(table)
        output.print_line()
    verdict = "PASSED" if result.verdict.passed else "FAILED"
    output.print_line(f"verdict: {verdict} in {seconds:.1f} s; see {folder / 'report.html'}")
    output.print_written(path for path in (folder / name for name in FILES) if path.exists())


def _print_setting(result: StudyResult) -> None:
    robot, path = result.robot, result.trajectory
    output.print_line(
        f"{robot.name}: {robot.dof} joints, {len(result.chosen_estimate.base_parameters)} base "
        f"parameters, seed {result.seed}"
    )
    for note in result.assumptions:
        output.print_line(f"  assumed: {note}")
    output.print_line(
        f"excitation: {path.family}, {path.criterion}, {path.duration_s:g} s of motion; "
        f"condition number {path.cond_raw:.3g} raw, {path.cond_normalized:.3g} normalized; uses "
        f"{path.max_position_ratio:.0%} of position, {path.max_velocity_ratio:.0%} of velocity, "
        f"{path.max_torque_ratio_nominal:.0%} of torque limits"
    )
    if (path.max_torque_ratio_true or 0.0) > 1.0:
        output.print_line(
            f"  the true model needs {path.max_torque_ratio_true:.0%} of a torque limit, which the "
            "nominal model did not foresee; lower torque_ratio or state an uncertainty"
        )
    for note in contact_notes(result.contacts):
        output.print_line(f"  {note}")
    if result.preprocessing.message:
        output.print_line("preprocessing:")
        for decision in result.preprocessing.message.split("; "):
            output.print_line(f"  {decision}")
