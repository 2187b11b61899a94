"""Fazilat, Zioui (2025): PSO against QPSO on an ABB IRB 140."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from robotid_sim.chart import Chart, Curve, Mark, Panel, Points, Space, Style, Symbol
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import bars, box, convergence_curves, drawing, plotted
from robotid_sim.papers.irb140.computed import CLAMPS, WIDE, with_computed
from robotid_sim.papers.irb140.control import JOINTS, MODELS, SCENARIOS, SETTLED
from robotid_sim.papers.irb140.inverse_network import TREATMENTS
from robotid_sim.papers.irb140.kinematics import NETWORKS, SAMPLES, TASK, require_sklearn
from robotid_sim.papers.irb140.model import (
    IS_COM,
    ITERATIONS,
    NAMES,
    ROOT,
    SETTINGS,
    parameter_vector,
)
from robotid_sim.papers.irb140.swarms import METHODS, OBJECTIVES, PSO_CLAMP, QUBIT_CLAMP, SWARMS
from robotid_sim.papers.paper import Lab, PlannedTrial, TrialPaper
from robotid_sim.papers.trial_table import TrialTable

BOX, SMALL_BOX = 0.5, 0.1
_SMALL = ("pso", "pso-literal", "pso-decreasing", "qubit", "qubit-decreasing", "delta-well")
SEARCHES: Mapping[tuple[str, float], tuple[str, ...]] = {
    ("relative", BOX): tuple(METHODS),
    ("relative", SMALL_BOX): _SMALL,
    ("raw", BOX): ("pso", "pso-decreasing", "qubit-decreasing", "delta-well"),
}
"""Methods by scaling and half width of the box."""
COUNTED = ("pso", "qubit")
"""Whose iterations are counted, in the small box."""


class QuantumSwarms(TrialPaper):
    """PSO against QPSO on an ABB IRB 140, with neural kinematics and sliding-mode control."""

    name: ClassVar[str] = ROOT

    def require(self) -> None:
        """Raise unless scikit-learn is installed; see `Paper.require`."""
        require_sklearn()

    def run(self, lab: Lab) -> TrialTable:
        """Run what is not finished; see `Paper`."""
        effort = {name: lab.runs_of(*sizes) for name, sizes in SETTINGS["effort"].items()}
        limited = SETTINGS["limited"].items()
        effort |= {name: min(most, lab.runs_of(most, few)) for name, (most, few) in limited}
        # The longest first, so that no process is left alone with one at the end.
        cells = [*_networks(lab, effort["network"]), *_loops(lab, effort), *_searches(lab, effort)]
        function, poses = f"{__package__}.kinematics:compare_with_urdf", SETTINGS["poses"]
        cells.append(lab.cell(("kinematics", "", ""), function, poses=poses))
        return with_computed(lab.tabulate("irb140", cells))

    def charts(self, table: TrialTable) -> Iterator[Chart]:
        """Draw Figures 6 to 9, 12 and 14 to 17 of the paper, the clamps, and the models as arms."""
        return all_charts(table, self.sheet.labels)


def _networks(lab: Lab, runs: int) -> Iterator[PlannedTrial]:
    """Plan the networks: that of the print several times."""
    for name, network in NETWORKS.items():
        samples = lab.choose(SAMPLES, SAMPLES // (8 if name == TASK else 16))
        options = {"network": name, "samples": samples}
        options["iterations"] = lab.choose(*network.iterations)
        key = ("network", network.region, network.label)
        count = runs if name == TASK else 1
        yield from lab.cells(key, f"{__package__}.kinematics:train", count, **options)


def _loops(lab: Lab, effort: Mapping[str, int]) -> Iterator[PlannedTrial]:
    """Plan what is in the engine: the models in the loop, and logs for networks and searches.

    Nothing is drawn in the nominal scenario, which is run once.
    """
    function = f"{__package__}.control:track"
    for study, scenario in product(("loop", "arms"), ("nominal", "disturbed")):
        runs = effort[study] if scenario == "disturbed" else 1
        options = {"scenario": scenario, "lap": lab.choose(*SETTINGS["lap"][study])}
        yield from lab.cells((study, scenario, ""), function, runs, arms=study == "arms", **options)
    function = f"{__package__}.inverse_network:train_inverse"
    most = lab.choose(*SETTINGS["inverse_iterations"])
    for name in TREATMENTS:
        key = ("inverse", "", name)
        yield from lab.cells(key, function, effort["inverse"], treatment=name, iterations=most)
    function = f"{__package__}.control:identify_from_torque"
    yield from lab.cells(("torque", "", ""), function, effort["torque"])


def _searches(lab: Lab, effort: Mapping[str, int]) -> Iterator[PlannedTrial]:
    """Plan the searches by eq. (20), those with other clamps, and those by performance."""
    function = f"{__package__}.swarms:search"
    for (scaling, width), methods in SEARCHES.items():
        for method in methods:
            more = lab.choose(*SETTINGS["more"]) if method in COUNTED and width == SMALL_BOX else 1
            yield lab.cell(
                ("search", f"{scaling}, {width:g}", method),
                function,
                method=method,
                scaling=scaling,
                half_width=width,
                runs=more * effort["search"],
            )
    same: dict[str, Any] = {"scaling": "relative", "half_width": BOX, "runs": effort["search"]}
    for method, clamp in CLAMPS:
        key = ("clamp", f"{clamp:.4f}", method)
        yield lab.cell(key, function, method=method, clamp=clamp, **same)
    function = f"{__package__}.swarms:search_by_performance"
    for objective, swarm in product(OBJECTIVES, SWARMS):
        key, options = ("performance", swarm, objective), {"swarm": swarm, "objective": objective}
        yield from lab.cells(key, function, effort["performance"], **options)


ROLES = {"reference": "true", "QPSO": "identified", "PSO": "nominal"}
"""Color of every model."""
STYLES: dict[str, tuple[str, Style]] = {
    name: (joint_role(k), "solid" if name.startswith("pso") else "dashed")
    for k, name in enumerate(
        (
            "pso", "pso-literal", "pso-decreasing", "pso-constricted", "qubit", "qubit-decreasing",
            "qubit-bits", "delta-well",
        )
    )
}  # fmt: skip
"""Swarms of figures 8 and 9."""


def all_charts(table: TrialTable, labels: Mapping[str, str]) -> Iterator[Chart]:
    """Draw all figures in the order of the paper; labels are what methods are called."""
    yield estimates(table, com=False)
    yield estimates(table, com=True)
    steps = np.arange(1.0, ITERATIONS + 1.0)
    curves = convergence_curves(table, "search", STYLES, case=WIDE, x=steps, labels=labels)
    panel = plotted(curves, "iteration [-]", "cost [-]", y_scale="log")
    yield drawing("figure-8-convergence", panel, height=3.0)
    marks: list[Mark] = []
    texts = ("quartiles, last value within 1.5 of their distance", "outlier")
    for k, name in enumerate(STYLES):
        role = "nominal" if name.startswith("pso") else "identified"
        marks += box(table.values("search", name, "cost", WIDE), float(k), texts, role)
    panel = plotted(
        marks, "final cost [-]", x_scale="log", y_ticks=tuple(labels[name] for name in STYLES)
    )
    yield drawing("figure-9-final-costs", panel, height=0.28 * len(STYLES) + 0.6)
    yield clamps(table)
    yield network_error(table)
    tips = {(s, m): table.runs("loop curves", m, s)[0] for s in SCENARIOS for m in MODELS}
    path = ("reference path", "muted", np.array(tips["nominal", "reference"]["tip_reference"]))
    driven = ((f"{m}, disturbed", ROLES[m], np.array(tips["disturbed", m]["tip"])) for m in MODELS)
    yield drawing("figure-14-circle", Space(curves=(path, *driven)), height=4.0)
    yield from loops(table)


def estimates(table: TrialTable, *, com: bool) -> Chart:
    """Draw figure 6 (inertia) or 7 (centers of mass): errors of printed and own estimates."""
    chosen = IS_COM if com else ~IS_COM
    names = tuple(np.array(NAMES)[chosen].tolist())
    y = np.arange(len(names), dtype=float)
    (columns,) = table.runs("table 3")
    symbols: dict[str, Symbol] = {"printed": "circle", "ours": "diamond"}
    marks = []
    for model in ("QPSO", "PSO"):
        for kind, symbol in symbols.items():
            values = np.array(columns[f"{model}, {kind}"])[: len(NAMES)]
            error = 100.0 * (values / parameter_vector("reference") - 1.0)[chosen]
            label = f"{model}, {kind}"
            marks.append(Points(error, y, label, ROLES[model], size=5.0, symbol=symbol))
    bar_marks = [
        bars(parameter_vector(column)[chosen], y + shift, column, ROLES[column])
        for column, shift in zip(MODELS, (-0.27, 0.0, 0.27), strict=True)
    ]
    unit = "m" if com else "kg m²"
    drawn = plotted(bar_marks, f"printed value [{unit}]", y_ticks=names)
    errors = plotted(marks, "deviation [%]", y_ticks=names, verticals=(0.0,))
    name, height = f"figure-{7 if com else 6}-estimates", 0.21 * len(names) + 0.5
    return drawing(name, drawn, errors, columns=2, height=height)


def clamps(table: TrialTable) -> Chart:
    """Draw the errors of both swarms by their clamps."""
    lines: list[Mark] = []
    for method, label, own in (("pso", "PSO", PSO_CLAMP), ("qubit", "QPSO", QUBIT_CLAMP)):
        role, cases = ROLES[label], sorted(table.cases("clamp", method), key=float)
        shares, errors = (
            np.array([table.values("clamp", method, name, case).mean() for case in cases])
            for name in ("clamp", "mape_com")
        )
        lines.append(Curve(shares, errors, label, role))
        lines.append(Points(shares, errors, "", role, size=4.0))
        here, mark = np.isclose(shares, own), f"{label}, all other searches"
        lines.append(Points(shares[here], errors[here], mark, role, size=9.0, symbol="diamond"))
    x_label = "largest step, share of the box or of the angle's range [-]"
    return drawing("clamps", plotted(lines, x_label, "MAPE [%]", y_scale="log"), height=2.6)


def network_error(table: TrialTable) -> Chart:
    """Draw figure 12: errors while training, and their distribution."""
    training: list[Mark] = []
    spread: list[Mark] = []
    for k, network in enumerate(NETWORKS.values()):
        first = table.runs("network", network.label, network.region)[0]
        label, role = f"{network.label}, {network.region}", joint_role(k)
        at, learned, tried = np.array(first["curve"]).T
        if network.solver == "lbfgs":
            training.append(Curve(at, learned, "", role, "dashed"))
            training.append(Points(at, tried, "", role, size=4.0))
            training.append(Curve(at, tried, label, role))
        share = np.linspace(0.0, 100.0, len(first["quantiles"]))
        style: Style = "solid" if len(network.layers) == 1 else "dotted"
        spread.append(Curve(np.array(first["quantiles"]), share, label, role, style, 1.4))
    printed = (SETTINGS["printed"]["network"]["printed"]["validation"],)
    return drawing(
        "figure-12-network",
        plotted(training, "iterations [-]", "mean error [mm]", y_scale="log", levels=printed),
        plotted(spread, "error [mm]", "poses [%]", x_scale="log", verticals=printed),
        columns=2,
        height=2.6,
    )


def model_curves(
    table: TrialTable, case: tuple[str, str], quantity: str, j: int, *, start: float, unit: float
) -> list[Curve]:
    """Draw a quantity of a joint for all models in a study and scenario, from a time on [s].

    With a unit it is the difference to the reference's, with zero the quantity itself.
    """
    study, scenario = case
    curves = {m: table.runs(f"{study} curves", m, scenario)[0] for m in MODELS}
    values = {m: np.array(curve[quantity])[:, j] for m, curve in curves.items()}
    t, true = np.array(curves["reference"]["t"]), values["reference"]
    if unit:
        values = {m: (v - true) / unit for m, v in values.items() if m != "reference"}
    later = t >= start
    return [Curve(t[later], v[later], m, ROLES[m], "solid", 1.2) for m, v in values.items()]


def loops(table: TrialTable) -> Iterator[Chart]:
    """Draw figures 15 to 17, torques and energy beside their difference, and those of the arms."""

    def pair(
        scenario: str, quantity: str, j: int, labels: Sequence[str], start: float
    ) -> list[Panel]:
        case = ("loop", scenario)
        whole = model_curves(table, case, quantity, j, start=-np.inf, unit=0.0)
        apart = model_curves(table, case, quantity, j, start=start, unit=1e-3)
        difference = f"difference [{labels[1]}]"
        return [plotted(whole, "time [s]", labels[0]), plotted(apart, "time [s]", difference)]

    for number, scenario in zip((15, 16), SCENARIOS, strict=True):
        panels = [
            panel
            for j in range(JOINTS)
            for panel in pair(scenario, "tau", j, (f"joint {j + 1} [N m]", "mN m"), SETTLED)
        ]
        name = f"figure-{number}-torques"
        yield drawing(name, *panels, columns=2, height=1.3, share_x=True)
    panels = []
    for scenario in SCENARIOS:
        values, apart = pair(scenario, "energy", 1, ("energy [J]", "mJ"), 0.0)
        panels += [replace(values, title=f"{scenario}, joint 2"), apart]
    yield drawing("figure-17-energy", *panels, columns=2, height=1.5)
    rows = [(f"joint {j + 1} [N m]", "tau", j, SETTLED) for j in range(JOINTS)]
    panels = []
    for label, quantity, j, start in (*rows, ("energy of joint 2 [J]", "energy", 1, 0.0)):
        for scenario in SCENARIOS:
            marks = model_curves(table, ("arms", scenario), quantity, j, start=start, unit=1.0)
            title = scenario if len(panels) < len(SCENARIOS) else ""
            panels.append(plotted(marks, "time [s]", label, title=title))
    yield drawing("arms", *panels, columns=2, height=1.2, share_x=True)
