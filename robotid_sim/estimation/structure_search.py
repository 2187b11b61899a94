"""Selection of joint terms by evidence.

Every kind of term of every joint is a candidate, see `robotid_sim.model.joint_terms`: further
columns of the linear problem for a given nonlinear constant. The candidate that increases the
likelihood of held-out blocks most is selected, see `robotid_sim.estimation.selection`, its constant
is optimized, and all others are tried again in addition; terms that become unnecessary are removed.
So all accepted terms improve predictions.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Float1D
from robotid_sim.errors import LogError
from robotid_sim.estimation.hold_out import FOLD_COUNT, MIN_GAIN, compute_certainty, robust_gain
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.selection import fit_groups, is_no_worse, pick_finalists, select_groups
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, Structure
from robotid_sim.estimation.term_fit import Candidate, TermRows, fit_terms
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import LOADED, SPRING, TERM_KINDS, select_kinds
from robotid_sim.model.robot import Robot

PARTNER_COUNT = 3
"""Number of terms of the same joint that are tried with a finalist if no term gains alone."""

MAX_TERMS_PER_JOINT = 5
"""Maximum mean number of terms per joint."""

LOAD_ROUNDS = 2
"""Maximum number of selections, each with loads by the parameters of the previous selection."""

OFFSET_KIND = "offset"

SIGNIFICANCE = 1.96
"""Minimum ratio of a value to its standard deviation: its 95 % interval excludes zero."""

MIN_FLOAT = float(np.finfo(float).tiny)

MIN_ROWS = 5 * FOLD_COUNT
"""Minimum number of rows for held-out blocks."""

CONSTANT_RANGE_FACTOR = 2.5
"""Factor about a constant within which it is optimized."""


def choose_structure(
    problem: LinearProblem, motion: Motion, nominal: Robot, kinds: Sequence[str]
) -> Structure:
    """Select and fit the terms that a log supports; `EMPTY_STRUCTURE` if none, or the fit fails.

    Kinds are those of `robotid_sim.model.joint_terms.TERM_KINDS`. Raises `OptionError` if one is
    unknown, and `LogError` if the log has too few rows for held-out blocks.
    """
    selected = select_kinds(kinds)
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    if not selected or not estimate.success:
        return EMPTY_STRUCTURE
    if problem.samples < MIN_ROWS:
        raise LogError(
            f"{problem.samples} rows are too few to choose terms by held-out blocks; record a "
            f"longer log"
        )
    beta = estimate.beta
    for _ in range(LOAD_ROUNDS):
        rows = TermRows.from_problem(problem, motion, nominal, beta)
        chosen = _TermSearch(rows, rows.candidates(selected)).select()
        if not chosen:
            return EMPTY_STRUCTURE
        if not any(term.kind == LOADED for term in chosen):
            break
        beta = rows.fit(chosen).beta[: problem.basis.rank]
    # A term that was accepted given earlier terms may be insignificant in the end: the least
    # significant one is removed, or replaced by an offset if it is a spring without stiffness.
    terms = list(chosen)
    while terms:
        structure = fit_terms(rows, terms)
        sizes = [np.abs(t.term.values) / np.maximum(t.std, MIN_FLOAT) for t in structure.terms]
        ratios = [
            float(size[0] if term.kind == SPRING else size.max())
            for term, size in zip(terms, sizes, strict=True)
        ]
        k = int(np.argmin(ratios))
        if ratios[k] > SIGNIFICANCE:
            return structure
        worst = terms.pop(k)
        offset = rows.candidate(OFFSET_KIND, worst.joint, None, None)
        is_free = f"Fo{worst.joint + 1}" not in rows.problem.basis.names
        is_free &= all(term.key != offset.key for term in terms)
        is_free &= OFFSET_KIND in selected
        if worst.kind == SPRING and sizes[k][1] > SIGNIFICANCE and is_free:
            terms.append(offset)
    return EMPTY_STRUCTURE


@dataclass(frozen=True, slots=True, eq=False)
class _TermSearch:
    """A greedy search for terms."""

    rows: TermRows
    candidates: list[Candidate]

    def select(self) -> list[Candidate]:
        """Select the candidates that the log supports."""
        chosen: list[Candidate] = []
        while len(chosen) < MAX_TERMS_PER_JOINT * self.rows.problem.dof:
            best = self._select_best(chosen)
            if not best:
                break
            chosen += best
            changed_joints = {j for c in best for j in (c.joint, c.partner)} - {None}
            chosen = [
                self._optimize_constant(term, [o for o in chosen if o is not term])
                if {term.joint, term.partner} & changed_joints
                else term
                for term in chosen
            ]
        columns = np.arange(self.rows.count_columns(chosen))
        needed = select_groups(
            self.rows.sum_by_block(*chosen), columns, self.rows.list_columns(chosen), _judge
        )
        return [chosen[k] for k in needed]

    def _select_best(self, chosen: Sequence[Candidate]) -> list[Candidate]:
        """Select the candidate of largest gain in addition to the chosen ones; empty if none gains.

        If no single candidate gains, two of a joint may gain together: the residual of one large
        term hides the gain of the other.
        """
        likely, margin = self._finalists(chosen)
        tried = [[self._optimize_constant(first, chosen)] for first in likely]
        best = self._select_most_likely(chosen, tried, margin)
        if best or not likely:
            return best
        pairs = []
        for (first,) in tried:
            others, _ = self._finalists([*chosen, first], {first.joint, first.partner} - {None})
            pairs += [[first, second] for second in others[:PARTNER_COUNT]]
        return self._select_most_likely(chosen, pairs, 2.0 * margin)

    def _finalists(
        self, chosen: Sequence[Candidate], joints: Set[int | None] | None = None
    ) -> tuple[list[Candidate], float]:
        """Select the candidates of largest approximate gain; return them and the margin.

        The candidates are those of some joints, or all.
        """
        used = {c.key for c in chosen}
        remaining = [c for c in self.candidates if c.key not in used]
        if joints is not None:
            remaining = [c for c in remaining if {c.joint, c.partner} & joints]
        if not remaining:
            return [], np.inf
        margin = MIN_GAIN + float(np.log(len(remaining)))
        gains = self.rows.estimate_gains(chosen, remaining)
        return pick_finalists(remaining, gains, margin), margin

    def _select_most_likely(
        self, chosen: Sequence[Candidate], tried: Sequence[list[Candidate]], margin: float
    ) -> list[Candidate]:
        """Select the candidates, or pair of them, that held-out blocks support most."""
        blocks = self.rows.sum_by_block(*chosen, *(term for group in tried for term in group))
        count, accepted = self.rows.count_columns(chosen), list[tuple[list[Candidate], Float1D]]()
        sizes = [sum(term.size for term in group) for group in tried]
        for group, (fit, gain) in zip(tried, fit_groups(blocks, count, sizes), strict=True):
            places = self.rows.list_columns([*chosen, *group])[len(chosen) :]
            positive = [
                fit.beta[columns[0]] > 0.0 or not TERM_KINDS[term.kind].positive
                for term, columns in zip(group, places, strict=True)
            ]
            if all(positive) and robust_gain(gain) > margin:
                accepted.append((group, gain))
        if not accepted:
            return []
        top = max(accepted, key=lambda p: float(p[1].sum()))[1]
        equal = [p for p in accepted if is_no_worse(p[1], top)]
        return min(equal, key=lambda p: (sum(term.size for term in p[0]), -float(p[1].sum())))[0]

    def _optimize_constant(self, term: Candidate, others: Sequence[Candidate]) -> Candidate:
        """Optimize the constant of a candidate, given the other ones."""
        kind_constant = TERM_KINDS[term.kind].constant
        if kind_constant is None or kind_constant.bounds is None or term.constant is None:
            return term
        problem, projection = self.rows.problem, self.rows.residual_projection(others)
        y = problem.unstack_rows(problem.y)

        def cost(constant: float) -> float:
            trial = self.rows.candidate(term.kind, term.joint, term.partner, constant)
            return -float(projection.gains(y, [trial.columns])[0])

        unit = float(self.rows.eps[term.joint]) if kind_constant.of_eps else 1.0
        low, high = (unit * bound for bound in kind_constant.bounds)
        span = np.log(
            [
                max(low, term.constant / CONSTANT_RANGE_FACTOR),
                min(high, term.constant * CONSTANT_RANGE_FACTOR),
            ]
        )
        best = minimize_scalar(
            lambda x: cost(float(np.exp(x))),
            bounds=tuple(span.tolist()),
            method="bounded",
            options={"xatol": 0.02},
        )
        return self.rows.candidate(term.kind, term.joint, term.partner, float(np.exp(best.x)))


def _judge(gain: Float1D) -> tuple[bool, float]:
    """Return whether a gain by block is significant, and its ratio to the standard error."""
    return robust_gain(gain) > MIN_GAIN, compute_certainty(gain)
