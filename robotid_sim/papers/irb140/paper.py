"""Fazilat, Zioui (2025): PSO against QPSO on an ABB IRB 140."""

from typing import Any, ClassVar

import numpy as np

from robotid_sim.papers.irb140 import figures, tables
from robotid_sim.papers.irb140.campaign import EQUAL_STEPS, QuantumResults, run_campaign
from robotid_sim.papers.irb140.loop_measurements import tip_error
from robotid_sim.papers.irb140.measurements import EQUAL, measurements, pair_ratio
from robotid_sim.papers.irb140.network import require_sklearn
from robotid_sim.papers.irb140.published import ROOT
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.statistics import geometric_ratio


class QuantumSwarms(Paper):
    """PSO against QPSO on an ABB IRB 140, with neural kinematics and sliding-mode control."""

    name: ClassVar[str] = ROOT

    def require(self) -> None:
        """Raise unless scikit-learn is installed; see `Paper.require`."""
        require_sklearn()

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run what is not finished; see `Paper.reproduce`."""
        results = run_campaign(lab)
        shown = figures.all_charts(results), tables.all_tables(results)
        values = measurements(results)
        ordered = values["arms-table-4-nominal"].ours
        facts = {**_facts(results), "arm_ordered": ordered}
        return self.reproduction(lab, values, facts, *shown)


def _facts(results: QuantumResults) -> dict[str, Any]:
    """Return what fills the texts of the page."""
    pso, qubit = (results.search(swarm, "mape_com") for swarm in ("pso", "qubit"))
    far, near = (
        results.loop("nominal", model, "torque_difference_settled")[0, :3]
        for model in ("PSO", "QPSO")
    )
    arm_pso, arm_qpso = (results.plants("nominal", model, "tau")[0, 1] for model in ("PSO", "QPSO"))
    own, true = (results.plants("nominal", m, "energy")[0, 1] for m in ("PSO", "reference"))
    tracking = {
        model: 1e3 * np.linalg.norm(results.loop("nominal", model, "rms_error")[0])
        for model in ("PSO", "QPSO")
    }
    return {
        "track_pso": tracking["PSO"],
        "track_qpso": tracking["QPSO"],
        "arm_pso": arm_pso,
        "arm_energy": 100.0 * (own / true - 1.0),
        "arm_qpso": arm_qpso,
        "pso_clamp": PSO_CLAMP,
        "qubit_clamp": QUBIT_CLAMP,
        "ratio": geometric_ratio(pso, qubit)[0],
        "equal": 1.0 / pair_ratio(results, EQUAL, "mape_com")[0],
        "step": pair_ratio(results, EQUAL_STEPS[0], "mape_com")[0],
        "torque": np.median(results.torque("qubit", "criterion_over_optimum")),
        "nearer_least": (far / near).min(),
        "nearer_most": (far / near).max(),
        "network": results.network("validation").mean(),
        "wide": results.network("validation", "single-wide")[0],
        "lap": results.lap,
        "tip_error": tip_error(results),
    }
