"""What contradicts a log before anything is fitted to it; a fit may look sound in spite of it."""

from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool2D
from robotid_sim.diagnostics.cause import Wording
from robotid_sim.diagnostics.data_faults import gross_cause
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.nominal_causes import implausible_bodies
from robotid_sim.diagnostics.recording_causes import find_clipped_torques
from robotid_sim.diagnostics.search import MIN_GAIN
from robotid_sim.diagnostics.torque_causes import (
    COUPLED_JOINTS_KIND,
    MIN_RESIDUAL_RATIO,
    list_coupling_causes,
)
from robotid_sim.diagnostics.torque_kinds import torque_kind_causes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import LogError
from robotid_sim.importing.match import MAX_LIMIT_RATIO
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.faults import find_faults, repair_log
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.section import percent
from robotid_sim.threads import one_blas_thread

FULL_TURN = 2.0 * np.pi
"""Range from which a joint may turn without end, whatever its limits [rad]."""

MAX_SIZE_RATIO = 100.0
"""Positions over their limit that no unit of a joint explains, degrees being 57.3 times too large;
whatever the torques say then is of another motion."""

MIN_CLIPPED_SHARE = 5e-3
"""Share of the samples of a joint from which clipped torques spoil a fit."""


class Contradictions(NamedTuple):
    """What speaks against a log: name, number and remedy each, without full stops."""

    errors: tuple[str, ...]
    """What no robot like the nominal one can have recorded."""
    couplings: tuple[str, ...]
    """Joints whose motors are coupled, which may be in the map of a log or in the robot."""


@one_blas_thread()
def contradictions(log: Log, nominal: Robot, basis: BaseParameters) -> Contradictions:
    """Return what a log cannot be right in, by what is known before anything is fitted to it.

    These are clipped torques, and the likeliest gross error: a sign, a unit or a zero, swapped
    columns, a delay. The nominal model may be wrong by its own size. The motion is that of the
    positions alone: one that follows from the model too hides what is wrong with either.

    The log is a measured one, of which the truth is not looked at. Nothing is returned for a log
    that may be right, and no gross error if it is too short for a comparison.
    """
    clipped = find_clipped_torques(log.tau_meas)
    if far := _beyond_limits(log, nominal, MAX_SIZE_RATIO):
        return Contradictions((*far, *_report_clipping(log, clipped)), ())
    clean = repair_log(log, find_faults(log))
    try:
        motion = RtsSmoother()(clean, nominal)
        if wrong := [*implausible_bodies(nominal), *torque_kind_causes(log, motion, nominal)]:
            where = (f"{', '.join(cause.joints)}: " if cause.joints else "" for cause in wrong)
            texts = (f"{w}{c.finding}; {c.remedy}" for w, c in zip(where, wrong, strict=True))
            return Contradictions(tuple(texts), ())
        evidence = Evidence.from_motion(motion, nominal, basis, bad=clipped)
    except LogError:
        gross, couplings = None, ""
    else:
        gross = gross_cause(evidence, MIN_GAIN)
        couplings = "" if gross else _find_coupling(evidence)
    errors = [*_report_clipping(log, clipped), *_beyond_limits(log, nominal, MAX_LIMIT_RATIO)]
    if gross is not None:
        candidate, words = gross[0], gross[0].words
        text = words if isinstance(words, Wording) else words(candidate.correction)
        sentence = _sentence(evidence, candidate.joints, text)
        if candidate.kind == COUPLED_JOINTS_KIND:
            couplings = sentence
        else:
            errors = [*_report_clipping(log, clipped), sentence]
    return Contradictions(tuple(errors), (couplings,) if couplings else ())


def _report_clipping(log: Log, clipped: Bool2D) -> list[str]:
    shares = clipped.mean(axis=0)
    return [
        f"{log.joint_names[j]}: the measured torque is clipped at its extreme value in "
        f"{percent(shares[j], 2)} of the samples; raise the range of the sensor or the limit of "
        "the drive, or drive more gently"
        for j in np.flatnonzero(shares > MIN_CLIPPED_SHARE)
    ]


def _beyond_limits(log: Log, nominal: Robot, least: float) -> list[str]:
    limits = nominal.limits
    reach = np.abs(log.q).max(axis=0) / np.maximum(np.abs(limits.lower), np.abs(limits.upper))
    return [
        f"{log.joint_names[j]}: the position reaches {reach[j]:.3g} times its limit; give it in "
        f"{log.joint_units[j]} of the joint, not of the motor, or correct the limit of the robot"
        for j in np.flatnonzero((reach > least) & (2.0 * limits.half_range < FULL_TURN))
    ]


def _find_coupling(evidence: Evidence) -> str:
    """Return the joints whose coupling explains most of a residual; empty if there are none."""
    plain = np.arange(evidence.plain)
    fit = evidence.sum_by_block().fit(plain)
    best, words = MIN_GAIN, ""
    for candidate in list_coupling_causes(evidence, fit):
        held = evidence.sum_by_block(candidate.columns)
        columns = np.arange(evidence.plain + candidate.columns.shape[2])
        coupled = held.fit(columns)
        value = coupled.beta[evidence.plain :]
        if (fit.sigma / coupled.sigma).max() < MIN_RESIDUAL_RATIO or not candidate.is_acceptable(
            value
        ):
            continue
        gains = held.score(columns) - held.score(plain)
        if gains.sum() - gains.max() > best:
            best = float(gains.sum() - gains.max())
            words = _sentence(evidence, candidate.joints, candidate.words(value))
    return words


def _sentence(evidence: Evidence, joints: tuple[int, ...], words: Wording) -> str:
    names = ", ".join(evidence.nominal.joint_names[j] for j in joints)
    return f"{f'{names}: ' if names else ''}{words.finding}; {words.remedy}"
