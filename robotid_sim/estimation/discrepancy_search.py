"""Search for what a model lacks: random functions by restricted likelihood, and what repeats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.estimation.block_sandwich import (
    MIN_BLOCK_LENGTH,
    autocorrelation,
    effective_rows,
    same_phase,
)
from robotid_sim.estimation.discrepancy import Discrepancy, weigh_discrepancy, whiten_by_columns
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.hold_out import (
    MIN_GAIN_OVER_ERROR_TESTED,
    MIN_GAIN_OVER_ERROR_UNSHARED,
    HeldOut,
    worth,
)
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, joint_columns, joint_only
from robotid_sim.estimation.state_functions import (
    PHASE_QUANTITY,
    QUANTITIES,
    RandomFunction,
    UnmodeledFunction,
    state_functions,
)
from robotid_sim.estimation.variance_components import VarianceComponents, choose_components
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

SIGNIFICANCE = 0.01
"""Probability that a model that lacks nothing is said to lack something."""

NOISE_ROUNDS = 3
"""How often the noise beside the functions is estimated anew."""

SELECTION_SWEEPS = 4
"""How often the functions of every joint are chosen beside those of the others."""

MIN_GAIN = 1.0
"""Held-out log-likelihood that a function is worth at least, as a parameter is to Akaike."""

MAX_TORQUE_RATIO = 3.0
"""Largest torque of a function over what the model alone leaves of the joint's.

A function that the columns of the model nearly explain would else be taken for one of any size,
and parameters left open that the log shows well.
"""

MIN_FLOAT = float(np.finfo(float).tiny)

EXTREME_SHARE = 0.02
"""Share of the rows of a joint that must not be all that shows a function."""


def find_discrepancy(
    problem: LinearProblem, motion: Motion, nominal: Robot, *, gain_std: float = 0.0
) -> Discrepancy:
    """Return what the model of a problem lacks, by the rows themselves; empty if the fit fails.

    Torque constants have relative errors of standard deviation `gain_std`.
    """
    estimate, nothing = _fit_by_noise(problem, gain_std)
    if not estimate.success:
        return nothing
    found = _find_functions(nothing, problem, motion, nominal, estimate.beta)
    return replace(found, repeats=_is_periodic(problem, found))


def make_empty_discrepancy(problem: LinearProblem, *, gain_std: float) -> Discrepancy:
    """Return what `find_discrepancy` returns for rows whose model lacks no function.

    A part of the rows has shown nothing; residuals may repeat with the period, and are said to with
    probability `SIGNIFICANCE` where they do not. Torque constants err by `gain_std`.
    """
    estimate, nothing = _fit_by_noise(problem, gain_std)
    repeats = estimate.success and _is_periodic(problem, nothing)
    return replace(nothing, repeats=repeats)


def _fit_by_noise(problem: LinearProblem, gain_std: float) -> tuple[Estimate, Discrepancy]:
    """Return a fit, and what is no noise in it but for functions and what repeats."""
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    model = problem.unstack_rows(problem.W @ estimate.beta)
    gains = gain_std * joint_columns(model) if gain_std else np.zeros((len(problem.y), 0))
    return estimate, Discrepancy((), gains, estimate.noise_std)


def _find_functions(
    nothing: Discrepancy, problem: LinearProblem, motion: Motion, nominal: Robot, beta: Float1D
) -> Discrepancy:
    """Return the functions that explain the residuals of a fit with parameters beta, and predict.

    What explains them is chosen by the rows, and has to show without the largest residuals; what
    the fit allows for, by blocks that are left out.
    """
    model = problem.unstack_rows(problem.W @ beta)
    phi = problem.basis.complete(beta, nominal.parameters())
    candidates = _Candidates.from_motion(problem, motion, nominal.with_parameters(phi, formal=True))
    search = _ExplainedRows(problem, candidates, nothing.columns)
    y, noise = problem.unstack_rows(problem.y), nothing.noise_std
    explained = search.components(y, noise)
    if explained is None or search.components(_remove_extremes(y, model), noise) is None:
        return nothing
    selected, opposed = search.select(explained.components)
    left_out = None
    if opposed:
        whole = replace(search, gains=nothing.columns[:, :0]).discrepancy(explained)
        names = [(problem.joint_names[j], q) for q, j in (search.keys[c] for c in opposed)]
        left_out = whole.part([(lack.joint, lack.quantity) in names for lack in whole.unmodeled])
    if len(selected) < np.count_nonzero(explained.components.variances):
        search = replace(search, candidates=candidates.subset(selected))
        explained = search.components(y, noise) if selected else None
    if explained is None:
        return replace(nothing, left_out=left_out)
    return replace(search.discrepancy(explained), left_out=left_out)


def _is_periodic(problem: LinearProblem, found: Discrepancy) -> bool:
    r"""Return whether what is left of the rows repeats with their period.

    With the sums of a joint's residuals of unit variance over the :math:`n_i` rows of one phase,
    :math:`\sum_i S_i^2 / n_i` is the number of phases if nothing repeats, and as many times that as
    there are periods if all does. It is judged by the F distribution, all joints together and one
    by one, with as many rows as correlated ones are worth.
    """
    if problem.period is None:
        return False
    rows = weigh_discrepancy(problem, found)
    beta = WeightedLeastSquares(block=MIN_BLOCK_LENGTH).fit(rows, np.random.default_rng(0)).beta
    left = rows.unstack_rows(rows.y - rows.W @ beta)[:, problem.measured_joints]
    phases = round(problem.period / problem.dt)
    which = same_phase(problem, phases)
    worth = effective_rows(autocorrelation(left)) / problem.samples
    held = np.bincount(which, minlength=phases)
    sums = np.array([np.bincount(which, r, phases) for r in left.T])
    power = np.maximum((left**2).mean(axis=0), MIN_FLOAT)
    between = (sums**2 / np.maximum(held, 1)).sum(axis=1) / power
    above, below = phases * worth, (problem.samples - phases) * worth
    within = np.maximum(problem.samples - between, MIN_FLOAT) / (problem.samples - phases)
    each = fdtrc(above, below, between / phases / within)
    pooled = fdtrc(above.sum(), below.sum(), between.mean() / phases / within.mean())
    return bool(min(pooled, each.min() * len(each)) < 0.5 * SIGNIFICANCE)


class _NoiseComponents(NamedTuple):
    """Components of rows, and noise beside them."""

    components: VarianceComponents
    noise: Float1D


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Functions that may explain the rows of a problem."""

    keys: list[tuple[str, int]]
    """Quantity and joint."""
    blocks: list[Float2D]
    """Rows of the joint, columns of unit RMS torque in all, shape (N, k)."""
    shapes: list[RandomFunction]

    @classmethod
    def from_motion(cls, problem: LinearProblem, motion: Motion, model: Robot) -> "_Candidates":
        """Return the functions of all joints that show along a motion."""
        candidates = cls([], [], [])
        for key, (rows, knots, mean) in state_functions(motion, model).items():
            shown = np.abs(rows).max(axis=0) > 0.0
            if shown.any():
                root = QUANTITIES[key[0]].root(int(shown.sum()))
                block = rows[:, shown] @ root
                size = float(np.sqrt((block**2).sum() / problem.samples))
                candidates.keys.append(key)
                candidates.blocks.append(block / size)
                candidates.shapes.append(RandomFunction(knots[shown], mean[shown], root / size))
        return candidates

    def subset(self, which: Sequence[int]) -> "_Candidates":
        """Return some of the functions."""
        return _Candidates(
            [self.keys[c] for c in which],
            [self.blocks[c] for c in which],
            [self.shapes[c] for c in which],
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ExplainedRows:
    """Rows of a problem with the functions that may explain them."""

    problem: LinearProblem
    candidates: _Candidates
    gains: Float2D

    @property
    def keys(self) -> list[tuple[str, int]]:
        """Quantity and joint of every function."""
        return self.candidates.keys

    def discrepancy(self, explained: _NoiseComponents) -> Discrepancy:
        """Return the functions that are there, the most obvious first, without values."""
        components, noise = explained
        problem, blocks = self.problem, self.candidates.blocks
        ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
        lacks, shapes, columns = [], [], [self.gains]
        shown = np.flatnonzero(components.variances).tolist()
        for c in sorted(shown, key=lambda c: -components.ratios[c]):
            quantity, j = self.keys[c]
            std = float(np.sqrt(components.variances[c]))
            torque = blocks[c] @ components.effects[ends[c] : ends[c + 1]]
            size, ratio = float(np.sqrt((torque**2).mean())), float(components.ratios[c])
            over_noise = size / float(noise[j])
            lacks.append(
                UnmodeledFunction(problem.joint_names[j], quantity, size, over_noise, ratio)
            )
            shape = self.candidates.shapes[c]
            shapes.append(shape._replace(root=std * shape.root))
            columns.append(self.columns(components, [c]).reshape(len(problem.y), -1))
        return Discrepancy(tuple(lacks), np.hstack(columns), noise, tuple(shapes))

    def components(self, y: Float2D, noise: Float1D) -> _NoiseComponents | None:
        """Return the functions that torques y, shape (N, n), are explained by, if there are any."""
        problem, blocks = self.problem, self.candidates.blocks
        n, N, b = problem.dof, problem.samples, problem.basis.rank
        largest = np.array([(MAX_TORQUE_RATIO * noise[j]) ** 2 for _, j in self.keys])
        last = [c for c, (quantity, _) in enumerate(self.keys) if quantity == PHASE_QUANTITY]
        ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
        groups = [np.arange(low, high) for low, high in pairwise(ends)]
        for _ in range(NOISE_ROUNDS):
            rows = np.zeros((N, n, b + ends[-1] + 1))
            rows[..., :b] = problem.unstack_rows(problem.W) / noise[:, None]
            rows[..., -1] = y / noise
            for (_, j), block, group in zip(self.keys, blocks, groups, strict=True):
                rows[:, j, b + group] = block / noise[j]
            rows = whiten_by_columns(rows, self.gains.reshape(N, n, -1) / noise[:, None])
            flat = rows.reshape(N * n, -1)
            columns = flat[:, :b], flat[:, -1], flat[:, b:-1]
            found = choose_components(*columns, groups, SIGNIFICANCE, last=last, largest=largest)
            left = rows[..., -1] - rows[..., :b] @ found.beta - rows[..., b:-1] @ found.effects
            if not found.variances.any():
                return None
            change = np.sqrt((left**2).sum(axis=0) / (N - b / n))
            noise = noise * np.where(change > 0.0, change, 1.0)  # 0: no torque
        return _NoiseComponents(found, noise)

    def columns(self, components: VarianceComponents, which: Sequence[int]) -> Float:
        """Return the torque of one deviation of the effects of some functions, (N, n, k)."""
        samples, dof = self.problem.samples, self.problem.dof
        blocks, std = self.candidates.blocks, np.sqrt(components.variances)
        parts = [joint_only(std[c] * blocks[c], self.keys[c][1], dof) for c in which]
        return np.concatenate([np.zeros((samples, dof, 0)), *parts], axis=2)

    def select(self, components: VarianceComponents) -> tuple[list[int], list[int]]:
        """Return the functions with which blocks that are left out are predicted better.

        Of the functions of every joint the one that raises the likelihood of its blocks most is
        taken, then the others are tried again beside it, until none does [1]_; where all of them
        together gain more, they are taken, for two large ones hide the gain of each other. Where
        one is taken, functions of the joint's friction alone stay beside it, for they can be no
        parameter of another joint. As joints share parameters, what one lacks hides what the next
        does: the joints are gone through until nothing changes. Second come the functions of the
        joints of which none is taken.

        References
        ----------
        .. [1] Stone (1974), "Cross-validatory choice and assessment of statistical predictions", J.
           Royal Statistical Society B 36, doi:10.1111/j.2517-6161.1974.tb00994.x.
        """
        problem, shown = self.problem, np.flatnonzero(components.variances).tolist()
        parts = [self.columns(components, [c]) for c in shown]
        sums = HeldOut.from_problem(problem, problem.unstack_rows(self.gains), *parts, random=True)
        first = problem.basis.rank + self.gains.shape[1]
        ends = first + np.cumsum([0, *(part.shape[2] for part in parts)])
        places = {c: np.arange(*pair) for c, pair in zip(shown, pairwise(ends), strict=True)}
        harmless = [c for c in shown if QUANTITIES[self.keys[c][0]].is_harmless]
        selected = {j: list[int]() for j in sorted({self.keys[c][1] for c in shown})}

        def score(joint: int, which: Sequence[int]) -> Float1D:
            others = [c for j, taken in selected.items() if j != joint for c in taken]
            use = [np.arange(first), *(places[c] for c in (*others, *which))]
            return sums.score_by_joint(np.concatenate(use))[:, joint]

        for _ in range(SELECTION_SWEEPS):
            before = dict(selected)
            for j in selected:
                candidates = {
                    c: MIN_GAIN_OVER_ERROR_UNSHARED if c in harmless else MIN_GAIN_OVER_ERROR_TESTED
                    for c in shown
                    if self.keys[c][1] == j
                }
                together = [c for c in candidates if self.keys[c][0] != PHASE_QUANTITY]
                taken = _select_forward(partial(score, j), candidates, together)
                taken += [c for c in candidates if taken and c in harmless and c not in taken]
                selected[j] = taken
            if selected == before:
                break
        opposed = [c for c in shown if not selected[self.keys[c][1]]]
        return sorted(c for taken in selected.values() for c in taken), opposed


def _select_forward(
    score: Callable[[Sequence[int]], Float1D],
    candidates: Mapping[int, float],
    together: Sequence[int],
) -> list[int]:
    """Return the candidates that raise a score by block, one by one, or all that do so `together`.

    Candidates have the standard errors that their gain has to exceed.
    """
    selected, nothing = list[int](), score([])
    before = nothing
    while rest := [c for c in candidates if c not in selected]:
        gains = [score([*selected, c]) - before for c in rest]
        worths = [worth(gain, candidates[c]) for gain, c in zip(gains, rest, strict=True)]
        best = int(np.argmax(worths))
        if worths[best] < MIN_GAIN:
            break
        selected.append(rest[best])
        before = before + gains[best]
    gain = worth(score(together) - nothing, MIN_GAIN_OVER_ERROR_TESTED)
    return list(together) if gain > max(float((before - nothing).sum()), MIN_GAIN) else selected


def _remove_extremes(y: Float2D, model: Float2D) -> Float2D:
    """Return torques that are those of a model where they differ most from it, joint by joint.

    A joint that creeps through a reversal has a row or two of much larger noise, for the motion is
    noisy there and friction steep. What is found must show without them.
    """
    left = np.abs(y - model)
    count = int(np.ceil(EXTREME_SHARE * len(y)))
    bounds = np.sort(left, axis=0)[-count]
    return np.where(left >= bounds, model, y)
