"""Gross errors of a log: signs, units, zeros, columns, couplings, gear ratios, delays, before all.

They are compared by the likelihood of the log under a nominal model that is roughly right, and the
best is accepted if it is likelier by far. The fine search has free parameters, and would explain
what a gross error leaves by several smaller causes.
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
from robotid_sim.diagnostics.nominal_prior import Plausibility
from robotid_sim.diagnostics.torque_causes import (
    delay_correction,
    delay_words,
    list_coupling_corrections,
)

SCALE_FACTORS = (1e-4, 1e-3, 1e-2, 1e-1, 1e1, 1e2, 1e3, 1e4)
"""Factors of torques at which a scale is looked for first."""

TORQUE_UNITS = {1e-3: "N mm", 1e-2: "N cm", 1e3: "kN m"}
"""Units of torque that are mistaken for N m, by what they are in N m."""

MAX_UNIT_RATIO = 1.6
"""How near the size of a unit a scale lies that is taken for it."""

MIN_CORRELATION = 0.9
"""Correlation of the torque of the fitted bodies with that of the nominal ones that shows a scale.
"""

MAX_TORQUE_RATIO = 4.0
"""Torque of fitted bodies over that of nominal ones, or its inverse, that is no error of a nominal
model if all joints that show it have it.
"""

MAX_JOINTS_EXHAUSTIVE = 10
"""Joints up to which all sets of wrong signs are compared, 1,023 of them."""

MAX_SIGN_ROUNDS = 3
"""Most looks for further wrong signs."""

DELAY_STEP = 0.02
"""Step of the delays that are tried, and the smallest one that is gross [s]."""


def gross_cause(evidence: Evidence, margin: float) -> tuple[CorrectionCandidate, float] | None:
    """Return the likeliest gross error and the logarithm of its likelihood ratio.

    None if the gain does not exceed a margin plus the logarithm of the number of candidates. Wrong
    signs that show one after another are one error: bodies with negative masses explain the signs
    of all other joints first.
    """
    first = found = _likeliest(evidence, margin)
    for _ in range(MAX_SIGN_ROUNDS):
        if found is None or found[0].kind != TORQUE_SIGN_KIND:
            break
        again = _likeliest(evidence.apply_correction(found[0].correction), margin)
        if again is None or again[0].kind != TORQUE_SIGN_KIND:
            break
        signs = (found[0].correction.torque @ again[0].correction.torque).diagonal()
        if (signs > 0.0).all():
            return None  # a sign that is wrong either way
        found = torque_signs(signs), found[1] + again[1]
    if found is not None and found is not first:
        signs_of_all = found[0].correction.torque.diagonal()
        found = torque_signs(_drop_uncertain_signs(evidence, signs_of_all, margin)), found[1]
    return found


def _drop_uncertain_signs(evidence: Evidence, signs: Float1D, margin: float) -> Float1D:
    """Return signs of torques without those wrong ones that are not worth the margin."""
    rough = evidence.add_friction().rough()
    plausibility = Plausibility.from_evidence(rough)

    def likelihood(signs: Float1D) -> float:
        return plausibility(rough.apply_correction(torque_signs(signs).correction))

    sure: Float1D = np.array(signs)
    for j in np.flatnonzero(signs < 0.0):
        fewer: Float1D = np.array(sure)
        fewer[j] = 1.0
        if likelihood(sure) - likelihood(fewer) < margin:
            sure = fewer
    return sure


def _likeliest(evidence: Evidence, margin: float) -> tuple[CorrectionCandidate, float] | None:
    """Return the likeliest single gross error, or set of wrong signs; see `gross_cause`."""
    rough = evidence.add_friction().rough()
    plausibility = Plausibility.from_evidence(rough)
    before = plausibility(rough)
    if not np.isfinite(before):
        return None

    def gain(candidate: CorrectionCandidate) -> float:
        return plausibility(rough.apply_correction(candidate.correction)) - before

    where = [(), *((j,) for j in range(rough.dof))] if rough.dof > 1 else [()]
    count = round(MAX_DELAY / DELAY_STEP)
    candidates = [
        *column_causes(rough),
        *(_scale(rough.dof, joints, factor) for joints in where for factor in SCALE_FACTORS),
        *(
            CorrectionCandidate(
                kind="torque-delay",
                joints=(),
                correction=delay_correction(np.full(rough.dof, DELAY_STEP * k)),
                words=partial(delay_words, rough.offset, ()),
            )
            for k in range(-count, count + 1)
            if abs(k) > 1
        ),
        *list_coupling_corrections(rough),
    ]
    unknown = set(np.flatnonzero(~rough.use.any(axis=0)).tolist())
    candidates = [c for c in candidates if unknown.isdisjoint(c.joints)]
    gains = np.nan_to_num([gain(c) for c in candidates], nan=-np.inf)
    best = candidates[int(gains.argmax())]
    if gains.max() < margin + np.log(len(candidates)):
        of_all = _find_global_scale(rough)
        return None if of_all is None else (of_all, gain(of_all))
    if best.kind == TORQUE_SIGN_KIND:
        return _signs(rough.dof, gain, margin)
    if best.kind == "torque-scale":
        decade = float(best.correction.torque.diagonal()[list(best.joints) or [0]][0])
        factor = _factor(rough, best.joints, decade)
        if max(factor, 1.0 / factor) < MIN_SCALE_ERROR:
            return None
        best = _scale(rough.dof, best.joints, factor)
    return best, float(gains.max())


def _signs(
    dof: int, gain: Callable[[CorrectionCandidate], float], margin: float
) -> tuple[CorrectionCandidate, float]:
    """Return the likeliest wrong signs of torques, and their gain.

    Every one has to be worth the margin. All sets are compared, for where several are wrong the
    likeliest alone may be one that is right.
    """
    sizes = range(1, dof + 1) if dof <= MAX_JOINTS_EXHAUSTIVE else (1, 2, dof)
    sets = [list(wrong) for size in sizes for wrong in combinations(range(dof), size)]
    candidates = [torque_signs(np.where(np.isin(range(dof), wrong), -1.0, 1.0)) for wrong in sets]
    gains = np.nan_to_num([gain(candidate) for candidate in candidates], nan=-np.inf)
    k = int((gains - margin * np.array([len(wrong) for wrong in sets])).argmax())
    return candidates[k], float(gains[k])


def _find_global_scale(rough: Evidence) -> CorrectionCandidate | None:
    """Return a wrong sign or scale of all torques that fitted bodies show beside the nominal ones.

    Negative masses, or small ones, are no farther off than a wide prior allows.
    """
    product, square, alike = _compare_with_nominal(rough)
    alike &= rough.use.any(axis=0) & (square > 0.0)
    ratio = product[alike] / square[alike]
    if not ratio.size:
        return None
    if (ratio < 0.0).all():
        return torque_signs(-np.ones(rough.dof))
    if (ratio > 0.0).all() and np.abs(np.log(ratio)).min() > np.log(MAX_TORQUE_RATIO):
        return _scale(rough.dof, (), _factor(rough, (), 1.0))
    return None


def _compare_with_nominal(evidence: Evidence) -> tuple[Float1D, Float1D, Bool1D]:
    """Return the product of fitted and nominal torque, the nominal square, and who is alike.

    The torques are those of the bodies; alike are those that are in proportion, of either sign.
    """
    fit, rank = evidence.sum_by_block().fit(np.arange(evidence.plain)), evidence.basis.inertial_rank
    given = evidence.basis.project(evidence.nominal.parameters())[:rank]
    W = evidence.W[:, :, :rank]
    fitted, nominal = W @ fit.beta[:rank], W @ given
    product, square = (fitted * nominal).sum(axis=0), (nominal**2).sum(axis=0)
    alike = np.abs(product) > MIN_CORRELATION * np.sqrt((fitted**2).sum(axis=0) * square)
    return product, square, np.asarray(alike)


def _factor(evidence: Evidence, joints: tuple[int, ...], decade: float) -> float:
    """Return the factor that makes the torque of the fitted bodies that of the nominal ones.

    It is the decade that is given where these are not alike, and exact if the unit is a known one.
    """
    product, square, alike = _compare_with_nominal(evidence)
    alike &= product > 0.0
    if joints:
        alike &= np.isin(np.arange(evidence.dof), joints)
    factor = float(np.median(square[alike] / product[alike])) if alike.any() else decade
    units = [unit for unit in TORQUE_UNITS if abs(np.log(factor / unit)) < np.log(MAX_UNIT_RATIO)]
    return units[0] if units else factor


def _scale(dof: int, joints: tuple[int, ...], factor: float) -> CorrectionCandidate:
    """Return the multiplication of one torque, or of all, by a factor."""
    which = np.isin(np.arange(dof), joints) | (not joints)
    matrix = np.diag(np.where(which, factor, 1.0))
    correction = replace(Correction.none(dof), torque=matrix)
    return CorrectionCandidate("torque-scale", joints, correction, _scale_words(joints, factor))


def _scale_words(joints: tuple[int, ...], factor: float) -> Wording:
    what, are = ("the measured torque", "is") if joints else ("all measured torques", "are")
    them = "its column" if joints else "their columns"
    finding = f"{what} {are} some {1.0 / factor:.2g} times what the nominal model says"
    if factor in TORQUE_UNITS:
        return Wording(f"{what} {are} in {TORQUE_UNITS[factor]}", f"multiply {them} by {factor:g}")
    if factor > 1.0:
        return Wording(
            f"{finding}: of the motor's side of the gear, currents [A], or of another unit",
            f"multiply {them} by gear ratio or torque constant, about {factor:.2g}, or correct the "
            "unit, unless the log is of another robot",
        )
    return Wording(
        f"{finding}: unit, torque constant or gear ratio are wrong",
        f"multiply {them} by about {factor:.2g}, or correct unit, constant and gear ratio, unless "
        "the log is of another robot",
    )
