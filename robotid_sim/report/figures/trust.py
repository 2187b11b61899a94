"""Figures of how far to trust a fit: residuals, friction, directions, and stretches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.chart import Chart, Curve, Mark, Matrix, Panel, Points
from robotid_sim.palette import joint_role
from robotid_sim.pipeline.trust import BINS, FrictionCurve
from robotid_sim.section import percent, torque_unit

if TYPE_CHECKING:
    from robotid_sim.diagnostics.directions import WeakDirection
    from robotid_sim.pipeline.trust import BinnedResidual, InformationShares

SURE = 4.0
"""Standard errors that a mean residual does not reach by chance."""


def residuals_over_state(residuals: "Sequence[BinnedResidual]", names: Sequence[str]) -> Chart:
    """Return the mean residual of every joint over its position, velocity and load."""
    panels: list[Panel] = []
    for quantity in dict.fromkeys(residual.quantity for residual in residuals):
        marks = [
            Curve(residual.at, residual.mean, names[residual.joint], joint_role(residual.joint))
            for residual in residuals
            if residual.quantity == quantity
        ]
        panel = Panel(marks=tuple(marks), title=quantity, levels=(-SURE, SURE))
        y_label = "" if panels else "mean residual / its std [-]"
        panels.append(replace(panel, x_label="over its largest [-]", y_label=y_label))
    largest = max((float(np.abs(residual.mean).max()) for residual in residuals), default=0.0)
    reach = max(1.25 * SURE, 1.1 * largest)
    panels = [replace(panel, y_range=(-reach, reach)) for panel in panels]
    return Chart(
        name="residuals-over-state",
        title="Residuals over position, velocity and load",
        caption="Mean residual of equally many samples at each value, over its standard error; "
        "position counts from the middle of its range, load is the torque of the bodies, over "
        "which residuals count in the direction of motion. Curves that leave the dashed lines (at "
        f"{SURE:g}) do so by no chance: the model lacks a function of that quantity. Over velocity "
        "that is friction of another shape, over load friction that grows with it, over position "
        "a spring, a cable or cogging; robotid identify --terms all looks for them.",
        panels=tuple(panels),
        columns=3,
        panel_height=1.6,
    )


def singular_values(weakest: "Sequence[WeakDirection]") -> Chart:
    """Return how well the rows of a fit see every direction, and mark the weakest."""
    values = weakest[0].singular_values / weakest[0].singular_values[0]
    order = np.arange(1.0, values.size + 1.0)
    count = len(weakest)
    panel = Panel(
        marks=(
            Curve(order, values, "", "identified"),
            Points(order[-count:], values[-count:], "", "nominal", size=5.0),
        ),
        x_label="direction, the one seen best first",
        y_label="singular value [-]",
        y_scale="log",
    )
    return Chart(
        name="singular-values",
        title="How well the data see directions of the parameters",
        caption="Singular values of the rows as they are fitted, every joint weighted by its "
        "noise, columns of unit length, over the largest. The table has the marked ones in words: "
        "a change along them hardly moves the torques. A value far below its neighbor asks for "
        "motion that tells its parameters apart.",
        panels=(panel,),
        panel_height=1.3,
    )


def information_over_time(information: "InformationShares", parameters: tuple[str, ...]) -> Chart:
    """Return the share of the information on every parameter that stretches of the motion give."""
    shares, stretches = information.shares, information.stretches
    ends, blue = (0.0, float(shares.max())), ("identified",)
    s, k = np.unravel_index(int(shares.argmax()), shares.shape)
    return Chart(
        name="information",
        title="Where in the motion the information is",
        caption=f"Share of the information on a parameter (of its inverse variance) that is lost "
        f"without {information.noun}, the stronger the color, the more. Most of all: "
        f"{percent(shares[s, k], 2)} of that on {parameters[k]} comes from {stretches[s]}. A "
        "parameter with one strong cell stands on few samples: look at the fit there, or record "
        "more of such motion.",
        panels=(Matrix(values=shares, names=stretches, across=parameters, ends=ends, colors=blue),),
        panel_height=1.35,
    )


def friction(curves: Sequence[FrictionCurve]) -> Chart:
    """Return the friction of every joint over its speed, measured and fitted."""
    panels = []
    for curve in curves:
        marks: list[Mark] = [
            Points(curve.measured_speed, curve.measured, "measured", "raw", size=3.0),
            Curve(curve.speed, curve.fitted, "fitted", "identified", width=1.4),
        ]
        if curve.lacking is not None:
            whole = curve.fitted + curve.lacking
            marks.append(
                Curve(curve.speed, whole, "with what the model lacks", "true", style="dashed")
            )
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
        title="Friction over speed",
        caption="Torque that is left when that of bodies, rotors and terms of load or position is "
        f"taken off, mean of equally many samples at each of {BINS} speeds, and the friction that "
        "was fitted. Where points leave the curve, friction has another shape, or depends on load "
        "or position too.",
        panels=tuple(panels),
        columns=3,
        panel_height=1.5,
    )
