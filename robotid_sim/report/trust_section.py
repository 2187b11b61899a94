"""How far to trust an estimate: intervals, residuals, what the data do not show."""

from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import relative_std
from robotid_sim.chart import Chart
from robotid_sim.report.figures.trust import (
    information_over_time,
    residuals_over_state,
    singular_values,
)
from robotid_sim.report.finding import well_known
from robotid_sim.report.tables import lack_table
from robotid_sim.section import Section, number
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.diagnostics.intervals import Intervals
    from robotid_sim.estimation.estimate import Estimate
    from robotid_sim.pipeline.assess import Assessment


def trust_section(assessment: "Assessment") -> tuple[Section, ...]:
    """Return how far to trust the chosen estimate; nothing if it has no intervals."""
    fit, intervals = assessment.fit, assessment.intervals
    if intervals is None:
        return ()
    charts, tables = trust_charts(assessment)
    if fit.discrepancy.notable:
        tables = (lack_table(fit.discrepancy, fit.nominal), *tables)
    section = Section(
        title="How far to trust the numbers",
        text="The 95 % intervals in the table of base parameters are made from the residuals of "
        f"the log, by Student's t with the {intervals.dof.min():.0f} to {intervals.dof.max():.0f} "
        "degrees of freedom that the blocks of correlated residuals leave. Their standard "
        "deviation has no bias; the one in the table errs on the large side, by some percent.",
        notes=(*assessment.remarks, *_uncertain(fit.chosen, intervals), *assessment.checks),
        charts=charts,
        tables=tables,
    )
    return (section,)


def trust_charts(assessment: "Assessment") -> tuple[tuple[Chart, ...], tuple[Table, ...]]:
    """Return residuals over the state, and what the motion shows, as far as it shows all."""
    weakest, fit = assessment.weakest, assessment.fit
    residuals = residuals_over_state(assessment.residuals, fit.plain.joint_names)
    if not weakest:
        return (residuals,), ()
    table = Table.of(
        {
            "direction": [direction.text for direction in reversed(weakest)],
            "best over it": [number(direction.ratio, 3) for direction in reversed(weakest)],
        },
        "What the data see least",
    )
    information = information_over_time(assessment.information, fit.chosen.names)
    return (residuals, singular_values(weakest), information), (table,)


def _uncertain(chosen: "Estimate", intervals: "Intervals") -> list[str]:
    """Return the parameters that are uncertain by more than 10 %."""
    relative = relative_std(chosen.beta, chosen.std)
    bad = [int(k) for k in np.argsort(-relative, kind="stable") if not well_known(chosen)[k]]
    names = f": {', '.join(intervals.names[k] for k in bad)}" if bad else ""
    sentences = [
        f"{len(bad)} of {len(chosen.names)} base parameters have a standard deviation above 10 % "
        f"of their value{names}."
    ]
    if not intervals.unbiased:
        sentences.append("Constraints or a search moved this estimate: its intervals are a guide.")
    return sentences
