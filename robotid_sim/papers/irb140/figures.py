"""Figures 6 to 9, 12 and 14 to 17 of the paper, as ours."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Mark, Panel, Points, Space, Style, Symbol
from robotid_sim.chart import Curve as Line
from robotid_sim.palette import joint_role
from robotid_sim.papers.irb140.control import MODELS, SCENARIOS, SETTLED
from robotid_sim.papers.irb140.network import NETWORKS
from robotid_sim.papers.irb140.published import IS_COM, ITERATIONS, NAMES, NETWORK, parameter_vector
from robotid_sim.papers.irb140.results import AS_SET, BOX, EQUAL_SHARES, EQUAL_STEPS, Results
from robotid_sim.papers.irb140.swarms import METHODS

ROLES = {"reference": "true", "QPSO": "identified", "PSO": "nominal"}
"""Color of every model."""

SHOWN = (
    "pso", "pso-literal", "pso-decreasing", "pso-constricted", "qubit", "qubit-decreasing",
    "qubit-bits", "delta-well",
)  # fmt: skip
"""Swarms of figures 8 and 9."""


def estimates(results: Results, *, com: bool) -> Chart:
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
    what = "centers of mass" if com else "inertia matrix elements"
    return Chart(
        name=f"figure-{7 if com else 6}-estimates",
        title=f"Figure {7 if com else 6}: estimated {what}",
        caption="Deviation from the reference, Table 3 (dots) and our median run in a box of "
        f"± {100.0 * BOX:g} % (diamonds). The paper draws bars of the values, in which 5 % cannot "
        "be seen.",
        panels=(
            Panel(marks=tuple(marks), x_label="deviation [%]", y_ticks=names, verticals=(0.0,)),
        ),
        panel_height=0.21 * len(names) + 0.5,
    )


def convergence(results: Results) -> Chart:
    """Return figure 8: median best cost by iteration."""
    x = np.arange(1.0, ITERATIONS + 1.0)
    lines = []
    for k, name in enumerate(SHOWN):
        curve = np.median(np.array(results.search(name)["curve"]), axis=0)
        style: Style = "solid" if name.startswith("pso") else "dashed"
        lines.append(Line(x, curve, METHODS[name].label, joint_role(k), style, 1.4))
    return Chart(
        name="figure-8-convergence",
        title="Figure 8: convergence",
        caption=f"Best cost of eq. (20) in a box of ± {100.0 * BOX:g} %, median over the runs; "
        "solid: particle swarms, dashed: quantum-inspired ones. With the printed weight .99 both "
        "stop early; with a falling one both go on to the end.",
        panels=(
            Panel(marks=tuple(lines), x_label="iteration [-]", y_label="cost [-]", y_scale="log"),
        ),
        panel_height=3.0,
    )


def final_costs(results: Results) -> Chart:
    """Return figure 9: the final costs of all runs."""
    marks, names = [], []
    for k, name in enumerate(SHOWN):
        costs = np.array(results.search(name)["cost"])
        names.append(METHODS[name].label)
        marks.append(Points(costs, np.full(costs.size, float(k)), "runs", "identified", size=3.5))
        median = np.array([np.median(costs)])
        marks.append(
            Points(median, np.array([float(k)]), "median", "nominal", size=7.0, symbol="diamond")
        )
    return Chart(
        name="figure-9-final-costs",
        title="Figure 9: final fitness of all runs",
        caption=f"Final cost of eq. (20) in a box of ± {100.0 * BOX:g} %, every run a dot. The "
        "paper prints means of 1.02 (QPSO) and 2.09 (PSO).",
        panels=(
            Panel(
                marks=tuple(marks), x_label="final cost [-]", x_scale="log", y_ticks=tuple(names)
            ),
        ),
        panel_height=0.28 * len(names) + 0.6,
    )


def clamps(results: Results) -> Chart:
    """Return the errors of both swarms by their clamps."""
    lines: list[Mark] = []
    for k, (method, label) in enumerate((("pso", "PSO"), ("qubit", "QPSO"))):
        role = ROLES[label]
        shares = np.array(sorted({pair[k] for pair in (AS_SET, *EQUAL_SHARES, *EQUAL_STEPS)}))
        errors = np.array([np.mean(results.clamps[method, s]["mape_com"]) for s in shares])
        lines.append(Line(shares, errors, label, role))
        lines.append(Points(shares, errors, "", role, size=4.0))
        own = shares == AS_SET[k]
        mark = f"{label}, all other searches"
        lines.append(Points(shares[own], errors[own], mark, role, size=9.0, symbol="diamond"))
    return Chart(
        name="clamps",
        title="Error of both swarms by their clamps",
        caption=f"Mean MAPE of the centers of mass by the clamp, box of ± {100.0 * BOX:g} %. "
        "At one share of the range PSO is the nearer one; the qubits win where they may "
        "only take smaller steps, as in all other searches here (diamonds).",
        panels=(
            Panel(
                marks=tuple(lines),
                x_label="largest step, share of the box or of the angle's range [-]",
                y_label="MAPE [%]",
                y_scale="log",
            ),
        ),
        panel_height=2.6,
    )


def network_error(results: Results) -> Chart:
    """Return figure 12: errors while training, and their distribution."""
    training: list[Mark] = []
    spread: list[Mark] = []
    for k, (name, runs) in enumerate(results.networks.items()):
        found = runs[0]
        own = NETWORKS[name]
        label, role = f"{own.label}, {own.region}", joint_role(k)
        curve = np.array(found["curve"])
        if own.solver == "lbfgs":
            training.append(Line(curve[:, 0], curve[:, 1], "", role, "dashed"))
            training.append(Points(curve[:, 0], curve[:, 2], "", role, size=4.0))
            training.append(Line(curve[:, 0], curve[:, 2], label, role))
        share = np.linspace(0.0, 100.0, len(found["quantiles"]))
        style: Style = "solid" if len(own.layers) == 1 else "dotted"
        spread.append(Line(np.array(found["quantiles"]), share, label, role, style, 1.4))
    return Chart(
        name="figure-12-network",
        title="Figure 12: position error of the network",
        caption="Left: mean distance while the single-layer networks learn (dashed: training). "
        "Right: share of the validation poses with an error below a value (dotted: four layers). "
        f"Horizontal and vertical line: the paper's {NETWORK[1]:g} mm. One training each.",
        panels=(
            Panel(
                marks=tuple(training),
                x_label="iterations [-]",
                y_label="mean error [mm]",
                y_scale="log",
                levels=(NETWORK[1],),
            ),
            Panel(
                marks=tuple(spread),
                x_label="error [mm]",
                y_label="poses [%]",
                x_scale="log",
                verticals=(NETWORK[1],),
            ),
        ),
        columns=2,
        panel_height=2.6,
    )


def circle(results: Results) -> Chart:
    """Return figure 14: the circle of the tool in space."""
    curves = results.curves
    wanted = np.array(curves["nominal reference"]["tip_reference"])
    shown = [("reference path", "muted", wanted)]
    for model in MODELS:
        shown.append(
            (f"{model}, disturbed", ROLES[model], np.array(curves[f"disturbed {model}"]["tip"]))
        )
    return Chart(
        name="figure-14-circle",
        title="Figure 14: the circle in space",
        caption=f"Path of the tool over {results.lap:.0f} s with each model, disturbed by "
        "sinusoids of 40 % of the peak torque. The curves coincide: all errors are below a "
        "millimeter.",
        panels=(Space(curves=tuple(shown)),),
        panel_height=4.0,
    )


def torques(results: Results, scenario: str) -> Chart:
    """Return figure 15 (nominal) or 16 (disturbed): torques, and their distance."""
    curves = results.curves
    true = curves[f"{scenario} reference"]
    t, wanted = np.array(true["t"]), np.array(true["tau"])
    later = t >= SETTLED
    panels = []
    for j in range(wanted.shape[1]):
        own = []
        apart = []
        for model in MODELS:
            tau = np.array(curves[f"{scenario} {model}"]["tau"])
            own.append(_line(t, tau[:, j], model))
            if model != "reference":
                apart.append(_line(t[later], 1e3 * (tau - wanted)[later, j], model))
        panels.append(Panel(marks=tuple(own), x_label="time [s]", y_label=f"joint {j + 1} [N m]"))
        panels.append(Panel(marks=tuple(apart), x_label="time [s]", y_label="difference [mN m]"))
    number = 15 if scenario == "nominal" else 16
    return Chart(
        name=f"figure-{number}-torques",
        title=f"Figure {number}: joint torques, {scenario}",
        caption="Left: applied torque of the first three joints on the circle. Right: its "
        "difference to that with the reference model, which the left side cannot show, without the "
        f"first {SETTLED:g} s, in which the loop settles.",
        panels=tuple(panels),
        columns=2,
        panel_height=1.3,
        share_x=True,
    )


def energy(results: Results) -> Chart:
    """Return figure 17: absolute energy of joint 2, and its distance to the reference's."""
    curves = results.curves
    panels = []
    for scenario in SCENARIOS:
        true = curves[f"{scenario} reference"]
        t, wanted = np.array(true["t"]), np.array(true["energy"])[:, 1]
        own, apart = [], []
        for model in MODELS:
            spent = np.array(curves[f"{scenario} {model}"]["energy"])[:, 1]
            own.append(_line(t, spent, model))
            if model != "reference":
                apart.append(_line(t, 1e3 * (spent - wanted), model))
        title = f"{scenario}, joint 2"
        panels.append(
            Panel(marks=tuple(own), x_label="time [s]", y_label="energy [J]", title=title)
        )
        panels.append(Panel(marks=tuple(apart), x_label="time [s]", y_label="difference [mJ]"))
    return Chart(
        name="figure-17-energy",
        title="Figure 17: energy of joint 2",
        caption="Integral of |tau dq|, which alone rises all along; the integral as the paper "
        "prints it, without the bars, returns energy when the arm sinks.",
        panels=tuple(panels),
        columns=2,
        panel_height=1.5,
    )


def _line(t: Float1D, values: Float1D, model: str) -> Line:
    return Line(t, values, model, ROLES[model], "solid", 1.2)


def all_charts(results: Results) -> Sequence[Chart]:
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
    )
