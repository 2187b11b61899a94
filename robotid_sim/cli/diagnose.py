"""``robotid diagnose``: what is wrong with a log or with the model for it."""

from pathlib import Path

from robotid_sim.cli import logs, output
from robotid_sim.diagnostics import diagnosis
from robotid_sim.diagnostics.cause import NOTHING, SMALL, Diagnosis
from robotid_sim.pipeline.build_robot import build_basis, build_nominal_of_log, build_robot
from robotid_sim.pipeline.config import StudyConfig


def diagnose(*, robot: str, log: Path, mapping: Path | None, json: bool, study: StudyConfig) -> int:
    """Do ``robotid diagnose``; its words are in `cli.syntax.diagnose`."""
    model = build_robot(robot, study.robot)
    read = logs.read_one(log, model, mapping)
    nominal = build_nominal_of_log(model, read.log, study)
    result = diagnosis.diagnose(
        read.log, nominal, build_basis(nominal, study, read.log.torque_measured)
    )
    if json:
        output.print_json({"robot": model.name, **result.content()})
    else:
        logs.print_notes([read])
        _print(result)
    return 0 if result.healthy else 1


def _print(result: Diagnosis) -> None:
    if result.healthy:
        output.print_line(NOTHING)
        output.print_line(SMALL)
    for number, cause in enumerate(result.causes, start=1):
        output.print_line(f"{number}. {cause.kind}: {cause.sentence}")
        output.print_line(f"   Evidence: {cause.evidence}.")
        output.print_line(f"   Remedy: {cause.remedy}.")
    for sentence in result.unseen:
        output.print_line(sentence)
