"""Candidate causes: columns of a log with a wrong sign, unit, zero or joint.

Unconstrained fits cannot detect these faults: negative masses and negative friction explain the
wrong sign of a torque well. So candidates are compared by fits of physically consistent robots.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.diagnostics.cause import CorrectionCandidate, Wording
from robotid_sim.diagnostics.evidence import Correction, Evidence
from robotid_sim.dynamics.dynamics import joint_torque

TORQUE_SIGN_KIND = "torque-sign"
"""Kind of wrong signs."""

ANGLE_UNITS = {"degrees": np.pi / 180.0, "turns": 2.0 * np.pi}
"""Units of angles that are mistaken for radians, by their value in radians."""

DOUBLE_CONVERSION_TEXT = "radians that were converted as degrees"
"""Text for positions that were imported with a wrong unit."""

MIN_SCALE_ERROR = 3.0
"""Minimum ratio of measured to nominal torque, or its inverse, that suggests a wrong unit."""


def column_causes(evidence: Evidence) -> list[CorrectionCandidate]:
    """List the candidates for torques, then those for positions."""
    dof = evidence.dof
    candidates = [torque_signs(np.where(np.arange(dof) == j, -1.0, 1.0)) for j in range(dof)]
    candidates.append(torque_signs(-np.ones(dof)))
    for order, wording in _list_orders(dof, "torques"):
        moved = tuple(j for j in range(dof) if order[j] != j)
        candidates.append(_torque("torque-columns", moved, np.eye(dof)[:, order], wording))
    return [*candidates, *_list_positions(evidence)]


def torque_signs(signs: Float1D) -> CorrectionCandidate:
    """Make the candidate of wrong torque signs, -1 where wrong, shape (n,)."""
    wrong = tuple(np.flatnonzero(signs < 0.0).tolist())
    if len(wrong) == 1:
        wording = Wording(
            "the measured torque has the wrong sign",
            "multiply its column by -1, or in a map torque_sign = -1",
        )
    else:
        which = "all measured" if len(wrong) == signs.size else "the measured"
        wording = Wording(
            f"{which} torques have the wrong sign",
            "multiply their columns by -1, or in a map torque_sign = -1",
        )
    joints = () if len(wrong) == signs.size else wrong
    return _torque(TORQUE_SIGN_KIND, joints, np.diag(signs), wording)


def scale_causes(evidence: Evidence) -> list[CorrectionCandidate]:
    """List torque scales of joints whose torque differs much from the nominal model."""
    ratios = nominal_ratio(evidence)
    is_outlier = np.abs(np.log(ratios)) > np.log(MIN_SCALE_ERROR)
    candidates = []
    for j in np.flatnonzero(is_outlier).tolist():
        ratio = float(ratios[j])
        wording = Wording(
            f"the measured torque is about {1.0 / ratio:.2g} times that of the nominal model",
            "check its unit, the torque constant and the gear ratio",
        )
        scale = np.where(np.arange(evidence.dof) == j, ratio, 1.0)
        candidates.append(_torque("torque-scale", (j,), np.diag(scale), wording))
    return candidates


def _list_positions(evidence: Evidence) -> list[CorrectionCandidate]:
    dof, units = evidence.dof, evidence.nominal.joint_units
    none = Correction.none(dof)
    all_turning = {f"in {name}": scale for name, scale in ANGLE_UNITS.items()} | {
        DOUBLE_CONVERSION_TEXT: 180.0 / np.pi
    }
    turning = [j for j in range(dof) if units[j] == "rad"]
    candidates = []
    for j in range(dof):
        signs = np.ones(dof)
        signs[j] = -1.0
        wording = Wording(
            "the position has the wrong sign", "multiply its column by -1, or in a map sign = -1"
        )
        candidates.append(_position("position-sign", (j,), np.diag(signs), none.shift, wording))
    for j in turning:
        for degrees in (90.0, -90.0, 180.0):
            shift = np.zeros(dof)
            shift[j] = np.radians(degrees)
            wording = Wording(
                f"the zero position is wrong by {-degrees:g} deg",
                f"add {shift[j]:.6f} rad to its column",
            )
            candidates.append(_position("position-zero", (j,), none.position, shift, wording))
    for j, scale, name in (
        *((j, scale, name) for j in turning for name, scale in ANGLE_UNITS.items()),
        *((j, 1e-3, "millimeters") for j in range(dof) if j not in turning),
    ):
        factor = np.ones(dof)
        factor[j] = scale
        wording = Wording(f"the position is in {name}", f"multiply its column by {scale:.6g}")
        candidates.append(_position("position-units", (j,), np.diag(factor), none.shift, wording))
    for name, scale in all_turning.items() if len(turning) > 1 else ():
        factor = np.array([scale if j in turning else 1.0 for j in range(dof)])
        wording = Wording(f"the positions are {name}", f"multiply them by {scale:.6g}")
        candidates.append(_position("position-units", (), np.diag(factor), none.shift, wording))
    for order, wording in _list_orders(dof, "positions"):
        moved = tuple(j for j in range(dof) if order[j] != j)
        matrix = np.eye(dof)[:, order]
        candidates.append(_position("position-columns", moved, matrix, none.shift, wording))
    return candidates


def _list_orders(dof: int, quantity: str) -> list[tuple[list[int], Wording]]:
    """List the permutations of columns to try: pairs swapped, all shifted by one."""
    orders = []
    for j, k in combinations(range(dof), 2):
        order = list(range(dof))
        order[j], order[k] = k, j
        text = f"the {quantity} of the two joints are swapped"
        orders.append((order, Wording(text, "swap their columns")))
    for shift in (1, -1) if dof > 2 else ():
        text = f"the {quantity} are in the columns of their neighbors"
        remedy = f"shift their columns by one to the {'left' if shift == 1 else 'right'}"
        orders.append(([(j + shift) % dof for j in range(dof)], Wording(text, remedy)))
    return orders


def nominal_ratio(evidence: Evidence) -> Float1D:
    """Compute the RMS torque of the nominal model over the measured one, shape (n,)."""
    expected = joint_torque(evidence.nominal, evidence.q, evidence.dq, evidence.ddq)
    size = np.sqrt((evidence.rows.apply(expected) ** 2).mean(axis=0))
    tiny = np.finfo(float).tiny
    return np.asarray(np.maximum(size, tiny) / np.maximum(evidence.rms_torque, tiny))


def _torque(
    kind: str, joints: tuple[int, ...], matrix: Float2D, wording: Wording
) -> CorrectionCandidate:
    return CorrectionCandidate(
        kind, joints, replace(Correction.none(len(matrix)), torque=matrix), wording
    )


def _position(
    kind: str, joints: tuple[int, ...], matrix: Float2D, shift: Float1D, wording: Wording
) -> CorrectionCandidate:
    correction = replace(Correction.none(len(matrix)), position=matrix, shift=shift)
    return CorrectionCandidate(kind, joints, correction, wording)
