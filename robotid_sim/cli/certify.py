"""``robotid certify``: generated in one engine, proved in the other."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options, output
from robotid_sim.cli.command_line import command_line
from robotid_sim.cli.progress_line import progress_line
from robotid_sim.files import FILE_SPACE, write_json
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import kept_workers
from robotid_sim.report.certificate_report import (
    certificate_finding,
    certificate_report,
    proof_table,
)
from robotid_sim.report.page import write_page
from robotid_sim.report.tables import check_table
from robotid_sim.result_folder import Run, result_folder
from robotid_sim.study.build import build_robot, build_setup
from robotid_sim.study.certificate import Certificate, both_engines, certificate
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.setup import Setup

PAGE, VALUES, FIGURES = "certificate.html", "certificate.json", "figures"


@options.for_study(
    *("seed", "plugin", "quick", "nominal", "preset"),
    *("plant_friction", "plant_drive", "no_clearance"),
)
def certify(
    robot: options.RobotArg,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="Folder for the results.")
    ],
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Studies, of the seeds from --seed on, judged together."
        ),
    ] = 1,
    json: options.Json = False,
    workers: options.Workers = None,
    *,
    study: StudyConfig,
) -> int:
    """Prove that a study does not depend on the engine: identify in one, prove in the other.

    The same excitation runs in PyBullet and in MuJoCo, with independent sensor noise. Both logs are
    identified; either model predicts the unseen log of either engine and runs the closed loop
    there. The difference of the two estimates is tested against their covariances. Writes
    certificate.html, certificate.json, figures/ and manifest.json into OUT when all is done. Exit 1
    if a check fails.
    """
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
        page = certificate_report(done, plant, options.recipe(study))
        write_page(page, folder / PAGE, folder / FIGURES, progress, count)
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
