"""The report of an excitation design."""

from collections.abc import Mapping

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.design import Assessment, assess
from robotid_sim.excitation.explain import Explanation
from robotid_sim.excitation.optimal import DesignResult
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.model.robot import Robot
from robotid_sim.report.figures.excitation import information_shares
from robotid_sim.report.page import Page
from robotid_sim.report.recipe import Recipe
from robotid_sim.report.sections import excitation_section
from robotid_sim.report.wording import assumptions, relative_text, reproduction, unit_text
from robotid_sim.section import Section, Table, number
from robotid_sim.study.excitation import Designs, expected_accuracy
from robotid_sim.trajectory.reference import Excitation, run_time


def design_report(
    nominal: Robot,
    basis: BaseParameters,
    designs: Designs,
    others: Mapping[str, DesignResult],
    explanation: Explanation | None,
    plan: DesignPlan,
    recipe: Recipe,
) -> Page:
    """Return the report of an excitation design.

    Parameters
    ----------
    nominal : Robot
        The model that it was designed with.
    basis : BaseParameters
        The parameters it makes visible.
    designs : Designs
        The trajectories and how they came about.
    others : mapping of str to DesignResult
        Designs by other criteria, to compare.
    explanation : Explanation, optional
        Why some parameters are seen well and others badly.
    plan : DesignPlan
        What was asked for.
    recipe : Recipe
        How to do it again.
    """
    design, path = designs.designs[0], designs.trajectories[0]
    std = expected_accuracy(nominal, basis, designs.trajectories, plan)
    assessed = assess(nominal, basis, path)
    values = basis.of(nominal.parameters())
    weak = int((np.abs(values) < 10.0 * std).sum())
    compared = {
        name: expected_accuracy(nominal, basis, [other.trajectory], plan)
        for name, other in others.items()
    }
    sections = [
        excitation_section(path, nominal, assessed, _facts_of(designs, plan)),
        Section(
            title="Expected accuracy",
            text="Standard deviation of every base parameter for white torque noise of 1 % of "
            "the RMS torque and exactly known motion: the Cramér-Rao bound"
            f"{_from(designs, plan)}.",
            tables=(_expected_table(basis, values, std, compared),),
        ),
    ]
    if others:
        sections.append(_comparison(nominal, basis, others, compared))
    if explanation is not None:
        sections.append(_explained(explanation))
    return Page(
        title=f"Excitation of {nominal.name}",
        finding=f"The design takes {CRITERIA.name_of(plan.criterion)} from "
        f"{number(design.value_before)} (best random draw) to {number(design.value_after)}; "
        f"{basis.rank - weak} of {basis.rank} base parameters can be expected to 10 % or better.",
        facts=_design_facts(path, assessed, basis),
        sections=(
            *sections,
            assumptions(nominal, nominal.assumptions, "nominal"),
            reproduction(recipe),
        ),
    )


def _from(designs: Designs, plan: DesignPlan) -> str:
    """Return from what data the accuracy is expected, if from more than one trajectory."""
    count, existing = len(designs.trajectories), len(plan.prior_names)
    together = f", from all {count} trajectories together" if count > 1 else ""
    return together + (" with what exists already" if existing else "")


def _facts_of(designs: Designs, plan: DesignPlan) -> list[tuple[str, str]]:
    design, path = designs.designs[0], designs.trajectories[0]
    criterion = CRITERIA.name_of(plan.criterion)
    facts = [
        ("family", FAMILIES.name_of(plan.family)),
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


def _design_facts(
    path: Excitation, assessed: Assessment, basis: BaseParameters
) -> tuple[tuple[str, str], ...]:
    return (
        ("base parameters", str(basis.rank)),
        ("duration", f"{path.duration - path.start:g} s"),
        ("condition number", number(assessed.cond_raw, 3)),
        ("with unit columns", number(assessed.cond_normalized, 3)),
    )


def _expected_table(
    basis: BaseParameters, values: Float1D, std: Float1D, compared: Mapping[str, Float1D]
) -> Table:
    rows = []
    parts = zip(basis.names, basis.groupings, basis.units, values, std, strict=True)
    for k, (name, grouping, unit, value, deviation) in enumerate(parts):
        share = relative_text(float(deviation), float(value))
        more = (number(other[k], 2) for other in compared.values())
        lead = (name, grouping, unit_text(unit), number(value), number(deviation, 2), share)
        rows.append((*lead, *more))
    columns = ("parameter", "grouping", "unit", "nominal", "expected std", "[%]")
    others = (f"by {name}" for name in compared)
    return Table(columns=(*columns, *others), rows=tuple(rows), text_columns=3)


def _comparison(
    nominal: Robot,
    basis: BaseParameters,
    others: Mapping[str, DesignResult],
    compared: Mapping[str, Float1D],
) -> Section:
    rows = []
    for name, other in others.items():
        assessed = assess(nominal, basis, other.trajectory)
        std = compared[name]
        worth = (assessed.log_det, assessed.cond_raw, assessed.cond_normalized)
        mean = float(np.exp(np.log(std).mean()))
        rows.append((name, *(number(v) for v in (*worth, mean, std.max()))))
    columns = ("criterion", "log det", "condition number", "with unit columns")
    more = ("geometric mean of the expected std", "worst")
    return Section(
        title="Criteria side by side",
        text="The same problem by other criteria; the table above has every parameter. The "
        "condition number with unit columns does not know how large a motion is: by it alone, "
        "motions become small and parameters uncertain.",
        tables=(Table(columns=columns + more, rows=tuple(rows)),),
    )


def _explained(explanation: Explanation) -> Section:
    first, *rest = explanation.sentences()
    return Section(
        title="What the motion shows, and what it does not",
        text=first,
        charts=(information_shares(explanation),),
        notes=tuple(rest),
    )
