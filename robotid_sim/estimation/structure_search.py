"""Which terms the torques of joints have beside the standard ones, chosen by evidence.

Every kind of term of every joint is a candidate, see `robotid_sim.model.joint_terms`: further
columns of the linear problem once the constant in which it is not linear is given. The one that
raises the likelihood of blocks of the log that are left out of the fit most is taken, see
`robotid_sim.estimation.selection`, its constant is sought, and all others are tried again beside
it; a term that later ones have made needless goes. So nothing enters that does not predict.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Float1D
from robotid_sim.errors import LogError
from robotid_sim.estimation.hold_out import FOLD_COUNT, MIN_GAIN, certainty, worth
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.selection import finalists, is_no_worse, outcomes, select_groups
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, Structure
from robotid_sim.estimation.term_fit import Candidate, TermRows, fit_terms
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import LOADED, SPRING, TERM_KINDS, select_kinds
from robotid_sim.model.robot import Robot

PARTNER_COUNT = 3
"""Further terms of its joint that a finalist is tried with where none gains alone."""

MAX_TERMS_PER_JOINT = 5
"""Most terms a joint on average."""

LOAD_ROUNDS = 2
"""How often the choice is made where it has loads: by the parameters of the one before."""

OFFSET_KIND = "offset"

SIGNIFICANCE = 1.96
"""Deviations from which on a value differs from zero: its 95 % interval does not hold it."""

MIN_FLOAT = float(np.finfo(float).tiny)

MIN_ROWS = 5 * FOLD_COUNT
"""Fewest rows of which blocks can be left out."""

CONSTANT_RANGE_FACTOR = 2.5
"""Factor about a constant within which a better one is sought."""


def choose_structure(
    problem: LinearProblem, motion: Motion, nominal: Robot, kinds: Sequence[str]
) -> Structure:
    """Select and fit the terms that a log supports; `EMPTY_STRUCTURE` if none, or the fit fails.

    Kinds are those of `robotid_sim.model.joint_terms.TERM_KINDS`. Raises `OptionError` if one is
    unknown, and `LogError` if the log has too few rows to leave blocks of them out.
    """
    wanted = select_kinds(kinds)
    plain = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    if not wanted or not plain.success:
        return EMPTY_STRUCTURE
    if problem.samples < MIN_ROWS:
        raise LogError(
            f"{problem.samples} rows are too few to choose terms by blocks that are left out; "
            "record a longer log"
        )
    beta = plain.beta
    for _ in range(LOAD_ROUNDS):
        rows = TermRows.from_problem(problem, motion, nominal, beta)
        chosen = _TermSearch(rows, rows.candidates(wanted)).select()
        if not chosen:
            return EMPTY_STRUCTURE
        if not any(one.kind == LOADED for one in chosen):
            break
        beta = rows.fit(chosen).beta[: problem.basis.rank]
    return _fit_significant(rows, chosen, wanted)


def _fit_significant(
    rows: TermRows, chosen: Sequence[Candidate], kinds: Sequence[str]
) -> Structure:
    """Return terms without those whose intervals hold zero; a spring of no stiffness is an offset.

    What predicts blocks that are left out beside terms that came earlier may be of no size in the
    end. The least significant one goes first.
    """
    terms = list(chosen)
    while terms:
        structure = fit_terms(rows, terms)
        sizes = [np.abs(t.term.values) / np.maximum(t.std, MIN_FLOAT) for t in structure.terms]
        shown = [
            float(size[0] if term.kind == SPRING else size.max())
            for term, size in zip(terms, sizes, strict=True)
        ]
        k = int(np.argmin(shown))
        if shown[k] > SIGNIFICANCE:
            return structure
        least = terms.pop(k)
        offset = rows.candidate(OFFSET_KIND, least.joint, None, None)
        is_free = f"Fo{least.joint + 1}" not in rows.problem.basis.names
        is_free &= all(term.place != offset.place for term in terms)
        if least.kind == SPRING and sizes[k][1] > SIGNIFICANCE and OFFSET_KIND in kinds and is_free:
            terms.append(offset)
    return EMPTY_STRUCTURE


@dataclass(frozen=True, slots=True, eq=False)
class _TermSearch:
    """The greedy search for terms."""

    rows: TermRows
    candidates: list[Candidate]

    def select(self) -> list[Candidate]:
        """Return the candidates that the log speaks for."""
        chosen: list[Candidate] = []
        while len(chosen) < MAX_TERMS_PER_JOINT * self.rows.problem.dof:
            best = self._best(chosen)
            if not best:
                break
            chosen += best
            moved = {j for one in best for j in (one.joint, one.partner)} - {None}
            chosen = [
                self._optimize_constant(one, [o for o in chosen if o is not one])
                if {one.joint, one.partner} & moved
                else one
                for one in chosen
            ]
        columns = np.arange(self.rows.plain(chosen))
        kept = select_groups(
            self.rows.sum_by_block(*chosen), columns, self.rows.places(chosen), _judge
        )
        return [chosen[k] for k in kept]

    def _best(self, chosen: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidate that gains most beside the chosen ones, none if none gains.

        Where no single one does, two of a joint may: what one of two large terms leaves, the other,
        hides the gain of the first.
        """
        likely, margin = self._finalists(chosen)
        tried = [[self._optimize_constant(one, chosen)] for one in likely]
        best = self._most_likely(chosen, tried, margin)
        if best or not likely:
            return best
        pairs = []
        for (one,) in tried:
            others, _ = self._finalists([*chosen, one], {one.joint, one.partner} - {None})
            pairs += [[one, other] for other in others[:PARTNER_COUNT]]
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
        margin = MIN_GAIN + float(np.log(len(left)))
        return finalists(left, self.rows.first_look(chosen, left), margin), margin

    def _most_likely(
        self, chosen: Sequence[Candidate], tried: Sequence[list[Candidate]], margin: float
    ) -> list[Candidate]:
        """Return which of some candidates, or pairs of them, blocks left out speak for most."""
        held = self.rows.sum_by_block(*chosen, *(one for group in tried for one in group))
        plain, passed = self.rows.plain(chosen), list[tuple[list[Candidate], Float1D]]()
        sizes = [sum(one.size for one in group) for group in tried]
        for group, (fit, gain) in zip(tried, outcomes(held, plain, sizes), strict=True):
            places = self.rows.places([*chosen, *group])[len(chosen) :]
            positive = [
                fit.beta[own[0]] > 0.0 or not TERM_KINDS[one.kind].positive
                for one, own in zip(group, places, strict=True)
            ]
            if all(positive) and worth(gain) > margin:
                passed.append((group, gain))
        if not passed:
            return []
        top = max(passed, key=lambda p: float(p[1].sum()))[1]
        equal = [p for p in passed if is_no_worse(p[1], top)]
        return min(equal, key=lambda p: (sum(one.size for one in p[0]), -float(p[1].sum())))[0]

    def _optimize_constant(self, one: Candidate, others: Sequence[Candidate]) -> Candidate:
        """Return a candidate with the likeliest constant beside others."""
        kind = TERM_KINDS[one.kind]
        shape = kind.shape
        if shape is None or shape.bounds is None or one.shape is None:
            return one
        y, left = self.rows.problem.unstack_rows(self.rows.problem.y), self.rows.remainder(others)

        def cost(constant: float) -> float:
            candidate = self.rows.candidate(one.kind, one.joint, one.partner, constant)
            return -float(left.gains(y, [candidate.columns])[0])

        unit = float(self.rows.eps[one.joint]) if shape.of_eps else 1.0
        low, high = (unit * bound for bound in shape.bounds)
        span = np.log(
            [
                max(low, one.shape / CONSTANT_RANGE_FACTOR),
                min(high, one.shape * CONSTANT_RANGE_FACTOR),
            ]
        )
        found = minimize_scalar(
            lambda x: cost(float(np.exp(x))),
            bounds=tuple(span.tolist()),
            method="bounded",
            options={"xatol": 0.02},
        )
        return self.rows.candidate(one.kind, one.joint, one.partner, float(np.exp(found.x)))


def _judge(gain: Float1D) -> tuple[bool, float]:
    """Return whether a term is worth its parameters beside the others, and how surely."""
    return worth(gain) > MIN_GAIN, certainty(gain)
