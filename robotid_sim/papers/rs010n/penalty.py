"""The excitation with the printed penalty: what a genetic algorithm finds by eq. (9)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim.minimize import minimize
from robotid_sim.papers.rs010n import excitation
from robotid_sim.papers.rs010n.trials import PAPER
from robotid_sim.streams import named_stream

PENALTY = 1e8
"""P of eq. (9) for a motion that leaves Table 3."""
ROUNDING = 1e-9
"""Use of a limit above one that counts as none."""


@dataclass(frozen=True, slots=True)
class PenalizedCost:
    """The condition number of a motion, plus the penalty if it leaves the limits, eq. (9)."""

    columns: str
    """``unit`` or ``SI``."""

    def __call__(self, points: Float2D) -> Float1D:
        """Return the costs of points, shape (m,), for points of shape (m, d)."""
        return np.array([self._cost(point) for point in points])

    def _cost(self, x: Float1D) -> float:
        condition = float(np.exp(excitation.problem(self.columns).value(x)))
        return condition + (0.0 if within_limits(x) else PENALTY)


def within_limits(x: Float1D) -> bool:
    """Return whether a motion keeps all limits of Table 3."""
    return excitation.limit_use(x) <= 1.0 + ROUNDING


def penalized_excitation(
    *, seed: int, run: int, width: float, population: int, generations: int
) -> dict[str, Any]:
    """Return what the genetic algorithm finds with the printed penalty.

    Coordinates are in units of the limits: a coordinate of one uses a limit up by itself. The box
    of the search, which is not printed, reaches to `width` in each.
    """
    cost = PenalizedCost("unit")
    box = np.full(excitation.problem().space.size, width)
    rng = named_stream(seed, PAPER, "penalty", f"width {width:g}", f"run {run}")
    best = minimize(
        cost,
        -box,
        box,
        method="ga",
        population=population,
        max_evals=population * generations,
        rng=rng,
    )
    first = rng.uniform(-width, width, (population, box.size))
    return {
        "x": best.x.tolist(),
        "evaluations": best.nfev,
        "feasible": within_limits(best.x),
        "limit_use": excitation.limit_use(best.x),
        "feasible_draws": float(np.mean([within_limits(x) for x in first])),
        **excitation.condition_numbers(best.x),
    }
