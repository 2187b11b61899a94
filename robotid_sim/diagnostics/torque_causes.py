"""Candidate causes in the torque channel: offset, drift, a wrong constant."""

from dataclasses import replace
from functools import partial

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.cause import Extension, Wording
from robotid_sim.diagnostics.evidence import Correction, Evidence
from robotid_sim.estimation.held_out import Fit
from robotid_sim.estimation.problem import joint_only
from robotid_sim.section import percent, torque_unit

COLORED = 4.0
"""Variance of an estimate over that for white residuals; assumed."""

DRIFT = 0.02
"""Drift over a log that is worth a word, over the RMS torque of the joint."""

WRONG = (0.02,)
"""Change of a torque constant that is worth a word."""

SCALES = (-0.7, 2.0)
"""Change of a torque constant that a derivative reaches; the nominal model suggests others."""

LOOSEST = 0.1
"""Standard deviation of a torque constant, relative, above which a log is blind to it."""


def torque_causes(evidence: Evidence, fit: Fit) -> list[Extension]:
    """Return the candidates for all joints; `fit` is that of the plain columns."""
    dof = evidence.dof
    model = evidence.W @ fit.beta[: evidence.basis.rank]
    samples = len(model)
    level = np.column_stack([np.ones(samples), np.linspace(-0.5, 0.5, samples)])
    candidates = []
    for j, unit in enumerate(evidence.nominal.joint_units):
        torque = torque_unit(unit)
        drift = partial(_drift, torque)
        least = (np.inf, DRIFT * evidence.size[j])
        candidates.append(Extension("torque-drift", j, joint_only(level, j, dof), drift, least))
        if f"Fo{j + 1}" not in evidence.basis.names:
            offset, constant = partial(_offset, torque), joint_only(level[:, :1], j, dof)
            candidates.append(Extension("torque-offset", j, constant, offset))
        scaled = joint_only(model[:, [j]], j, dof)
        parts = (scaled, _scale, WRONG, *SCALES, partial(_rescaled, dof, j), partial(_total, j))
        candidates.append(Extension("torque-scale", j, *parts))
    return candidates


def unseen_scales(evidence: Evidence) -> list[str]:
    """Return whose torque constants the log does not show, in words.

    Scaling all torques changes nothing but the parameters; scaling one of them shows where other
    joints carry the same inertia.
    """
    fit = evidence.held_out().fit(np.arange(evidence.plain))
    model = evidence.W @ fit.beta[: evidence.basis.rank]
    every = np.arange(evidence.plain + 1)
    unseen = []
    for j, name in enumerate(evidence.nominal.joint_names):
        held = evidence.held_out(joint_only(model[:, [j]], j, evidence.dof))
        std = float(np.sqrt(COLORED * held.fit(every).cov[-1, -1]))
        if std > LOOSEST:
            unseen.append(f"{name} (known to ± {percent(std, 2)})" if std < 1.0 else name)
    if not unseen:
        return []
    return [f"Wrong torque constants of {', '.join(unseen)} would not show in this log."]


def _rescaled(dof: int, joint: int, value: Float1D) -> Correction:
    none = Correction.none(dof)
    scale = np.where(np.arange(dof) == joint, 1.0 / (1.0 + value[0]), 1.0)
    return replace(none, torque=np.diag(scale))


def _total(joint: int, correction: Correction) -> Float1D:
    return np.array([1.0 / correction.torque[joint, joint] - 1.0])


def _offset(unit: str, value: Float1D) -> Wording:
    return Wording(
        f"the measured torque has an offset of {value[0]:+.3g} {unit}",
        "zero the torque sensor, or let the fit have it: `identify --terms offset`",
    )


def _drift(unit: str, value: Float1D) -> Wording:
    return Wording(
        f"the measured torque drifts by {value[1]:+.3g} {unit} over the log",
        "warm the drives up, zero the sensor before every log, or record shorter logs",
    )


def _scale(value: Float1D) -> Wording:
    return Wording(
        f"the measured torque is {1.0 + value[0]:.3g} times what the other joints say: torque "
        "constant or gear ratio are wrong",
        "correct them, or calibrate with a known load: `robotid payload --load`",
    )
