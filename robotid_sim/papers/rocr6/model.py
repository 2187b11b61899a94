"""The ROCR6 of Tang et al. (2023): base parameters in the symbols of the paper, and excitation.

Trajectories are Fourier series of order 5 at 0.05 Hz, eq. (21)-(24).

References
----------
.. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative robot
   based on WLS-RWPSO algorithm", Machines 11(2), 316, doi:10.3390/machines11020316.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters, random_states
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation.fitness import SquaredFitness
from robotid_sim.estimation.least_squares import (
    OrdinaryLeastSquares,
    WeightedLeastSquares,
    noise_std,
)
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import Reduction, reduce_rows
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import (
    PublishedParameters,
    load_published_parameters,
    load_robot,
    make_published_plant,
)
from robotid_sim.model.robot import Robot
from robotid_sim.optim.minimize import load_setting, minimize
from robotid_sim.papers.sheet import read_settings
from robotid_sim.pipeline.nominal import perturb_nominal
from robotid_sim.streams import Streams, make_stream
from robotid_sim.trajectory.fourier import FourierTrajectory

ROBOT_NAME = "rocr6"
FRICTION_SYMBOLS = ("Fv", "Fc")
"""Friction of the paper; no rotors and offsets."""
PRINTED_VALUES = read_settings(__file__)
TABLE_2: dict[str, float] = PRINTED_VALUES["table_2"]
"""Base parameters of joints 1 to 3 by WLS-RWPSO [kg m^2, kg m, N m, N m s/rad]."""
TABLE_3: dict[str, list[float]] = PRINTED_VALUES["table_3"]
"""RMS of the validation residuals of every joint [N m]."""
PRINTED_GAINS: dict[str, list[float]] = PRINTED_VALUES["gains"]
"""RMS reductions by WLS-RWPSO against other methods by joint, section 5.1 and Table 3 [%]."""


@dataclass(frozen=True, eq=False)
class FirstThreeJoints:
    """Joints 1 to 3 with the published parameters, in the link frames and symbols of the paper."""

    published: PublishedParameters = field(
        default_factory=partial(load_published_parameters, ROBOT_NAME)
    )
    """Table 2, completed to standard parameters."""

    @cached_property
    def robot(self) -> Robot:
        """The arm up to link 3; formal, because the parameters of link 3 are inconsistent."""
        arm = load_robot(ROBOT_NAME, tip=self.published.tip)
        return arm.with_parameters(self.published.phi, formal=True)

    @cached_property
    def frames(self) -> Float2D:
        """Map from standard parameters in frames of the paper to those of the URDF, (p, p)."""
        T, bodies = (
            np.eye(parameters.size(self.robot.dof)),
            inertia.frame_map(self.published.frames),
        )
        T[: len(bodies), : len(bodies)] = bodies
        return T

    @cached_property
    def basis(self) -> BaseParameters:
        """The base parameters of Table 2, in its order; their map follows Khalil's rules."""
        symbols = self.robot.parameter_names
        columns_of_base = np.array([symbols.index(name) for name in TABLE_2])
        considered = np.array(parameters.columns(self.robot.dof, FRICTION_SYMBOLS))
        W = self.full_regressor(*random_states(self.robot)).reshape(-1, len(symbols))
        K = np.linalg.lstsq(W[:, columns_of_base], W[:, considered], rcond=None)[0]
        B = np.zeros((columns_of_base.size, len(symbols)))
        B[:, considered] = np.where(np.abs(K) < 1e-9, 0.0, K)
        units = parameters.units(self.robot.prismatic)
        return BaseParameters(
            columns=columns_of_base,
            B=B,
            symbols=symbols,
            units=tuple(units[c] for c in columns_of_base),
            considered=considered,
            inertial_rank=int((columns_of_base < parameters.INERTIAL_COUNT * self.robot.dof).sum()),
        )

    @cached_property
    def true(self) -> Float1D:
        """Base parameters of the robot, shape (21,): Table 2."""
        return self.basis.project(np.linalg.solve(self.frames, self.published.phi))

    def full_regressor(self, q: Float2D, dq: Float2D, ddq: Float2D) -> np.ndarray:
        """Compute the regressor of the standard parameters in the paper's frames, (N, 3, p)."""
        return np.asarray(torque_regressor(self.robot, q, dq, ddq) @ self.frames)

    def regressor(self, q: Float2D, dq: Float2D, ddq: Float2D) -> np.ndarray:
        """Compute the regressor of the base parameters of Table 2, shape (N, 3, 21)."""
        return np.asarray(self.full_regressor(q, dq, ddq)[..., self.basis.columns])


FOURIER_OPTIONS = FourierOptions(harmonics=5, period=20.0, periods=1)
SAMPLE_COUNT = 2000
"""Number of samples of the identification, of 20,000 recorded ones."""
CANDIDATE_COUNT = 60
"""Number of random series, of which the best one is improved."""


def sample_times() -> Float1D:
    """Return the times of the used samples [s], shape (2000,)."""
    return np.asarray(np.arange(SAMPLE_COUNT) * (FOURIER_OPTIONS.period / SAMPLE_COUNT))


def nominal_six(seed: int) -> Robot:
    """Build the nominal model of the six joints."""
    return perturb_nominal(make_published_plant(ROBOT_NAME), Streams(seed)("nominal"))


def design(joints: int, iterations: int, seed: int) -> dict[str, Any]:
    """Design the excitation of three or six joints, and a random verification trajectory.

    The condition number of the observation matrix is minimized within position, velocity,
    acceleration and torque limits, eq. (24), by sequential quadratic programming as in fmincon;
    without iterations the best random series is used. Three joints have the parameters of Table 2,
    six those of a nominal model.
    """
    robot = FirstThreeJoints().robot if joints == 3 else nominal_six(seed)
    stream, criterion = f"{joints} joints", CRITERIA.build("condition-number")
    search = GradientSearch(
        starts=1 if iterations else 0, candidates=CANDIDATE_COUNT, iterations=max(iterations, 1)
    )
    plan = DesignPlan(family=FOURIER_OPTIONS, criterion=criterion, search=search)
    rng = make_stream(seed, ROBOT_NAME, "design", stream)
    best = optimal_design(robot, base_parameters(robot, FRICTION_SYMBOLS), rng, plan)
    unseen = random_feasible(
        robot, make_stream(seed, ROBOT_NAME, "unseen", stream), FOURIER_OPTIONS
    )
    return {
        "excitation": best.trajectory.content(),
        "verification": unseen.content(),
        "condition_of_best_draw": float(np.exp(best.value_before)),
        "condition": float(np.exp(best.value_after)),
    }


def trajectory_of(content: Mapping[str, Any]) -> FourierTrajectory:
    """Build a trajectory from JSON values."""
    return FourierTrajectory.from_content({k: v for k, v in content.items() if k != "family"})


TORQUE_NOISE = (0.35, 0.2, 0.35)
"""Torque noise of joints 1 to 3 [N m], about the residuals of Table 3."""
BOX_HALF_WIDTH = 0.1
"""Half width of the search box, share of every parameter."""
CLAMP_OPTIONS = {"velocity_limit": 0.1, "bounds": "clip"}
"""Velocity limit [share of the search range] and bounds, which the paper does not mention.

Without them w = 1.3 diverges. The limit is a fifth of the half range. With 0.05 RWPSO is closest to
its printed generations, with 0.2 PSO is; no limit gives both, and the page has all three.
"""
CONVERGENCE_SHARE = 0.99
"""Share of its total decrease of the fitness at which a search has converged."""


def search_run(
    excitation: Mapping[str, Any],
    verification: Mapping[str, Any],
    seed: int,
    run: int,
    searches: str = "searches",
) -> dict[str, Any]:
    """Estimate once from noisy torques: least squares, weighted least squares, and searches.

    Motion is exact, along trajectories as JSON values. The fitness is the root mean square of
    all torque residuals, and every search has 200 particles and 200 generations; noise and searches
    depend on the run. Deviations are errors over the standard deviations by weighted least squares.
    """
    arm = FirstThreeJoints()
    rng = make_stream(seed, ROBOT_NAME, "torque noise", f"run {run}")
    W, unseen = (stack_regressor(arm, trajectory_of(path)) for path in (excitation, verification))
    problem = noisy_problem(arm, W, rng)
    rows = problem.y.size
    starts = {
        "LS": OrdinaryLeastSquares().fit(problem, rng),
        "WLS": WeightedLeastSquares().fit(problem, rng),
    }
    reduction = reduce_rows(problem)
    unweighted = SquaredFitness.from_reduction(reduction, np.ones(problem.dof))
    weighted = SquaredFitness.from_reduction(reduction, 1.0 / starts["WLS"].noise_std)
    std = np.sqrt(np.diagonal(np.asarray(starts["WLS"].cov_white)))
    methods: dict[str, Any] = {
        name: {"evaluations": 0, **_score(start.beta, unweighted, arm, unseen, rows)}
        for name, start in starts.items()
    }
    for name, method in PRINTED_VALUES[searches].items():
        stream = make_stream(seed, ROBOT_NAME, "search", name, f"run {run}")
        fitness = weighted if method.get("weighted") else unweighted
        center = starts[method.get("start", "WLS")].beta
        best, curve = search(method, center, fitness, rows, stream)
        gain = 1.0 - float(np.sqrt(fitness(best[None])[0] / fitness(center[None])[0]))
        methods[name] = {
            **_score(best, unweighted, arm, unseen, rows),
            "evaluations": load_setting(method["setting"]).max_evals,
            "curve": curve.tolist(),
            "generations": find_settling_generation(curve),
            "gain_over_start": gain,
        }
    for scores in methods.values():
        scores["deviations"] = ((np.array(scores["parameters"]) - arm.true) / std).tolist()
    return {"methods": methods}


def noisy_problem(arm: FirstThreeJoints, W: Float2D, rng: np.random.Generator) -> LinearProblem:
    """Build the problem of a regressor of exact motion and noisy torques."""
    y = W @ arm.true + np.tile(TORQUE_NOISE, SAMPLE_COUNT) * rng.standard_normal(len(W))
    return LinearProblem(
        W, y, arm.basis, arm.robot.joint_names, FOURIER_OPTIONS.period / SAMPLE_COUNT
    )


def stack_regressor(arm: FirstThreeJoints, trajectory: FourierTrajectory) -> Float2D:
    """Compute the regressor of Table 2 along a trajectory, shape (6000, 21), sample-major."""
    motion = trajectory(sample_times())
    W = arm.regressor(motion.q, motion.dq, motion.ddq)
    return np.ascontiguousarray(W.reshape(-1, W.shape[2]))


def search(
    method: Mapping[str, Any],
    center: Float1D,
    fitness: SquaredFitness,
    rows: int,
    rng: np.random.Generator,
) -> tuple[Float1D, Float1D]:
    """Run a search of ``settings.toml``; return its best point and best fitness by generation.

    The search range is 10 % of the parameters on both sides of `center`, shape (b,); the fitness is
    the sum of `rows` squared residuals.
    """
    chosen, half = load_setting(method["setting"]), BOX_HALF_WIDTH * np.abs(center)
    ends, budget = (center - half, center + half), chosen.max_evals
    optimizer = chosen.build(**{**CLAMP_OPTIONS, **method.get("changes", {})})
    first = center[None] if method.get("knows_start") else None
    result = minimize(fitness, *ends, method=optimizer, max_evals=budget, rng=rng, first=first)
    return result.x, np.sqrt(result.history[:, 1] / rows)


def find_settling_generation(curve: Float1D) -> int:
    """Find the generation in which a search has reached 99 % of its total improvement."""
    goal = curve[0] - CONVERGENCE_SHARE * (curve[0] - curve[-1])
    return int(np.argmax(curve <= goal)) + 1


def _score(
    beta: Float1D, fitness: SquaredFitness, arm: FirstThreeJoints, unseen: Float2D, rows: int
) -> dict[str, Any]:
    errors = (unseen @ (beta - arm.true)).reshape(-1, arm.robot.dof)
    return {
        "parameters": beta.tolist(),
        "fitness": float(np.sqrt(fitness(beta[None])[0] / rows)),
        "unseen_rms": rms(errors).tolist(),
    }


PAPER_DIVISOR, AS_PRINTED = "WLS, divisor of eq. (11)", "WLS, eq. (11) as printed"


def readings(
    excitation: Mapping[str, Any], verification: Mapping[str, Any], seed: int, runs: int
) -> dict[str, Any]:
    """Estimate joints 1 to 3 with the weights of every interpretation, from many noise samples.

    The interpretations are least squares of eq. (10), weights by eq. (11)-(12) with the divisor of
    robotid_sim and of the paper, and residuals multiplied by the variances, as eq. (11) is printed.
    Errors are squared errors over the variance with exact weights, averaged over the parameters of
    a joint; torque errors are RMS along the verification trajectory [N m].
    """
    arm = FirstThreeJoints()
    W, unseen = (stack_regressor(arm, trajectory_of(path)) for path in (excitation, verification))
    dof = arm.robot.dof
    noise = np.tile(TORQUE_NOISE, SAMPLE_COUNT)
    variance = np.diagonal(np.linalg.inv((W / noise[:, None] ** 2).T @ W))
    owners = np.array(parameters.owners(dof))[arm.basis.columns]
    rows: dict[str, list[dict[str, list[float]]]] = {}
    divisor = 0.0
    for run in range(runs):
        rng = make_stream(seed, ROBOT_NAME, "torque noise", f"run {run}")
        betas = compute_weighted_estimates(reduce_rows(noisy_problem(arm, W, rng)))
        for name, beta in betas.items():
            squares = (beta - arm.true) ** 2 / variance
            means = [float(squares[owners == j].mean()) for j in range(dof)]
            unseen_rms = rms((unseen @ (beta - arm.true)).reshape(-1, dof)).tolist()
            rows.setdefault(name, []).append({"errors": means, "unseen_rms": unseen_rms})
        change = np.abs(betas[PAPER_DIVISOR] - betas["WLS"]) / np.sqrt(variance)
        divisor = max(divisor, float(change.max()))
    weights = {"methods": {name: {"runs": scores} for name, scores in rows.items()}}
    return {"studies": {"weights": weights, "divisor": {"divisor": divisor}}}


def compute_weighted_estimates(reduction: Reduction) -> dict[str, Float1D]:
    """Compute the estimates of every interpretation of eq. (9)-(12) by name, of shape (b,)."""
    unweighted, _ = reduction.solve(np.ones(reduction.dof))
    paper = estimate_printed_noise(reduction, unweighted)
    weights = {
        "WLS": 1.0 / noise_std(reduction, unweighted, unweighted.size),
        PAPER_DIVISOR: 1.0 / paper,
        AS_PRINTED: paper**2,
    }
    return {"LS": unweighted, **{name: reduction.solve(w)[0] for name, w in weights.items()}}


def estimate_printed_noise(reduction: Reduction, beta: Float1D) -> Float1D:
    """Estimate the noise of every joint with the divisor N - r_j of eq. (11) [N m].

    r_j is the number of parameters on which the torque of joint j depends.
    """
    squares = reduction.compute_squared_residuals(beta)
    columns = reduction.factors[:, :, :-1]
    combinations = (np.linalg.norm(columns, axis=1) > 1e-9).sum(axis=1)
    return np.asarray(np.sqrt(squares / (reduction.samples - combinations)))
