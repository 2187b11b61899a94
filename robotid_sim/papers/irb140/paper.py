"""Fazilat, Zioui (2025): PSO against QPSO on an ABB IRB 140."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, ClassVar

from robotid_sim.papers.irb140.computed import CLAMPS, with_computed
from robotid_sim.papers.irb140.inverse_network import TREATMENTS
from robotid_sim.papers.irb140.kinematics import NETWORKS, SAMPLES, TASK, require_sklearn
from robotid_sim.papers.irb140.model import ROOT, SETTINGS
from robotid_sim.papers.irb140.swarms import METHODS, OBJECTIVES, SWARMS
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
