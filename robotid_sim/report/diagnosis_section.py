"""What is wrong with a log or with its model: the section of a diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robotid_sim.section import Section
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.diagnostics.cause import Diagnosis


def diagnosis_section(diagnosis: Diagnosis | None) -> tuple[Section, ...]:
    """Return a diagnosis as a section; nothing if there is none."""
    return () if diagnosis is None else (_section(diagnosis),)


def _section(diagnosis: Diagnosis) -> Section:
    title = "Diagnosis"
    if diagnosis.healthy:
        nothing, small, *unseen = diagnosis.sentences()
        return Section(title=title, text=f"{nothing} {small}", notes=tuple(unseen))
    causes = diagnosis.causes
    table = Table.of(
        {
            "joint": [", ".join(cause.joints) or "all" for cause in causes],
            "finding": [cause.finding for cause in causes],
            "evidence": [cause.evidence for cause in causes],
            "remedy": [cause.remedy.replace("`", "") for cause in causes],
        },
        text_columns=4,
    )
    return Section(
        title=title,
        text="What explains the log better than the model alone, in the order in which it was "
        "found. A likelihood is that of rows that were left out of the fit, its logarithm with the "
        "standard error over eight blocks.",
        tables=(table,),
        notes=diagnosis.unseen,
    )
