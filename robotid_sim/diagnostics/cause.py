"""What a diagnosis says: causes by name with evidence and remedy, and candidates for them."""

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
    """A cause in words."""

    finding: str
    """What is wrong, a sentence without its full stop and without the joint."""
    remedy: str
    """What to do, likewise."""

    def fill(self, value: Float1D, **others: object) -> "Wording":
        """Put the parameters of a cause, and others, in the places of their names."""
        numbers = {"minus": -value[0], "twice": 2.0 * value[0], "total": 1.0 + value[0]}
        size = np.linalg.norm(value)
        return Wording(*(t.format(value=value, size=size, **numbers, **others) for t in self))


@document_attributes
@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with a log or with the model for it."""

    kind: str
    """Name of the cause, lower-case kebab-case."""
    joints: tuple[str, ...]
    """Joints that it concerns; empty for all."""
    finding: str
    evidence: str
    remedy: str
    gain: float | None = None
    """Held-out log-likelihood that it gains; None for what was found without a model."""
    gain_std: float | None = None
    """Standard error of the gain over the blocks."""
    alternatives: tuple[str, ...] = ()
    """Other kinds of causes that explain the log as well."""

    @property
    def sentence(self) -> str:
        """What is wrong and where."""
        where = f"{', '.join(self.joints)}: " if self.joints else ""
        text = self.finding if where else self.finding[0].upper() + self.finding[1:]
        return f"{where}{text}."

    @property
    def advice(self) -> str:
        """What is wrong and where, and what to do."""
        return f"{self.sentence} {self.remedy[0].upper()}{self.remedy[1:]}."


@old_members(healthy="is_healthy")
@document_attributes
@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What speaks against a log and its model, in the order in which it was found."""

    causes: tuple[Cause, ...]
    unseen: tuple[str, ...] = ()
    """What the log could not have shown, one sentence each."""

    @property
    def is_healthy(self) -> bool:
        """Whether there is nothing."""
        return not self.causes

    def sentences(self) -> list[str]:
        """Return in words that nothing is wrong, or every cause with evidence and remedy."""
        if self.is_healthy:
            return [HEALTHY_TEXT, SMALL_CAUSES_TEXT, *self.unseen]
        lines = []
        for number, cause in enumerate(self.causes, start=1):
            lines += [
                f"{number}. {cause.kind}: {cause.sentence}",
                f"   Evidence: {cause.evidence}.",
                f"   Remedy: {cause.remedy}.",
            ]
        return [*lines, *self.unseen]

    def content(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        causes = [asdict(cause) for cause in self.causes]
        return {
            "no_fault_found": self.is_healthy,
            "causes": causes,
            "not_detectable": list(self.unseen),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCandidate(Hypothesis):
    """A candidate that adds columns to the linear problem."""

    words: Callable[[Float1D], Wording]
    """From the fitted parameters, shape (k,), to words."""
    least: tuple[float, ...] = ()
    """Sizes of the parameters of which one has to be reached to be worth a word; none if empty."""
    lower: float = -np.inf
    upper: float = np.inf
    """Bounds of what the first parameter can be."""
    corrected: Callable[[Float1D], Correction] | None = None
    """From the fitted parameters to a correction that takes the place of the columns."""
    total: Callable[[Correction], Float1D] | None = None
    """From all corrections of the search to the parameters that they make together."""
    by_size: bool = False
    """Whether it is worth a word by the size of its parameters, however small its torque: a fault
    of positions is the same at every load."""
    partner: int | None = None
    """Another joint that it concerns."""

    @property
    def joints(self) -> tuple[int, ...]:
        """Joints that it concerns, in their order; empty for all."""
        return tuple(sorted(j for j in (self.joint, self.partner) if j is not None))

    def is_possible(self, value: Float1D) -> bool:
        """Return whether fitted parameters, shape (k,), make sense."""
        return bool(self.lower < value[0] < self.upper)

    def is_notable(self, value: Float1D) -> bool:
        """Return whether fitted parameters, shape (k,), are worth a word."""
        return not self.least or bool((np.abs(value) >= self.least).any())

    def is_acceptable(self, value: Float1D) -> bool:
        """Return whether fitted parameters, shape (k,), make sense and are worth a word."""
        return self.is_possible(value) and self.is_notable(value)


@dataclass(frozen=True, slots=True, eq=False)
class CorrectionCandidate:
    """A candidate that changes the columns of the log."""

    kind: str
    joints: tuple[int, ...]
    """Empty for all."""
    correction: Correction
    words: Wording | Callable[[Correction], Wording]
    """The cause in words, which may depend on all corrections of the search."""
