r"""Candidate causes in the torque channel: offset, drift, a wrong constant.

Further candidates are a torque delay relative to the positions, of all joints or of one, and joints
that share a drive. A motor that drives joints j and k adds its inertia and friction to both [1]_:

.. math:: \tau_j \mathrel{+}= I \ddot q_k + f_v \dot q_k + f_s\,\mathrm{sign}(\dot q_j + \dot q_k)

and the same with j and k exchanged. Where motor torques were not mapped to joints, the torque of
one joint contains a share of that of the other.

References
----------
.. [1] Gautier (1997), "Dynamic identification of robots with power model", IEEE ICRA,
   doi:10.1109/ROBOT.1997.606894 (coupled wrists).
"""

from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.diagnostics.cause import ColumnCandidate, CorrectionCandidate, Wording
from robotid_sim.diagnostics.evidence import MAX_DELAY, Correction, Evidence
from robotid_sim.estimation.hold_out import Fit
from robotid_sim.estimation.problem import joint_only
from robotid_sim.estimation.selection import ResidualProjection
from robotid_sim.section import percent, torque_unit

COLORED_VARIANCE_RATIO = 4.0
"""Assumed ratio of the variance of an estimate to that for white residuals."""

MIN_DRIFT = 0.02
"""Minimum drift over a log that is reported, over the RMS torque of the joint."""

MIN_CONSTANT_CHANGE = (0.02,)
"""Minimum relative change of a torque constant that is reported."""

CONSTANT_CHANGE_RANGE = (-0.7, 2.0)
"""Range of changes of a torque constant in a linear fit; `scale_causes` lists larger ones."""

MAX_CONSTANT_STD = 0.1
"""Relative standard deviation above which a wrong torque constant is not detectable."""


def torque_causes(evidence: Evidence, fit: Fit) -> list[ColumnCandidate]:
    """List the candidates for all joints; `fit` is the fit of all columns."""
    dof = evidence.dof
    model = evidence.W @ fit.beta[: evidence.basis.rank]
    samples = len(model)
    level = np.column_stack([np.ones(samples), np.linspace(-0.5, 0.5, samples)])
    candidates = []
    for j, unit in enumerate(evidence.nominal.joint_units):
        wordings = (DRIFT_WORDING, OFFSET_WORDING)
        drift, offset = (partial(text, unit=torque_unit(unit)) for text in wordings)
        min_sizes = (np.inf, MIN_DRIFT * evidence.rms_torque[j])
        candidates.append(
            ColumnCandidate("torque-drift", j, joint_only(level, j, dof), drift, min_sizes)
        )
        if f"Fo{j + 1}" not in evidence.basis.names:
            constant = joint_only(level[:, :1], j, dof)
            candidates.append(ColumnCandidate("torque-offset", j, constant, offset))
        scaled, total = joint_only(model[:, [j]], j, dof), partial(_sum_scales, j)
        parts = (
            scaled,
            SCALE_WORDING,
            MIN_CONSTANT_CHANGE,
            *CONSTANT_CHANGE_RANGE,
            partial(_scale_torque, dof, j),
            total,
        )
        candidates.append(ColumnCandidate("torque-scale", j, *parts))
    return candidates


def list_undetectable_scales(evidence: Evidence) -> list[str]:
    """List joints whose torque constants are not identifiable from the log, as text.

    A scale of all torques changes only the parameters; a scale of one torque is identifiable where
    other joints move the same inertia.
    """
    fit = evidence.fit()
    model = evidence.W @ fit.beta[: evidence.basis.rank]
    columns = np.arange(evidence.width + 1)
    undetectable = []
    for j, name in enumerate(evidence.nominal.joint_names):
        blocks = evidence.sum_by_block(joint_only(model[:, [j]], j, evidence.dof))
        std = float(np.sqrt(COLORED_VARIANCE_RATIO * blocks.fit(columns).cov[-1, -1]))
        if std > MAX_CONSTANT_STD:
            undetectable.append(f"{name} (known to ± {percent(std, 2)})" if std < 1.0 else name)
    if not undetectable:
        return []
    return [f"Wrong torque constants of {', '.join(undetectable)} are not detectable in this log."]


def _scale_torque(dof: int, joint: int, value: Float1D) -> Correction:
    scale = np.where(np.arange(dof) == joint, 1.0 / (1.0 + value[0]), 1.0)
    return replace(Correction.none(dof), torque=np.diag(scale))


def _sum_scales(joint: int, correction: Correction) -> Float1D:
    return np.array([1.0 / correction.torque[joint, joint] - 1.0])


OFFSET_WORDING = Wording(
    "the measured torque has an offset of {value[0]:+.3g} {unit}",
    "zero the torque sensor, or add it to the model: `identify --terms offset`",
).fill
DRIFT_WORDING = Wording(
    "the measured torque drifts by {value[1]:+.3g} {unit} over the log",
    "warm the drives up, zero the sensor before every log, or record shorter logs",
).fill
SCALE_WORDING = Wording(
    "the measured torque is {total:.3g} times the value implied by the other joints: wrong torque "
    "constant or gear ratio",
    "correct them, or calibrate with a known load: `robotid payload --load`",
).fill


DELAY_STEPS = 3
"""Number of Gauss-Newton steps from the best delay on the grid."""


def delay_causes(
    evidence: Evidence, projection: ResidualProjection, min_gain: float
) -> list[CorrectionCandidate]:
    """Find the most likely delay of all joints together, and of every joint alone.

    Delays with an approximate gain below `min_gain` are omitted.
    """
    dof = evidence.dof
    all_joints = np.ones((1, dof), dtype=bool)
    single_joints = np.eye(dof, dtype=bool) if dof > 1 else np.zeros((0, dof), dtype=bool)
    candidates = []
    for selected in np.vstack([all_joints, single_joints]):
        delay = _find_delay(evidence, projection, selected, min_gain)
        if delay is None:
            continue
        joints = () if selected.all() else (int(selected.argmax()),)
        wording = partial(word_delay, evidence.offset, joints)
        candidates.append(
            CorrectionCandidate("torque-delay", joints, delay_correction(delay * selected), wording)
        )
    return candidates


def word_delay(offset: float, joints: tuple[int, ...], correction: Correction) -> Wording:
    """Describe the delay; `offset` is the `torque_time_offset` of the log [s]."""
    delay = float(correction.delay[list(joints)].mean() if joints else correction.delay.mean())
    side = "late" if delay > 0.0 else "early"
    remedy = "correct the time stamps of its torque"
    if not joints:
        remedy = (
            f"correct the time stamps, or set `torque_time_offset` of the log to "
            f"{offset - delay:.4g}"
        )
    return Wording(f"the measured torque is {1e3 * abs(delay):.3g} ms {side}", remedy)


def delay_correction(delay: Float1D) -> Correction:
    """Make the correction of torque delays [s], shape (n,)."""
    return replace(Correction.none(len(delay)), delay=np.asarray(delay))


def _find_delay(
    evidence: Evidence, projection: ResidualProjection, joints: Bool1D, min_gain: float
) -> float | None:
    """Find the most likely delay of selected joints [s]; None if its gain is below `min_gain`."""
    reach = round(MAX_DELAY / evidence.dt)
    tau = evidence.torque
    place = np.arange(len(tau))[evidence.rows.rows]
    shifts = np.arange(-reach, reach + 1)
    late = tau[np.clip(place + shifts[:, None], 0, len(tau) - 1)] - tau[place]
    moved = projection.project(np.moveaxis(evidence.y + np.where(joints, late, 0.0), 0, 2))
    gain = 0.5 * (moved[:, reach] @ moved[:, reach] - (moved**2).sum(axis=0))
    # Refine between grid steps by a parabola through the neighbors.
    best = int(np.clip(gain.argmax(), 1, 2 * reach - 1))
    before, center, after = gain[best - 1 : best + 2]
    curve = max(float(2.0 * center - before - after), 1e-300)
    if center + 0.125 * (after - before) ** 2 / curve < min_gain:
        return None
    delay = evidence.dt * (shifts[best] + float(np.clip(0.5 * (after - before) / curve, -1.0, 1.0)))
    step = 0.5 * evidence.dt
    for _ in range(DELAY_STEPS):
        early, now, later = (
            evidence.shift_torque(d * joints) for d in (delay - step, delay, delay + step)
        )
        slope = projection.project((later - early) / (2.0 * step))[:, 0]
        change = -(slope @ projection.project(now)[:, 0]) / max(float(slope @ slope), 1e-300)
        delay += float(np.clip(change, -2.0 * step, 2.0 * step))
    return float(np.clip(delay, -MAX_DELAY, MAX_DELAY))


COUPLED_JOINTS_KIND = "coupled-joints"
"""Kind of the causes of joints that share a drive."""

MIN_RESIDUAL_RATIO = 3.0
"""Reduction factor of a joint's residual above which a coupling is a data fault."""

MIN_TORQUE_SHARE = (0.05,)
"""Minimum share of another joint's torque that is reported."""


def list_coupling_causes(evidence: Evidence, fit: Fit) -> list[ColumnCandidate]:
    """List the candidates for pairs of joints; `fit` is not used."""
    del fit
    candidates = []
    dq, ddq = evidence.rows.apply(evidence.dq), evidence.rows.apply(evidence.ddq)
    friction = [joint.friction for joint in evidence.nominal.joints]
    for j in range(evidence.dof - 1):
        k, eps = j + 1, friction[j + 1].eps
        for side in (1.0, -1.0):
            turning = np.tanh((evidence.dq[:, [j]] + side * evidence.dq[:, [k]]) / eps)
            sign = evidence.rows.apply(turning)[:, 0]
            columns = np.zeros((*evidence.y.shape, 3))
            columns[:, j] = side * np.column_stack([dq[:, k], ddq[:, k], side * sign])
            columns[:, k] = side * np.column_stack([dq[:, j], ddq[:, j], sign])
            candidates.append(
                ColumnCandidate(COUPLED_JOINTS_KIND, j, columns, _word_drive, lower=0.0, partner=k)
            )
    return [*_list_share_causes(evidence), *candidates]


def list_coupling_corrections(evidence: Evidence) -> list[CorrectionCandidate]:
    """List corrections of torques that contain a share of a neighbor's torque.

    The shares are from the unconstrained fit.
    """
    corrections = []
    fit_before = evidence.fit()
    for candidate in _list_share_causes(evidence):
        fit = evidence.sum_by_block(candidate.columns).fit(np.arange(evidence.width + 1))
        share = fit.beta[-1:]
        if (
            not candidate.is_acceptable(share)
            or (fit_before.sigma / fit.sigma).max() < MIN_RESIDUAL_RATIO
        ):
            continue
        torque = np.eye(evidence.dof)
        torque[candidate.partner, candidate.joint] = -share[0]
        correction = replace(Correction.none(evidence.dof), torque=torque)
        text = candidate.wording(share)
        corrections.append(CorrectionCandidate(candidate.kind, candidate.joints, correction, text))
    return corrections


def _list_share_causes(evidence: Evidence) -> list[ColumnCandidate]:
    """List torques that contain a share of a neighbor's torque, as in a wrist with two motors."""
    names, dof = evidence.nominal.joint_names, evidence.dof
    candidates = []
    for j, k in permutations(range(dof), 2):
        if abs(j - k) == 1:
            columns = joint_only(evidence.y[:, [k]], j, dof)
            text = partial(SHARE_WORDING, to=names[j], of=names[k])
            candidates.append(
                ColumnCandidate(COUPLED_JOINTS_KIND, j, columns, text, MIN_TORQUE_SHARE, partner=k)
            )
    return candidates


SHARE_WORDING = Wording(
    "the torque of {to} contains {value[0]:.2g} times that of {of}: their motors are coupled",
    "map motors to joints: `coupling` in the map of `robotid import`",
).fill


def _word_drive(value: Float1D) -> Wording:
    return Wording(
        "the joints share a drive, whose inertia and friction act on both: the residual of each "
        f"follows the motion of the other, with Coulomb friction {abs(value[2]):.2g} N m",
        "add it to the model: `identify --terms coupled-joints`",
    )
