"""Causes in the motion: joints that stand still, parameters that the log does not show."""

import numpy as np

from robotid_sim.diagnostics.cause import Cause
from robotid_sim.diagnostics.directions import excited_directions
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.measurement.log import MOVING

REMEDY = "drive a designed excitation: `robotid design`"


def excitation_causes(evidence: Evidence) -> list[Cause]:
    """Return which joints and how many parameters the motion does not excite."""
    names, basis = evidence.nominal.joint_names, evidence.basis
    travel = np.ptp(evidence.q, axis=0)
    still = travel < MOVING
    causes = [
        Cause(
            kind="unexcited",
            joints=(names[j],),
            finding="the joint hardly moves, so that its own parameters do not show",
            evidence=f"range {travel[j]:.2g} {evidence.nominal.joint_units[j]}",
            remedy=REMEDY,
        )
        for j in np.flatnonzero(still)
    ]
    if causes:
        return causes
    sigma = evidence.held_out().fit(np.arange(evidence.plain)).sigma
    flat = evidence.W.reshape(-1, basis.rank)
    problem = LinearProblem(flat, evidence.y.ravel(), basis, names, evidence.dt, evidence.nominal)
    seen = excited_directions(problem, sigma, evidence.nominal)
    if seen == basis.rank:
        return []
    return [
        Cause(
            kind="unexcited",
            joints=(),
            finding=f"the motion shows only {seen} of {basis.rank} directions of the parameter "
            "space above the noise",
            evidence="a change of typical size along the others moves the torques by less than one "
            "standard deviation over the whole log",
            remedy=REMEDY,
        )
    ]
