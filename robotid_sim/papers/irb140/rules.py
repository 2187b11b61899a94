"""Rules that turn numbers into verdicts, the same for all claims of this paper."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robotid_sim.papers.claims import Band, Verdict, fits, interval_of_mean

Interval = tuple[float, float] | None

NEAR_OPTIMUM = 1.01
"""Cost over its minimum below which a search has found the parameters that torques show."""

FROZEN = 10.0
"""Iterations before which a swarm has found its best point when it stagnates early."""

FAR = 1e6
"""Distance, in boxes, from which on a swarm has flown away."""


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> tuple[float, Interval]:
    """Return the ratio of geometric means over the runs, and its 95 % interval.

    Parameters
    ----------
    numerator, denominator : array_like, shape (R,)
        One positive value a run.
    """
    logs = np.log(np.asarray(numerator, dtype=float)) - np.log(np.asarray(denominator, dtype=float))
    interval = interval_of_mean(logs)
    spread = None if interval is None else (float(np.exp(interval[0])), float(np.exp(interval[1])))
    return float(np.exp(logs.mean())), spread


def is_above(value: float, interval: Interval, level: float) -> bool:
    """Return whether a number lies above a level with all of its interval."""
    return (value if interval is None else interval[0]) > level


def is_below(value: float, interval: Interval, level: float) -> bool:
    """Return whether a number lies below a level with all of its interval."""
    return (value if interval is None else interval[1]) < level


def if_holds(holds: bool, verdict: Verdict) -> Verdict:  # noqa: FBT001 - reads as a sentence
    """Return a verdict, or that the claim is not reproducible."""
    return verdict if holds else "not-reproducible"


def of_count(value: float, interval: Interval, band: Band, printed: float) -> Verdict:
    """Return the verdict on a count: its interval reaches into the band or holds the print."""
    return if_holds(fits(value, band, interval) or fits(printed, interval or band), "conditional")


def of_stagnation(last_gain: float, reach: float) -> Verdict:
    """Return the verdict on early stagnation, which is that of a swarm that flies away.

    Parameters
    ----------
    last_gain : float
        Last iteration that improved, median of the runs.
    reach : float
        Largest distance from the middle of the box [boxes], of the run that stays nearest.
    """
    return if_holds(last_gain < FROZEN and reach > FAR, "conditional")


def of_smoothness(spread: float, largest: float, lower: Sequence[bool]) -> Verdict:
    """Return the verdict on a smoother torque.

    Parameters
    ----------
    spread : float
        Largest difference of the torque rates of the models [%].
    largest : float
        Difference up to which they are alike [%].
    lower : sequence of bool
        Whether QPSO's rate is lower than PSO's, by joint.
    """
    return if_holds(spread > largest and all(lower), "conditional")


def of_ranking(steps: Sequence[tuple[float, Interval]]) -> Verdict:
    """Return the verdict on a ranking by the paired differences of its neighbors, best first.

    It holds if every difference, of the better to the next, is below zero with its interval.
    """
    return if_holds(all(is_below(*step, 0.0) for step in steps), "conditional")


def of_search_on_torques(own: Interval, best: float) -> Verdict:
    """Return the verdict on swarms that identify from torques.

    Parameters
    ----------
    own : tuple of float or None
        Interval of the cost of the paper's QPSO over the minimum.
    best : float
        The same cost of the best swarm, its median.
    """
    if own is not None and own[1] <= NEAR_OPTIMUM:
        return "reproduced"
    return if_holds(best <= NEAR_OPTIMUM, "conditional")
