"""Figures 3, 5 and 6 of the paper, and compensated torques."""

from collections.abc import Mapping

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Curve, Style
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import convergence_chart, drawing, motion_chart, plotted
from robotid_sim.papers.rs010n import compensation, excitation, model
from robotid_sim.papers.rs010n.campaign import BeetleResults
from robotid_sim.papers.rs010n.trials import METHODS, VARIANTS

SAMPLES = 400
FLOOR = 1e-4
"""Fitness below which a curve is cut off [N m]: the minimum is zero."""


def trajectories(results: BeetleResults) -> Chart:
    """Return Figure 3: the excitation."""
    q, dq, ddq = excitation.motion(np.array(results.excitation["x"]), SAMPLES)
    q = q + np.array([0.0, model.Q2_OFFSET, 0.0])
    t = excitation.PERIOD * np.arange(SAMPLES) / SAMPLES
    motion = [np.degrees(part) for part in (q, dq, ddq)]
    return motion_chart("figure-3", t, motion, ("°", "°/s", "°/s²"))


def population(sizes: Mapping[str, Float1D]) -> Chart:
    """Return Figure 5: number of beetles over the iterations."""
    t = np.arange(1, model.ITERATIONS + 1, dtype=float)
    roles = {"corrected": "identified", "literal": "nominal"}
    lines = tuple(
        Curve(t, n, f"eq. (16), {form}", roles[form], width=1.5) for form, n in sizes.items()
    )
    fixed = Curve(t, np.full(t.size, float(model.N_FIXED)), "BSO", "muted", "dashed", 1.5)
    panel = plotted((*lines, fixed), "iteration [-]", "beetles [-]")
    return drawing("figure-5", panel, height=2.0)


def fitness(results: BeetleResults) -> Chart:
    """Return Figure 6: fitness over the evaluations, a panel a variant."""
    panels: dict[str, list[Curve]] = {}
    for variant, setup in VARIANTS.items():
        lines = panels.setdefault(f"{variant}, ± {setup.half_width:g}", [])
        for k, method in enumerate(METHODS):
            style: Style = "solid" if method in model.PRINTED else "dashed"
            evaluations = results.grid.values(method, "at", variant)[0] / 1000.0
            curve = np.maximum(results.grid.mean(method, "costs", variant), FLOOR)
            lines.append(Curve(evaluations, curve, method, joint_role(k), style, 1.3))
    return convergence_chart(
        "figure-6",
        panels,
        ("evaluations / 1000 [-]", "fitness [N m]"),
        2.4,
        columns=3,
        y_scale="log",
    )


def compensated(results: BeetleResults) -> Chart:
    """Return what is left of the torques of an unseen motion, without noise."""
    curves = results.batches[0]["curves"]
    t = np.array(curves["t"])
    roles = {
        compensation.NOMINAL: "nominal",
        compensation.MIDDLE: "muted",
        "SEDSABSO": "identified",
    }
    panels = (
        plotted(
            (Curve(t, np.array(curves[name][j]), name, role) for name, role in roles.items()),
            "time [s]",
            "torque left [N m]",
            title=f"joint {j + 1}",
        )
        for j in range(model.arm().dof)
    )
    return drawing("compensation", *panels, height=1.3, share_x=True)


def all_charts(results: BeetleResults, sizes: Mapping[str, Float1D]) -> tuple[Chart, ...]:
    """Return all figures."""
    return trajectories(results), population(sizes), fitness(results), compensated(results)
