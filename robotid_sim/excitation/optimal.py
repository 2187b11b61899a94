"""Optimal excitation: sequential quadratic programming with exact gradients, from many starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import OptionError
from robotid_sim.excitation.constraints import MotionConstraint
from robotid_sim.excitation.criteria import Criterion, DOptimality
from robotid_sim.excitation.draws import Draw, feasible_draws
from robotid_sim.excitation.fourier_space import FourierOptions
from robotid_sim.excitation.information import log_samples
from robotid_sim.excitation.prior import Prior
from robotid_sim.excitation.problem import STEPS, Constraints, ExcitationProblem
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.excitation.violation import Violation
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import Interrupted, map_tasks
from robotid_sim.progress import Progress, silent
from robotid_sim.trajectory.reference import Excitation

DRAW_SHARE = 0.2
"""Share of the progress that belongs to the random draws."""


@dataclass(frozen=True, kw_only=True)
class GradientSearch:
    """Sequential quadratic programming from the best random draws."""

    candidates: int = 200
    """Random draws."""
    starts: int = 1
    """Draws that the solver starts from; with none the best draw is the result."""
    iterations: int = 200
    """Largest number of iterations of a run of the solver; a start has one to four runs."""


@dataclass(frozen=True, slots=True, eq=False)
class DesignResult:
    """An excitation and how it came about."""

    trajectory: Excitation
    criterion: Criterion
    value_before: float
    """The criterion of the best random draw."""
    value_after: float
    """The criterion of the trajectory, at most `value_before`."""
    start_values: tuple[float, ...]
    """The criterion that every start arrived at; empty for a random design."""
    success: bool
    """True if the start that gave the trajectory has converged."""
    message: str
    interrupted: bool = False
    """True if it is the best so far at Ctrl-C."""
    violated: tuple[Violation, ...] = ()
    """What the trajectory violates on a grid ten times finer than the solver's; most often none."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """Where one start arrived."""

    x: Float1D
    """Coordinates in `FourierSpace`."""
    value: float
    success: bool
    message: str


def optimal_design(
    nominal: Robot,
    basis: BaseParameters,
    rng: np.random.Generator,
    *,
    options: ExcitationFamily | None = None,
    criterion: Criterion | None = None,
    constraints: Sequence[MotionConstraint] = (),
    start: Float1D | None = None,
    noise_std: Float1D | None = None,
    prior: Prior | None = None,
    dt: float = 1e-3,
    starts: int = GradientSearch.starts,
    candidates: int = GradientSearch.candidates,
    iterations: int = GradientSearch.iterations,
    workers: int = 1,
    progress: Progress = silent,
) -> DesignResult:
    """Return an excitation that minimizes a criterion within all limits.

    The best random draws are the starts. From each goes sequential quadratic programming, with the
    kinematic limits first and then, where something else is violated, with all constraints. The
    result is never worse than the best draw. At Ctrl-C it is the best so far: of the finished
    starts and, in a single process, of the running one.

    Parameters
    ----------
    nominal : Robot
        Model that gives limits, torques and regressor.
    basis : BaseParameters
        Parameters that shall become visible.
    rng : numpy.random.Generator
        Source of randomness.
    options : ExcitationFamily, optional
        The family and its limits; default Fourier series.
    criterion : Criterion, optional
        What to minimize; default D-optimality.
    constraints : sequence of MotionConstraint
        What the motion must keep beside kinematic and torque limits.
    start : ndarray, shape (n,), optional
        Pose where every run starts [rad or m]; default any. Not for Cartesian families.
    noise_std : ndarray, shape (n,), optional
        Torque noise of every joint [N m], by which its rows count; default by the criterion.
    prior : Prior, optional
        Existing data: the criterion is then that of these and the new motion's log together.
    dt : float
        Time between the samples of that log [s]; counts only against a prior.
    starts : int
        Number of draws to start from; with none the best draw is the result.
    candidates : int
        Number of random draws.
    iterations : int
        Largest number of iterations of a run; a start has one to four runs.
    workers : int
        Number of processes; the result does not depend on it.
    progress : callable
        Called with the stage and the share done.

    Raises
    ------
    InfeasibleError
        If no random draw satisfies the limits.
    OptionError
        If the number of starts, candidates or workers is refused.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234.
    """
    if starts < 0:
        raise OptionError(f"the number of starts must not be negative, got {starts}")
    options = options or FourierOptions()
    chosen = given(criterion or DOptimality(), options, noise_std, prior, dt)
    problem = ExcitationProblem(nominal, basis, options, chosen, tuple(constraints), start)
    draw_share = DRAW_SHARE if starts else 1.0
    drawn = feasible_draws(
        problem,
        rng,
        max(candidates, starts),
        lambda stage, share: progress(stage, draw_share * share),
    )

    def report(share: float) -> None:
        progress("design", draw_share + (1.0 - draw_share) * share)

    improve = partial(improved, problem, iterations)
    try:
        arrivals = map_tasks(improve, [draw.x for draw in drawn[:starts]], workers, report)
    except Interrupted as interrupt:
        arrivals = interrupt.results
        return best_of(problem, drawn[0], arrivals, interrupted=True)
    return best_of(problem, drawn[0], arrivals)


def given(
    criterion: Criterion,
    options: ExcitationFamily,
    noise_std: Float1D | None,
    prior: Prior | None,
    dt: float,
    motions: int = 1,
) -> Criterion:
    """Return a criterion for new motions that add to existing data; see `Criterion.given`."""
    return criterion.given(
        noise_std=noise_std,
        prior=None if prior is None or prior.empty else prior.root,
        samples=motions * log_samples(options, dt),
        motions=motions,
    )


def improved(problem: ExcitationProblem, iterations: int, start: Float1D) -> Arrival:
    """Return where sequential quadratic programming arrives from one start.

    Raises
    ------
    Interrupted
        At Ctrl-C, with the arrival so far.
    """
    kinematic = problem.kinematic_constraints()
    everything = [*kinematic, *problem.motion_constraints()]
    # What is in the way in space is in the way from the beginning.
    runs: tuple[Constraints, ...] = (everything,) if problem.extra else (kinematic, everything)
    x, last, success, message = start, start, False, ""

    def watch(iterate: Float1D) -> None:
        nonlocal last
        last = iterate.copy()

    try:
        for stage in problem.criterion.stages():
            for constraints in runs:
                y, success, message = problem.descend(x, stage, constraints, iterations, watch)
                x, free = problem.advance(x, y, stage)
                if free:
                    break
    except KeyboardInterrupt as interrupt:
        x, _ = problem.advance(x, last, problem.criterion)
        arrival = Arrival(x, problem.value(x), success=False, message="interrupted")
        raise Interrupted([arrival]) from interrupt
    return Arrival(x, problem.value(x), success, "converged" if success else message.lower())


def best_of(
    problem: ExcitationProblem,
    draw: Draw,
    arrivals: list[Arrival],
    *,
    interrupted: bool = False,
) -> DesignResult:
    """Return the best of the arrivals, or the draw if none is better."""
    better = [arrival for arrival in arrivals if arrival.value < draw.value]
    best = min(better, key=lambda arrival: arrival.value, default=None)
    if interrupted:
        message = f"interrupted, best so far of {len(arrivals)} starts"
    elif not arrivals:
        message = "best of the random draws"
    elif best is None:
        message = "no start improved on the best random draw"
    else:
        message = f"best of {len(arrivals)} start(s): {best.message}"
    x = mended(problem, draw.x if best is None else best.x)
    return DesignResult(
        trajectory=problem.space.trajectory(x),
        criterion=problem.criterion,
        value_before=draw.value,
        value_after=problem.value(x),
        start_values=tuple(arrival.value for arrival in arrivals),
        success=not interrupted and (best.success if best else not arrivals),
        message=message,
        interrupted=interrupted,
        violated=tuple(problem.violated(x)),
    )


def mended(problem: ExcitationProblem, x: Float1D) -> Float1D:
    """Return x, drawn back toward rest until everything holds on the finest grid too.

    What holds on the grids of the solver may miss by a little between them. If nothing helps, x.
    """
    if not problem.violated(x):
        return x
    rest = np.tile(problem.rest, problem.motions)
    for share in STEPS:
        nearer = rest + share * (x - rest)
        if not problem.violated(nearer):
            return np.asarray(nearer)
    return x
