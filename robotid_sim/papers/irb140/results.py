"""What the trials of this paper found, by case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.papers.irb140.network import TASK
from robotid_sim.papers.irb140.published import parameter_vector
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP

BOX, SMALL_BOX = 0.5, 0.1

CASES: tuple[tuple[str, str, float], ...] = (
    *(
        (method, "relative", BOX)
        for method in (
            "pso", "pso-literal", "pso-decreasing", "pso-constricted", "qubit", "qubit-decreasing",
            "qubit-bits", "qubit-single", "delta-well",
        )
    ),
    *(
        (method, "relative", SMALL_BOX)
        for method in ("pso", "pso-literal", "pso-decreasing", "qubit", "qubit-decreasing",
                       "delta-well")
    ),
    *(
        (method, "raw", BOX) for method in ("pso", "pso-decreasing", "qubit-decreasing",
                                            "delta-well")
    ),
)  # fmt: skip
"""Method, scaling and half width of the box of every search."""

Case = tuple[str, str, float]

COUNTED = (("pso", "relative", SMALL_BOX), ("qubit", "relative", SMALL_BOX))
"""The cases that iterations are counted on: their median needs more runs than the paper's 30."""

EQUAL_SHARES = tuple((share, share) for share in (0.5 * QUBIT_CLAMP, QUBIT_CLAMP, 0.1, 0.2, 0.4))
"""Clamps of PSO and of the qubits that are the same share of their ranges."""

EQUAL_STEPS = tuple((step, step * 2.0 / np.pi) for step in (0.1, 0.2))
"""Clamps with the same largest step in the middle of the box: x = cos(angle)^2 has slope 1 there,
and the angle's range is pi / 2."""

AS_SET = (PSO_CLAMP, QUBIT_CLAMP)
"""The clamps of all other searches, PSO's and the qubits': neither shares nor steps are equal."""

Clamp = tuple[str, float]

CLAMPS: tuple[Clamp, ...] = tuple(
    dict.fromkeys(
        (method, pair[k])
        for pair in (AS_SET, *EQUAL_SHARES, *EQUAL_STEPS)
        for k, method in enumerate(("pso", "qubit"))
    )
)
"""Method and clamp of every search of the sweep."""


STEP_KEYS = ("rise_time", "settling_time", "overshoot", "steady_state_error")
"""Of the joint step, in the order of Table 4."""


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Everything that tables, figures and claims are made of."""

    searches: Mapping[Case, Mapping[str, Any]]
    clamps: Mapping[Clamp, Mapping[str, Any]]
    """By method and clamp, relative scaling and the large box."""
    loops: Sequence[Mapping[str, Any]]
    """First the nominal run, of which there is one, then the disturbed ones."""
    networks: Mapping[str, Sequence[Mapping[str, Any]]]
    """By network, one a run."""
    torques: Sequence[Mapping[str, Any]]
    cad: Mapping[str, Any]
    kinematics: Mapping[str, Any]
    quick: bool
    """Small budgets and a short lap, which bands are not for."""
    judged: bool
    """Whether the runs suffice for statistics; see `Lab.judged`."""

    def search(self, method: str, scaling: str = "relative", box: float = BOX) -> Mapping[str, Any]:
        """Return the runs of a method on a box."""
        return self.searches[method, scaling, box]

    def median_estimate(self, method: str) -> Float1D:
        """Return the 27 parameters of the run with the median final cost, relative box."""
        found = self.search(method)
        order = np.argsort(found["cost"], kind="stable")
        return np.array(found["estimate"][int(order[(len(order) - 1) // 2])])

    def loop(self, scenario: str, model: str, key: str) -> np.ndarray:
        """Return a value of a model in the closed loop, one row a run."""
        rows = [
            case[key]
            for run in self.loops
            for case in run["cases"]
            if (case["scenario"], case["model"]) == (scenario, model)
        ]
        return np.array(rows, dtype=float)

    @property
    def curves(self) -> Mapping[str, Any]:
        """Time series of the loop, by scenario and model."""
        return {name: curve for run in self.loops for name, curve in run["curves"].items()}

    @property
    def lap(self) -> float:
        """Time of the circle [s]; short in a quick run."""
        return float(np.round(self.curves["nominal reference"]["t"][-1]))

    def task_network(self, key: str) -> Float1D:
        """Return a value of the network that is held against the printed error, one a run."""
        return np.array([run[key] for run in self.networks[TASK]], dtype=float)

    def step(self, scenario: str, model: str, key: str) -> Float1D:
        """Return a metric of the joint step, one a run; NaN where it is never reached."""
        cases = (case for run in self.loops for case in run["cases"])
        own = [c["step"][key] for c in cases if (c["scenario"], c["model"]) == (scenario, model)]
        return np.array(own, dtype=float)

    def torque(self, estimator: str, key: str) -> Float1D:
        """Return a value of an estimator on torque data, one a run."""
        return np.array([run["estimates"][estimator][key] for run in self.torques], dtype=float)

    @property
    def reference(self) -> Float1D:
        """The 27 parameters of Table 2."""
        return parameter_vector("reference")
