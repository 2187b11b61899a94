"""Ticks of an axis: plain numbers, as many as fit beside each other."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import FixedLocator, Formatter, MaxNLocator, NullLocator

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Scale

SYMLOG_THRESHOLD = 4.0
"""A symlog axis is linear up to this."""

MIN_AXIS_RATIO = 5.0
"""Ratio of the ends of a logarithmic axis from which 1, 2 and 5 times powers of ten are enough."""

MIN_TICK_DISTANCE = {"x": 0.38, "y": 0.17}
"""Distance between ticks that keeps their labels apart [in]."""

PLAIN_RANGE = (1e-4, 1e5)
"""Largest tick between which numbers are written without an exponent."""

MAX_INTERVALS = {"x": 6, "y": 9}
"""Intervals between the ticks of a linear axis."""

TICK_STEPS = (1, 2, 2.5, 5, 10)
"""Distances between the ticks of a linear axis, but for a power of ten."""

MAX_DIGITS = 12
"""Decimals that are tried to write ticks apart."""


class PlainNumbers(Formatter):
    """Ticks as plain numbers: never an offset or a factor beside the axis, where titles stand."""

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - matplotlib's
        """Return the label of one tick, as `Formatter.__call__`."""
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks, as `Formatter.format_ticks`."""
        largest = max((abs(value) for value in values), default=0.0)
        if largest == 0.0 or PLAIN_RANGE[0] <= largest < PLAIN_RANGE[1]:
            decimals = _decimals(values)
            return [_minus(f"{value + 0.0:.{decimals}f}") for value in values]
        power = int(np.floor(np.log10(largest)))
        scaled = [value / 10.0**power for value in values]
        decimals = _decimals(scaled)
        return [_minus(f"{v:.{decimals}f}e{power}") if v else "0" for v in scaled]


class PlainLogNumbers(PlainNumbers):
    """The same where ticks are decades apart: every number has the digits that it needs."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks, as `Formatter.format_ticks`."""
        return [label for value in values for label in PlainNumbers.format_ticks(self, [value])]


def set_ticks(axis: Axis, scale: Scale, length: float) -> None:
    """Set the ticks of an axis whose limits are known.

    A logarithmic axis that spans less than `MIN_AXIS_RATIO` has the ticks of a linear one: powers
    of ten would leave it with none, and matplotlib's minor labels overprint.

    `length` is that of the axis [in].
    """
    which: Literal["x", "y"] = "x" if isinstance(axis, XAxis) else "y"
    low, high = sorted(axis.get_view_interval())
    most = max(2, min(MAX_INTERVALS[which], int(length / (1.25 * MIN_TICK_DISTANCE[which]))))
    if scale == "symlog" and max(-low, high) > SYMLOG_THRESHOLD:
        candidates = symlog_candidates(low, high)
    elif scale == "log" and high >= MIN_AXIS_RATIO * low:
        candidates = _log_candidates(low, high)
    else:
        axis.set_major_locator(MaxNLocator(most, steps=TICK_STEPS))
        axis.set_major_formatter(PlainNumbers())
        axis.set_minor_locator(NullLocator())
        return
    transform = axis.get_transform()
    first, last = transform.transform(np.array(axis.get_view_interval()))
    places = (transform.transform(np.array(candidates)) - first) / (last - first) * length
    at = apart(candidates, np.asarray(places), MIN_TICK_DISTANCE[which])
    axis.set_major_locator(FixedLocator(at))
    axis.set_major_formatter(PlainLogNumbers())
    axis.set_minor_locator(NullLocator())


def _log_candidates(low: float, high: float) -> list[float]:
    """Return ticks between two limits by importance: powers of ten, then 2 and 5 times them."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    every = -(-len(powers) // 6)
    ticks = [float(f"{lead}e{p}") for lead in (1, 2, 5) for p in powers if p % every == 0]
    return [value for value in ticks if low <= value <= high]


def symlog_candidates(low: float, high: float) -> list[float]:
    """Return ticks by importance: zero, powers of ten on both sides, then the linear part."""
    side = _log_candidates(SYMLOG_THRESHOLD, max(-low, high, 10.0 * SYMLOG_THRESHOLD))
    powers = [value for value in side if np.log10(value).is_integer()]
    ticks = [0.0, *(s * v for v in powers for s in (1.0, -1.0))]
    ticks += [s * v for v in (SYMLOG_THRESHOLD, 0.5 * SYMLOG_THRESHOLD) for s in (1.0, -1.0)]
    return [value for value in ticks if low <= value <= high]


def apart(candidates: Sequence[float], places: Float1D, least: float) -> list[float]:
    """Return the candidates whose places are at least so far from those of all before them."""
    chosen: list[int] = []
    for k, place in enumerate(places):
        if all(abs(place - places[other]) >= least for other in chosen):
            chosen.append(k)
    return sorted(candidates[k] for k in chosen)


def _decimals(values: Sequence[float]) -> int:
    """Return the decimals that write all values exactly, as far as ticks go."""
    size = max((abs(value) for value in values), default=0.0)
    for decimals in range(MAX_DIGITS):
        if all(abs(round(value, decimals) - value) <= 1e-9 * size for value in values):
            return decimals
    return MAX_DIGITS


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
