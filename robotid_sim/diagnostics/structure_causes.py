"""Candidate causes in the model of the torque: gravity, positions, elasticity, rotors.

Their columns are numerical derivatives of the modeled torque of all joints.

A further candidate is a zero position that changes during a log, as if a belt skips a tooth.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.diagnostics.cause import ColumnCandidate, Wording
from robotid_sim.diagnostics.evidence import Correction, Evidence
from robotid_sim.dynamics.dynamics import joint_torque, rigid_body_torque
from robotid_sim.estimation.gravity_fit import describe_strength
from robotid_sim.estimation.hold_out import Fit
from robotid_sim.estimation.problem import joint_only
from robotid_sim.estimation.selection import ResidualProjection
from robotid_sim.model.robot import Robot

DIFFERENCE_STEP = 1e-4
"""Change of position and gravity in the derivatives [rad or m, share of gravity]."""

MIN_TILT = 0.01
"""Minimum tilt of the base that is reported [rad]."""

FLANK_TORQUE_SHARE = 0.1
"""Share of the largest torque over which the backlash changes flank."""

MIN_GRAVITY_CHANGE = 0.01
"""Minimum relative change of the magnitude of gravity that is reported."""

MAX_GRAVITY_SHARE = 0.5
"""Maximum share of gravity that a step corrects."""

JUMP_KINDS = ("backlash", "hysteresis")
"""Kinds that change too fast for the rows."""

SIZE_KINDS = ("eccentricity", "hysteresis")
"""Kinds whose significance depends on their size only."""

LINK_SIDE_KINDS = ("backlash", "elastic-joint")
"""Kinds that move only the bodies, in the direction of their load."""

NONNEGATIVE_KINDS = (*LINK_SIDE_KINDS, "hysteresis")
"""Kinds whose size is not negative."""


def structure_causes(evidence: Evidence, fit: Fit) -> list[ColumnCandidate]:
    """List the candidates; `fit` is the fit of all columns."""
    robot, dof, units = evidence.build_robot(fit), evidence.dof, evidence.nominal.joint_units
    tau = joint_torque(robot, evidence.q, evidence.dq, evidence.ddq)
    errors = [_position_error_torques(evidence, robot, tau, j) for j in range(dof)]
    parts = [_differentiate_gravity(evidence, robot, tau), evidence.ddq[:, :, None]]
    parts += [signals for by_kind in errors for signals in by_kind.values()]
    rows = evidence.rows.apply(np.concatenate(parts, axis=2))
    ends = np.cumsum([part.shape[2] for part in parts])
    blocks = iter(np.split(rows, ends[:-1], axis=2))
    gravity, accelerations = next(blocks), next(blocks)
    candidates = _gravity_causes(evidence, robot, gravity) if gravity.size else []
    for j, unit in enumerate(units):
        if f"Ia{j + 1}" not in evidence.basis.names:
            text = partial(ROTOR_WORDING, unit="kg" if unit == "m" else "kg m^2")
            rotor = joint_only(accelerations[:, j], j, dof)
            candidates.append(ColumnCandidate("rotor-inertia", j, rotor, text, lower=0.0))
    for j, unit in enumerate(units):
        for kind in errors[j]:
            columns, wording = next(blocks), partial(CAUSE_WORDINGS[kind], unit=unit)
            min_sizes = (MIN_SIZES[kind][unit],) * columns.shape[2]
            lower = 0.0 if kind in NONNEGATIVE_KINDS else -np.inf
            by_size = kind in SIZE_KINDS
            candidate = ColumnCandidate(
                kind, j, columns, wording, min_sizes, lower, by_size=by_size
            )
            if kind in CORRECTED_KINDS:
                correct, total = CORRECTED_KINDS[kind]
                correct, combine = partial(correct, dof, j), partial(total, j)
                candidate = replace(candidate, correct=correct, combine=combine)
            candidates.append(candidate)
    return candidates


def _differentiate_gravity(evidence: Evidence, robot: Robot, tau: Float2D) -> Float:
    """Differentiate the torque by gravity in two horizontal directions and along gravity."""
    magnitude = float(np.linalg.norm(robot.gravity))
    if magnitude == 0.0:
        return np.zeros((*tau.shape, 0))
    pulls = [*(magnitude * across for across in _horizontal_directions(robot)), robot.gravity]
    state = (evidence.q, evidence.dq, evidence.ddq)
    changed = [replace(robot, gravity=robot.gravity + DIFFERENCE_STEP * pull) for pull in pulls]
    return np.stack([(joint_torque(r, *state) - tau) / DIFFERENCE_STEP for r in changed], axis=2)


def _horizontal_directions(robot: Robot) -> Float2D:
    """Return two orthogonal unit vectors perpendicular to gravity, shape (2, 3)."""
    return np.asarray(np.linalg.svd(robot.gravity[None])[2][1:])


def _gravity_causes(evidence: Evidence, robot: Robot, rows: Float) -> list[ColumnCandidate]:
    """List gravity of a different direction or magnitude, as a wrong clock rate causes."""
    dof, g = evidence.dof, robot.gravity - evidence.correction.gravity
    stronger = ColumnCandidate(
        kind="clock-rate",
        joint=None,
        columns=rows[:, :, [2]],
        wording=_word_clock_rate,
        min_sizes=(MIN_GRAVITY_CHANGE,),
        correct=lambda share: replace(
            Correction.none(dof), gravity=_compute_gravity_excess(share[0]) * robot.gravity
        ),
        combine=lambda correction: np.array([(g + correction.gravity) @ g / (g @ g) - 1.0]),
    )
    tilted = ColumnCandidate(
        kind="gravity",
        joint=None,
        columns=rows[:, :, :2],
        wording=partial(_word_tilt, g),
        min_sizes=(MIN_TILT, MIN_TILT),
        correct=partial(_tilt_gravity, dof, robot.gravity, _horizontal_directions(robot)),
        combine=lambda correction: correction.gravity,
    )
    return [stronger, tilted]


def _compute_gravity_excess(share: float) -> float:
    """Compute the excess e of gravity from the share of its column in a fit.

    Without the column, the fitted gravity parameters are (1 + e) times the true ones, so that the
    share is e / (1 + e). A step at most doubles gravity; further steps follow.
    """
    share = min(share, MAX_GRAVITY_SHARE)
    return share / (1.0 - share)


def _position_error_torques(
    evidence: Evidence, robot: Robot, tau: Float2D, j: int
) -> dict[str, Float]:
    """Compute the torques per unit of position errors of a joint, shape (N, n, k).

    The unit is 1 rad or m of the zero, 1 of the scale, 1 rad of the sine and cosine of an eccentric
    encoder, 1 rad or m at the largest load of an elastic joint, and 1 rad or m of half the
    hysteresis or backlash, whose jumps are too short for rows.
    """
    state = (evidence.q, evidence.dq, evidence.ddq)
    bodies = rigid_body_torque(robot, *state)
    q, load = evidence.q[:, j], bodies[:, j] / max(float(np.abs(bodies[:, j]).max()), 1e-12)
    changes = {
        "position-zero": [np.ones_like(q)],
        "position-scale": [q],
        "elastic-joint": [-load],  # links deflect against the rotors, with encoder and friction
        "backlash": [-np.tanh(load / FLANK_TORQUE_SHARE)],
        "hysteresis": [np.tanh(evidence.dq[:, j] / evidence.nominal.eps[j])],
    }
    if evidence.nominal.joint_units[j] == "rad":
        changes["eccentricity"] = [np.sin(q), np.cos(q)]

    def torque_of(kind: str, change: Float1D) -> Float2D:
        rate = np.zeros_like(q) if kind in JUMP_KINDS else np.gradient(change, evidence.dt)
        errors = [np.array(part) for part in state]
        for part, delta in zip(errors, (change, rate, np.gradient(rate, evidence.dt)), strict=True):
            part[:, j] += DIFFERENCE_STEP * delta
        torque, before = (
            (rigid_body_torque, bodies) if kind in LINK_SIDE_KINDS else (joint_torque, tau)
        )
        return (torque(robot, *errors) - before) / DIFFERENCE_STEP

    return {
        kind: np.stack([torque_of(kind, change) for change in by_column], axis=2)
        for kind, by_column in changes.items()
    }


def _tilt_gravity(dof: int, gravity: Float1D, level: Float2D, value: Float1D) -> Correction:
    """Make the correction to a tilted gravity of the same magnitude."""
    strength = np.linalg.norm(gravity)
    true = gravity + strength * (value @ level)
    return replace(Correction.none(dof), gravity=strength * true / np.linalg.norm(true) - gravity)


def _shift_position(dof: int, joint: int, value: Float1D) -> Correction:
    return replace(Correction.none(dof), shift=value[0] * (np.arange(dof) == joint))


def _scale_position(dof: int, joint: int, value: Float1D) -> Correction:
    scale = 1.0 + value[0] * (np.arange(dof) == joint)
    return replace(Correction.none(dof), position=np.diag(scale))


def _word_tilt(gravity: Float1D, change: Float1D) -> Wording:
    true = gravity + change
    angle = np.degrees(np.arccos(np.clip(true @ gravity / (gravity @ gravity), -1.0, 1.0)))
    entries = ", ".join(f"{g:.3f}" for g in true)
    return Wording(
        f"gravity points {angle:.2g} deg away from the model's: the base is tilted",
        f"level the base, or set `gravity = [{entries}]` in the section [robot]",
    )


def _word_zero(value: Float1D, unit: str) -> Wording:
    size = f"{np.degrees(value[0]):+.3g} deg" if unit == "rad" else f"{value[0]:+.3g} m"
    return Wording(
        f"the zero position is wrong by {-value[0]:+.3g} {unit} ({size} to be added)",
        "reference the joint again, or add the difference to its positions",
    )


def _word_clock_rate(value: Float1D) -> Wording:
    excess = float(value[0])
    return Wording(
        describe_strength(excess),
        "compare the time stamps with another clock, and multiply them by "
        f"{(1.0 + excess) ** 0.5:.4g} if they are wrong; otherwise set `gravity` in [robot]",
    )


CAUSE_WORDINGS: dict[str, Callable[..., Wording]] = {
    "position-zero": _word_zero,
    "position-scale": Wording(
        "the position is scaled wrongly: true over recorded motion is {total:.3g}",
        "check gear ratio and encoder counts of the joint",
    ).fill,
    "elastic-joint": Wording(
        "the link deflects relative to the encoder under load, by {value[0]:.2g} {unit} at the "
        "largest torque: the joint is elastic",
        "measure on the link side, or correct the positions by torque over stiffness",
    ).fill,
    "backlash": Wording(
        "the link moves relative to the encoder by {twice:.2g} {unit} when its load changes sign: "
        "backlash",
        "adjust the gear, or measure on the link side",
    ).fill,
    "hysteresis": Wording(
        "the position lags in both directions by {value[0]:.2g} {unit}: hysteresis of "
        "{twice:.2g} {unit} between joint and encoder",
        "check the belt, cable or coupling of the encoder",
    ).fill,
    "eccentricity": Wording(
        "the position has an error of {size:.2g} {unit} with the period of one turn: eccentric "
        "encoder",
        "center the encoder, or correct its positions by a table",
    ).fill,
}

ROTOR_WORDING = Wording(
    "a reflected rotor inertia of {value[0]:.3g} {unit} is missing from the model",
    "add Ia to `joint_parameters` in the section [estimation] of the configuration",
).fill

MIN_SIZES = {
    "position-zero": {"rad": 0.01, "m": 1e-3},
    "position-scale": {"rad": 0.02, "m": 0.02},
    "elastic-joint": {"rad": 3e-3, "m": 3e-4},
    "backlash": {"rad": 5e-4, "m": 5e-5},
    "hysteresis": {"rad": 3e-3, "m": 3e-4},
    "eccentricity": {"rad": 1.5e-3},
}
"""Minimum size that is reported, by the unit of the joint."""

CORRECTED_KINDS: dict[
    str, tuple[Callable[[int, int, Float1D], Correction], Callable[[int, Correction], Float1D]]
] = {
    "position-zero": (_shift_position, lambda joint, correction: correction.shift[[joint]]),
    "position-scale": (
        _scale_position,
        lambda joint, correction: correction.position[joint, [joint]] - 1.0,
    ),
}
"""Kinds that correct the log, because they are too large for a derivative."""


STEP_TIME_COUNT = 16
"""Number of step times that are tried over a log, and again between the neighbors of the best."""

MIN_STEP = {"rad": 2e-3, "m": 2e-4}
"""Minimum step that is reported, by the unit of the joint."""

STEP_WORDING = Wording(
    "the zero of the position jumps by {minus:+.2g} {unit} after {share:.0%} of the log",
    "check belts and couplings for slip, reference the joint and record again",
).fill


def step_causes(
    evidence: Evidence, projection: ResidualProjection, listed: Sequence[ColumnCandidate]
) -> list[ColumnCandidate]:
    """Find the most likely step of the zero position of every joint.

    A step has the torque of a wrong zero from the time of the step; `listed` are all candidates,
    with the wrong zeros among them.
    """
    candidates = []
    samples = len(evidence.y)
    for zero in listed:
        joint = zero.joint
        if joint is None or zero.kind != "position-zero":
            continue
        first, last = samples / STEP_TIME_COUNT, samples * (1.0 - 1.0 / STEP_TIME_COUNT)
        middle = 0
        for _ in range(2):
            times = np.unique(np.linspace(first, last, STEP_TIME_COUNT).astype(int))
            steps = [zero.columns * (np.arange(samples) >= k)[:, None, None] for k in times]
            best = int(projection.gains(evidence.y, steps).argmax())
            first, middle, last = (times[np.clip(best + k, 0, len(times) - 1)] for k in (-1, 0, 1))
        unit = evidence.nominal.joint_units[joint]
        wording = partial(STEP_WORDING, unit=unit, share=middle / samples)
        min_sizes = (MIN_STEP[unit],)
        candidates.append(
            ColumnCandidate("position-step", joint, steps[best], wording, min_sizes, by_size=True)
        )
    return candidates
