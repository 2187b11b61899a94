"""The low-pass of every joint's rows, from the band in which a model explains its torque."""

from dataclasses import replace

import numpy as np
from scipy.signal import welch

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.misfit import RowFit, standard_of
from robotid_sim.preprocess.preprocessor import Rows

LOWEST, OCTAVES = 1.25, 5
"""Upper edge of the lowest band [Hz], and how many bands of an octave follow it."""

EXPLAINED = 1.2
"""RMS torque of the model over that of what it leaves from which on a band is explained."""

ABOVE = 2.0
"""Cut-off over the end of the explained bands: a low-pass takes much of the octave below it."""

WINDOW = 8.0
"""Length of the pieces whose spectra are averaged [s]."""


def rows_by_joint(motion: Motion, robot: Robot, rows: Rows) -> Rows:
    """Return rows whose low-pass is, for every joint, as wide as what a model explains of it.

    A fit of base parameters by the rows as they are, with weights by joint, tells torque and rest
    at all samples. From the lowest octave on, a joint's band goes up as long as the model explains
    more of it than it leaves; the cut-off lies an octave above. Rows then come as often as the
    fastest joint needs, and their edges are as long as the slowest one rings.

    Of the rows as they are, the rate over the cut-off stays; those returned have `cutoffs`.
    """
    fit = RowFit.of(motion, robot)
    torque = standard_of(motion, robot)
    model = fit.torque(motion, robot, torque)
    ends = explained(model, torque - model, 1.0 / motion.dt)
    fastest = 1.0 / (2.0 * rows.rate / rows.cutoff * motion.dt)
    cutoffs = tuple(float(min(ABOVE * end, fastest)) for end in ends)
    widest, slowest = max(cutoffs), min(cutoffs)
    return replace(
        rows,
        cutoff=widest,
        rate=rows.rate / rows.cutoff * widest,
        edge=rows.edge * max(1.0, rows.cutoff / slowest),
        cutoffs=cutoffs,
    )


def explained(model: Float2D, rest: Float2D, rate: float) -> Float1D:
    """Return up to which frequency a model explains more than it leaves, shape (n,) [Hz].

    By the torque of the model and what it leaves, both of shape (N, n), at a sample rate [Hz]. It
    is the upper edge of the last such band; the lowest one counts always.
    """
    length = min(len(model), round(WINDOW * rate))
    f, of_model = welch(model, rate, nperseg=length, axis=0)
    _, of_rest = welch(rest, rate, nperseg=length, axis=0)
    ends = np.full(model.shape[1], LOWEST)
    for octave in range(1, OCTAVES + 1):
        low, high = LOWEST * 2.0 ** (octave - 1), LOWEST * 2.0**octave
        band = (f >= low) & (f < high)
        power = of_model[band].sum(axis=0), of_rest[band].sum(axis=0)
        ends[(ends == low) & (power[0] > EXPLAINED**2 * power[1])] = high
    return ends
