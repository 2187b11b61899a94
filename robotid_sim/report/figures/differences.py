"""Figures of the difference of two estimates: by parameter, and the differences of many seeds."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri, stdtr

from robotid_sim.chart import Chart, Curve, Panel, Points
from robotid_sim.report.figures.parameters import ROW
from robotid_sim.validation.agreement import LEVEL, Difference


def differences(pair: Difference) -> Chart:
    """Return the difference of every parameter over its standard deviation, with its interval."""
    rows = np.arange(len(pair.names), dtype=float)
    interval = pair.half_width / pair.std
    return Chart(
        name="differences",
        title="Differences of the estimates",
        caption=f"Estimate of {pair.labels[1]} minus that of {pair.labels[0]}, over the standard "
        f"deviation of the difference; the bar is its {LEVEL:.0%} interval, which crosses the "
        "vertical line where the two agree.",
        panels=(
            Panel(
                marks=(Points(pair.z, rows, "difference", "identified", interval, size=3.4),),
                x_label="difference / std [-]",
                verticals=(0.0,),
                y_ticks=pair.names,
            ),
        ),
        panel_height=max(1.2, ROW * len(pair.names)),
    )


def pooled_differences(pairs: Sequence[Difference]) -> Chart:
    """Return the differences of all seeds, sorted, beside those that their covariances predict."""
    # Student's distribution of every parameter to the normal one.
    values = np.concatenate([ndtri(np.clip(stdtr(p.dof, p.z), 1e-9, 1.0 - 1e-9)) for p in pairs])
    expected = ndtri((np.arange(values.size) + 0.5) / values.size)
    ends = np.array([expected[0], expected[-1]])
    return Chart(
        name="pooled-differences",
        title="Differences of all seeds",
        caption=f"All {values.size} differences of {len(pairs)} seeds over their standard "
        "deviations, sorted, over the quantiles of the normal distribution; on the line the stated "
        "covariances are right, below it at the right end they are too large.",
        panels=(
            Panel(
                marks=(
                    Curve(ends, ends, "as stated", "true"),
                    Points(expected, np.sort(values), "differences", "identified", size=2.4),
                ),
                x_label="expected difference / std [-]",
                y_label="difference / std [-]",
            ),
        ),
        panel_height=3.0,
    )
