"""Search for what a model lacks: random functions by restricted likelihood, and what repeats."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.block_sandwich import same_phase
from robotid_sim.estimation.correlation import SHORTEST_BLOCK, autocorrelation, effective_rows
from robotid_sim.estimation.discrepancy import Discrepancy, allowing_for, freed
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, joint_columns, joint_only
from robotid_sim.estimation.state_functions import (
    QUANTITIES,
    REST,
    Lack,
    RandomFunction,
    state_functions,
)
from robotid_sim.estimation.variance_components import VarianceComponents, choose_components
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

SIGNIFICANCE = 0.01
"""Probability that a model that lacks nothing is said to lack something."""

ROUNDS = 3
"""How often the noise beside the functions is estimated anew."""

LARGEST = 3.0
"""Largest torque of a function over what the model alone leaves of the joint's.

A function that the columns of the model nearly explain would else be taken for one of any size,
and parameters left open that the log shows well.
"""

TINY = float(np.finfo(float).tiny)

EXTREMES = 0.02
"""Share of the rows of a joint that must not be all that shows a function."""


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
    gain_std : float
        Standard deviation of the relative errors of the torque constants.
    significance : float
        Probability that something is found where nothing is.

    Returns
    -------
    found : Discrepancy
        Without lacks if nothing is found or the fit fails.
    """
    estimate, nothing = _by_noise_alone(problem, gain_std)
    if not estimate.success:
        return nothing
    found = _with_functions(nothing, problem, motion, nominal, estimate.beta, significance)
    return replace(found, repeats=_repeats(problem, found, significance))


def nothing_lacking(
    problem: LinearProblem, *, gain_std: float = 0.0, significance: float = SIGNIFICANCE
) -> Discrepancy:
    """Return what `find_discrepancy` returns for rows whose model lacks no function.

    Parameters
    ----------
    problem : LinearProblem
        Rows, of which a part has shown nothing.
    gain_std : float
        Standard deviation of the relative errors of the torque constants.
    significance : float
        Probability that residuals are said to repeat where they do not.

    Returns
    -------
    discrepancy : Discrepancy
        Without lacks; residuals may repeat with the period.
    """
    estimate, nothing = _by_noise_alone(problem, gain_std)
    repeats = estimate.success and _repeats(problem, nothing, significance)
    return replace(nothing, repeats=repeats)


def _by_noise_alone(problem: LinearProblem, gain_std: float) -> tuple[Estimate, Discrepancy]:
    """Return a fit, and what is no noise in it but for functions and what repeats."""
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    model = problem.by_joint(problem.W @ estimate.beta)
    gains = gain_std * joint_columns(model) if gain_std else np.zeros((len(problem.y), 0))
    return estimate, Discrepancy((), gains, estimate.noise_std)


def _with_functions(
    nothing: Discrepancy,
    problem: LinearProblem,
    motion: Motion,
    nominal: Robot,
    beta: Float1D,
    significance: float,
) -> Discrepancy:
    """Return the functions that explain the residuals of a fit with parameters beta."""
    gains, noise = nothing.columns, nothing.noise_std
    model = problem.by_joint(problem.W @ beta)
    phi = problem.basis.completed(beta, nominal.parameters())
    keys, shapes = [], []
    blocks: list[Float2D] = []
    functions = state_functions(motion, nominal.with_parameters(phi, formal=True))
    for key, (rows, knots, mean) in functions.items():
        shown = np.abs(rows).max(axis=0) > 0.0
        if shown.any():
            root = QUANTITIES[key[0]].root(int(shown.sum()))
            block = rows[:, shown] @ root
            size = float(np.sqrt((block**2).sum() / problem.samples))
            keys.append(key)
            blocks.append(block / size)
            shapes.append(RandomFunction(knots[shown], mean[shown], root / size))
    search = _Explanations(problem, keys, blocks, gains, significance)
    y = problem.by_joint(problem.y)
    chosen = search.components(y, noise)
    if chosen is None or search.components(_without_extremes(y, model), noise) is None:
        return nothing
    found, before, noise = chosen
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
    lacks, used, columns = [], [], [gains]
    for c in sorted(np.flatnonzero(found.variances), key=lambda c: -found.ratios[c]):
        quantity, j = keys[c]
        block = blocks[c] / before[j]
        size = float(np.sqrt(((block @ found.effects[ends[c] : ends[c + 1]]) ** 2).mean()))
        ratio, std = float(found.ratios[c]), float(np.sqrt(found.variances[c]))
        of_noise = size * float(before[j] / noise[j])
        name = problem.joint_names[j]
        lacks.append(Lack(name, quantity, size * float(before[j]), of_noise, ratio))
        used.append(shapes[c]._replace(root=std * shapes[c].root))
        own = joint_only(block * (std * before[j]), j, problem.dof)
        columns.append(own.reshape(len(problem.y), -1))
    return Discrepancy(tuple(lacks), np.hstack(columns), noise, tuple(used))


def _repeats(problem: LinearProblem, found: Discrepancy, significance: float) -> bool:
    r"""Return whether what is left of the rows repeats with their period.

    With the sums of a joint's residuals of unit variance over the :math:`n_i` rows of one phase,
    :math:`\sum_i S_i^2 / n_i` is the number of phases if nothing repeats, and as many times that as
    there are periods if all does. It is judged by the F distribution, all joints together and one
    by one, with as many rows as correlated ones are worth.
    """
    if problem.period is None:
        return False
    rows = allowing_for(problem, found)
    beta = WeightedLeastSquares(block=SHORTEST_BLOCK).fit(rows, np.random.default_rng(0)).beta
    left = rows.by_joint(rows.y - rows.W @ beta)[:, problem.measured]
    phases = round(problem.period / problem.dt)
    which = same_phase(problem, phases)
    worth = effective_rows(autocorrelation(left)) / problem.samples
    held = np.bincount(which, minlength=phases)
    sums = np.array([np.bincount(which, r, phases) for r in left.T])
    power = np.maximum((left**2).mean(axis=0), TINY)
    between = (sums**2 / np.maximum(held, 1)).sum(axis=1) / power
    above, below = phases * worth, (problem.samples - phases) * worth
    within = np.maximum(problem.samples - between, TINY) / (problem.samples - phases)
    each = fdtrc(above, below, between / phases / within)
    pooled = fdtrc(above.sum(), below.sum(), between.mean() / phases / within.mean())
    return bool(min(pooled, each.min() * len(each)) < 0.5 * significance)


class _Explained(NamedTuple):
    """Components of rows, noise before and beside them."""

    found: VarianceComponents
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
        largest = np.array([(LARGEST * noise[j]) ** 2 for _, j in self.keys])
        for _ in range(ROUNDS):
            found, left = self._chosen(y, noise, largest)
            if not found.variances.any():
                return None
            change = np.sqrt(left / (problem.samples - problem.basis.rank / problem.dof))
            before, noise = noise, noise * np.where(change > 0.0, change, 1.0)  # 0: no torque
        return _Explained(found, before, noise)

    def _chosen(
        self, y: Float2D, noise: Float1D, largest: Float1D
    ) -> tuple[VarianceComponents, Float1D]:
        """Return components of rows of this noise and the sum of squares they leave by joint."""
        problem = self.problem
        n, N, b = problem.dof, problem.samples, problem.basis.rank
        ends = np.cumsum([0, *(block.shape[1] for block in self.blocks)])
        groups = [np.arange(low, high) for low, high in pairwise(ends)]
        rows = np.zeros((N, n, b + ends[-1] + 1))
        rows[..., :b] = problem.by_joint(problem.W) / noise[:, None]
        rows[..., -1] = y / noise
        for (_, j), block, group in zip(self.keys, self.blocks, groups, strict=True):
            rows[:, j, b + group] = block / noise[j]
        rows = freed(rows, self.gains.reshape(N, n, -1) / noise[:, None])
        flat = rows.reshape(N * n, -1)
        last = [c for c, (quantity, _) in enumerate(self.keys) if quantity == REST]
        columns = flat[:, :b], flat[:, -1], flat[:, b:-1]
        found = choose_components(*columns, groups, self.significance, last=last, largest=largest)
        left = rows[..., -1] - rows[..., :b] @ found.beta - rows[..., b:-1] @ found.effects
        return found, (left**2).sum(axis=0)


def _without_extremes(y: Float2D, model: Float2D) -> Float2D:
    """Return torques that are those of a model where they differ most from it, joint by joint.

    A joint that creeps through a reversal has a row or two of much larger noise, for the motion is
    noisy there and friction steep. What is found must show without them.
    """
    left = np.abs(y - model)
    count = int(np.ceil(EXTREMES * len(y)))
    bounds = np.sort(left, axis=0)[-count]
    return np.where(left >= bounds, model, y)
