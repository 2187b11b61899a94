r"""What a model lacks, as random functions of the state of every joint beside its parameters.

Residuals that are the same function of velocity, position, load or time are no noise, however small
they look beside it: they move the parameters together. Here the torque of joint j is

.. math:: y_j = W_j \beta + \sum_f \Phi_{jf} u_{jf} + e_j, \qquad u_{jf} \sim N(0, \theta_{jf} 1)

with piecewise linear functions of one quantity f of the joint, low-passed like the rows, and with
variances chosen by restricted likelihood: most are zero, all of them where the model is right. The
rows are then weighed by the inverse root of their covariance [1]_, joint by joint, so that every
estimator leaves out what the functions may explain; and what of them is left in the parameters
widens the intervals, for the functions are the nearest to the truth that the data show [2]_.

References
----------
.. [1] Robinson (1991), "That BLUP is a good thing: the estimation of random effects", Statistical
   Science 6(1), doi:10.1214/ss/1177011926.
.. [2] Kennedy, O'Hagan (2001), "Bayesian calibration of computer models", J. Royal Statistical
   Society B 63(3), doi:10.1111/1467-9868.00294.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.dynamics.dynamics import joint_torque, rigid_body_torque
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares, random_errors
from robotid_sim.estimation.problem import LinearProblem, joint_columns, rows_of
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows
from robotid_sim.estimation.variance_components import VarianceComponents, choose_components
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

SIGNIFICANCE = 0.01
"""Probability that a model that lacks nothing is said to lack something."""

REST = "phase"
"""What repeats from period to period and is a function of nothing else."""

FEWEST_PERIODS = 1.9
"""Periods in the rows that can show that something repeats; filters take some of the two."""

PHASES = 20
"""Piecewise linear functions a period."""

ROUNDS = 3
"""How often the noise beside the functions is estimated anew."""

LARGEST = 3.0
"""Largest torque of a function over what the model alone leaves of the joint's.

A function that the columns of the model nearly explain would else be taken for one of any size,
and parameters left open that the log shows well.
"""

EXTREMES = 0.02
"""Share of the rows of a joint that must not be all that shows a function."""


def hats(x: Float1D, knots: Float1D) -> Float2D:
    """Return the piecewise linear functions of x, one at every knot, shape (N, k)."""
    return np.stack([np.interp(x, knots, unit) for unit in np.eye(len(knots))], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Quantities:
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


def _speeds(state: Quantities) -> Float2D:
    """Return functions of the speed, constant below that at which the smooth sign is a sign."""
    speed = np.abs(state.dq)
    return hats(speed, np.geomspace(state.eps, max(float(speed.max()), 4.0 * state.eps), 7))


def _centred(x: Float2D) -> Float2D:
    """Return functions without their mean, for a constant is one of the direction."""
    return np.asarray(x - x.mean(axis=0))


def _span(x: Float1D, count: int) -> Float1D:
    return np.linspace(float(x.min()), float(x.max()), count)


def _phases(state: Quantities) -> Float2D:
    """Return functions of the phase; of one phase alone they are nothing."""
    knots = np.linspace(0.0, 1.0, PHASES, endpoint=False)
    units = np.eye(PHASES)
    return _centred(np.stack([np.interp(state.phase, knots, u, period=1.0) for u in units], axis=1))


FUNCTIONS: Mapping[str, Callable[[Quantities], Float2D]] = {
    "speed": lambda s: _speeds(s) * s.sign[:, None],
    "direction": _speeds,
    "load": lambda s: hats(np.abs(s.load), _span(np.abs(s.load), 4)) * s.sign[:, None],
    "position": lambda s: _centred(hats(s.q, _span(s.q, 8))),
    "time": lambda s: _centred(hats(s.time, np.linspace(0.0, 1.0, 6))),
    "lag": lambda s: np.gradient(s.torque, s.dt)[:, None],
    REST: _phases,
}
"""Functions of every quantity, torque per unit of each, shape (N, k)."""

CAUSES: Mapping[str, str] = {
    "speed": "friction that depends on the speed otherwise than in the model (Stribeck, eps)",
    "direction": "an offset, or friction that differs between the directions",
    "load": "friction that grows with the load",
    "position": "a torque that depends on the position (cogging, spring, cable, tilted base)",
    "time": "drift (warming up, a sensor that creeps)",
    "lag": "a torque that comes late or early",
    REST: "periods repeat it, so that it is no noise; a torque of another shape than those above",
}
"""The likely cause of a discrepancy that is a function of a quantity."""


@documented
@dataclass(frozen=True, slots=True)
class Lack:
    """One joint's torque that the model lacks, as a function of one quantity."""

    joint: str
    quantity: str
    torque: float
    """RMS of the function along the motion [N m]."""
    over_noise: float
    """That over the noise of the joint's rows."""
    ratio: float
    """Twice the logarithm of the likelihood ratio with and without it."""

    def sentence(self) -> str:
        """Return the lack in words."""
        return (
            f"{self.joint}: the residual is a function of {self.quantity}, {self.torque:.3g} N m "
            f"RMS or {self.over_noise:.3g} times the noise of its rows: {CAUSES[self.quantity]}."
        )


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Discrepancy:
    """What the model of a fit lacks; nothing if there are no `lacks`."""

    lacks: tuple[Lack, ...]
    columns: Float2D
    """Torque of one standard deviation of every random effect in its joint's rows, (N n, k)."""
    noise_std: Float1D
    """Noise of the rows beside the functions [N m], shape (n,)."""

    def sentences(self) -> list[str]:
        """Return what the model lacks in words, the most obvious first."""
        return [lack.sentence() for lack in self.lacks]


def state_functions(
    motion: Motion, nominal: Robot, problem: LinearProblem, estimate: Estimate
) -> dict[tuple[str, int], Float2D]:
    """Return the functions of every quantity and joint as rows of the fit, each of shape (N, k)."""
    phi = problem.basis.completed(estimate.beta, nominal.parameters())
    robot = nominal.with_parameters(phi, formal=True)
    states = (motion.q, motion.dq, motion.ddq)
    load, torque = rigid_body_torque(robot, *states), joint_torque(robot, *states)
    time, phase = np.linspace(0.0, 1.0, motion.t.size), _phase(motion)
    joints = []
    for j in range(nominal.dof):
        dq, eps = motion.dq[:, j], float(nominal.eps[j])
        state = Quantities(
            q=motion.q[:, j],
            dq=dq,
            sign=np.tanh(dq / eps),
            load=load[:, j],
            torque=torque[:, j],
            time=time,
            phase=phase,
            eps=eps,
            dt=motion.dt,
        )
        joints.append({name: function(state) for name, function in FUNCTIONS.items()})
    return {
        (name, j): rows
        for name in FUNCTIONS
        for j, rows in enumerate(
            np.moveaxis(rows_of(motion, np.stack([joint[name] for joint in joints], 1)), 1, 0)
        )
    }


def _phase(motion: Motion) -> Float1D:
    """Return the time in periods, or zeros if the rows have less than two of them."""
    used = slice(None) if motion.row_filter is None else motion.row_filter.used
    if motion.period is None or np.ptp(motion.t[used]) < FEWEST_PERIODS * motion.period:
        return np.zeros(motion.t.size)
    return np.asarray(motion.t / motion.period)


def find_discrepancy(
    problem: LinearProblem,
    motion: Motion,
    nominal: Robot,
    *,
    gain_std: float = 0.0,
    significance: float = SIGNIFICANCE,
) -> Discrepancy:
    """Return what the model of a problem lacks, by the rows themselves.

    Parameters
    ----------
    problem : LinearProblem
        Rows of the motion.
    motion : Motion
        State of the joints.
    nominal : Robot
        Kinematics and friction velocities.
    significance : float
        Probability that something is found where nothing is.
    """
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    model = problem.by_joint(problem.W @ estimate.beta)
    gains = gain_std * joint_columns(model) if gain_std else np.zeros((len(problem.y), 0))
    nothing = Discrepancy((), gains, estimate.noise_std)
    if not estimate.success:
        return nothing
    noise = estimate.noise_std
    keys, blocks = [], []
    for (quantity, j), rows in state_functions(motion, nominal, problem, estimate).items():
        rows = rows[:, np.abs(rows).max(axis=0) > 0.0]
        size = float(np.sqrt((rows**2).sum() / problem.samples))
        if size > 0.0:
            keys.append((quantity, j))
            blocks.append(rows / size)
    search = _Explanations(problem, keys, blocks, gains, significance)
    y = problem.by_joint(problem.y)
    chosen = search.components(y, noise)
    if chosen is None or search.components(_without_extremes(y, model), noise) is None:
        return nothing
    found, Z, function, before, noise = chosen
    lacks = []
    for c, (quantity, j) in enumerate(keys):
        if found.variances[c]:
            size = float(np.sqrt((function[c, :, j] ** 2).mean()))
            lacks.append(
                Lack(
                    problem.joint_names[j],
                    quantity,
                    size * float(before[j]),
                    size * float(before[j] / noise[j]),
                    float(found.ratios[c]),
                )
            )
    scale = np.repeat(np.sqrt(found.variances), [block.shape[1] for block in blocks])
    used = np.flatnonzero(scale)
    columns = (Z[..., used] * scale[used] * before[:, None]).reshape(len(problem.y), -1)
    worst_first = sorted(lacks, key=lambda lack: -lack.ratio)
    return Discrepancy(tuple(worst_first), np.hstack([gains, columns]), noise)


class _Explained(NamedTuple):
    """Components of rows, their columns and functions, noise before and beside them."""

    found: VarianceComponents
    Z: Float
    function: Float
    before: Float1D
    noise: Float1D


@dataclass(frozen=True, slots=True, eq=False)
class _Explanations:
    """Rows of a problem with the functions that may explain them."""

    problem: LinearProblem
    keys: list[tuple[str, int]]
    blocks: list[Float2D]
    gains: Float2D
    significance: float

    def components(self, y: Float2D, noise: Float1D) -> _Explained | None:
        """Return the functions that torques y, shape (N, n), are explained by, if there are any."""
        problem = self.problem
        n, N, b = problem.dof, problem.samples, problem.basis.rank
        W = problem.by_joint(problem.W)
        ends = np.cumsum([0, *(block.shape[1] for block in self.blocks)])
        groups = [np.arange(low, high) for low, high in pairwise(ends)]
        last = [c for c, (quantity, _) in enumerate(self.keys) if quantity == REST]
        largest = np.array([(LARGEST * noise[j]) ** 2 for _, j in self.keys])
        for _ in range(ROUNDS):
            Z = np.zeros((N, n, ends[-1]))
            for (_, j), rows, group in zip(self.keys, self.blocks, groups, strict=True):
                Z[:, j, group] = rows / noise[j]
            rows = np.concatenate([W / noise[:, None], Z, (y / noise)[..., None]], axis=2)
            rows = freed(rows, self.gains.reshape(N, n, -1) / noise[:, None])
            flat = rows.reshape(N * n, -1)
            columns = flat[:, :b], flat[:, -1], flat[:, b:-1]
            found = choose_components(
                *columns, groups, self.significance, last=last, largest=largest
            )
            if not found.variances.any():
                return None
            function = np.array([Z[..., g] @ found.effects[g] for g in groups])  # (c, N, n)
            left = rows[..., -1] - rows[..., :b] @ found.beta - rows[..., b:-1] @ found.effects
            before, noise = noise, noise * np.sqrt((left**2).sum(axis=0) / (N - b / n))
        return _Explained(found, Z, function, before, noise)


def _without_extremes(y: Float2D, model: Float2D) -> Float2D:
    """Return torques that are those of a model where they differ most from it, joint by joint.

    A joint that creeps through a reversal has a row or two of much larger noise, for the motion is
    noisy there and friction steep. What is found must show without them.
    """
    left = np.abs(y - model)
    count = int(np.ceil(EXTREMES * len(y)))
    bounds = np.sort(left, axis=0)[-count]
    return np.where(left >= bounds, model, y)


def allowing_for(problem: LinearProblem, discrepancy: Discrepancy) -> LinearProblem:
    r"""Return the problem with rows weighed by the inverse root of their covariance.

    With the functions :math:`\Phi D^{1/2} / \sigma = Q \Lambda^{1/2} V^T` of a joint,
    :math:`(1 + \Phi D \Phi^T / \sigma^2)^{-1/2} = 1 - Q (1 - (1 + \Lambda)^{-1/2}) Q^T`.
    """
    if not discrepancy.columns.size:
        return problem
    b, columns = problem.basis.rank, problem.by_joint(discrepancy.columns)
    every = np.column_stack([problem.W, problem.y, discrepancy.columns])
    rows = freed(problem.by_joint(every), columns / discrepancy.noise_std[:, None])
    flat: Float = rows.reshape(len(problem.y), -1)
    return replace(problem, W=flat[:, :b], y=flat[:, b], random=flat[:, b + 1 :])


def freed(rows: Float, columns: Float) -> Float:
    """Return rows (N, n, m) times the inverse root of ``1 + columns columns^T``, joint by joint."""
    result = rows.copy()
    for j in range(rows.shape[1]):
        own = columns[:, j, np.abs(columns[:, j]).max(axis=0, initial=0.0) > 0.0]
        if own.shape[1]:
            Q, s, _ = np.linalg.svd(own, full_matrices=False)
            result[:, j] -= (Q * (1.0 - 1.0 / np.sqrt(1.0 + s**2))) @ (Q.T @ rows[:, j])
    return result


def widening(problem: LinearProblem, plain: LinearProblem, noise_std: Float1D) -> Float1D:
    """Return how much wider the intervals are than noise alone makes them, shape (b,).

    The `problem` allows for what the `plain` one lacks; the noise of the rows [N m] is that of the
    fit, shape (n,).
    """
    weights = 1.0 / noise_std
    alone = np.sqrt(np.diag(cramer_rao(plain, noise_std)))
    _, R = reduce_rows(problem).solve(weights)
    inverse = np.linalg.inv(R)
    half = np.hstack([inverse, random_errors(problem, weights, inverse)])
    return np.asarray(np.sqrt((half**2).sum(axis=1)) / alone)
