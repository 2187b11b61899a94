"""SEDSABSO without its parts, and with its misprints, one at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.optim.bso import AnnealedBeetleSwarm
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.settings import setting
from robotid_sim.papers.rs010n import excitation, model
from robotid_sim.papers.rs010n.compensation import box_middle
from robotid_sim.papers.rs010n.trials import CLAMPED, PAPER, VARIANTS
from robotid_sim.streams import named_stream

SETTING = "kou-2022-sedsabso"


@dataclass(kw_only=True, eq=False)
class MisprintedBeetleSwarm(AnnealedBeetleSwarm):
    """SEDSABSO with one of its three misprinted equations as printed, the others corrected."""

    equation: int = 14
    """Number of that equation: 12, 14 or 16."""

    def _own_steps(self, f: Float1D) -> Float2D:
        steps = super()._own_steps(f)
        return -steps if self.equation == 12 else steps

    def _disturb(self, g: Float1D) -> Float1D:
        if self.equation != 14:
            return super()._disturb(g)
        moved = g * (1.0 + self.rng.random())
        return np.asarray(np.clip(moved, self.box.lower, self.box.upper))

    def population_at(self, share: float) -> int:
        """Return the number of beetles after a share of the iterations."""
        fallen = super().population_at(share)
        # The printed sign of eq. (16) inverts the factor of the initial number.
        return round(self.population**2 / fallen) if self.equation == 16 else fallen


@dataclass(frozen=True, slots=True)
class Ablation:
    """A change of SEDSABSO."""

    changes: Mapping[str, Any]
    method: type[AnnealedBeetleSwarm] = AnnealedBeetleSwarm


FIXED_SHARE = model.N_FIXED / 90
"""Share of the initial 90 beetles that makes the fixed population of BSO."""
WITHOUT, FIXED = "without disturbances", "with a fixed population of 50"
MISPRINTS = {number: f"with eq. ({number}) as printed" for number in (12, 14, 16)}
ABLATIONS: Mapping[str, Ablation] = {
    WITHOUT: Ablation({"disturbances": 0}),
    FIXED: Ablation({"f_max": FIXED_SHARE, "f_min": FIXED_SHARE}),
    **{text: Ablation({"equation": n}, MisprintedBeetleSwarm) for n, text in MISPRINTS.items()},
}
"""SEDSABSO, corrected and with velocities clamped, without one of its parts."""


def ablation(*, seed: int, run: int, part: str, x: Sequence[float]) -> dict[str, Any]:
    """Return what SEDSABSO finds without a part, from noise-free torques in the clamped box."""
    W = model.regressor(*excitation.motion(np.array(x))).reshape(-1, len(model.TABLE_5))
    fitness = AbsoluteFitness(W, W @ model.theoretical())
    how, published = VARIANTS[CLAMPED], setting(SETTING)
    chosen = ABLATIONS[part]
    optimizer = chosen.method(
        **{**published.options, **chosen.changes, "velocity_limit": how.velocity_limit}
    )
    middle = box_middle(model.theoretical(), seed, run)
    ends = middle - how.half_width, middle + how.half_width
    rng = named_stream(seed, PAPER, "ablation", part, f"run {run}")
    best = minimize(fitness, *ends, method=optimizer, max_evals=published.max_evals, rng=rng)
    return {"fitness": best.fun, "evaluations": best.nfev}
