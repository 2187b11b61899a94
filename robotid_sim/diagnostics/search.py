r"""Greedy search for causes: the best one is accepted, then all others are tried in addition.

Every candidate is fitted as further columns of the linear problem or as a correction of the log,
and scored by the likelihood of held-out blocks, see `HeldOut`. It is accepted if its gain, without
the block of largest gain, exceeds a margin for the number of candidates that were tried, and if the
residual of a joint falls enough. Data faults are searched first, with a wide prior about the
nominal model. Wrong signs, units or joints that this search does not decide are compared by fits of
physically consistent robots.
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
from robotid_sim.diagnostics.data_faults import find_data_fault
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
    fit_groups,
    is_no_worse,
    list_groups,
    pick_finalists,
    select_groups,
)

MIN_GAIN = 10.0
"""Minimum gain of the held-out log-likelihood, before the logarithm of the candidates is added."""

MIN_GAIN_OVER_ERROR = 2.0
"""Minimum gain of physically consistent robots over its standard error."""

MIN_TORQUE_SHARE = 5e-3
"""Minimum torque of a cause that is reported, over the RMS torque of a joint."""

MIN_RESIDUAL_RATIO = 1.3
"""Minimum factor by which a cause that is reported reduces the residual of a joint."""

OBVIOUS_RESIDUAL_RATIO = 2.0
"""Residual ratio above which a significant cause is reported, however small its torque:
unmodeled friction may act at low speeds only."""

MAX_STEPS = 2
"""Maximum number of further Gauss-Newton steps of a correction."""

MAX_ROUNDS = 15
"""Maximum number of rounds of the search."""

MAX_FAULT_ROUNDS = 3
"""Maximum number of data faults."""

GENERAL_KINDS = {"torque-offset": ("asymmetric-friction", "torque-drift")}
"""By kind: general kinds of which it is a special case, and with which it does not compete."""

MAX_GAIN_LOSS_SHARE = 0.25
"""Share of a gain that a special case may lose: further causes can recover it."""

MAX_CONSISTENT_RATIO = 1.5
"""Ratio of the residuals of consistent and unconstrained fit above which columns are suspect."""

MAX_RESIDUAL_SHARE = 0.1
"""Residual over the RMS torque above which columns are suspect."""


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The evidence of a round with its fit and candidates; faulty columns are tried separately."""

    evidence: Evidence
    fit: Fit
    projection: ResidualProjection
    columns: list[ColumnCandidate]
    gains: Float1D
    """Approximate gains of the columns."""
    corrections: list[CorrectionCandidate]
    """Delays, and torque scales that the nominal model suggests."""

    @classmethod
    def start(cls, evidence: Evidence, accepted: set[tuple[str, tuple[int, ...]]]) -> "_Round":
        fit = evidence.fit()
        projection = evidence.project_residual(fit)
        families = (torque_causes, friction_causes, structure_causes, list_coupling_causes)
        listed = [c for family in families for c in family(evidence, fit)]
        candidates = [*listed, *step_causes(evidence, projection, listed)]
        columns = [c for c in candidates if c.correct or (c.kind, c.joints) not in accepted]
        gains = projection.gains(evidence.y, [c.columns for c in columns])
        corrections = [*delay_causes(evidence, projection, MIN_GAIN), *scale_causes(evidence)]
        return cls(evidence, fit, projection, columns, gains, corrections)

    @property
    def margin(self) -> float:
        """Minimum significant gain."""
        return MIN_GAIN + float(np.log(len(self.columns) + len(self.corrections)))

    @property
    def finalists(self) -> list[ColumnCandidate]:
        """The candidate columns with the largest approximate gains."""
        return pick_finalists(self.columns, self.gains, self.margin)


def search_causes(evidence: Evidence) -> tuple[list[AcceptedCause], Evidence]:
    """Search for causes; return them in order of acceptance, and the evidence with all of them."""
    accepted: list[AcceptedCause] = []
    for _ in range(MAX_FAULT_ROUNDS):
        fault = find_data_fault(evidence, MIN_GAIN)
        if fault is None:
            break
        candidate, gain = fault
        after = evidence.apply_correction(candidate.correction)
        residual = (_noise_share(evidence), _noise_share(after))
        accepted.append(
            AcceptedCause(candidate, np.zeros(0), np.array([gain]), residual, uses_nominal=True)
        )
        evidence = after
    for _ in range(MAX_ROUNDS):
        used = {(a.kind, a.joints) for a in accepted if isinstance(a.candidate, ColumnCandidate)}
        state = _Round.start(evidence, used)
        column = _find_implausible_column(state)
        new = [column] if column is not None else _accept_best(state)
        if not new:
            break
        for cause in new:
            evidence = _iterate_correction(cause, cause.correct_evidence(evidence))
        accepted += new
    # Estimate delays again, given the other causes.
    if delays := {cause.joints for cause in accepted if cause.kind == "torque-delay"}:
        fit = evidence.fit()
        for correction in delay_causes(evidence, evidence.project_residual(fit), 0.0):
            if correction.joints in delays:
                evidence = evidence.apply_correction(correction.correction)
    accepted, evidence = _simplify(accepted, evidence)
    # Drop causes that later ones have made unnecessary.
    columns = [cause for cause in accepted if cause.is_column]
    groups = list_groups(evidence.W.shape[2], [cause.value.size for cause in columns])
    needed = select_groups(evidence.sum_by_block(), np.arange(evidence.width), groups, _judge)
    unneeded = {id(cause) for k, cause in enumerate(columns) if k not in needed}
    reported = [cause for cause in accepted if cause.is_significant and id(cause) not in unneeded]
    return merge_sign_causes(reported), evidence


def _noise_share(evidence: Evidence) -> Float1D:
    """Compute the noise of the rows per joint over the RMS torque, shape (n,)."""
    return evidence.fit().sigma / evidence.rms_torque


def _iterate_correction(cause: AcceptedCause, evidence: Evidence) -> Evidence:
    """Iterate a correction by Gauss-Newton until it converges.

    The residual of the first step would be mistaken for another cause.
    """
    if isinstance(cause.candidate, CorrectionCandidate) or cause.candidate.correct is None:
        return evidence
    for _ in range(MAX_STEPS):
        fit = evidence.fit()
        candidates = (*torque_causes(evidence, fit), *structure_causes(evidence, fit))
        key = (cause.kind, cause.candidate.joint)
        update = next((c for c in candidates if (c.kind, c.joint) == key), None)
        if update is None or update.correct is None:
            break
        blocks = evidence.sum_by_block(update.columns)
        value = blocks.fit(np.arange(evidence.width + cause.value.size)).beta[evidence.width :]
        if not update.lower < value[0] < update.upper:
            break
        evidence = evidence.apply_correction(update.correct(value))
    return evidence


def _simplify(
    accepted: list[AcceptedCause], evidence: Evidence
) -> tuple[list[AcceptedCause], Evidence]:
    """Replace general causes by special cases that now explain as much.

    With a wrong torque constant, an offset resembles asymmetric friction until the constant is
    corrected.
    """
    fit = evidence.fit()
    special = {(c.kind, c.joints): c for c in torque_causes(evidence, fit)}
    causes, column_offset, result = {(cause.kind, cause.joints) for cause in accepted}, 0, []
    for cause in accepted:
        if not cause.is_column:
            result.append(cause)
            continue
        kinds = [kind for kind, general in GENERAL_KINDS.items() if cause.kind in general]
        for candidate in (special.get((kind, cause.joints)) for kind in kinds):
            if candidate is not None and (candidate.kind, cause.joints) not in causes:
                changed = evidence.replace_columns(
                    column_offset, cause.value.size, candidate.columns
                )
                loss = _score(evidence) - _score(changed)
                if loss.sum() - loss.max() < MIN_GAIN:
                    evidence, gains = changed, cause.gains - loss
                    beta = evidence.fit().beta
                    value = beta[evidence.W.shape[2] + column_offset :][
                        : candidate.columns.shape[2]
                    ]
                    cause = replace(cause, candidate=candidate, value=value, gains=gains)
        column_offset += cause.value.size
        result.append(cause)
    return result, evidence


def _score(evidence: Evidence) -> Float1D:
    return evidence.sum_by_block().score(np.arange(evidence.width))


def _judge(gain: Float1D) -> tuple[bool, float]:
    """Return whether the gain of a cause given the others is significant, and its size."""
    return bool(gain.sum() - gain.max() > MIN_GAIN), float(gain.sum() - gain.max())


def _accept_best(state: _Round) -> list[AcceptedCause]:
    """Return the best candidate, and significant ones of the same kind for other joints."""
    scored = _score_extensions(state)
    evidence, columns = state.evidence, np.arange(state.evidence.width)
    before = evidence.sum_by_block().score(columns)
    for candidate in state.corrections:
        after = evidence.apply_correction(candidate.correction)
        change = np.sqrt(((after.y - evidence.y) ** 2).mean(axis=0)) / evidence.rms_torque
        blocks = after.sum_by_block()
        likelihood_gain = blocks.fit(columns).likelihood - state.fit.likelihood
        if likelihood_gain >= state.margin and change.max() >= MIN_TORQUE_SHARE:
            residual = (
                state.fit.sigma / evidence.rms_torque,
                blocks.fit(columns).sigma / after.rms_torque,
            )
            gains = blocks.score(columns) - before
            scored.append(AcceptedCause(candidate, np.zeros(0), gains, residual))
    certain = (s for s in scored if s.gain - s.gains.max() > state.margin)
    if not (passed := [s for s in certain if s.residual_ratio > MIN_RESIDUAL_RATIO or s.is_large]):
        return []
    top = max(passed, key=lambda s: s.gain)
    equal = [s for s in passed if _is_no_worse(s, top)]
    best = select_candidate(evidence, equal)
    corrected = (
        isinstance(best.candidate, CorrectionCandidate) or best.candidate.correct is not None
    )
    if corrected or len(best.joints) != 1:  # joints compete for the same deviation
        return [replace(best, alternatives=_find_equals(state, best, equal))]
    alike = [s for s in passed if s.kind == best.kind and s.joints not in (best.joints, ())]
    others = {s.joints: s for s in sorted(alike, key=lambda s: s.gain)}
    return [replace(best, alternatives=_find_equals(state, best, equal)), *others.values()]


def _find_equals(state: _Round, best: AcceptedCause, equal: list[AcceptedCause]) -> tuple[str, ...]:
    """List kinds that explain as much, and gain nothing once the best is accepted."""
    general = (best.kind, *GENERAL_KINDS.get(best.kind, ()))
    others = [s for s in equal if s.kind not in general]
    after = best.correct_evidence(state.evidence) if others else state.evidence
    columns, kinds = np.arange(after.width), set()
    for other in others:
        candidate = other.candidate
        if isinstance(candidate, CorrectionCandidate):
            gains = after.apply_correction(candidate.correction).sum_by_block().score(columns)
            gains = gains - after.sum_by_block().score(columns)
        else:
            blocks = after.sum_by_block(candidate.columns)
            gains = blocks.score(np.arange(after.width + other.value.size)) - blocks.score(columns)
        if gains.sum() < MIN_GAIN:
            kinds.add(other.kind)
    return tuple(sorted(kinds))


def _count(scored: AcceptedCause) -> int:
    """Count the parameters of a candidate."""
    return max(scored.value.size, 1)


def select_candidate(evidence: Evidence, equal: Sequence[AcceptedCause]) -> AcceptedCause:
    """Select the candidate with the fewest parameters, then the largest gain.

    Two joints only determine the ratio of their torque constants: the candidate with torques
    nearest to the nominal model is selected.
    """
    best = min(equal, key=lambda s: (_count(s), -s.gain))
    if best.kind != "torque-scale":
        return best
    constants = [s for s in equal if s.kind == best.kind and _count(s) == _count(best)]
    return min(
        constants, key=lambda s: np.sum(np.log(nominal_ratio(s.correct_evidence(evidence))) ** 2)
    )


def _is_no_worse(candidate: AcceptedCause, top: AcceptedCause) -> bool:
    """Return whether a candidate explains as much as `top`, or nearly if it is a special case."""
    special = candidate.joints == top.joints and top.kind in GENERAL_KINDS.get(candidate.kind, ())
    return is_no_worse(
        candidate.gains,
        top.gains,
        max(TIE_TOLERANCE, MAX_GAIN_LOSS_SHARE * top.gain) if special else TIE_TOLERANCE,
    )


def _score_extensions(state: _Round) -> list[AcceptedCause]:
    evidence, finalists = state.evidence, state.finalists
    if not finalists:
        return []
    blocks = evidence.sum_by_block(np.concatenate([c.columns for c in finalists], axis=2))
    scored, tried = [], fit_groups(blocks, evidence.width, [c.size for c in finalists])
    for candidate, (fit, gains) in zip(finalists, tried, strict=True):
        value = fit.beta[evidence.width :]
        torque = np.sqrt(((candidate.columns @ value) ** 2).mean(axis=0)) / evidence.rms_torque
        if not candidate.is_possible(value):
            continue
        obvious = (
            bool(candidate.min_sizes)
            and (state.fit.sigma > OBVIOUS_RESIDUAL_RATIO * fit.sigma).any()
        )
        large = bool(obvious or candidate.by_size or torque.max() >= MIN_TORQUE_SHARE)
        significant = large and candidate.is_relevant(value)
        residual = (state.fit.sigma / evidence.rms_torque, fit.sigma / evidence.rms_torque)
        scored.append(AcceptedCause(candidate, value, gains, residual, is_significant=significant))
    return scored


def _find_implausible_column(state: _Round) -> AcceptedCause | None:
    """Find a faulty column by fits of physically consistent robots, if there is one."""
    evidence = state.evidence
    program = ConsistentProgram(evidence.nominal, evidence.basis)
    before = ConsistentFit.fit_evidence(evidence, program)
    if not np.isfinite(before.rms).all():  # a joint at rest, or the solver failed
        return None
    suspect = (before.rms / before.unconstrained > MAX_CONSISTENT_RATIO) & (
        before.rms > 2.0 * MIN_TORQUE_SHARE * evidence.rms_torque
    )
    if (
        not suspect.any()
        and (before.unconstrained < MAX_RESIDUAL_SHARE * evidence.rms_torque).all()
    ):
        return None
    candidates, quick = column_causes(evidence), evidence.skip_low_pass()
    columns = np.arange(quick.width)
    signs = [r for r in candidates if r.kind == TORQUE_SIGN_KIND]
    others = [r for r in candidates if r not in signs]
    likelihood = [
        quick.apply_correction(r.correction).sum_by_block().fit(columns).likelihood for r in others
    ]
    best = np.argsort(-np.array(likelihood), kind="stable")[:FINALIST_COUNT]
    scored = []
    for candidate in (*signs, *(others[k] for k in best), *state.corrections, *state.finalists):
        value: Float1D = np.zeros(0)
        if isinstance(candidate, ColumnCandidate):
            fit = evidence.sum_by_block(candidate.columns)
            count = evidence.width + candidate.columns.shape[2]
            value = fit.fit(np.arange(count)).beta[evidence.width :]
            if not candidate.is_acceptable(value):
                continue
        cause = AcceptedCause(candidate, value, before.by_fold, (before.rms, before.rms))
        corrected = cause.correct_evidence(evidence)
        if corrected.nominal is not evidence.nominal:  # the program depends on gravity
            continue
        after = ConsistentFit.fit_evidence(corrected, program)
        gains = after.by_fold - before.by_fold
        residual = (before.rms / evidence.rms_torque, after.rms / corrected.rms_torque)
        scored.append(replace(cause, gains=gains, residual=residual))
    top = max(scored, key=lambda s: s.gain)
    if isinstance(top.candidate, ColumnCandidate):  # held-out rows decide on such a cause
        return None
    return top if top.gain > max(state.margin, MIN_GAIN_OVER_ERROR * top.std) else None
