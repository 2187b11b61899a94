"""Diagnosis: what is wrong with a log or with the model for it, by name, with what to do."""

import logging

import numpy as np

from robotid_sim.diagnostics.accepted_cause import AcceptedCause
from robotid_sim.diagnostics.cause import Cause, Diagnosis
from robotid_sim.diagnostics.directions import excitation_causes
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.nominal_causes import implausible_bodies, nominal_causes
from robotid_sim.diagnostics.recording_causes import (
    coarse_positions,
    find_recording_causes,
    replace_by_backlash,
)
from robotid_sim.diagnostics.search import search
from robotid_sim.diagnostics.torque_causes import unseen_scales
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
"""By kind of a cause: kinds that make up, on the same joint, for what its form leaves."""


@one_blas_thread()
def diagnose(
    log: Log, nominal: Robot, basis: BaseParameters, *, smoother: RtsSmoother | None = None
) -> Diagnosis:
    """Return what speaks against a log and the model for it; its truth is not looked at.

    Parameters
    ----------
    log : Log
        A measured log, of the virtual experiment or of a machine.
    nominal : Robot
        What is known of the robot; its inertia matters for few causes only.
    basis : BaseParameters
        The parameters that are identified.
    smoother : RtsSmoother, optional
        Makes the motion of the log; by default it is tuned to the log.

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
    if wrong := [*implausible_bodies(nominal), *torque_kind_causes(log, motion, nominal)]:
        return Diagnosis(tuple(wrong))  # all else would follow from these
    assert tuned.corners is not None
    coarse = coarse_positions(log, motion.ddq, tuned.corners)
    known = {(cause.kind, cause.joints) for cause in recorded.causes}
    coarse = [cause for cause in coarse if (cause.kind, cause.joints) not in known]
    samples = replace_by_backlash((*recorded.causes, *coarse), faults.torque, motion, nominal)
    evidence = Evidence.from_motion(motion, nominal, basis, offset=offset, bad=recorded.bad)
    accepted, evidence = search(evidence)
    for one in accepted:
        _logger.info("%s %s gains %.0f", one.kind, one.joints, one.gain)
    # Without those that only make up for what the form of others leaves.
    named: list[AcceptedCause] = []
    for one in accepted:
        joints = tuple(log.joint_names[j] for j in one.joints)
        before = [a.kind for a in named if a.joints == one.joints]
        before += [c.kind for c in samples if c.joints == joints]
        if not any(one.kind in RELATED_KINDS.get(kind, ()) for kind in before):
            named.append(one)
    modeled = [_cause(one, evidence) for one in named]
    unclear = {joint for cause in coarse for joint in cause.joints}
    modeled = [cause for cause in modeled if not unclear & {*cause.joints}]
    more = nominal_causes(evidence)
    if not any(cause.kind == "torque-scale" for cause in more):  # its noise has another unit
        more += excitation_causes(evidence)
    return Diagnosis((*samples, *modeled, *more), tuple(unseen_scales(evidence)))


def _cause(one: AcceptedCause, evidence: Evidence) -> Cause:
    names = evidence.nominal.joint_names
    before, after = one.residual
    worst = int(np.argmax(np.log(before / after)))
    if one.informed:
        text = (
            f"the log-likelihood of the log under the nominal model increases by "
            f"{one.gain:.0f} (logarithm)"
        )
        words, joints = one.words(evidence.correction), tuple(names[j] for j in one.joints)
        return Cause(one.kind, joints, words.finding, text, words.remedy, one.gain)
    text = (
        f"the log-likelihood of held-out rows increases by {one.gain:.0f} ± {one.std:.0f} "
        f"(logarithm); the residual of {names[worst]} falls from {percent(before[worst], 2)} to "
        f"{percent(after[worst], 2)} of its RMS torque"
    )
    if one.alternatives:
        text += f"; explained as well by: {', '.join(one.alternatives)}"
    words = one.words(evidence.correction)
    joints = tuple(names[j] for j in one.joints)
    return Cause(
        one.kind, joints, words.finding, text, words.remedy, one.gain, one.std, one.alternatives
    )
