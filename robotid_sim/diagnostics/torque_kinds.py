r"""What a log took for torques: magnitudes, torques without gravity, gravity of another direction.

With the nominal bodies the torques are linear in gravity,

.. math:: \tau = a D(q, \dot q, \ddot q) + G(q) g + F_c \tanh(\dot q / \epsilon) + F_v \dot q + o,

where :math:`D` are those without gravity. The least-squares :math:`g` of all joints together shows
gravity that is missing or points elsewhere, however wrong each mass is by itself.
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
"""Samples that are looked at; of longer logs every so many."""

MIN_SHARE_OF_GRAVITY = 0.2
"""Torque of gravity over all of a nominal joint from which its absence shows."""

MAX_REMAINING_SHARE = 0.25
"""Gravity over that of the nominal model up to which there is none."""

MIN_ANGLE = np.deg2rad(60.0)
"""Angle of gravity from which the robot is mounted otherwise; the search finds smaller ones."""

MAX_SIZE_RATIO = 1.6
"""Size of gravity over the nominal one, or its inverse, up to which only its direction is wrong."""

MIN_RESIDUAL_RATIO = 2.0
"""Factor by which the residual must fall with another gravity."""

MAX_RESIDUAL = 0.35
"""Residual of a joint over its torque up to which gravity explains it."""

MAX_LOG_RATIO = np.log(2.0)
"""Size of the logarithm of the torque of inertia over that of the nominal bodies."""

MAX_CORRELATION = 0.3
"""Correlation of measured and nominal torques up to which they have nothing in common."""

MAX_DRIVING_POWER = 0.02
"""Power of friction that drives, over that of the bodies, up to which there is no friction."""

MIN_NEGATIVE_SHARE = 0.1
"""Share of nominal torques below zero from which measured ones must be negative at times."""

ROUNDING_ANGLE = np.deg2rad(10.0)
"""Angle to an axis of the base within which gravity is taken to be along it."""


class _Samples(NamedTuple):
    """Of a motion, each of shape (N, n)."""

    q: Float2D
    dq: Float2D
    ddq: Float2D
    tau: Float2D


def torque_kind_causes(log: Log, motion: Motion, nominal: Robot) -> list[Cause]:
    """Name what the torques of a log are instead of measured ones, if one thing explains all.

    Parameters
    ----------
    log : Log
        As it was measured.
    motion : Motion
        Of the log.
    nominal : Robot
        The model before identification.
    """
    step = 1 + motion.t.size // MAX_SAMPLES
    seen = _Samples(*(a[::step] for a in (motion.q, motion.dq, motion.ddq, motion.tau)))
    state = seen[:3]
    expected = rigid_body_torque(nominal, *state)
    large = 0.1 * rms(expected)
    shares = [(sign * expected > large).mean(axis=0) for sign in (-1.0, 1.0)]
    both = np.minimum(*shares) > MIN_NEGATIVE_SHARE
    unsigned = both & log.torque_measured & (log.tau_meas >= 0.0).all(axis=0)
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
    still = np.zeros_like(seen.q)
    floating = replace(nominal, gravity=np.zeros(3))
    along = [
        rigid_body_torque(replace(nominal, gravity=axis), seen.q, still, still)
        for axis in np.eye(3)
    ]
    weight = np.einsum("kNj,k->Nj", np.array(along), nominal.gravity)
    heavy = rms(weight) > MIN_SHARE_OF_GRAVITY * np.maximum(rms(expected), rms(log.tau_meas).max())
    heavy &= log.torque_measured
    if not heavy.any():
        return []
    bodies = rigid_body_torque(floating, *state)
    change, left, is_sound = _fit_gravity(seen, nominal, seen.tau - weight, bodies, along)
    _, first, _ = _fit_gravity(seen, nominal, seen.tau - weight, bodies, [])
    residual, before = (float(np.linalg.norm(part[heavy])) for part in (left, first))
    is_sound = is_sound and left[heavy].max() < MAX_RESIDUAL
    if _is_external(seen, nominal, bodies, along, heavy):
        evidence = "neither gravity nor inertia shows in joints that the nominal model loads"
        return [_gravity_free_cause("the torques hold neither gravity nor inertia", evidence)]
    fit = nominal.gravity + change
    size, usual = float(np.linalg.norm(fit)), float(np.linalg.norm(nominal.gravity))
    if before < MIN_RESIDUAL_RATIO * residual or not is_sound:
        return []
    evidence = (
        f"gravity of ({fit[0]:.3g}, {fit[1]:.3g}, {fit[2]:.3g}) m/s² explains all torques; the "
        f"residual falls to {residual / before:.2g} of that with the model's"
    )
    if size < MAX_REMAINING_SHARE * usual:
        return [_gravity_free_cause("the torques hold no gravity", evidence)]
    angle = np.arccos(np.clip(fit @ nominal.gravity / (size * usual), -1.0, 1.0))
    if angle < MIN_ANGLE or not 1.0 / MAX_SIZE_RATIO < size / usual < MAX_SIZE_RATIO:
        return []
    axis = np.eye(3)[np.abs(fit).argmax()] * np.sign(fit[np.abs(fit).argmax()])
    direction = axis if fit @ axis > size * np.cos(ROUNDING_ANGLE) else fit / size
    values = ", ".join(f"{value:.4g}" for value in usual * direction + 0.0)
    finding = "gravity points elsewhere than in the model"
    remedy = f"state how the base is mounted: [robot] gravity = [{values}]"
    return [Cause("gravity", (), finding, evidence, remedy)]


def _gravity_free_cause(finding: str, evidence: str) -> Cause:
    remedy = (
        "record the measured torques, not compensated or external ones; for a robot without "
        "gravity state [robot] gravity = [0, 0, 0]"
    )
    return Cause("torque-without-gravity", (), finding, evidence, remedy)


def _is_external(
    seen: _Samples, nominal: Robot, bodies: Float2D, along: list[Float2D], heavy: Bool1D
) -> bool:
    """Tell whether no joint that gravity loads has a torque that looks like the bodies' at all."""
    expected = bodies + np.einsum("kNj,k->Nj", np.array(along), nominal.gravity)
    shapes = [abs(np.corrcoef(expected[:, j], seen.tau[:, j])[0, 1]) for j in np.flatnonzero(heavy)]
    size = rms(seen.tau)[heavy] / rms(expected)[heavy]
    return bool(max(shapes) < MAX_CORRELATION and size.max() < MAX_REMAINING_SHARE)


def _fit_gravity(
    seen: _Samples, nominal: Robot, tau: Float2D, bodies: Float2D, along: list[Float2D]
) -> tuple[Float1D, Float1D, bool]:
    """Fit gravity beside the nominal one; give it, shares left over, and whether the rest is sound.

    That is if friction brakes and bodies have the inertia that they should.

    What the motion does not show of its direction stays as the model has it.
    """
    n, size = nominal.dof, rms(seen.tau)
    scale = np.divide(1.0, size, where=size > 0.0, out=np.zeros(n))  # what is not recorded is zero
    eps = np.array([joint.friction.eps for joint in nominal.joints])
    by_joint = [np.tanh(seen.dq / eps), seen.dq, np.ones_like(seen.dq)]
    columns = [*along, bodies]
    columns += [np.where(np.arange(n) == j, part, 0.0) for part in by_joint for j in range(n)]
    A = np.column_stack([(column * scale).ravel() for column in columns])
    y = (tau * scale).ravel()
    x, *_ = np.linalg.lstsq(A, y, rcond=1e-8)
    friction = A[:, len(along) + 1 :] @ x[len(along) + 1 :]
    left = rms((y - A @ x).reshape(seen.tau.shape))
    share = x[len(along)]  # of the torque of inertia
    speed = (seen.dq * scale).ravel()
    is_braked = (
        friction @ speed
        >= -MAX_DRIVING_POWER * np.abs(A[:, : len(along) + 1] @ x[: len(along) + 1] * speed).sum()
    )
    return x[: len(along)], left, bool(is_braked) and abs(np.log(max(share, 1e-9))) < MAX_LOG_RATIO
