"""Conversion of columns, of joints or motors and in any units, to channels of a log in SI units.

The torque of known springs and counterbalances is added to that of the drives. A formula in a map
is parsed to a syntax tree with a few kinds of nodes, which NumPy evaluates.
"""

import ast
import operator
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.importing.import_map import ImportMap, MatrixRows, Spring
from robotid_sim.importing.raw_log import RawLog
from robotid_sim.importing.units import SHARE_UNITS, UNITS, default_unit
from robotid_sim.model.robot import Robot

MAX_TURN_STEP = 0.02
"""Largest plausible step between two samples [turns], apart from whole turns."""


MAX_TURNS = 2
"""Largest jump of a position counter when it restarts [turns]."""


class Channels(NamedTuple):
    """Samples on the joint side, each of shape (N, n); None for channels that are not recorded."""

    q: Float2D
    dq: Float2D | None
    tau: Float2D
    tau_cmd: Float2D | None
    current: Float2D | None
    torque_constant: Float1D | None
    """Joint torque per current [N m/A], shape (n,); None with currents if it is not known."""


def channels(recording: RawLog, mapping: ImportMap, robot: Robot) -> Channels:
    r"""Return the channels that a complete map describes.

    With motors that drive several joints, :math:`q = R^{-1} q_m + q_0` and :math:`\tau = R^T
    \tau_m`, as power is the same on both sides. Raises `OptionError` if the shape of a coupling
    does not suit the robot, or it is singular or is combined with gear ratios.
    """
    position, torque = _transmission(mapping, robot)
    joints = [mapping.joints[name] for name in robot.joint_names]
    torque_sign = np.array([joint.torque_sign for joint in joints], dtype=float)
    offset = np.array([joint.offset for joint in joints])
    direction = np.array([joint.sign for joint in joints], dtype=float)
    q, dq, measured, command, current = (
        _samples(recording, mapping, robot, quantity)
        for quantity in ("position", "velocity", "torque", "command", "current")
    )
    assert q is not None  # a complete map has positions
    constants = [joint.torque_constant for joint in joints if joint.torque_constant is not None]
    scale = None
    if current is None or (measured is not None and len(constants) < len(joints)):
        current = None
    else:
        current, scale = current * torque_sign, np.array(constants) if constants else None
    if measured is None:
        assert current is not None, "`match` requires torques or currents"
        if scale is None and (mapping.coupling is not None or any(j.spring for j in joints)):
            raise OptionError("springs and coupled motors need torque_constant [N m/A] in the map")
        tau = current if scale is None else (current * scale) @ torque.T
    else:
        tau = (measured * torque_sign) @ torque.T
    if mapping.coupling is not None:
        current = scale = None  # no joint has a torque constant
    return Channels(
        q=(q * direction) @ position.T + offset,
        dq=None if dq is None else (dq * direction) @ position.T,
        tau=tau,
        tau_cmd=None if command is None else (command * torque_sign) @ torque.T,
        current=current,
        torque_constant=None if scale is None else scale * np.diag(torque),
    )


def _samples(recording: RawLog, mapping: ImportMap, robot: Robot, quantity: str) -> Float2D | None:
    """Return the columns of a quantity in SI units; torques that are not recorded are zero."""
    kind = "torque" if quantity == "command" else quantity
    columns: list[Float1D] = []
    has_torques = any(mapping.joints[name].torque is not None for name in robot.joint_names)
    for joint in robot.joints:
        joint_map = mapping.joints[joint.name]
        name = getattr(joint_map, quantity)
        if name is None and quantity == "torque" and has_torques:
            columns.append(np.zeros(recording.samples))
            continue
        if name is None:
            return None
        unit = getattr(joint_map, f"{kind}_unit") or default_unit(kind, prismatic=joint.prismatic)
        scale = UNITS[kind][unit] * (joint_map.rated_torque or 1.0 if unit in SHARE_UNITS else 1.0)
        column: Float1D = recording.columns[name] * scale
        absent = quantity == "torque" and np.isnan(column).all()
        columns.append(np.zeros(column.size) if absent else column)
    return np.column_stack(columns)


def unwrap_positions(
    recording: RawLog, mapping: ImportMap, robot: Robot
) -> tuple[RawLog, list[str]]:
    """Unwrap positions that jump by whole turns where a counter restarts; return notes on them.

    A jump is unwrapped only if the step without the turns has a usual size.
    """
    columns, notes = dict(recording.columns), []
    for joint in (joint for joint in robot.joints if not joint.prismatic):
        entry = mapping.joints[joint.name]
        assert entry.position is not None
        turn = 2.0 * np.pi / UNITS["position"][entry.position_unit or "rad"]
        rows = np.flatnonzero(np.isfinite(columns[entry.position]))
        steps = np.diff(columns[entry.position][rows])
        turns = np.rint(steps / turn)
        remainders = np.abs(steps - turns * turn)
        usual = np.abs(steps[turns == 0.0])
        jumps = (
            (turns != 0.0)
            & (np.abs(turns) <= MAX_TURNS)
            & (remainders <= max(MAX_TURN_STEP * turn, usual.max(initial=0.0)))
        )
        if not jumps.any() or np.count_nonzero(jumps) < np.count_nonzero(turns):
            continue  # outliers, or a resolver of another range
        column = columns[entry.position].copy()
        column[rows[1:]] -= np.cumsum(turns) * turn
        columns[entry.position] = column
        notes.append(
            f"positions of {joint.name} jump by a turn {np.count_nonzero(jumps)} times and are "
            "joined"
        )
    return replace(recording, columns=columns), notes


def _transmission(mapping: ImportMap, robot: Robot) -> tuple[Float2D, Float2D]:
    """Return the matrices from motor to joint, of positions and of torques."""
    joints = [mapping.joints[name] for name in robot.joint_names]
    ratios = np.array([joint.gear_ratio for joint in joints])
    of_torques = np.array([joint.torque_gear_ratio or joint.gear_ratio for joint in joints])
    coupling = mapping.coupling
    if coupling is None:
        return np.diag(1.0 / ratios), np.diag(of_torques)
    if (ratios != 1.0).any() or (of_torques != 1.0).any():
        raise OptionError("map: gear_ratio has no effect with [coupling]; put it into the matrix")
    turns = _square(coupling.position, "position", robot)
    if np.linalg.matrix_rank(turns) < robot.dof:
        raise OptionError("map: coupling.position is singular; two motors drive the same motion")
    torque = turns.T if coupling.torque is None else _square(coupling.torque, "torque", robot)
    return np.linalg.inv(turns), torque


def _square(matrix: MatrixRows, name: str, robot: Robot) -> Float2D:
    n = robot.dof
    if len(matrix) != n or any(len(row) != n for row in matrix):
        raise OptionError(f"map: coupling.{name} needs {n} rows of {n} numbers, a row per motor")
    return np.array(matrix, dtype=float)


MAX_LENGTH = 2000
"""Maximum length of a formula [characters]; it also bounds the number of nodes."""

MAX_DEPTH = 100
"""Maximum depth of a formula; a sum has one level per term."""

MAX_EXPONENT = 10.0
"""Largest exponent, constants only."""

FUNCTIONS: Mapping[str, np.ufunc] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "arcsin", "arccos", "arctan")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh", "exp", "log", "sqrt")},
    **{name: getattr(np, name) for name in ("abs", "sign", "arctan2", "minimum", "maximum")},
}
"""Functions that a formula may call, by name."""

OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def evaluate_formula(text: str, values: Mapping[str, Any]) -> Any:
    """Evaluate a formula of numbers, names with their values, ``+ - * / **`` and `FUNCTIONS`.

    The result is NaN or infinite where the formula has no value. Raises `ValueError` with the
    reason if the text is not such a formula.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"it has {len(text)} characters, at most {MAX_LENGTH} are read")
    text = text.strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"it cannot be parsed: {error}") from error

    def value_of(node: ast.expr, depth: int) -> Any:
        """Evaluate a node; raise if it is of another kind."""
        if not depth:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return np.float64(repr(number))  # from text, because an integer may be too large
            case ast.Name(id=name) if name in values:
                return values[name]
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in OPERATORS:
                return OPERATORS[type(sign)](value_of(operand, depth - 1))
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                power = value_of(exponent, depth - 1)
                if np.ndim(power) or not abs(power) <= MAX_EXPONENT:
                    raise ValueError(
                        f"'{source_text(node)}' has no exponent of at most {MAX_EXPONENT:g}"
                    )
                return value_of(base, depth - 1) ** power
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return OPERATORS[type(sign)](value_of(left, depth - 1), value_of(right, depth - 1))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                if len(args) != FUNCTIONS[name].nin:
                    raise ValueError(
                        f"'{source_text(node)}' needs {FUNCTIONS[name].nin} argument(s)"
                    )
                return FUNCTIONS[name](*(value_of(part, depth - 1) for part in args))
        raise ValueError(f"'{source_text(node)}' cannot be used")

    def source_text(node: ast.expr) -> str:
        return reprlib.repr(ast.get_source_segment(text, node) or text)[1:-1]

    with np.errstate(all="ignore"):
        return value_of(tree, MAX_DEPTH)


def add_spring_torques(
    samples: Channels, mapping: ImportMap, robot: Robot
) -> tuple[Channels, tuple[str, ...]]:
    r"""Add the torques of known springs to samples; return them with notes.

    Drive and spring move a joint together: :math:`\tau_m + \tau_s(q)` acts on bodies and friction.
    Raises `OptionError` if an expression cannot be evaluated, or a table does not cover the
    positions of the log.
    """
    springs = {
        name: spring
        for name in robot.joint_names
        if (spring := mapping.joints[name].spring) is not None
    }
    if not springs:
        return samples, ()
    added, notes = np.zeros_like(samples.q), []
    for name, spring in springs.items():
        j = robot.joint_names.index(name)
        added[:, j] = _torque(spring, samples.q, j, name)
        unit = "N" if robot.joints[j].prismatic else "N m"
        low, high = np.nanmin(added[:, j]), np.nanmax(added[:, j])
        notes.append(
            f"the spring of {name} gives {low:.4g} to {high:.4g} {unit}, which are added to its "
            "torque; the identified robot has no spring"
        )
    return samples._replace(
        tau=samples.tau + added,
        tau_cmd=None if samples.tau_cmd is None else samples.tau_cmd + added,
        current=None,  # the torque is no longer of the drives alone
        torque_constant=None,
    ), tuple(notes)


def _torque(spring: Spring, q: Float2D, joint: int, name: str) -> Float1D:
    if isinstance(spring, str):
        variables = {"q": q[:, joint], **{f"q{k}": column for k, column in enumerate(q.T, start=1)}}
        label = f"map: the spring {reprlib.repr(spring)} of {name}"
        try:
            torque = np.broadcast_to(evaluate_formula(spring, variables), len(q))
        except ValueError as error:
            raise OptionError(
                f"{label} is not an expression of {', '.join(variables)}: {error}; write it with "
                f"numbers, "
                f"+ - * / ** and {', '.join(FUNCTIONS)}, or give a table"
            ) from error
        if not np.isfinite(torque[np.isfinite(q).all(axis=1)]).all():
            raise OptionError(f"{label} is not finite at positions of the log; give a table")
        return np.asarray(torque)
    at, torque = np.array(spring).T
    inside = q[np.isfinite(q[:, joint]), joint]
    if not (np.diff(at) > 0.0).all():
        raise OptionError(f"map: the positions of the spring of {name} must rise from row to row")
    if inside.size and (inside.min() < at[0] or inside.max() > at[-1]):
        raise OptionError(
            f"map: the spring of {name} is given from {at[0]:g} to {at[-1]:g}, and the log goes "
            f"from {inside.min():.4g} to {inside.max():.4g}; add rows"
        )
    return np.asarray(np.interp(q[:, joint], at, torque))
