"""The searches of the reproduction: each a swarm, a random search or a gradient descent."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import sample_evenly
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters, random_states
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import PathError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.draws import sample_feasible
from robotid_sim.excitation.optimal import DesignCost, optimize
from robotid_sim.excitation.plan import Handling
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import ExcitationSpace
from robotid_sim.measurement.sensors import measure
from robotid_sim.optim.minimize import load_setting, minimize
from robotid_sim.optim.pso import MutatingSwarm
from robotid_sim.papers.driving import LOW_PASS_FILTER, drive, make_sensors
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.model import MAIN_READING_NAME, limit_use
from robotid_sim.papers.irb120.model import problem as problem_of
from robotid_sim.streams import make_stream

PAPER_NAME = "irb120-mupso"
CURVE_POINTS = 50


def swarm(
    *,
    seed: int,
    run: int,
    population: int,
    iterations: int,
    method: str = "MuPSO",
    reading: str = MAIN_READING_NAME,
    handling: Handling = "scaling",
) -> dict[str, Any]:
    """Search for an excitation by a swarm with its published setting.

    Every method and interpretation has its own random stream; `handling` is the handling of limits,
    see `DesignCost`.
    """
    problem, name = problem_of(reading), method.lower()
    cost = DesignCost(problem, handling)
    optimizer = load_setting(f"umar-2021-{name}").build(population=population)
    box = np.ones(problem.space.size)
    rng = make_stream(seed, PAPER_NAME, name, reading, handling, f"{population}", f"run {run}")
    budget = population * iterations
    began = time.process_time()
    best = minimize(cost, -box, box, method=optimizer, max_evals=budget, rng=rng)
    seconds = time.process_time() - began
    mutated_at = optimizer.mutated_at if isinstance(optimizer, MutatingSwarm) else []
    mutations = [evaluations // population for evaluations in mutated_at]
    curve = best.history[sample_evenly(len(best.history), CURVE_POINTS)]
    best_at = int(best.history[np.argmax(best.history[:, 1] <= best.fun), 0]) // population
    return {
        **_describe_motion(problem, cost.coordinates(best.x)),
        "evaluations": best.nfev,
        "seconds": seconds,
        "curve": [curve[:, 0].tolist(), np.exp(curve[:, 1]).tolist()],
        "best_at": best_at,
        "mutations": len(mutations),
        "mutated_at_10": int(10 in mutations),
        "helped": int(bool(mutations) and best_at > mutations[0]),
    }


def swarm_times(*, seed: int, rounds: int, iterations: int) -> dict[str, Any]:
    """Time MuPSO with 50 and 70 particles in turn [s], so that other processes disturb both."""
    runs: dict[str, list[dict[str, float]]] = {"50": [], "70": []}
    for run, size in product(range(rounds), runs):
        result = swarm(seed=seed, run=run, population=int(size), iterations=iterations)
        runs[size].append({"seconds": result["seconds"]})
    return {"methods": {size: {"runs": size_runs} for size, size_runs in runs.items()}}


def random_search(*, seed: int, run: int, population: int, iterations: int) -> dict[str, Any]:
    """Find the best random point of the box with the number of evaluations of a swarm."""
    problem = problem_of()
    cost = DesignCost(problem)
    rng = make_stream(seed, PAPER_NAME, "random", f"run {run}")
    began = time.process_time()
    points = rng.uniform(-1.0, 1.0, (population * iterations, problem.space.size))
    costs = cost(points)
    seconds = time.process_time() - began
    best = np.minimum.accumulate(costs)[population - 1 :: population]
    evaluations = population * np.arange(1, iterations + 1)
    return {
        **_describe_motion(problem, cost.coordinates(points[int(np.argmin(costs))])),
        "evaluations": len(costs),
        "seconds": seconds,
        "curve": [evaluations.tolist(), np.exp(best).tolist()],
    }


def gradient(*, seed: int, run: int, draws: int, iterations: int) -> dict[str, Any]:
    """Search by sequential quadratic programming from the best of several feasible motions."""
    paper = problem_of()
    problem = CountedProblem(paper.nominal, paper.basis, paper.family, paper.criterion)
    rng = make_stream(seed, PAPER_NAME, "gradient", f"run {run}")
    began = time.process_time()
    start = sample_feasible(problem, rng, draws)[0]
    optimized = optimize(problem, iterations, start.x)
    x = optimized.x if optimized.value < start.value else start.x
    seconds = time.process_time() - began
    return {**_describe_motion(problem, x), "evaluations": sum(problem.calls), "seconds": seconds}


@dataclass(frozen=True, slots=True, eq=False)
class CountedProblem(ExcitationProblem):
    """An excitation problem that counts evaluations of its criterion and of the gradient."""

    calls: list[int] = field(default_factory=list, repr=False)
    """List with a one for every evaluation."""

    def value(self, x: Float1D, criterion: Criterion | None = None) -> float:
        """Compute the criterion; see `ExcitationProblem`."""
        self.calls.append(1)
        return ExcitationProblem.value(self, x, criterion)

    def gradient(self, x: Float1D, criterion: Criterion | None = None) -> Float1D:
        """Compute the gradient of the criterion; see `ExcitationProblem`."""
        self.calls.append(1)
        return ExcitationProblem.gradient(self, x, criterion)


def _describe_motion(problem: ExcitationProblem, x: Float1D | None) -> dict[str, Any]:
    """List the coordinates of a motion, its condition numbers, and its use of the limits."""
    assert x is not None
    unit, raw = (
        float(np.exp(ExcitationProblem.value(problem, x, CRITERIA.build(name))))
        for name in ("normalized-condition-number", "condition-number")
    )
    return {
        "x": x.tolist(),
        "condition": unit,
        "condition_si": raw,
        "limit_use": limit_use(problem, x),
    }


CONTROL_RATE = 500.0
"""Control and sampling rate [Hz]."""
FRICTION_SYMBOLS = ("Fv", "Fc")
"""Joint parameters of the fit in addition to the inertial ones; the paper's model has none."""
TORQUE_NOISE = 0.1
"""Standard deviation of the torque noise [N m], 1 to 3 % of the RMS torque of a joint."""
UNSEEN_SAMPLES = 200
"""Number of samples of the motion on which torques are predicted."""
NOISE_BOUND = 3.0
"""Standard deviations within which an error counts as explained by the noise."""


def random_motions(*, seed: int, count: int) -> dict[str, Any]:
    """Draw single random points of the swarms' box, each scaled to the limits."""
    problem = model.problem()
    rng, cost = make_stream(seed, PAPER_NAME, "single motions"), DesignCost(problem)
    motions: list[list[float]] = []
    while len(motions) < count:
        x = cost.coordinates(rng.uniform(-1.0, 1.0, problem.space.size))
        if x is not None:
            motions.append(x.tolist())
    return {"motions": motions}


def identification(
    *, seed: int, kind: str, run: int, x: Sequence[float], logs: int
) -> dict[str, Any]:
    """Drive the robot along a motion once, and identify it from several noisy logs of that run.

    The kind and the run name the stream of the noise. Parameters are the 15 inertial base
    parameters; their errors are in units of their standard deviation, and in units of torque.
    """
    plant, basis = model.arm(), base()
    trajectory = make_driven_space().trajectory(np.array(x))
    clean = drive(plant, trajectory, CONTROL_RATE)
    sensors = make_sensors("torque-noise", relative=0.0, absolute=TORQUE_NOISE)
    rng = make_stream(seed, PAPER_NAME, "engine", kind, f"run {run}")
    problems = (
        build_problem(LOW_PASS_FILTER(measure(clean, sensors, rng), plant), plant, basis)
        for _ in range(logs)
    )
    estimates = [WeightedLeastSquares().fit(p, np.random.default_rng(0)) for p in problems]
    inertial = slice(basis.inertial_rank)
    true = basis.project(plant.parameters())
    errors = np.array([fit.beta - true for fit in estimates])
    scores = errors / np.array([fit.std for fit in estimates])
    # Parameters are weighted with their RMS torque at random states, so that neither their unit nor
    # the motion matters.
    weight = np.sqrt(np.mean(_inertial_rows(*random_states(model.arm())) ** 2, axis=0))
    size = np.linalg.norm(weight * true[inertial])
    relative = 100.0 * np.linalg.norm(weight * errors[:, inertial], axis=1) / size
    unseen = _compute_unseen_error(errors[:, inertial], true[inertial], seed)
    return {
        "condition": float(np.exp(model.problem().value(np.array(x)))),
        "condition_fitted": float(np.mean([fit.cond for fit in estimates])),
        "relative": relative.tolist(),
        "unseen": unseen.tolist(),
        "relative_rms": float(np.sqrt((relative**2).mean())),
        "unseen_rms": float(np.sqrt((unseen**2).mean())),
        "within": float((np.abs(scores[:, inertial]) <= NOISE_BOUND).mean()),
        "scores": scores[0, inertial].tolist(),
        "estimate": estimates[0].beta[inertial].tolist(),
        "std": estimates[0].std[inertial].tolist(),
        "true": true[inertial].tolist(),
        "tracking": float(np.abs(clean.q - trajectory(clean.t).q).max()),
    }


def is_drivable(x: Sequence[float]) -> bool:
    """Check whether the arm can follow a motion at the control rate.

    A search samples a motion at about a hundred times, between which it may leave the workspace.
    """
    try:
        trajectory = make_driven_space().trajectory(np.array(x))
        trajectory(np.arange(trajectory.start, trajectory.duration, 1.0 / CONTROL_RATE))
    except PathError:
        return False
    return True


def _compute_unseen_error(errors: Float2D, true: Float1D, seed: int) -> Float1D:
    """Compute the RMS torque error on an unseen motion over its RMS torque [%], shape (m,).

    The motion is a random Fourier series of the joints over their whole range, without friction,
    which the paper does not model.
    """
    fourier = model.problem("joint Fourier series, unit columns")
    (drawn,) = sample_feasible(fourier, make_stream(seed, PAPER_NAME, "unseen motion"), 1)
    W = _inertial_rows(*fourier.space.make_grid(UNSEEN_SAMPLES).motion(drawn.x))
    rms = np.sqrt(np.mean((W @ errors.T) ** 2, axis=0))
    return np.asarray(100.0 * rms / np.sqrt(np.mean((W @ true) ** 2)))


def _inertial_rows(q: Float2D, dq: Float2D, ddq: Float2D) -> Float2D:
    """Compute the stacked regressor of the 15 inertial base parameters, shape (3 N, 15)."""
    columns = base().columns[: base().inertial_rank]
    return torque_regressor(model.arm(), q, dq, ddq, columns).reshape(-1, columns.size)


@cache
def base() -> BaseParameters:
    """Find the base parameters of joint torques with viscous and Coulomb friction."""
    return base_parameters(model.arm(), FRICTION_SYMBOLS)


@cache
def make_driven_space() -> ExcitationSpace:
    """Make the space of the paper's motions, a single run each."""
    return replace(model.problem().family, periods=1).space(model.arm())
