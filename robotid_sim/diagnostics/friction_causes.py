r"""Candidate causes: friction laws that differ from the model, joint by joint.

All are columns in addition to :math:`F_v \dot q + F_c s`, with s the smooth sign of the model.
"""

from functools import partial
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.diagnostics.cause import ColumnCandidate, Wording
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.estimation.hold_out import Fit
from robotid_sim.estimation.problem import joint_only
from robotid_sim.section import torque_unit

STRIBECK_RATIOS = (3.0, 6.0, 12.0)
"""Stribeck velocities that are tried, over eps."""

EPS_RATIOS = (0.3, 3.0)
"""Transition velocities that are tried, over the nominal eps."""

MIN_FRICTION_DEVIATION = 0.1
"""Minimum deviation of friction that is reported, over its coefficients."""

MIN_LOAD_FRICTION = 0.01
"""Minimum friction per transmitted torque that is reported."""


def friction_causes(evidence: Evidence, fit: Fit) -> list[ColumnCandidate]:
    """List the candidates for all joints; `fit` is the fit of all columns."""
    robot, dof = evidence.nominal, evidence.dof
    q, dq, eps = evidence.q, evidence.dq, robot.eps
    s = np.tanh(dq / eps)
    # For a prismatic joint the stroke replaces a turn.
    turn = np.where(robot.prismatic, 2.0 * np.pi / np.maximum(np.ptp(q, axis=0), 1e-9), 1.0)
    load = np.abs(compute_transmitted_torque(evidence, fit))
    waves = [s * np.sin(turn * q), s * np.cos(turn * q)]
    shapes: list[tuple[str, Any, list[Float2D]]] = [
        ("asymmetric-friction", ASYMMETRIC_WORDING, [np.abs(dq), np.abs(s)]),
        ("load-dependent-friction", LOAD_DEPENDENT_WORDING, [load * s]),
        ("position-dependent-friction", POSITION_DEPENDENT_WORDING, waves),
    ]
    for peak in STRIBECK_RATIOS:
        wording = partial(_word_stribeck, peak * eps)
        shapes.append(("stribeck", wording, [np.exp(-((dq / (peak * eps)) ** 2)) * s]))
    for width in EPS_RATIOS:
        wording = partial(_word_transition_velocity, eps, "below" if width < 1.0 else "above")
        shapes.append(("transition-velocity", wording, [np.tanh(dq / (width * eps))]))
    for symbol, signal in (("Fv", dq), ("Fc", s)):
        wording = partial(MISSING_PARAMETER_WORDINGS[symbol].fill, symbol=symbol)
        shapes.append((f"missing-{symbol}", wording, [signal]))
    signals = [signal for _, _, parts in shapes for signal in parts]
    fitted, names = _read_friction(evidence, fit), evidence.basis.names
    rows = evidence.rows.apply(np.stack(signals, axis=2))
    candidates, first = [], 0
    for kind, wording, parts in shapes:
        last = first + len(parts)
        for j, unit in enumerate(robot.joint_units):
            if f"{kind.removeprefix('missing-')}{j + 1}" in names:
                continue
            columns = joint_only(rows[:, j, first:last], j, dof)
            text = partial(wording, joint=j, unit=unit, torque=torque_unit(unit))
            lower = 0.0 if kind in POSITIVE_KINDS else -np.inf
            Fv, Fc = MIN_FRICTION_DEVIATION * fitted[:, j]
            min_sizes = {
                "asymmetric-friction": (Fv, Fc),
                "load-dependent-friction": (MIN_LOAD_FRICTION,),
            }
            sizes = min_sizes.get(kind, (Fc,) * len(parts))
            candidates.append(ColumnCandidate(kind, j, columns, text, sizes, lower))
        first = last
    return candidates


def _read_friction(evidence: Evidence, fit: Fit) -> Float2D:
    """Read the absolute fitted Fv and Fc, zero where the model has none, shape (2, n)."""
    values = dict(zip(evidence.basis.names, np.abs(fit.beta), strict=False))
    joints = range(1, evidence.dof + 1)
    return np.array([[values.get(f"{symbol}{j}", 0.0) for j in joints] for symbol in ("Fv", "Fc")])


POSITIVE_KINDS = (
    *("transition-velocity", "load-dependent-friction", "missing-Fv", "missing-Fc", "stribeck"),
)
"""Kinds that dissipate energy, so that their parameter is positive; a wider smooth sign with a
negative factor would be a peak at low speed."""


def compute_transmitted_torque(evidence: Evidence, fit: Fit) -> Float2D:
    """Compute the torque that the gears transmit to the bodies [N m], shape (M, n)."""
    return rigid_body_torque(evidence.build_robot(fit), evidence.q, evidence.dq, evidence.ddq)


def _word_stribeck(speed: Float1D, value: Float1D, joint: int, unit: str, torque: str) -> Wording:
    return Wording(
        f"Coulomb friction decreases with velocity (Stribeck), by about {value[0]:.2g} {torque} "
        f"from "
        f"standstill to {2.0 * speed[joint]:.2g} {unit}/s",
        "add it to the model: `identify --terms stribeck`, or keep the joint away from low speeds",
    )


def _word_transition_velocity(
    eps: Float1D, side: str, value: Float1D, joint: int, unit: str, torque: str
) -> Wording:
    del value, torque
    return Wording(
        f"the transition velocity of Coulomb friction is {side} {eps[joint]:.3g} {unit}/s",
        'estimate it: `eps = "estimate"` in the section [estimation] of the configuration',
    )


ASYMMETRIC_WORDING = Wording(
    "friction depends on the direction of motion: half the difference is {value[0]:+.2g} {torque} "
    "s/{unit} of the viscous and {value[1]:+.2g} {torque} of the Coulomb part",
    "add it to the model: `identify --terms asymmetric-friction`",
).fill
LOAD_DEPENDENT_WORDING = Wording(
    "Coulomb friction increases with the load, by {value[0]:.2g} of the transmitted torque",
    "add it to the model: `identify --terms load-dependent-friction`",
).fill
POSITION_DEPENDENT_WORDING = Wording(
    "Coulomb friction depends on the position, by {size:.2g} {torque}",
    "look for a tight bearing or gear, or add it to the model: `identify --terms "
    "position-dependent-friction`",
).fill
ADD_PARAMETER_REMEDY = (
    "add {symbol} to `joint_parameters` in the section [estimation] of the configuration"
)
MISSING_PARAMETER_WORDINGS = {
    "Fv": Wording(
        "viscous friction of {value[0]:.2g} {torque} s/{unit} is missing from the model",
        ADD_PARAMETER_REMEDY,
    ),
    "Fc": Wording(
        "Coulomb friction of {value[0]:.2g} {torque} is missing from the model",
        ADD_PARAMETER_REMEDY,
    ),
}
