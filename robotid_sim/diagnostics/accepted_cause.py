"""A candidate cause with what it gains, as the search accepts it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.cause import ColumnCandidate, CorrectionCandidate, Wording
from robotid_sim.diagnostics.column_causes import TORQUE_SIGN_KIND, torque_signs
from robotid_sim.diagnostics.evidence import Correction, Evidence


@dataclass(frozen=True, slots=True, eq=False)
class AcceptedCause:
    """A candidate with what it gains, by block."""

    candidate: ColumnCandidate | CorrectionCandidate
    value: Float1D
    """Fitted parameters; empty for a correction that has none."""
    gains: Float1D
    residual: tuple[Float1D, Float1D]
    """Noise of every joint's rows over its RMS torque, without and with it, both shape (n,)."""
    alternatives: tuple[str, ...] = ()
    """Other kinds that explain the log as well."""
    informed: bool = False
    """Whether the gain is that of a likelihood that takes the nominal model for roughly right."""
    notable: bool = True
    """Whether it is worth a word; one that is not still explains what others would be taken for."""

    @property
    def kind(self) -> str:
        """Name of the cause."""
        return self.candidate.kind

    @property
    def joints(self) -> tuple[int, ...]:
        """Joints that it concerns; empty for all."""
        return self.candidate.joints

    def words(self, correction: Correction) -> Wording:
        """Return the cause in words, once all corrections of the search are known."""
        candidate = self.candidate
        if isinstance(candidate, ColumnCandidate):
            total = candidate.total
            return candidate.words(self.value if total is None else total(correction))
        words = candidate.words
        return words if isinstance(words, Wording) else words(correction)

    @property
    def is_column(self) -> bool:
        """Whether it stands beside the parameters as further columns."""
        return isinstance(self.candidate, ColumnCandidate) and self.candidate.corrected is None

    @property
    def is_sizable(self) -> bool:
        """Whether it is worth a word by the size of its parameters."""
        one = self.candidate
        return isinstance(one, ColumnCandidate) and one.by_size and one.is_notable(self.value)

    @property
    def gain(self) -> float:
        """Gain of the log-likelihood over all blocks."""
        return float(self.gains.sum())

    @property
    def std(self) -> float:
        """Standard error of the gain over the blocks; NaN for one that is not of blocks."""
        if self.informed:
            return float("nan")
        return float(np.sqrt(self.gains.size) * self.gains.std(ddof=1))

    @property
    def fall(self) -> float:
        """Largest factor by which the noise of a joint's rows falls."""
        before, after = self.residual
        return float((before / after).max())

    def correct_evidence(self, evidence: Evidence) -> Evidence:
        """Return the evidence with this cause accounted for."""
        candidate = self.candidate
        if isinstance(candidate, CorrectionCandidate):
            return evidence.apply_correction(candidate.correction)
        if candidate.corrected is not None:
            return evidence.apply_correction(candidate.corrected(self.value))
        return evidence.add_columns(candidate.columns)


def merge_sign_causes(accepted: Sequence[AcceptedCause]) -> list[AcceptedCause]:
    """Return the causes with all wrong signs of torques as one, where the first of them stands.

    The signs of all torques, and once more those of two, are the signs of the others.
    """
    parts = [one for one in accepted if one.kind == TORQUE_SIGN_KIND]
    if len(parts) < 2:
        return list(accepted)
    signs = np.prod([_signs(part) for part in parts], axis=0)
    whole = replace(
        parts[0],
        candidate=torque_signs(signs),
        gains=np.array([sum(part.gain for part in parts)]),
        residual=(parts[0].residual[0], parts[-1].residual[1]),
        informed=True,
    )
    wrong = [whole] if (signs < 0.0).any() else []
    first = next(k for k, one in enumerate(accepted) if one is parts[0])
    others = [one for one in accepted if one.kind != TORQUE_SIGN_KIND]
    return [*others[:first], *wrong, *others[first:]]


def _signs(one: AcceptedCause) -> Float1D:
    assert isinstance(one.candidate, CorrectionCandidate), "a sign is no further column"
    return np.asarray(one.candidate.correction.torque.diagonal())
