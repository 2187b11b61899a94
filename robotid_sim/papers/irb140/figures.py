"""Figures 6 to 9, 12 and 14 to 17 of the paper, as ours."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Curve, Mark, Panel, Points, Space, Style, Symbol
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import bars, box, convergence_chart, drawing, plotted
from robotid_sim.papers.irb140.campaign import AS_SET, EQUAL_SHARES, EQUAL_STEPS, QuantumResults
from robotid_sim.papers.irb140.control import MODELS, SCENARIOS, SETTLED
from robotid_sim.papers.irb140.network import NETWORKS
from robotid_sim.papers.irb140.plants import JOINTS
from robotid_sim.papers.irb140.published import IS_COM, ITERATIONS, NAMES, NETWORK, parameter_vector
from robotid_sim.papers.irb140.swarms import METHODS

ROLES = {"reference": "true", "QPSO": "identified", "PSO": "nominal"}
"""Color of every model."""
SHOWN = (
    "pso", "pso-literal", "pso-decreasing", "pso-constricted", "qubit", "qubit-decreasing",
    "qubit-bits", "delta-well",
)  # fmt: skip
"""Swarms of figures 8 and 9."""


def estimates(results: QuantumResults, *, com: bool) -> Chart:
    """Return figure 6 (inertia) or 7 (centers of mass): errors of printed and own estimates."""
    chosen = IS_COM if com else ~IS_COM
    names = tuple(np.array(NAMES)[chosen].tolist())
    y = np.arange(len(names), dtype=float)
    columns: tuple[tuple[str, Float1D, str, Symbol], ...] = (
        ("QPSO, printed", parameter_vector("QPSO"), "identified", "circle"),
        ("QPSO, ours", results.median_estimate("qubit"), "identified", "diamond"),
        ("PSO, printed", parameter_vector("PSO"), "nominal", "circle"),
        ("PSO, ours", results.median_estimate("pso"), "nominal", "diamond"),
    )
    marks = []
    for label, values, role, symbol in columns:
        error = 100.0 * (values / results.reference - 1.0)[chosen]
        marks.append(Points(error, y, label, role, size=5.0, symbol=symbol))
    bar_marks = [
        bars(parameter_vector(column)[chosen], y + shift, column, ROLES[column])
        for column, shift in zip(MODELS, (-0.27, 0.0, 0.27), strict=True)
    ]
    unit = "m" if com else "kg m²"
    drawn = plotted(bar_marks, f"printed value [{unit}]", y_ticks=names)
    errors = plotted(marks, "deviation [%]", y_ticks=names, verticals=(0.0,))
    name, height = f"figure-{7 if com else 6}-estimates", 0.21 * len(names) + 0.5
    return drawing(name, drawn, errors, columns=2, height=height)


def convergence(results: QuantumResults) -> Chart:
    """Return figure 8: median best cost by iteration."""
    x = np.arange(1.0, ITERATIONS + 1.0)
    lines = []
    for k, name in enumerate(SHOWN):
        curve = np.median(results.search(name, "curve"), axis=0)
        style: Style = "solid" if name.startswith("pso") else "dashed"
        lines.append(Curve(x, curve, METHODS[name].label, joint_role(k), style, 1.4))
    labels = ("iteration [-]", "cost [-]")
    return convergence_chart("figure-8-convergence", {"": lines}, labels, 3.0, y_scale="log")


def final_costs(results: QuantumResults) -> Chart:
    """Return figure 9: the final costs of all runs, as boxes."""
    marks: list[Mark] = []
    for k, name in enumerate(SHOWN):
        labels = ("quartiles, last value within 1.5 of their distance", "outlier")
        role = "nominal" if name.startswith("pso") else "identified"
        marks += box(results.search(name, "cost"), float(k), labels, role)
    names = tuple(METHODS[name].label for name in SHOWN)
    panel = plotted(marks, "final cost [-]", x_scale="log", y_ticks=names)
    return drawing("figure-9-final-costs", panel, height=0.28 * len(names) + 0.6)


def clamps(results: QuantumResults) -> Chart:
    """Return the errors of both swarms by their clamps."""
    lines: list[Mark] = []
    for k, (method, label) in enumerate((("pso", "PSO"), ("qubit", "QPSO"))):
        role = ROLES[label]
        shares = np.array(sorted({pair[k] for pair in (AS_SET, *EQUAL_SHARES, *EQUAL_STEPS)}))
        errors = np.array([results.clamped(method, s, "mape_com").mean() for s in shares])
        lines.append(Curve(shares, errors, label, role))
        lines.append(Points(shares, errors, "", role, size=4.0))
        here, mark = shares == AS_SET[k], f"{label}, all other searches"
        lines.append(Points(shares[here], errors[here], mark, role, size=9.0, symbol="diamond"))
    x_label = "largest step, share of the box or of the angle's range [-]"
    return drawing("clamps", plotted(lines, x_label, "MAPE [%]", y_scale="log"), height=2.6)


def network_error(results: QuantumResults) -> Chart:
    """Return figure 12: errors while training, and their distribution."""
    training: list[Mark] = []
    spread: list[Mark] = []
    for k, (name, network) in enumerate(NETWORKS.items()):
        first = results.grid.runs(name, "network")[0]
        label, role = f"{network.label}, {network.region}", joint_role(k)
        curve = np.array(first["curve"])
        if network.solver == "lbfgs":
            training.append(Curve(curve[:, 0], curve[:, 1], "", role, "dashed"))
            training.append(Points(curve[:, 0], curve[:, 2], "", role, size=4.0))
            training.append(Curve(curve[:, 0], curve[:, 2], label, role))
        share = np.linspace(0.0, 100.0, len(first["quantiles"]))
        style: Style = "solid" if len(network.layers) == 1 else "dotted"
        spread.append(Curve(np.array(first["quantiles"]), share, label, role, style, 1.4))
    printed = (NETWORK[1],)
    return drawing(
        "figure-12-network",
        plotted(training, "iterations [-]", "mean error [mm]", y_scale="log", levels=printed),
        plotted(spread, "error [mm]", "poses [%]", x_scale="log", verticals=printed),
        columns=2,
        height=2.6,
    )


def circle(results: QuantumResults) -> Chart:
    """Return figure 14: the circle of the tool in space."""
    curves = results.curves
    path = ("reference path", "muted", np.array(curves["nominal reference"]["tip_reference"]))
    driven = (
        (f"{model}, disturbed", ROLES[model], np.array(curves[f"disturbed {model}"]["tip"]))
        for model in MODELS
    )
    return drawing("figure-14-circle", Space(curves=(path, *driven)), height=4.0)


def torques(results: QuantumResults, scenario: str) -> Chart:
    """Return figure 15 (nominal) or 16 (disturbed): torques, and their distance."""
    panels: list[Panel] = []
    for j in range(3):
        panels += _beside_reference(results, scenario, "tau", j, (f"joint {j + 1} [N m]", "mN m"))
    number = 15 if scenario == "nominal" else 16
    return drawing(f"figure-{number}-torques", *panels, columns=2, height=1.3, share_x=True)


def energy(results: QuantumResults) -> Chart:
    """Return figure 17: absolute energy of joint 2, and its distance to the reference's."""
    panels: list[Panel] = []
    for scenario in SCENARIOS:
        values, apart = _beside_reference(
            results, scenario, "energy", 1, ("energy [J]", "mJ"), start=0.0
        )
        panels += [replace(values, title=f"{scenario}, joint 2"), apart]
    return drawing("figure-17-energy", *panels, columns=2, height=1.5)


def arms(results: QuantumResults) -> Chart:
    """Return figures 15 to 17 with the models as arms: differences of torque and energy."""
    panels = []
    for label, quantity, j in (
        *((f"joint {j + 1} [N m]", "tau", j) for j in range(JOINTS)),
        ("energy of joint 2 [J]", "energy", 1),
    ):
        for scenario in SCENARIOS:
            curves = {m: results.curves[f"plants {scenario} {m}"] for m in MODELS}
            t, true = (np.array(curves["reference"][name]) for name in ("t", quantity))
            later = t >= (SETTLED if quantity == "tau" else 0.0)
            lines = [
                Curve(t[later], (np.array(curve[quantity]) - true)[later, j], model, ROLES[model])
                for model, curve in curves.items()
                if model != "reference"
            ]
            title = scenario if not j and quantity == "tau" else ""
            panels.append(plotted(lines, "time [s]", label, title=title))
    return drawing("arms", *panels, columns=2, height=1.2, share_x=True)


def _beside_reference(
    results: QuantumResults,
    scenario: str,
    quantity: str,
    joint: int,
    labels: tuple[str, str],
    start: float = SETTLED,
) -> tuple[Panel, Panel]:
    """Return a quantity with all models, and from a time on its difference to the reference's."""
    curves = {model: results.curves[f"{scenario} {model}"] for model in MODELS}
    t = np.array(curves["reference"]["t"])
    values = {model: np.array(curve[quantity])[:, joint] for model, curve in curves.items()}
    later = t >= start

    def line(model: str, x: Float1D, y: Float1D) -> Curve:
        return Curve(x, y, model, ROLES[model], "solid", 1.2)

    apart = (
        line(model, t[later], 1e3 * (value - values["reference"])[later])
        for model, value in values.items()
        if model != "reference"
    )
    label, unit = labels
    return (
        plotted((line(m, t, value) for m, value in values.items()), "time [s]", label),
        plotted(apart, "time [s]", f"difference [{unit}]"),
    )


def all_charts(results: QuantumResults) -> Sequence[Chart]:
    """Return all figures in the order of the paper."""
    return (
        estimates(results, com=False),
        estimates(results, com=True),
        convergence(results),
        final_costs(results),
        clamps(results),
        network_error(results),
        circle(results),
        torques(results, "nominal"),
        torques(results, "disturbed"),
        energy(results),
        arms(results),
    )
