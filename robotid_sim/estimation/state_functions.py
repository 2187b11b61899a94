"""Unmodeled torque as a function of the state of a joint.

Piecewise linear functions of speed, direction of motion, load, position and time, with their likely
causes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.dynamics import joint_torque, rigid_body_torque
from robotid_sim.errors import OptionError
from robotid_sim.estimation.problem import rows_of
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

PHASE_QUANTITY = "phase"
"""Torque that repeats with the period and is not a function of other quantities."""

PHASE_COUNT = 20
"""Number of piecewise linear functions per period."""

OFFSET_VARIANCE = 10.0
"""Variance of an offset over that of its variation with the speed.

Friction differs between directions mostly by an offset. With independent values, a function similar
to gravity would be mistaken for gravity.
"""


def evaluate_hats(x: Float1D, knots: Float1D, period: float | None = None) -> Float2D:
    """Evaluate the hat functions of x, one per knot, shape (N, k)."""
    count = len(knots)
    knot_position = np.interp(x, knots, np.arange(count, dtype=float), period=period)
    if period is not None:  # periodic: from the last knot to the first one
        wrapped = np.mod(x - knots[0], period) + knots[0]
        share = (wrapped - knots[-1]) / (period + knots[0] - knots[-1])
        knot_position = np.where(share > 0.0, count - 1 + share, knot_position)
    lower = np.minimum(knot_position.astype(np.intp), count - 1)
    values = np.zeros((len(x), count))
    row, upper_share = np.arange(len(x)), knot_position - lower
    values[row, (lower + 1) % count] = upper_share
    values[row, lower] = 1.0 - upper_share if count > 1 else 1.0
    return values


@dataclass(frozen=True, slots=True, eq=False)
class JointStates:
    """Arguments of the functions of one joint, arrays of shape (N,)."""

    q: Float1D
    dq: Float1D
    sign: Float1D
    """Smooth sign of the velocity, as in the friction model."""
    load: Float1D
    """Torque of the rigid bodies [N m]."""
    torque: Float1D
    """Torque of the whole model [N m]."""
    time: Float1D
    """Relative time, from 0 to 1."""
    phase: Float1D
    """Time in periods; all zero where the rows have less than two."""
    eps: float
    """Velocity of the smooth sign."""
    dt: float


class Dependence(NamedTuple):
    """A quantity on which torque may depend."""

    quantity: Callable[[JointStates], Float1D]
    """The quantity, shape (N,)."""
    knots: Callable[[JointStates], Float1D]
    """Knots of the functions, shape (k,)."""
    factor: Callable[[JointStates], Float1D] | None = None
    """Factor of the functions, shape (N,)."""
    centered: bool = False
    """Whether the mean of every function is subtracted; ``direction`` contains the constant."""
    lasting: bool = True
    """Whether the function is valid for other motions."""
    shared: bool = True
    """Whether parameters shared by joints may cause the same function, as gravity does for the
    position. A fit with such a function does not determine these parameters well."""
    period: float | None = None
    level: float = 0.0
    """Variance of the common level of all values over the variance about that level."""
    open_ends: tuple[bool, bool] = (False, False)
    """Whether other motions may go below the first knot, above the last."""

    @property
    def is_own_friction(self) -> bool:
        """Whether it describes only friction of the joint, which a fit may always include."""
        return self.lasting and not self.shared

    def functions(self, states: JointStates, knots: Float1D) -> Float2D:
        """Evaluate the functions of the states, one per knot, shape (N, k)."""
        values = evaluate_hats(self.quantity(states), knots, self.period)
        return values if self.factor is None else values * self.factor(states)[:, None]

    def root(self, count: int) -> Float2D:
        """Compute a root of the covariance of the values at knots, shape (k, k)."""
        return np.asarray(np.eye(count) + (np.sqrt(1.0 + self.level * count) - 1.0) / count)


class RandomFunction(NamedTuple):
    """A piecewise linear function of random values with zero mean."""

    knots: Float1D
    """Knots in the unit of the quantity, shape (k,)."""
    mean: Float1D
    """Mean subtracted from the functions of the knots, shape (k,)."""
    root: Float2D
    """Root of the covariance of the values [N m], for a lag [s], shape (k, k)."""


def _place_knots(states: JointStates) -> Float1D:
    """Make knots of the speed above the range of the smooth sign."""
    top = float(np.abs(states.dq).max())
    return np.geomspace(states.eps, max(top, 4.0 * states.eps), 7)


def _space_evenly(x: Float1D, count: int) -> Float1D:
    return np.linspace(float(x.min()), float(x.max()), count)


QUANTITIES: Mapping[str, Dependence] = {
    "speed": Dependence(
        lambda s: np.abs(s.dq),
        _place_knots,
        lambda s: s.sign,
        shared=False,
        open_ends=(False, True),
    ),
    "direction": Dependence(
        lambda s: np.abs(s.dq), _place_knots, level=OFFSET_VARIANCE, open_ends=(False, True)
    ),
    "load": Dependence(
        lambda s: np.abs(s.load),
        lambda s: _space_evenly(np.abs(s.load), 4),
        lambda s: s.sign,
        open_ends=(True, True),
    ),
    "position": Dependence(
        lambda s: s.q, lambda s: _space_evenly(s.q, 8), centered=True, open_ends=(True, True)
    ),
    "time": Dependence(
        lambda s: s.time,
        lambda _: np.linspace(0.0, 1.0, 6),
        centered=True,
        lasting=False,
        shared=False,
    ),
    "lag": Dependence(
        lambda s: s.time, lambda _: np.zeros(1), lambda s: np.gradient(s.torque, s.dt)
    ),
    PHASE_QUANTITY: Dependence(
        lambda s: s.phase,
        lambda _: np.linspace(0.0, 1.0, PHASE_COUNT, endpoint=False),
        centered=True,
        lasting=False,
        period=1.0,
    ),
}
"""Quantities on which unmodeled torque of a joint may depend."""

QUANTITY_CAUSES: Mapping[str, str] = {
    "speed": "different velocity dependence of friction (Stribeck, transition velocity)",
    "direction": "offset or direction-dependent friction",
    "load": "load-dependent friction",
    "position": "position-dependent torque (cogging, spring, cable, tilted base)",
    "time": "drift (warm-up, sensor drift)",
    "lag": "torque delay",
    PHASE_QUANTITY: "other periodic torque",
}
"""Likely causes of unmodeled torque, by quantity."""


@document_attributes
@dataclass(frozen=True, slots=True)
class UnmodeledFunction:
    """Unmodeled torque of one joint, as a function of one quantity."""

    joint: str
    quantity: str
    torque: float
    """RMS of the function along the motion [N m]."""
    over_noise: float
    """Torque over the noise of the joint's rows."""
    ratio: float
    """Twice the logarithm of the likelihood ratio."""
    knots: tuple[float, ...] = ()
    """Knots of the piecewise linear function, in the unit of its quantity."""
    values: tuple[float, ...] = ()
    """Values at the knots [N m], for a lag [s]; empty if not identifiable."""
    friction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Part that the fitted Fv, Fc and Fo already contain, to avoid counting it twice."""

    @property
    def cause(self) -> str:
        """Most likely cause of such a function."""
        return QUANTITY_CAUSES[self.quantity]


def require_function_of(
    robot: Robot, joint: str, quantity: str, knots: ArrayLike, values: ArrayLike
) -> None:
    """Raise `OptionError` unless the function of a joint is valid for the robot."""
    if joint not in robot.joint_names or quantity not in QUANTITIES:
        raise OptionError(f"{robot.name} has no joint '{joint}' with a '{quantity}'")
    knots, values = np.array(knots, dtype=float), np.array(values, dtype=float)
    is_same_shape = knots.shape == values.shape and knots.ndim == 1
    if not (is_same_shape and np.isfinite([knots, values]).all() and (np.diff(knots) > 0.0).all()):
        raise OptionError(
            f"{joint}, {quantity}: knots must ascend and have a value each; got "
            f"{knots.tolist()} and {values.tolist()}"
        )


class StateFunctions(NamedTuple):
    """Functions of one quantity as rows of a fit, shape (N, k), and their knots."""

    rows: Float2D
    knots: Float1D
    mean: Float1D
    """Mean subtracted from every function, shape (k,)."""


def state_functions(motion: Motion, robot: Robot) -> dict[tuple[str, int], StateFunctions]:
    """Make the functions of every quantity and joint, by the torques of a robot model."""
    states = joint_states(motion, robot)
    functions = {}
    for name, quantity in QUANTITIES.items():
        knots = [quantity.knots(joint) for joint in states]
        values = np.empty((len(states[0].q), len(states), len(knots[0])))
        for j, joint in enumerate(states):
            values[:, j] = quantity.functions(joint, knots[j])
        mean = np.zeros(values.shape[1:])
        if quantity.centered:
            mean = values.mean(axis=0)
            values -= mean
        rows = rows_of(motion, values)
        for j in range(len(states)):
            functions[name, j] = StateFunctions(rows[:, j], knots[j], mean[j])
    return functions


def joint_states(motion: Motion, robot: Robot) -> list[JointStates]:
    """Compute the arguments of the functions of every joint, by the torques of a model."""
    q, dq, ddq = motion.q, motion.dq, motion.ddq
    load, torque = rigid_body_torque(robot, q, dq, ddq), joint_torque(robot, q, dq, ddq)
    time, period = np.linspace(0.0, 1.0, motion.t.size), motion.repeats
    phase = np.zeros(motion.t.size) if period is None else motion.t / period
    return [
        JointStates(
            q=q[:, j],
            dq=dq[:, j],
            sign=np.tanh(dq[:, j] / joint.friction.eps),
            load=load[:, j],
            torque=torque[:, j],
            time=time,
            phase=phase,
            eps=float(joint.friction.eps),
            dt=motion.dt,
        )
        for j, joint in enumerate(robot.joints)
    ]


def compute_unmodeled_torque(
    functions_of_joints: Sequence[UnmodeledFunction], motion: Motion, robot: Robot
) -> Float2D:
    """Compute the torque of unmodeled functions along a motion, shape (N, n) [N m].

    Functions of time and of the period belong to the fitted motion, and are omitted. Beyond the
    range of the fitted motion a function is constant.
    """
    torque = np.zeros(motion.q.shape)
    states = joint_states(motion, robot)
    for function in functions_of_joints:
        quantity = QUANTITIES[function.quantity]
        if quantity.lasting and function.knots:
            j = robot.joint_names.index(function.joint)
            functions = quantity.functions(states[j], np.array(function.knots))
            Fv, Fc, Fo = function.friction
            torque[:, j] += functions @ np.array(function.values)
            torque[:, j] -= Fv * states[j].dq + Fc * states[j].sign + Fo
    return torque
