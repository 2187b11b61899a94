"""Figures of estimated parameters: intervals beside truth and nominal, and correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Mark, Matrix, Panel, Points

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
    return Chart(
        name="base-parameters",
        title="Base parameters",
        caption=f"Distance of the estimate and of the nominal value from the {zero} (vertical "
        f"line), in units of the {scale}; linear to 4, logarithmic beyond.",
        panels=(
            Panel(
                marks=tuple(marks),
                x_label=f"(value - {zero}) / {scale} [-]",
                x_scale="symlog",
                verticals=(0.0,),
                y_ticks=estimate.names,
            ),
        ),
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
