"""Searches that lack a part of ELPIDSO, start with drawn velocities, or only guess; payloads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim.elpidso import PidSwarm
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import Optimizer, Population
from robotid_sim.optim.pso import LinearInertiaSwarm
from robotid_sim.optim.settings import setting
from robotid_sim.optim.swarm import Swarm
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.criterion import TorqueCriterion, mean_squared_error
from robotid_sim.papers.twolink.motion import Driven, drive_in_engine, paper_robot
from robotid_sim.papers.twolink.trials import with_torque_noise
from robotid_sim.streams import named_stream

NEVER = 1_000_000_000
"""Iterations without improvement that no search reaches."""
POINTS, LATE = 40, 30
"""Points of a curve of diversity, evenly over the budget, and where its last quarter begins."""


@dataclass(kw_only=True, eq=False)
class UnmutatedPidSwarm(PidSwarm):
    """ELPIDSO without the mutation of eq. (27)-(28)."""

    def _next(self, f: Float1D) -> Float2D:
        better = self._swarm.remember(f)
        self._waited = np.where(better, 0, self._waited + 1)
        self._learn()
        return self._fly()


@dataclass(kw_only=True, eq=False)
class DrawnVelocityPidSwarm(PidSwarm):
    """ELPIDSO whose particles start with velocities drawn within their limit, not at rest."""

    def _first(self) -> Float2D:
        x = super()._first()
        draw_velocities(self._swarm, self.rng)
        return x


@dataclass(kw_only=True, eq=False)
class DrawnVelocitySwarm(LinearInertiaSwarm):
    """SPSO whose particles start with drawn velocities too."""

    def _first(self) -> Float2D:
        x = super()._first()
        draw_velocities(self._swarm, self.rng)
        return x


def draw_velocities(swarm: Swarm, rng: np.random.Generator) -> None:
    """Give the particles of a swarm velocities that are uniform within their limit."""
    swarm.accelerate(swarm.limit * rng.uniform(-1.0, 1.0, swarm.x.shape))


@dataclass(kw_only=True, eq=False)
class RandomSearch(Population):
    """Uniform points of the box: what guessing reaches."""

    def _first(self) -> Float2D:
        return self.box.scatter(self.population, self.region, self.rng)

    def _next(self, f: Float1D) -> Float2D:
        del f
        return self._first()


def _published(name: str, **changes: Any) -> Callable[[], Optimizer]:
    return lambda: setting(name).build(**changes)


ELPIDSO, SPSO = "yan-2015-elpidso", "yan-2015-spso"
VARIANTS: Mapping[str, Callable[[], Optimizer]] = {
    "ELPIDSO": _published(ELPIDSO),
    "without I, D": _published(ELPIDSO, ki=0.0, kd=0.0),
    "without ELS": _published(ELPIDSO, patience=NEVER),
    "without mutation": lambda: UnmutatedPidSwarm(**setting(ELPIDSO).options),
    "drawn velocities": lambda: DrawnVelocityPidSwarm(**setting(ELPIDSO).options),
    "SPSO": _published(SPSO),
    "SPSO, drawn velocities": lambda: DrawnVelocitySwarm(**setting(SPSO).options),
    "random search": lambda: RandomSearch(population=setting(SPSO).options["population"]),
}
"""How every search is made, by its name on the page."""


def observed(
    variant: str, criterion: Mapping[str, Any], max_evals: int, seed: int, stream: list[str]
) -> dict[str, Any]:
    """Search the parameters by one of `VARIANTS`, and return them with the swarm's diversity.

    The criterion is the content of a `TorqueCriterion`; `stream` names the random stream.
    """
    goal, optimizer = TorqueCriterion.from_content(criterion), VARIANTS[variant]()
    diversity: list[float] = []
    done = 0

    def cost(X: Float2D) -> Float1D:
        nonlocal done
        done += len(X)
        if len(X) > 1 and done >= len(diversity) / POINTS * max_evals:
            diversity.append(spread_of(X))
        return goal.excess(X)

    rng = named_stream(seed, "twolink", "variants", variant, *stream)
    bounds = model.LOWER, model.UPPER
    best = minimize(cost, *bounds, method=optimizer, max_evals=max_evals, rng=rng)
    return {
        "parameters": best.x.tolist(),
        "excess": best.fun,
        "evaluations": best.nfev,
        "diversity": diversity[:POINTS],
        "late_diversity": float(np.mean(diversity[LATE:POINTS])),
    }


def spread_of(X: Float2D) -> float:
    """Return the mean distance of points from their center, in boxes: the swarm's diversity."""
    away = (X - X.mean(axis=0)) / (model.UPPER - model.LOWER)
    return float(np.sqrt((away**2).sum(axis=1)).mean())


LOADS = {"1 kg": (1.0, 0.0), "1 kg, 0.3 m below": (1.0, 0.3)}
"""Mass added at the end of the second link [kg], and its distance below that end [m]."""
REACH = 1.0
"""Distance of that end from the second joint [m]."""


def loaded_parameters(mass: float, below: float) -> Float1D:
    """Return lambda of the arm with a point mass more at its end, shape (4,) [kg m^2]."""
    l1 = model.ARM.l1
    square = mass * (REACH**2 + below**2)
    added = (square + mass * l1**2, square, mass * l1 * REACH, mass * l1 * below)
    return np.asarray(model.TRUE + added)


def loaded_run(mass: float, below: float, rho: float, seed: int) -> dict[str, Any]:
    """Drive the arm with a changed payload in the engine, and return the criterion of its data.

    Torques are noisy as in `trials.engine_run`. Beside it stand the torque error of the parameters
    before the change, and of the true ones.
    """
    run = drive_loaded(mass, below, rho)
    noisy = with_torque_noise(run, rho, seed)
    true = loaded_parameters(mass, below)
    return {
        "criterion": TorqueCriterion.of_run(noisy).content(),
        "true": true.tolist(),
        "residual": float(np.abs(run.target() - run.regressor() @ true).max()),
        "rms_before": float(np.sqrt(mean_squared_error(run, model.TRUE))),
    }


def drive_loaded(mass: float, below: float, rho: float) -> Driven:
    """Return the run of the arm with a payload more under the reference torques in the engine."""
    return drive_in_engine(rho, paper_robot().with_payload(mass, (0.0, 0.0, -below)))
