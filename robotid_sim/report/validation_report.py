"""The report of a validation."""

from robotid_sim.pipeline.validate import Validation
from robotid_sim.report.closing import Recipe, closing
from robotid_sim.report.loop_section import loop_section
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import LOG, Replay, in_motion, log_motion, loop_motions
from robotid_sim.report.sections import prediction_section
from robotid_sim.report.tables import check_table
from robotid_sim.section import Section, percent
from robotid_sim.validation.closed_loop import ClosedLoop


def validation_report(done: Validation, recipe: Recipe) -> Page:
    """Return the report of a validation."""
    plant, loop, predicted = done.plant, done.loop, done.predicted
    log, estimate = done.unseen, done.estimate
    sections = [Section(title="Verdict", tables=(check_table(done.checks),))]
    if predicted is not None:
        section = prediction_section(*predicted, estimate.noise_std, "given")
        sections.append(in_motion(section, LOG))
    sections.append(loop_section(loop, plant))
    motions = loop_motions(plant, loop)
    if predicted is not None and log is not None:
        motions.append(log_motion(plant, log, LOG, predicted[0], estimate.noise_std))
    return Page(
        title=f"Validation of an estimate of {plant.name}",
        finding=_finding(loop, loop.gap_left(plant.joint_units)),
        passed=done.passed,
        sections=(*sections, *closing(plant, plant.assumptions, "true", recipe)),
        replay=Replay(plant, tuple(motions)) if motions else None,
    )


def _finding(loop: ClosedLoop, gap: float | None) -> str:
    if gap is None:
        return (
            f"{len(loop.runs)} closed-loop runs were compared: models {', '.join(loop.models)}; "
            f"scenarios {', '.join(loop.scenarios)}."
        )
    return (
        f"In the closed loop the identified model closed {percent(1.0 - gap)} of the tracking gap "
        "between the nominal and the true model."
    )
