r"""Which terms the torques of joints have beside the standard ones, chosen by evidence.

Every kind of term of every joint is a candidate, see `robotid_sim.model.joint_terms`: further
columns of the linear problem once the constant in which it is not linear is given. The one that
raises the likelihood of blocks of the log that are left out of the fit most is taken [1]_, its
constant is sought, and all others are tried again beside it; a term that later ones have made
needless goes. So nothing enters that does not foretell.

A fit then leaves out of every joint's rows what the columns of its terms can explain: with weights
by joint, that gives the estimate of the other parameters that a fit with all of them would [2]_,
and the same covariance. What two joints share is taken off as fitted, and its covariance widens
that of the estimate.

References
----------
.. [1] Stone (1974), "Cross-validatory choice and assessment of statistical predictions", J. Royal
   Statistical Society B 36, doi:10.1111/j.2517-6161.1974.tb00994.x.
.. [2] Frisch, Waugh (1933), "Partial time regressions as compared with individual trends",
   Econometrica 1(4), doi:10.2307/1907330.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.dynamics.term_torques import TermStates, term_columns, term_signals
from robotid_sim.errors import LogError
from robotid_sim.estimation.held_out import FOLDS, Fit, HeldOut, blocks_of
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, extended, joint_only, rows_of
from robotid_sim.estimation.reduction import span_of
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.joint_terms import KINDS, OF_TIME, JointTerm, checked_kinds, unit_of
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

MARGIN = 6.0
"""Least gain of the held-out log-likelihood, on top of the logarithm of the candidates tried."""

ERRORS = 2.0
"""Least gain over its standard error."""

TIE = 5.0
"""Gains that differ by less, or by less than a standard error, speak for fewer parameters."""

FINALISTS = 8
"""Candidates of the first look that are compared by held-out likelihood."""

MOST = 5
"""Most terms a joint on average."""

ROUNDS = 2
"""How often the choice is made, with the loads by the parameters of the one before."""

FLOOR = 5e-4
"""Least noise of a joint's rows that counts, over its RMS torque."""

SHOWN = 1e-4
"""Singular value of a term's columns beside those of the model from which it shows, relative."""

NEAR = 2.5
"""Factor about a constant within which a better one is sought."""

STEP = 1e-3
"""Relative change of a constant in derivatives by it."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One term of one joint, its rows as columns."""

    kind: str
    joint: int
    partner: int | None
    shape: float | None
    rows: Float
    """Torque per unit of every parameter, shape (N, n, k)."""

    @property
    def place(self) -> tuple[str, int, int | None]:
        """What at most one term can be of."""
        return self.kind, self.joint, self.partner


@documented
@dataclass(frozen=True, slots=True, eq=False)
class FittedTerm:
    """A term that was chosen, with the evidence for it."""

    term: JointTerm
    std: tuple[float, ...]
    """Standard deviations of its parameters."""
    shape_std: float | None
    """Standard deviation of its constant, if it has one that is no whole number."""
    gain: float
    """Log-likelihood that it gains in blocks that were left out, beside all other terms."""
    gain_std: float
    """Standard error of the gain over the blocks."""
    torque: float
    """RMS of its torque in the rows of its joint [N m]."""

    def content(self) -> dict[str, Any]:
        """Return the term as JSON values."""
        evidence = {"gain": self.gain, "gain_std": self.gain_std, "torque": self.torque}
        return {
            **self.term.content(),
            "std": list(self.std),
            "shape_std": self.shape_std,
            **evidence,
        }

    def numbers(self, joint_unit: str) -> list[str]:
        """Return its parameters as texts, for a joint in rad or m."""
        kind = KINDS[self.term.kind]
        rows = list(zip(kind.symbols, kind.units, self.term.values, self.std, strict=True))
        if kind.shape is not None and not kind.coupled and self.term.shape is not None:
            about = 0.0 if self.shape_std is None else self.shape_std
            rows.append((kind.shape.name, kind.shape.unit, self.term.shape, about))
        return [
            f"{symbol} = {value:.4g} {f'± {std:.2g} ' if std else ''}{unit_of(unit, joint_unit)}"
            for symbol, unit, value, std in rows
        ]


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Terms that joints have beside the standard ones."""

    terms: tuple[FittedTerm, ...]
    columns: Float2D
    """Torque per unit of all their parameters in the rows of a problem, shape (N n, k)."""
    cov: Float2D
    """Covariance of the parameters, shape (k, k)."""

    @property
    def shared(self) -> Bool1D:
        """Which parameters two joints share, shape (k,)."""
        each = [t.term.partner is not None for t in self.terms for _ in t.term.values]
        return np.array(each, dtype=bool)

    def beside(self, problem: LinearProblem) -> LinearProblem:
        """Return the rows of a problem without what the terms can explain of them."""
        if not self.terms:
            return problem
        shared, b = self.shared, problem.basis.rank
        values = np.array([value for t in self.terms for value in t.term.values])
        common = self.columns[:, shared]
        vectors, squares, _ = np.linalg.svd(self.cov[np.ix_(shared, shared)])
        y = problem.y - common @ values[shared]
        random = common @ (vectors * np.sqrt(squares))
        rows = problem.by_joint(np.column_stack([problem.W, y, random]))
        own = problem.by_joint(self.columns[:, ~shared])
        flat = without(rows, own).reshape(len(y), -1)
        more = flat[:, b + 1 :] if shared.any() else None
        return replace(problem, W=flat[:, :b], y=flat[:, b], random=more)

    def robot_terms(self) -> tuple[JointTerm, ...]:
        """Return the terms as a robot has them."""
        return tuple(fitted.term for fitted in self.terms)

    def lasting_terms(self) -> tuple[JointTerm, ...]:
        """Return the terms that another motion has too."""
        return tuple(term for term in self.robot_terms() if term.kind not in OF_TIME)


NO_TERMS = Structure((), np.zeros((0, 0)), np.zeros((0, 0)))
"""The structure of a fit without further terms."""


def without(rows: Float, columns: Float) -> Float:
    """Return rows (N, n, m) without what columns (N, n, k) can explain of them, joint by joint."""
    result = rows.copy()
    for j in range(rows.shape[1]):
        Q = span_of(columns[:, j])
        result[:, j] -= Q @ (Q.T @ rows[:, j])
    return result


def choose_structure(
    problem: LinearProblem, motion: Motion, nominal: Robot, kinds: Sequence[str]
) -> Structure:
    """Return the terms that a log speaks for.

    Parameters
    ----------
    problem : LinearProblem
        Rows of the motion.
    motion : Motion
        State of the joints.
    nominal : Robot
        Kinematics and friction velocities.
    kinds : sequence of str
        Kinds of terms that may be there; see `robotid_sim.model.joint_terms.KINDS`.

    Raises
    ------
    OptionError
        If a kind is unknown.
    LogError
        If the log has too few rows to leave blocks of them out.
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
    beta, chosen = plain.beta, []
    for _ in range(ROUNDS):
        search = _Search.of(problem, motion, nominal, beta, wanted)
        chosen = search.chosen()
        if not chosen:
            return NO_TERMS
        beta = search.fit(chosen).beta[: problem.basis.rank]
    return search.structure(chosen)


def refitted(
    structure: Structure, problem: LinearProblem, motion: Motion, model: Robot
) -> Structure:
    """Return a structure with the parameters of its terms by the rows of another motion.

    Their constants stay. The bodies of the `model` give the loads.
    """
    if not structure.terms:
        return structure
    beta = problem.basis.of(model.parameters())
    search, names = _Search.of(problem, motion, model, beta, ()), problem.joint_names
    chosen = []
    for fitted in structure.terms:
        term = fitted.term
        partner = None if term.partner is None else names.index(term.partner)
        chosen.append(search.candidate(term.kind, names.index(term.joint), partner, term.shape))
    return search.structure(chosen)


def with_term_values(
    structure: Structure, problem: LinearProblem, beta: Float1D, noise_std: Float1D
) -> Structure:
    """Return a structure with the parameters of its terms beside given base parameters.

    The `problem` has the rows of the model without its terms; `noise_std` is their noise, (n,).
    """
    if not structure.terms:
        return structure
    weight = np.tile(1.0 / noise_std, problem.samples)
    left = weight * (problem.y - problem.W @ beta)
    values = np.linalg.lstsq(weight[:, None] * structure.columns, left, rcond=None)[0]
    terms, first = [], 0
    for fitted in structure.terms:
        own = values[first : first + len(fitted.term.values)]
        first += own.size
        terms.append(replace(fitted, term=replace(fitted.term, values=tuple(own.tolist()))))
    return replace(structure, terms=tuple(terms))


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Rows of a log with the candidates of all joints."""

    problem: LinearProblem
    motion: Motion
    states: TermStates
    """Of the whole motion."""
    eps: Float1D
    candidates: list[Candidate]
    folds: np.ndarray
    use: np.ndarray = field(repr=False)
    floor: Float1D = field(repr=False)

    @classmethod
    def of(
        cls,
        problem: LinearProblem,
        motion: Motion,
        nominal: Robot,
        beta: Float1D,
        kinds: Sequence[str],
    ) -> "_Search":
        phi = problem.basis.completed(beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        states = TermStates.of(model, motion.q, motion.dq, motion.ddq, t=motion.t)
        use = np.tile(problem.measured, (problem.samples, 1))
        size = np.sqrt((problem.by_joint(problem.y) ** 2).mean(axis=0))
        bare = cls(
            problem=problem,
            motion=motion,
            states=states,
            eps=nominal.eps,
            candidates=[],
            folds=blocks_of(motion.row_times, motion.period),
            use=use,
            floor=FLOOR * np.where(size > 0.0, size, 1.0),
        )
        return replace(bare, candidates=bare._candidates(kinds))

    def _candidates(self, kinds: Sequence[str]) -> list[Candidate]:
        """Return all terms that may be there.

        The row filter takes joint by joint, so that one pass serves the terms of all joints.
        """
        found: list[Candidate] = []
        dof = self.problem.dof
        for kind in kinds:
            shape = KINDS[kind].shape
            for tried in (None,) if shape is None else shape.tried:
                if KINDS[kind].coupled:
                    found += [self.candidate(kind, j, j - 1, tried) for j in range(1, dof)]
                    continue
                unit = self.eps if shape is not None and shape.of_eps else np.ones(dof)
                constants = None if tried is None else tried * unit
                rows = rows_of(self.motion, term_signals(kind, self.states, constants))
                found += [
                    Candidate(
                        kind,
                        j,
                        None,
                        None if constants is None else float(constants[j]),
                        joint_only(rows[:, j], j, dof),
                    )
                    for j in range(dof)
                ]
        return [one for one in found if one.rows.any()]

    def candidate(self, kind: str, j: int, partner: int | None, shape: float | None) -> Candidate:
        """Return a candidate with its rows."""
        columns = term_columns(kind, self.states, j, shape, partner)
        return Candidate(kind, j, partner, shape, rows_of(self.motion, columns))

    def held_out(self, *candidates: Candidate) -> HeldOut:
        """Return the sums that fits with some candidates come from."""
        problem = self.problem
        parts = [problem.by_joint(problem.W), *(c.rows for c in candidates)]
        A = np.concatenate([*parts, problem.by_joint(problem.y)[:, :, None]], axis=2)
        return HeldOut.of(A * self.use[:, :, None], self.folds, self.use, self.floor)

    def fit(self, chosen: Sequence[Candidate]) -> Fit:
        """Return the fit with some candidates."""
        held = self.held_out(*chosen)
        return held.fit(np.arange(held.products.shape[-1] - 1))

    def chosen(self) -> list[Candidate]:
        """Return the candidates that the log speaks for, the first the one that gains most."""
        chosen: list[Candidate] = []
        while len(chosen) < MOST * self.problem.dof:
            best = self._best(chosen)
            if best is None:
                break
            chosen.append(best)
            chosen = [
                self._sought(one, [o for o in chosen if o is not one]) for one in chosen[::-1]
            ][::-1]
        return self._needed(chosen)

    def _best(self, chosen: Sequence[Candidate]) -> Candidate | None:
        """Return the candidate that gains most beside the chosen ones, None if none gains."""
        taken = {one.place for one in chosen}
        left = [c for c in self.candidates if c.place not in taken]
        if not left:
            return None
        gains = _first_look(self.held_out(*chosen, *left), self._plain(chosen), left)
        margin = MARGIN + float(np.log(len(left)))
        best = [int(k) for k in np.argsort(-gains, kind="stable")[:FINALISTS]]
        finalists = [self._sought(left[k], chosen) for k in best if gains[k] > margin]
        if not finalists:
            return None
        held = self.held_out(*chosen, *finalists)
        plain = np.arange(self._plain(chosen))
        before, first, passed = held.score(plain), plain.size, []
        for one in finalists:
            columns = np.concatenate([plain, np.arange(first, first + one.rows.shape[2])])
            first += one.rows.shape[2]
            gain = held.score(columns) - before
            positive = not KINDS[one.kind].positive or held.fit(columns).beta[plain.size] > 0.0
            if positive and _worth(gain) > margin:
                passed.append((one, gain))
        if not passed:
            return None
        top = max(passed, key=lambda p: float(p[1].sum()))[1]
        equal = [p for p in passed if _no_worse(p[1], top)]
        return min(equal, key=lambda p: (p[0].rows.shape[2], -float(p[1].sum())))[0]

    def _plain(self, chosen: Sequence[Candidate]) -> int:
        return int(self.problem.basis.rank + sum(one.rows.shape[2] for one in chosen))

    def _sought(self, one: Candidate, others: Sequence[Candidate]) -> Candidate:
        """Return a candidate with the likeliest constant beside others."""
        kind = KINDS[one.kind]
        shape = kind.shape
        if shape is None or shape.bounds is None or one.shape is None:
            return one
        held = self.held_out(*others)
        plain = held.fit(np.arange(held.products.shape[-1] - 1))
        left = _Left.of(self, others, plain.sigma)

        def cost(constant: float) -> float:
            return left.cost(self.candidate(one.kind, one.joint, one.partner, constant).rows)

        unit = float(self.eps[one.joint]) if shape.of_eps else 1.0
        low, high = (unit * bound for bound in shape.bounds)
        span = np.log([max(low, one.shape / NEAR), min(high, one.shape * NEAR)])
        found = minimize_scalar(
            lambda x: cost(float(np.exp(x))),
            bounds=tuple(span.tolist()),
            method="bounded",
            options={"xatol": 0.02},
        )
        return self.candidate(one.kind, one.joint, one.partner, float(np.exp(found.x)))

    def _needed(self, chosen: list[Candidate]) -> list[Candidate]:
        """Return the chosen candidates without those that later ones have made needless."""
        while chosen:
            gains = self._gains(chosen)
            worth = [_worth(gain) for gain in gains]
            least = int(np.argmin(worth))
            if worth[least] > MARGIN:
                break
            chosen = [one for k, one in enumerate(chosen) if k != least]
        return chosen

    def _gains(self, chosen: Sequence[Candidate]) -> list[Float1D]:
        """Return what every chosen candidate gains beside the others, by block."""
        held = self.held_out(*chosen)
        every = np.arange(held.products.shape[-1] - 1)
        whole, first = held.score(every), self.problem.basis.rank
        gains: list[Float1D] = []
        for one in chosen:
            own = np.arange(first, first + one.rows.shape[2])
            first += own.size
            gains.append(whole - held.score(np.setdiff1d(every, own)))
        return gains

    def structure(self, chosen: Sequence[Candidate]) -> Structure:
        """Return the terms with their values, deviations and evidence."""
        problem, names = self.problem, self.problem.joint_names
        columns = np.concatenate([one.rows for one in chosen], axis=2)
        columns = columns.reshape(len(problem.y), -1)
        symbols = [f"{s}_{k}" for k, one in enumerate(chosen) for s in KINDS[one.kind].symbols]
        larger = extended(problem, columns, symbols, ["1"] * len(symbols))
        wls = WeightedLeastSquares()
        linear = wls.fit(larger, np.random.default_rng(0))
        beta = linear.beta[problem.basis.rank :]
        tangents, curved = self._tangents(chosen, beta)
        whole = linear
        if curved:
            further = [f"log {k}" for k in curved]
            whole = wls.fit(
                extended(larger, tangents, further, ["1"] * len(further)), np.random.default_rng(0)
            )
        std = whole.std if whole.success else np.full(len(linear.std) + len(curved), np.nan)
        first, terms = problem.basis.rank, []
        at_end = len(std) - len(curved)
        for k, (one, gain) in enumerate(zip(chosen, self._gains(chosen), strict=True)):
            count = one.rows.shape[2]
            values, own = linear.beta[first : first + count], std[first : first + count]
            first += count
            log_std = float(std[at_end + curved.index(k)]) if k in curved else None
            partner = None if one.partner is None else names[one.partner]
            torque = one.rows[:, one.joint] @ values
            terms.append(
                FittedTerm(
                    term=JointTerm(
                        one.kind, names[one.joint], tuple(values.tolist()), one.shape, partner
                    ),
                    std=tuple(own.tolist()),
                    shape_std=None if log_std is None or one.shape is None else log_std * one.shape,
                    gain=float(gain.sum()),
                    gain_std=float(np.sqrt(gain.size) * gain.std(ddof=1)),
                    torque=float(np.sqrt((torque**2).mean())),
                )
            )
        b = problem.basis.rank
        cov = whole.cov if whole.cov is not None else np.zeros((at_end, at_end))
        return Structure(tuple(terms), columns, cov[b:at_end, b:at_end])

    def _tangents(self, chosen: Sequence[Candidate], beta: Float1D) -> tuple[Float2D, list[int]]:
        """Return torque per change of the constants' logarithms, and of which terms they are."""
        columns, curved, first = [], [], 0
        for k, one in enumerate(chosen):
            kind, count = KINDS[one.kind], one.rows.shape[2]
            value = beta[first : first + count]
            first += count
            if kind.shape is None or kind.shape.bounds is None or one.shape is None:
                continue
            place = (one.kind, one.joint, one.partner)
            high, low = (self.candidate(*place, one.shape * (1.0 + h)).rows for h in (STEP, -STEP))
            columns.append(((high - low) @ value / (2.0 * STEP)).ravel())
            curved.append(k)
        return np.column_stack(columns) if columns else np.zeros((0, 0)), curved


@dataclass(frozen=True, slots=True, eq=False)
class _Left:
    """What weighted columns leave of the torques."""

    Q: Float2D
    y: Float1D
    weights: Float2D

    @classmethod
    def of(cls, search: _Search, others: Sequence[Candidate], sigma: Float1D) -> "_Left":
        problem, weights = search.problem, search.use / sigma
        parts = [problem.by_joint(problem.W), *(c.rows for c in others)]
        plain = np.concatenate(parts, axis=2) * weights[:, :, None]
        Q = span_of(plain.reshape(weights.size, -1))
        y = (problem.by_joint(problem.y) * weights).ravel()
        return cls(Q, y - Q @ (Q.T @ y), weights)

    def cost(self, rows: Float) -> float:
        """Return the squares that are left beside further rows (N, n, k)."""
        C = (rows * self.weights[:, :, None]).reshape(self.weights.size, -1)
        C = C - self.Q @ (self.Q.T @ C)
        return float(self.y @ self.y - ((span_of(C).T @ self.y) ** 2).sum())


def _first_look(held: HeldOut, plain: int, candidates: Sequence[Candidate]) -> Float1D:
    """Return what candidates gain in the sample, with the noise of the joints held."""
    sigma = held.fit(np.arange(plain)).sigma
    S = np.tensordot(sigma**-2.0, held.products.sum(axis=0), 1)
    size = np.sqrt(np.diag(S))
    S = S / np.outer(np.where(size > 0.0, size, 1.0), np.where(size > 0.0, size, 1.0))
    A = S[:plain, :plain] + 1e-10 * np.eye(plain)
    rest = S[plain:, plain:] - S[plain:, :plain] @ np.linalg.solve(A, S[:plain, plain:])
    scale, gains, first = float(size[-1] ** 2), [], 0
    for one in candidates:
        own = slice(first, first + one.rows.shape[2])
        first = own.stop
        M, g = rest[own, own], rest[own, -1]
        values, vectors = np.linalg.eigh(M)
        shown = values > SHOWN**2
        gains.append(0.5 * scale * float((((vectors.T @ g)[shown] ** 2) / values[shown]).sum()))
    return np.array(gains)


def _worth(gain: Float1D) -> float:
    """Return what a gain by block is worth: nothing if it may be chance, or one block's alone."""
    total, error = float(gain.sum()), float(np.sqrt(gain.size) * gain.std(ddof=1))
    return total - float(gain.max()) if total > ERRORS * error else -np.inf


def _no_worse(gain: Float1D, top: Float1D) -> bool:
    """Return whether a candidate explains as much as the best one, or nearly."""
    gap = top - gain
    tie = max(TIE, float(np.sqrt(gap.size) * gap.std(ddof=1)))
    return bool(gap.sum() <= tie)
