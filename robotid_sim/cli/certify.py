"""``robotid certify``: identify in one engine, validate in the other."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command

PAGE, VALUES, FIGURES = "certificate.html", "certificate.json", "figures"


@command(
    *("seed", "plugin", "quick", "nominal", "preset"),
    *("plant_friction", "plant_drive", "no_clearance"),
)
def certify(
    robot: options.RobotArg,
    out: Annotated[Path, options.output_option("Folder for the results.", "FOLDER")],
    seeds: Annotated[
        int,
        options.value(
            "N",
            "Number of studies with consecutive seeds from --seed on, pooled for one verdict.",
            min=1,
            max=10_000,
        ),
    ] = 1,
    no_replay: options.NoReplay = False,
    json: options.Json = False,
    workers: options.Workers = None,
    junit: options.JunitFile = None,
    *,
    study: options.Configuration,
) -> int:
    """Test that a study does not depend on the engine: identify in one, validate in the other.

    The same excitation runs in PyBullet and in MuJoCo, with independent sensor noise. Both logs are
    identified; either model predicts the unseen log of either engine and runs the closed loop
    there. The difference of the two estimates is tested against their covariances. Writes
    certificate.html, certificate.json, figures/ and manifest.json into OUT when all is done. Exit 1
    if a check fails.
    """
    import os

    from robotid_sim.cli.study_options import recipe
    from robotid_sim.files import FILE_SPACE, write_json
    from robotid_sim.pipeline.build_robot import build_robot
    from robotid_sim.pipeline.certificate import certify as run_certificate
    from robotid_sim.pipeline.engine_comparison import both_engines
    from robotid_sim.report.comparison_report import certificate_report, certify_text
    from robotid_sim.report.page import write_page
    from robotid_sim.report.text import verdict_cases, write_junit
    from robotid_sim.result_folder import Run, result_folder

    output.begin(junit)
    both_engines()
    plant, count = build_robot(robot, study.robot), workers or os.cpu_count() or 1
    run = Run("certificate", plant.name, output.command_line())
    with (
        result_folder(out, (PAGE, VALUES, FIGURES), run, FILE_SPACE) as folder,
        output.progress_line() as progress,
    ):
        certificate = run_certificate(plant, study, seeds=seeds, workers=count, progress=progress)
        page = certificate_report(certificate, plant, recipe(study))
        write_page(page, folder / PAGE, folder / FIGURES, progress, count, replay=not no_replay)
        write_json(folder / VALUES, "certificate", 1, certificate.content())
    write_junit(junit, f"certify {plant.name}", verdict_cases(certificate.verdict))
    written = [*(out / name for name in (PAGE, VALUES, FIGURES)), junit]
    output.print_result(certificate.content(), certify_text(certificate), written, as_json=json)
    return 0 if certificate.verdict.passed else 1
