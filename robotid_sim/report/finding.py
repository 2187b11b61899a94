"""Result of a study or a fit in one sentence, and the reliability of the estimate."""

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
    model_errors,
    tabulate_unmodeled,
)
from robotid_sim.section import Section, number, percent
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.estimation.estimate import Estimate
    from robotid_sim.pipeline.assess import Assessment

MIN_PARAMETER_RATIO = 10.0
"""Value over standard deviation of a parameter that is known to 10 %."""

MIN_CONTROLLED_SHARE = 0.5
"""Share of accurate parameters of a joint and its link below which noise limits the joint."""


def well_known(estimate: Estimate) -> Bool1D:
    """Return which parameters are known to 10 % or better, shape (b,)."""
    return np.asarray(np.abs(estimate.beta) > MIN_PARAMETER_RATIO * estimate.std)


def clear_shares(estimate: Estimate, basis: BaseParameters) -> Float1D:
    """Return the share of accurate parameters of every joint, NaN without parameters."""
    owner = np.array(parameters.owners(len(estimate.joint_names)))[basis.columns]
    clear = well_known(estimate)
    groups = [clear[owner == j] for j in range(len(estimate.joint_names))]
    return np.array([group.mean() if group.size else np.nan for group in groups])


def noise_limited(estimate: Estimate, basis: BaseParameters) -> list[str]:
    """Return the joints with mostly inaccurate parameters."""
    shares = clear_shares(estimate, basis)
    return [
        n for n, s in zip(estimate.joint_names, shares, strict=True) if s < MIN_CONTROLLED_SHARE
    ]


def summarize_study(
    result: StudyResult, estimate: Estimate, basis: BaseParameters, gap_left: float | None
) -> str:
    """Summarize a study in one sentence; a failed verdict comes first."""
    failed = [check for check in result.verdict.checks if not check.passed]
    if failed:
        worst = failed[0]
        meaning = CHECK_MEANINGS.get(worst.name, worst.name)
        value = check_number(worst, worst.value)
        limit = check_limit(worst).lstrip("=≤ ")
        others = f" ({len(failed) - 1} more)" if len(failed) > 1 else ""
        return f"Failed: {meaning} is {value}, limit {limit}{others}."
    parts = []
    if gap_left is not None:
        parts.append(f"closed {percent(1.0 - gap_left)} of the tracking gap")
    errors = model_errors(result.selected_estimate)
    if errors:
        joint = result.robot.joint_names[int(np.argmax(errors))]
        parts.append(f"predicts torques within {percent(max(errors), 2)} ({joint} worst)")
    return f"Identification {' and '.join(parts)}; {limits_of_noise(estimate, basis)}."


def limits_of_noise(estimate: Estimate, basis: BaseParameters) -> str:
    """Name the joints that the noise limits, as the end of a sentence."""
    clear = int(well_known(estimate).sum())
    count = f"{clear} of {len(estimate.names)} base parameters are known to 10 % or better"
    limited = noise_limited(estimate, basis)
    if not limited:
        return count
    if len(limited) == len(estimate.joint_names):
        return f"{count}, less than half of those of every joint"
    *others, last = limited
    joints = f"{', '.join(others)}{' and ' if others else ''}{last}"
    return f"{count}, less than half of those of {joints}"


def trust_section(assessment: Assessment) -> tuple[Section, ...]:
    """Build the section on the reliability of the estimate; empty without intervals."""
    fit, intervals = assessment.fit, assessment.intervals
    chosen = fit.chosen
    if intervals is None:
        return ()
    charts, tables = trust_charts(assessment)
    if fit.discrepancy.significant:
        tables = (tabulate_unmodeled(fit.discrepancy, fit.nominal), *tables)
    relative = relative_std(chosen.beta, chosen.std)
    inaccurate = [int(k) for k in np.argsort(-relative, kind="stable") if not well_known(chosen)[k]]
    names = f": {', '.join(intervals.names[k] for k in inaccurate)}" if inaccurate else ""
    uncertain = [
        f"{len(inaccurate)} of {len(chosen.names)} base parameters have a standard deviation above "
        f"10 % of their value{names}."
    ]
    if not intervals.unbiased:
        uncertain.append(
            "Constraints or a search determined this estimate; its intervals are approximate."
        )
    section = Section(
        title="Reliability of the estimate",
        text="The 95 % intervals in the table of base parameters follow from blocks of correlated "
        f"residuals and Student's t with {intervals.dof.min():.0f} to {intervals.dof.max():.0f} "
        "degrees of freedom. Their standard deviation is unbiased; that of the table is a few "
        "percent too large.",
        notes=(*assessment.remarks, *uncertain, *assessment.checks),
        charts=charts,
        tables=tables,
    )
    return (section,)


def trust_charts(assessment: Assessment) -> tuple[tuple[Chart, ...], tuple[Table, ...]]:
    """Build charts of residuals and, if all parameters are identifiable, weak directions."""
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
