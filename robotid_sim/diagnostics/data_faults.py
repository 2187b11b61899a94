"""Data faults of a log: signs, units, zeros, columns, couplings, gear ratios, delays.

They are compared by the likelihood of the log under a wide prior about the nominal model, and the
best is accepted if it exceeds a margin. The search for small causes follows: it has free parameters
and would explain a data fault by several smaller causes.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.diagnostics.cause import CorrectionCandidate, Wording
from robotid_sim.diagnostics.column_causes import (
    MIN_SCALE_ERROR,
    TORQUE_SIGN_KIND,
    column_causes,
    torque_signs,
)
from robotid_sim.diagnostics.evidence import MAX_DELAY, Correction, Evidence
from robotid_sim.diagnostics.nominal_prior import MarginalLikelihood
from robotid_sim.diagnostics.torque_causes import (
    delay_correction,
    list_coupling_corrections,
    word_delay,
)

SCALE_FACTORS = (1e-4, 1e-3, 1e-2, 1e-1, 1e1, 1e2, 1e3, 1e4)
"""Torque factors that are tried first."""

TORQUE_UNITS = {1e-3: "N mm", 1e-2: "N cm", 1e3: "kN m"}
"""Units of torque that are mistaken for N m, by their value in N m."""

MAX_UNIT_RATIO = 1.6
"""Maximum ratio of a scale to a unit for the scale to be identified as that unit."""

MIN_CORRELATION = 0.9
"""Correlation of the torques of fitted and nominal bodies above which their scale is compared.
"""

MAX_TORQUE_RATIO = 4.0
"""Ratio of the torques of fitted and nominal bodies, or its inverse, above which in all joints a
unit is wrong rather than the nominal model.
"""

MAX_JOINTS_EXHAUSTIVE = 10
"""Maximum number of joints for comparing all sets of wrong signs, 1,023 of them."""

MAX_SIGN_ROUNDS = 3
"""Maximum number of searches for further wrong signs."""

DELAY_STEP = 0.02
"""Step of the delays that are tried, and half the smallest one [s]."""


def find_data_fault(evidence: Evidence, margin: float) -> tuple[CorrectionCandidate, float] | None:
    """Find the most likely data fault and the logarithm of its likelihood ratio.

    None if the gain does not exceed a margin plus the logarithm of the number of candidates. Wrong
    signs found one after another are one fault: bodies with negative masses may hide the wrong sign
    of a joint until that of another joint is corrected.
    """
    first = fault = _find_likeliest(evidence, margin)
    for _ in range(MAX_SIGN_ROUNDS):
        if fault is None or fault[0].kind != TORQUE_SIGN_KIND:
            break
        further = _find_likeliest(evidence.apply_correction(fault[0].correction), margin)
        if further is None or further[0].kind != TORQUE_SIGN_KIND:
            break
        signs = (fault[0].correction.torque @ further[0].correction.torque).diagonal()
        if (signs > 0.0).all():
            return None  # the second search reverts the first
        fault = torque_signs(signs), fault[1] + further[1]
    if fault is not None and fault is not first:
        # Wrong signs whose gain is below the margin are reset.
        unfiltered = evidence.add_friction().skip_low_pass()
        likelihood = MarginalLikelihood.from_evidence(unfiltered)
        signs = np.array(fault[0].correction.torque.diagonal())
        for j in np.flatnonzero(signs < 0.0):
            fewer = signs.copy()
            fewer[j] = 1.0
            before, after = (
                likelihood(unfiltered.apply_correction(torque_signs(s).correction))
                for s in (fewer, signs)
            )
            if after - before < margin:
                signs = fewer
        fault = torque_signs(signs), fault[1]
    return fault


def _find_likeliest(evidence: Evidence, margin: float) -> tuple[CorrectionCandidate, float] | None:
    """Find the most likely single data fault, or set of wrong signs; see `find_data_fault`."""
    quick = evidence.add_friction().skip_low_pass()
    plausibility = MarginalLikelihood.from_evidence(quick)
    before = plausibility(quick)
    if not np.isfinite(before):
        return None

    def gain(candidate: CorrectionCandidate) -> float:
        return plausibility(quick.apply_correction(candidate.correction)) - before

    sets = [(), *((j,) for j in range(quick.dof))] if quick.dof > 1 else [()]
    count = round(MAX_DELAY / DELAY_STEP)
    candidates = [
        *column_causes(quick),
        *(_make_scale(quick.dof, joints, factor) for joints in sets for factor in SCALE_FACTORS),
        *(
            CorrectionCandidate(
                kind="torque-delay",
                joints=(),
                correction=delay_correction(np.full(quick.dof, DELAY_STEP * k)),
                wording=partial(word_delay, quick.offset, ()),
            )
            for k in range(-count, count + 1)
            if abs(k) > 1
        ),
        *list_coupling_corrections(quick),
    ]
    unused_joints = set(np.flatnonzero(~quick.use.any(axis=0)).tolist())
    candidates = [c for c in candidates if unused_joints.isdisjoint(c.joints)]
    gains = np.nan_to_num([gain(c) for c in candidates], nan=-np.inf)
    best = candidates[int(gains.argmax())]
    if gains.max() < margin + np.log(len(candidates)):
        global_scale = _find_global_scale(quick)
        return None if global_scale is None else (global_scale, gain(global_scale))
    if best.kind == TORQUE_SIGN_KIND:
        return _find_signs(quick.dof, gain, margin)
    if best.kind == "torque-scale":
        decade = float(best.correction.torque.diagonal()[list(best.joints) or [0]][0])
        factor = _estimate_factor(quick, best.joints, decade)
        if max(factor, 1.0 / factor) < MIN_SCALE_ERROR:
            return None
        best = _make_scale(quick.dof, best.joints, factor)
    return best, float(gains.max())


def _find_signs(
    dof: int, gain: Callable[[CorrectionCandidate], float], margin: float
) -> tuple[CorrectionCandidate, float]:
    """Find the most likely wrong torque signs and their gain.

    Each must gain the margin. All sets are compared: where several signs are wrong, the most likely
    single one may be correct.
    """
    sizes = range(1, dof + 1) if dof <= MAX_JOINTS_EXHAUSTIVE else (1, 2, dof)
    sets = [list(wrong) for size in sizes for wrong in combinations(range(dof), size)]
    candidates = [torque_signs(np.where(np.isin(range(dof), wrong), -1.0, 1.0)) for wrong in sets]
    gains = np.nan_to_num([gain(candidate) for candidate in candidates], nan=-np.inf)
    k = int((gains - margin * np.array([len(wrong) for wrong in sets])).argmax())
    return candidates[k], float(gains[k])


def _find_global_scale(unfiltered: Evidence) -> CorrectionCandidate | None:
    """Find a wrong sign or scale of all torques by comparing fitted and nominal bodies.

    The wide prior admits negative and small masses, so the likelihood cannot find these.
    """
    product, square, alike = _compare_with_nominal(unfiltered)
    alike &= unfiltered.use.any(axis=0) & (square > 0.0)
    ratio = product[alike] / square[alike]
    if not ratio.size:
        return None
    if (ratio < 0.0).all():
        return torque_signs(-np.ones(unfiltered.dof))
    if (ratio > 0.0).all() and np.abs(np.log(ratio)).min() > np.log(MAX_TORQUE_RATIO):
        return _make_scale(unfiltered.dof, (), _estimate_factor(unfiltered, (), 1.0))
    return None


def _compare_with_nominal(evidence: Evidence) -> tuple[Float1D, Float1D, Bool1D]:
    """Compare the torques of fitted and nominal bodies, joint by joint.

    Returns the sum of products of both torques, the sum of squares of the nominal torque, and
    whether the torques are proportional, with either sign; each of shape (n,).
    """
    fit, rank = (evidence.fit(), evidence.basis.inertial_rank)
    nominal_beta = evidence.basis.project(evidence.nominal.parameters())[:rank]
    W = evidence.W[:, :, :rank]
    fitted, nominal = W @ fit.beta[:rank], W @ nominal_beta
    product, square = (fitted * nominal).sum(axis=0), (nominal**2).sum(axis=0)
    alike = np.abs(product) > MIN_CORRELATION * np.sqrt((fitted**2).sum(axis=0) * square)
    return product, square, np.asarray(alike)


def _estimate_factor(evidence: Evidence, joints: tuple[int, ...], decade: float) -> float:
    """Estimate the factor from the torque of the fitted bodies to that of the nominal ones.

    It is `decade` if the torques are proportional in no joint, and exact if it is near the factor
    of a known unit.
    """
    product, square, alike = _compare_with_nominal(evidence)
    alike &= product > 0.0
    if joints:
        alike &= np.isin(np.arange(evidence.dof), joints)
    factor = float(np.median(square[alike] / product[alike])) if alike.any() else decade
    units = [unit for unit in TORQUE_UNITS if abs(np.log(factor / unit)) < np.log(MAX_UNIT_RATIO)]
    return units[0] if units else factor


def _make_scale(dof: int, joints: tuple[int, ...], factor: float) -> CorrectionCandidate:
    """Make the candidate that multiplies one torque, or all, by a factor."""
    selected = np.isin(np.arange(dof), joints) | (not joints)
    matrix = np.diag(np.where(selected, factor, 1.0))
    correction = replace(Correction.none(dof), torque=matrix)
    torque, verb = ("the measured torque", "is") if joints else ("all measured torques", "are")
    column = "its column" if joints else "their columns"
    finding = f"{torque} {verb} about {1.0 / factor:.2g} times the value of the nominal model"
    if factor in TORQUE_UNITS:
        finding = f"{torque} {verb} in {TORQUE_UNITS[factor]}"
        remedy = f"multiply {column} by {factor:g}"
    elif factor > 1.0:
        finding += ": torque on the motor side, current [A], or a different unit"
        remedy = (
            f"multiply {column} by gear ratio or torque constant, about {factor:.2g}, or correct "
            "the unit; check that the log is of this robot"
        )
    else:
        finding += ": unit, torque constant or gear ratio is wrong"
        remedy = (
            f"multiply {column} by about {factor:.2g}, or correct unit, constant and gear ratio; "
            "check that the log is of this robot"
        )
    return CorrectionCandidate("torque-scale", joints, correction, Wording(finding, remedy))
