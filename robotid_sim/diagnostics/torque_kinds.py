r"""Wrong kinds of torque in a log: magnitudes, torques without gravity, wrong gravity direction.

With the nominal bodies the torques are linear in gravity,

.. math:: \tau = a D(q, \dot q, \ddot q) + G(q) g + F_c \tanh(\dot q / \epsilon) + F_v \dot q + o,

where :math:`D` are the torques without gravity. The least-squares :math:`g` of all joints reveals
missing or wrongly directed gravity, even if single masses are wrong.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, rms
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

MAX_SAMPLES = 20_000
"""Maximum number of samples; longer logs are decimated."""

MIN_SHARE_OF_GRAVITY = 0.2
"""Share of gravity in the nominal torque of a joint above which its absence is detectable."""

MAX_REMAINING_SHARE = 0.25
"""Ratio of fitted to nominal gravity below which gravity counts as missing."""

MIN_ANGLE = np.deg2rad(60.0)
"""Minimum angle from nominal to fitted gravity of a differently mounted robot; the search for
causes finds smaller ones."""

MAX_SIZE_RATIO = 1.6
"""Maximum ratio of fitted to nominal gravity, or its inverse, for a wrong direction only."""

MIN_RESIDUAL_RATIO = 2.0
"""Minimum factor by which the fitted gravity reduces the residual."""

MAX_RESIDUAL = 0.35
"""Maximum residual of a joint over its torque that is explained by gravity."""

MAX_LOG_RATIO = np.log(2.0)
"""Maximum absolute logarithm of the ratio of fitted to nominal inertia torque."""

MAX_CORRELATION = 0.3
"""Maximum correlation of measured and nominal torques that are unrelated."""

MAX_DRIVING_POWER = 0.02
"""Maximum power of driving (negative) friction over the power of the bodies."""

MIN_NEGATIVE_SHARE = 0.1
"""Share of negative nominal torques above which measured ones must be negative at times."""

ROUNDING_ANGLE = np.deg2rad(10.0)
"""Maximum angle to an axis of the base for gravity to be rounded to that axis."""


class _Samples(NamedTuple):
    """Samples of a motion, each of shape (N, n)."""

    q: Float2D
    dq: Float2D
    ddq: Float2D
    tau: Float2D


def torque_kind_causes(log: Log, motion: Motion, nominal: Robot) -> list[Cause]:
    """Find a wrong kind of torque that explains all torques of a log.

    Parameters
    ----------
    log : Log
        Measured log.
    motion : Motion
        Motion of the log.
    nominal : Robot
        Nominal model.
    """
    step = 1 + motion.t.size // MAX_SAMPLES
    s = _Samples(*(a[::step] for a in (motion.q, motion.dq, motion.ddq, motion.tau)))
    state = s[:3]
    expected = rigid_body_torque(nominal, *state)
    large = 0.1 * rms(expected)
    shares = [(sign * expected > large).mean(axis=0) for sign in (-1.0, 1.0)]
    has_both_signs = np.minimum(*shares) > MIN_NEGATIVE_SHARE
    unsigned = has_both_signs & log.torque_measured & (log.tau_meas >= 0.0).all(axis=0)
    if unsigned.any():
        names = tuple(np.array(nominal.joint_names)[unsigned].tolist())
        return [
            Cause(
                kind="unsigned-torque",
                joints=() if len(names) == nominal.dof else names,
                finding="no torque is negative: magnitudes were recorded",
                evidence=f"the nominal model expects both signs of {', '.join(names)}",
                remedy="record the torques with their signs",
            )
        ]
    zeros = np.zeros_like(s.q)
    floating = replace(nominal, gravity=np.zeros(3))
    axes = [
        rigid_body_torque(replace(nominal, gravity=axis), s.q, zeros, zeros) for axis in np.eye(3)
    ]
    weight = np.einsum("kNj,k->Nj", np.array(axes), nominal.gravity)
    largest = np.maximum(rms(expected), rms(log.tau_meas).max())
    has_load = (rms(weight) > MIN_SHARE_OF_GRAVITY * largest) & log.torque_measured
    if not has_load.any():
        return []
    bodies = rigid_body_torque(floating, *state)
    change, after, is_sound = _fit_gravity(s, nominal, s.tau - weight, bodies, axes)
    _, first, _ = _fit_gravity(s, nominal, s.tau - weight, bodies, [])
    residual, before = (float(np.linalg.norm(part[has_load])) for part in (after, first))
    is_sound = is_sound and after[has_load].max() < MAX_RESIDUAL
    if _is_external(s, nominal, bodies, axes, has_load):
        evidence = "torques of loaded joints contain neither gravity nor inertia"
        return [_gravity_free_cause("the torques contain neither gravity nor inertia", evidence)]
    fit = nominal.gravity + change
    size, nominal_size = float(np.linalg.norm(fit)), float(np.linalg.norm(nominal.gravity))
    if before < MIN_RESIDUAL_RATIO * residual or not is_sound:
        return []
    evidence = (
        f"gravity of ({fit[0]:.3g}, {fit[1]:.3g}, {fit[2]:.3g}) m/s² explains all torques; the "
        f"residual falls to {residual / before:.2g} of that with the model's"
    )
    if size < MAX_REMAINING_SHARE * nominal_size:
        return [_gravity_free_cause("the torques do not contain gravity", evidence)]
    angle = np.arccos(np.clip(fit @ nominal.gravity / (size * nominal_size), -1.0, 1.0))
    if angle < MIN_ANGLE or not 1.0 / MAX_SIZE_RATIO < size / nominal_size < MAX_SIZE_RATIO:
        return []
    axis = np.eye(3)[np.abs(fit).argmax()] * np.sign(fit[np.abs(fit).argmax()])
    direction = axis if fit @ axis > size * np.cos(ROUNDING_ANGLE) else fit / size
    values = ", ".join(f"{value:.4g}" for value in nominal_size * direction + 0.0)
    finding = "the direction of gravity differs from the model"
    remedy = f"state how the base is mounted: [robot] gravity = [{values}]"
    return [Cause("gravity", (), finding, evidence, remedy)]


def _gravity_free_cause(finding: str, evidence: str) -> Cause:
    remedy = (
        "record the measured torques, not compensated or external ones; for a robot without "
        "gravity state [robot] gravity = [0, 0, 0]"
    )
    return Cause("torque-without-gravity", (), finding, evidence, remedy)


def _is_external(
    s: _Samples, nominal: Robot, bodies: Float2D, axes: list[Float2D], has_load: Bool1D
) -> bool:
    """Return whether no joint with gravity load has a torque similar to the bodies' torque."""
    expected = bodies + np.einsum("kNj,k->Nj", np.array(axes), nominal.gravity)
    alike = [abs(np.corrcoef(expected[:, j], s.tau[:, j])[0, 1]) for j in np.flatnonzero(has_load)]
    size = rms(s.tau)[has_load] / rms(expected)[has_load]
    return bool(max(alike) < MAX_CORRELATION and size.max() < MAX_REMAINING_SHARE)


def _fit_gravity(
    s: _Samples, nominal: Robot, tau: Float2D, bodies: Float2D, axes: list[Float2D]
) -> tuple[Float1D, Float1D, bool]:
    """Fit the change of gravity; return it, the residual shares, and whether the fit is sound.

    The fit is sound if friction dissipates energy and the inertia is near the nominal one.
    Directions of gravity that are not identifiable keep their nominal value.
    """
    n, size = nominal.dof, rms(s.tau)
    scale = np.divide(1.0, size, where=size > 0.0, out=np.zeros(n))  # zero without torque
    eps = np.array([joint.friction.eps for joint in nominal.joints])
    by_joint = [np.tanh(s.dq / eps), s.dq, np.ones_like(s.dq)]
    columns = [*axes, bodies]
    columns += [np.where(np.arange(n) == j, part, 0.0) for part in by_joint for j in range(n)]
    A = np.column_stack([(column * scale).ravel() for column in columns])
    y = (tau * scale).ravel()
    x, *_ = np.linalg.lstsq(A, y, rcond=1e-8)
    friction = A[:, len(axes) + 1 :] @ x[len(axes) + 1 :]
    remaining = rms((y - A @ x).reshape(s.tau.shape))
    share = x[len(axes)]  # fitted share of the inertia torque
    speed = (s.dq * scale).ravel()
    is_braked = (
        friction @ speed
        >= -MAX_DRIVING_POWER * np.abs(A[:, : len(axes) + 1] @ x[: len(axes) + 1] * speed).sum()
    )
    return (
        x[: len(axes)],
        remaining,
        bool(is_braked) and abs(np.log(max(share, 1e-9))) < MAX_LOG_RATIO,
    )
