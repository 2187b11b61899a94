"""Page and text of an excitation design."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.pipeline.design import DesignSummary
from robotid_sim.pipeline.excitation import contact_notes
from robotid_sim.report.figures.excitation import (
    MOTION_NAME,
    design_convergence,
    information_shares,
)
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import Replay, trajectory_motion
from robotid_sim.report.sections import Recipe, excitation_section, make_closing_sections
from robotid_sim.report.tables import accuracy_table, criteria_table
from robotid_sim.report.text import Text, select_assumptions
from robotid_sim.section import Section, fold, number, percent
from robotid_sim.table import Table
from robotid_sim.trajectory.reference import run_time

if TYPE_CHECKING:
    from robotid_sim.excitation.explain import Explanation


CRITERIA_HEADING = (
    "The same problem with other criteria; the table above lists every parameter. The condition "
    "number with unit columns ignores the amplitude of a motion: by it alone, motions become small "
    "and parameters uncertain."
)


def tabulate_accuracy(summary: DesignSummary) -> Table:
    """Tabulate the expected accuracy of every base parameter."""
    values = summary.basis.project(summary.nominal.parameters())
    return accuracy_table(summary.basis, values, summary.std, summary.other_std)


def tabulate_criteria(summary: DesignSummary) -> Table:
    """Compare the designs by several criteria."""
    return criteria_table(summary.other_assessed, summary.other_std)


def design_report(summary: DesignSummary, recipe: Recipe) -> Page:
    """Build the report of an excitation design."""
    nominal, basis, assessed = summary.nominal, summary.basis, summary.first_quality
    design, path = summary.designs.designs[0], summary.designs.trajectories[0]
    weak = int((MAX_RELATIVE_STD * np.abs(basis.project(nominal.parameters())) < summary.std).sum())
    criterion = summary.criterion
    convergence = design_convergence(summary.designs.designs, criterion)
    motions = [
        trajectory_motion(nominal, each, MOTION_NAME if k == 1 else f"{MOTION_NAME} {k}")
        for k, each in enumerate(summary.designs.trajectories, start=1)
    ]
    source = f", from all {len(motions)} trajectories together" if len(motions) > 1 else ""
    source += " with the prior information" if summary.plan.prior_names else ""
    sections = [
        excitation_section(
            path,
            nominal,
            assessed,
            _facts_of(summary),
            contact_notes(summary.contacts),
            convergence,
        ),
        Section(
            title="Expected accuracy",
            text="Standard deviation of every base parameter for white torque noise of 1 % of the "
            f"RMS torque and exactly known motion: the Cramér-Rao bound{source}.",
            tables=(tabulate_accuracy(summary),),
        ),
    ]
    if summary.others:
        sections.append(
            Section(
                title="Comparison of criteria",
                text=CRITERIA_HEADING,
                tables=(tabulate_criteria(summary),),
            )
        )
    if summary.explanation is not None:
        sections.append(_explanation_section(summary.explanation))
    return Page(
        title=f"Excitation of {nominal.name}",
        finding=f"The design improves {criterion} from "
        f"{number(design.value_before)} (best random candidate) to {number(design.value_after)}; "
        f"{basis.rank - weak} of {basis.rank} base parameters are expected to 10 % or better.",
        facts=(
            ("base parameters", str(basis.rank)),
            ("duration", f"{path.duration - path.start:g} s"),
            ("condition number", number(assessed.cond_raw, 3)),
            ("with unit columns", number(assessed.cond_normalized, 3)),
        ),
        sections=(
            *sections,
            *map(fold, make_closing_sections(nominal, summary.assumptions, "nominal", recipe)),
        ),
        replay=Replay(nominal, tuple(motions)),
    )


def _explanation_section(explanation: "Explanation") -> Section:
    first, *notes = explanation.sentences()
    return Section(
        title="Well and weakly identifiable parameters",
        text=first,
        charts=(information_shares(explanation),),
        notes=tuple(notes),
    )


def _facts_of(summary: DesignSummary) -> list[tuple[str, str]]:
    designs, criterion = summary.designs, summary.criterion
    design, path = designs.designs[0], designs.trajectories[0]
    facts = [
        ("family", summary.family),
        ("duration of a run", f"{run_time(path):g} s"),
        (f"{criterion}, best random candidate", number(design.value_before)),
        (f"{criterion}, design", number(design.value_after)),
        ("solver", design.message),
    ]
    facts += [("violated", str(v)) for part in designs.designs for v in part.violated]
    facts += [("relaxed", text) for text in designs.relaxed]
    if designs.sequence is not None:
        dets = ", ".join(number(value) for value in designs.sequence.log_dets)
        facts.append(("log det of the information after each trajectory", dets))
    return facts


def design_text(summary: DesignSummary) -> Iterator[Text]:
    """Report designs on the terminal."""
    content = summary.content()
    path = summary.designs.trajectories[0]
    yield (
        f"{content['robot']}: {content['family']}, runs of {run_time(path):g} s, "
        f"{path.duration - path.start:g} s of motion in all"
    )
    yield (
        f"{content['criterion']}, {content['criterion_symbol']}: "
        f"{number(content['criterion_before'])} best random candidate, "
        f"{number(content['criterion_after'])} design ({content['message']})"
    )
    yield (
        f"condition number of the base regressor: {number(content['cond_raw'])} raw, "
        f"{number(content['cond_normalized'])} with unit columns"
    )
    kinds = ("position", "velocity", "acceleration", "torque")
    uses = (f"{kind} {percent(content[f'{kind}_ratio'])}" for kind in kinds)
    yield f"use of the limits by the nominal model: {', '.join(uses)}"
    for key, word in (("violated", "VIOLATED"), ("relaxed", "RELAXED"), ("contacts", "CONTACT")):
        for text in content[key]:
            yield f"{word}: {text}"
    yield from select_assumptions(content["assumptions"])
    if "log_dets" in content:
        dets = ", ".join(number(value) for value in content["log_dets"])
        yield f"log det of the information after each trajectory: {dets}"
    if summary.others:
        yield "comparison of designs"
        yield tabulate_criteria(summary)
    for sentence in content.get("explanation", ()):
        yield f"  {sentence}"
    values = np.abs(summary.basis.project(summary.nominal.parameters()))
    accurate = int((summary.std < MAX_RELATIVE_STD * values).sum())
    yield (
        f"with torque noise of 1 % of the RMS torque, {accurate} of {len(values)} base parameters "
        "are expected to 10 % or better"
    )


MAX_RELATIVE_STD = 0.1
"""Largest relative standard deviation of an accurate parameter."""


def design_details(summary: DesignSummary) -> Iterator[Text]:
    """Report the expected accuracy of every base parameter."""
    yield ""
    title = "expected accuracy, torque noise 1 % of RMS, white, motion exactly known"
    trajectories = summary.designs.trajectories
    if len(trajectories) > 1:
        title += f", from all {len(trajectories)} trajectories"
    yield title + (", with the prior" if summary.plan.prior_names else "")
    yield tabulate_accuracy(summary)
