"""Figures of parameters: intervals beside truth and nominal, correlations, differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtr

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Curve, Mark, Matrix, Panel, Points
from robotid_sim.validation.agreement import LEVEL, Difference

if TYPE_CHECKING:
    from robotid_sim.estimation.estimate import Estimate

SPREAD = 1.959964
"""Half width of a 95 % interval in standard deviations."""

ROW = 0.125
"""Height of a parameter's row [in]."""


def base_parameters(
    estimate: Estimate, nominal: Float1D, true: Float1D | None, bound: Float1D | None
) -> Chart:
    """Return base parameters with 95 % intervals beside the nominal values and the truth.

    All values have the shape (b,). Without the truth the estimate is the origin; the unit of the
    axis is the Cramér-Rao standard deviation `bound`, without it that of the estimate.
    """
    origin = estimate.beta if true is None else true
    unit = np.asarray(estimate.std if bound is None else bound)
    rows = np.arange(len(estimate.names), dtype=float)
    interval = SPREAD * estimate.std / unit
    marks: list[Mark] = [
        Points((nominal - origin) / unit, rows, "nominal", "nominal", size=3.2, symbol="diamond"),
        Points(
            (estimate.beta - origin) / unit,
            rows,
            f"{estimate.estimator}, 95 % interval",
            "identified",
            x_error=interval,
            size=3.4,
        ),
    ]
    zero = "truth" if true is not None else "estimate"
    scale = "Cramér-Rao std" if bound is not None else "std"
    panel = Panel(
        marks=tuple(marks),
        x_label=f"(value - {zero}) / {scale} [-]",
        x_scale="symlog",
        verticals=(0.0,),
        y_ticks=estimate.names,
    )
    return Chart(
        name="base-parameters",
        title="Base parameters",
        caption=f"Distance of the estimate and of the nominal value from the {zero} (vertical "
        f"line), in units of the {scale}; linear to 4, logarithmic beyond.",
        panels=(panel,),
        panel_height=max(1.2, ROW * len(estimate.names)),
    )


def correlation(estimate: Estimate) -> Chart:
    """Return the correlation of the estimated base parameters.

    Raises `ValueError` if the estimate has no covariance.
    """
    if estimate.cov is None:
        raise ValueError(f"the estimate of '{estimate.estimator}' has no covariance")
    std = estimate.std
    values = estimate.cov / np.outer(std, std)
    off = np.abs(values - np.eye(len(std)))
    i, j = np.unravel_index(int(off.argmax()), off.shape)
    return Chart(
        name="correlation",
        title="Correlation of the estimates",
        caption="Correlation of the errors of the base parameters; strongly colored pairs are "
        f"known better together than alone. Strongest: {estimate.names[i]} and "
        f"{estimate.names[j]}, {values[i, j]:.2f}.",
        panels=(Matrix(values=values, names=estimate.names),),
        panel_height=5.4,
    )


def differences(pair: Difference) -> Chart:
    """Return the difference of every parameter over its standard deviation, with its interval."""
    rows = np.arange(len(pair.names), dtype=float)
    interval = pair.half_width / pair.std
    panel = Panel(
        marks=(Points(pair.z, rows, "difference", "identified", interval, size=3.4),),
        x_label="difference / std [-]",
        verticals=(0.0,),
        y_ticks=pair.names,
    )
    return Chart(
        name="differences",
        title="Differences of the estimates",
        caption=f"Estimate of {pair.labels[1]} minus that of {pair.labels[0]}, over the standard "
        f"deviation of the difference; the bar is its {LEVEL:.0%} interval, which crosses the "
        "vertical line where the two agree.",
        panels=(panel,),
        panel_height=max(1.2, ROW * len(pair.names)),
    )


def pooled_differences(pairs: Sequence[Difference]) -> Chart:
    """Return the differences of all seeds, sorted, beside those that their covariances predict."""
    # Student's distribution of every parameter to the normal one.
    values = np.concatenate([ndtri(np.clip(stdtr(p.dof, p.z), 1e-9, 1.0 - 1e-9)) for p in pairs])
    expected = ndtri((np.arange(values.size) + 0.5) / values.size)
    ends = np.array([expected[0], expected[-1]])
    panel = Panel(
        marks=(
            Curve(ends, ends, "as stated", "true"),
            Points(expected, np.sort(values), "differences", "identified", size=2.4),
        ),
        x_label="expected difference / std [-]",
        y_label="difference / std [-]",
    )
    return Chart(
        name="pooled-differences",
        title="Differences of all seeds",
        caption=f"All {values.size} differences of {len(pairs)} seeds over their standard "
        "deviations, sorted, over the quantiles of the normal distribution; on the line the stated "
        "covariances are right, below it at the right end they are too large.",
        panels=(panel,),
        panel_height=3.0,
    )
