"""The reproduction: trials, tables, figures, claims."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from robotid_sim.chart import Chart
from robotid_sim.model.solid import require_mesh_reader
from robotid_sim.papers.irb140.campaign import EQUAL_STEPS, QuantumResults, run_campaign
from robotid_sim.papers.irb140.figures import all_charts
from robotid_sim.papers.irb140.measurements import measurements, pair_ratio
from robotid_sim.papers.irb140.network import require_sklearn
from robotid_sim.papers.irb140.published import ROOT
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.irb140.tables import (
    clamp_table,
    kinematics_table,
    loop_table,
    network_table,
    search_table,
    table_2,
    table_3,
    table_4,
    torque_table,
)
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.statistics import geometric_ratio
from robotid_sim.section import Section


class QuantumSwarms(Paper):
    """PSO against QPSO on an ABB IRB 140, with neural kinematics and sliding-mode control."""

    name: ClassVar[str] = ROOT

    def require(self) -> None:
        """Raise unless scikit-learn and a reader of meshes are installed; see `Paper.require`."""
        require_sklearn()
        require_mesh_reader()

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run what is not finished; see `Paper.reproduce`."""
        results = run_campaign(lab)
        charts = {chart.name: chart for chart in all_charts(results)}
        values = measurements(results)
        return self.reproduction(lab, _finding(results), values, _sections(results, charts))


def _finding(results: QuantumResults) -> str:
    pso, qubit = (results.search(swarm, "mape_com") for swarm in ("pso", "qubit"))
    ratio = geometric_ratio(pso, qubit)[0]
    equal = pair_ratio(results, (QUBIT_CLAMP, QUBIT_CLAMP), "mape_com")[0]
    step = pair_ratio(results, EQUAL_STEPS[0], "mape_com")[0]
    torque = float(np.median(results.torque("qubit", "criterion_over_optimum")))
    network = results.network("validation").mean()
    wide = results.network("validation", "single-wide")[0]
    apart = {
        model: results.loop("nominal", model, "torque_difference_settled")[0, :3]
        for model in ("PSO", "QPSO")
    }
    nearer = apart["PSO"] / apart["QPSO"]
    return (
        "What the paper compares is the largest step of two swarms, which it does not print. QPSO "
        f"comes {ratio:.1f} times nearer to the CAD parameters than PSO if a qubit may step "
        f" {QUBIT_CLAMP:.2g} of its range and a particle {PSO_CLAMP:g} of its own; with "
        f"{QUBIT_CLAMP:.2g} for both PSO comes {1.0 / equal:.1f} times nearer, and with equal "
        f"steps in the middle of the box the ratio is {step:.2f}. Either is shown the answer: no "
        "torque is in the objective, and of its 27 parameters torques show 15 combinations. On "
        f"torques from the engine QPSO ends at {torque:.3g} times the cost that least squares "
        "reaches in a millisecond. Its printed estimates do give torques nearer to the "
        f"reference's under sliding-mode control, {nearer.min():.1f} to {nearer.max():.1f} times "
        "by joint once the loop has settled, and they track better than PSO's without a "
        f"disturbance, not worse as Table 4 has it. The network reaches {network:.2g} mm near one "
        f"pose and {wide:.2g} mm over half of the joint ranges."
    )


def _sections(results: QuantumResults, charts: Mapping[str, Chart]) -> tuple[Section, ...]:
    return (
        Section(
            title="CAD step",
            text="Section 2.6: every link gets a share of the robot's mass by its volume. Our "
            "meshes are drawn after the data sheet, not the maker's CAD; Table 2's centers of "
            "mass lie outside of the castings, so no mesh can give them.",
            tables=(table_2(results),),
        ),
        *_kinematics(results, charts),
        *_search(results, charts),
        Section(
            title="Control",
            text="The three models in the same sliding-mode controller, plant = reference. "
            "Gains come from the reference model by one specification for all. Nothing is drawn "
            "in the nominal scenario: it is run once.",
            charts=_figures(charts, "figure-14", "figure-15", "figure-16", "figure-17"),
            tables=(table_4(results), loop_table(results)),
        ),
        Section(
            title="What the paper does not do",
            text="The same swarms on torques measured in the engine: three links, friction and "
            "rotors, default sensors, box of ± 50 % around weighted least squares, 18,000 "
            "evaluations. A cost of 1 is the least-squares optimum.",
            tables=(torque_table(results),),
        ),
    )


def _figures(charts: Mapping[str, Chart], *names: str) -> tuple[Chart, ...]:
    return tuple(chart for name, chart in charts.items() if name.startswith(names))


def _kinematics(results: QuantumResults, charts: Mapping[str, Chart]) -> tuple[Section, ...]:
    return (
        Section(
            title="Kinematics",
            text="Sections 2.1 to 2.4: the closed-form position, the Jacobian and the singularity "
            "index kappa(J), with the signs that the print has lost, against the URDF's.",
            tables=(kinematics_table(results),),
        ),
        Section(
            title="Network",
            text="Networks learn the position from the joint angles.",
            charts=_figures(charts, "figure-12"),
            tables=(network_table(results),),
        ),
    )


def _search(results: QuantumResults, charts: Mapping[str, Chart]) -> tuple[Section, ...]:
    return (
        Section(
            title="Search",
            text="Equation (20) compares a candidate with the reference itself. The relative "
            "scaling searches p over its reference: only so are errors alike for large and small "
            "entries, as they are in Table 3.",
            charts=_figures(charts, "figure-6", "figure-7", "figure-8", "figure-9"),
            tables=(table_3(results), search_table(results)),
        ),
        Section(
            title="The clamps decide",
            text="With the printed weight .99 neither swarm settles: how far it ends from the "
            "answer follows its largest step, which the paper does not print. All other searches "
            f"let PSO step {PSO_CLAMP:g} of its box and a qubit .1 rad, {QUBIT_CLAMP:.2g} of its "
            "range. Ratios above 1 favor QPSO.",
            charts=_figures(charts, "clamps"),
            tables=(clamp_table(results),),
        ),
    )
