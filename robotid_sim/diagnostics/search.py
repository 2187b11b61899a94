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
from robotid_sim.diagnostics.accepted_cause import AcceptedCause, merge_sign_causes
from robotid_sim.diagnostics.cause import ColumnCandidate, CorrectionCandidate
from robotid_sim.diagnostics.column_causes import (
    TORQUE_SIGN_KIND,
    column_causes,
    nominal_ratio,
    scale_causes,
)
from robotid_sim.diagnostics.data_faults import gross_cause
from robotid_sim.diagnostics.evidence import ConsistentFit, Evidence
from robotid_sim.diagnostics.friction_causes import friction_causes
from robotid_sim.diagnostics.structure_causes import step_causes, structure_causes
from robotid_sim.diagnostics.torque_causes import delay_causes, list_coupling_causes, torque_causes
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.estimation.hold_out import Fit
from robotid_sim.estimation.selection import (
    FINALIST_COUNT,
    TIE_TOLERANCE,
    ResidualProjection,
    consecutive,
    finalists,
    is_no_worse,
    outcomes,
    select_groups,
)

MIN_GAIN = 10.0
"""Least gain of the held-out log-likelihood, on top of the logarithm of the candidates tried."""

MIN_GAIN_OVER_ERROR = 2.0
"""Least gain of robots that can exist over its standard error."""

MIN_TORQUE_SHARE = 5e-3
"""Smallest torque of a cause that is worth a word, over the RMS torque of a joint."""

MIN_RESIDUAL_RATIO = 1.3
"""Factor by which the residual of a joint must fall for a cause to be worth a word."""

OBVIOUS_RESIDUAL_RATIO = 2.0
"""Such a factor from which a cause of notable parameters is worth a word, however small its torque:
friction of another shape shows at low speeds alone."""

MAX_STEPS = 2
"""Further steps of Gauss-Newton of a correction."""

MAX_ROUNDS = 15
"""Most rounds of the search."""

MAX_FAULT_ROUNDS = 3
"""Most gross errors."""

GENERAL_KINDS = {"torque-offset": ("asymmetric-friction", "torque-drift")}
"""By kind: kinds that it is a case of, and does not compete with."""

MAX_GAIN_LOSS_SHARE = 0.25
"""Share of a gain that a special case may lack: what is left can be accepted after it."""

MAX_CONSISTENT_RATIO = 1.5
"""Residual of robots that can exist over that of the free fit from which columns are doubted."""

MAX_RESIDUAL_SHARE = 0.1
"""Residual over the RMS torque from which columns are doubted."""


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The evidence of a round with its plain fit and all candidates but those for columns."""

    evidence: Evidence
    fit: Fit
    projection: ResidualProjection
    extensions: list[ColumnCandidate]
    gains: Float1D
    """First look at the extensions."""
    amendments: list[CorrectionCandidate]
    """Delays, and scales of torques as the nominal model suggests them."""

    @classmethod
    def start(cls, evidence: Evidence, taken: set[tuple[str, tuple[int, ...]]]) -> "_Round":
        fit = evidence.sum_by_block().fit(np.arange(evidence.plain))
        projection = evidence.remainder(fit)
        families = (torque_causes, friction_causes, structure_causes, list_coupling_causes)
        known = [c for family in families for c in family(evidence, fit)]
        candidates = [*known, *step_causes(evidence, projection, known)]
        extensions = [c for c in candidates if c.corrected or (c.kind, c.joints) not in taken]
        gains = projection.gains(evidence.y, [c.columns for c in extensions])
        amendments = [*delay_causes(evidence, projection, MIN_GAIN), *scale_causes(evidence)]
        return cls(evidence, fit, projection, extensions, gains, amendments)

    @property
    def margin(self) -> float:
        """Least gain that is no chance."""
        return MIN_GAIN + float(np.log(len(self.extensions) + len(self.amendments)))

    @property
    def finalists(self) -> list[ColumnCandidate]:
        """The extensions that the first look likes best."""
        return finalists(self.extensions, self.gains, self.margin)


def search(evidence: Evidence) -> tuple[list[AcceptedCause], Evidence]:
    """Return the causes in the order of their acceptance, and the evidence with all of them."""
    accepted: list[AcceptedCause] = []
    for _ in range(MAX_FAULT_ROUNDS):
        gross = gross_cause(evidence, MIN_GAIN)
        if gross is None:
            break
        candidate, gain = gross
        after = evidence.apply_correction(candidate.correction)
        residual = (_residual(evidence), _residual(after))
        accepted.append(
            AcceptedCause(candidate, np.zeros(0), np.array([gain]), residual, informed=True)
        )
        evidence = after
    for _ in range(MAX_ROUNDS):
        taken = {(a.kind, a.joints) for a in accepted if isinstance(a.candidate, ColumnCandidate)}
        state = _Round.start(evidence, taken)
        column = _find_implausible_column(state)
        new = [column] if column is not None else _best(state)
        if not new:
            break
        for one in new:
            evidence = _iterate_correction(one, one.correct_evidence(evidence))
        accepted += new
    # Delays once more, now that the rest is known.
    if delays := {one.joints for one in accepted if one.kind == "torque-delay"}:
        fit = evidence.sum_by_block().fit(np.arange(evidence.plain))
        for again in delay_causes(evidence, evidence.remainder(fit), 0.0):
            if again.joints in delays:
                evidence = evidence.apply_correction(again.correction)
    accepted, evidence = _simplest(accepted, evidence)
    # Without those that the ones found later have made needless.
    columns = [one for one in accepted if one.is_column]
    groups = consecutive(evidence.W.shape[2], [one.value.size for one in columns])
    needs = select_groups(evidence.sum_by_block(), np.arange(evidence.plain), groups, _judge)
    gone = {id(one) for k, one in enumerate(columns) if k not in needs}
    lasting = [one for one in accepted if one.notable and id(one) not in gone]
    return merge_sign_causes(lasting), evidence


def _residual(evidence: Evidence) -> Float1D:
    """Return the noise of every joint's rows over its RMS torque, shape (n,)."""
    return evidence.sum_by_block().fit(np.arange(evidence.plain)).sigma / evidence.size


def _iterate_correction(one: AcceptedCause, evidence: Evidence) -> Evidence:
    """Return the evidence after a correction once its steps of Gauss-Newton have converged.

    What a first step leaves would be taken for another cause.
    """
    if isinstance(one.candidate, CorrectionCandidate) or one.candidate.corrected is None:
        return evidence
    for _ in range(MAX_STEPS):
        fit = evidence.sum_by_block().fit(np.arange(evidence.plain))
        candidates = (*torque_causes(evidence, fit), *structure_causes(evidence, fit))
        sought = (one.kind, one.candidate.joint)
        again = next((c for c in candidates if (c.kind, c.joint) == sought), None)
        if again is None or again.corrected is None:
            break
        held = evidence.sum_by_block(again.columns)
        value = held.fit(np.arange(evidence.plain + one.value.size)).beta[evidence.plain :]
        if not again.lower < value[0] < again.upper:
            break
        evidence = evidence.apply_correction(again.corrected(value))
    return evidence


def _simplest(
    accepted: list[AcceptedCause], evidence: Evidence
) -> tuple[list[AcceptedCause], Evidence]:
    """Return the causes, special cases in place of general ones that now explain no more.

    An offset beside a wrong torque constant looks like friction that differs between directions,
    as long as the constant is wrong.
    """
    fit = evidence.sum_by_block().fit(np.arange(evidence.plain))
    special = {(c.kind, c.joints): c for c in torque_causes(evidence, fit)}
    taken, first, result = {(one.kind, one.joints) for one in accepted}, 0, []
    for one in accepted:
        if not one.is_column:
            result.append(one)
            continue
        kinds = [kind for kind, general in GENERAL_KINDS.items() if one.kind in general]
        for candidate in (special.get((kind, one.joints)) for kind in kinds):
            if candidate is not None and (candidate.kind, one.joints) not in taken:
                changed = evidence.replace_columns(first, one.value.size, candidate.columns)
                loss = _score(evidence) - _score(changed)
                if loss.sum() - loss.max() < MIN_GAIN:
                    evidence, gains = changed, one.gains - loss
                    beta = evidence.sum_by_block().fit(np.arange(evidence.plain)).beta
                    value = beta[evidence.W.shape[2] + first :][: candidate.columns.shape[2]]
                    one = replace(one, candidate=candidate, value=value, gains=gains)
        first += one.value.size
        result.append(one)
    return result, evidence


def _score(evidence: Evidence) -> Float1D:
    return evidence.sum_by_block().score(np.arange(evidence.plain))


def _judge(gain: Float1D) -> tuple[bool, float]:
    """Return whether a cause explains enough beside the others, and how much."""
    return bool(gain.sum() - gain.max() > MIN_GAIN), float(gain.sum() - gain.max())


def _best(state: _Round) -> list[AcceptedCause]:
    """Return the best candidate, and others of its kind that pass on other joints."""
    scored = _score_extensions(state)
    evidence, plain = state.evidence, np.arange(state.evidence.plain)
    before = evidence.sum_by_block().score(plain)
    for candidate in state.amendments:
        after = evidence.apply_correction(candidate.correction)
        change = np.sqrt(((after.y - evidence.y) ** 2).mean(axis=0)) / evidence.size
        held = after.sum_by_block()
        likelier = held.fit(plain).likelihood - state.fit.likelihood
        if likelier >= state.margin and change.max() >= MIN_TORQUE_SHARE:
            residual = (state.fit.sigma / evidence.size, held.fit(plain).sigma / after.size)
            gains = held.score(plain) - before
            scored.append(AcceptedCause(candidate, np.zeros(0), gains, residual))
    sure = (s for s in scored if s.gain - s.gains.max() > state.margin)
    if not (passed := [s for s in sure if s.fall > MIN_RESIDUAL_RATIO or s.is_sizable]):
        return []
    top = max(passed, key=lambda s: s.gain)
    equal = [s for s in passed if _is_no_worse(s, top)]
    best = select_candidate(evidence, equal)
    corrected = (
        isinstance(best.candidate, CorrectionCandidate) or best.candidate.corrected is not None
    )
    if corrected or len(best.joints) != 1:  # joints vie for the same deviation
        return [replace(best, alternatives=_rivals(state, best, equal))]
    alike = [s for s in passed if s.kind == best.kind and s.joints not in (best.joints, ())]
    others = {s.joints: s for s in sorted(alike, key=lambda s: s.gain)}
    return [replace(best, alternatives=_rivals(state, best, equal)), *others.values()]


def _rivals(state: _Round, best: AcceptedCause, equal: list[AcceptedCause]) -> tuple[str, ...]:
    """Return other kinds that explain as much, and nothing any more once the best is accepted."""
    general = (best.kind, *GENERAL_KINDS.get(best.kind, ()))
    others = [s for s in equal if s.kind not in general]
    after = best.correct_evidence(state.evidence) if others else state.evidence
    plain, kinds = np.arange(after.plain), set()
    for one in others:
        candidate = one.candidate
        if isinstance(candidate, CorrectionCandidate):
            gains = after.apply_correction(candidate.correction).sum_by_block().score(plain)
            gains = gains - after.sum_by_block().score(plain)
        else:
            held = after.sum_by_block(candidate.columns)
            gains = held.score(np.arange(after.plain + one.value.size)) - held.score(plain)
        if gains.sum() < MIN_GAIN:
            kinds.add(one.kind)
    return tuple(sorted(kinds))


def _count(scored: AcceptedCause) -> int:
    """Return the number of parameters of a candidate."""
    return max(scored.value.size, 1)


def select_candidate(evidence: Evidence, equal: Sequence[AcceptedCause]) -> AcceptedCause:
    """Return the candidate of fewest parameters, then of largest gain.

    Two joints can only say that their torque constants differ: the one is taken that leaves torques
    nearest to those of the nominal model.
    """
    best = min(equal, key=lambda s: (_count(s), -s.gain))
    if best.kind != "torque-scale":
        return best
    constants = [s for s in equal if s.kind == best.kind and _count(s) == _count(best)]
    return min(
        constants, key=lambda s: np.sum(np.log(nominal_ratio(s.correct_evidence(evidence))) ** 2)
    )


def _is_no_worse(one: AcceptedCause, top: AcceptedCause) -> bool:
    """Return whether a candidate explains as much as another, or nearly if it is a case of it."""
    special = one.joints == top.joints and top.kind in GENERAL_KINDS.get(one.kind, ())
    return is_no_worse(
        one.gains,
        top.gains,
        max(TIE_TOLERANCE, MAX_GAIN_LOSS_SHARE * top.gain) if special else TIE_TOLERANCE,
    )


def _score_extensions(state: _Round) -> list[AcceptedCause]:
    evidence, likely = state.evidence, state.finalists
    if not likely:
        return []
    held = evidence.sum_by_block(np.concatenate([c.columns for c in likely], axis=2))
    scored, tried = [], outcomes(held, evidence.plain, [c.size for c in likely])
    for candidate, (fit, gains) in zip(likely, tried, strict=True):
        value = fit.beta[evidence.plain :]
        torque = np.sqrt(((candidate.columns @ value) ** 2).mean(axis=0)) / evidence.size
        if not candidate.is_possible(value):
            continue
        obvious = (
            bool(candidate.least) and (state.fit.sigma > OBVIOUS_RESIDUAL_RATIO * fit.sigma).any()
        )
        large = bool(obvious or candidate.by_size or torque.max() >= MIN_TORQUE_SHARE)
        notable = large and candidate.is_notable(value)
        residual = (state.fit.sigma / evidence.size, fit.sigma / evidence.size)
        scored.append(AcceptedCause(candidate, value, gains, residual, notable=notable))
    return scored


def _find_implausible_column(state: _Round) -> AcceptedCause | None:
    """Return the column that is wrong, if robots that can exist say that one is."""
    evidence = state.evidence
    program = ConsistentProgram(evidence.nominal, evidence.basis)
    now = ConsistentFit.fit_evidence(evidence, program)
    if not np.isfinite(now.rms).all():  # a joint that stands still, or a solver that gives up
        return None
    forced = (now.rms / now.free > MAX_CONSISTENT_RATIO) & (
        now.rms > 2.0 * MIN_TORQUE_SHARE * evidence.size
    )
    if not forced.any() and (now.free < MAX_RESIDUAL_SHARE * evidence.size).all():
        return None
    amendments, rough = column_causes(evidence), evidence.rough()
    plain = np.arange(rough.plain)
    judged = [r for r in amendments if r.kind == TORQUE_SIGN_KIND]
    others = [r for r in amendments if r not in judged]
    likelihood = [
        rough.apply_correction(r.correction).sum_by_block().fit(plain).likelihood for r in others
    ]
    best = np.argsort(-np.array(likelihood), kind="stable")[:FINALIST_COUNT]
    scored = []
    for candidate in (*judged, *(others[k] for k in best), *state.amendments, *state.finalists):
        value: Float1D = np.zeros(0)
        if isinstance(candidate, ColumnCandidate):
            fit = evidence.sum_by_block(candidate.columns)
            count = evidence.plain + candidate.columns.shape[2]
            value = fit.fit(np.arange(count)).beta[evidence.plain :]
            if not candidate.is_acceptable(value):
                continue
        one = AcceptedCause(candidate, value, now.by_fold, (now.rms, now.rms))
        corrected = one.correct_evidence(evidence)
        if corrected.nominal is not evidence.nominal:  # gravity, which decides on the program
            continue
        after = ConsistentFit.fit_evidence(corrected, program)
        gains = after.by_fold - now.by_fold
        residual = (now.rms / evidence.size, after.rms / corrected.size)
        scored.append(replace(one, gains=gains, residual=residual))
    top = max(scored, key=lambda s: s.gain)
    if isinstance(top.candidate, ColumnCandidate):  # the likelihood of all rows will say so too
        return None
    return top if top.gain > max(state.margin, MIN_GAIN_OVER_ERROR * top.std) else None
