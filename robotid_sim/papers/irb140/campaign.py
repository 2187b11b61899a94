"""The work of this reproduction, cut into trials, and the grid of their results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.campaign import Trial
from robotid_sim.papers.grid import RunGrid, RunRow, values_of
from robotid_sim.papers.irb140.network import NETWORKS, SAMPLES, TASK
from robotid_sim.papers.irb140.published import RUNS, parameter_vector
from robotid_sim.papers.irb140.swarms import METHODS, PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.paper import Lab

PACKAGE = "robotid_sim.papers.irb140"

LOGS = 12
"""Logs that the swarms on torque data are tried on."""
TRAININGS = 6
"""Trainings of the network that is held against the printed error."""
MORE = 20
"""Runs of the cases that iterations are counted on, over those of the others."""
POSES = 5000
"""Poses that the kinematics are compared in."""
BOX, SMALL_BOX = 0.5, 0.1

_SMALL = ("pso", "pso-literal", "pso-decreasing", "qubit", "qubit-decreasing", "delta-well")
_SWARMS_OF_CASE = {
    ("relative", BOX): tuple(METHODS),
    ("relative", SMALL_BOX): _SMALL,
    ("raw", BOX): ("pso", "pso-decreasing", "qubit-decreasing", "delta-well"),
}
SEARCH_CASES: tuple[tuple[str, str, float], ...] = tuple(
    (method, *case) for case, methods in _SWARMS_OF_CASE.items() for method in methods
)
"""Method, scaling and half width of the box of every search."""
COUNTED = (("pso", "relative", SMALL_BOX), ("qubit", "relative", SMALL_BOX))
"""The cases that iterations are counted on: their median needs more runs than the paper's 30."""
EQUAL_SHARES = tuple((share, share) for share in (0.5 * QUBIT_CLAMP, QUBIT_CLAMP, 0.1, 0.2, 0.4))
"""Clamps of PSO and of the qubits that are the same share of their ranges."""
EQUAL_STEPS = tuple((step, step * 2.0 / np.pi) for step in (0.1, 0.2))
"""Clamps with the same largest step in the middle of the box: x = cos(angle)^2 has slope 1 there,
and the angle's range is pi / 2."""
AS_SET = (PSO_CLAMP, QUBIT_CLAMP)
"""The clamps of all other searches, PSO's and the qubits': neither shares nor steps are equal."""
CLAMPS: tuple[tuple[str, float], ...] = tuple(
    dict.fromkeys(
        (method, pair[k])
        for pair in (AS_SET, *EQUAL_SHARES, *EQUAL_STEPS)
        for k, method in enumerate(("pso", "qubit"))
    )
)
"""Method and clamp of every search of the sweep."""


@dataclass(frozen=True, slots=True, eq=False)
class QuantumResults:
    """Everything that tables, figures and claims are made of."""

    grid: RunGrid
    """By case and method. ``(scaling, box)``: swarms; ``("clamp", share)``: swarms in the large box
    with another clamp; ``nominal`` and ``disturbed``: models in the loop; ``network``: networks;
    ``torque``: estimators on torque data."""
    curves: Mapping[str, Any]
    """Time series of the loop, by scenario and model."""
    cad: Mapping[str, Any]
    kinematics: Mapping[str, Any]

    def search(
        self, method: str, name: str, scaling: str = "relative", box: float = BOX
    ) -> np.ndarray:
        """Return a result of a swarm on a box, one a run."""
        return self.grid.values(method, name, (scaling, box))

    def clamped(self, method: str, clamp: float, name: str) -> np.ndarray:
        """Return a result of a swarm with another clamp, one a run."""
        return self.grid.values(method, name, ("clamp", clamp))

    def median_estimate(self, method: str) -> Float1D:
        """Return the 27 parameters of the run with the median final cost, relative box."""
        order = np.argsort(self.search(method, "cost"), kind="stable")
        return np.asarray(self.search(method, "estimate")[int(order[(len(order) - 1) // 2])])

    def loop(self, scenario: str, model: str, name: str) -> np.ndarray:
        """Return a value of a model in the closed loop, one row a run."""
        return self.grid.values(model, name, scenario)

    def step(self, scenario: str, model: str, name: str) -> Float1D:
        """Return a metric of the joint step, one a run; NaN where it is never reached."""
        return values_of([row["step"] for row in self.grid.runs(model, scenario)], name)

    def torque(self, estimator: str, name: str) -> Float1D:
        """Return a value of an estimator on torque data, one a run."""
        return self.grid.values(estimator, name, "torque")

    def network(self, name: str, network: str = TASK) -> Float1D:
        """Return a value of a network, one a training."""
        return self.grid.values(network, name, "network")

    @property
    def lap(self) -> float:
        """Time of the circle [s]; short in a quick run."""
        return float(np.round(self.curves["nominal reference"]["t"][-1]))

    @property
    def reference(self) -> Float1D:
        """The 27 parameters of Table 2."""
        return parameter_vector("reference")


def run_campaign(lab: Lab) -> QuantumResults:
    """Run what is not finished and return all results."""
    networks = {name: _networks(lab, name) for name in NETWORKS}
    loops, identify = _loops(lab), f"{PACKAGE}.torque:identify_from_torque"
    torques = lab.repeated("torque", identify, lab.runs_of(LOGS, 1))
    searches: dict[tuple[Any, str], Trial] = {
        (case[1:], case[0]): _search(lab, *case) for case in SEARCH_CASES
    }
    searches |= {
        (("clamp", clamp), method): _search(lab, method, "relative", BOX, clamp)
        for method, clamp in CLAMPS
    }
    cad = Trial("cad", f"{PACKAGE}.torque:cad_step")
    kinematics = lab.trial("kinematics", f"{PACKAGE}.kinematics:compare_with_urdf", poses=POSES)
    # The longest first, so that no process is left alone with one at the end.
    every = [trial for trials in networks.values() for trial in trials]
    every += [*loops, *torques, *searches.values(), cad, kinematics]
    results = dict(zip((t.name for t in every), lab.run("irb140", every), strict=True))
    driven = [results[trial.name] for trial in loops]
    logs = [results[trial.name] for trial in torques]
    rows: list[tuple[tuple[Any, str], RunRow]] = [
        (key, run) for key, trial in searches.items() for run in results[trial.name]["runs"]
    ]
    rows += [((case["scenario"], case["model"]), case) for run in driven for case in run["cases"]]
    rows += [
        (("network", name), results[t.name]) for name, trials in networks.items() for t in trials
    ]
    rows += [(("torque", name), row) for log in logs for name, row in log["estimates"].items()]
    return QuantumResults(
        grid=RunGrid.of(rows),
        curves={name: curve for run in driven for name, curve in run["curves"].items()},
        cad=results[cad.name],
        kinematics=results[kinematics.name],
    )


def _networks(lab: Lab, name: str) -> list[Trial]:
    network = NETWORKS[name]
    # More trainings than for an interval of the mean would take longer than all the rest.
    runs = min(TRAININGS, lab.runs_of(TRAININGS, 1)) if name == TASK else 1
    options = {
        "network": name,
        "samples": SAMPLES // 8 if lab.quick else SAMPLES,
        "iterations": network.quick if lab.quick else network.iterations,
    }
    return lab.repeated(f"network-{name}", f"{PACKAGE}.network:train", runs, **options)


def _loops(lab: Lab) -> list[Trial]:
    """Return one nominal run, in which nothing is drawn, and the disturbed ones."""
    lap = {"lap": 10.0} if lab.quick else {}
    track = f"{PACKAGE}.control:track"
    nominal = lab.repeated("loop-nominal", track, 1, scenario="nominal", **lap)
    runs = lab.runs_of(RUNS, 2)
    return [*nominal, *lab.repeated("loop-disturbed", track, runs, scenario="disturbed", **lap)]


def _search(lab: Lab, method: str, scaling: str, box: float, clamp: float | None = None) -> Trial:
    runs, name = lab.runs_of(RUNS, 6), f"search-{method}-{scaling}-{box:g}"
    settings = {"method": method, "scaling": scaling, "half_width": box}
    if clamp is not None:
        name = f"{name}-clamp-{clamp:.4f}"
        return lab.trial(name, f"{PACKAGE}.swarms:search", runs=runs, clamp=clamp, **settings)
    runs *= MORE if (method, scaling, box) in COUNTED and not lab.quick else 1
    return lab.trial(name, f"{PACKAGE}.swarms:search", runs=runs, **settings)
