"""Figures of parameters: intervals with truth and nominal values, correlations, differences.

Others show the reliability of a fit: residuals, friction, directions, information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtr

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Curve, Mark, Matrix, Panel, Points
from robotid_sim.palette import joint_role
from robotid_sim.pipeline.trust import BIN_COUNT, FrictionCurve
from robotid_sim.section import percent, torque_unit
from robotid_sim.validation.agreement import CONFIDENCE_LEVEL, Difference

if TYPE_CHECKING:
    from robotid_sim.estimation.estimate import Estimate

INTERVAL_QUANTILE = 1.959964
"""Half width of a 95 % interval in standard deviations."""

ROW_HEIGHT = 0.125
"""Height of a parameter's row [in]."""


def base_parameters(
    estimate: Estimate, nominal: Float1D, true: Float1D | None, bound: Float1D | None
) -> Chart:
    """Plot base parameters with 95 % intervals, nominal values and the truth.

    All values have the shape (b,). The origin is the truth or, without it, the estimate; the unit
    of the axis is the Cramér-Rao standard deviation `bound` or, without it, the standard deviation
    of the estimate.
    """
    origin = estimate.beta if true is None else true
    unit = np.asarray(estimate.std if bound is None else bound)
    rows = np.arange(len(estimate.names), dtype=float)
    interval = INTERVAL_QUANTILE * estimate.std / unit
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
        f"line), in units of the {scale}; linear to 4, logarithmic above.",
        panels=(panel,),
        panel_height=max(1.2, ROW_HEIGHT * len(estimate.names)),
    )


def correlation(estimate: Estimate) -> Chart:
    """Plot the correlation of the estimated base parameters.

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
        caption="Correlation of the errors of the base parameters; strongly correlated parameters "
        f"are identified better in combination than alone. Strongest: {estimate.names[i]} and "
        f"{estimate.names[j]}, {values[i, j]:.2f}.",
        panels=(Matrix(values=values, names=estimate.names),),
        panel_height=5.4,
    )


def differences(pair: Difference) -> Chart:
    """Plot the difference of every parameter over its standard deviation, with its interval."""
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
        f"deviation of the difference; the bar is its {CONFIDENCE_LEVEL:.0%} interval, which "
        "crosses the vertical line if the two agree.",
        panels=(panel,),
        panel_height=max(1.2, ROW_HEIGHT * len(pair.names)),
    )


def plot_pooled_differences(pairs: Sequence[Difference]) -> Chart:
    """Plot the sorted differences of all seeds over those predicted by their covariances."""
    # Transform Student's distribution of every parameter to the normal one.
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
        "deviations, sorted, over the quantiles of the normal distribution. On the line the stated "
        "covariances are correct; below it at the right end they are too large.",
        panels=(panel,),
        panel_height=3.0,
    )


if TYPE_CHECKING:
    from robotid_sim.diagnostics.directions import WeakDirection
    from robotid_sim.pipeline.trust import BinnedResidual, InformationShares

MAX_MEAN_RATIO = 4.0
"""Mean residual over its standard error above which it is significant."""


def residuals_over_state(residuals: Sequence[BinnedResidual], names: Sequence[str]) -> Chart:
    """Plot the mean residual of every joint over its position, velocity and load."""
    panels: list[Panel] = []
    for quantity in dict.fromkeys(residual.quantity for residual in residuals):
        marks = [
            Curve(residual.at, residual.mean, names[residual.joint], joint_role(residual.joint))
            for residual in residuals
            if residual.quantity == quantity
        ]
        panel = Panel(marks=tuple(marks), title=quantity, levels=(-MAX_MEAN_RATIO, MAX_MEAN_RATIO))
        y_label = "" if panels else "mean residual / its std [-]"
        panels.append(replace(panel, x_label="over its maximum [-]", y_label=y_label))
    largest = max((float(np.abs(residual.mean).max()) for residual in residuals), default=0.0)
    reach = max(1.25 * MAX_MEAN_RATIO, 1.1 * largest)
    panels = [replace(panel, y_range=(-reach, reach)) for panel in panels]
    return Chart(
        name="residuals-over-state",
        title="Residuals over position, velocity and load",
        caption="Mean residual in bins with equal numbers of samples, over its standard error. "
        "Position is measured from the middle of its range; load is the rigid-body torque, with "
        "residuals in the direction of motion. Curves beyond the dashed lines (at "
        f"{MAX_MEAN_RATIO:g}) indicate unmodeled torque: over velocity a different friction law, "
        "over load load-dependent friction, over position a spring, a cable or cogging. Joint "
        "terms can model it (identify --terms).",
        panels=tuple(panels),
        columns=3,
        panel_height=1.6,
    )


def singular_values(weakest: Sequence[WeakDirection]) -> Chart:
    """Plot the singular values of the rows of a fit and mark the weakest directions."""
    values = weakest[0].singular_values / weakest[0].singular_values[0]
    order = np.arange(1.0, values.size + 1.0)
    count = len(weakest)
    panel = Panel(
        marks=(
            Curve(order, values, "", "identified"),
            Points(order[-count:], values[-count:], "", "nominal", size=5.0),
        ),
        x_label="direction, best identifiable first",
        y_label="singular value [-]",
        y_scale="log",
    )
    return Chart(
        name="singular-values",
        title="Identifiability of parameter directions",
        caption="Singular values of the weighted regressor with columns of unit length, relative "
        "to the largest. The table lists the marked directions, which hardly change the torques. A "
        "value far below the others requires a motion that separates these parameters.",
        panels=(panel,),
        panel_height=1.3,
    )


def information_over_time(information: InformationShares, parameters: tuple[str, ...]) -> Chart:
    """Plot the share of the information on every parameter by section of the motion."""
    shares, stretches = information.shares, information.stretches
    ends, blue = (0.0, float(shares.max())), ("identified",)
    s, k = np.unravel_index(int(shares.argmax()), shares.shape)
    return Chart(
        name="information",
        title="Information over the motion",
        caption="Share of the information on a parameter (of its inverse variance) that is lost "
        f"without {information.noun}, darker is more. Largest: {percent(shares[s, k], 2)} of that "
        f"on {parameters[k]} comes from {stretches[s]}. A parameter with one dark cell depends on "
        "few samples; check the fit there, or record more such motion.",
        panels=(Matrix(values=shares, names=stretches, across=parameters, ends=ends, colors=blue),),
        panel_height=1.35,
    )


def friction(curves: Sequence[FrictionCurve]) -> Chart:
    """Plot the measured and the fitted friction of every joint over its speed."""
    panels = []
    for curve in curves:
        marks: list[Mark] = [
            Points(curve.measured_speed, curve.measured, "measured", "raw", size=3.0),
            Curve(curve.speed, curve.fitted, "fitted", "identified", width=1.4),
        ]
        if curve.unmodeled is not None:
            total = curve.fitted + curve.unmodeled
            marks.append(Curve(curve.speed, total, "with unmodeled torque", "true", style="dashed"))
        panels.append(
            Panel(
                marks=tuple(marks),
                x_label=f"speed [{curve.unit}/s]",
                y_label=f"friction [{torque_unit(curve.unit)}]",
                title=curve.joint,
            )
        )
    return Chart(
        name="friction",
        title="Friction over velocity",
        caption="Measured torque minus rigid-body, rotor, load and position terms, averaged in "
        f"{BIN_COUNT} velocity bins, and fitted friction. Points off the curve indicate a "
        "different friction law, or dependence on load or position.",
        panels=tuple(panels),
        columns=3,
        panel_height=1.5,
    )
