"""Inverse kinematics by a network whose loss penalizes poses near a singularity.

It learns from a logged motion. The inputs are position and velocity of the tool, as in section 3,
the outputs the joint angles. The loss of eq. (33) is the distance of the pose that these angles
reach, and a penalty on their singularity index. scikit-learn has no such loss: weights are fitted
with its gradient here, through the kinematics of Table 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.experiment.rollout import Cell
from robotid_sim.model.catalog import make_published_plant
from robotid_sim.model.robot import Robot
from robotid_sim.papers.irb140 import kinematics
from robotid_sim.papers.irb140.kinematics import MAX_SINGULARITY_INDEX, jacobian
from robotid_sim.papers.irb140.model import PAPER_NAME, ROBOT_NAME
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.streams import make_stream
from robotid_sim.trajectory.fourier import FourierTrajectory

TREATMENTS = ("none", "omitted", "penalty")
"""Treatments of singular poses: none, excluded from the data, eq. (33)."""
MOTION_CENTER = (0.0, 0.3, -0.2, 0.0, 0.1, 0.0)
"""Middle of the logged motion, in the URDF's joint angles [rad]: it passes the wrist's singularity,
where axes 4 and 6 coincide."""
MOTION_AMPLITUDE = np.radians(15.0)
"""Amplitude of every joint about the middle [rad], as in the region of the other networks."""
PERIOD, HARMONICS = 20.0, 5
"""Base period [s] and number of harmonics of the logged motion."""
UNIT_COUNT = 50
SAMPLE_COUNT = 500
"""Samples of the log for training and validation."""
VALIDATION_SHARE = 0.2
"""Share of the samples for validation."""
ERROR_FLOOR = 1e-4
"""Errors below this are squared, so that the loss has a gradient everywhere [m]."""
PENALTY_STEEPNESS = 4.0
"""Slope of the penalty, a logistic function of ln(kappa / 1000); the paper's f is not printed."""
PENALTY_WEIGHT = 0.01
"""Weight of the penalty: a singular pose counts as much as this error [m]."""


def train_inverse(
    seed: int, run: int, treatment: str, iterations: int, samples: int = SAMPLE_COUNT
) -> dict[str, Any]:
    """Train a network with one of `TREATMENTS`, and measure its errors.

    All treatments of a run have the same log, split and first weights. Errors are mean distances
    of the reached from the reference position [mm]; ``singular`` is the share of validation poses
    with an index above `MAX_SINGULARITY_INDEX`, ``kappa`` median and 99 % quantile of their index,
    ``logged`` the share of logged poses with an index above that limit.
    """
    q, inputs, xyz = log_motion(seed, run, samples)
    rng = make_stream(seed, PAPER_NAME, "inverse network", f"run {run}")
    order = rng.permutation(len(q))
    cut = round((1.0 - VALIDATION_SHARE) * len(q))
    logged = kinematics.singularity_index(jacobian(q)[0])
    training, validation = order[:cut], order[cut:]
    if treatment == "omitted":
        training = training[logged[training] <= MAX_SINGULARITY_INDEX]
    low, high = q.min(axis=0), q.max(axis=0)
    network = InverseNetwork(inputs.shape[1], 0.5 * (low + high), 0.5 * (high - low))
    loss = eq_33(network, inputs[training], xyz[training], penalized=treatment == "penalty")
    best = minimize(
        loss, network.start(rng), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
    )
    reached = network(best.x, inputs)[0]
    jacobians, positions = jacobian(reached)
    distance = 1e3 * np.linalg.norm(positions - xyz, axis=1)
    index = kinematics.singularity_index(jacobians[validation])
    return {
        "train": float(distance[training].mean()),
        "validation": float(distance[validation].mean()),
        "singular": float((index > MAX_SINGULARITY_INDEX).mean()),
        "kappa": np.quantile(index, (0.5, 0.99)).tolist(),
        "logged": float((logged > MAX_SINGULARITY_INDEX).mean()),
    }


def log_motion(seed: int, run: int, samples: int) -> tuple[Float2D, Float2D, Float2D]:
    """Compute joint angles of the paper, scaled inputs, and tool positions of a log.

    The inputs are position and velocity of the tool, scaled to [-1, 1]; shapes (N, 6), (N, 6) and
    (N, 3).
    """
    robot = make_published_plant(ROBOT_NAME)
    rng = make_stream(seed, PAPER_NAME, "logged motion", f"run {run}")
    cell = Cell(plant=robot, controller=ComputedTorque(robot))
    log = run_experiment(cell, _motion(robot, rng), rng)
    chosen = np.linspace(0, len(log.t) - 1, samples).astype(int)
    q = log.q + kinematics.HOME_ANGLES
    xyz = jacobian(q)[1]
    velocity = np.gradient(xyz, log.t, axis=0)
    inputs = np.hstack([xyz, velocity])[chosen]
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    return q[chosen], 2.0 * (inputs - low) / (high - low) - 1.0, xyz[chosen]


def _motion(robot: Robot, rng: np.random.Generator) -> FourierTrajectory:
    """Draw a periodic motion of every joint within `MOTION_AMPLITUDE` of `MOTION_CENTER`."""
    order = np.arange(1.0, HARMONICS + 1.0)
    a, b = rng.standard_normal((2, robot.dof, HARMONICS))
    a -= a.mean(axis=1, keepdims=True)  # the motion starts from rest
    b -= np.outer(b @ order, order) / (order @ order)

    def path(q0: Float1D, size: Float1D) -> FourierTrajectory:
        names = tuple(joint.name for joint in robot.joints)
        return FourierTrajectory(names, q0, size * a, size * b, base_period=PERIOD, periods=1)

    unscaled = path(np.zeros(robot.dof), np.ones((robot.dof, 1)))(np.linspace(0.0, PERIOD, 1000)).q
    low, high = unscaled.min(axis=0), unscaled.max(axis=0)
    size = 2.0 * MOTION_AMPLITUDE / (high - low)
    return path(np.array(MOTION_CENTER) - 0.5 * size * (low + high), size[:, None])


class InverseNetwork:
    """One hidden layer of logistic units; weights are one vector."""

    def __init__(self, inputs: int, middle: Float1D, half: Float1D) -> None:
        self._shapes = (inputs, UNIT_COUNT), (UNIT_COUNT,), (UNIT_COUNT, half.size), (half.size,)
        self._middle, self._half = middle, half

    def start(self, rng: np.random.Generator) -> Float1D:
        """Draw Glorot's uniform first weights, without biases."""
        bounds = (np.sqrt(6.0 / sum(s)) if len(s) > 1 else 0.0 for s in self._shapes)
        pairs = zip(bounds, self._shapes, strict=True)
        return np.concatenate([rng.uniform(-bound, bound, s).ravel() for bound, s in pairs])

    def __call__(
        self, weights: Float1D, x: Float2D
    ) -> tuple[Float2D, Callable[[Float2D], Float1D]]:
        """Compute joint angles (N, 6), and the map from their gradient to the weights' gradient."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self._shapes])[:-1]
        parts = zip(np.split(weights, ends), self._shapes, strict=True)
        first, bias, second, offset = (part.reshape(shape) for part, shape in parts)
        hidden = expit(x @ first + bias)
        q = self._middle + self._half * (hidden @ second + offset)

        def backpropagate(slope: Float2D) -> Float1D:
            outer = slope * self._half
            inner = (outer @ second.T) * hidden * (1.0 - hidden)
            slopes = x.T @ inner, inner.sum(axis=0), hidden.T @ outer, outer.sum(axis=0)
            return np.concatenate([part.ravel() for part in slopes])

        return q, backpropagate


def eq_33(
    network: InverseNetwork, x: Float2D, xyz: Float2D, *, penalized: bool
) -> Callable[[Float1D], tuple[float, Float1D]]:
    """Make eq. (33) with its gradient, as a function of the weights."""

    def loss(weights: Float1D) -> tuple[float, Float1D]:
        q, backpropagate = network(weights, x)
        jacobians, reached = jacobian(q)
        error = reached - xyz
        size = np.sqrt(error**2 + ERROR_FLOOR**2)
        slope = np.einsum("ni,nij->nj", error / size, jacobians[:, :3]) / error.size
        value = float(size.mean())
        if penalized:
            u, s, vt = np.linalg.svd(jacobians)
            s = np.maximum(s, kinematics.MIN_SINGULAR_VALUE)
            height = expit(PENALTY_STEEPNESS * np.log(s[:, 0] / s[:, -1] / MAX_SINGULARITY_INDEX))
            change = jacobian_slopes(jacobians)
            upper, lower = (  # slopes of the logarithms of both singular values
                np.einsum("ni,nkij,nj->nk", u[:, :, k], change, vt[:, k]) / s[:, k, None]
                for k in (0, -1)
            )
            slopes = (PENALTY_STEEPNESS * height * (1.0 - height))[:, None] * (upper - lower)
            value += PENALTY_WEIGHT * float(height.mean())
            slope += PENALTY_WEIGHT * slopes / len(q)
        return value, backpropagate(slope)

    return loss


def jacobian_slopes(jacobians: Float) -> Float:
    """Compute the derivatives of Jacobians with respect to every angle, shape (N, 6, 6, 6).

    Entry (n, k) is the derivative with respect to angle k: an axis rotates with the joints before
    it, and its lever arm to the tool with all of them.
    """
    linear, z = jacobians[:, :3].transpose(0, 2, 1), jacobians[:, 3:].transpose(0, 2, 1)
    slopes = np.zeros((len(jacobians), 6, 6, 6))
    for k in range(6):
        for j in range(6):
            turned, moved = (k, j) if k <= j else (j, k)
            slopes[:, k, :3, j] = np.cross(z[:, turned], linear[:, moved])
            if k < j:
                slopes[:, k, 3:, j] = np.cross(z[:, k], z[:, j])
    return slopes
