"""Optimal excitation: sequential quadratic programming with exact gradients, from many starts.

The optimizers of the papers solve the same problem by swarms.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InfeasibleError, OptionError, PathError
from robotid_sim.excitation.constraints import Violation
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.draws import (
    Draw,
    move_start,
    require_rank,
    require_rest,
    sample_feasible,
    shrink_to_limits,
)
from robotid_sim.excitation.penalties import ScreenedDraw, screen, softly
from robotid_sim.excitation.plan import DesignPlan, Handling, SwarmSearch
from robotid_sim.excitation.problem import STEP_SHARES, Constraints, ExcitationProblem, StageCost
from robotid_sim.model.robot import Robot
from robotid_sim.optim import checks
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.parallel import Interrupted, map_tasks
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation

MAX_FURTHER_STARTS = 3
"""Number of further starts that are tried if the best result is bad."""

MIN_LOSS = 3.0
"""Excess of the best result over the screened value of a draw that makes it a start, too."""

DRAW_SHARE = 0.2
"""Share of the progress bar for the random candidates."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class DesignResult:
    """A designed excitation and the course of its search."""

    trajectory: Excitation
    criterion: Criterion
    value_before: float
    """The criterion of the best random candidate."""
    value_after: float
    """The criterion of the trajectory, at most `value_before`."""
    start_values: tuple[float, ...]
    """The final criterion of every start; empty for a random design."""
    success: bool
    """True if the start that gave the trajectory has converged."""
    message: str
    interrupted: bool = False
    """True if the search was stopped by Ctrl-C and this is its best result."""
    histories: tuple[tuple[float, ...], ...] = ()
    """The criterion after every iteration of every start; limits may be violated on the way."""
    violated: tuple[Violation, ...] = ()
    """Violations of the trajectory on a grid ten times finer than the solver's; usually none."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """Result of the search from one start."""

    x: Float1D
    """Coordinates in `FourierSpace`."""
    value: float
    success: bool
    message: str
    history: tuple[float, ...] = ()
    """The criterion after every iteration."""


@one_blas_thread()
def optimal_design(
    nominal: Robot,
    basis: BaseParameters,
    rng: np.random.Generator,
    plan: DesignPlan | None = None,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> DesignResult:
    """Design an excitation that minimizes a criterion within all limits.

    The best random candidates are the starts; with a clearance, those that are best after a few
    iterations. From each start sequential quadratic programming runs with the kinematic limits and
    then, if another constraint is violated, with all constraints. The result is never worse than
    the best candidate. After Ctrl-C it is the best result of the finished starts and, in a single
    process, of the running start.

    The nominal model gives limits, torques and regressor. The plan defines criterion and
    constraints, with a `GradientSearch`; by default it is D-optimality of a Fourier series. One
    motion is designed, even if the plan has a larger count. The result does not depend on the
    number of workers, which are processes.

    Parameters
    ----------
    nominal : Robot
        Limits, torques and regressor.
    basis : BaseParameters
        Base parameters to identify.
    rng : numpy.random.Generator
        Source of the random candidates.
    plan : DesignPlan, optional
        Criterion, constraints and search.
    workers : int
        Processes that share the starts.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    design : DesignResult
        The trajectory, and the criterion before and after.

    Raises
    ------
    InfeasibleError
        If no random candidate satisfies the limits.
    OptionError
        If the number of starts, candidates or workers is invalid.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> from robotid_sim.excitation.plan import DesignPlan, GradientSearch
    >>> plan = DesignPlan(search=GradientSearch(candidates=5, iterations=3))
    >>> design = rid.optimal_design(nominal, basis, np.random.default_rng(0), plan)
    >>> design.value_after < design.value_before
    True
    """
    plan = plan or DesignPlan()
    starts, search = plan.gradient.starts, plan.gradient
    problem = plan.problem(nominal, basis)
    draw_share = DRAW_SHARE if starts else 1.0
    count = max(search.candidates, starts)
    drawn = sample_feasible(
        problem, rng, count, lambda _, share: progress("design", draw_share * share)
    )

    def report(share: float) -> None:
        progress("design", draw_share + (1.0 - draw_share) * share)

    improve = partial(optimize, problem, search.iterations)
    try:
        ranked = screen(problem, drawn, search.iterations) if starts else []
        arrivals = map_tasks(improve, ranked[:starts], workers, report)
        others = () if problem.is_smooth else ranked[starts : starts + MAX_FURTHER_STARTS]
        for screened in others:
            value = min(arrival.value for arrival in arrivals)
            if value < drawn[0].value and value < screened.value + MIN_LOSS:
                break
            arrivals.append(improve(screened))
    except Interrupted as interrupt:
        return best_of(problem, drawn[0], interrupt.results, interrupted=True)
    except KeyboardInterrupt:  # while draws are screened
        return best_of(problem, drawn[0], [], interrupted=True)
    return best_of(problem, drawn[0], arrivals)


def optimize(
    problem: ExcitationProblem, iterations: int, start: ScreenedDraw | Float1D
) -> SearchResult:
    """Run sequential quadratic programming from one start, shape (d,), or a screened draw.

    Each stage of the criterion has one or two runs, each with the maximum number of iterations;
    success refers to the last. Raises `Interrupted` at Ctrl-C, with the result reached by then.
    """
    kinematic = problem.kinematic_constraints()
    everything = [*kinematic, *problem.motion_constraints()]
    # Constraints in space apply from the first iteration.
    runs: tuple[Constraints, ...] = (everything,) if problem.extra else (kinematic, everything)
    x, end = (start.draw.x, start.end) if isinstance(start, ScreenedDraw) else (start, None)
    last, success, message = x, False, ""
    history = [problem.value(x)]

    def watch(iterate: Float1D) -> None:
        nonlocal last
        last = iterate.copy()
        history.append(problem.value(last))

    try:
        for stage in problem.criterion.stages():
            if not problem.is_smooth:
                y, success, message = softly(problem, x, stage, iterations, watch, end)
                x, end = problem.advance(x, y, stage)[0], None
                continue
            for constraints in runs:
                y, success, message = problem.descend(
                    x, (StageCost(problem, stage),), constraints, iterations, watch
                )
                x, is_feasible = problem.advance(x, y, stage)
                if is_feasible:
                    break
    except KeyboardInterrupt as interrupt:
        x, _ = problem.advance(x, last, problem.criterion)
        value = problem.value(x)
        arrival = SearchResult(
            x, value, success=False, message="interrupted", history=tuple(history)
        )
        raise Interrupted([arrival]) from interrupt
    message = "converged" if success else message.lower()
    return SearchResult(x, problem.value(x), success, message, tuple(history))


def best_of(
    problem: ExcitationProblem,
    draw: Draw,
    arrivals: list[SearchResult],
    *,
    interrupted: bool = False,
) -> DesignResult:
    """Return the best search result or random candidate, after `shrink_to_feasible`.

    `interrupted` means that starts are missing.
    """
    ends: list[tuple[float, SearchResult | None, Float1D]] = [(draw.value, None, draw.x)]
    ends += [(arrival.value, arrival, arrival.x) for arrival in arrivals]
    best, x, least = None, draw.x, np.inf
    for value, arrival, end in sorted(ends, key=lambda row: row[0]):
        if value >= least:
            break  # shrinking does not decrease it
        end = shrink_to_feasible(problem, end)
        if problem.value(end) < least:
            best, x, least = arrival, end, problem.value(end)
    if interrupted:
        message = f"interrupted, best so far of {len(arrivals)} starts"
    elif not arrivals:
        message = "best of the random candidates"
    elif best is None:
        message = "no start improved on the best random candidate"
    else:
        count = len(arrivals)
        message = f"best of {count} start{'s'[: count > 1]}: {best.message}"
    return DesignResult(
        trajectory=problem.space.trajectory(x),
        criterion=problem.criterion,
        value_before=draw.value,
        value_after=problem.value(x),
        start_values=tuple(arrival.value for arrival in arrivals),
        success=not interrupted and (best.success if best else not arrivals),
        message=message,
        interrupted=interrupted,
        histories=tuple(arrival.history for arrival in arrivals),
        violated=tuple(problem.find_violations(x)),
    )


def shrink_to_feasible(problem: ExcitationProblem, x: Float1D) -> Float1D:
    """Shrink a point toward rest until all constraints hold on the finest grid too.

    Constraints that hold on the grids of the solver may be violated slightly between their times.
    The point, shape (d,), is unchanged if no constraint is violated or shrinking does not help.
    """
    if not problem.find_violations(x):
        return x
    return next(
        (y for y in problem.toward_rest(x, STEP_SHARES) if not problem.find_violations(y)), x
    )


PENALTY_WEIGHT = 10.0
"""Weight of the sum of violations, each over its bound, added to the logarithm of a criterion."""


@dataclass(frozen=True, slots=True, eq=False)
class DesignCost:
    """A criterion as a cost in a box, for methods without constraints.

    With ``scaling`` a point stands for the largest motion toward it that keeps all limits, so that
    every point is feasible. With ``penalty`` a point stands for itself and its violations are
    penalized, as in the genetic algorithm of [1]_; the result may violate limits.

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

    def coordinates(self, point: Float1D) -> Float1D | None:
        """Return the coordinates of the motion that a point stands for; None if there is none."""
        if self.handling == "penalty":
            return move_start(self.problem, point)
        return shrink_to_limits(self.problem, point, self.problem.is_feasible_on_grid)

    def _cost(self, point: Float1D) -> float:
        x = self.coordinates(point)
        if x is None:
            return np.inf
        cost = self.problem.value(x)
        return cost if self.handling == "scaling" else cost + PENALTY_WEIGHT * self._violation(x)

    def _violation(self, x: Float1D) -> float:
        """Return the mean excess over all limits, each over its bound."""
        problem = self.problem
        try:
            if problem.limit_matrix is not None:
                excess = [np.maximum(np.abs(problem.limit_matrix @ x) - 1.0, 0.0)]
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
    """Design an excitation with an optimizer of `robotid_sim.optim`.

    Arguments are those of `optimal_design`; the plan has a `SwarmSearch`. Its budget is population
    times generations, in evaluations of the criterion; a ready optimizer has a population of its
    own. Raises `InfeasibleError` if no point of the budget keeps the limits, `UnknownNameError` or
    `OptionError` if the method or a value is invalid.
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
        # `minimize` gives the best point, too.
        callback=lambda evaluations, _: progress("design", min(1.0, evaluations / budget)),
    )
    x = cost.coordinates(result.x)
    if x is not None and handling == "scaling":
        require_rank(problem, problem.value(x))
    if x is None or not np.isfinite(result.fun):
        raise InfeasibleError(
            f"none of {budget} motions of '{name}' keeps all limits; raise the budget, widen the "
            "constraints or choose another home or start pose"
        )
    x = shrink_to_feasible(problem, x) if handling == "scaling" else x
    return DesignResult(
        trajectory=problem.space.trajectory(x),
        criterion=problem.criterion,
        value_before=float(np.min(cost.values[:population])),
        value_after=problem.value(x),
        start_values=(),
        success=True,
        message=f"best of {len(cost.values)} evaluations of {name}, limits by {handling}",
        violated=tuple(problem.find_violations(x)),
    )
