"""Figure of friction: what a log leaves beside the bodies, over speed, and what was fitted."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.chart import Chart, Curve, Mark, Panel, Points
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.estimation.state_functions import lacking_torque
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.identification import Identification, informed_by_sensors
from robotid_sim.section import torque_unit

BINS = 30
"""Speeds at which the measured friction of a joint is shown; all have equally many samples."""

SAMPLES = 61
"""Speeds of a fitted curve, denser where friction changes its sign."""

OF_SPEED = (*("offset", "asymmetric-friction", "friction-velocity", "stribeck", "curved-viscous"),)
"""Terms that are a curve over the speed."""

BY_SPEED = ("speed", "direction")
"""What the model may lack that is a curve over the speed."""


def friction(fit: Identification, logs: Sequence[Log]) -> Chart:
    """Return the friction of every joint over its speed, measured in the logs of a fit and fitted.

    Accelerations are those of smoothed positions: a motion that follows from torques too holds the
    noise of both, which only the rows of a fit weigh as they should.
    """
    model, pairs = fitted_model(fit), zip(logs, fit.preprocessors, strict=True)
    motions = [informed_by_sensors(log, use, fit.nominal) for log, use in pairs]
    dq = np.concatenate([_used(motion, motion.dq) for motion in motions])
    measured = np.concatenate(
        [_used(motion, motion.tau - _beside_friction(fit, model, motion)) for motion in motions]
    )
    panels = []
    for j, joint in enumerate(model.joints):
        unit = model.joint_units[j]
        share = np.linspace(-1.0, 1.0, SAMPLES)
        speed = share * np.abs(share) * np.abs(dq[:, j]).max()
        law, at = joint.friction, _binned(dq[:, j], measured[:, j])
        curve = law.Fv * speed + law.Fc * np.tanh(speed / law.eps) + law.Fo
        curve = curve + _at_speeds(fit, model, j, speed)
        marks: list[Mark] = [
            Points(*at, "measured", "raw", size=3.0),
            Curve(speed, curve, "fitted", "identified", width=1.4),
        ]
        lacking = _lacking(fit, model, j, speed)
        if lacking is not None:
            marks.append(
                Curve(speed, curve + lacking, "with what the model lacks", "true", style="dashed")
            )
        panels.append(
            Panel(
                marks=tuple(marks),
                x_label=f"speed [{unit}/s]",
                y_label=f"friction [{torque_unit(unit)}]",
                title=joint.name,
            )
        )
    return Chart(
        name="friction",
        title="Friction over speed",
        caption="Torque that is left when that of bodies, rotors and terms of load or position is "
        f"taken off, mean of equally many samples at each of {BINS} speeds, and the friction that "
        "was fitted. Where points leave the curve, friction has another shape, or depends on load "
        "or position too.",
        panels=tuple(panels),
        columns=3,
        panel_height=1.5,
    )


def _used(motion: Motion, signal: Float2D) -> Float2D:
    """Return the samples of a signal (N, n) that enter the fit."""
    return signal if motion.row_filter is None else signal[motion.row_filter.used]


def fitted_model(fit: Identification) -> Robot:
    """Return the model of the estimate, possible or not."""
    phi = fit.basis.completed(fit.chosen.beta, fit.nominal.parameters())
    return fit.nominal.with_parameters(phi, formal=True)


def _bodies(model: Robot, motion: Motion) -> Float2D:
    """Return the torque of bodies and rotors along a motion, shape (N, n)."""
    phi = model.parameters()
    rotors = [phi[parameters.joint_slice(j, model.dof)][3] for j in range(model.dof)]
    bodies = rigid_body_torque(model, motion.q, motion.dq, motion.ddq)
    return np.asarray(bodies + motion.ddq * rotors)


def _beside_friction(fit: Identification, model: Robot, motion: Motion) -> Float2D:
    """Return the torque along a motion that is no function of a joint's speed, shape (N, n)."""
    others = [term for term in fit.structure.robot_terms() if term.kind not in OF_SPEED]
    state = (motion.q, motion.dq, motion.ddq)
    return _bodies(model, motion) + terms_torque(model, others, *state, t=motion.from_middle)


def equal_parts(at: Float1D, bins: int) -> list[Int1D]:
    """Return the samples of bins with equally many of them, in ascending order of `at`."""
    return np.array_split(np.argsort(at, kind="stable"), min(bins, at.size))


def _binned(at: Float1D, values: Float1D) -> tuple[Float1D, Float1D]:
    """Return the means of both over bins with equally many samples."""
    parts = equal_parts(at, BINS)
    means = [(at[part].mean(), values[part].mean()) for part in parts]
    x, y = np.array(means).T
    return x, y


def _at_speeds(fit: Identification, model: Robot, joint: int, speed: Float1D) -> Float1D:
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
