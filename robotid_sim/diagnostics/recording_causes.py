"""Causes that are found without a model: invalid samples.

The module also detects backlash by its torque impacts: torques jump where the load of a joint
changes sign. A rotor that leaves one flank of its gear runs freely, hits the other flank, and
rattles. The loop responds with short peaks, which resemble outliers; but outliers occur at any
time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.ndimage import maximum_filter1d

from robotid_sim.arrays import Bool1D, Bool2D, Float1D, Float2D
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.measurement.log import MIN_MOTION_RANGE, Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.faults import MAX_GAP_SAMPLES, Faults, resolution
from robotid_sim.section import percent

MIN_LOST_SHARE = 5e-3
"""Minimum share of lost samples that is reported."""

MIN_OUTLIER_SHARE = 5e-4
MIN_OUTLIERS = 5
"""Minimum share and number of outliers that are reported."""

MIN_CLIPPED_SAMPLES = 20
"""Minimum number of samples at one extreme value of a clipped torque."""

MIN_CLIPPING_RATIO = 5.0
"""Minimum ratio of their number to that of samples at the next value: coarse torques repeat too."""

MIN_NOISE_RATIO = 10.0
"""Minimum noise of a faulty sensor relative to other sensors of its kind."""

NORMAL_QUANTILE_90 = 1.6449
"""Standard deviations within which 90 % of a Gaussian variable lie."""

MIN_SENSOR_NOISE = {"rad": 5e-4, "m": 5e-5, "torque": 0.05}
"""Minimum noise of a faulty sensor: of positions [rad or m], of torques over their RMS."""


MIN_ROUNDING_SHARE = 1.0 / 3.0
"""Share of rounding in a smoothed acceleration above which no other cause of the joint is
identifiable."""

MIN_RANGE_RATIO = 10.0
"""Minimum range of a position, in encoder steps, of a joint in motion."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordingFaults:
    """Recording faults of a log that are found without a model."""

    causes: tuple[Cause, ...]
    untrusted: Bool2D
    """Samples with invalid torque or position, shape (N, n)."""


def find_recording_causes(log: Log, faults: Faults) -> RecordingFaults:
    """Find faults of the samples of a log, given its lost samples and outliers."""
    clipped, frozen = find_clipped_torques(log.tau_meas), find_frozen_positions(log.q)
    lost, causes = int(faults.lost.sum()), list[Cause]()
    if lost >= MIN_LOST_SHARE * log.t.size:
        causes.append(
            Cause(
                kind="lost-samples",
                joints=(),
                finding="lost samples repeat the previous sample",
                evidence=f"{lost} of {log.t.size} samples repeat all channels of the one before",
                remedy="record with a real-time logger; the preprocessor `adaptive` ignores them",
            )
        )
    causes += [
        *_list_outlier_causes(log, faults),
        *_make_joint_causes(
            log,
            clipped,
            "torque-clipped",
            "the measured torque saturates at its extreme values",
            "raise the range of the sensor or the limit of the drive, or drive more gently",
        ),
        *_make_joint_causes(
            log,
            frozen,
            "encoder-frozen",
            "the position stands still while the robot moves, then jumps",
            "check the encoder and its connection, and record again",
        ),
    ]
    # Sensors that are much noisier, or coarser, than the others of their kind.
    units = np.array(log.joint_units)
    for unit in ("rad", "m"):
        causes += _find_outlying_joints(log, estimate_noise(log.q), units == unit, "position", unit)
    size = np.sqrt((log.tau_meas**2).mean(axis=0))
    noise = estimate_noise(log.tau_meas) / np.maximum(size, np.finfo(float).tiny)
    causes += _find_outlying_joints(log, noise, np.ones(log.dof, dtype=bool), "torque", "torque")
    return RecordingFaults(tuple(causes), clipped | frozen)


def find_clipped_torques(tau: Float2D) -> Bool2D:
    """Mark torques that repeat an extreme value of their joint exactly, shape (N, n)."""
    clipped = np.zeros(tau.shape, dtype=bool)
    for j, x in enumerate(tau.T):
        for side in (x, -x):
            top = side == side.max()
            below = side[~top]
            if not below.size:
                continue
            next_value = int((below == below.max()).sum())
            if top.sum() >= max(MIN_CLIPPED_SAMPLES, MIN_CLIPPING_RATIO * next_value):
                clipped[:, j] |= top
    return clipped


def find_frozen_positions(q: Float2D) -> Bool2D:
    """Mark positions that repeat the previous one many times and then jump, shape (N, n)."""
    frozen = np.zeros(q.shape, dtype=bool)
    for j, x in enumerate(q.T):
        step = np.abs(np.diff(x))
        usual = max(float(np.median(step)), float(np.quantile(step, 0.99)))
        edges = np.flatnonzero(np.diff(np.concatenate([[0], (step == 0.0).astype(int), [0]])))
        for begin, end in edges.reshape(-1, 2):
            jump = step[end] if end < step.size else 0.0
            if (
                end - begin > MAX_GAP_SAMPLES
                and jump > 3.0 * usual
                and np.ptp(x) > MIN_MOTION_RANGE
            ):
                frozen[begin : end + 1, j] = True
    return frozen


MIN_JOINT_SHARE = 0.6
"""Minimum share of joints that deviate at the same sample where a time stamp is wrong."""


def _list_outlier_causes(log: Log, faults: Faults) -> list[Cause]:
    causes = []
    min_count = max(MIN_OUTLIERS, MIN_OUTLIER_SHARE * log.t.size)
    together = faults.position.sum(axis=1) >= max(2.0, MIN_JOINT_SHARE * log.dof)
    if together.sum() > min_count:
        causes.append(
            Cause(
                kind="time-stamps",
                joints=(),
                finding="all positions deviate at the same samples: wrong time stamps",
                evidence=f"{together.sum()} of {log.t.size} samples lie beyond 8 robust standard "
                "deviations of their neighbors on most joints",
                remedy="stamp samples when they are taken, not when they arrive",
            )
        )
    isolated = faults.position & ~together[:, None]
    for quantity, outliers in (("torque", faults.torque), ("position", isolated)):
        count = outliers.sum(axis=0)
        causes += [
            Cause(
                kind=f"{quantity}-outliers",
                joints=(log.joint_names[j],),
                finding=f"{quantity} outliers",
                evidence=f"{count[j]} of {log.t.size} samples lie beyond 8 robust standard "
                "deviations of their neighbors",
                remedy="check cables and shielding; the preprocessor `adaptive` ignores them",
            )
            for j in range(log.dof)
            if count[j] > min_count
        ]
    return causes


def _make_joint_causes(
    log: Log, faulty: Bool2D, kind: str, finding: str, remedy: str
) -> list[Cause]:
    count = faulty.sum(axis=0)
    return [
        Cause(
            kind=kind,
            joints=(log.joint_names[j],),
            finding=finding,
            evidence=f"{count[j]} of {log.t.size} samples",
            remedy=remedy,
        )
        for j in np.flatnonzero(count)
    ]


def list_coarse_positions(log: Log, ddq: Float2D, corners: Sequence[float]) -> list[Cause]:
    r"""List the joints whose positions are too coarse for their accelerations.

    Rounding to steps r is treated as noise of :math:`r / \sqrt{12}`, which is amplified by
    :math:`(2 \pi)^2 f_c^{5/2} \sqrt{.349 h}` in the acceleration of a smoother of constant jerk
    with the corner :math:`f_c`, whose gain is :math:`1 / (1 + (f / f_c)^6)`. The true error is
    larger: a slow joint holds one value for long, and its position within the step is unknown.

    The accelerations are smoothed, shape (N, n), with one corner [Hz] per joint.
    """
    step = resolution(log.q)
    gain = (2.0 * np.pi) ** 2 * np.power(corners, 2.5) * np.sqrt(0.349 * log.dt)
    size = np.sqrt((ddq**2).mean(axis=0))
    share = step / np.sqrt(12.0) * gain / np.maximum(size, np.finfo(float).tiny)
    moves = np.ptp(log.q, axis=0) > np.maximum(MIN_RANGE_RATIO * step, MIN_MOTION_RANGE)
    return [
        Cause(
            kind="position-noise",
            joints=(log.joint_names[j],),
            finding="the encoder resolution is too coarse for the accelerations of the motion",
            evidence=f"steps of {step[j]:.2g} {log.joint_units[j]} make {min(share[j], 1.0):.0%} "
            "of the smoothed acceleration",
            remedy="take a finer encoder, or move the joint faster",
        )
        for j in np.flatnonzero(moves & (share > MIN_ROUNDING_SHARE))
    ]


def estimate_noise(x: Float2D) -> Float1D:
    """Estimate the white noise of signals robustly by their fourth difference, shape (n,).

    It uses the 90 % quantile, because the median is zero for a coarse signal.
    """
    fourth = np.abs(np.diff(x, n=4, axis=0))
    return np.asarray(np.quantile(fourth, 0.9, axis=0) / NORMAL_QUANTILE_90 / np.sqrt(70.0))


def _find_outlying_joints(
    log: Log, noise: Float1D, is_same_kind: Bool1D, quantity: str, kind: str
) -> list[Cause]:
    joints = np.flatnonzero(is_same_kind)
    causes = []
    for j in joints:
        others = noise[joints[joints != j]]
        if not others.size or noise[j] <= max(
            MIN_NOISE_RATIO * float(np.median(others)), MIN_SENSOR_NOISE[kind]
        ):
            continue
        unit = "of its RMS" if kind == "torque" else kind
        causes.append(
            Cause(
                kind=f"{quantity}-noise",
                joints=(log.joint_names[j],),
                finding=f"the {quantity} is much noisier than that of the other joints",
                evidence=f"noise {noise[j]:.2g} {unit}, median of the others "
                f"{np.median(others):.2g}",
                remedy="check the sensor, its cable and its resolution",
            )
        )
    return causes


TORQUE_OUTLIER_KIND = "torque-outliers"
"""Kind of the causes that backlash may explain."""

LOAD_CUTOFF = 5.0
"""Cut-off frequency of the load [Hz]: impacts and rattle would change its sign repeatedly."""

IMPACT_LEAD, IMPACT_DELAY = 0.05, 0.25
"""Time of impacts before and after a change of sign of the load [s]: the load is nominal, and
backlash takes time."""

MIN_IMPACT_SHARE = 0.6
"""Minimum share of impacts within these times."""

MAX_IMPACT_GAP = 0.02
"""Maximum time between outliers of the same impact [s]."""

MIN_GAIN = 8.0
"""Minimum gain of the log-likelihood."""


def replace_by_backlash(
    causes: Sequence[Cause], outliers: Bool2D, motion: Motion, nominal: Robot
) -> tuple[Cause, ...]:
    """Replace torque outliers by backlash where it explains them.

    `outliers` are those of the torque, shape (N, n), and `motion` has the same samples. A joint has
    backlash if its impacts come where its own load changes sign, rather than that of another joint
    with backlash, whose impacts it also receives.
    """
    if (
        not any(cause.kind == TORQUE_OUTLIER_KIND for cause in causes)
        or outliers.shape != motion.q.shape
    ):
        return tuple(causes)
    rate = 1.0 / float(np.median(np.diff(motion.t)))  # torques may have separate time stamps
    load = rigid_body_torque(nominal, motion.q, motion.dq, motion.ddq)
    slow = scipy.signal.sosfiltfilt(
        scipy.signal.butter(2, min(LOAD_CUTOFF, 0.4 * rate), fs=rate, output="sos"), load, axis=0
    )
    changes = np.zeros(load.shape, dtype=bool)
    changes[1:] = (slow[1:] >= 0.0) != (slow[:-1] >= 0.0)
    before, after = round(IMPACT_LEAD * rate), round(IMPACT_DELAY * rate)
    size = before + after + 1
    # The window of a filter is symmetric; its origin shifts it.
    reversal = maximum_filter1d(changes, size, axis=0, origin=size // 2 - before)
    impacts = np.zeros_like(outliers)  # the first outlier of each impact
    for j, is_outlier in enumerate(outliers.T):
        at = np.flatnonzero(is_outlier)
        impacts[at[np.diff(at, prepend=-np.inf) > MAX_IMPACT_GAP * rate], j] = True
    joints = range(nominal.dof)
    gain = np.array([[_gain(impacts[:, i], reversal[:, j]) for j in joints] for i in joints])
    faulty: list[int] = []
    for j in sorted(np.flatnonzero(gain.diagonal() > MIN_GAIN).tolist(), key=lambda j: -gain[j, j]):
        if (gain[j, faulty] < gain[j, j]).all():
            faulty.append(j)
    names = nominal.joint_names
    explained = {(names[i],) for i in joints if (gain[i, faulty] > MIN_GAIN).any()}
    others = [c for c in causes if c.kind != TORQUE_OUTLIER_KIND or c.joints not in explained]
    backlash = [_backlash(names[j], impacts[:, j], reversal[:, j]) for j in sorted(faulty)]
    return (*backlash, *others)


def _gain(impacts: Bool1D, reversal: Bool1D) -> float:
    """Compute the gain in log-likelihood if impacts are related to reversals; 0 if few are near."""
    count, usual = int(impacts.sum()), float(reversal.mean())
    if count == 0 or not 0.0 < usual < 1.0:
        return 0.0
    share = float(reversal[impacts].mean())
    if share < max(MIN_IMPACT_SHARE, usual):
        return 0.0
    gain_elsewhere = 0.0 if share == 1.0 else (1.0 - share) * np.log((1.0 - share) / (1.0 - usual))
    return float(count * (share * np.log(share / usual) + gain_elsewhere))


def _backlash(joint: str, impacts: Bool1D, reversal: Bool1D) -> Cause:
    count, at = int(impacts.sum()), int((impacts & reversal).sum())
    return Cause(
        kind="backlash",
        joints=(joint,),
        finding="the torque jumps where the load of the joint changes sign: backlash",
        evidence=f"{at} of {count} torque impacts come at most {IMPACT_DELAY:g} s after the "
        f"load changes sign, where {percent(float(reversal.mean()))} of all "
        f"samples are",
        remedy="adjust the gear, or measure on the link side",
    )
