"""The result of a study in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.model import parameters
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.report.tables import CHECKS, check_limit, check_number, model_errors
from robotid_sim.section import percent

if TYPE_CHECKING:
    from robotid_sim.estimation.estimate import Estimate

CLEAR = 10.0
"""A parameter stands out if it is this many standard deviations from zero."""

LIMITED = 0.5
"""A joint is noise-limited if less than this share of its link's and its own parameters do."""


def well_known(estimate: Estimate) -> Bool1D:
    """Return which parameters stand out from their uncertainty: known to 10 % or better."""
    return np.asarray(np.abs(estimate.beta) > CLEAR * estimate.std)


def clear_shares(estimate: Estimate, basis: BaseParameters) -> Float1D:
    """Return for every joint the share of its parameters that stand out, NaN without any."""
    owner = np.array(parameters.owners(len(estimate.joint_names)))[basis.columns]
    clear = well_known(estimate)
    groups = [clear[owner == j] for j in range(len(estimate.joint_names))]
    return np.array([group.mean() if group.size else np.nan for group in groups])


def noise_limited(estimate: Estimate, basis: BaseParameters) -> list[str]:
    """Return the joints with mostly parameters that do not stand out from their uncertainty."""
    shares = clear_shares(estimate, basis)
    return [n for n, s in zip(estimate.joint_names, shares, strict=True) if s < LIMITED]


def finding(
    result: StudyResult, estimate: Estimate, basis: BaseParameters, gap_left: float | None
) -> str:
    """Return the result of a study in one sentence; a failed verdict comes first."""
    failed = [check for check in result.verdict.checks if not check.passed]
    if failed:
        worst = failed[0]
        what = CHECKS.get(worst.name, worst.name)
        value = check_number(worst, worst.value)
        limit = check_limit(worst).lstrip("=≤ ")
        others = f" ({len(failed) - 1} more)" if len(failed) > 1 else ""
        return f"Failed: {what} is {value}, limit {limit}{others}."
    parts = []
    if gap_left is not None:
        parts.append(f"closed {percent(1.0 - gap_left)} of the tracking gap")
    errors = model_errors(result.chosen_estimate)
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
    return f"{count}, of {_listed(limited)} fewer than half"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
