"""The paper's future work: objectives of torque, smoothness and energy in place of parameters.

Section 3 names "alternative formulations of objective functions" that "could directly target
performance indices such as torque, energy, or trajectory error". Here both of the paper's swarms
search for the 27 parameters by what a model computes along the circle, beside eq. (20).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.model import inertia
from robotid_sim.model.catalog import load_robot, published_parameters
from robotid_sim.model.parameters import N_INERTIAL
from robotid_sim.model.robot import Robot
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.optim.minimize import minimize
from robotid_sim.papers.irb140 import model
from robotid_sim.papers.irb140.swarms import METHODS, ParameterDistance
from robotid_sim.streams import named_stream
from robotid_sim.tasks.task import Circle, RunPlan
from robotid_sim.trajectory.reference import Reference
from robotid_sim.validation.prediction import rms

OBJECTIVES = ("eq-20", "control-aware")
"""What the swarms minimize: eq. (20), or shares of torque, smoothness and energy."""
SWARMS = ("pso", "qubit")
"""The paper's swarms, with the settings of Table 3's runs."""
HALF_WIDTH = 0.5
"""Half width of the box, as in Table 3's runs."""
LAP = 30.0
"""Time of the circle [s]."""
SAMPLES = 300
"""Instants of the circle, and poses of the motion that was not searched on."""
UNSEEN_SPEED, UNSEEN_ACCELERATION = 1.0, 3.0
"""Largest speed [rad/s] and acceleration [rad/s^2] of the motion that was not searched on."""


def torque_map(robot: Robot, states: Reference) -> Callable[[Float2D], Float2D]:
    """Make the function from candidates (m, 27) to torques of the first joints (m, N, 3) [N m].

    Masses are those of Table 2, wrist, friction and rotors those of the catalog's arm.
    """
    n = len(model.LINKS)
    own = slice(0, n * N_INERTIAL)
    rows = torque_regressor(robot, states.q, states.dq, states.ddq)
    of_first = rows.reshape(len(states.q), robot.dof, -1)[:, :n].reshape(len(states.q) * n, -1)
    columns = of_first[:, own] @ inertia.frame_map(published_parameters(model.ROBOT).frames)
    known = robot.parameters()
    known[own] = 0.0
    rest = of_first @ known

    def torques(candidates: Float2D) -> Float2D:
        tau = model.link_parameters(candidates) @ columns.T + rest
        return np.asarray(tau.reshape(len(candidates), -1, n))

    return torques


def control_aware_cost(
    torques: Callable[[Float2D], Float2D], states: Reference, target: Float2D, dt: float
) -> Callable[[Float2D], Float1D]:
    r"""Make the cost: squared shares of torque error, change of energy and of torque rate.

    .. math:: f = \sum_j \left(\frac{|\tau_j - \tau_j^*|}{|\tau_j^*|}\right)^2
        + \left(\frac{E_j}{E_j^*} - 1\right)^2
        + \left(\frac{|\dot\tau_j|}{|\dot\tau_j^*|} - 1\right)^2

    with RMS values over a motion, the star for the reference's torque, and eq. (29) for the energy,
    absolute.
    """

    def indices(tau: Float2D) -> tuple[Float2D, Float2D]:
        energy = np.abs(tau * states.dq[:, : len(model.LINKS)]).sum(axis=1) * dt
        return energy, np.sqrt((np.diff(tau, axis=1) ** 2).mean(axis=1)) / dt

    energy_true, rate_true = indices(target[None])

    def cost(candidates: Float2D) -> Float1D:
        tau = torques(candidates)
        energy, rate = indices(tau)
        share = ((tau - target) ** 2).mean(axis=1) / (target**2).mean(axis=0)
        parts = share + (energy / energy_true - 1.0) ** 2 + (rate / rate_true - 1.0) ** 2
        return np.asarray(parts.sum(axis=1))

    return cost


def search(seed: int, run: int, swarm: str, objective: str) -> dict[str, Any]:
    """Return what one of `SWARMS` finds with one of `OBJECTIVES`; both have the same budget.

    Returns
    -------
    result : dict
        ``mape_com``, ``mape_inertia`` [%]; ``circle`` and ``unseen``: RMS torque error of the first
        three joints over the RMS torque, on the circle and on random states.
    """
    robot, truth = load_robot(model.ROBOT), model.parameter_vector("reference")
    rng = named_stream(seed, model.ROOT, "performance", swarm, objective, f"run {run}")
    states = {"circle": _circle(robot), "unseen": unseen_states(robot, seed)}
    maps = {name: torque_map(robot, motion) for name, motion in states.items()}
    targets = {name: torques(truth[None])[0] for name, torques in maps.items()}
    box = ParameterDistance(truth, HALF_WIDTH, "relative", model.ITERATIONS)
    optimizer, options = METHODS[swarm]
    aware = control_aware_cost(maps["circle"], states["circle"], targets["circle"], LAP / SAMPLES)
    best = minimize(
        box if objective == "eq-20" else lambda X: aware(X * truth),
        box.lower,
        box.upper,
        method=OPTIMIZERS.build(optimizer, **options),
        max_evals=model.PARTICLES * model.ITERATIONS,
        rng=rng,
    )
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


def _circle(robot: Robot) -> Reference:
    """Return the slow circle at `SAMPLES` instants."""
    path = next(run for run in Circle().runs(robot, RunPlan(slow_lap=LAP)) if run.slow)
    return path.trajectory(np.linspace(0.0, path.trajectory.duration, SAMPLES))


def unseen_states(robot: Robot, seed: int) -> Reference:
    """Draw random states within the joint limits, the same for all searches of a seed."""
    rng = named_stream(seed, model.ROOT, "performance", "unseen")
    size, limits = (SAMPLES, robot.dof), robot.limits
    return Reference(
        rng.uniform(limits.lower, limits.upper, size),
        rng.uniform(-UNSEEN_SPEED, UNSEEN_SPEED, size),
        rng.uniform(-UNSEEN_ACCELERATION, UNSEEN_ACCELERATION, size),
    )
