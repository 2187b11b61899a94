r"""Which terms the torques of joints have beside the standard ones, chosen by evidence.

Every kind of term of every joint is a candidate, see `robotid_sim.model.joint_terms`: further
columns of the linear problem once the constant in which it is not linear is given. The one that
raises the likelihood of blocks of the log that are left out of the fit most is taken [1]_, its
constant is sought, and all others are tried again beside it; a term that later ones have made
needless goes. So nothing enters that does not foretell.

References
----------
.. [1] Stone (1974), "Cross-validatory choice and assessment of statistical predictions", J. Royal
   Statistical Society B 36, doi:10.1111/j.2517-6161.1974.tb00994.x.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Float1D
from robotid_sim.errors import LogError
from robotid_sim.estimation.held_out import FOLDS, MARGIN, certainty, worth
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.structure import NO_TERMS, Structure
from robotid_sim.estimation.term_fit import Candidate, TermRows, first_look, fitted_terms, gains_of
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import KINDS, checked_kinds
from robotid_sim.model.robot import Robot

TIE = 5.0
"""Gains that differ by less, or by less than a standard error, speak for fewer parameters."""

FINALISTS = 8
"""Candidates of the first look that are compared by held-out likelihood."""

PARTNERS = 3
"""Further terms of its joint that a finalist is tried with where none gains alone."""

MOST = 5
"""Most terms a joint on average."""

ROUNDS = 2
"""How often the choice is made, with the loads by the parameters of the one before."""

NEAR = 2.5
"""Factor about a constant within which a better one is sought."""


def choose_structure(
    problem: LinearProblem, motion: Motion, nominal: Robot, kinds: Sequence[str]
) -> Structure:
    """Return the terms that a log speaks for, fitted; `NO_TERMS` if none does or the fit fails.

    Kinds are those of `robotid_sim.model.joint_terms.KINDS`. Raises `OptionError` if one is
    unknown, and `LogError` if the log has too few rows to leave blocks of them out.
    """
    wanted = checked_kinds(kinds)
    plain = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    if not wanted or not plain.success:
        return NO_TERMS
    if problem.samples < 5 * FOLDS:
        raise LogError(
            f"{problem.samples} rows are too few to choose terms by blocks that are left out; "
            "record a longer log"
        )
    beta = plain.beta
    for _ in range(ROUNDS):
        rows = TermRows.of(problem, motion, nominal, beta)
        chosen = _TermSearch(rows, rows.candidates(wanted)).chosen()
        if not chosen:
            return NO_TERMS
        beta = rows.fit(chosen).beta[: problem.basis.rank]
    return fitted_terms(rows, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class _TermSearch:
    """The greedy search for terms."""

    rows: TermRows
    candidates: list[Candidate]

    def chosen(self) -> list[Candidate]:
        """Return the candidates that the log speaks for."""
        chosen: list[Candidate] = []
        while len(chosen) < MOST * self.rows.problem.dof:
            best = self._best(chosen)
            if not best:
                break
            chosen += best
            chosen = [self._sought(one, [o for o in chosen if o is not one]) for one in chosen]
        return self._needed(chosen)

    def _best(self, chosen: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidate that gains most beside the chosen ones, none if none gains.

        Where no single one does, two of a joint may: what one of two large terms leaves, the other,
        hides the gain of the first.
        """
        finalists, margin = self._finalists(chosen)
        tried = [[self._sought(one, chosen)] for one in finalists]
        best = self._most_likely(chosen, tried, margin)
        if best or not finalists:
            return best
        pairs = []
        for (one,) in tried:
            others, _ = self._finalists([*chosen, one], {one.joint, one.partner} - {None})
            pairs += [[one, other] for other in others[:PARTNERS]]
        return self._most_likely(chosen, pairs, 2.0 * margin)

    def _finalists(
        self, chosen: Sequence[Candidate], joints: Set[int | None] | None = None
    ) -> tuple[list[Candidate], float]:
        """Return the candidates that a first look likes best, and the least gain of one.

        Those that concern some joints, or all there are.
        """
        taken = {one.place for one in chosen}
        left = [c for c in self.candidates if c.place not in taken]
        if joints is not None:
            left = [c for c in left if {c.joint, c.partner} & joints]
        if not left:
            return [], np.inf
        gains = first_look(self.rows.held_out(*chosen, *left), self.rows.plain(chosen), left)
        margin = MARGIN + float(np.log(len(left)))
        best = [int(k) for k in np.argsort(-gains, kind="stable")[:FINALISTS]]
        return [left[k] for k in best if gains[k] > margin], margin

    def _most_likely(
        self, chosen: Sequence[Candidate], tried: Sequence[list[Candidate]], margin: float
    ) -> list[Candidate]:
        """Return which of some candidates, or pairs of them, blocks left out speak for most."""
        held = self.rows.held_out(*chosen, *(one for group in tried for one in group))
        plain = np.arange(self.rows.plain(chosen))
        before, first, passed = held.score(plain), plain.size, []
        for group in tried:
            sizes = [one.rows.shape[2] for one in group]
            columns = np.concatenate([plain, np.arange(first, first + sum(sizes))])
            first += sum(sizes)
            gain = held.score(columns) - before
            values = held.fit(columns).beta[plain.size + np.cumsum([0, *sizes[:-1]])]
            positive = [
                value > 0.0 or not KINDS[one.kind].positive
                for one, value in zip(group, values, strict=True)
            ]
            if all(positive) and worth(gain) > margin:
                passed.append((group, gain))
        if not passed:
            return []
        top = max(passed, key=lambda p: float(p[1].sum()))[1]
        equal = [p for p in passed if _no_worse(p[1], top)]
        return min(equal, key=lambda p: (sum(c.rows.shape[2] for c in p[0]), -float(p[1].sum())))[0]

    def _sought(self, one: Candidate, others: Sequence[Candidate]) -> Candidate:
        """Return a candidate with the likeliest constant beside others."""
        kind = KINDS[one.kind]
        shape = kind.shape
        if shape is None or shape.bounds is None or one.shape is None:
            return one
        left = self.rows.left(others)

        def cost(constant: float) -> float:
            return left.cost(self.rows.candidate(one.kind, one.joint, one.partner, constant).rows)

        unit = float(self.rows.eps[one.joint]) if shape.of_eps else 1.0
        low, high = (unit * bound for bound in shape.bounds)
        span = np.log([max(low, one.shape / NEAR), min(high, one.shape * NEAR)])
        found = minimize_scalar(
            lambda x: cost(float(np.exp(x))),
            bounds=tuple(span.tolist()),
            method="bounded",
            options={"xatol": 0.02},
        )
        return self.rows.candidate(one.kind, one.joint, one.partner, float(np.exp(found.x)))

    def _needed(self, chosen: list[Candidate]) -> list[Candidate]:
        """Return the chosen candidates without those that later ones have made needless."""
        while chosen:
            gains = gains_of(self.rows, chosen)
            kept = [(worth(gain) > MARGIN, certainty(gain)) for gain in gains]
            if min(kept)[0]:
                break
            least = kept.index(min(kept))
            chosen = [one for k, one in enumerate(chosen) if k != least]
        return chosen


def _no_worse(gain: Float1D, top: Float1D) -> bool:
    """Return whether a candidate explains as much as the best one, or nearly."""
    gap = top - gain
    tie = max(TIE, float(np.sqrt(gap.size) * gap.std(ddof=1)))
    return bool(gap.sum() <= tie)
