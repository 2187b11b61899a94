"""Figure of friction: what a log leaves beside the bodies, over speed, and what was fitted."""

from collections.abc import Sequence

from robotid_sim.chart import Chart, Curve, Mark, Panel, Points
from robotid_sim.pipeline.friction_curves import BINS, FrictionCurve
from robotid_sim.section import torque_unit


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
