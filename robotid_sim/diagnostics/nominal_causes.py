"""Causes that only the nominal model reveals: an unmodeled load, a wrong unit of all torques.

The parameters of the last link absorb a load, and the parameters of all links a scale of all
torques. The estimate then differs from the nominal model by much more than its uncertainty, which
has to be assumed.
"""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.diagnostics.column_causes import MIN_SCALE_ERROR, nominal_ratio
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.torque_causes import COLORED_VARIANCE_RATIO
from robotid_sim.model import inertia, parameters
from robotid_sim.model.plausibility import find_implausible
from robotid_sim.model.robot import Robot
from robotid_sim.section import percent

NOMINAL_STD = 0.2
"""Assumed standard deviation of a nominal parameter, over the size of its kind for the body.
"""

MIN_DISTANCE_REDUCTION = 50.0
"""Minimum reduction of the squared distance to the nominal model by a load that is reported."""

MAX_REMAINING_DISTANCE = 4.0
"""Maximum remaining squared distance per parameter; above, a load alone is not the cause."""


def nominal_causes(evidence: Evidence) -> list[Cause]:
    """Find contradictions of estimate and nominal model, given all accepted causes."""
    ratio = nominal_ratio(evidence)
    if (np.abs(np.log(ratio)) > np.log(MIN_SCALE_ERROR)).all() and evidence.dof > 1:
        return [_make_scale_cause(ratio)]
    # An unmodeled load at the last link.
    nominal, basis = evidence.nominal, evidence.basis
    fit = evidence.fit()
    inertial = slice(0, basis.inertial_rank)
    change = (fit.beta[: basis.rank] - basis.project(nominal.parameters()))[inertial]
    B = basis.B[inertial]
    cov = (B * _prior_std(nominal) ** 2) @ B.T + COLORED_VARIANCE_RATIO * fit.cov[
        inertial, inertial
    ]
    size = np.sqrt(np.diag(cov))
    half = np.linalg.cholesky(cov / np.outer(size, size) + 1e-12 * np.eye(size.size))
    last = B[:, parameters.inertial_slice(nominal.dof - 1)] / size[:, None]
    d, L = np.linalg.solve(half, change / size), np.linalg.solve(half, last)
    inverse = np.linalg.pinv(L.T @ L, rcond=1e-10, hermitian=True)
    phi = inverse @ (L.T @ d)
    mass, std = float(phi[0]), float(np.sqrt(inverse[0, 0]))
    after = float(((d - L @ phi) ** 2).sum())
    reduction = float(d @ d) - after
    if reduction < MIN_DISTANCE_REDUCTION or mass <= std or after > MAX_REMAINING_DISTANCE * d.size:
        return []
    moments = ", ".join(f"{value:.2g}" for value in phi[1:4])
    return [
        Cause(
            kind="unmodeled-payload",
            joints=(nominal.joint_names[-1],),
            finding=f"the last link carries {mass:.3g} ± {std:.2g} kg that the nominal model does "
            "not have",
            evidence=f"first moments differ by ({moments}) kg m about the last link; the squared "
            f"distance to the nominal model falls by {reduction:.0f}, its parameters taken as "
            f"known to "
            f"{percent(NOMINAL_STD)}",
            remedy="name the load with `--payload`, or measure it: `robotid payload`",
        )
    ]


def list_implausible_bodies(nominal: Robot) -> list[Cause]:
    """List implausible bodies of the nominal model, such as inertia in wrong units."""
    return [
        Cause(
            kind="nominal-model",
            joints=(),
            finding=f"the nominal model is implausible: {fault.finding}",
            evidence=fault.evidence,
            remedy=fault.remedy,
        )
        for fault in find_implausible(nominal)
    ]


def _make_scale_cause(ratio: Float1D) -> Cause:
    return Cause(
        kind="torque-scale",
        joints=(),
        finding="all torques differ in scale from those of the nominal model",
        evidence=f"measured over nominal RMS torque {(1.0 / ratio).min():.2g} to "
        f"{(1.0 / ratio).max():.2g}; a common scale of all torques cannot be identified from a log",
        remedy="check the unit of the torques and the nominal model",
    )


def _prior_std(nominal: Robot) -> Float1D:
    """Compute the assumed standard deviation of every full parameter, shape (14 n,)."""
    phi = nominal.parameters()
    std = NOMINAL_STD * np.abs(phi)
    for k in range(nominal.dof):
        body = parameters.inertial_slice(k)
        mass, com, _ = inertia.unpack(phi[body])
        moment = 0.5 * np.trace(inertia.inertia_matrix(phi[body]))
        std[body] = NOMINAL_STD * np.array([mass, *3 * [mass * np.linalg.norm(com)], *6 * [moment]])
    return std
