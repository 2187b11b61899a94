"""The searches of the reproduction: for excitations, and for parameters from noise-free torques."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import thinned
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.excitation.draws import feasible_draws
from robotid_sim.excitation.optimal import DesignCost
from robotid_sim.optim.bso import AnnealedBeetleSwarm
from robotid_sim.optim.minimize import minimize, setting
from robotid_sim.papers.rs010n import model
from robotid_sim.streams import named_stream

PAPER = "rs010n-sedsabso"
CURVE_POINTS = 100
LEFT = 0.01
"""Share of its gain that is left of a search that has converged."""
PENALTY = 1e8
"""P of eq. (9) for a motion that leaves Table 3."""
ROUNDING = 1e-9
"""Use of a limit above one that counts as none."""


SETTING = "kou-2022-sedsabso"
METHODS, VARIANTS = model.SETTINGS["searches"], model.SETTINGS["variants"]
FREE, CLAMPED, _ = VARIANTS


def random_excitation(*, seed: int, draws: int) -> dict[str, Any]:
    """Find the best of some random motions within the limits, for both condition numbers.

    Of one seed, fewer motions are the first of more.
    """
    drawn = feasible_draws(model.plain_problem(), named_stream(seed, PAPER, "random"), draws)
    numbers = [model.condition_numbers(draw.x) for draw in drawn]
    least = {name: min(draw[name] for draw in numbers) for name in model.CRITERIA_OF_PAPER}
    return {"evaluations": draws, **least}


def genetic_excitation(
    *, seed: int, run: int, columns: str, population: int, generations: int
) -> dict[str, Any]:
    """Search an excitation by a genetic algorithm, every point scaled into the limits.

    It minimizes the condition number of ``unit`` columns, or in ``SI`` units.
    """
    problem = model.problem(columns)
    cost = DesignCost(problem)
    box = np.ones(problem.space.size)
    rng = named_stream(seed, PAPER, "ga", columns, f"run {run}")
    most = population * generations
    best = minimize(cost, -box, box, method="ga", population=population, max_evals=most, rng=rng)
    x = cost.meant(best.x)
    assert x is not None
    return {"x": x.tolist(), "evaluations": best.nfev, **_described(x)}


def penalized_excitation(
    *, seed: int, run: int, width: float, population: int, generations: int
) -> dict[str, Any]:
    """Search an excitation by the genetic algorithm with the printed penalty, eq. (9).

    Coordinates are in units of the limits: a coordinate of one uses a limit up by itself. The box
    of the search, which is not printed, reaches to `width` in each.
    """
    box = np.full(model.problem().space.size, width)
    rng = named_stream(seed, PAPER, "penalty", f"width {width:g}", f"run {run}")
    most = population * generations
    best = minimize(
        penalized_cost, -box, box, method="ga", population=population, max_evals=most, rng=rng
    )
    first = rng.uniform(-width, width, (population, box.size))
    return {
        "evaluations": best.nfev,
        "feasible": "yes" if is_within_limits(best.x) else "no",
        "feasible_draws": float(np.mean([is_within_limits(x) for x in first])),
        **_described(best.x),
    }


def penalized_cost(points: Float2D) -> Float1D:
    """Compute the condition number of motions, plus the penalty outside of Table 3, shape (m,)."""
    return np.array(
        [
            float(np.exp(model.problem().value(x))) + PENALTY * (not is_within_limits(x))
            for x in points
        ]
    )


def is_within_limits(x: Float1D) -> bool:
    """Tell whether a motion keeps all limits of Table 3."""
    return model.limit_use(x) <= 1.0 + ROUNDING


def _described(x: Float1D) -> dict[str, float]:
    return {"limit_use": model.limit_use(x), **model.condition_numbers(x)}


def noise_free(x: Float1D) -> AbsoluteFitness:
    """Return the cost of eq. (17) for torques of the theoretical parameters along a motion."""
    W = model.regressor(*model.motion(x)).reshape(-1, model.N_PARAMETERS)
    return AbsoluteFitness(W, W @ model.theoretical())


def search(*, seed: int, run: int, method: str, variant: str, x: Sequence[float]) -> dict[str, Any]:
    """Search from noise-free torques by one of `METHODS`, in one of `VARIANTS`."""
    return search_once(noise_free(np.array(x)), model.theoretical(), method, variant, seed, run)


def box_middle(truth: Float1D, half_width: float, seed: int, run: int) -> Float1D:
    """Draw the middle of the box in which the searches of a run start, shape (21,).

    Within half a box of the truth, the same for all methods: a box about the truth itself would
    give the answer away.
    """
    shift = named_stream(seed, PAPER, "box", f"run {run}").uniform(-0.5, 0.5, truth.size)
    return np.asarray(truth + half_width * shift)


def search_once(
    fitness: AbsoluteFitness, truth: Float1D, method: str, variant: str, seed: int, run: int
) -> dict[str, Any]:
    """Run a search of the minimum of eq. (17); the true parameters (21,) place its box."""
    options = {**METHODS[method], **VARIANTS[variant]}
    half_width, name = options.pop("half_width"), options.pop("setting")
    budget = setting(options.pop("budget", name)).max_evals
    optimizer = setting(name).build(**options)
    middle = box_middle(truth, half_width, seed, run)
    ends = middle - half_width, middle + half_width
    rng = named_stream(seed, PAPER, method, variant, f"run {run}")
    began = time.process_time()
    best = minimize(fitness, *ends, method=optimizer, max_evals=budget, rng=rng)
    seconds = time.process_time() - began
    at, curve = best.history[thinned(len(best.history), CURVE_POINTS)].T
    errors = np.abs(best.x - truth)
    converged = curve - curve[-1] <= LEFT * (curve[0] - curve[-1])
    return {
        "fitness": best.fun,
        "beta": best.x.tolist(),
        "errors": errors.tolist(),
        "mean_error": float(errors.mean()),
        "largest_error": float(errors.max()),
        "seconds": seconds,
        "evaluations": best.nfev,
        "converged_at": float(at[int(converged.argmax())]),
        "at": at.tolist(),
        "curve": curve.tolist(),
    }


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


def ablation(*, seed: int, run: int, part: str, x: Sequence[float]) -> dict[str, Any]:
    """Search by SEDSABSO without a part, from noise-free torques in the clamped box."""
    published, changes = setting(SETTING), model.SETTINGS["ablations"][part]
    options = {**published.options, **VARIANTS[CLAMPED], **changes}
    half_width = options.pop("half_width")
    method = MisprintedBeetleSwarm if "equation" in changes else AnnealedBeetleSwarm
    middle = box_middle(model.theoretical(), half_width, seed, run)
    best = minimize(
        noise_free(np.array(x)),
        middle - half_width,
        middle + half_width,
        method=method(**options),
        max_evals=published.max_evals,
        rng=named_stream(seed, PAPER, "ablation", part, f"run {run}"),
    )
    return {"fitness": best.fun, "evaluations": best.nfev}
