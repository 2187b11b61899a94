"""Torque as a function of the state of a joint, for what the parameters of a model lack.

Piecewise linear functions of speed, direction of motion, load, position and time; what they depend
on, and what a torque that depends on it is likely to be.
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
"""What repeats from period to period and is a function of nothing else."""

PHASE_COUNT = 20
"""Piecewise linear functions a period."""

OFFSET_VARIANCE = 10.0
"""Variance of an offset over that of how it varies with the speed.

Joints differ between their directions by an offset most of all. Were the values of the function
independent, one that gravity nearly explains would be taken for gravity.
"""


def hats(x: Float1D, knots: Float1D, period: float | None = None) -> Float2D:
    """Return the piecewise linear functions of x, one at every knot, shape (N, k)."""
    count = len(knots)
    at = np.interp(x, knots, np.arange(count, dtype=float), period=period)
    if period is not None:  # from the last knot on toward the first one again
        beyond = np.mod(x - knots[0], period) + knots[0]
        share = (beyond - knots[-1]) / (period + knots[0] - knots[-1])
        at = np.where(share > 0.0, count - 1 + share, at)
    lower = np.minimum(at.astype(np.intp), count - 1)
    found = np.zeros((len(x), count))
    row, rest = np.arange(len(x)), at - lower
    found[row, (lower + 1) % count] = rest
    found[row, lower] = 1.0 - rest if count > 1 else 1.0
    return found


@dataclass(frozen=True, slots=True, eq=False)
class JointStates:
    """What the functions of one joint depend on, arrays of shape (N,)."""

    q: Float1D
    dq: Float1D
    sign: Float1D
    """Smooth sign of the velocity, as in the model's friction."""
    load: Float1D
    """Torque of the rigid bodies [N m]."""
    torque: Float1D
    """Torque of the whole model [N m]."""
    time: Float1D
    """From 0 to 1."""
    phase: Float1D
    """Time in periods; all zero where the rows have less than two."""
    eps: float
    """Velocity of the smooth sign."""
    dt: float


class Dependence(NamedTuple):
    """What a torque may be a function of."""

    of: Callable[[JointStates], Float1D]
    """The quantity, shape (N,)."""
    knots: Callable[[JointStates], Float1D]
    """Where the functions have their knots, shape (k,)."""
    factor: Callable[[JointStates], Float1D] | None = None
    """What they are multiplied by, shape (N,)."""
    centered: bool = False
    """Whether they have no mean, for a constant is a function of the direction."""
    stays: bool = True
    """Whether another motion has the same function."""
    pulls: bool = True
    """Whether parameters that joints share may be the same function, as gravity is of the position:
    rows that leave it out leave them to chance where it is not what is missing."""
    period: float | None = None
    level: float = 0.0
    """Variance of what all values have in common over that of each about it."""
    open_ends: tuple[bool, bool] = (False, False)
    """Whether another motion may go below the first knot, above the last."""

    @property
    def is_harmless(self) -> bool:
        """Whether a fit may allow for it anyway: friction of the joint and nothing else."""
        return self.stays and not self.pulls

    def functions(self, states: JointStates, knots: Float1D) -> Float2D:
        """Return the functions of the states, one a knot, shape (N, k)."""
        values = hats(self.of(states), knots, self.period)
        return values if self.factor is None else values * self.factor(states)[:, None]

    def root(self, count: int) -> Float2D:
        """Return a root of the covariance of the values at knots, shape (k, k)."""
        return np.asarray(np.eye(count) + (np.sqrt(1.0 + self.level * count) - 1.0) / count)


class RandomFunction(NamedTuple):
    """A piecewise linear function of random values with zero mean."""

    knots: Float1D
    """In the unit of its quantity, shape (k,)."""
    mean: Float1D
    """What was taken off the functions of the knots, shape (k,)."""
    root: Float2D
    """Root of the covariance of the values [N m], of a lag [s], shape (k, k)."""


def _speed_knots(states: JointStates) -> Float1D:
    """Return knots of the speed from that on at which the smooth sign is a sign."""
    top = float(np.abs(states.dq).max())
    return np.geomspace(states.eps, max(top, 4.0 * states.eps), 7)


def _span(x: Float1D, count: int) -> Float1D:
    return np.linspace(float(x.min()), float(x.max()), count)


QUANTITIES: Mapping[str, Dependence] = {
    "speed": Dependence(
        lambda s: np.abs(s.dq), _speed_knots, lambda s: s.sign, pulls=False, open_ends=(False, True)
    ),
    "direction": Dependence(
        lambda s: np.abs(s.dq), _speed_knots, level=OFFSET_VARIANCE, open_ends=(False, True)
    ),
    "load": Dependence(
        lambda s: np.abs(s.load),
        lambda s: _span(np.abs(s.load), 4),
        lambda s: s.sign,
        open_ends=(True, True),
    ),
    "position": Dependence(
        lambda s: s.q, lambda s: _span(s.q, 8), centered=True, open_ends=(True, True)
    ),
    "time": Dependence(
        lambda s: s.time,
        lambda _: np.linspace(0.0, 1.0, 6),
        centered=True,
        stays=False,
        pulls=False,
    ),
    "lag": Dependence(
        lambda s: s.time, lambda _: np.zeros(1), lambda s: np.gradient(s.torque, s.dt)
    ),
    PHASE_QUANTITY: Dependence(
        lambda s: s.phase,
        lambda _: np.linspace(0.0, 1.0, PHASE_COUNT, endpoint=False),
        centered=True,
        stays=False,
        period=1.0,
    ),
}
"""What the torque of a joint may depend on beside its parameters."""

QUANTITY_CAUSES: Mapping[str, str] = {
    "speed": "other velocity dependence of friction (Stribeck, transition velocity)",
    "direction": "offset or direction-dependent friction",
    "load": "load-dependent friction",
    "position": "position-dependent torque (cogging, spring, cable, tilted base)",
    "time": "drift (warming up, a sensor that creeps)",
    "lag": "torque delay",
    PHASE_QUANTITY: "other periodic torque",
}
"""The likely cause of a discrepancy that is a function of a quantity."""


@document_attributes
@dataclass(frozen=True, slots=True)
class UnmodeledFunction:
    """One joint's torque that the model lacks, as a function of one quantity."""

    joint: str
    quantity: str
    torque: float
    """RMS of the function along the motion [N m]."""
    over_noise: float
    """That over the noise of the joint's rows."""
    ratio: float
    """Twice the logarithm of the likelihood ratio with and without it."""
    knots: tuple[float, ...] = ()
    """Where the piecewise linear function has its knots, in the unit of its quantity."""
    values: tuple[float, ...] = ()
    """Its values there [N m], that of a lag [s], as far as the log shows them."""
    friction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """What of it is in the fitted Fv, Fc and Fo of the joint, and is not to be counted twice."""

    @property
    def cause(self) -> str:
        """What such a function comes from most often."""
        return QUANTITY_CAUSES[self.quantity]


def require_function_of(
    robot: Robot, joint: str, quantity: str, knots: ArrayLike, values: ArrayLike
) -> None:
    """Raise `OptionError` unless there is such a function of a quantity of a joint of the robot."""
    if joint not in robot.joint_names or quantity not in QUANTITIES:
        raise OptionError(f"{robot.name} has no joint '{joint}' with a '{quantity}'")
    knots, values = np.array(knots, dtype=float), np.array(values, dtype=float)
    alike = knots.shape == values.shape and knots.ndim == 1
    if not (alike and np.isfinite([knots, values]).all() and (np.diff(knots) > 0.0).all()):
        raise OptionError(
            f"{joint}, {quantity}: knots need to ascend and a value each; got "
            f"{knots.tolist()} and {values.tolist()}"
        )


class StateFunctions(NamedTuple):
    """Functions of one quantity as rows of a fit, shape (N, k), and their knots."""

    rows: Float2D
    knots: Float1D
    mean: Float1D
    """What was taken off every function, shape (k,)."""


def state_functions(motion: Motion, robot: Robot) -> dict[tuple[str, int], StateFunctions]:
    """Return the functions of every quantity and joint, by the torques of a model of the robot."""
    states = joint_states(motion, robot)
    return {
        (name, j): functions
        for name, quantity in QUANTITIES.items()
        for j, functions in enumerate(_make_functions(motion, quantity, states))
    }


def _make_functions(
    motion: Motion, quantity: Dependence, states: Sequence[JointStates]
) -> list[StateFunctions]:
    """Return the functions of one quantity, joint by joint."""
    knots = [quantity.knots(joint) for joint in states]
    values = np.empty((len(states[0].q), len(states), len(knots[0])))
    for j, joint in enumerate(states):
        values[:, j] = quantity.functions(joint, knots[j])
    mean = np.zeros(values.shape[1:])
    if quantity.centered:
        mean = values.mean(axis=0)
        values -= mean
    rows = rows_of(motion, values)
    return [StateFunctions(rows[:, j], knots[j], mean[j]) for j in range(len(states))]


def joint_states(motion: Motion, robot: Robot) -> list[JointStates]:
    """Return what the functions of every joint depend on, by the torques of a model."""
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
    lacks: Sequence[UnmodeledFunction], motion: Motion, robot: Robot
) -> Float2D:
    """Return the torque of functions that a fit found, along another motion, shape (N, n) [N m].

    Functions of time and of the period are of the motion that showed them, and left out. Beyond
    what that motion had of a quantity, a function is constant.
    """
    torque = np.zeros(motion.q.shape)
    states = joint_states(motion, robot)
    for lack in lacks:
        quantity = QUANTITIES[lack.quantity]
        if quantity.stays and lack.knots:
            j = robot.joint_names.index(lack.joint)
            functions = quantity.functions(states[j], np.array(lack.knots))
            Fv, Fc, Fo = lack.friction
            torque[:, j] += functions @ np.array(lack.values)
            torque[:, j] -= Fv * states[j].dq + Fc * states[j].sign + Fo
    return torque
