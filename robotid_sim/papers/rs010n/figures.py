"""Figures 3, 5 and 6 of the paper."""

from collections.abc import Mapping

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Panel, Style
from robotid_sim.chart import Curve as Line
from robotid_sim.palette import joint_role
from robotid_sim.papers.rs010n import excitation, model
from robotid_sim.papers.rs010n.campaign import Results
from robotid_sim.papers.rs010n.trials import METHODS, VARIANTS

SAMPLES = 400
FLOOR = 1e-4
"""Fitness below which a curve is cut off [N m]: the minimum is zero."""


def trajectories(found: Results) -> Chart:
    """Return Figure 3: the excitation."""
    q, dq, ddq = excitation.motion(np.array(found.excitation["x"]), SAMPLES)
    q = q + np.array([0.0, model.Q2_OFFSET, 0.0])
    t = excitation.PERIOD * np.arange(SAMPLES) / SAMPLES
    labels = ("position [°]", "velocity [°/s]", "acceleration [°/s²]")
    panels = []
    for label, part in zip(labels, (q, dq, ddq), strict=True):
        lines = (
            Line(t, np.degrees(part[:, j]), f"joint {j + 1}", joint_role(j))
            for j in range(part.shape[1])
        )
        panels.append(Panel(marks=tuple(lines), x_label="time [s]", y_label=label))
    return Chart(
        name="figure-3",
        title="Figure 3: excitation",
        caption="Position, in the angles of the paper, velocity and acceleration of the joints "
        "along the excitation of the genetic algorithm.",
        panels=tuple(panels),
        panel_height=1.3,
        share_x=True,
    )


def population(sizes: Mapping[str, Float1D]) -> Chart:
    """Return Figure 5: number of beetles over the iterations."""
    t = np.arange(1, model.ITERATIONS + 1, dtype=float)
    roles = {"corrected": "identified", "literal": "nominal"}
    lines = tuple(
        Line(t, n, f"eq. (16), {form}", roles[form], width=1.5) for form, n in sizes.items()
    )
    fixed = Line(t, np.full(t.size, float(model.N_FIXED)), "BSO", "muted", "dashed", 1.5)
    return Chart(
        name="figure-5",
        title="Figure 5: population",
        caption="Beetles by eq. (15)-(16) with the sign corrected and as printed, and the fixed "
        "number of BSO. The areas under the corrected curve and under BSO's are nearly the same.",
        panels=(Panel(marks=(*lines, fixed), x_label="iteration [-]", y_label="beetles [-]"),),
        panel_height=2.0,
    )


def fitness(found: Results) -> Chart:
    """Return Figure 6: fitness over the evaluations, a panel a variant."""
    panels: list[Panel] = []
    for variant, how in VARIANTS.items():
        lines = []
        for k, method in enumerate(METHODS):
            one = found.searches[variant, method]
            style: Style = "solid" if method in model.PRINTED else "dashed"
            curve = np.maximum(one.curve, FLOOR)
            lines.append(Line(one.at, curve, method, joint_role(k), style, 1.3))
        panels.append(
            Panel(
                marks=tuple(lines),
                x_label="evaluations [-]",
                y_label="fitness [N m]" if not panels else "",
                title=f"{variant}, ± {how.half_width:g}",
                y_scale="log",
            )
        )
    return Chart(
        name="figure-6",
        title="Figure 6: fitness",
        caption="Mean over the runs of the best fitness so far, against evaluations, as beetles "
        "take three an iteration; the optimum is zero.",
        panels=tuple(panels),
        columns=3,
        panel_height=2.4,
    )
