"""Excitation by swarm: the optimizers of the papers on the same problem as the gradient."""

from dataclasses import dataclass, field

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InfeasibleError, OptionError, PathError
from robotid_sim.excitation.draws import require_rank, require_rest, shrunk, started
from robotid_sim.excitation.optimal import DesignResult, mended
from robotid_sim.excitation.plan import DesignPlan, Handling, SwarmSearch
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.model.robot import Robot
from robotid_sim.optim import checks
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.optim.minimize import minimize
from robotid_sim.progress import Progress, silent

PENALTY = 10.0
"""Weight of the sum of violations, each over its bound, against the logarithm of a criterion."""


@dataclass(frozen=True, slots=True, eq=False)
class DesignCost:
    """A criterion as a cost of free coordinates in a box, for methods that know no constraints.

    With ``scaling`` a point stands for the largest motion toward it that keeps all limits, so that
    every point is feasible. With ``penalty`` a point stands for itself and pays for what it
    violates, as in the genetic algorithm of [1]_; what is found may violate limits.

    References
    ----------
    .. [1] Kou, Guo, Ren (2022), "A new method for identifying kinetic parameters of industrial
       robots", Actuators 11(1), 2, doi:10.3390/act11010002.
    """

    problem: ExcitationProblem
    handling: Handling = "scaling"
    values: list[float] = field(default_factory=list, repr=False)
    """Cost of every point so far."""

    def __call__(self, points: Float2D) -> Float1D:
        """Return the costs of points, shape (m,), for points of shape (m, d)."""
        costs = [self._cost(point) for point in points]
        self.values.extend(costs)
        return np.array(costs)

    def meant(self, point: Float1D) -> Float1D | None:
        """Return the coordinates of the motion that a point stands for; None if there is none."""
        if self.handling == "penalty":
            return started(self.problem, point)
        return shrunk(self.problem, point, self.problem.fits)

    def _cost(self, point: Float1D) -> float:
        x = self.meant(point)
        if x is None:
            return np.inf
        cost = self.problem.value(x)
        return cost if self.handling == "scaling" else cost + PENALTY * self._violation(x)

    def _violation(self, x: Float1D) -> float:
        """Return the mean excess over all limits, each over its bound."""
        problem = self.problem
        try:
            if problem.limits is not None:
                excess = [np.maximum(np.abs(problem.limits @ x) - 1.0, 0.0)]
            else:
                (kinematic,) = problem.kinematic_constraints()
                excess = [np.maximum(kinematic.fun(x) - 1.0, 0.0)]
            excess += [np.maximum(part, 0.0).ravel() for part in problem.excesses(x)]
        except PathError:
            return np.inf
        return float(sum(part.mean() for part in excess))


def swarm_design(
    nominal: Robot,
    basis: BaseParameters,
    rng: np.random.Generator,
    plan: DesignPlan,
    *,
    progress: Progress = silent,
) -> DesignResult:
    """Return the excitation that an optimizer of `robotid_sim.optim` finds.

    Arguments are those of `optimal_design`; the plan has a `SwarmSearch`. Its budget is population
    times generations, in evaluations of the criterion; a ready optimizer has a population of its
    own. Raises `InfeasibleError` if no point of the budget keeps the limits, `UnknownNameError` or
    `OptionError` if the method or a value is refused.
    """
    search = plan.search
    if not isinstance(search, SwarmSearch):
        raise OptionError("the plan is to search by gradient; give it a SwarmSearch")
    population, handling = search.population, search.handling
    if population < 1 or search.generations < 1:
        raise OptionError(
            f"population and generations must be at least 1, got {population} and "
            f"{search.generations}"
        )
    checks.one_of("handling", handling, Handling)
    problem = plan.problem(nominal, basis)
    require_rest(problem)
    cost, budget = DesignCost(problem, handling), population * search.generations
    optimizer = search.method
    if isinstance(optimizer, str):
        optimizer = OPTIMIZERS.build(optimizer, population=population, **search.options)
    name = OPTIMIZERS.name_of(optimizer)
    box = np.ones(problem.space.size)
    result = minimize(
        cost,
        -box,
        box,
        method=optimizer,
        max_evals=budget,
        rng=rng,
        callback=lambda evaluations, best: progress("design", min(1.0, evaluations / budget)),  # noqa: ARG005
    )
    x = cost.meant(result.x)
    if x is not None and handling == "scaling":
        require_rank(problem, problem.value(x))
    if x is None or not np.isfinite(result.fun):
        raise InfeasibleError(
            f"none of {budget} motions of '{name}' keeps all limits; raise the budget, widen the "
            "constraints or choose another home or start pose"
        )
    x = mended(problem, x) if handling == "scaling" else x
    return DesignResult(
        trajectory=problem.space.trajectory(x),
        criterion=problem.criterion,
        value_before=float(np.min(cost.values[:population])),
        value_after=problem.value(x),
        start_values=(),
        success=True,
        message=f"best of {len(cost.values)} evaluations of {name}, limits by {handling}",
        violated=tuple(problem.violated(x)),
    )
