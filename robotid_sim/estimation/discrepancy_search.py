"""Search for unmodeled torque: random functions by restricted likelihood, and repetition."""

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
    assign_phases,
    autocorrelation,
    effective_rows,
)
from robotid_sim.estimation.discrepancy import Discrepancy, weigh_discrepancy, whiten_by_columns
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.hold_out import (
    MIN_TESTED_GAIN_RATIO,
    MIN_UNSHARED_GAIN_RATIO,
    HeldOut,
    robust_gain,
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
"""Probability with which unmodeled torque is reported although the model is complete."""

NOISE_ROUNDS = 3
"""Number of times that functions and noise are estimated in turn."""

SELECTION_SWEEPS = 4
"""Maximum number of sweeps over the joints, one of which selects the functions of every joint."""

MIN_GAIN = 1.0
"""Minimum gain of the held-out log-likelihood by a function: Akaike's value for a parameter."""

MAX_TORQUE_RATIO = 3.0
"""Maximum torque of a function over the residual of the model.

A function that the columns of the model nearly explain could otherwise have any size and make
identifiable parameters undetermined.
"""

MIN_FLOAT = float(np.finfo(float).tiny)

EXTREME_SHARE = 0.02
"""Share of the rows of a joint without which a function must still be significant."""


def find_discrepancy(
    problem: LinearProblem, motion: Motion, nominal: Robot, *, gain_std: float = 0.0
) -> Discrepancy:
    """Find the unmodeled torque of a problem by its rows; empty if the fit fails.

    Torque constants have relative errors of standard deviation `gain_std`.
    """
    estimate, empty = _fit_without_functions(problem, gain_std)
    if not estimate.success:
        return empty
    discrepancy = _find_functions(empty, problem, motion, nominal, estimate.beta)
    return replace(discrepancy, repeats=_is_periodic(problem, discrepancy))


def make_empty_discrepancy(problem: LinearProblem, *, gain_std: float) -> Discrepancy:
    """Make the discrepancy of rows without unmodeled functions.

    It serves rows of which a part had no unmodeled torque. Residuals that repeat with the period
    are reported falsely with probability `SIGNIFICANCE`. Torque constants have relative errors of
    standard deviation `gain_std`.
    """
    estimate, empty = _fit_without_functions(problem, gain_std)
    repeats = estimate.success and _is_periodic(problem, empty)
    return replace(empty, repeats=repeats)


def _fit_without_functions(problem: LinearProblem, gain_std: float) -> tuple[Estimate, Discrepancy]:
    """Fit without functions; return the estimate and a discrepancy without functions."""
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    model = problem.unstack_rows(problem.W @ estimate.beta)
    gains = gain_std * joint_columns(model) if gain_std else np.zeros((len(problem.y), 0))
    return estimate, Discrepancy((), gains, estimate.noise_std)


def _find_functions(
    empty: Discrepancy, problem: LinearProblem, motion: Motion, nominal: Robot, beta: Float1D
) -> Discrepancy:
    """Find the functions that explain the residuals and predict held-out blocks.

    Functions must be significant in the rows, even without the largest residuals. Those that also
    predict held-out blocks enter the fit; the others become `unpredicted`.
    """
    model = problem.unstack_rows(problem.W @ beta)
    phi = problem.basis.complete(beta, nominal.parameters())
    candidates = _Candidates.from_motion(problem, motion, nominal.with_parameters(phi, formal=True))
    search = _ExplainedRows(problem, candidates, empty.columns)
    y, noise = problem.unstack_rows(problem.y), empty.noise_std
    explained = search.find_components(y, noise)
    # A slow reversal has one or two rows of much larger noise: the motion is noisy there, and
    # friction is steep. Functions must be significant even if the model replaces these torques.
    residual = np.abs(y - model)
    count = int(np.ceil(EXTREME_SHARE * len(y)))
    y_without_extremes = np.where(residual >= np.sort(residual, axis=0)[-count], model, y)
    if explained is None or search.find_components(y_without_extremes, noise) is None:
        return empty
    selected, unpredicted = search.select(explained.components)
    omitted = None
    if unpredicted:
        complete = replace(search, gains=empty.columns[:, :0]).discrepancy(explained)
        names = [(problem.joint_names[j], q) for q, j in (search.keys[c] for c in unpredicted)]
        omitted = complete.select([(f.joint, f.quantity) in names for f in complete.unmodeled])
    if len(selected) < np.count_nonzero(explained.components.variances):
        search = replace(search, candidates=candidates.subset(selected))
        explained = search.find_components(y, noise) if selected else None
    if explained is None:
        return replace(empty, unpredicted=omitted)
    return replace(search.discrepancy(explained), unpredicted=omitted)


def _is_periodic(problem: LinearProblem, discrepancy: Discrepancy) -> bool:
    r"""Return whether the residuals repeat with the period.

    With the sums of a joint's residuals of unit variance over the :math:`n_i` rows of one phase,
    :math:`\sum_i S_i^2 / n_i` is the number of phases if nothing repeats, times the number of
    periods if everything does. It is tested by the F distribution, all joints together and one by
    one, with the equivalent number of independent rows.
    """
    if problem.period is None:
        return False
    rows = weigh_discrepancy(problem, discrepancy)
    beta = WeightedLeastSquares(block=MIN_BLOCK_LENGTH).fit(rows, np.random.default_rng(0)).beta
    residual = rows.unstack_rows(rows.y - rows.W @ beta)[:, problem.measured_joints]
    phases = round(problem.period / problem.dt)
    phase_of_row = assign_phases(problem, phases)
    effective = effective_rows(autocorrelation(residual)) / problem.samples
    counts = np.bincount(phase_of_row, minlength=phases)
    sums = np.array([np.bincount(phase_of_row, r, phases) for r in residual.T])
    power = np.maximum((residual**2).mean(axis=0), MIN_FLOAT)
    between = (sums**2 / np.maximum(counts, 1)).sum(axis=1) / power
    dof_between, dof_within = phases * effective, (problem.samples - phases) * effective
    within = np.maximum(problem.samples - between, MIN_FLOAT) / (problem.samples - phases)
    p_joints = fdtrc(dof_between, dof_within, between / phases / within)
    p_pooled = fdtrc(dof_between.sum(), dof_within.sum(), between.mean() / phases / within.mean())
    return bool(min(p_pooled, p_joints.min() * len(p_joints)) < 0.5 * SIGNIFICANCE)


class _NoiseComponents(NamedTuple):
    """Variance components of rows, and the remaining noise."""

    components: VarianceComponents
    noise: Float1D


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Functions that may explain the rows of a problem."""

    keys: list[tuple[str, int]]
    """Quantity and joint."""
    blocks: list[Float2D]
    """Columns of every function in the rows of its joint, shape (N, k), with the RMS torque 1."""
    functions: list[RandomFunction]

    @classmethod
    def from_motion(cls, problem: LinearProblem, motion: Motion, model: Robot) -> "_Candidates":
        """List the functions of all joints that are excited by a motion."""
        candidates = cls([], [], [])
        for key, (rows, knots, mean) in state_functions(motion, model).items():
            shown = np.abs(rows).max(axis=0) > 0.0
            if shown.any():
                root = QUANTITIES[key[0]].root(int(shown.sum()))
                block = rows[:, shown] @ root
                size = float(np.sqrt((block**2).sum() / problem.samples))
                candidates.keys.append(key)
                candidates.blocks.append(block / size)
                candidates.functions.append(RandomFunction(knots[shown], mean[shown], root / size))
        return candidates

    def subset(self, which: Sequence[int]) -> "_Candidates":
        """Select some of the candidates."""
        return _Candidates(
            [self.keys[c] for c in which],
            [self.blocks[c] for c in which],
            [self.functions[c] for c in which],
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
        """Make the discrepancy of explaining functions, the most significant first."""
        components, noise = explained
        problem, blocks = self.problem, self.candidates.blocks
        ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
        unmodeled, functions, columns = [], [], [self.gains]
        shown = np.flatnonzero(components.variances).tolist()
        for c in sorted(shown, key=lambda c: -components.ratios[c]):
            quantity, j = self.keys[c]
            std = float(np.sqrt(components.variances[c]))
            torque = blocks[c] @ components.effects[ends[c] : ends[c + 1]]
            size, ratio = float(np.sqrt((torque**2).mean())), float(components.ratios[c])
            over_noise = size / float(noise[j])
            unmodeled.append(
                UnmodeledFunction(problem.joint_names[j], quantity, size, over_noise, ratio)
            )
            shape = self.candidates.functions[c]
            functions.append(shape._replace(root=std * shape.root))
            columns.append(self.columns(components, [c]).reshape(len(problem.y), -1))
        return Discrepancy(tuple(unmodeled), np.hstack(columns), noise, tuple(functions))

    def find_components(self, y: Float2D, noise: Float1D) -> _NoiseComponents | None:
        """Find the functions that explain torques y, shape (N, n), if there are any."""
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
            chosen = choose_components(*columns, groups, SIGNIFICANCE, last=last, largest=largest)
            residual = (
                rows[..., -1] - rows[..., :b] @ chosen.beta - rows[..., b:-1] @ chosen.effects
            )
            if not chosen.variances.any():
                return None
            change = np.sqrt((residual**2).sum(axis=0) / (N - b / n))
            noise = noise * np.where(change > 0.0, change, 1.0)  # 0: no torque
        return _NoiseComponents(chosen, noise)

    def columns(self, components: VarianceComponents, which: Sequence[int]) -> Float:
        """Compute the torque of one standard deviation of some functions, shape (N, n, k)."""
        samples, dof = self.problem.samples, self.problem.dof
        blocks, std = self.candidates.blocks, np.sqrt(components.variances)
        parts = [joint_only(std[c] * blocks[c], self.keys[c][1], dof) for c in which]
        return np.concatenate([np.zeros((samples, dof, 0)), *parts], axis=2)

    def select(self, components: VarianceComponents) -> tuple[list[int], list[int]]:
        """Select the functions that improve the prediction of held-out blocks.

        For every joint, the function that increases the likelihood of its blocks most is selected,
        then the others are tried in addition, until none increases it [1]_. All are selected if
        they gain more together, because two large functions hide the gain of each other. If any is
        selected, functions of the joint's friction are too, because they cannot be a parameter of a
        different joint. As joints share parameters, unmodeled torque of one joint hides that of the
        next: the joints are repeated until nothing changes. The first result lists the selected
        functions, the second the functions of joints without a selection.

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
        friction = [c for c in shown if QUANTITIES[self.keys[c][0]].is_own_friction]
        selected = {j: list[int]() for j in sorted({self.keys[c][1] for c in shown})}

        def score(joint: int, which: Sequence[int]) -> Float1D:
            fixed = [c for j, chosen in selected.items() if j != joint for c in chosen]
            use = [np.arange(first), *(places[c] for c in (*fixed, *which))]
            return sums.score_by_joint(np.concatenate(use))[:, joint]

        for _ in range(SELECTION_SWEEPS):
            before = dict(selected)
            for j in selected:
                candidates = {
                    c: MIN_UNSHARED_GAIN_RATIO if c in friction else MIN_TESTED_GAIN_RATIO
                    for c in shown
                    if self.keys[c][1] == j
                }
                together = [c for c in candidates if self.keys[c][0] != PHASE_QUANTITY]
                chosen = _select_forward(partial(score, j), candidates, together)
                chosen += [c for c in candidates if chosen and c in friction and c not in chosen]
                selected[j] = chosen
            if selected == before:
                break
        unpredicted = [c for c in shown if not selected[self.keys[c][1]]]
        return sorted(c for chosen in selected.values() for c in chosen), unpredicted


def _select_forward(
    score: Callable[[Sequence[int]], Float1D],
    candidates: Mapping[int, float],
    together: Sequence[int],
) -> list[int]:
    """Select candidates one by one while they increase a score by block.

    The result is `together` if these gain more in common. The values of `candidates` are the
    minimum gains, in standard errors.
    """
    selected, empty = list[int](), score([])
    before = empty
    while remaining := [c for c in candidates if c not in selected]:
        gains = [score([*selected, c]) - before for c in remaining]
        robust_gains = [
            robust_gain(gain, candidates[c]) for gain, c in zip(gains, remaining, strict=True)
        ]
        best = int(np.argmax(robust_gains))
        if robust_gains[best] < MIN_GAIN:
            break
        selected.append(remaining[best])
        before = before + gains[best]
    gain = robust_gain(score(together) - empty, MIN_TESTED_GAIN_RATIO)
    return list(together) if gain > max(float((before - empty).sum()), MIN_GAIN) else selected
