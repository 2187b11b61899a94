"""What the trials of this paper found, by case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.papers.irb140.published import parameter_vector

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


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Everything that tables, figures and claims are made of."""

    searches: Mapping[Case, Mapping[str, Any]]
    loops: Sequence[Mapping[str, Any]]
    networks: Mapping[str, Mapping[str, Any]]
    torques: Sequence[Mapping[str, Any]]
    cad: Mapping[str, Any]
    quick: bool

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

    def torque(self, estimator: str, key: str) -> Float1D:
        """Return a value of an estimator on torque data, one a run."""
        return np.array([run["estimates"][estimator][key] for run in self.torques], dtype=float)

    @property
    def reference(self) -> Float1D:
        """The 27 parameters of Table 2."""
        return parameter_vector("reference")
