r"""Candidate causes: joints that share a drive, so that the torque of one is also that of another.

A motor that drives joints j and k adds its inertia and friction to both [1]_:

.. math:: \tau_j \mathrel{+}= I \ddot q_k + f_v \dot q_k + f_s\,\mathrm{sign}(\dot q_j + \dot q_k)

and the same with j and k exchanged. Where the torques of motors were not mapped to their joints,
the torque of one holds a share of that of the other.

References
----------
.. [1] Gautier (1997), "Dynamic identification of robots with power model", IEEE ICRA,
   doi:10.1109/ROBOT.1997.606894 (coupled wrists).
"""

from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.cause import Amendment, Extension, Wording
from robotid_sim.diagnostics.evidence import Correction, Evidence
from robotid_sim.estimation.held_out import Fit
from robotid_sim.estimation.problem import joint_only

COUPLED_JOINTS = "coupled-joints"
"""Kind of these causes."""

COUPLED = 3.0
"""Factor by which a coupling lets the residual of a joint fall from which on it is gross."""

SHARED = (0.05,)
"""Share of another joint's torque that is worth a word."""


def coupling_causes(evidence: Evidence, fit: Fit) -> list[Extension]:
    """Return the candidates for pairs of joints; `fit` is not used."""
    del fit
    return [*_shares(evidence), *_drives(evidence)]


def coupling_corrections(evidence: Evidence) -> list[Amendment]:
    """Return the corrections of torques that hold a share of a neighbor's, by the free fit."""
    corrections = []
    plain = evidence.held_out().fit(np.arange(evidence.plain))
    for candidate in _shares(evidence):
        fit = evidence.held_out(candidate.columns).fit(np.arange(evidence.plain + 1))
        share = fit.beta[-1:]
        if not candidate.allows(share) or (plain.sigma / fit.sigma).max() < COUPLED:
            continue
        torque = np.eye(evidence.dof)
        torque[candidate.partner, candidate.joint] = -share[0]
        correction = replace(Correction.none(evidence.dof), torque=torque)
        words = candidate.words(share)
        corrections.append(Amendment(candidate.kind, candidate.joints, correction, words))
    return corrections


def _shares(evidence: Evidence) -> list[Extension]:
    """Return torques that hold a share of a neighbor's, as two motors of a wrist may."""
    names, dof = evidence.nominal.joint_names, evidence.dof
    candidates = []
    for j, k in permutations(range(dof), 2):
        if abs(j - k) == 1:
            columns = joint_only(evidence.y[:, [k]], j, dof)
            words = partial(_share, names[j], names[k])
            candidates.append(Extension(COUPLED_JOINTS, j, columns, words, SHARED, partner=k))
    return candidates


def _drives(evidence: Evidence) -> list[Extension]:
    """Return inertia and friction of a motor that two neighbors share, with either direction."""
    candidates = []
    dq, ddq = evidence.rows.apply(evidence.dq), evidence.rows.apply(evidence.ddq)
    friction = [joint.friction for joint in evidence.nominal.joints]
    for j in range(evidence.dof - 1):
        k, eps = j + 1, friction[j + 1].eps
        for side in (1.0, -1.0):
            turning = np.tanh((evidence.dq[:, [j]] + side * evidence.dq[:, [k]]) / eps)
            sign = evidence.rows.apply(turning)[:, 0]
            columns = np.zeros((*evidence.y.shape, 3))
            columns[:, j] = side * np.column_stack([dq[:, k], ddq[:, k], side * sign])
            columns[:, k] = side * np.column_stack([dq[:, j], ddq[:, j], sign])
            candidates.append(Extension(COUPLED_JOINTS, j, columns, _drive, lower=0.0, partner=k))
    return candidates


def _share(to: str, of: str, value: Float1D) -> Wording:
    return Wording(
        f"the measured torque of {to} holds {value[0]:.2g} times that of {of}: their motors are "
        "coupled",
        "map motors to joints: `coupling` in the map of `robotid import`",
    )


def _drive(value: Float1D) -> Wording:
    return Wording(
        "the joints share a drive, whose inertia and friction act on both: the residual of each "
        f"follows the other's motion, with dry friction {abs(value[2]):.2g} N m",
        "let the fit have it: `identify --terms coupled-joints`",
    )
