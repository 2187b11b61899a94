"""``robotid certify``: generated in one engine, proved in the other."""

import os
from functools import partial
from pathlib import Path

from robotid_sim.cli import output
from robotid_sim.cli.command_line import command_line
from robotid_sim.cli.study_options import recipe
from robotid_sim.files import FILE_SPACE, write_json
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import kept_workers
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.certificate import Certificate, certificate
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.crossing import both_engines
from robotid_sim.pipeline.setup import Setup
from robotid_sim.progress_display import progress_line
from robotid_sim.report.certificate_report import (
    certificate_finding,
    certificate_report,
    proof_table,
)
from robotid_sim.report.page import write_page
from robotid_sim.report.tables import check_table
from robotid_sim.result_folder import Run, result_folder

PAGE, VALUES, FIGURES = "certificate.html", "certificate.json", "figures"


def certify(
    *,
    robot: str,
    out: Path,
    seeds: int,
    no_replay: bool,
    json: bool,
    workers: int | None,
    study: StudyConfig,
) -> int:
    """Do ``robotid certify``; its words are in `cli.syntax.certify`."""
    both_engines()
    plant = build_robot(robot, study.robot)
    count = workers or os.cpu_count() or 1
    numbers = range(study.seed, study.seed + seeds)
    run = Run("certificate", plant.name, command_line())
    with (
        result_folder(out, (PAGE, VALUES, FIGURES), run, FILE_SPACE) as folder,
        progress_line(enabled=not json) as progress,
        kept_workers(),
    ):
        done = certificate(
            partial(_setup_of_seed, plant, study), numbers, workers=count, progress=progress
        )
        page = certificate_report(done, plant, recipe(study))
        write_page(page, folder / PAGE, folder / FIGURES, progress, count, replay=not no_replay)
        write_json(folder / VALUES, "certificate", 1, done.content())
    if json:
        output.print_json(done.content())
    else:
        _print(done)
        output.print_written(out / name for name in (PAGE, VALUES, FIGURES))
    return 0 if done.verdict.passed else 1


def _setup_of_seed(plant: Robot, study: StudyConfig, seed: int) -> Setup:
    return build_setup(plant, study.model_copy(update={"seed": seed}))


def _print(done: Certificate) -> None:
    seeds = [crossing.seed for crossing in done.crossings]
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    output.print_line(f"{done.robot}: {which}")
    output.print_line()
    output.print_table(proof_table(done))
    output.print_line()
    output.print_table(check_table(done.verdict.checks))
    output.print_line()
    output.print_line(certificate_finding(done))
    output.print_line(f"verdict: {'PASSED' if done.verdict.passed else 'FAILED'}")
