"""Candidate causes: columns of a log with a wrong sign, unit, zero or joint.

They change so much that fits of base parameters alone cannot judge them: the wrong sign of a torque
is explained well, by negative masses and friction. So they are compared by fits of robots that can
exist.
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
"""Units of angles that are mistaken for radians, in radians."""

DOUBLE_CONVERSION_TEXT = "radians that were taken for degrees"
"""What an import makes of positions whose unit it was told wrong."""

MIN_SCALE_ERROR = 3.0
"""Ratio of measured to nominal torque, or its inverse, beyond which a unit is suspected."""


def column_causes(evidence: Evidence) -> list[CorrectionCandidate]:
    """Return the candidates that concern torques, then those that concern positions."""
    dof = evidence.dof
    candidates = [torque_signs(np.where(np.arange(dof) == j, -1.0, 1.0)) for j in range(dof)]
    candidates.append(torque_signs(-np.ones(dof)))
    for order, words in _orders(dof, "torques"):
        moved = tuple(j for j in range(dof) if order[j] != j)
        candidates.append(_torque("torque-columns", moved, np.eye(dof)[:, order], words))
    return [*candidates, *_positions(evidence)]


def torque_signs(signs: Float1D) -> CorrectionCandidate:
    """Return wrong signs of the torques whose entry is -1, shape (n,)."""
    wrong = tuple(np.flatnonzero(signs < 0.0).tolist())
    if len(wrong) == 1:
        words = Wording(
            "the measured torque has the wrong sign",
            "multiply its column by -1, or in a map torque_sign = -1",
        )
    else:
        whose = "all measured" if len(wrong) == signs.size else "the measured"
        words = Wording(
            f"{whose} torques have the wrong sign",
            "multiply their columns by -1, or in a map torque_sign = -1",
        )
    joints = () if len(wrong) == signs.size else wrong
    return _torque(TORQUE_SIGN_KIND, joints, np.diag(signs), words)


def scale_causes(evidence: Evidence) -> list[CorrectionCandidate]:
    """Return scales of the torques that are of another size than the nominal model's."""
    ratios = nominal_ratio(evidence)
    far = np.abs(np.log(ratios)) > np.log(MIN_SCALE_ERROR)
    candidates = []
    for j in np.flatnonzero(far).tolist():
        ratio = float(ratios[j])
        words = Wording(
            f"the measured torque is some {1.0 / ratio:.2g} times that of the nominal model",
            "check its unit, the torque constant and the gear ratio",
        )
        scale = np.where(np.arange(evidence.dof) == j, ratio, 1.0)
        candidates.append(_torque("torque-scale", (j,), np.diag(scale), words))
    return candidates


def _positions(evidence: Evidence) -> list[CorrectionCandidate]:
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
        words = Wording(
            "the position has the wrong sign", "multiply its column by -1, or in a map sign = -1"
        )
        candidates.append(_position("position-sign", (j,), np.diag(signs), none.shift, words))
    for j in turning:
        for degrees in (90.0, -90.0, 180.0):
            shift = np.zeros(dof)
            shift[j] = np.radians(degrees)
            words = Wording(
                f"the zero position is wrong by {-degrees:g} deg",
                f"add {shift[j]:.6f} rad to its column",
            )
            candidates.append(_position("position-zero", (j,), none.position, shift, words))
    for j, scale, name in (
        *((j, scale, name) for j in turning for name, scale in ANGLE_UNITS.items()),
        *((j, 1e-3, "millimeters") for j in range(dof) if j not in turning),
    ):
        factor = np.ones(dof)
        factor[j] = scale
        words = Wording(f"the position is in {name}", f"multiply its column by {scale:.6g}")
        candidates.append(_position("position-units", (j,), np.diag(factor), none.shift, words))
    for name, scale in all_turning.items() if len(turning) > 1 else ():
        factor = np.array([scale if j in turning else 1.0 for j in range(dof)])
        words = Wording(f"the positions are {name}", f"multiply them by {scale:.6g}")
        candidates.append(_position("position-units", (), np.diag(factor), none.shift, words))
    for order, words in _orders(dof, "positions"):
        moved = tuple(j for j in range(dof) if order[j] != j)
        matrix = np.eye(dof)[:, order]
        candidates.append(_position("position-columns", moved, matrix, none.shift, words))
    return candidates


def _orders(dof: int, what: str) -> list[tuple[list[int], Wording]]:
    """Return the orders of columns that are tried: pairs swapped, all shifted by one."""
    orders = []
    for j, k in combinations(range(dof), 2):
        order = list(range(dof))
        order[j], order[k] = k, j
        text = f"the {what} of the two joints are swapped"
        orders.append((order, Wording(text, "swap their columns")))
    for by in (1, -1) if dof > 2 else ():
        text = f"the {what} stand in the columns of their neighbors"
        remedy = f"shift their columns by one to the {'left' if by == 1 else 'right'}"
        orders.append(([(j + by) % dof for j in range(dof)], Wording(text, remedy)))
    return orders


def nominal_ratio(evidence: Evidence) -> Float1D:
    """Return the RMS torque of the nominal model over the measured one, shape (n,)."""
    expected = joint_torque(evidence.nominal, evidence.q, evidence.dq, evidence.ddq)
    size = np.sqrt((evidence.rows.apply(expected) ** 2).mean(axis=0))
    tiny = np.finfo(float).tiny
    return np.asarray(np.maximum(size, tiny) / np.maximum(evidence.size, tiny))


def _torque(
    kind: str, joints: tuple[int, ...], matrix: Float2D, words: Wording
) -> CorrectionCandidate:
    return CorrectionCandidate(
        kind, joints, replace(Correction.none(len(matrix)), torque=matrix), words
    )


def _position(
    kind: str, joints: tuple[int, ...], matrix: Float2D, shift: Float1D, words: Wording
) -> CorrectionCandidate:
    correction = replace(Correction.none(len(matrix)), position=matrix, shift=shift)
    return CorrectionCandidate(kind, joints, correction, words)
