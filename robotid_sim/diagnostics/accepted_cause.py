"""A candidate cause that the search accepted, with its gain in log-likelihood."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.cause import ColumnCandidate, CorrectionCandidate, Wording
from robotid_sim.diagnostics.column_causes import TORQUE_SIGN_KIND, torque_signs
from robotid_sim.diagnostics.evidence import Correction, Evidence


@dataclass(frozen=True, slots=True, eq=False)
class AcceptedCause:
    """An accepted candidate with its gain by block."""

    candidate: ColumnCandidate | CorrectionCandidate
    value: Float1D
    """Fitted parameters; empty for a correction without parameters."""
    gains: Float1D
    residual: tuple[Float1D, Float1D]
    """Noise of the rows per joint over RMS torque, without and with the cause, both shape (n,)."""
    alternatives: tuple[str, ...] = ()
    """Kinds of causes that explain the log equally well."""
    uses_nominal: bool = False
    """Whether the gain is from a likelihood with a wide prior about the nominal model."""
    is_significant: bool = True
    """Whether it is reported; others are accepted too, lest their torque suggest a wrong cause."""

    @property
    def kind(self) -> str:
        """Name of the cause."""
        return self.candidate.kind

    @property
    def joints(self) -> tuple[int, ...]:
        """Joints that it concerns; empty for all."""
        return self.candidate.joints

    def describe(self, correction: Correction) -> Wording:
        """Make the texts of the cause, given all corrections of the search."""
        candidate = self.candidate
        if isinstance(candidate, ColumnCandidate):
            combine = candidate.combine
            return candidate.wording(self.value if combine is None else combine(correction))
        wording = candidate.wording
        return wording if isinstance(wording, Wording) else wording(correction)

    @property
    def is_column(self) -> bool:
        """Whether it adds columns to the regressor."""
        return isinstance(self.candidate, ColumnCandidate) and self.candidate.correct is None

    @property
    def is_large(self) -> bool:
        """Whether the size of its parameters makes it significant."""
        cause = self.candidate
        if not isinstance(cause, ColumnCandidate):
            return False
        return cause.by_size and cause.is_relevant(self.value)

    @property
    def gain(self) -> float:
        """Gain of the log-likelihood over all blocks."""
        return float(self.gains.sum())

    @property
    def std(self) -> float:
        """Standard error of the gain over the blocks; NaN if the gain is not by block."""
        if self.uses_nominal:
            return float("nan")
        return float(np.sqrt(self.gains.size) * self.gains.std(ddof=1))

    @property
    def residual_ratio(self) -> float:
        """Ratio of the noise without the cause to that with it, the largest of all joints."""
        before, after = self.residual
        return float((before / after).max())

    def correct_evidence(self, evidence: Evidence) -> Evidence:
        """Apply this cause to the evidence."""
        candidate = self.candidate
        if isinstance(candidate, CorrectionCandidate):
            return evidence.apply_correction(candidate.correction)
        if candidate.correct is not None:
            return evidence.apply_correction(candidate.correct(self.value))
        return evidence.add_columns(candidate.columns)


def merge_sign_causes(accepted: Sequence[AcceptedCause]) -> list[AcceptedCause]:
    """Merge all wrong torque signs into one cause, at the place of the first.

    Successive causes combine: inverting all torques, and then two of them, inverts only the others.
    """
    parts = [cause for cause in accepted if cause.kind == TORQUE_SIGN_KIND]
    if len(parts) < 2:
        return list(accepted)
    corrections = [c.candidate for c in parts if isinstance(c.candidate, CorrectionCandidate)]
    signs = np.prod([each.correction.torque.diagonal() for each in corrections], axis=0)
    merged = replace(
        parts[0],
        candidate=torque_signs(signs),
        gains=np.array([sum(part.gain for part in parts)]),
        residual=(parts[0].residual[0], parts[-1].residual[1]),
        uses_nominal=True,
    )
    sign_cause = [merged] if (signs < 0.0).any() else []
    first = next(k for k, cause in enumerate(accepted) if cause is parts[0])
    others = [cause for cause in accepted if cause.kind != TORQUE_SIGN_KIND]
    return [*others[:first], *sign_cause, *others[first:]]
