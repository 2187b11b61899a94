"""Estimation by swarm: the methods of the papers, compared to the known optimum."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import OptionError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.fitness import Loss, make_fitness
from robotid_sim.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from robotid_sim.estimation.problem import Estimator, LinearProblem, get_robot_basis
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.model import parameters
from robotid_sim.model.inertia import unpack
from robotid_sim.model.robot import Robot
from robotid_sim.optim import checks
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS

Weights = Literal["equal", "noise"]
BoxOrigin = Literal["fit", "physics"]

MASS_FACTOR = 2.0
"""Maximum mass of a link over the nominal one."""

SIZE_FACTOR = 2.0
"""Maximum distance of a link's mass from its frame over the nominal distance."""

DRIVE_FACTOR = 5.0
"""Maximum friction and rotor inertia over the nominal ones."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SwarmEstimator(Estimator):
    """Minimize the residuals of a linear problem by a swarm or evolutionary optimizer.

    The cost is convex, so that its minimum is known; the estimate reports the ratio of the final
    cost to it. Its covariance is that of least squares, without the error of the search.
    """

    check_options: ClassVar[Mapping[str, Any]] = {"evaluations": 300}

    random: ClassVar[bool] = True

    optimizer: str = "pso"
    """Name of the optimizer, see ``robotid list optimizers``."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Hyper-parameters of the optimizer."""
    loss: Loss = "squares"
    """``squares``, ``absolute`` or ``huber``."""
    weights: Weights = "noise"
    """Weights of the joints: ``equal``, or the inverse of their ``noise`` by least squares."""
    bounds: BoxOrigin = "fit"
    """Box of the search: about the ``fit`` by least squares, or by ``physics`` (nominal model)."""
    fraction: float = 0.1
    """Half width of the box around the fit, share of every parameter."""
    spread: float = 3.0
    """Minimum half width of that box in standard deviations, for parameters near zero."""
    evaluations: int = 100_000
    """Cost evaluations."""

    def __post_init__(self) -> None:
        for name, choices in (("weights", Weights), ("bounds", BoxOrigin), ("loss", Loss)):
            checks.one_of(name, getattr(self, name), choices)
        if not (self.fraction > 0.0 and self.spread > 0.0 and self.evaluations > 0):
            raise OptionError("fraction, spread and evaluations of a swarm must be positive")
        OPTIMIZERS.build(self.optimizer, **self.options)  # checks the options

    @property
    def label(self) -> str:
        """Name of the estimate: the published one for this optimizer, weights and bounds."""
        if self.bounds == "physics":
            return self.optimizer
        return f"{'wls' if self.weights == 'noise' else 'ls'}-{self.optimizer}"

    def fit(self, problem: LinearProblem, rng: np.random.Generator) -> Estimate:
        """Search for the best candidate within the given number of evaluations."""
        began = time.perf_counter()
        classical = WeightedLeastSquares() if self.weights == "noise" else OrdinaryLeastSquares()
        start = classical.fit(problem, rng)
        if not start.success:
            return replace(start, estimator=self.label)
        reduction = reduce_rows(problem)
        weights = 1.0 / start.noise_std if self.weights == "noise" else np.ones(problem.dof)
        fitness = make_fitness(self.loss, problem, reduction, weights)
        method, box = OPTIMIZERS.build(self.optimizer, **self.options), self._box(start, problem)
        result = minimize(fitness, *box, method=method, max_evals=self.evaluations, rng=rng)
        min_cost = float(fitness(fitness.minimum()[None])[0])
        ratio = result.fun / min_cost if min_cost > 0.0 else np.inf
        squares = reduction.compute_squared_residuals(result.x)
        return replace(
            start,
            estimator=self.label,
            beta=result.x,
            torque_rms=np.sqrt(squares / reduction.samples),
            cov_white=None,
            nfev=result.nfev,
            seconds=time.perf_counter() - began,
            success=result.success,
            message=f"{result.message}; cost {ratio:.6g} x its minimum",
            criterion=self.loss,
            criterion_over_optimum=ratio,
            weights=weights,
            unbiased=False,
            options=asdict(self),
        )

    def _box(self, start: Estimate, problem: LinearProblem) -> tuple[Float1D, Float1D]:
        if self.bounds == "fit":
            half = np.maximum(self.fraction * np.abs(start.beta), self.spread * start.std)
            return start.beta - half, start.beta + half
        if get_robot_basis(problem).rank < problem.basis.rank:
            raise OptionError("bounds from physics need a problem without further columns")
        assert problem.nominal is not None
        return physical_box(problem.nominal, problem.basis)


def physical_box(nominal: Robot, basis: BaseParameters) -> tuple[Float1D, Float1D]:
    """Compute bounds of base parameters from bodies of about the nominal size.

    A link has a mass of at most twice the nominal one, within twice the radius of gyration of the
    nominal link about the link frame; friction and rotor inertia lie between zero and five times
    the largest nominal value of the robot. Base parameters are bounded by interval arithmetic; both
    bounds have shape (b,).
    """
    low, high = np.zeros_like(basis.B[0]), np.zeros_like(basis.B[0])
    for k, link in enumerate(nominal.links):
        mass, com, central = unpack(link.phi)
        gyration = np.sqrt(com @ com + np.trace(central) / max(2.0 * mass, np.finfo(float).tiny))
        m, r = MASS_FACTOR * mass, SIZE_FACTOR * float(gyration)
        moment, square = m * r, m * r**2
        ends = parameters.inertial_slice(k)
        low[ends] = (0.0, *[-moment] * 3, 0.0, -square / 2, 0.0, -square / 2, -square / 2, 0.0)
        high[ends] = (m, *[moment] * 3, square, square / 2, square, square / 2, square / 2, square)
    drives = nominal.parameters()[parameters.INERTIAL_COUNT * nominal.dof :]
    largest = np.abs(drives.reshape(nominal.dof, -1)).max(axis=0)
    tail = np.tile(DRIVE_FACTOR * np.maximum(largest, np.finfo(float).eps), nominal.dof)
    high[parameters.INERTIAL_COUNT * nominal.dof :] = tail
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    center, radius = basis.B @ middle, np.abs(basis.B) @ half
    return center - radius, center + radius
