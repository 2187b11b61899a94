"""Choose the ticks of an axis: decimal numbers whose labels do not overlap."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import FixedLocator, Formatter, MaxNLocator, NullLocator

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Scale

SYMLOG_THRESHOLD = 4.0
"""Largest value of the linear part of a symlog axis."""

MIN_AXIS_RATIO = 5.0
"""Smallest ratio of the ends of a logarithmic axis with ticks at 1, 2 and 5 times powers of ten."""

MIN_TICK_DISTANCE = {"x": 0.38, "y": 0.17}
"""Distance between ticks that keeps their labels apart [in]."""

DECIMAL_RANGE = (1e-4, 1e5)
"""Range of the largest tick in which numbers are written without an exponent."""

MAX_INTERVALS = {"x": 6, "y": 9}
"""Largest number of intervals between the ticks of a linear axis."""

TICK_STEPS = (1, 2, 2.5, 5, 10)
"""Distances between the ticks of a linear axis, times a power of ten."""

MAX_DIGITS = 12
"""Largest number of decimals of a tick label."""


class DecimalFormatter(Formatter):
    """Tick labels as decimal numbers, without an offset or factor that would cover the title."""

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - matplotlib's
        """Return the label of one tick, as `Formatter.__call__`."""
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks, as `Formatter.format_ticks`."""
        largest = max((abs(value) for value in values), default=0.0)
        if largest == 0.0 or DECIMAL_RANGE[0] <= largest < DECIMAL_RANGE[1]:
            decimals = _decimals(values)
            return [_minus(f"{value + 0.0:.{decimals}f}") for value in values]
        power = int(np.floor(np.log10(largest)))
        scaled = [value / 10.0**power for value in values]
        decimals = _decimals(scaled)
        return [_minus(f"{v:.{decimals}f}e{power}") if v else "0" for v in scaled]


class LogDecimalFormatter(DecimalFormatter):
    """Tick labels of a logarithmic axis, each with the digits that it needs."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks, as `Formatter.format_ticks`."""
        return [label for value in values for label in DecimalFormatter.format_ticks(self, [value])]


def set_ticks(axis: Axis, scale: Scale, length: float) -> None:
    """Set the ticks of an axis whose limits are known.

    A logarithmic axis that spans less than `MIN_AXIS_RATIO` has linear ticks: it contains no powers
    of ten, and the minor labels of matplotlib overlap.

    `length` is the length of the axis [in].
    """
    xy: Literal["x", "y"] = "x" if isinstance(axis, XAxis) else "y"
    low, high = sorted(axis.get_view_interval())
    most = max(2, min(MAX_INTERVALS[xy], int(length / (1.25 * MIN_TICK_DISTANCE[xy]))))
    if scale == "symlog" and max(-low, high) > SYMLOG_THRESHOLD:
        candidates = symlog_candidates(low, high)
    elif scale == "log" and high >= MIN_AXIS_RATIO * low:
        candidates = _log_candidates(low, high)
    else:
        axis.set_major_locator(MaxNLocator(most, steps=TICK_STEPS))
        axis.set_major_formatter(DecimalFormatter())
        axis.set_minor_locator(NullLocator())
        return
    transform = axis.get_transform()
    first, last = transform.transform(np.array(axis.get_view_interval()))
    places = (transform.transform(np.array(candidates)) - first) / (last - first) * length
    ticks = select_apart(candidates, np.asarray(places), MIN_TICK_DISTANCE[xy])
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(LogDecimalFormatter())
    axis.set_minor_locator(NullLocator())


def _log_candidates(low: float, high: float) -> list[float]:
    """Return ticks between two limits by priority: powers of ten, then 2 and 5 times them."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    every = -(-len(powers) // 6)
    ticks = [float(f"{lead}e{p}") for lead in (1, 2, 5) for p in powers if p % every == 0]
    return [value for value in ticks if low <= value <= high]


def symlog_candidates(low: float, high: float) -> list[float]:
    """Return ticks by priority: zero, powers of ten on both sides, then the linear part."""
    side = _log_candidates(SYMLOG_THRESHOLD, max(-low, high, 10.0 * SYMLOG_THRESHOLD))
    powers = [value for value in side if np.log10(value).is_integer()]
    ticks = [0.0, *(s * v for v in powers for s in (1.0, -1.0))]
    ticks += [s * v for v in (SYMLOG_THRESHOLD, 0.5 * SYMLOG_THRESHOLD) for s in (1.0, -1.0)]
    return [value for value in ticks if low <= value <= high]


def select_apart(candidates: Sequence[float], places: Float1D, distance: float) -> list[float]:
    """Select the candidates that are at least `distance` away from the previously selected ones."""
    chosen: list[int] = []
    for k, place in enumerate(places):
        if all(abs(place - places[other]) >= distance for other in chosen):
            chosen.append(k)
    return sorted(candidates[k] for k in chosen)


def _decimals(values: Sequence[float]) -> int:
    """Return the number of decimals that writes all ticks exactly."""
    size = max((abs(value) for value in values), default=0.0)
    for decimals in range(MAX_DIGITS):
        if all(abs(round(value, decimals) - value) <= 1e-9 * size for value in values):
            return decimals
    return MAX_DIGITS


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
