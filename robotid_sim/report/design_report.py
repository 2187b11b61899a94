"""The report of an excitation design."""

from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.pipeline.contacts import contact_notes
from robotid_sim.pipeline.design import DesignSummary
from robotid_sim.pipeline.excitation import Designs
from robotid_sim.report.closing import Recipe, closing
from robotid_sim.report.figures.excitation import EXCITATION, design_convergence, information_shares
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import Replay, trajectory_motion
from robotid_sim.report.robot_picture import robot_picture
from robotid_sim.report.sections import excitation_section
from robotid_sim.report.tables import accuracy_table, criteria_table
from robotid_sim.section import Section, number
from robotid_sim.table import Table
from robotid_sim.trajectory.reference import run_time

if TYPE_CHECKING:
    from robotid_sim.excitation.explain import Explanation
    from robotid_sim.excitation.plan import DesignPlan


def accuracy_of(summary: DesignSummary) -> Table:
    """Return the expected accuracy of every base parameter."""
    values = summary.basis.of(summary.nominal.parameters())
    return accuracy_table(summary.basis, values, summary.std, summary.other_std)


def criteria_of(summary: DesignSummary) -> Table:
    """Return the designs by several criteria side by side."""
    return criteria_table(summary.other_assessed, summary.other_std)


def design_report(summary: DesignSummary, recipe: Recipe) -> Page:
    """Return the report of an excitation design."""
    nominal, basis, assessed = summary.nominal, summary.basis, summary.assessed
    design, path = summary.designs.designs[0], summary.designs.trajectories[0]
    weak = int((np.abs(basis.of(nominal.parameters())) < 10.0 * summary.std).sum())
    criterion = summary.criterion
    convergence = design_convergence(summary.designs.designs, criterion)
    sections = [
        excitation_section(
            path,
            nominal,
            assessed,
            _facts_of(summary),
            contact_notes(summary.contacts),
            () if convergence is None else (convergence,),
            robot_picture(nominal, path),
        ),
        Section(
            title="Expected accuracy",
            text="Standard deviation of every base parameter for white torque noise of 1 % of "
            "the RMS torque and exactly known motion: the Cramér-Rao bound"
            f"{_from(summary.designs, summary.plan)}.",
            tables=(accuracy_of(summary),),
        ),
    ]
    if summary.others:
        text = (
            "The same problem by other criteria; the table above has every parameter. The "
            "condition number with unit columns does not know how large a motion is: by it alone, "
            "motions become small and parameters uncertain."
        )
        table = criteria_of(summary)
        sections.append(Section(title="Criteria side by side", text=text, tables=(table,)))
    if summary.explanation is not None:
        sections.append(_explained(summary.explanation))
    return Page(
        title=f"Excitation of {nominal.name}",
        finding=f"The design takes {criterion} from "
        f"{number(design.value_before)} (best random draw) to {number(design.value_after)}; "
        f"{basis.rank - weak} of {basis.rank} base parameters can be expected to 10 % or better.",
        facts=(
            ("base parameters", str(basis.rank)),
            ("duration", f"{path.duration - path.start:g} s"),
            ("condition number", number(assessed.cond_raw, 3)),
            ("with unit columns", number(assessed.cond_normalized, 3)),
        ),
        sections=(*sections, *closing(nominal, summary.assumptions, "nominal", recipe)),
        replay=_replay(summary),
    )


def _replay(summary: DesignSummary) -> Replay:
    """Return the trajectories; the first one is that of the charts."""
    nominal, (first, *others) = summary.nominal, summary.designs.trajectories
    motions = [trajectory_motion(nominal, first)]
    for k, other in enumerate(others, start=2):
        motions.append(trajectory_motion(nominal, other, f"{EXCITATION} {k}"))
    return Replay(nominal, tuple(motions))


def _from(designs: Designs, plan: "DesignPlan") -> str:
    """Return from what data the accuracy is expected, if from more than one trajectory."""
    count, existing = len(designs.trajectories), len(plan.prior_names)
    together = f", from all {count} trajectories together" if count > 1 else ""
    return together + (" with what exists already" if existing else "")


def _facts_of(summary: DesignSummary) -> list[tuple[str, str]]:
    designs, criterion = summary.designs, summary.criterion
    design, path = designs.designs[0], designs.trajectories[0]
    facts = [
        ("family", summary.family),
        ("time of a run", f"{run_time(path):g} s"),
        (f"{criterion}, best random draw", number(design.value_before)),
        (f"{criterion}, design", number(design.value_after)),
        ("solver", design.message),
    ]
    facts += [("violated", str(v)) for part in designs.designs for v in part.violated]
    facts += [("relaxed", text) for text in designs.relaxed]
    if designs.sequence is not None:
        dets = ", ".join(number(value) for value in designs.sequence.log_dets)
        facts.append(("log det of the information after each trajectory", dets))
    return facts


def _explained(explanation: "Explanation") -> Section:
    first, *rest = explanation.sentences()
    return Section(
        title="What the motion shows, and what it does not",
        text=first,
        charts=(information_shares(explanation),),
        notes=tuple(rest),
    )
