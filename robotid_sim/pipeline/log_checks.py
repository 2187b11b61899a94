"""What speaks against logs before anything is fitted to them, and what is refused for it."""

from collections.abc import Sequence
from typing import NamedTuple

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import LogError
from robotid_sim.importing.reading import ReadLog
from robotid_sim.model.robot import Robot

EXCERPTS = 4
"""Parts of a long log in which errors are looked for before the fit."""


class LogWarnings(NamedTuple):
    """What contradicts logs, in words; empty if nothing does."""

    errors: str
    couplings: str

    def __str__(self) -> str:
        return "; ".join(filter(None, self))


def check_logs(
    logs: Sequence[ReadLog], nominal: Robot, basis: BaseParameters, *, refuse: bool = True
) -> LogWarnings:
    """Look for errors of logs that no robot like the nominal one can have recorded.

    Those are a wrong sign, unit, zero or column, a delay, and clipped torques: by the name of the
    log, beside coupled joints, or, to be refused, a `LogError`. Truths of the logs are ignored.
    """
    found = [contradictions(log.log, nominal, basis) for log in logs]
    errors, couplings = (
        "; ".join(
            f"{log.name}: {'; '.join(texts[kind])}"
            for log, texts in zip(logs, found, strict=True)
            if texts[kind]
        )
        for kind in range(2)
    )
    if errors and refuse:
        raise LogError(
            f"{errors}; correct the log, or give --force to go on with it as it is (`robotid "
            "diagnose` says more)"
        )
    return LogWarnings(errors, couplings)
