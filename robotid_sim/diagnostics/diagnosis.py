"""Diagnosis: faults of a log or of its model, each with a remedy."""

import logging

import numpy as np

from robotid_sim.diagnostics.accepted_cause import AcceptedCause
from robotid_sim.diagnostics.cause import Cause, Diagnosis
from robotid_sim.diagnostics.directions import list_excitation_causes
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.nominal_causes import list_implausible_bodies, nominal_causes
from robotid_sim.diagnostics.recording_causes import (
    find_recording_causes,
    list_coarse_positions,
    replace_by_backlash,
)
from robotid_sim.diagnostics.search import search_causes
from robotid_sim.diagnostics.torque_causes import list_undetectable_scales
from robotid_sim.diagnostics.torque_kinds import torque_kind_causes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.faults import find_faults, repair_log
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.section import percent
from robotid_sim.threads import one_blas_thread

_logger = logging.getLogger(__name__)

FRICTION_KINDS = (
    "asymmetric-friction",
    "transition-velocity",
    "load-dependent-friction",
    "position-dependent-friction",
    "stribeck",
)
POSITION_KINDS = (
    *("backlash", "eccentricity", "elastic-joint", "hysteresis"),
    *("position-scale", "position-step", "position-zero"),
)
TORQUE_KINDS = ("torque-drift", "torque-offset")

RELATED_KINDS = {
    **dict.fromkeys(FRICTION_KINDS, (*FRICTION_KINDS, *TORQUE_KINDS)),
    **dict.fromkeys(POSITION_KINDS, POSITION_KINDS),
    **dict.fromkeys(TORQUE_KINDS, TORQUE_KINDS),
    **dict.fromkeys(("position-noise", "encoder-frozen"), POSITION_KINDS),
    **dict.fromkeys(("position-columns", "position-sign", "position-units"), POSITION_KINDS),
    "torque-scale": ("torque-scale",),
    "torque-delay": ("torque-delay",),
}
"""By kind: kinds of causes that may merely fit its residual on the same joint."""


@one_blas_thread()
def diagnose(
    log: Log, nominal: Robot, basis: BaseParameters, *, smoother: RtsSmoother | None = None
) -> Diagnosis:
    """Find faults of a log and its model; `log.truth` is ignored.

    Parameters
    ----------
    log : Log
        A measured log, of the virtual experiment or of a machine.
    nominal : Robot
        Nominal model; few causes depend on its inertia.
    basis : BaseParameters
        Parameters of the fit.
    smoother : RtsSmoother, optional
        Computes the motion of the log; by default it is tuned to the log.

    Raises
    ------
    LogError
        If the log is of another robot, has no torques, or is too short.
    """
    log.require_robot(nominal).require_torques()
    faults = find_faults(log)
    recorded = find_recording_causes(log, faults)
    clean = repair_log(log, faults)
    tuned = (smoother or RtsSmoother()).tune(clean, nominal)
    offset = log.torque_time_offset
    motion = tuned(clean, nominal)
    if causes := [*list_implausible_bodies(nominal), *torque_kind_causes(log, motion, nominal)]:
        return Diagnosis(tuple(causes))  # other findings would be consequences of these causes
    assert tuned.corners is not None
    coarse = list_coarse_positions(log, motion.ddq, tuned.corners)
    reported = {(cause.kind, cause.joints) for cause in recorded.causes}
    coarse = [cause for cause in coarse if (cause.kind, cause.joints) not in reported]
    unmodeled = replace_by_backlash((*recorded.causes, *coarse), faults.torque, motion, nominal)
    evidence = Evidence.from_motion(motion, nominal, basis, offset=offset, bad=recorded.untrusted)
    accepted, evidence = search_causes(evidence)
    for cause in accepted:
        _logger.info("%s %s gains %.0f", cause.kind, cause.joints, cause.gain)
    # Drop causes that merely fit the residual of another cause of the same joint.
    distinct: list[AcceptedCause] = []
    for cause in accepted:
        joints = tuple(log.joint_names[j] for j in cause.joints)
        before = [a.kind for a in distinct if a.joints == cause.joints]
        before += [c.kind for c in unmodeled if c.joints == joints]
        if not any(cause.kind in RELATED_KINDS.get(kind, ()) for kind in before):
            distinct.append(cause)
    modeled = [_make_cause(cause, evidence) for cause in distinct]
    blurred = {joint for cause in coarse for joint in cause.joints}
    modeled = [cause for cause in modeled if not blurred & {*cause.joints}]
    further = nominal_causes(evidence)
    if not any(cause.kind == "torque-scale" for cause in further):  # then noise has that scale too
        further += list_excitation_causes(evidence)
    return Diagnosis((*unmodeled, *modeled, *further), tuple(list_undetectable_scales(evidence)))


def _make_cause(cause: AcceptedCause, evidence: Evidence) -> Cause:
    names = evidence.nominal.joint_names
    joints, text = tuple(names[j] for j in cause.joints), cause.describe(evidence.correction)
    before, after = cause.residual
    worst = int(np.argmax(np.log(before / after)))
    if cause.uses_nominal:
        detail = (
            f"the log-likelihood of the log under the nominal model increases by {cause.gain:.0f} "
            "(logarithm)"
        )
        return Cause(cause.kind, joints, text.finding, detail, text.remedy, cause.gain)
    detail = (
        f"the log-likelihood of held-out rows increases by {cause.gain:.0f} ± {cause.std:.0f} "
        f"(logarithm); the residual of {names[worst]} falls from {percent(before[worst], 2)} to "
        f"{percent(after[worst], 2)} of its RMS torque"
    )
    if cause.alternatives:
        detail += f"; explained as well by: {', '.join(cause.alternatives)}"
    gain = (cause.gain, cause.std, cause.alternatives)
    return Cause(cause.kind, joints, text.finding, detail, text.remedy, *gain)
