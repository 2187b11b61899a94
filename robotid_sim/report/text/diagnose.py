"""A diagnosis in words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from robotid_sim.importing.reading import Logs
from robotid_sim.report.text.parts import Text

if TYPE_CHECKING:
    from robotid_sim.diagnostics.cause import Diagnosis


def diagnose_text(diagnosis: "Diagnosis", logs: Logs) -> Iterator[Text]:
    """Return what was concluded when a log was read, and what is wrong with it."""
    yield from reading_text(logs)
    yield from diagnosis.sentences()


def reading_text(logs: Logs) -> Iterator[Text]:
    """Return what was concluded, dropped and resampled when logs were read."""
    for name, notes in logs.notes.items():
        for note in notes:
            yield f"{name}: {note}"
