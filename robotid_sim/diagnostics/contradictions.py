"""Contradictions between a log and prior knowledge, which a fit of the log may not reveal."""

from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool2D
from robotid_sim.diagnostics.cause import Wording
from robotid_sim.diagnostics.data_faults import find_data_fault
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.nominal_causes import list_implausible_bodies
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
"""Minimum range of a joint that can turn without limit [rad]."""

MAX_SIZE_RATIO = 100.0
"""Ratio of position to limit above which no angle unit explains it (degrees are a factor of 57.3);
the torques then belong to a different motion."""

MIN_CLIPPED_SHARE = 5e-3
"""Share of clipped torques of a joint above which they spoil a fit."""


class Contradictions(NamedTuple):
    """Contradictions of a log, each a text of finding and remedy without full stop."""

    errors: tuple[str, ...]
    """Data faults: no robot similar to the nominal one can have recorded the log."""
    couplings: tuple[str, ...]
    """Joints with coupled motors; the coupling may be in the map of the log or in the robot."""


@one_blas_thread()
def contradictions(log: Log, nominal: Robot, basis: BaseParameters) -> Contradictions:
    """Find data faults of a log from prior knowledge, before a fit.

    These are clipped torques and the most likely data fault: a sign, unit or zero, swapped columns,
    a delay. The nominal model may be wrong by 100 %. The motion is computed from the positions
    alone: a model-based motion would hide faults of log and model.

    `log.truth` is ignored. The result is empty for a plausible log, and has no data fault if the
    log is too short for a comparison.
    """
    clipped = find_clipped_torques(log.tau_meas)
    if limit_texts := _report_limits(log, nominal, MAX_SIZE_RATIO):
        return Contradictions((*limit_texts, *_report_clipping(log, clipped)), ())
    clean = repair_log(log, find_faults(log))
    try:
        motion = RtsSmoother()(clean, nominal)
        if causes := [*list_implausible_bodies(nominal), *torque_kind_causes(log, motion, nominal)]:
            prefixes = (f"{', '.join(cause.joints)}: " if cause.joints else "" for cause in causes)
            texts = (f"{p}{c.finding}; {c.remedy}" for p, c in zip(prefixes, causes, strict=True))
            return Contradictions(tuple(texts), ())
        evidence = Evidence.from_motion(motion, nominal, basis, bad=clipped)
    except LogError:
        fault, couplings = None, ""
    else:
        fault = find_data_fault(evidence, MIN_GAIN)
        couplings = "" if fault else _find_coupling(evidence)
    errors = [*_report_clipping(log, clipped), *_report_limits(log, nominal, MAX_LIMIT_RATIO)]
    if fault is not None:
        candidate, wording = fault[0], fault[0].wording
        wording = wording if isinstance(wording, Wording) else wording(candidate.correction)
        sentence = _make_sentence(evidence, candidate.joints, wording)
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


def _report_limits(log: Log, nominal: Robot, min_ratio: float) -> list[str]:
    limits = nominal.limits
    reach = np.abs(log.q).max(axis=0) / np.maximum(np.abs(limits.lower), np.abs(limits.upper))
    return [
        f"{log.joint_names[j]}: the position reaches {reach[j]:.3g} times its limit; give it in "
        f"{log.joint_units[j]} of the joint, not of the motor, or correct the limit of the robot"
        for j in np.flatnonzero((reach > min_ratio) & (2.0 * limits.half_range < FULL_TURN))
    ]


def _find_coupling(evidence: Evidence) -> str:
    """Describe the coupling that explains most of a residual; empty if there is none."""
    columns_before = np.arange(evidence.width)
    fit = evidence.sum_by_block().fit(columns_before)
    best_gain, text = MIN_GAIN, ""
    for candidate in list_coupling_causes(evidence, fit):
        blocks = evidence.sum_by_block(candidate.columns)
        columns = np.arange(evidence.width + candidate.columns.shape[2])
        larger = blocks.fit(columns)
        value = larger.beta[evidence.width :]
        if (fit.sigma / larger.sigma).max() < MIN_RESIDUAL_RATIO or not candidate.is_acceptable(
            value
        ):
            continue
        gains = blocks.score(columns) - blocks.score(columns_before)
        if gains.sum() - gains.max() > best_gain:
            best_gain = float(gains.sum() - gains.max())
            text = _make_sentence(evidence, candidate.joints, candidate.wording(value))
    return text


def _make_sentence(evidence: Evidence, joints: tuple[int, ...], wording: Wording) -> str:
    names = ", ".join(evidence.nominal.joint_names[j] for j in joints)
    return f"{f'{names}: ' if names else ''}{wording.finding}; {wording.remedy}"
