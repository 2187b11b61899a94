"""Causes that a log shows by itself, without a model: samples that are no measurements.

Backlash that a log shows by its blows: torques jump where the load of a joint changes sign.

A rotor that leaves one flank of its gear runs freely, hits the other one, and rattles for a while.
The loop answers with short peaks, which the search for faulty samples takes for outliers; those
come at any time.
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
"""Share of lost samples that is worth a word."""

MIN_OUTLIER_SHARE = 5e-4
MIN_OUTLIERS = 5
"""Share and number of outliers that are worth a word."""

MIN_CLIPPED_SAMPLES = 20
"""Samples at one extreme value from which on a torque counts as clipped."""

MIN_CLIPPING_RATIO = 5.0
"""Their number over that of the next values, for a coarse torque repeats too."""

MIN_NOISE_RATIO = 10.0
"""Noise of a sensor over that of the others of its kind from which on it is bad."""

NORMAL_QUANTILE_90 = 1.6449
"""Deviations within which 90 % of a Gaussian variable lie."""

MIN_SENSOR_NOISE = {"rad": 5e-4, "m": 5e-5, "torque": 0.05}
"""Least noise of a bad sensor: of positions [rad or m], of torques over their RMS."""


MIN_ROUNDING_SHARE = 1.0 / 3.0
"""What rounding makes of a smoothed acceleration, over all of it, from which on nothing else of a
joint can be told."""

MIN_RANGE_RATIO = 10.0
"""Range of a position over its steps from which on a joint is meant to move."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordingFaults:
    """What a log shows by itself."""

    causes: tuple[Cause, ...]
    bad: Bool2D
    """Samples whose torque or position says nothing, shape (N, n)."""


def find_recording_causes(log: Log, faults: Faults) -> RecordingFaults:
    """Return what is wrong with the samples of a log; the faults are those of the log."""
    clipped, frozen = find_clipped_torques(log.tau_meas), frozen_positions(log.q)
    lost, causes = int(faults.lost.sum()), list[Cause]()
    if lost >= MIN_LOST_SHARE * log.t.size:
        causes.append(
            Cause(
                kind="lost-samples",
                joints=(),
                finding="lost samples repeat the previous sample",
                evidence=f"{lost} of {log.t.size} samples repeat all channels of the one before",
                remedy="record with a real-time logger; the preprocessor `adaptive` leaves them "
                "out",
            )
        )
    causes += [
        *_outliers(log, faults),
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
    # Sensors that are far noisier, or coarser, than the others of their kind.
    units = np.array(log.joint_units)
    for unit in ("rad", "m"):
        causes += _find_outlying_joints(log, sample_noise(log.q), units == unit, "position", unit)
    size = np.sqrt((log.tau_meas**2).mean(axis=0))
    noise = sample_noise(log.tau_meas) / np.maximum(size, np.finfo(float).tiny)
    causes += _find_outlying_joints(log, noise, np.ones(log.dof, dtype=bool), "torque", "torque")
    return RecordingFaults(tuple(causes), clipped | frozen)


def find_clipped_torques(tau: Float2D) -> Bool2D:
    """Return which torques repeat an extreme value of their joint exactly, shape (N, n)."""
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


def frozen_positions(q: Float2D) -> Bool2D:
    """Return which positions repeat the one before, many times, and then jump, shape (N, n)."""
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
"""Share of the joints that are off at once where a stamp is wrong."""


def _outliers(log: Log, faults: Faults) -> list[Cause]:
    causes = []
    least = max(MIN_OUTLIERS, MIN_OUTLIER_SHARE * log.t.size)
    together = faults.position.sum(axis=1) >= max(2.0, MIN_JOINT_SHARE * log.dof)
    if together.sum() > least:
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
    alone = faults.position & ~together[:, None]
    for what, found in (("torque", faults.torque), ("position", alone)):
        count = found.sum(axis=0)
        causes += [
            Cause(
                kind=f"{what}-outliers",
                joints=(log.joint_names[j],),
                finding=f"{what} outliers",
                evidence=f"{count[j]} of {log.t.size} samples lie beyond 8 robust standard "
                "deviations of their neighbors",
                remedy="check cables and shielding; the preprocessor `adaptive` leaves them out",
            )
            for j in range(log.dof)
            if count[j] > least
        ]
    return causes


def _make_joint_causes(
    log: Log, found: Bool2D, kind: str, finding: str, remedy: str
) -> list[Cause]:
    count = found.sum(axis=0)
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


def coarse_positions(log: Log, ddq: Float2D, corners: Sequence[float]) -> list[Cause]:
    r"""Return the joints whose positions are too coarse for their accelerations.

    Rounding to steps r is taken for noise of :math:`r / \sqrt{12}`, which leaves that times
    :math:`(2 \pi)^2 f_c^{5/2} \sqrt{.349 h}` of an acceleration behind a smoother of constant jerk
    with the corner :math:`f_c`, whose gain is :math:`1 / (1 + (f / f_c)^6)`. It is worse: a slow
    joint holds one value for long, and no smoother knows where in the step it is.

    The accelerations are smoothed, shape (N, n), with a corner [Hz] a joint; a cause is of one
    joint.
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


def sample_noise(x: Float2D) -> Float1D:
    """Return the white noise of signals by their fourth difference, robustly, shape (n,).

    Its 90 % quantile, for the median of a coarse signal, which mostly stays as it is, is zero.
    """
    fourth = np.abs(np.diff(x, n=4, axis=0))
    return np.asarray(np.quantile(fourth, 0.9, axis=0) / NORMAL_QUANTILE_90 / np.sqrt(70.0))


def _find_outlying_joints(
    log: Log, noise: Float1D, alike: Bool1D, what: str, kind: str
) -> list[Cause]:
    joints = np.flatnonzero(alike)
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
                kind=f"{what}-noise",
                joints=(log.joint_names[j],),
                finding=f"the {what} is far noisier than that of the other joints",
                evidence=f"noise {noise[j]:.2g} {unit}, median of the others "
                f"{np.median(others):.2g}",
                remedy="check the sensor, its cable and its resolution",
            )
        )
    return causes


TORQUE_OUTLIER_KIND = "torque-outliers"
"""Kind of the causes that backlash may explain."""

LOAD_CUTOFF = 5.0
"""Cut-off frequency of the load [Hz]: blows and rattle would change its sign again and again."""

BEFORE, AFTER = 0.05, 0.25
"""How long before and after a change of its sign blows may come [s]: the load is the nominal one,
and the way through the play takes time."""

MIN_BLOW_SHARE = 0.6
"""Least share of the blows there."""

MAX_BLOW_GAP = 0.02
"""Time from one outlier to the next within a blow [s]."""

MIN_GAIN = 8.0
"""Least gain of the log-likelihood."""


def replace_by_backlash(
    causes: Sequence[Cause], outliers: Bool2D, motion: Motion, nominal: Robot
) -> tuple[Cause, ...]:
    """Return causes with backlash in place of outliers of the torque that it explains.

    `outliers` are those of the torque, shape (N, n), and `motion` is that of the same samples. A
    joint has backlash if its own blows come where its own load changes sign, and not rather where
    that of another one with backlash does, which strikes it too.
    """
    if (
        not any(cause.kind == TORQUE_OUTLIER_KIND for cause in causes)
        or outliers.shape != motion.q.shape
    ):
        return tuple(causes)
    rate = 1.0 / float(np.median(np.diff(motion.t)))  # torques may have stamps of their own
    load = rigid_body_torque(nominal, motion.q, motion.dq, motion.ddq)
    slow = scipy.signal.sosfiltfilt(
        scipy.signal.butter(2, min(LOAD_CUTOFF, 0.4 * rate), fs=rate, output="sos"), load, axis=0
    )
    turns = np.zeros(load.shape, dtype=bool)
    turns[1:] = (slow[1:] >= 0.0) != (slow[:-1] >= 0.0)
    before, after = round(BEFORE * rate), round(AFTER * rate)
    size = before + after + 1
    # A filter's window reaches as far back as forward; its origin moves it.
    near = maximum_filter1d(turns, size, axis=0, origin=size // 2 - before)
    blows = np.zeros_like(outliers)  # the first outlier of each
    for j, each in enumerate(outliers.T):
        at = np.flatnonzero(each)
        blows[at[np.diff(at, prepend=-np.inf) > MAX_BLOW_GAP * rate], j] = True
    joints = range(nominal.dof)
    gain = np.array([[_gain(blows[:, i], near[:, j]) for j in joints] for i in joints])
    loose: list[int] = []
    for j in sorted(np.flatnonzero(gain.diagonal() > MIN_GAIN).tolist(), key=lambda j: -gain[j, j]):
        if (gain[j, loose] < gain[j, j]).all():
            loose.append(j)
    names = nominal.joint_names
    struck = {(names[i],) for i in joints if (gain[i, loose] > MIN_GAIN).any()}
    left = [c for c in causes if c.kind != TORQUE_OUTLIER_KIND or c.joints not in struck]
    return (*(_cause(names[j], blows[:, j], near[:, j]) for j in sorted(loose)), *left)


def _gain(blows: Bool1D, near: Bool1D) -> float:
    """Return the log-likelihood gained by more blows near reversals; 0 if most are elsewhere."""
    count, usual = int(blows.sum()), float(near.mean())
    if count == 0 or not 0.0 < usual < 1.0:
        return 0.0
    share = float(near[blows].mean())
    if share < max(MIN_BLOW_SHARE, usual):
        return 0.0
    rest = 0.0 if share == 1.0 else (1.0 - share) * np.log((1.0 - share) / (1.0 - usual))
    return float(count * (share * np.log(share / usual) + rest))


def _cause(joint: str, blows: Bool1D, near: Bool1D) -> Cause:
    count, at = int(blows.sum()), int((blows & near).sum())
    return Cause(
        kind="backlash",
        joints=(joint,),
        finding="the torque jumps where the load of the joint changes sign: backlash",
        evidence=f"{at} of {count} blows in its torque come at most {AFTER:g} s after its load "
        f"has changed sign, where {percent(float(near.mean()))} of all samples are",
        remedy="adjust the gear, or measure on the link side",
    )
