"""A validation: its page, and its text."""

from collections.abc import Iterator

from robotid_sim.pipeline.excitation import contact_notes
from robotid_sim.pipeline.validate import Validation
from robotid_sim.report.closing import Recipe, closing
from robotid_sim.report.loop_section import loop_section, model_table
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import LOG, Replay, in_motion, log_motion, loop_motions
from robotid_sim.report.sections import prediction_section
from robotid_sim.report.tables import check_table, prediction_table
from robotid_sim.report.text import Text, doubt_text
from robotid_sim.section import Section, percent


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
    gap = loop.gap_left(plant.joint_units)
    finding = (
        f"{len(loop.runs)} closed-loop runs were compared: models {', '.join(loop.models)}; "
        f"scenarios {', '.join(loop.scenarios)}."
    )
    if gap is not None:
        finding = (
            f"In the closed loop the identified model closed {percent(1.0 - gap)} of the tracking "
            "gap between the nominal and the true model."
        )
    return Page(
        title=f"Validation of an estimate of {plant.name}",
        finding=finding,
        passed=done.passed,
        sections=(*sections, *closing(plant, plant.assumptions, "true", recipe)),
        replay=Replay(plant, tuple(motions)) if motions else None,
    )


def validate_text(done: Validation) -> Iterator[Text]:
    """Return prediction, loops and checks."""
    loop = done.loop
    yield f"{done.plant.name}: {done.lift.message}"
    yield (
        f"bandwidth {loop.gains.bandwidth:.4g} rad/s; error bound under the disturbance "
        + " ".join(f"{1e3 * bound:.3g}" for bound in loop.gains.error_bound)
        + " (10^-3 rad or m)"
    )
    if loop.gains.limited:
        joints = ", ".join(loop.gains.limited)
        yield f"the error bound is above the specified error at {joints}"
    if done.predicted is not None:
        yield ""
        yield "prediction of the log"
        yield prediction_table(*done.predicted)
    yield ""
    yield model_table(loop, done.plant.joint_units)
    yield ""
    yield check_table(done.checks)
    yield from contact_notes(done.contacts)
    yield from doubt_text(done.doubt)
