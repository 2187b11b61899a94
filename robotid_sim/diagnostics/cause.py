"""Causes of a diagnosis with evidence and remedy, and candidate causes."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.evidence import Correction
from robotid_sim.docstrings import document_attributes
from robotid_sim.estimation.selection import Hypothesis
from robotid_sim.renamed import old_members

HEALTHY_TEXT = "No fault found."
SMALL_CAUSES_TEXT = (
    "Smaller effects, such as friction at low speed, are reported by `robotid identify` as "
    "unmodeled torque and included in its intervals."
)


class Wording(NamedTuple):
    """Texts of a cause."""

    finding: str
    """Fault, as a sentence without full stop and joint name."""
    remedy: str
    """Remedy, without full stop."""

    def fill(self, value: Float1D, **texts: object) -> "Wording":
        """Insert the parameters of a cause, and further texts, into the templates."""
        numbers = {"minus": -value[0], "twice": 2.0 * value[0], "total": 1.0 + value[0]}
        size = np.linalg.norm(value)
        return Wording(*(t.format(value=value, size=size, **numbers, **texts) for t in self))


@document_attributes
@dataclass(frozen=True, slots=True)
class Cause:
    """A fault of a log or of its model."""

    kind: str
    """Name of the cause, lower-case kebab-case."""
    joints: tuple[str, ...]
    """Joints concerned; empty for all."""
    finding: str
    evidence: str
    remedy: str
    gain: float | None = None
    """Gain of the held-out log-likelihood; None for causes found without a model."""
    gain_std: float | None = None
    """Standard error of the gain over the blocks."""
    alternatives: tuple[str, ...] = ()
    """Kinds of causes that explain the log equally well."""

    @property
    def sentence(self) -> str:
        """Joint and finding as a sentence."""
        prefix = f"{', '.join(self.joints)}: " if self.joints else ""
        text = self.finding if prefix else self.finding[0].upper() + self.finding[1:]
        return f"{prefix}{text}."

    @property
    def advice(self) -> str:
        """Joint, finding and remedy as sentences."""
        return f"{self.sentence} {self.remedy[0].upper()}{self.remedy[1:]}."


@old_members(healthy="is_healthy")
@document_attributes
@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Faults of a log and its model, in the order in which they were found."""

    causes: tuple[Cause, ...]
    not_detectable: tuple[str, ...] = ()
    """Faults that are not detectable from the log, one sentence each."""

    @property
    def is_healthy(self) -> bool:
        """Whether no fault was found."""
        return not self.causes

    def sentences(self) -> list[str]:
        """List all causes with evidence and remedy as text, or state that no fault was found."""
        if self.is_healthy:
            return [HEALTHY_TEXT, SMALL_CAUSES_TEXT, *self.not_detectable]
        lines = []
        for number, cause in enumerate(self.causes, start=1):
            lines += [
                f"{number}. {cause.kind}: {cause.sentence}",
                f"   Evidence: {cause.evidence}.",
                f"   Remedy: {cause.remedy}.",
            ]
        return [*lines, *self.not_detectable]

    def content(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        causes = [asdict(cause) for cause in self.causes]
        return {
            "no_fault_found": self.is_healthy,
            "causes": causes,
            "not_detectable": list(self.not_detectable),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCandidate(Hypothesis):
    """A candidate cause that adds columns to the linear problem."""

    wording: Callable[[Float1D], Wording]
    """Function that makes texts from the fitted parameters, shape (k,)."""
    min_sizes: tuple[float, ...] = ()
    """Minimum sizes of the parameters, one of which must be reached; empty if any is relevant."""
    lower: float = -np.inf
    upper: float = np.inf
    """Bounds of the first parameter."""
    correct: Callable[[Float1D], Correction] | None = None
    """Makes a correction, which replaces the columns, from the fitted parameters."""
    combine: Callable[[Correction], Float1D] | None = None
    """Computes the combined parameters of all corrections of the search."""
    by_size: bool = False
    """Whether the size of the parameters alone decides relevance, not their torque: a fault of the
    positions also matters where it causes little torque."""
    partner: int | None = None
    """Second joint of a cause that concerns two."""

    @property
    def joints(self) -> tuple[int, ...]:
        """Joints that it concerns, in their order; empty for all."""
        return tuple(sorted(j for j in (self.joint, self.partner) if j is not None))

    def is_possible(self, value: Float1D) -> bool:
        """Return whether fitted parameters, shape (k,), are within the bounds."""
        return bool(self.lower < value[0] < self.upper)

    def is_relevant(self, value: Float1D) -> bool:
        """Return whether fitted parameters, shape (k,), reach one of `min_sizes`."""
        return not self.min_sizes or bool((np.abs(value) >= self.min_sizes).any())

    def is_acceptable(self, value: Float1D) -> bool:
        """Return whether fitted parameters, shape (k,), are possible and significant."""
        return self.is_possible(value) and self.is_relevant(value)


@dataclass(frozen=True, slots=True, eq=False)
class CorrectionCandidate:
    """A candidate cause that corrects columns of the log."""

    kind: str
    joints: tuple[int, ...]
    """Empty for all."""
    correction: Correction
    wording: Wording | Callable[[Correction], Wording]
    """Texts, which may depend on all corrections of the search."""
