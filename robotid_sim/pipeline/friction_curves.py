"""Friction of the joints over their speed, as logs show it and as it was fitted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.estimation.state_functions import lacking_torque
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.identification import Identification
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.preprocess.faults import find_faults, repaired
from robotid_sim.preprocess.preprocessor import Preprocessor

BINS = 30
"""Speeds at which the measured friction of a joint is given; all have equally many samples."""

SAMPLES = 61
"""Speeds of a fitted curve, denser where friction changes its sign."""

OF_SPEED = ("offset", "asymmetric-friction", "friction-velocity", "stribeck", "curved-viscous")
"""Terms that are a curve over the speed."""

BY_SPEED = ("speed", "direction")
"""What the model may lack that is a curve over the speed."""


@dataclass(frozen=True, slots=True, eq=False)
class FrictionCurve:
    """Friction of a joint over its speed."""

    joint: str
    unit: str
    """Of the joint: rad or m."""
    measured_speed: Float1D
    """Speeds of the measured torque, shape (BINS,)."""
    measured: Float1D
    """Torque beside that of the bodies, mean of equally many samples [N m or N]."""
    speed: Float1D
    """Speeds of the fitted torque, shape (SAMPLES,)."""
    fitted: Float1D
    lacking: Float1D | None
    """What the model lacks beside the fitted torque; None if that is nothing."""


def friction_curves(fit: Identification, logs: Sequence[Log]) -> list[FrictionCurve]:
    """Return the friction of every joint, measured in the logs of a fit and fitted.

    Accelerations are those of smoothed positions: a motion that follows from torques too holds the
    noise of both, which only the rows of a fit weigh as they should.
    """
    model, pairs = fit.model, zip(logs, fit.preprocessors, strict=True)
    motions = [_motion_of_positions(log, use, fit.nominal) for log, use in pairs]
    dq = np.concatenate([_used(motion, motion.dq) for motion in motions])
    measured = np.concatenate(
        [_used(motion, motion.tau - _beside_friction(fit, model, motion)) for motion in motions]
    )
    curves = []
    for j, joint in enumerate(model.joints):
        share = np.linspace(-1.0, 1.0, SAMPLES)
        speed = share * np.abs(share) * np.abs(dq[:, j]).max()
        law = joint.friction
        fitted = law.Fv * speed + law.Fc * np.tanh(speed / law.eps) + law.Fo
        fitted = fitted + _terms_at_speeds(fit, model, j, speed)
        parts = equal_parts(dq[:, j], BINS)
        means = [(dq[part, j].mean(), measured[part, j].mean()) for part in parts]
        at, mean = np.array(means).T
        lacking = _lacking(fit, model, j, speed)
        unit = model.joint_units[j]
        curves.append(FrictionCurve(joint.name, unit, at, mean, speed, fitted, lacking))
    return curves


def _motion_of_positions(log: Log, preprocessor: Preprocessor, nominal: Robot) -> Motion:
    """Return the motion of a log from its positions alone, where the preprocessor has a smoother.

    A motion that follows from the model too hides what is wrong with either.
    """
    smoother = smoother_of(preprocessor)
    if smoother is None:
        return preprocessor(log, nominal)
    return smoother(repaired(log, find_faults(log)), nominal)


def _used(motion: Motion, signal: Float2D) -> Float2D:
    """Return the samples of a signal (N, n) that enter the fit."""
    return signal if motion.row_filter is None else signal[motion.row_filter.used]


def _beside_friction(fit: Identification, model: Robot, motion: Motion) -> Float2D:
    """Return the torque along a motion that is no function of a joint's speed, shape (N, n)."""
    phi, state = model.parameters(), (motion.q, motion.dq, motion.ddq)
    rotors = [phi[parameters.joint_slice(j, model.dof)][3] for j in range(model.dof)]
    bodies = rigid_body_torque(model, *state)
    others = [term for term in fit.structure.robot_terms() if term.kind not in OF_SPEED]
    of_terms = terms_torque(model, others, *state, t=motion.from_middle)
    return np.asarray(bodies + motion.ddq * rotors) + of_terms


def equal_parts(at: Float1D, bins: int) -> list[Int1D]:
    """Return the samples of bins with equally many of them, in ascending order of `at`."""
    return np.array_split(np.argsort(at, kind="stable"), min(bins, at.size))


def _terms_at_speeds(fit: Identification, model: Robot, joint: int, speed: Float1D) -> Float1D:
    """Return the torque of the terms of a joint by its speed, with the others at rest."""
    name = model.joint_names[joint]
    terms = [t for t in fit.structure.robot_terms() if t.joint == name and t.kind in OF_SPEED]
    dq = np.zeros((speed.size, model.dof))
    still = np.zeros_like(dq)
    dq[:, joint] = speed
    return np.asarray(terms_torque(model, terms, still, dq, still, in_order=False)[:, joint])


def _lacking(fit: Identification, model: Robot, joint: int, speed: Float1D) -> Float1D | None:
    """Return what the model lacks of a joint's torque by its speed; None if that is nothing."""
    name = model.joint_names[joint]
    lacks = [k for k in fit.discrepancy.lacks if k.joint == name and k.quantity in BY_SPEED]
    if not any(lack.knots for lack in lacks):
        return None
    still = np.zeros((speed.size, model.dof))
    dq = still.copy()
    dq[:, joint] = speed
    t = np.arange(float(speed.size))
    motion = Motion(t=t, q=still, dq=dq, ddq=still, tau=still, joint_names=model.joint_names)
    return np.asarray(lacking_torque(lacks, motion, model)[:, joint])
