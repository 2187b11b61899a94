"""The report of an excitation design."""

from collections.abc import Mapping

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.excitation.design import Assessment, assess
from robotid_sim.excitation.explain import Explanation
from robotid_sim.excitation.optimal import DesignResult
from robotid_sim.model.robot import Robot
from robotid_sim.report.figures.excitation import information_shares
from robotid_sim.report.page import Page
from robotid_sim.report.sections import excitation_section
from robotid_sim.report.wording import assumptions, relative_text, reproduction, unit_text
from robotid_sim.section import Section, Table, number
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.excitation import Designs, expected_accuracy
from robotid_sim.trajectory.reference import Excitation, run_time


def design_report(
    nominal: Robot,
    basis: BaseParameters,
    found: Designs,
    others: Mapping[str, DesignResult],
    told: Explanation | None,
    config: StudyConfig,
    command: str,
    versions: dict[str, str],
) -> Page:
    """Return the report of an excitation design.

    Parameters
    ----------
    nominal : Robot
        The model that it was designed with.
    basis : BaseParameters
        The parameters it makes visible.
    found : Designs
        The trajectories and how they were found.
    others : mapping of str to DesignResult
        Designs by other criteria, to compare.
    told : Explanation, optional
        Why some parameters are seen well and others badly.
    config, command, versions
        How to do it again.
    """
    design, path = found.designs[0], found.trajectories[0]
    std = expected_accuracy(nominal, basis, found.trajectories, config)
    assessed = assess(nominal, basis, path)
    values = basis.of(nominal.parameters())
    weak = int((np.abs(values) < 10.0 * std).sum())
    compared = {
        name: expected_accuracy(nominal, basis, [other.trajectory], config)
        for name, other in others.items()
    }
    sections = [
        excitation_section(path, nominal, assessed, _facts_of(found, config)),
        Section(
            title="Expected accuracy",
            text="Standard deviation of every base parameter for white torque noise of 1 % of "
            "the RMS torque and exactly known motion: the Cramér-Rao bound"
            f"{_from(found, config)}.",
            tables=(_expected_table(basis, values, std, compared),),
        ),
    ]
    if others:
        sections.append(_comparison(nominal, basis, others, compared))
    if told is not None:
        sections.append(_explained(told))
    return Page(
        title=f"Excitation of {nominal.name}",
        finding=f"The design takes {config.design.criterion} from {number(design.value_before)} "
        f"(best random draw) to {number(design.value_after)}; {basis.rank - weak} of "
        f"{basis.rank} base parameters can be expected to 10 % or better.",
        facts=_design_facts(path, assessed, basis),
        sections=(
            *sections,
            assumptions(nominal, nominal.assumptions, "nominal"),
            reproduction(command, config, versions),
        ),
    )


def _from(found: Designs, config: StudyConfig) -> str:
    """Return from what data the accuracy is expected, if from more than one trajectory."""
    count, known = len(found.trajectories), len(config.design.prior)
    together = f", from all {count} trajectories together" if count > 1 else ""
    return together + (" with what exists already" if known else "")


def _facts_of(found: Designs, config: StudyConfig) -> list[tuple[str, str]]:
    design, path = found.designs[0], found.trajectories[0]
    criterion = config.design.criterion
    facts = [
        ("family", config.design.family),
        ("time of a run", f"{run_time(path):g} s"),
        (f"{criterion}, best random draw", number(design.value_before)),
        (f"{criterion}, design", number(design.value_after)),
        ("solver", design.message),
    ]
    facts += [("violated", str(v)) for one in found.designs for v in one.violated]
    facts += [("relaxed", text) for text in found.relaxed]
    if found.sequence is not None:
        dets = ", ".join(number(value) for value in found.sequence.log_dets)
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
        one = assess(nominal, basis, other.trajectory)
        std = compared[name]
        worth = (one.log_det, one.cond_raw, one.cond_normalized)
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


def _explained(told: Explanation) -> Section:
    first, *rest = told.sentences()
    return Section(
        title="What the motion shows, and what it does not",
        text=first,
        charts=(information_shares(told),),
        notes=tuple(rest),
    )
