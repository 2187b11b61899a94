"""The work of this reproduction, cut into trials, and the grid of their results."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.campaign.trials import Trial
from robotid_sim.papers.grid import RunGrid, RunRow, values_of
from robotid_sim.papers.irb140.inverse_network import TREATMENTS
from robotid_sim.papers.irb140.network import CHUNK, NETWORKS, SAMPLES, TASK
from robotid_sim.papers.irb140.performance import OBJECTIVES, SWARMS
from robotid_sim.papers.irb140.published import RUNS, parameter_vector
from robotid_sim.papers.irb140.swarms import METHODS, PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.paper import Lab

PACKAGE = "robotid_sim.papers.irb140"

LOOPS = 15
"""Disturbed runs of the models in the controller."""
LOGS = 12
"""Logs that the swarms on torque data are tried on."""
TRAININGS = 3
"""Trainings of the network that is held against the printed error."""
MORE = 20
"""Runs of the cases that iterations are counted on, over those of the others."""
SHAKEN = 4
"""Disturbed runs of the models as arms."""
PERFORMANCES = 10
"""Searches with every objective and swarm."""
INVERSES = 4
"""Logged motions that the inverse networks learn from."""
INVERSE_ITERATIONS = 500
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
    with another clamp; ``nominal`` and ``disturbed``: models in the loop; ``("plants", scenario)``:
    models as arms; ``network``: networks; ``inverse``: treatments of singular poses; ``torque``:
    estimators on torque data; ``("performance", objective)``: swarms."""
    curves: Mapping[str, Any]
    """Time series of the loop, by scenario and model; of the models as arms with ``plants``."""
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

    def plants(self, scenario: str, model: str, name: str) -> np.ndarray:
        """Return a value of a model as the arm itself, one row a run."""
        return self.grid.values(model, name, ("plants", scenario))

    def performance(self, swarm: str, objective: str, name: str) -> Float1D:
        """Return a value of a swarm with another objective, one a run."""
        return self.grid.values(swarm, name, ("performance", objective))

    def inverse(self, treatment: str, name: str) -> Float1D:
        """Return a value of an inverse network, one a logged motion."""
        return self.grid.values(treatment, name, "inverse")

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
    plants, swarms, inverses = _plants(lab), _performances(lab), _inverses(lab)
    cad = Trial("cad", f"{PACKAGE}.torque:cad_step")
    kinematics = lab.trial("kinematics", f"{PACKAGE}.kinematics:compare_with_urdf", poses=POSES)
    # The longest first, so that no process is left alone with one at the end.
    every = [trial for trials in networks.values() for trial in trials]
    every += [*loops, *plants.values(), *inverses.values(), *torques]
    every += [*searches.values(), *swarms.values(), cad, kinematics]
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
    rows += [(("inverse", key[0]), results[trial.name]) for key, trial in inverses.items()]
    rows += [
        ((("performance", objective), swarm), results[trial.name])
        for (objective, swarm, _), trial in swarms.items()
    ]
    arms = [(scenario, results[trial.name]) for (scenario, _), trial in plants.items()]
    rows += [
        ((("plants", scenario), model), row)
        for scenario, arm in arms
        for model, row in arm["models"].items()
    ]
    curves = {name: curve for run in driven for name, curve in run["curves"].items()}
    curves |= {
        f"plants {scenario} {model}": curve
        for scenario, arm in arms
        for model, curve in arm["curves"].items()
    }
    return QuantumResults(
        grid=RunGrid.of(rows),
        curves=curves,
        cad=results[cad.name],
        kinematics=results[kinematics.name],
    )


def _networks(lab: Lab, name: str) -> list[Trial]:
    network = NETWORKS[name]
    # More trainings than for an interval of the mean would take longer than all the rest.
    runs = min(TRAININGS, lab.runs_of(TRAININGS, 1)) if name == TASK else 1
    options = {"network": name, "samples": SAMPLES, "iterations": network.iterations}
    if lab.quick:
        options |= {"samples": SAMPLES // (8 if name == TASK else 16), "iterations": network.quick}
    if lab.quick and network.solver == "lbfgs":  # two looks at the error make a line
        options["iterations"] = 2 * CHUNK
    return lab.repeated(f"network-{name}", f"{PACKAGE}.network:train", runs, **options)


def _loops(lab: Lab) -> list[Trial]:
    """Return one nominal run, in which nothing is drawn, and the disturbed ones."""
    lap = {"lap": 10.0} if lab.quick else {}
    track = f"{PACKAGE}.control:track"
    nominal = lab.repeated("loop-nominal", track, 1, scenario="nominal", **lap)
    runs = lab.runs_of(LOOPS, 2)
    return [*nominal, *lab.repeated("loop-disturbed", track, runs, scenario="disturbed", **lap)]


def _plants(lab: Lab) -> dict[tuple[str, int], Trial]:
    """Return the models as arms: one nominal run, and disturbed ones."""
    lap = {"lap": 5.0} if lab.quick else {}
    counts = {"nominal": 1, "disturbed": min(SHAKEN, lab.runs_of(SHAKEN, 1))}
    function = f"{PACKAGE}.plants:drive"
    return {
        (scenario, run): lab.trial(
            f"plants-{scenario}-{run}", function, run=run, scenario=scenario, **lap
        )
        for scenario, count in counts.items()
        for run in range(count)
    }


def _performances(lab: Lab) -> dict[tuple[str, str, int], Trial]:
    cases = product(OBJECTIVES, SWARMS, range(lab.runs_of(PERFORMANCES, 1)))
    function = f"{PACKAGE}.performance:search"
    return {
        (objective, swarm, run): lab.trial(
            f"performance-{objective}-{swarm}-{run}",
            function,
            run=run,
            swarm=swarm,
            objective=objective,
        )
        for objective, swarm, run in cases
    }


def _inverses(lab: Lab) -> dict[tuple[str, int], Trial]:
    iterations = INVERSE_ITERATIONS // (10 if lab.quick else 1)
    runs = min(INVERSES, lab.runs_of(INVERSES, 1))
    function = f"{PACKAGE}.inverse_network:train_inverse"
    return {
        (treatment, run): lab.trial(
            f"inverse-{treatment}-{run}",
            function,
            run=run,
            treatment=treatment,
            iterations=iterations,
        )
        for treatment, run in product(TREATMENTS, range(runs))
    }


def _search(lab: Lab, method: str, scaling: str, box: float, clamp: float | None = None) -> Trial:
    runs, name = lab.runs_of(RUNS, 6), f"search-{method}-{scaling}-{box:g}"
    settings = {"method": method, "scaling": scaling, "half_width": box}
    if clamp is not None:
        name = f"{name}-clamp-{clamp:.4f}"
        return lab.trial(name, f"{PACKAGE}.swarms:search", runs=runs, clamp=clamp, **settings)
    runs *= MORE if (method, scaling, box) in COUNTED and not lab.quick else 1
    return lab.trial(name, f"{PACKAGE}.swarms:search", runs=runs, **settings)
