"""What logs recorded, for estimators that simulate."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Bool2D, Float2D
from robotid_sim.dynamics.term_torques import standard_torque
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.errors_in_variables import ErrorsInVariables
from robotid_sim.preprocess.faults import find_faults
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.preprocess.rts import likelihood_corner

ROUNDING = 1e-12
"""Least noise of positions over the largest one [rad or m]."""


def recordings_of(
    logs: Sequence[Log],
    preprocessors: Sequence[Preprocessor],
    motions: Sequence[Motion],
    robot: Robot,
) -> tuple[RecordedLog, ...]:
    """Return what every log recorded, with the faults and the delay that preprocessors found.

    Preprocessors are tuned, and the motions are theirs. Loads and terms that the robot has are
    taken off the torques. There are none if a log lacks the torque of a joint.
    """
    if not all(log.torque_measured.all() for log in logs):
        return ()
    each = zip(logs, preprocessors, motions, strict=True)
    return tuple(recording_of(log, use, motion, robot) for log, use, motion in each)


def recording_of(log: Log, preprocessor: Preprocessor, motion: Motion, robot: Robot) -> RecordedLog:
    """Return what a log recorded; see `recordings_of`."""
    sound: Bool2D = np.ones(log.q.shape, dtype=bool)
    if isinstance(preprocessor, Adaptive):
        if preprocessor.outliers:
            faults = find_faults(log, preprocessor.outliers)
            sound = ~(faults.position | faults.lost[:, None])
        log, _ = preprocessor.prepared(log, robot)
    tau = standard_torque(robot, motion.q, motion.dq, motion.ddq, log.tau_meas)
    tau, lead = _paired(log, tau)
    used = slice(None) if motion.row_filter is None else motion.row_filter.used
    joint = preprocessor.joint if isinstance(preprocessor, Adaptive) else preprocessor
    if isinstance(joint, ErrorsInVariables) and joint.noise is not None:
        noise = joint.noise.position
    else:
        noise = np.array([likelihood_corner(z, log)[1] for z in log.q.T])
    return RecordedLog(
        q=log.q[used],
        tau=tau[used],
        dq=motion.dq[used][0],
        sound=sound[used],
        dt=log.dt,
        lead=lead,
        position_noise=np.asarray(np.maximum(noise, ROUNDING * np.abs(log.q).max())),
    )


def _paired(log: Log, tau: Float2D) -> tuple[Float2D, float]:
    """Return torques (N, n) by the position at which their step begins, and the lead of those.

    Torques whose times are not even are interpolated to the middle of the steps.
    """
    if log.torque_times is not None:
        middle = log.t + 0.5 * log.dt
        return np.stack([np.interp(middle, log.action_times, x) for x in tau.T], axis=1), 0.0
    late = log.torque_time_offset / log.dt - 0.5
    whole = round(late)
    source = np.clip(np.arange(len(tau)) - whole, 0, len(tau) - 1)
    return tau[source], (whole - late) * log.dt
