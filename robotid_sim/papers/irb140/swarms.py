"""The paper's search: swarms whose objective contains the known solution.

The objective of eq. (20) compares a candidate's 27 parameters with those of the CAD model, without
any torque: it is a sphere centered at the known solution, and measures how fast a swarm converges.

The second objective follows the future work of section 3, "alternative formulations of objective
functions" that "could directly target performance indices such as torque, energy, or trajectory
error", computed by a model along the circle.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.model import inertia
from robotid_sim.model.catalog import load_published_parameters, load_robot
from robotid_sim.model.parameters import INERTIAL_COUNT
from robotid_sim.model.robot import Robot
from robotid_sim.optim.minimize import Cost, OptimResult, load_setting, minimize
from robotid_sim.optim.qpso import QUARTER_TURN, QubitSwarm
from robotid_sim.papers.irb140 import model
from robotid_sim.streams import make_stream
from robotid_sim.tasks.task import Circle, RunPlan
from robotid_sim.trajectory.reference import Reference

Scaling = Literal["relative", "raw"]

BOX_ASYMMETRY = 1.2
"""Asymmetry of the box: it extends farther up than down, so that the solution is not its center."""
PENALTY_FACTOR = 10.0
"""Penalty factor at the end of a run; it increases linearly from zero. The paper gives no law."""
CONVERGENCE_SHARE = 0.01
"""Remaining share of its total gain at which a search has converged; not in the paper."""
SwarmReading = tuple[str, Mapping[str, Any]]
"""An optimizer with its options."""


def read_method(changes: Mapping[str, Any]) -> SwarmReading:
    """Read a published setting, or an optimizer of the paper's size, with changes."""
    if "optimizer" in changes:
        options = {"population": model.PARTICLES, **changes}
        return options.pop("optimizer"), options
    options = dict(changes)
    published = load_setting(options.pop("setting"))
    return published.method, {**published.options, **options}


METHOD_SETTINGS = {
    name: read_method(changes) for name, changes in model.SETTINGS["methods"].items()
}
"""Interpretations of the paper's two algorithms, and variants from the literature."""
PSO_CLAMP: float = METHOD_SETTINGS["pso"][1]["velocity_limit"]
"""Largest step of a particle, as a share of its box. The paper has no clamp."""
QUBIT_CLAMP = QubitSwarm.velocity_limit / QUARTER_TURN
"""Largest step of a qubit, 0.1 rad, as a share of its angle's range. The paper has none."""


class ParameterDistance:
    """Equation (20): squared distance to the reference, and a penalty outside the box.

    The box, shape (27,), extends below each parameter by the share `half_width`. With the scaling
    ``relative`` candidates are parameters over their reference, else parameters. The penalty
    factor has its full size after as many calls as there are iterations. The ``reach`` is the
    largest distance of a candidate from the middle of the box so far, in widths of the box.
    """

    def __init__(
        self, reference: Float1D, half_width: float, scaling: Scaling, iterations: int
    ) -> None:
        self.target = np.ones_like(reference) if scaling == "relative" else reference
        ends = self.target * (1.0 - half_width), self.target * (1.0 + BOX_ASYMMETRY * half_width)
        self.lower, self.upper = np.minimum(*ends), np.maximum(*ends)
        self.reach = 0.0
        self._iterations, self._called = iterations, 0

    def __call__(self, X: Float2D) -> Float1D:
        """Compute the costs of candidates, shape (m,)."""
        middle, width = 0.5 * (self.upper + self.lower), self.upper - self.lower
        self.reach = max(self.reach, float((np.abs(X - middle) / width).max()))
        factor = PENALTY_FACTOR * self._called / self._iterations
        self._called += 1
        outside = np.maximum(self.lower - X, 0.0) + np.maximum(X - self.upper, 0.0)
        return np.asarray(((X - self.target) ** 2).sum(axis=1) + factor * (outside**2).sum(axis=1))


def clamp_steps(method: str, share: float | None) -> SwarmReading:
    """Limit the steps of one of `METHOD_SETTINGS` to a share of the range of its particles.

    The range is the box, or for qubits the quarter turn of their angle. Without a share the limit
    is the method's own.
    """
    optimizer, options = METHOD_SETTINGS[method]
    if share is None:
        return optimizer, options
    unit = QUARTER_TURN if optimizer == METHOD_SETTINGS["qubit"][0] else 1.0
    return optimizer, {**options, "velocity_limit": share * unit}


def search(
    method: str,
    scaling: Scaling,
    half_width: float,
    runs: int,
    seed: int,
    clamp: float | None = None,
) -> dict[str, Any]:
    """Run one of `METHOD_SETTINGS` on one box; the trial of Table 3 and of figures 6 to 9.

    For scaling and half width see `ParameterDistance`. `clamp` replaces the method's clamp, see
    `clamp_steps`. The ``runs`` of the result are rows of `search_once`.
    """
    settings = clamp_steps(method, clamp)
    names = [model.PAPER_NAME, method, scaling, f"{half_width:g}"]
    names += [] if clamp is None else [f"clamp {clamp:.4f}"]
    streams = (make_stream(seed, *names, f"run {run}") for run in range(runs))
    labels = {"scaling": scaling, "box": f"± {100.0 * half_width:g} %", "clamp": clamp}
    rows = (search_once(settings, scaling, half_width, rng) for rng in streams)
    return {"runs": [labels | row for row in rows]}


def run_swarm(
    method: SwarmReading, cost: Cost, box: ParameterDistance, rng: np.random.Generator
) -> OptimResult:
    """Minimize a cost in a box with the paper's budget."""
    optimizer, options = method
    budget = model.PARTICLES * model.ITERATIONS
    ends = box.lower, box.upper
    return minimize(cost, *ends, method=optimizer, max_evals=budget, rng=rng, **options)


def search_once(
    method: SwarmReading, scaling: Scaling, half_width: float, rng: np.random.Generator
) -> dict[str, Any]:
    """Search for the minimum of eq. (20) once.

    The row has errors in [%], with ``imbalance`` that of the products of inertia over that of the
    moments, iterations until the search has ``converged`` and until its ``last_gain``, processor
    times in [us], per iteration and until convergence, and the best cost after every iteration.
    """
    reference = model.parameter_vector("reference")
    cost = ParameterDistance(reference, half_width, scaling, model.ITERATIONS)
    began = time.process_time()  # other processes do not count
    best = run_swarm(method, cost, cost, rng)
    iteration_time = 1e6 * (time.process_time() - began) / model.ITERATIONS
    curve = best.history[:, 1]
    estimate = best.x * reference if scaling == "relative" else best.x
    com, inertia = model.mape(estimate, reference)
    products, moments = inertia_errors(estimate)
    converged = int(np.argmax(curve - curve[-1] <= CONVERGENCE_SHARE * (curve[0] - curve[-1]))) + 1
    return {
        "cost": best.fun,
        "mape_com": com,
        "mape_inertia": inertia,
        "products": products,
        "moments": moments,
        "imbalance": products / moments,
        "converged": converged,
        "last_gain": int(np.flatnonzero(np.diff(curve, prepend=np.inf))[-1]) + 1,
        "reach": cost.reach,
        "time": iteration_time,
        "time_to_converge": iteration_time * converged,
        "estimate": estimate.tolist(),
        "curve": curve.tolist(),
        "evaluations": best.nfev,
    }


def inertia_errors(estimate: Float1D) -> tuple[float, float]:
    """Compute the mean absolute error of products and of moments of inertia [%]."""
    share = 100.0 * np.abs(estimate / model.parameter_vector("reference") - 1.0)
    return float(share[~model.COM_MASK & ~model.MOMENT_MASK].mean()), float(
        share[model.MOMENT_MASK].mean()
    )


OBJECTIVES = ("eq-20", "control-aware")
"""Objectives of the swarms: eq. (20), or shares of torque, smoothness and energy."""
SWARM_NAMES = ("pso", "qubit")
"""The paper's swarms, with the settings of Table 3's runs."""
BOX_HALF_WIDTH = 0.5
"""Half width of the box, as in Table 3's runs."""
LAP_TIME = 30.0
"""Time of the circle [s]."""
SAMPLE_COUNT = 300
"""Number of instants of the circle, and of states of the unseen motion."""
UNSEEN_SPEED, UNSEEN_ACCELERATION = 1.0, 3.0
"""Largest speed [rad/s] and acceleration [rad/s^2] of the unseen motion."""


def torque_map(robot: Robot, states: Reference) -> Callable[[Float2D], Float2D]:
    """Make the function from candidates (m, 27) to torques of the first joints (m, N, 3) [N m].

    Masses are from Table 2; wrist, friction and rotors are from the arm of the catalog.
    """
    n = len(model.LINK_NAMES)
    first_links = slice(0, n * INERTIAL_COUNT)
    rows = torque_regressor(robot, states.q, states.dq, states.ddq)
    first_rows = rows.reshape(len(states.q), robot.dof, -1)[:, :n].reshape(len(states.q) * n, -1)
    columns = first_rows[:, first_links] @ inertia.frame_map(
        load_published_parameters(model.ROBOT_NAME).frames
    )
    fixed = robot.parameters()
    fixed[first_links] = 0.0
    fixed_torque = first_rows @ fixed

    def torques(candidates: Float2D) -> Float2D:
        tau = model.link_parameters(candidates) @ columns.T + fixed_torque
        return np.asarray(tau.reshape(len(candidates), -1, n))

    return torques


def control_aware_cost(
    torques: Callable[[Float2D], Float2D], states: Reference, target: Float2D, dt: float
) -> Callable[[Float2D], Float1D]:
    r"""Make the cost of squared shares of torque error, change of energy and of torque rate.

    .. math:: f = \sum_j \left(\frac{|\tau_j - \tau_j^*|}{|\tau_j^*|}\right)^2
        + \left(\frac{E_j}{E_j^*} - 1\right)^2
        + \left(\frac{|\dot\tau_j|}{|\dot\tau_j^*|} - 1\right)^2

    with RMS values over a motion, a star for the reference, and the energy of eq. (29), absolute.
    """

    def indices(tau: Float2D) -> tuple[Float2D, Float2D]:
        energy = np.abs(tau * states.dq[:, : len(model.LINK_NAMES)]).sum(axis=1) * dt
        return energy, np.sqrt((np.diff(tau, axis=1) ** 2).mean(axis=1)) / dt

    energy_true, rate_true = indices(target[None])

    def cost(candidates: Float2D) -> Float1D:
        tau = torques(candidates)
        energy, rate = indices(tau)
        share = ((tau - target) ** 2).mean(axis=1) / (target**2).mean(axis=0)
        parts = share + (energy / energy_true - 1.0) ** 2 + (rate / rate_true - 1.0) ** 2
        return np.asarray(parts.sum(axis=1))

    return cost


def search_by_performance(seed: int, run: int, swarm: str, objective: str) -> dict[str, Any]:
    """Search by one of `SWARM_NAMES` with one of `OBJECTIVES`; both have the same budget.

    In addition to errors [%], ``circle`` and ``unseen`` are RMS torque errors of the first three
    joints over the RMS torque, on the circle and on random states.
    """
    robot, truth = load_robot(model.ROBOT_NAME), model.parameter_vector("reference")
    rng = make_stream(seed, model.PAPER_NAME, "performance", swarm, objective, f"run {run}")
    path = next(
        run for run in Circle().runs(robot, RunPlan(slow_lap=LAP_TIME)) if run.slow
    ).trajectory
    circle = path(np.linspace(0.0, path.duration, SAMPLE_COUNT))
    states = {"circle": circle, "unseen": unseen_states(robot, seed)}
    maps = {name: torque_map(robot, motion) for name, motion in states.items()}
    targets = {name: torques(truth[None])[0] for name, torques in maps.items()}
    box = ParameterDistance(truth, BOX_HALF_WIDTH, "relative", model.ITERATIONS)
    aware = control_aware_cost(maps["circle"], circle, targets["circle"], LAP_TIME / SAMPLE_COUNT)
    cost: Cost = box if objective == "eq-20" else lambda X: aware(X * truth)
    best = run_swarm(METHOD_SETTINGS[swarm], cost, box, rng)
    estimate = best.x * truth
    com, moments = model.mape(estimate, truth)
    return {
        "mape_com": com,
        "mape_inertia": moments,
        **{
            name: float((rms(torque(estimate[None])[0] - targets[name]) / rms(targets[name])).max())
            for name, torque in maps.items()
        },
    }


def unseen_states(robot: Robot, seed: int) -> Reference:
    """Draw random states within the joint limits, the same for all searches of a seed."""
    rng = make_stream(seed, model.PAPER_NAME, "performance", "unseen")
    size, limits = (SAMPLE_COUNT, robot.dof), robot.limits
    return Reference(
        rng.uniform(limits.lower, limits.upper, size),
        rng.uniform(-UNSEEN_SPEED, UNSEEN_SPEED, size),
        rng.uniform(-UNSEEN_ACCELERATION, UNSEEN_ACCELERATION, size),
    )
