"""The paper's future work: objectives of torque, smoothness and energy in place of parameters.

Section 3 names "alternative formulations of objective functions" that "could directly target
performance indices such as torque, energy, or trajectory error". Here both of the paper's swarms
search for the 27 parameters by what a model computes along the circle, beside eq. (20).
"""

from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.model import inertia
from robotid_sim.model.catalog import load_robot, published_parameters, published_robot
from robotid_sim.model.parameters import N_INERTIAL
from robotid_sim.model.robot import Robot
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.optim.minimize import minimize
from robotid_sim.papers.irb140.model import (
    COM,
    ITERATIONS,
    LINKS,
    PARTICLES,
    ROBOT,
    ROOT,
    mape,
    parameter_vector,
)
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


class TorqueMap:
    """Torques of the first three joints at given states, for many candidates at once.

    Masses are those of Table 2, wrist, friction and rotors those of the catalog's arm.
    """

    def __init__(self, robot: Robot, states: Reference) -> None:
        n = len(LINKS)
        own = slice(0, n * N_INERTIAL)
        self._size = len(states.q), n
        rows = torque_regressor(robot, states.q, states.dq, states.ddq)
        of_first = rows.reshape(len(states.q), robot.dof, -1)[:, :n].reshape(len(states.q) * n, -1)
        published = published_parameters(ROBOT)
        self._columns = of_first[:, own] @ inertia.frame_map(published.frames)
        known = robot.parameters()
        known[own] = 0.0
        self._rest = of_first @ known
        self._masses = published.phi[0 : n * N_INERTIAL : N_INERTIAL]

    def __call__(self, candidates: Float2D) -> Float2D:
        """Return the torques of candidates (m, 27), shape (m, N, 3) [N m]."""
        values = candidates.reshape(len(candidates), len(LINKS), -1)
        bodies = np.concatenate(
            [_bodies(mass, values[:, k]) for k, mass in enumerate(self._masses)], axis=1
        )
        tau = bodies @ self._columns.T + self._rest
        return np.asarray(tau.reshape(len(candidates), *self._size))


def _bodies(mass: float, values: Float2D) -> Float2D:
    """Return ten parameters from COM and central inertia of candidates, shape (m, 10).

    The vectorized form of `inertia.pack`.
    """
    com, central = values[:, : len(COM)], values[:, len(COM) :]
    x, y, z = com.T
    xx, xy, xz, yy, yz, zz = central.T
    origin = (
        xx + mass * (y * y + z * z),
        xy - mass * x * y,
        yy + mass * (x * x + z * z),
        xz - mass * x * z,
        yz - mass * y * z,
        zz + mass * (x * x + y * y),
    )
    return np.column_stack([np.full(len(com), mass), mass * com, *origin])


class ControlAware:
    r"""Squared shares of torque error, change of energy and of torque rate along a motion.

    .. math:: f = \sum_j \left(\frac{|\tau_j - \tau_j^*|}{|\tau_j^*|}\right)^2
        + \left(\frac{E_j}{E_j^*} - 1\right)^2
        + \left(\frac{|\dot\tau_j|}{|\dot\tau_j^*|} - 1\right)^2

    with RMS values over the motion, the star for the reference's torque, and eq. (29) for the
    energy, absolute.
    """

    def __init__(self, torque: TorqueMap, states: Reference, target: Float2D, dt: float) -> None:
        self._torque, self._dq, self._dt = torque, states.dq[:, : len(LINKS)], dt
        self._target = target
        self._energy, self._rate = self._indices(target[None])

    def _indices(self, tau: Float2D) -> tuple[Float2D, Float2D]:
        energy = np.abs(tau * self._dq).sum(axis=1) * self._dt
        rate = np.sqrt((np.diff(tau, axis=1) ** 2).mean(axis=1)) / self._dt
        return energy, rate

    def __call__(self, candidates: Float2D) -> Float1D:
        """Return the costs of candidates (m, 27), shape (m,)."""
        tau = self._torque(candidates)
        energy, rate = self._indices(tau)
        share = ((tau - self._target) ** 2).mean(axis=1) / (self._target**2).mean(axis=0)
        parts = share + (energy / self._energy - 1.0) ** 2 + (rate / self._rate - 1.0) ** 2
        return np.asarray(parts.sum(axis=1))


def search(seed: int, run: int, swarm: str, objective: str) -> dict[str, Any]:
    """Return what one of `SWARMS` finds with one of `OBJECTIVES`; both have the same budget.

    Returns
    -------
    result : dict
        ``mape_com``, ``mape_inertia`` [%]; ``circle`` and ``unseen``: RMS torque error of the first
        three joints over the RMS torque, on the circle and on random states.
    """
    robot, reference = load_robot(ROBOT), published_robot(ROBOT)
    rng = named_stream(seed, ROOT, "performance", swarm, objective, f"run {run}")
    states = {"circle": _circle(robot), "unseen": unseen_states(robot, seed)}
    maps = {name: TorqueMap(robot, motion) for name, motion in states.items()}
    targets = {name: _torque(reference, motion) for name, motion in states.items()}
    truth = parameter_vector("reference")
    box = ParameterDistance(truth, HALF_WIDTH, "relative", ITERATIONS)
    optimizer, options = METHODS[swarm]
    aware = ControlAware(maps["circle"], states["circle"], targets["circle"], LAP / SAMPLES)
    best = minimize(
        box if objective == "eq-20" else lambda X: aware(X * truth),
        box.lower,
        box.upper,
        method=OPTIMIZERS.build(optimizer, **options),
        max_evals=PARTICLES * ITERATIONS,
        rng=rng,
    )
    estimate = best.x * truth
    com, moments = mape(estimate, truth)
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
    rng = named_stream(seed, ROOT, "performance", "unseen")
    size, limits = (SAMPLES, robot.dof), robot.limits
    return Reference(
        rng.uniform(limits.lower, limits.upper, size),
        rng.uniform(-UNSEEN_SPEED, UNSEEN_SPEED, size),
        rng.uniform(-UNSEEN_ACCELERATION, UNSEEN_ACCELERATION, size),
    )


def _torque(reference: Robot, states: Reference) -> Float2D:
    """Return the reference's torques of the first three joints, shape (N, 3) [N m]."""
    return np.asarray(joint_torque(reference, states.q, states.dq, states.ddq)[:, : len(LINKS)])
