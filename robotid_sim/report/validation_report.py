"""The report of a validation."""

from collections.abc import Sequence

from robotid_sim.estimation import Estimate
from robotid_sim.model.robot import Robot
from robotid_sim.report.page import Page, Section
from robotid_sim.report.sections import loop_section, prediction_section
from robotid_sim.report.wording import assumptions, check_table, percent, reproduction
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.result import CheckResult, ControlResult
from robotid_sim.validation.closed_loop import ClosedLoop
from robotid_sim.validation.prediction import Prediction


def validation_report(
    plant: Robot,
    estimate: Estimate,
    predicted: tuple[Prediction, Prediction] | None,
    loop: ClosedLoop,
    runs: Sequence[ControlResult],
    checks: Sequence[CheckResult],
    config: StudyConfig,
    command: str,
    versions: dict[str, str],
) -> Page:
    """Return the report of a validation.

    Parameters
    ----------
    plant : Robot
        The truth.
    estimate : Estimate
        What was validated.
    predicted : tuple of Prediction, optional
        Of the identified and of the nominal model on an unseen log.
    loop, runs, checks
        The closed loop, its runs as in the result, and the checks on it.
    config, command, versions
        How to do it again.
    """
    passed = all(check.passed for check in checks)
    gap = loop.gap_left(plant.joint_units)
    sections = [Section(title="Verdict", tables=(check_table(checks),))]
    if predicted is not None:
        sections.append(prediction_section(*predicted, estimate.noise_std))
    sections.append(loop_section(loop, runs, plant))
    return Page(
        title=f"Validation of an estimate of {plant.name}",
        finding=f"In the closed loop the identified model closed {percent(1.0 - gap)} of the "
        "tracking gap between the nominal and the true model.",
        passed=passed,
        sections=(
            *sections,
            assumptions(plant, plant.assumptions, "true"),
            reproduction(command, config, versions),
        ),
    )
