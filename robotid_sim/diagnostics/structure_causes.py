"""Candidate causes in the model behind the torque: gravity, positions, elasticity, rotors.

Their columns are derivatives of the modeled torque of all joints, taken numerically.

Candidate causes: a position whose zero changes during a log, as where a belt skips a tooth.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.diagnostics.cause import ColumnCandidate, Wording
from robotid_sim.diagnostics.evidence import Correction, Evidence
from robotid_sim.dynamics.dynamics import joint_torque, rigid_body_torque
from robotid_sim.estimation.gravity_fit import strength_words
from robotid_sim.estimation.hold_out import Fit
from robotid_sim.estimation.problem import joint_only
from robotid_sim.estimation.selection import ResidualProjection
from robotid_sim.model.robot import Robot

DIFFERENCE_STEP = 1e-4
"""Change of position and gravity in the derivatives [rad or m, share of gravity]."""

MIN_TILT = 0.01
"""Tilt of the base that is worth a word [rad]."""

FLANK_TORQUE_SHARE = 0.1
"""Share of the largest torque within which a joint changes the flank of its backlash."""

MIN_GRAVITY_CHANGE = 0.01
"""Change of the strength of gravity that is worth a word."""

MAX_GRAVITY_SHARE = 0.5
"""Share of the column of gravity in a fit up to which a step follows it."""

JUMP_KINDS = ("backlash", "hysteresis")
"""Kinds whose changes are too short for rows."""

SIZE_KINDS = ("eccentricity", "hysteresis")
"""Kinds that are worth a word by their size alone."""

LINK_SIDE_KINDS = ("backlash", "elastic-joint")
"""Kinds that move the bodies alone, to the side of their load."""

NONNEGATIVE_KINDS = (*LINK_SIDE_KINDS, "hysteresis")
"""Kinds whose size is not negative."""


def structure_causes(evidence: Evidence, fit: Fit) -> list[ColumnCandidate]:
    """Return the candidates; `fit` is that of the plain columns."""
    robot, dof, units = evidence.model(fit), evidence.dof, evidence.nominal.joint_units
    tau = joint_torque(robot, evidence.q, evidence.dq, evidence.ddq)
    moved = [_position_error_torques(evidence, robot, tau, j) for j in range(dof)]
    parts = [_differentiate_gravity(evidence, robot, tau), evidence.ddq[:, :, None]]
    parts += [signals for by_kind in moved for signals in by_kind.values()]
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
        candidates += [_position_cause(kind, j, dof, unit, next(blocks)) for kind in moved[j]]
    return candidates


def _differentiate_gravity(evidence: Evidence, robot: Robot, tau: Float2D) -> Float:
    """Return the torque per share of gravity that pulls across it, two ways, and along it."""
    strength = float(np.linalg.norm(robot.gravity))
    if strength == 0.0:
        return np.zeros((*tau.shape, 0))
    pulls = [*(strength * across for across in _horizontal_directions(robot)), robot.gravity]
    state = (evidence.q, evidence.dq, evidence.ddq)
    others = [replace(robot, gravity=robot.gravity + DIFFERENCE_STEP * pull) for pull in pulls]
    return np.stack(
        [(joint_torque(other, *state) - tau) / DIFFERENCE_STEP for other in others], axis=2
    )


def _horizontal_directions(robot: Robot) -> Float2D:
    """Return two unit vectors across gravity and each other, shape (2, 3)."""
    return np.asarray(np.linalg.svd(robot.gravity[None])[2][1:])


def _gravity_causes(evidence: Evidence, robot: Robot, rows: Float) -> list[ColumnCandidate]:
    """Return gravity of another strength, as a clock of another rate shows it, and direction."""
    dof, given = evidence.dof, robot.gravity - evidence.correction.gravity
    stronger = ColumnCandidate(
        kind="clock-rate",
        joint=None,
        columns=rows[:, :, [2]],
        words=_clock_rate,
        least=(MIN_GRAVITY_CHANGE,),
        corrected=lambda share: replace(
            Correction.none(dof), gravity=_excess_of_gravity(share[0]) * robot.gravity
        ),
        total=lambda correction: np.array(
            [(given + correction.gravity) @ given / (given @ given) - 1.0]
        ),
    )
    tilted = ColumnCandidate(
        kind="gravity",
        joint=None,
        columns=rows[:, :, :2],
        words=partial(_gravity, given),
        least=(MIN_TILT, MIN_TILT),
        corrected=partial(_tilt_gravity, dof, robot.gravity, _horizontal_directions(robot)),
        total=lambda correction: correction.gravity,
    )
    return [stronger, tilted]


def _excess_of_gravity(share: float) -> float:
    """Return the excess e of gravity for the share of its column in a fit.

    The parameters of the fit without the column are those that gravity sees, (1 + e) times the
    true ones, so that the share is e / (1 + e). A step at most doubles gravity; more follow.
    """
    share = min(share, MAX_GRAVITY_SHARE)
    return share / (1.0 - share)


def _position_cause(kind: str, j: int, dof: int, unit: str, columns: Float) -> ColumnCandidate:
    """Return one position error of a joint; see `_position_error_torques`."""
    least = (MIN_SIZES[kind][unit],) * columns.shape[2]
    lower = 0.0 if kind in NONNEGATIVE_KINDS else -np.inf
    words, by_size = partial(CAUSE_WORDINGS[kind], unit=unit), kind in SIZE_KINDS
    one = ColumnCandidate(kind, j, columns, words, least, lower, by_size=by_size)
    if kind not in CORRECTED_KINDS:
        return one
    corrected, total = CORRECTED_KINDS[kind]
    return replace(one, corrected=partial(corrected, dof, j), total=partial(total, j))


def _position_error_torques(
    evidence: Evidence, robot: Robot, tau: Float2D, j: int
) -> dict[str, Float]:
    """Return the torques per unit, shape (N, n, k), of ways to be wrong about a joint's position.

    That is per rad or m for the zero, per one for the scale, per rad of the two waves of a turn
    that an eccentric encoder adds, per half of the hysteresis and of the play for backlash, whose
    jumps are too short for rows, and per rad or m at the largest load for an elastic joint.
    """
    state = (evidence.q, evidence.dq, evidence.ddq)
    bodies = rigid_body_torque(robot, *state)
    q, load = evidence.q[:, j], bodies[:, j] / max(float(np.abs(bodies[:, j]).max()), 1e-12)
    changes = {
        "position-zero": [np.ones_like(q)],
        "position-scale": [q],
        "elastic-joint": [-load],  # links hang behind the rotors, where encoder and friction are
        "backlash": [-np.tanh(load / FLANK_TORQUE_SHARE)],
        "hysteresis": [np.tanh(evidence.dq[:, j] / evidence.nominal.eps[j])],
    }
    if evidence.nominal.joint_units[j] == "rad":
        changes["eccentricity"] = [np.sin(q), np.cos(q)]

    def torque_of(kind: str, change: Float1D) -> Float2D:
        rate = np.zeros_like(q) if kind in JUMP_KINDS else np.gradient(change, evidence.dt)
        moved = [np.array(part) for part in state]
        for part, by in zip(moved, (change, rate, np.gradient(rate, evidence.dt)), strict=True):
            part[:, j] += DIFFERENCE_STEP * by
        torque, before = (
            (rigid_body_torque, bodies) if kind in LINK_SIDE_KINDS else (joint_torque, tau)
        )
        return (torque(robot, *moved) - before) / DIFFERENCE_STEP

    return {
        kind: np.stack([torque_of(kind, change) for change in by_column], axis=2)
        for kind, by_column in changes.items()
    }


def _tilt_gravity(dof: int, gravity: Float1D, level: Float2D, value: Float1D) -> Correction:
    """Return the change to a tilted gravity of the same strength."""
    strength = np.linalg.norm(gravity)
    true = gravity + strength * (value @ level)
    return replace(Correction.none(dof), gravity=strength * true / np.linalg.norm(true) - gravity)


def _shift_position(dof: int, joint: int, value: Float1D) -> Correction:
    none = Correction.none(dof)
    return replace(none, shift=value[0] * (np.arange(dof) == joint))


def _scale_position(dof: int, joint: int, value: Float1D) -> Correction:
    none = Correction.none(dof)
    return replace(none, position=np.diag(1.0 + value[0] * (np.arange(dof) == joint)))


def _gravity(gravity: Float1D, change: Float1D) -> Wording:
    true = gravity + change
    angle = np.degrees(np.arccos(np.clip(true @ gravity / (gravity @ gravity), -1.0, 1.0)))
    entries = ", ".join(f"{g:.3f}" for g in true)
    return Wording(
        f"gravity points {angle:.2g} deg away from the model's: the base is tilted",
        f"level the base, or set `gravity = [{entries}]` in the section [robot]",
    )


def _zero(value: Float1D, unit: str) -> Wording:
    size = f"{np.degrees(value[0]):+.3g} deg" if unit == "rad" else f"{value[0]:+.3g} m"
    return Wording(
        f"the zero position is wrong by {-value[0]:+.3g} {unit} ({size} to be added)",
        "reference the joint again, or add the difference to its positions",
    )


def _clock_rate(value: Float1D) -> Wording:
    excess = float(value[0])
    return Wording(
        strength_words(excess),
        "compare the time stamps with another clock, and multiply them by "
        f"{(1.0 + excess) ** 0.5:.4g} if they are at fault; else set `gravity` in [robot]",
    )


CAUSE_WORDINGS: dict[str, Callable[..., Wording]] = {
    "position-zero": _zero,
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
        "look at belt, cable or coupling of the encoder",
    ).fill,
    "eccentricity": Wording(
        "the position has an error of {size:.2g} {unit} with the period of one turn: eccentric "
        "encoder",
        "center the encoder, or take the error off by a table of its positions",
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
"""Least size that is worth a word, by the unit of the joint."""

CORRECTED_KINDS: dict[
    str, tuple[Callable[[int, int, Float1D], Correction], Callable[[int, Correction], Float1D]]
] = {
    "position-zero": (_shift_position, lambda joint, correction: correction.shift[[joint]]),
    "position-scale": (
        _scale_position,
        lambda joint, correction: correction.position[joint, [joint]] - 1.0,
    ),
}
"""Kinds that the log is corrected by, for they are not small enough for a derivative."""


STEP_TIME_COUNT = 16
"""Times of a step that are tried over a log, and again between the neighbors of the best."""

MIN_STEP = {"rad": 2e-3, "m": 2e-4}
"""Least step that is worth a word, by the unit of the joint."""

STEP_WORDING = Wording(
    "the zero of the position jumps by {minus:+.2g} {unit} after {share:.0%} of the log",
    "look for a belt or a coupling that has slipped, reference the joint and record again",
).fill


def step_causes(
    evidence: Evidence, projection: ResidualProjection, known: Sequence[ColumnCandidate]
) -> list[ColumnCandidate]:
    """Return the likeliest step of the zero of every joint.

    The torque of a step is that of a wrong zero from its time on, one of the `known` candidates.
    """
    candidates = []
    samples = len(evidence.y)
    for zero in known:
        joint = zero.joint
        if joint is None or zero.kind != "position-zero":
            continue
        first, last = samples / STEP_TIME_COUNT, samples * (1.0 - 1.0 / STEP_TIME_COUNT)
        at = 0
        for _ in range(2):
            times = np.unique(np.linspace(first, last, STEP_TIME_COUNT).astype(int))
            steps = [zero.columns * (np.arange(samples) >= k)[:, None, None] for k in times]
            best = int(projection.gains(evidence.y, steps).argmax())
            first, at, last = (times[np.clip(best + k, 0, len(times) - 1)] for k in (-1, 0, 1))
        unit = evidence.nominal.joint_units[joint]
        words = partial(STEP_WORDING, unit=unit, share=at / samples)
        least = (MIN_STEP[unit],)
        candidates.append(
            ColumnCandidate("position-step", joint, steps[best], words, least, by_size=True)
        )
    return candidates
