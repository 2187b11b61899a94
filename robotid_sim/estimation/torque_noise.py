r"""White noise of the torques by the likelihood of the innovations of a Kalman filter.

A loop that feeds noisy positions back shakes the torques, and differences of their samples cannot
tell that from noise; but what shakes the robot shows in its positions. The innovations e of a
filter of one sample and joint, of variance s, have the likelihood [1]_

.. math:: -2 \log L = \sum_{k, j} \log s_{kj} + e_{kj}^2 / s_{kj} .

It is searched joint by joint, by parabolas over the logarithm of the noise.

References
----------
.. [1] Schweppe (1965), "Evaluation of likelihood functions for Gaussian signals", IEEE Trans.
   Information Theory 11(1), doi:10.1109/TIT.1965.1053737.
"""

from collections.abc import Callable

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.estimation import filter_kernels
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.simulation import PredictedMotion, slopes_along
from robotid_sim.model.robot import Robot

LONGEST = 5000
"""Samples that are looked at, about the middle of a recording; more tell little more."""

SWEEPS = 8
"""Most turns over all joints."""

REACH = 0.7
"""Distance of the points of a parabola, in the logarithm of the noise."""

FURTHEST = 2.0
"""Largest step of the logarithm."""

CLOSE = 0.1
"""Largest change of the logarithms in a sweep at which they have settled."""

LEAST = 1e-6
"""Least torque noise over the RMS torque."""


def likely_torque_noise(
    robot: Robot, recording: RecordedLog, motion: PredictedMotion, gains: Float, columns: Int1D
) -> Float1D:
    """Return the torque noise [N m] of largest likelihood along a prediction, shape (n,).

    The prediction was corrected with the gains, shape (N, 2 n, n).
    """
    samples, n = recording.q.shape
    first = max(0, (samples - LONGEST) // 2)
    part = slice(first, first + LONGEST)
    slopes = slopes_along(robot, motion, part, columns[:0], recording.dt)
    position = recording.position_noise**2
    start = np.diag(np.concatenate([position, position / recording.dt**2]))
    fixed = (recording.dt, recording.lead, position, recording.sound[part])
    given = (motion.innovations[part], np.ascontiguousarray(gains[part]))

    def cost(log_noise: Float1D) -> float:
        G = slopes.G * np.exp(log_noise)
        return float(filter_kernels.likelihood(slopes.A, G, *fixed, start.copy(), *given))

    least = np.log(np.maximum(LEAST * np.sqrt((recording.tau**2).mean(axis=0)), 1e-12))
    x = np.maximum(np.log(np.maximum(white_noise(recording.tau), 1e-300)), least)
    for _ in range(SWEEPS):
        before = x.copy()
        for j in range(n):
            x[j] = max(x[j] + _downhill(cost, x, j), least[j])
        if np.abs(x - before).max() < CLOSE:
            break
    return np.asarray(np.exp(x))


def _downhill(cost: Callable[[Float1D], float], x: Float1D, j: int) -> float:
    """Return the step of coordinate j to the lowest point of a parabola through three points."""
    values = []
    for step in (-REACH, 0.0, REACH):
        moved = x.copy()
        moved[j] += step
        values.append(cost(moved))
    slope, bend = values[2] - values[0], values[2] - 2.0 * values[1] + values[0]
    if bend <= 0.0:
        return FURTHEST if slope < 0.0 else -FURTHEST
    return float(np.clip(-0.5 * REACH * slope / bend, -FURTHEST, FURTHEST))


def white_noise(x: Float2D) -> Float1D:
    """Return the white noise of signals (N, n) by their third differences, shape (n,)."""
    spread = np.median(np.abs(np.diff(x, 3, axis=0)), axis=0)
    return np.asarray(spread / (0.6745 * np.sqrt(20.0)))
