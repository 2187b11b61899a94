"""Identification problems for the league of optimizers, each with its classical answer beside it.

Data are simulated without the engine: the regressor of an IRB 140 on a random excitation, torques
with white noise of 1 % of their RMS. Costs are divided by that of the classical answer, so that 1
is what linear or nonlinear least squares reaches.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

import robotid_sim as rid
from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation.fitness import make_fitness
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.excitation.design import random_design
from robotid_sim.excitation.space import FourierOptions
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


@functools.cache
def identification_problem(name: str, seed: int) -> IdentificationProblem:
    """Return a problem by name; the seed decides the noise, the motion is the same for all."""
    with threadpool_limits(1):
        return KINDS[name].make(seed)


@dataclass(frozen=True)
class Kind:
    """How to make a problem, and the evaluations that a search of it may cost."""

    make: Callable[[int], IdentificationProblem]
    max_evals: int


def simulate(tip: str, seed: int, outliers: float = 0.0) -> Data:
    """Return rows of the arm up to a link, with a share of outliers."""
    robot, basis, motion = _excited(tip)
    rng = np.random.default_rng([1, seed])
    W = torque_regressor(robot, motion.q, motion.dq, motion.ddq, basis.columns)
    clean = W @ basis.project(robot.parameters())
    noise = NOISE * np.sqrt((clean**2).mean(axis=0))
    torque = clean + noise * rng.standard_normal(clean.shape)
    bad = rng.random(clean.shape) < outliers
    torque += bad * 30.0 * noise * rng.standard_normal(clean.shape)
    rows = W.reshape(-1, basis.rank)
    problem = LinearProblem(rows, torque.ravel(), basis, robot.joint_names, 1.0 / RATE, robot)
    return Data(problem, motion, noise)


@functools.cache
def _excited(tip: str) -> tuple[rid.Robot, BaseParameters, Reference]:
    """Return the arm up to a link, its base parameters and a random excitation of it."""
    robot = rid.load_robot("irb140", tip=tip)
    basis = base_parameters(robot, ("Fv", "Fc"))
    return robot, basis, _motion(robot, basis, np.random.default_rng(0))


def _motion(robot: rid.Robot, basis: BaseParameters, rng: np.random.Generator) -> Reference:
    options = FourierOptions(periods=1)
    path = random_design(robot, basis, rng, options=options, candidates=50)
    return path(np.arange(round(options.period * RATE)) / RATE)


def linear(tip: str, loss: str, outliers: float, seed: int) -> IdentificationProblem:
    """Return a linear problem with squared or absolute residuals."""
    data = simulate(tip, seed, outliers)
    problem = data.problem
    wls = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    began = time.perf_counter()
    fitness = make_fitness(loss, problem, reduce_rows(problem), 1.0 / data.noise)
    best = fitness.minimum()
    seconds = time.perf_counter() - began
    least = float(fitness(best[None])[0])
    half = np.maximum(BOX * np.abs(wls.beta), 20.0 * wls.std)
    method = "least squares" if loss == "squares" else "linear program"
    return IdentificationProblem(
        wls.beta - half, wls.beta + half, lambda X: fitness(X) / least, method, seconds
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


def stribeck(searched: Literal["all", "nonlinear"], seed: int) -> IdentificationProblem:
    """Return Stribeck friction, searched in all 30 parameters or in its 6 nonlinear ones alone."""
    model = _stribeck_model(simulate("link_3", seed))
    low, high = (np.repeat([pair[k] for pair in NONLINEAR_BOX], 3) for k in (0, 1))
    rng = np.random.default_rng([2, seed])
    began = time.perf_counter()
    starts = [rng.uniform(low, high) for _ in range(STARTS)]
    fits = [least_squares(model.residuals, start, bounds=(low, high)) for start in starts]
    found = min(fits, key=lambda fit: float(fit.cost))
    seconds = time.perf_counter() - began
    least, method = 2.0 * float(found.cost), f"variable projection, {STARTS} starts"
    if searched == "nonlinear":
        return IdentificationProblem(
            low, high, lambda V: model.projected(V) / least, method, seconds
        )
    rows = model.rows(found.x)
    linear_part = np.linalg.lstsq(rows, model.y, rcond=None)[0]
    std = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    half = np.maximum(BOX * np.abs(linear_part), 20.0 * std)
    return IdentificationProblem(
        np.concatenate([linear_part - half, low]),
        np.concatenate([linear_part + half, high]),
        lambda X: model.full(X) / least,
        method,
        seconds,
    )


def _stribeck_model(data: Data) -> Stribeck:
    """Return the rows with Stribeck friction added to the torque, weighted, joint-major."""
    problem, robot = data.problem, data.problem.nominal
    assert robot is not None
    W = problem.unstack_rows(problem.W).transpose(1, 0, 2) / data.noise[:, None, None]
    reverse = np.tanh(data.motion.dq / robot.eps) / data.noise
    y = problem.unstack_rows(problem.y).T / data.noise[:, None]
    rows = W.reshape(-1, W.shape[2])
    model = Stribeck(rows, y.ravel(), data.motion.dq, reverse, np.linalg.qr(rows)[0])
    true = np.array([*STRIBECK_VELOCITY, *STRIBECK_EXPONENT])
    coulomb = np.array([joint.friction.Fc for joint in robot.joints])
    extra = STRIBECK_RISE * coulomb[:, None] * model.columns(true[None])[0]
    return replace(model, y=model.y + extra.ravel())


KINDS = {
    "squares, 21 parameters": Kind(partial(linear, "link_3", "squares", 0.0), 30_000),
    "squares, 48 parameters": Kind(partial(linear, "tool0", "squares", 0.0), 30_000),
    "absolute with outliers, 21": Kind(partial(linear, "link_3", "absolute", OUTLIERS), 30_000),
    "absolute with outliers, 48": Kind(partial(linear, "tool0", "absolute", OUTLIERS), 30_000),
    "Stribeck, all 30 parameters": Kind(partial(stribeck, "all"), 30_000),
    "Stribeck, its 6 nonlinear ones": Kind(partial(stribeck, "nonlinear"), 3_000),
}
"""All problems, the easy ones first."""
