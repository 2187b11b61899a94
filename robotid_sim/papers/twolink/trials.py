"""The trials of the reproduction, functions of JSON values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from scipy.optimize import lsq_linear

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import sample_evenly
from robotid_sim.engine.engines import default_engine, use_engine
from robotid_sim.optim.elpidso import PidSwarm
from robotid_sim.optim.minimize import load_setting, minimize
from robotid_sim.optim.optimizer import Optimizer, Population
from robotid_sim.optim.pso import LinearInertiaSwarm
from robotid_sim.optim.swarm import Swarm
from robotid_sim.papers.twolink.model import (
    FITTED_RHOS,
    LOWER,
    POPULATION_SIZE,
    PRINTED_ARM,
    SETTINGS,
    STEP,
    TORQUE_AMPLITUDE,
    TRUE_PARAMETERS,
    UPPER,
    DrivenRun,
    drive_in_engine,
    integrate,
    paper_robot,
)
from robotid_sim.streams import make_stream

BOX_MINIMUM_NAME = "LS in the box"
"""Name of the minimum within the search ranges; ``LS`` is the unconstrained one."""


@dataclass(frozen=True, slots=True, eq=False)
class TorqueCriterion:
    r"""Mean squared torque error over N samples, eq. (3).

    .. math:: J(\lambda) = \frac{1}{N} \sum_i \|\tau_i - \hat\tau_i\|^2
        = J_\text{LS} + \|R\, (\lambda - \lambda_\text{LS})\|^2

    with the triangular factor R of the regressor, divided by the root of N. The search minimizes
    only the second term: with exact data the first is below rounding, and the minimum is the same.
    """

    factor: Float2D
    """R, shape (4, 4)."""
    least_squares: Float1D
    """The estimate of eq. (29), shape (4,), which minimizes J."""
    floor: float
    """J at the least-squares estimate [N^2 m^2]."""

    @classmethod
    def from_run(cls, run: DrivenRun) -> Self:
        """Compute the criterion of a run of the arm, ``y = W @ lambda``."""
        W, y, samples = run.regressor(), run.target(), run.t.size
        Q, R = np.linalg.qr(W)
        estimate = np.linalg.solve(R, Q.T @ y)
        # One step of refinement reduces the residual of exact data to rounding.
        estimate += np.linalg.solve(R, Q.T @ (y - W @ estimate))
        residual = y - W @ estimate
        return cls(R / np.sqrt(samples), estimate, float(residual @ residual) / samples)

    def excess(self, X: Float2D) -> Float1D:
        """Compute J minus its minimum, shape (m,), at points of shape (m, 4)."""
        return np.asarray((((X - self.least_squares) @ self.factor.T) ** 2).sum(axis=1))

    def minimize_in_box(self) -> Float1D:
        """Minimize J within the search ranges by bounded least squares, shape (4,)."""
        target = self.factor @ self.least_squares
        solution = lsq_linear(self.factor, target, bounds=(LOWER, UPPER), method="bvls", tol=1e-15)
        return np.asarray(solution.x)

    def direct(self) -> dict[str, dict[str, Any]]:
        """Return the rows of least squares and of the minimum in the box, by name."""
        minimum = self.minimize_in_box()
        in_box = self.row(minimum, float(self.excess(minimum[None])[0]))
        return {"LS": self.row(self.least_squares, 0.0), BOX_MINIMUM_NAME: in_box}

    def row(self, x: Float1D, excess: float) -> dict[str, Any]:
        """List an estimate, shape (4,), and its errors, for an excess of J over the minimum."""
        error = np.abs(x - TRUE_PARAMETERS)
        return {
            "parameters": x.tolist(),
            "excess": excess,
            "cost": self.floor + excess,
            "error": float(error.max()),
            "error_of_eta": float(error[3]),
            "error_of_rest": float(error[:3].max()),
            "at_wall": 100.0 * float(x[3] == LOWER[3]),
            "relative": relative_parameter_error(x),
        }


def relative_parameter_error(parameters: Float1D) -> float:
    """Divide the norm of the error of an estimate by the norm of the true parameters."""
    return float(np.linalg.norm(parameters - TRUE_PARAMETERS) / np.linalg.norm(TRUE_PARAMETERS))


def mean_squared_error(run: DrivenRun, parameters: Float1D) -> float:
    """Compute J by its definition, eq. (3), sample by sample [N^2 m^2]."""
    residual = run.target() - run.regressor() @ parameters
    return float(residual @ residual) / run.t.size


def torque_errors(run: DrivenRun, parameters: Float1D) -> Float2D:
    """Compute the torque errors of a run, shape (N, 2) [N m]."""
    return np.asarray((run.target() - run.regressor() @ parameters).reshape(-1, 2))


def sum_torque_errors(run: DrivenRun, parameters: Float1D) -> Float1D:
    """Sum the absolute torque errors over the samples, by joint, shape (2,) [N m]."""
    return np.asarray(np.abs(torque_errors(run, parameters)).sum(axis=0))


def relative_error(run: DrivenRun, parameters: Float1D) -> Float1D:
    """Compute the accumulated torque error over the accumulated torque of both joints, shape (2,).

    Eq. (31) is illegible, the text ambiguous; E_r is interpreted as the sum of absolute errors over
    the sum of absolute torques.
    """
    return np.asarray(sum_torque_errors(run, parameters) / np.abs(run.tau).sum(axis=0))


TORQUE_NOISE = 0.005
"""Standard deviation of the torque noise over the torque amplitude."""
CHECKPOINT_COUNT = 80
"""Number of points of a convergence curve."""
MAX_CURVE_SAMPLES = 250
"""Largest number of samples of a curve over time."""
DIVERSITY_POINTS, LAST_QUARTER_INDEX = 40, 30
"""Number of points of a diversity curve, and index of the first point of its last quarter."""


def engine_run(rho: float, seed: int) -> dict[str, Any]:
    """Drive the arm in the engine, and compare it with the equations."""
    del seed
    run, exact = drive_in_engine(rho), integrate([rho])[0]
    gap = run.q - exact.q[: run.t.size]
    indices = sample_evenly(run.t.size, MAX_CURVE_SAMPLES)
    goal = TorqueCriterion.from_run(run)
    return {
        "ls_error": float(np.abs(goal.least_squares - TRUE_PARAMETERS).max()),
        "condition": float(np.linalg.cond(goal.factor)),
        "largest_gap": float(np.abs(gap).max()),
        "largest_motion": float(np.abs(exact.q - exact.q[0]).max()),
        "largest_residual": float(np.abs(run.target() - run.regressor() @ TRUE_PARAMETERS).max()),
        "t": run.t[indices].tolist(),
        "gap": gap[indices].T.tolist(),
    }


NOISY_STUDY = "noisy"
"""The study with noisy torques from the engine; all others have exact data."""


@cache
def criterion_of(study: str, rho: float, seed: int, engine: str) -> TorqueCriterion:
    """Compute the criterion of a study on a trajectory of the estimation."""
    if study != NOISY_STUDY:
        return TorqueCriterion.from_run(integrate(FITTED_RHOS)[FITTED_RHOS.index(rho)])
    with use_engine(engine):
        return TorqueCriterion.from_run(add_torque_noise(drive_in_engine(rho), rho, seed))


def solve_directly(study: str, rho: float, seed: int) -> dict[str, Any]:
    """Estimate by least squares, and by least squares in the box."""
    goal = criterion_of(study, rho, seed, default_engine())
    return {"methods": {name: {**row, "floor": goal.floor} for name, row in goal.direct().items()}}


def check_in_engine(
    rho: float, estimates: Mapping[str, list[float]], seed: int
) -> dict[str, list[float]]:
    """Compute the relative torque errors of estimates for a noisy run in the engine."""
    run = add_torque_noise(drive_in_engine(rho), rho, seed)
    return {
        method: relative_error(run, np.array(estimate)).tolist()
        for method, estimate in estimates.items()
    }


def costs_in_engine(rho: float, estimates: Sequence[list[float]], seed: int) -> dict[str, Any]:
    """Compare J of estimates with that of least squares for a noisy run in the engine.

    The result has one entry of ``runs`` per estimate, with (J - J_LS) / J_LS. Least squares is
    solved again, and J is summed by sample, independent of the quadratic form of the searches.
    """
    run = add_torque_noise(drive_in_engine(rho), rho, seed)
    solution = np.linalg.lstsq(run.regressor(), run.target(), rcond=None)[0]
    floor, *costs = (mean_squared_error(run, np.array(x)) for x in (solution, *estimates))
    return {"runs": [{"excess": cost / floor - 1.0} for cost in costs]}


def add_torque_noise(run: DrivenRun, rho: float, seed: int) -> DrivenRun:
    """Add noise of `TORQUE_NOISE` to the torques of a run."""
    rng = make_stream(seed, "twolink", "torque noise", f"rho {rho}")
    noise = rng.normal(0.0, TORQUE_NOISE * TORQUE_AMPLITUDE, run.tau.shape)
    return replace(run, tau=run.tau + noise)


def search(
    study: str, method: str, rho: float, max_evals: int, seed: int, run: int
) -> dict[str, Any]:
    """Search for the parameters on a trajectory of the estimation.

    The random stream does not depend on the budget: longer searches begin like shorter ones.
    """
    stream = [study, method, f"rho {rho}", f"run {run}"]
    goal = criterion_of(study, rho, seed, default_engine())
    return minimize_criterion(method, goal, max_evals, seed, stream)


def minimize_criterion(
    method: str, goal: TorqueCriterion, max_evals: int, seed: int, stream: Sequence[str]
) -> dict[str, Any]:
    """Search for the parameters, and record the curves of cost and diversity."""
    diversity: list[float] = []
    done = 0

    def cost(X: Float2D) -> Float1D:
        nonlocal done
        done += len(X)
        if len(X) > 1 and done >= len(diversity) / DIVERSITY_POINTS * max_evals:
            diversity.append(spread_of(X))
        return goal.excess(X)

    rng = make_stream(seed, "twolink", *stream)
    bounds = LOWER, UPPER
    best = minimize(cost, *bounds, method=make_optimizer(method), max_evals=max_evals, rng=rng)
    return {
        **goal.row(best.x, best.fun),
        "evaluations": best.nfev,
        "curve": best_at(best.history, checkpoints(max_evals)).tolist(),
        "diversity": diversity[:DIVERSITY_POINTS],
        "late_diversity": float(np.mean(diversity[LAST_QUARTER_INDEX:DIVERSITY_POINTS])),
    }


def checkpoints(max_evals: int) -> Float1D:
    """Return logarithmically spaced evaluations for the points of a convergence curve."""
    return np.asarray(np.geomspace(40.0, max_evals, CHECKPOINT_COUNT))


def best_at(history: Float2D, evaluations: Float1D) -> Float1D:
    """Look up the best cost after numbers of evaluations; columns of `history` are these two."""
    rows = np.searchsorted(history[:, 0], evaluations, side="right") - 1
    return np.asarray(history[np.maximum(rows, 0), 1])


def spread_of(X: Float2D) -> float:
    """Compute the diversity of a swarm: mean distance from its center, over the search ranges."""
    distance = (X - X.mean(axis=0)) / (UPPER - LOWER)
    return float(np.sqrt((distance**2).sum(axis=1)).mean())


def fit_positions(rho: float, noise: float, max_evals: int, seed: int, run: int) -> dict[str, Any]:
    """Estimate from noisy positions after two differentiations, by least squares and ELPIDSO.

    Both have the same data, with exact torques, central differences and no filter. `noise` is the
    standard deviation of the positions [rad].
    """
    exact = integrate([rho])[0]
    stream = [f"{noise} rad", f"rho {rho}", f"draw {run}"]
    rng = make_stream(seed, "twolink", "encoders", *stream)
    q = exact.q + rng.normal(0.0, noise, exact.q.shape)
    dq = np.gradient(q, STEP, axis=0)
    goal = TorqueCriterion.from_run(replace(exact, q=q, dq=dq, ddq=np.gradient(dq, STEP, axis=0)))
    best = minimize_criterion("ELPIDSO", goal, max_evals, seed, [*stream, "search"])
    return {"methods": {**goal.direct(), "ELPIDSO": best}}


class UnmutatedPidSwarm(PidSwarm):
    """ELPIDSO without the mutation of eq. (27)-(28)."""

    def _next(self, f: Float1D) -> Float2D:
        better = self._swarm.remember(f)
        self._waited = np.where(better, 0, self._waited + 1)
        self._learn()
        return self._fly()


class DrawnVelocityPidSwarm(PidSwarm):
    """ELPIDSO whose particles start with random velocities within their limit, not at rest."""

    def _first(self) -> Float2D:
        x = super()._first()
        draw_velocities(self._swarm, self.rng)
        return x


class DrawnVelocitySwarm(LinearInertiaSwarm):
    """SPSO whose particles also start with random velocities."""

    def _first(self) -> Float2D:
        x = super()._first()
        draw_velocities(self._swarm, self.rng)
        return x


def draw_velocities(swarm: Swarm, rng: np.random.Generator) -> None:
    """Set uniformly distributed velocities of a swarm within their limit."""
    swarm.set_velocities(swarm.limit * rng.uniform(-1.0, 1.0, swarm.x.shape))


class RandomSearch(Population):
    """Uniformly distributed points in the search ranges."""

    def _first(self) -> Float2D:
        return self.box.scatter(self.population, self.region, self.rng)

    def _next(self, f: Float1D) -> Float2D:
        del f
        return self._first()


ELPIDSO, SPSO = (load_setting(f"yan-2015-{name}").options for name in ("elpidso", "spso"))
LOCAL_SEARCHES: Mapping[str, Callable[[], Optimizer]] = {
    "without mutation": partial(UnmutatedPidSwarm, **ELPIDSO),
    "drawn velocities": partial(DrawnVelocityPidSwarm, **ELPIDSO),
    "SPSO, drawn velocities": partial(DrawnVelocitySwarm, **SPSO),
    "random search": partial(RandomSearch, population=POPULATION_SIZE),
}
"""Searches of this module by their names on the page; the others are published settings."""
VARIANT_NAMES = (
    "ELPIDSO",
    "without I, D",
    "without ELS",
    "without mutation",
    "drawn velocities",
    "SPSO",
    "SPSO, drawn velocities",
    "random search",
)
"""ELPIDSO, its ablations and other searches."""


def make_optimizer(method: str) -> Optimizer:
    """Make a search by its name on the page."""
    if method in LOCAL_SEARCHES:
        return LOCAL_SEARCHES[method]()
    changes = dict(SETTINGS["searches"][method])
    return load_setting(changes.pop("name")).build(**changes)


ADDED_LOADS = {"1 kg": (1.0, 0.0), "1 kg, 0.3 m below": (1.0, 0.3)}
"""Mass added at the end of the second link [kg], and its distance below that end [m]."""
LOAD_METHOD_NAME, LOAD_RHO = "ELPIDSO, median", 0.5
"""Name of the searches on the page, and rho of the trajectory [Hz]."""
LINK_LENGTH = 1.0
"""Distance of the end of the second link from the second joint [m]."""


def add_point_mass(mass: float, distance: float) -> Float1D:
    """Compute lambda of the arm with a mass `distance` [m] below its end, shape (4,) [kg m^2]."""
    l1 = PRINTED_ARM.l1
    square = mass * (LINK_LENGTH**2 + distance**2)
    change = (square + mass * l1**2, square, mass * l1 * LINK_LENGTH, mass * l1 * distance)
    return np.asarray(TRUE_PARAMETERS + change)


def drive_loaded(load: str) -> DrivenRun:
    """Drive the arm with an additional payload in the engine, without noise."""
    mass, distance = ADDED_LOADS[load]
    return drive_in_engine(LOAD_RHO, paper_robot().with_payload(mass, (0.0, 0.0, -distance)))


def make_loaded_criterion(load: str, seed: int) -> TorqueCriterion:
    """Compute the criterion of noisy torques of the arm with an additional payload."""
    return TorqueCriterion.from_run(add_torque_noise(drive_loaded(load), LOAD_RHO, seed))


def identify_load(load: str, seed: int, runs: int, max_evals: int) -> dict[str, Any]:
    """Change the payload in the engine, and identify the arm again from noisy torques."""
    true = add_point_mass(*ADDED_LOADS[load])
    goal = make_loaded_criterion(load, seed)
    stream = ["payload", "ELPIDSO", load]
    rows = [
        minimize_criterion("ELPIDSO", goal, max_evals, seed, [*stream, f"run {run}"])
        for run in range(runs)
    ]
    return {
        "methods": {
            "true": {"parameters": true.tolist()},
            "before the change": score_load({"parameters": TRUE_PARAMETERS.tolist()}, true),
            "LS": score_load({"parameters": goal.least_squares.tolist()}, true),
            LOAD_METHOD_NAME: {"runs": [score_load(row, true) for row in rows]},
        }
    }


def score_load(row: Mapping[str, Any], true: Float1D) -> dict[str, Any]:
    """Return a row with its relative parameter error [%]; `true` has shape (4,)."""
    (error,) = np.linalg.norm(np.array([row["parameters"]]) - true, axis=1)
    return {**row, "error": float(100.0 * (error / np.linalg.norm(true)))}
