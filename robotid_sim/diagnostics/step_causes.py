"""Candidate causes: a position whose zero changes during a log, as where a belt skips a tooth."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.cause import Extension, Wording
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.diagnostics.screening import Remainder

TRIED = 16
"""Times of a step that are tried over a log, and again between the neighbors of the best."""

NOTABLE = {"rad": 2e-3, "m": 2e-4}
"""Least step that is worth a word, by the unit of the joint."""


def step_causes(
    evidence: Evidence, projection: Remainder, known: Sequence[Extension]
) -> list[Extension]:
    """Return the likeliest step of the zero of every joint.

    The torque of a step is that of a wrong zero from its time on, one of the `known` candidates.
    """
    candidates = []
    samples = len(evidence.y)
    for zero in known:
        joint = zero.joint
        if joint is None or zero.kind != "position-zero":
            continue
        first, last = samples / TRIED, samples * (1.0 - 1.0 / TRIED)
        at = 0
        for _ in range(2):
            times = np.unique(np.linspace(first, last, TRIED).astype(int))
            steps = [zero.columns * (np.arange(samples) >= k)[:, None, None] for k in times]
            best = int(projection.gains(evidence.y, steps).argmax())
            first, at, last = (times[np.clip(best + k, 0, len(times) - 1)] for k in (-1, 0, 1))
        unit = evidence.nominal.joint_units[joint]
        words = partial(_step, unit, at / samples)
        least = (NOTABLE[unit],)
        candidates.append(
            Extension("position-step", joint, steps[best], words, least, by_size=True)
        )
    return candidates


def _step(unit: str, share: float, value: Float1D) -> Wording:
    return Wording(
        f"the zero of the position jumps by {-value[0]:+.2g} {unit} after {share:.0%} of the log",
        "look for a belt or a coupling that has slipped, reference the joint and record again",
    )
