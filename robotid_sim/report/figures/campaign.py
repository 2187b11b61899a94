"""Figures of a campaign: spreads by level, and medians over two factors."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robotid_sim.campaign import statistics
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.store import DONE, TrialRow
from robotid_sim.chart import Chart, Curve, Mark, Matrix, Panel, Points, Scale

PERCENT_FACTOR = 100.0

MAX_LEVELS = 12
"""Largest number of levels of a factor in a heat map."""


def spread_chart(rows: Sequence[TrialRow], factors: Sequence[str], metric: str) -> Chart:
    """Plot the distribution of a metric by the levels of every factor."""
    shown = METRICS[metric]
    unit = f" [{shown.unit}]" if shown.unit else ""
    scale = PERCENT_FACTOR if shown.unit == "%" else 1.0
    values = statistics.values_of(rows, metric)
    wide = values.size and values.min() > 0.0 and values.max() > 5.0 * values.min()
    axis: Scale = "log" if wide else "linear"
    panels = []
    for factor in factors:
        labels = [row.factors[factor] for row in rows]
        if statistics.is_continuous(labels):
            finished = [r for r in rows if r.status == DONE and r.metrics.get(metric) is not None]
            x = np.array([float(row.factors[factor]) for row in finished])
            y = scale * statistics.values_of(finished, metric)
            cloud = (Points(x, y, "", "identified", size=2.5),)
            y_label = f"{metric}{unit}"
            panels.append(
                Panel(marks=cloud, title=factor, x_label=factor, y_label=y_label, y_scale=axis)
            )
        else:
            boxes = _boxes(statistics.spread_by(rows, factor, metric), factor, scale)
            panels.append(replace(boxes, x_label=f"{shown.label}{unit}", x_scale=axis))
    levels = max((len(p.y_ticks) for p in panels), default=1)
    return Chart(
        name=f"spread-{metric.replace('_', '-')}",
        title=f"{shown.label[0].upper()}{shown.label[1:]}",
        caption=(
            "One row per level, over all of its trials: box from the lower to the upper quartile "
            "with the median, whiskers to the 5 % and 95 % quantiles."
        ),
        panels=tuple(panels),
        panel_height=max(0.9, 0.2 * levels + 0.3),
    )


def _boxes(spreads: Sequence[statistics.Spread], factor: str, scale: float) -> Panel:
    """Plot one box per level, the first on top."""
    marks: list[Mark] = []
    for k, spread in enumerate(spreads):
        if not spread.values.size:
            continue
        low, q1, middle, q3, high = scale * np.quantile(
            spread.values, (0.05, 0.25, 0.5, 0.75, 0.95)
        )
        marks += [
            Curve(np.array([low, high]), np.full(2, k), "", "muted", width=1.0),
            Curve(np.array([q1, q3]), np.full(2, k), "", "joint-5", width=7.0),
            Points(np.array([middle]), np.array([k]), "", "ink", size=4.0),
        ]
    ticks = tuple(statistics.text_of(spread.level) for spread in spreads)
    return Panel(marks=tuple(marks), title=factor, y_ticks=ticks)


def heat_map(rows: Sequence[TrialRow], factors: tuple[str, str], metric: str) -> Chart | None:
    """Plot the medians of a metric over two factors; None with too many levels."""
    shown = METRICS[metric]
    down, across = (statistics.sort_levels(row.factors[name] for row in rows) for name in factors)
    if not 1 < len(down) <= MAX_LEVELS or not 1 < len(across) <= MAX_LEVELS:
        return None
    medians = np.full((len(down), len(across)), np.nan)
    for i, row_level in enumerate(down):
        for j, column_level in enumerate(across):
            pair = (row_level, column_level)
            cell = [r for r in rows if (r.factors[factors[0]], r.factors[factors[1]]) == pair]
            values = statistics.values_of(cell, metric)
            if values.size:
                medians[i, j] = np.median(values)
    finite = medians[np.isfinite(medians)]
    if not finite.size:
        return None
    colors = np.log10(medians) if finite.min() > 0.0 else medians
    low, high = float(np.nanmin(colors)), float(np.nanmax(colors))
    cells = Matrix(
        values=np.where(np.isfinite(colors), colors, high),
        names=tuple(map(statistics.text_of, down)),
        across=tuple(map(statistics.text_of, across)),
        ends=(low, high if high > low else low + 1.0),
        colors=("identified", "nominal"),
        texts=tuple(
            tuple(shown.format_value(float(v)) if np.isfinite(v) else "-" for v in row)
            for row in medians
        ),
    )
    return Chart(
        name=f"map-{metric.replace('_', '-')}",
        title=f"Median of {shown.label}",
        caption=f"Rows: {factors[0]}; columns: {factors[1]}. Blue is small, orange large.",
        panels=(cells,),
        panel_height=0.32 * len(down) + 0.3,
    )
