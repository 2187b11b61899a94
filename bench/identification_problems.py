"""Identification problems for the league of optimizers, each with its classical answer beside it.

Data are simulated without the engine: the regressor of an IRB 140 on a random excitation, torques
with white noise of 1 % of their RMS. Costs are divided by that of the classical answer, so that 1
is what linear or nonlinear least squares reaches.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

import robotid_sim as rid
from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation import LinearProblem, WeightedLeastSquares
from robotid_sim.estimation.fitness import make_fitness
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.trajectory.design import FourierOptions, random_design
from robotid_sim.trajectory.reference import Reference

NOISE = 0.01
"""Torque noise over RMS torque."""

OUTLIERS = 0.05
"""Share of samples that are outliers, thirty times the noise."""

BOX = 0.5
"""Half width of the box around least squares, share of every parameter; at least 20 std."""

RATE = 100.0  # [Hz]

STRIBECK_VELOCITY = (0.08, 0.12, 0.1)
"""True Stribeck velocities of the joints [rad/s]."""

STRIBECK_EXPONENT = (1.0, 2.0, 1.5)
STRIBECK_RISE = 0.6
"""Static minus Coulomb friction over Coulomb friction."""

NONLINEAR_BOX = ((0.01, 0.5), (0.5, 3.0))
"""Bounds of Stribeck velocity [rad/s] and exponent."""

STARTS = 10
"""Random starts of the nonlinear least squares."""


@dataclass(frozen=True)
class IdentificationProblem:
    """A cost over a box, and what the classical method makes of it."""

    name: str
    lower: Float1D
    upper: Float1D
    fun: Callable[[Float2D], Float1D]
    """Costs of candidates over that of the classical answer."""
    classical: str
    """Name of the classical method."""
    seconds: float
    """Its time [s]."""


@dataclass(frozen=True)
class Data:
    """Simulated rows of a robot with viscous and Coulomb friction."""

    problem: LinearProblem
    motion: Reference
    noise: Float1D


def identification_problems() -> list[IdentificationProblem]:
    """Return all problems, the easy ones first."""
    small, large = simulate("link_3"), simulate("tool0")
    return [
        linear("squares, 21 parameters", small, "squares"),
        linear("squares, 48 parameters", large, "squares"),
        linear("absolute, 21 parameters, outliers", simulate("link_3", OUTLIERS), "absolute"),
        linear("absolute, 48 parameters, outliers", simulate("tool0", OUTLIERS), "absolute"),
        *stribeck(),
    ]


def simulate(tip: str, outliers: float = 0.0) -> Data:
    """Return rows of the arm up to a link, with a share of outliers."""
    rng = np.random.default_rng(0)
    robot = rid.load_robot("irb140", tip=tip)
    basis = base_parameters(robot, ("Fv", "Fc"))
    motion = _motion(robot, basis, rng)
    W = torque_regressor(robot, motion.q, motion.dq, motion.ddq, basis.columns)
    clean = W @ basis.of(robot.parameters())
    noise = NOISE * np.sqrt((clean**2).mean(axis=0))
    torque = clean + noise * rng.standard_normal(clean.shape)
    bad = rng.random(clean.shape) < outliers
    torque += bad * 30.0 * noise * rng.standard_normal(clean.shape)
    rows = W.reshape(-1, basis.rank)
    problem = LinearProblem(rows, torque.ravel(), basis, robot.joint_names, 1.0 / RATE, robot)
    return Data(problem, motion, noise)


def _motion(robot: rid.Robot, basis: BaseParameters, rng: np.random.Generator) -> Reference:
    options = FourierOptions(periods=1)
    path = random_design(robot, basis, rng, options=options, candidates=50)
    return path(np.arange(round(options.period * RATE)) / RATE)


def linear(name: str, data: Data, loss: str) -> IdentificationProblem:
    """Return a linear problem with squared or absolute residuals."""
    problem = data.problem
    wls = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    fitness = make_fitness(loss, problem, reduce_rows(problem), 1.0 / data.noise)
    began = time.perf_counter()
    best = fitness.minimum()
    seconds = time.perf_counter() - began
    least = float(fitness(best[None])[0])
    half = np.maximum(BOX * np.abs(wls.beta), 20.0 * wls.std)
    method = "least squares" if loss == "squares" else "linear program"
    return IdentificationProblem(
        name, wls.beta - half, wls.beta + half, lambda X: fitness(X) / least, method, seconds
    )


@dataclass(frozen=True)
class Stribeck:
    """Rows of three joints with Stribeck friction, weighted by the noise.

    The torque is ``W beta + sum_j c_j exp(-|dq_j / v_j|^d_j) tanh(dq_j / eps)``: 21 linear base
    parameters, 3 linear ``c``, and per joint a velocity v and an exponent d.
    """

    W: Float2D
    """Rows of the base parameters, joint-major, shape (3 N, 21)."""
    y: Float1D
    """Torques, shape (3 N,)."""
    dq: Float2D
    """Velocities, shape (N, 3)."""
    reverse: Float2D
    """Weighted smooth sign of the velocity, shape (N, 3)."""
    Q: Float2D
    """Orthonormal basis of the columns of W: what they explain is taken off once for all."""

    def columns(self, v: Float2D) -> Float2D:
        """Return the Stribeck columns of candidates v (m, 6), shape (m, 3, N)."""
        velocity, exponent = v[:, :3, None], v[:, 3:, None]
        return np.asarray(np.exp(-((np.abs(self.dq.T) / velocity) ** exponent)) * self.reverse.T)

    def residuals(self, v: Float1D) -> Float1D:
        """Return the residuals with the best linear parameters for one v (6,)."""
        rest, three = self._beyond(self.y), self._beyond(self.blocks(v))
        c = np.linalg.lstsq(three, rest, rcond=None)[0]
        return np.asarray(rest - three @ c)

    def _beyond(self, x: Float2D) -> Float2D:
        """Return what the columns of W do not explain."""
        return np.asarray(x - self.Q @ (self.Q.T @ x))

    def blocks(self, v: Float1D) -> Float2D:
        """Return the Stribeck columns for one v (6,), each in its joint's rows, shape (3 N, 3)."""
        blocks = np.zeros((3, len(self.dq), 3))
        for j, column in enumerate(self.columns(v[None])[0]):
            blocks[j, :, j] = column
        return blocks.reshape(-1, 3)

    def rows(self, v: Float1D) -> Float2D:
        """Return all linear columns for one v (6,), shape (3 N, 24)."""
        return np.column_stack([self.W, self.blocks(v)])

    def full(self, X: Float2D) -> Float1D:
        """Return the costs of candidates (m, 30): 21 and 3 linear, 6 nonlinear parameters."""
        residual = self.y - X[:, :21] @ self.W.T
        shaped = residual.reshape(len(X), 3, -1)
        shaped -= X[:, 21:24, None] * self.columns(X[:, 24:])
        return np.asarray((residual**2).sum(axis=1))

    def projected(self, V: Float2D) -> Float1D:
        """Return the costs of candidates (m, 6) with the best linear parameters for each."""
        return np.array([(self.residuals(v) ** 2).sum() for v in V])


def stribeck() -> list[IdentificationProblem]:
    """Return Stribeck friction, searched in all 30 parameters and in its 6 nonlinear ones alone."""
    data = simulate("link_3")
    model = _stribeck_model(data)
    low = np.repeat([NONLINEAR_BOX[0][0], NONLINEAR_BOX[1][0]], 3)
    high = np.repeat([NONLINEAR_BOX[0][1], NONLINEAR_BOX[1][1]], 3)
    rng = np.random.default_rng(1)
    began = time.perf_counter()
    starts = [rng.uniform(low, high) for _ in range(STARTS)]
    found = min(
        (least_squares(model.residuals, start, bounds=(low, high)) for start in starts),
        key=lambda result: float(result.cost),
    )
    seconds = time.perf_counter() - began
    least = 2.0 * float(found.cost)
    rows = model.rows(found.x)
    linear_part = np.linalg.lstsq(rows, model.y, rcond=None)[0]
    std = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    half = np.maximum(BOX * np.abs(linear_part), 20.0 * std)
    lower = np.concatenate([linear_part - half, low])
    upper = np.concatenate([linear_part + half, high])
    method = f"variable projection, {STARTS} starts"

    def whole(X: Float2D) -> Float1D:
        return model.full(X) / least

    def inner(V: Float2D) -> Float1D:
        return model.projected(V) / least

    return [
        IdentificationProblem("Stribeck, 30 parameters", lower, upper, whole, method, seconds),
        IdentificationProblem("Stribeck, 6 nonlinear alone", low, high, inner, method, seconds),
    ]


def _stribeck_model(data: Data) -> Stribeck:
    """Return the rows with Stribeck friction added to the torque, weighted, joint-major."""
    problem, robot = data.problem, data.problem.nominal
    assert robot is not None
    W = problem.by_joint(problem.W).transpose(1, 0, 2) / data.noise[:, None, None]
    reverse = np.tanh(data.motion.dq / robot.eps) / data.noise
    y = problem.by_joint(problem.y).T / data.noise[:, None]
    rows = W.reshape(-1, W.shape[2])
    model = Stribeck(rows, y.ravel(), data.motion.dq, reverse, np.linalg.qr(rows)[0])
    true = np.array([*STRIBECK_VELOCITY, *STRIBECK_EXPONENT])
    coulomb = np.array([joint.friction.Fc for joint in robot.joints])
    extra = STRIBECK_RISE * coulomb[:, None] * model.columns(true[None])[0]
    return replace(model, y=model.y + extra.ravel())
