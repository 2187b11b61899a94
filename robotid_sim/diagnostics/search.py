r"""The greedy search for causes: the best one is accepted, then all are tried again beside it.

Every candidate is fitted as further columns of the linear problem or as a correction of the log,
and scored by the likelihood of blocks that were left out of the fit, see `HeldOut`. It is accepted
if its gain, without that of the block that speaks most for it, exceeds a margin for the number of
candidates that were tried, and if the residual of a joint falls enough. Gross errors come first,
given a nominal model that is roughly right; columns with a wrong sign, unit or joint that it leaves
undecided are judged by robots that can exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.accepted import Accepted, with_signs_together
from robotid_sim.diagnostics.cause import Amendment, Extension
from robotid_sim.diagnostics.column_causes import (
    TORQUE_SIGN,
    column_causes,
    nominal_ratio,
    scale_causes,
)
from robotid_sim.diagnostics.evidence import Constrained, Evidence
from robotid_sim.diagnostics.friction_causes import friction_causes
from robotid_sim.diagnostics.gross_causes import gross_cause
from robotid_sim.diagnostics.structure_causes import step_causes, structure_causes
from robotid_sim.diagnostics.torque_causes import coupling_causes, delay_causes, torque_causes
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.estimation.held_out import Fit
from robotid_sim.estimation.selection import (
    FINALISTS,
    TIE,
    Remainder,
    consecutive,
    finalists,
    is_no_worse,
    needed,
    outcomes,
)

MARGIN = 10.0
"""Least gain of the held-out log-likelihood, on top of the logarithm of the candidates tried."""

ERRORS = 2.0
"""Least gain of robots that can exist over its standard error."""

LEAST = 5e-3
"""Smallest torque of a cause that is worth a word, over the RMS torque of a joint."""

FALL = 1.3
"""Factor by which the residual of a joint must fall for a cause to be worth a word."""

OBVIOUS = 2.0
"""Such a factor from which a cause of notable parameters is worth a word, however small its torque:
friction of another shape shows at low speeds alone."""

STEPS = 2
"""Further steps of Gauss-Newton of a correction."""

ROUNDS = 15
"""Most rounds of the search."""

GROSS_ROUNDS = 3
"""Most gross errors."""

GENERAL = {"torque-offset": ("asymmetric-friction", "torque-drift")}
"""By kind: kinds that it is a case of, and does not compete with."""

NEARLY = 0.25
"""Share of a gain that a special case may lack: what is left can be accepted after it."""

FORCED = 1.5
"""Residual of robots that can exist over that of the free fit from which columns are doubted."""

UNEXPLAINED = 0.1
"""Residual over the RMS torque from which columns are doubted."""


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The evidence of a round with its plain fit and all candidates but those for columns."""

    evidence: Evidence
    fit: Fit
    projection: Remainder
    extensions: list[Extension]
    gains: Float1D
    """First look at the extensions."""
    amendments: list[Amendment]
    """Delays, and scales of torques as the nominal model suggests them."""

    @classmethod
    def of(cls, evidence: Evidence, taken: set[tuple[str, tuple[int, ...]]]) -> "_Round":
        fit = evidence.held_out().fit(np.arange(evidence.plain))
        projection = evidence.remainder(fit)
        families = (torque_causes, friction_causes, structure_causes, coupling_causes)
        known = [c for family in families for c in family(evidence, fit)]
        candidates = [*known, *step_causes(evidence, projection, known)]
        extensions = [c for c in candidates if c.corrected or (c.kind, c.joints) not in taken]
        gains = projection.gains(evidence.y, [c.columns for c in extensions])
        amendments = [*delay_causes(evidence, projection, MARGIN), *scale_causes(evidence)]
        return cls(evidence, fit, projection, extensions, gains, amendments)

    @property
    def margin(self) -> float:
        """Least gain that is no chance."""
        return MARGIN + float(np.log(len(self.extensions) + len(self.amendments)))

    @property
    def finalists(self) -> list[Extension]:
        """The extensions that the first look likes best."""
        return finalists(self.extensions, self.gains, self.margin)


def search(evidence: Evidence) -> tuple[list[Accepted], Evidence]:
    """Return the causes in the order of their acceptance, and the evidence with all of them."""
    accepted: list[Accepted] = []
    for _ in range(GROSS_ROUNDS):
        gross = gross_cause(evidence, MARGIN)
        if gross is None:
            break
        candidate, gain = gross
        after = evidence.corrected(candidate.correction)
        residual = (_residual(evidence), _residual(after))
        accepted.append(Accepted(candidate, np.zeros(0), np.array([gain]), residual, informed=True))
        evidence = after
    for _ in range(ROUNDS):
        taken = {(a.kind, a.joints) for a in accepted if isinstance(a.candidate, Extension)}
        state = _Round.of(evidence, taken)
        column = _doubted_column(state)
        new = [column] if column is not None else _best(state)
        if not new:
            break
        for one in new:
            evidence = _converged(one, one.after(evidence))
        accepted += new
    # Delays once more, now that the rest is known.
    if delays := {one.joints for one in accepted if one.kind == "torque-delay"}:
        fit = evidence.held_out().fit(np.arange(evidence.plain))
        for again in delay_causes(evidence, evidence.remainder(fit), 0.0):
            if again.joints in delays:
                evidence = evidence.corrected(again.correction)
    accepted, evidence = _simplest(accepted, evidence)
    # Without those that the ones found later have made needless.
    columns = [one for one in accepted if one.is_column]
    groups = consecutive(evidence.W.shape[2], [one.value.size for one in columns])
    needs = needed(evidence.held_out(), np.arange(evidence.plain), groups, _judge)
    gone = {id(one) for k, one in enumerate(columns) if k not in needs}
    lasting = [one for one in accepted if one.notable and id(one) not in gone]
    return with_signs_together(lasting), evidence


def _residual(evidence: Evidence) -> Float1D:
    """Return the noise of every joint's rows over its RMS torque, shape (n,)."""
    return evidence.held_out().fit(np.arange(evidence.plain)).sigma / evidence.size


def _converged(one: Accepted, evidence: Evidence) -> Evidence:
    """Return the evidence after a correction once its steps of Gauss-Newton have converged.

    What a first step leaves would be taken for another cause.
    """
    if isinstance(one.candidate, Amendment) or one.candidate.corrected is None:
        return evidence
    for _ in range(STEPS):
        fit = evidence.held_out().fit(np.arange(evidence.plain))
        candidates = (*torque_causes(evidence, fit), *structure_causes(evidence, fit))
        sought = (one.kind, one.candidate.joint)
        again = next((c for c in candidates if (c.kind, c.joint) == sought), None)
        if again is None or again.corrected is None:
            break
        held = evidence.held_out(again.columns)
        value = held.fit(np.arange(evidence.plain + one.value.size)).beta[evidence.plain :]
        if not again.lower < value[0] < again.upper:
            break
        evidence = evidence.corrected(again.corrected(value))
    return evidence


def _simplest(accepted: list[Accepted], evidence: Evidence) -> tuple[list[Accepted], Evidence]:
    """Return the causes, special cases in place of general ones that now explain no more.

    An offset beside a wrong torque constant looks like friction that differs between directions,
    as long as the constant is wrong.
    """
    fit = evidence.held_out().fit(np.arange(evidence.plain))
    special = {(c.kind, c.joints): c for c in torque_causes(evidence, fit)}
    taken, first, result = {(one.kind, one.joints) for one in accepted}, 0, []
    for one in accepted:
        if not one.is_column:
            result.append(one)
            continue
        kinds = [kind for kind, general in GENERAL.items() if one.kind in general]
        for candidate in (special.get((kind, one.joints)) for kind in kinds):
            if candidate is not None and (candidate.kind, one.joints) not in taken:
                changed = evidence.with_columns_at(first, one.value.size, candidate.columns)
                loss = _score(evidence) - _score(changed)
                if loss.sum() - loss.max() < MARGIN:
                    evidence, gains = changed, one.gains - loss
                    beta = evidence.held_out().fit(np.arange(evidence.plain)).beta
                    value = beta[evidence.W.shape[2] + first :][: candidate.columns.shape[2]]
                    one = replace(one, candidate=candidate, value=value, gains=gains)
        first += one.value.size
        result.append(one)
    return result, evidence


def _score(evidence: Evidence) -> Float1D:
    return evidence.held_out().score(np.arange(evidence.plain))


def _judge(gain: Float1D) -> tuple[bool, float]:
    """Return whether a cause explains enough beside the others, and how much."""
    return bool(gain.sum() - gain.max() > MARGIN), float(gain.sum() - gain.max())


def _best(state: _Round) -> list[Accepted]:
    """Return the best candidate, and others of its kind that pass on other joints."""
    scored = _scored_extensions(state)
    evidence, plain = state.evidence, np.arange(state.evidence.plain)
    before = evidence.held_out().score(plain)
    for candidate in state.amendments:
        after = evidence.corrected(candidate.correction)
        change = np.sqrt(((after.y - evidence.y) ** 2).mean(axis=0)) / evidence.size
        held = after.held_out()
        likelier = held.fit(plain).likelihood - state.fit.likelihood
        if likelier >= state.margin and change.max() >= LEAST:
            residual = (state.fit.sigma / evidence.size, held.fit(plain).sigma / after.size)
            gains = held.score(plain) - before
            scored.append(Accepted(candidate, np.zeros(0), gains, residual))
    sure = (s for s in scored if s.gain - s.gains.max() > state.margin)
    if not (passed := [s for s in sure if s.fall > FALL or s.is_sizable]):
        return []
    top = max(passed, key=lambda s: s.gain)
    equal = [s for s in passed if _no_worse(s, top)]
    best = preferred(evidence, equal)
    corrected = isinstance(best.candidate, Amendment) or best.candidate.corrected is not None
    if corrected or len(best.joints) != 1:  # joints vie for the same deviation
        return [replace(best, rivals=_rivals(state, best, equal))]
    alike = [s for s in passed if s.kind == best.kind and s.joints not in (best.joints, ())]
    others = {s.joints: s for s in sorted(alike, key=lambda s: s.gain)}
    return [replace(best, rivals=_rivals(state, best, equal)), *others.values()]


def _rivals(state: _Round, best: Accepted, equal: list[Accepted]) -> tuple[str, ...]:
    """Return other kinds that explain as much, and nothing any more once the best is accepted."""
    general = (best.kind, *GENERAL.get(best.kind, ()))
    others = [s for s in equal if s.kind not in general]
    after = best.after(state.evidence) if others else state.evidence
    plain, kinds = np.arange(after.plain), set()
    for one in others:
        candidate = one.candidate
        if isinstance(candidate, Amendment):
            gains = after.corrected(candidate.correction).held_out().score(plain)
            gains = gains - after.held_out().score(plain)
        else:
            held = after.held_out(candidate.columns)
            gains = held.score(np.arange(after.plain + one.value.size)) - held.score(plain)
        if gains.sum() < MARGIN:
            kinds.add(one.kind)
    return tuple(sorted(kinds))


def _count(scored: Accepted) -> int:
    """Return the number of parameters of a candidate."""
    return max(scored.value.size, 1)


def preferred(evidence: Evidence, equal: Sequence[Accepted]) -> Accepted:
    """Return the candidate of fewest parameters, then of largest gain.

    Two joints can only say that their torque constants differ: the one is taken that leaves torques
    nearest to those of the nominal model.
    """
    best = min(equal, key=lambda s: (_count(s), -s.gain))
    if best.kind != "torque-scale":
        return best
    constants = [s for s in equal if s.kind == best.kind and _count(s) == _count(best)]
    return min(constants, key=lambda s: np.sum(np.log(nominal_ratio(s.after(evidence))) ** 2))


def _no_worse(one: Accepted, top: Accepted) -> bool:
    """Return whether a candidate explains as much as another, or nearly if it is a case of it."""
    special = one.joints == top.joints and top.kind in GENERAL.get(one.kind, ())
    return is_no_worse(one.gains, top.gains, max(TIE, NEARLY * top.gain) if special else TIE)


def _scored_extensions(state: _Round) -> list[Accepted]:
    evidence, likely = state.evidence, state.finalists
    if not likely:
        return []
    held = evidence.held_out(np.concatenate([c.columns for c in likely], axis=2))
    scored, tried = [], outcomes(held, evidence.plain, [c.size for c in likely])
    for candidate, (fit, gains) in zip(likely, tried, strict=True):
        value = fit.beta[evidence.plain :]
        torque = np.sqrt(((candidate.columns @ value) ** 2).mean(axis=0)) / evidence.size
        if not candidate.possible(value):
            continue
        obvious = bool(candidate.least) and (state.fit.sigma > OBVIOUS * fit.sigma).any()
        large = bool(obvious or candidate.by_size or torque.max() >= LEAST)
        notable = large and candidate.notable(value)
        residual = (state.fit.sigma / evidence.size, fit.sigma / evidence.size)
        scored.append(Accepted(candidate, value, gains, residual, notable=notable))
    return scored


def _doubted_column(state: _Round) -> Accepted | None:
    """Return the column that is wrong, if robots that can exist say that one is."""
    evidence = state.evidence
    program = ConsistentProgram(evidence.nominal, evidence.basis)
    now = Constrained.of(evidence, program)
    if not np.isfinite(now.rms).all():  # a joint that stands still, or a solver that gives up
        return None
    forced = (now.rms / now.free > FORCED) & (now.rms > 2.0 * LEAST * evidence.size)
    if not forced.any() and (now.free < UNEXPLAINED * evidence.size).all():
        return None
    amendments, rough = column_causes(evidence), evidence.rough()
    plain = np.arange(rough.plain)
    judged = [r for r in amendments if r.kind == TORQUE_SIGN]
    others = [r for r in amendments if r not in judged]
    likelihood = [rough.corrected(r.correction).held_out().fit(plain).likelihood for r in others]
    best = np.argsort(-np.array(likelihood), kind="stable")[:FINALISTS]
    scored = []
    for candidate in (*judged, *(others[k] for k in best), *state.amendments, *state.finalists):
        value: Float1D = np.zeros(0)
        if isinstance(candidate, Extension):
            fit = evidence.held_out(candidate.columns)
            count = evidence.plain + candidate.columns.shape[2]
            value = fit.fit(np.arange(count)).beta[evidence.plain :]
            if not candidate.allows(value):
                continue
        one = Accepted(candidate, value, now.by_fold, (now.rms, now.rms))
        corrected = one.after(evidence)
        if corrected.nominal is not evidence.nominal:  # gravity, which decides on the program
            continue
        after = Constrained.of(corrected, program)
        gains = after.by_fold - now.by_fold
        residual = (now.rms / evidence.size, after.rms / corrected.size)
        scored.append(replace(one, gains=gains, residual=residual))
    top = max(scored, key=lambda s: s.gain)
    if isinstance(top.candidate, Extension):  # the likelihood of all rows will say so too
        return None
    return top if top.gain > max(state.margin, ERRORS * top.std) else None
