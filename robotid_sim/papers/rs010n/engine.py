"""Searches of the paper, and experiments in the engine.

The experiments identify a physically feasible robot, and test conclusion 3 of the paper: torque
compensation.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D, rms
from robotid_sim.chart import sample_evenly
from robotid_sim.control.controller import Setpoint
from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.excitation.draws import sample_feasible
from robotid_sim.excitation.optimal import DesignCost
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import measure
from robotid_sim.optim.bso import AnnealedBeetleSwarm
from robotid_sim.optim.minimize import Cost, OptimResult, load_setting, minimize
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.papers.driving import (
    LOW_PASS_FILTER,
    TorqueLaw,
    compute_tracking_error,
    drive,
    make_sensors,
)
from robotid_sim.papers.rs010n import model
from robotid_sim.streams import make_stream
from robotid_sim.trajectory.reference import Excitation

PAPER_NAME = "rs010n-sedsabso"
CURVE_POINTS = 100
CONVERGENCE_SHARE = 0.01
"""Remaining share of the total reduction of the cost at which a search has converged."""
PENALTY_WEIGHT = 1e8
"""P of eq. (9) for a motion beyond the limits of Table 3."""
LIMIT_TOLERANCE = 1e-9
"""Relative excess over a limit that counts as rounding."""


METHODS, VARIANTS = model.SETTINGS["searches"], model.SETTINGS["variants"]
FREE, CLAMPED, _ = VARIANTS
ABLATION, ABLATIONS = "ablation", model.SETTINGS["ablations"]
"""Study of SEDSABSO in the clamped box, and its single changes."""
SEARCH_SETTINGS = METHODS | {ABLATION: METHODS["SEDSABSO"]}
BOX_VARIANTS = VARIANTS | {part: VARIANTS[CLAMPED] | changes for part, changes in ABLATIONS.items()}


def random_excitation(*, seed: int, draws: int) -> dict[str, Any]:
    """Find the best of several random motions within the limits, for both condition numbers.

    With the same seed, a smaller set of motions is the beginning of a larger set.
    """
    drawn = sample_feasible(
        model.gradient_problem(), make_stream(seed, PAPER_NAME, "random"), draws
    )
    numbers = [model.condition_numbers(draw.x) for draw in drawn]
    smallest = {name: min(draw[name] for draw in numbers) for name in model.CRITERIA_OF_PAPER}
    return {"evaluations": draws, **smallest}


def genetic_excitation(
    *, seed: int, run: int, columns: str, population: int, generations: int
) -> dict[str, Any]:
    """Search for an excitation by a genetic algorithm, every point scaled into the limits.

    It minimizes the condition number of ``unit`` columns, or in ``SI`` units.
    """
    cost = DesignCost(model.problem(columns))
    rng = make_stream(seed, PAPER_NAME, "ga", columns, f"run {run}")
    best = minimize_by_genetic_algorithm(cost, 1.0, population, generations, rng)
    x = cost.coordinates(best.x)
    assert x is not None
    return {"x": x.tolist(), "evaluations": best.nfev, **_describe_excitation(x)}


def search_penalized_excitation(
    *, seed: int, run: int, width: float, population: int, generations: int
) -> dict[str, Any]:
    """Search for an excitation by the genetic algorithm with the printed penalty, eq. (9).

    Coordinates are in units of the limits: a coordinate of one alone reaches a limit. The box of
    the search, which is not printed, extends to ± `width` in every coordinate.
    """
    rng = make_stream(seed, PAPER_NAME, "penalty", f"width {width:g}", f"run {run}")
    best = minimize_by_genetic_algorithm(
        compute_penalized_cost, width, population, generations, rng
    )
    random_points = rng.uniform(-width, width, (population, best.x.size))
    return {
        "evaluations": best.nfev,
        "feasible": "yes" if is_within_limits(best.x) else "no",
        "feasible_draws": float(np.mean([is_within_limits(x) for x in random_points])),
        **_describe_excitation(best.x),
    }


def minimize_by_genetic_algorithm(
    cost: Cost, width: float, population: int, generations: int, rng: np.random.Generator
) -> OptimResult:
    """Minimize the cost of motions in a box that extends to ± `width` in every coordinate."""
    box, budget = np.full(model.problem().space.size, width), population * generations
    return minimize(cost, -box, box, method="ga", population=population, max_evals=budget, rng=rng)


def compute_penalized_cost(points: Float2D) -> Float1D:
    """Compute the condition number of motions, plus the penalty outside of Table 3, shape (m,)."""
    return np.array(
        [
            float(np.exp(model.problem().value(x))) + PENALTY_WEIGHT * (not is_within_limits(x))
            for x in points
        ]
    )


def is_within_limits(x: Float1D) -> bool:
    """Check whether a motion is within all limits of Table 3."""
    return model.limit_use(x) <= 1.0 + LIMIT_TOLERANCE


def _describe_excitation(x: Float1D) -> dict[str, float]:
    return {"limit_use": model.limit_use(x), **model.condition_numbers(x)}


def make_noise_free_fitness(x: Float1D) -> AbsoluteFitness:
    """Make the cost of eq. (17) from torques of the theoretical parameters along a motion."""
    W = model.regressor(*model.motion(x)).reshape(-1, model.PARAMETER_COUNT)
    return AbsoluteFitness(W, W @ model.theoretical())


def search(*, seed: int, run: int, method: str, variant: str, x: Sequence[float]) -> dict[str, Any]:
    """Search from noise-free torques by one of `SEARCH_SETTINGS`, in one of `BOX_VARIANTS`."""
    fitness = make_noise_free_fitness(np.array(x))
    return search_once(fitness, model.theoretical(), method, variant, seed, run)


def box_middle(truth: Float1D, half_width: float, seed: int, run: int) -> Float1D:
    """Draw the middle of the box in which the searches of a run start, shape (21,).

    It deviates from the truth by at most half of `half_width`, and is the same for all methods: a
    box about the truth would reveal the solution.
    """
    shift = make_stream(seed, PAPER_NAME, "box", f"run {run}").uniform(-0.5, 0.5, truth.size)
    return np.asarray(truth + half_width * shift)


def search_once(
    fitness: AbsoluteFitness, truth: Float1D, method: str, variant: str, seed: int, run: int
) -> dict[str, Any]:
    """Search for the minimum of eq. (17) in a box around the true parameters, shape (21,)."""
    options = SEARCH_SETTINGS[method] | BOX_VARIANTS[variant]
    half_width, published = options.pop("half_width"), load_setting(options.pop("setting"))
    budget = load_setting(options.pop("budget")) if "budget" in options else published
    swarm = MisprintedBeetleSwarm if "equation" in options else OPTIMIZERS[published.method]
    optimizer = swarm(**{**published.options, **options})
    middle = box_middle(truth, half_width, seed, run)
    ends = middle - half_width, middle + half_width
    rng = make_stream(seed, PAPER_NAME, method, variant, f"run {run}")
    began = time.process_time()
    best = minimize(fitness, *ends, method=optimizer, max_evals=budget.max_evals, rng=rng)
    seconds = time.process_time() - began
    at, curve = best.history[sample_evenly(len(best.history), CURVE_POINTS)].T
    errors = np.abs(best.x - truth)
    converged = curve - curve[-1] <= CONVERGENCE_SHARE * (curve[0] - curve[-1])
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
    """Number of the misprinted equation: 12, 14 or 16."""

    def _own_steps(self, f: Float1D) -> Float2D:
        steps = super()._own_steps(f)
        return -steps if self.equation == 12 else steps

    def _disturb(self, g: Float1D) -> Float1D:
        if self.equation != 14:
            return super()._disturb(g)
        disturbed = g * (1.0 + self.rng.random())
        return np.asarray(np.clip(disturbed, self.box.lower, self.box.upper))

    def population_at(self, share: float) -> int:
        """Compute the number of beetles after a share of the iterations."""
        corrected = super().population_at(share)
        # The printed sign of eq. (16) inverts the factor of the initial number.
        return round(self.population**2 / corrected) if self.equation == 16 else corrected


EXACT_RATE, RATE = 1000.0, 500.0
"""Control and sampling rates [Hz] of the run with exact motion, and of the noisy runs."""
NOISE_SHARE = 0.01
"""Standard deviation of torque noise, share of the RMS of every joint."""
LOOP_BANDWIDTH = 15.0
"""Bandwidth of the joint controllers with compensated torque [rad/s]."""
NOMINAL_ERROR = 0.1
"""Largest error of the nominal parameters, relative; the box of a search is narrower."""
NONE, NOMINAL, TRUE = "no compensation", "nominal parameters", "true parameters"
MIDDLE_NAME = "middle of the box"
"""Row of the parameters in the middle of the box of a search, which need no data."""
FEEDFORWARD_MODELS = (NONE, NOMINAL, "SEDSABSO", "weighted least squares", TRUE)
"""Parameter sets whose torque is fed forward in the loop."""


def identification(*, seed: int, runs: int, x: Sequence[float]) -> dict[str, Any]:
    """Identify the feasible robot by all methods, from exact motion and noisy torques."""
    truth = model.true_of_engine()
    trajectory = model.problem().space.trajectory(np.array(x))
    log = drive(model.arm(), trajectory, EXACT_RATE)
    assert log.truth is not None
    W, torque = _rows(log, log.truth)
    tau = torque.reshape(-1, model.arm().dof)
    noise = make_stream(seed, PAPER_NAME, "engine noise").standard_normal(tau.shape)
    fitness = AbsoluteFitness(W, (tau + NOISE_SHARE * rms(tau) * noise).ravel())
    exact = np.linalg.lstsq(W, torque, rcond=None)[0]
    used = _select_samples(log)
    log_checks = {
        "samples": int(used.size),
        "deviation": float(np.abs(log.truth.q - trajectory(log.t).q)[used].max()),
        "exact_error": float(np.abs(exact - truth).max()),
    }
    scores = {
        name: {"runs": [_scores(beta, fitness, truth) for beta in betas]}
        for name, betas in _estimates(fitness, seed, range(runs)).items()
    }
    return {"studies": {"engine": {"methods": scores}, "engine log": log_checks}}


def _estimates(
    fitness: AbsoluteFitness, seed: int, runs: Sequence[int]
) -> dict[str, list[Float1D]]:
    """Estimate the robot in the engine by direct methods, and by one search per run."""
    W, y, truth = fitness.W, fitness.y, model.true_of_engine()
    step = model.PERIOD / model.SAMPLE_COUNT
    problem = LinearProblem(W, y, model.base(), model.arm().joint_names, step)
    weighted = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    estimates = {
        "least squares": [np.linalg.lstsq(W, y, rcond=None)[0]],
        "weighted least squares": [weighted.beta],
        "L1 optimum (LP)": [fitness.minimum()],
    }
    for method in model.PRINTED_METHODS:
        searches = (search_once(fitness, truth, method, CLAMPED, seed, run) for run in runs)
        estimates[method] = [np.array(row["beta"]) for row in searches]
    return estimates


def _scores(beta: Float1D, fitness: AbsoluteFitness, truth: Float1D) -> dict[str, float]:
    cost = float(fitness(beta[None])[0])
    return {"fitness": cost, "error": float(np.abs(beta - truth).mean())}


def compensation(*, seed: int, run: int, count: int, x: Sequence[float]) -> dict[str, Any]:
    """Identify the robot from noisy logs of the excitation, and compensate an unseen motion.

    Batch number `run` has `count` runs, each with its own noise and box, and all with the
    excitation x and the same unseen motion. The estimates of the first run are also fed forward in
    the loop.
    """
    sampling = model.gradient_problem()
    candidates = sample_feasible(sampling, make_stream(seed, PAPER_NAME, "unseen motion"), 1)
    unseen = sampling.space.trajectory(candidates[0].x)
    excitation = model.problem().space.trajectory(np.array(x))
    clean = [drive(model.arm(), path, RATE) for path in (excitation, unseen)]
    W, tau = _rows(clean[1], LOW_PASS_FILTER(clean[1], model.arm()))
    numbers = range(run * count, (run + 1) * count)
    identified = [_identify(clean, tau, seed, number) for number in numbers]
    first = {**identified[0][0], TRUE: model.true_of_engine()}
    tracking = {name: track(unseen, first.get(name)) for name in FEEDFORWARD_MODELS}
    loop = {
        name: {"rms": error.tolist(), "relative": (error / tracking[NONE]).tolist()}
        for name, error in tracking.items()
    }
    names = identified[0][1]
    rows = {name: {"runs": [scores[name] for _, scores in identified]} for name in names}
    studies: dict[str, Any] = {"compensation": {"methods": rows}, "tracking": {"methods": loop}}
    if run == 0:
        dof = model.arm().dof
        curves = {m: (tau - W @ beta).reshape(-1, dof).T.tolist() for m, beta in first.items()}
        studies["curves"] = {"t": clean[1].t[_select_samples(clean[1])].tolist(), **curves}
    return {"studies": studies}


def _identify(
    clean: Sequence[Log], true_torque: Float1D, seed: int, number: int
) -> tuple[dict[str, Float1D], dict[str, Any]]:
    """Make all parameter sets of a noisy run, and score their torque on the unseen motion."""
    rng = make_stream(seed, PAPER_NAME, "compensation", f"run {number}")
    sensors = make_sensors("torque-noise", relative=NOISE_SHARE)
    noisy = [measure(log, sensors, rng) for log in clean]
    (W, y), (unseen, tau) = (_rows(log, LOW_PASS_FILTER(log, model.arm())) for log in noisy)
    truth, fitness = model.true_of_engine(), AbsoluteFitness(W, y)
    err = make_stream(seed, PAPER_NAME, "nominal", f"run {number}").uniform(-1.0, 1.0, truth.size)
    sets = {
        NOMINAL: truth * (1.0 + NOMINAL_ERROR * err),
        MIDDLE_NAME: box_middle(truth, VARIANTS[CLAMPED]["half_width"], seed, number),
        **{name: beta for name, (beta,) in _estimates(fitness, seed, [number]).items()},
    }
    scores = {
        name: {
            "measured": _compute_remaining_share(tau, unseen @ beta),
            "true": _compute_remaining_share(true_torque, unseen @ beta),
            **_scores(beta, fitness, truth),
        }
        for name, beta in sets.items()
    }
    return sets, scores


def _compute_remaining_share(tau: Float1D, predicted: Float1D) -> Any:
    """Compute the RMS residual torque of every joint after compensation over its RMS torque [%]."""
    residual, size = (rms(part.reshape(-1, model.arm().dof)) for part in (tau - predicted, tau))
    return (100.0 * residual / size).tolist()


def _rows(log: Log, state: Motion | Truth) -> tuple[Float2D, Float1D]:
    """Compute the stacked regressor and torque of the selected samples of a log."""
    used = _select_samples(log)
    q, dq, ddq, tau = (part[used] for part in (state.q, state.dq, state.ddq, log.tau_meas))
    W = model.regressor(q, dq, ddq, np.tanh(dq / model.arm().eps))
    return W.reshape(-1, W.shape[-1]), tau.ravel()


def _select_samples(log: Log) -> Int1D:
    """Select the samples of a log at the paper's rate."""
    step = round(model.PERIOD / model.SAMPLE_COUNT / log.dt)
    return np.asarray(np.flatnonzero(log.t >= -0.5 * log.dt)[::step])


def track(path: Excitation, beta: Float1D | None) -> Float1D:
    """Measure the RMS tracking error of every joint [rad]; the torque of `beta` is fed forward."""
    arm = model.arm()
    t = path.start + np.arange(round((path.duration - path.start) * RATE)) / RATE
    reference = path(t)
    torque = np.zeros_like(reference.q)
    if beta is not None:
        smooth_sign = np.tanh(reference.dq / arm.eps)
        torque = model.regressor(reference.q, reference.dq, reference.ddq, smooth_sign) @ beta
    inertia = np.diagonal(mass_matrix(arm, random_states(arm)[0]), axis1=1, axis2=2).mean(axis=0)
    kp, kd = LOOP_BANDWIDTH**2 * inertia, 2.0 * LOOP_BANDWIDTH * inertia

    def feed_forward(t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        forward = torque[round((t - path.start) * RATE)]
        return np.asarray(forward + kp * (setpoint.q - q) + kd * (setpoint.dq - dq))

    return compute_tracking_error(drive(arm, path, RATE, TorqueLaw(feed_forward)), path)
