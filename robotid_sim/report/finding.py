"""What comes out of a study or a fit in one sentence, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, relative_std
from robotid_sim.chart import Chart
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.model import parameters
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.report.figures import parameters as figures
from robotid_sim.report.tables import (
    CHECK_MEANINGS,
    check_limit,
    check_number,
    lack_table,
    model_errors,
)
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.estimation.estimate import Estimate
    from robotid_sim.pipeline.assess import Assessment

MIN_PARAMETER_RATIO = 10.0
"""A parameter stands out if it is this many standard deviations from zero."""

MIN_CONTROLLED_SHARE = 0.5
"""A joint is noise-limited if less than this share of its link's and its own parameters do."""


def well_known(estimate: Estimate) -> Bool1D:
    """Return which parameters stand out from their uncertainty: known to 10 % or better."""
    return np.asarray(np.abs(estimate.beta) > MIN_PARAMETER_RATIO * estimate.std)


def clear_shares(estimate: Estimate, basis: BaseParameters) -> Float1D:
    """Return for every joint the share of its parameters that stand out, NaN without any."""
    owner = np.array(parameters.owners(len(estimate.joint_names)))[basis.columns]
    clear = well_known(estimate)
    groups = [clear[owner == j] for j in range(len(estimate.joint_names))]
    return np.array([group.mean() if group.size else np.nan for group in groups])


def noise_limited(estimate: Estimate, basis: BaseParameters) -> list[str]:
    """Return the joints with mostly parameters that do not stand out from their uncertainty."""
    shares = clear_shares(estimate, basis)
    return [
        n for n, s in zip(estimate.joint_names, shares, strict=True) if s < MIN_CONTROLLED_SHARE
    ]


def summarize_study(
    result: StudyResult, estimate: Estimate, basis: BaseParameters, gap_left: float | None
) -> str:
    """Return the result of a study in one sentence; a failed verdict comes first."""
    failed = [check for check in result.verdict.checks if not check.passed]
    if failed:
        worst = failed[0]
        what = CHECK_MEANINGS.get(worst.name, worst.name)
        value = check_number(worst, worst.value)
        limit = check_limit(worst).lstrip("=≤ ")
        others = f" ({len(failed) - 1} more)" if len(failed) > 1 else ""
        return f"Failed: {what} is {value}, limit {limit}{others}."
    parts = []
    if gap_left is not None:
        parts.append(f"closed {percent(1.0 - gap_left)} of the tracking gap")
    errors = model_errors(result.selected_estimate)
    if errors:
        joint = result.robot.joint_names[int(np.argmax(errors))]
        parts.append(f"predicts unseen torques within {percent(max(errors), 2)} ({joint} worst)")
    return f"Identification {' and '.join(parts)}; {limits_of_noise(estimate, basis)}."


def limits_of_noise(estimate: Estimate, basis: BaseParameters) -> str:
    """Return which joints the noise limits, as the end of a sentence."""
    clear = int(well_known(estimate).sum())
    count = f"{clear} of {len(estimate.names)} base parameters are known to 10 % or better"
    limited = noise_limited(estimate, basis)
    if not limited:
        return count
    if len(limited) == len(estimate.joint_names):
        return f"{count}, of no joint half of its own"
    *others, last = limited
    return f"{count}, of {', '.join(others)}{' and ' if others else ''}{last} fewer than half"


def trust_section(assessment: Assessment) -> tuple[Section, ...]:
    """Return how far to trust the chosen estimate; nothing if it has no intervals."""
    fit, intervals = assessment.fit, assessment.intervals
    chosen = fit.chosen
    if intervals is None:
        return ()
    charts, tables = trust_charts(assessment)
    if fit.discrepancy.notable:
        tables = (lack_table(fit.discrepancy, fit.nominal), *tables)
    relative = relative_std(chosen.beta, chosen.std)
    bad = [int(k) for k in np.argsort(-relative, kind="stable") if not well_known(chosen)[k]]
    names = f": {', '.join(intervals.names[k] for k in bad)}" if bad else ""
    uncertain = [
        f"{len(bad)} of {len(chosen.names)} base parameters have a standard deviation above 10 % "
        f"of their value{names}."
    ]
    if not intervals.unbiased:
        uncertain.append(
            "Constraints or a search changed this estimate; its intervals are approximate."
        )
    section = Section(
        title="Reliability of the estimate",
        text="The 95 % intervals in the table of base parameters are made from the residuals of "
        f"the log, by Student's t with the {intervals.dof.min():.0f} to {intervals.dof.max():.0f} "
        "degrees of freedom, from blocks of correlated residuals. Their standard deviation is "
        "unbiased; the one in the table is a few percent too large.",
        notes=(*assessment.remarks, *uncertain, *assessment.checks),
        charts=charts,
        tables=tables,
    )
    return (section,)


def trust_charts(assessment: Assessment) -> tuple[tuple[Chart, ...], tuple[Table, ...]]:
    """Return residuals over the state, and what the motion shows, as far as it shows all."""
    weakest, fit = assessment.weakest, assessment.fit
    residuals = figures.residuals_over_state(
        assessment.residuals, fit.problem_without_terms.joint_names
    )
    if not weakest:
        return (residuals,), ()
    table = Table.from_columns(
        {
            "direction": [direction.text for direction in reversed(weakest)],
            "best / this direction": [
                number(direction.ratio, 3) for direction in reversed(weakest)
            ],
        },
        "Weakly identifiable directions",
    )
    information = figures.information_over_time(assessment.information, fit.chosen.names)
    return (residuals, figures.singular_values(weakest), information), (table,)
