"""Random candidates within all limits: starts for the solvers, and a reference value."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.errors import InfeasibleError, OptionError, PathError, RankDeficientError
from robotid_sim.excitation.design import random_designs
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.joint import MIN_VELOCITY
from robotid_sim.progress import Progress, silent

MOTION_SAMPLES = 50
"""Number of times at which the velocity of a motion is evaluated."""

HALVING_COUNT = 6
"""Number of halvings in the search for the largest feasible size of a draw."""

MIN_DRAW_SHARE = 0.02
"""Share of a draw below which it is dropped."""

MAX_DROPPED_DRAWS = 20
"""Number of consecutive dropped draws after which the search fails."""

MAX_SHRUNK_DRAWS = 6
"""Maximum number of candidates with costly constraints that are repaired, the best first."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """A feasible point and its criterion."""

    x: Float1D
    value: float


def sample_feasible(
    problem: ExcitationProblem,
    rng: np.random.Generator,
    candidates: int,
    progress: Progress = silent,
) -> list[Draw]:
    """Draw random motions that keep all limits, the best first.

    Raises `InfeasibleError` if there are none, naming the constraint, and `RankDeficientError` if
    none determines the parameters.
    """
    if candidates < 1:
        raise OptionError(f"a design needs at least 1 candidate, got {candidates}")
    drawn = _all_draws(problem, rng, candidates, progress)
    require_rank(problem, drawn[0].value)
    paths = problem.trajectories(drawn[0].x)
    times = np.linspace(0.0, paths[0].duration, MOTION_SAMPLES)
    velocity = max(float(np.abs(path(times).dq).max()) for path in paths)
    if velocity < MIN_VELOCITY:
        raise InfeasibleError(
            f"motions within the limits reach only {velocity:.2g} rad/s or m/s; raise the limits "
            f"of acceleration or jerk, margin or amplitude"
        )
    return drawn


def require_rank(problem: ExcitationProblem, best: float) -> None:
    """Raise `RankDeficientError` with the remedy if the best criterion is infinite."""
    if not np.isfinite(best):
        raise RankDeficientError(
            f"this family moves too few joints to determine all {problem.basis.rank} base "
            f"parameters; choose a different family, or a tip earlier in the chain"
        )


def _all_draws(
    problem: ExcitationProblem, rng: np.random.Generator, candidates: int, progress: Progress
) -> list[Draw]:
    if isinstance(problem.family, FourierOptions) and not problem.extra and problem.start is None:
        designs = random_designs(
            problem.nominal,
            problem.basis,
            rng,
            options=problem.family,
            criterion=problem.criterion,
            candidates=candidates,
            progress=progress,
        )
        return [
            Draw(problem.space.coordinates(design.trajectory), design.value) for design in designs
        ]
    require_rest(problem)
    if problem.extra:
        return _select_draws(problem, rng, candidates, progress)
    drawn = []
    for k in range(candidates):
        x = feasible(problem, lambda: problem.space.random(rng))
        drawn.append(Draw(x, problem.value(x)))
        progress("design", (k + 1) / candidates)
    return sorted(drawn, key=lambda draw: draw.value)


def _select_draws(
    problem: ExcitationProblem, rng: np.random.Generator, candidates: int, progress: Progress
) -> list[Draw]:
    """Repair the best candidates by kinematics to satisfy all other constraints."""
    points = (move_start(problem, problem.space.random(rng)) for _ in range(candidates))
    drawn = sorted((problem.shrink_to_limits(x) for x in points), key=problem.value)
    repaired: list[Draw] = []
    for k, x in enumerate(drawn):
        # On few samples, which are usually sufficient.
        shorter = shrink_to_limits(problem, x, problem.is_feasible_on_grid)
        shorter = None if shorter is None else shrink_to_limits(problem, shorter)
        if shorter is not None:
            repaired.append(Draw(shorter, problem.value(shorter)))
        progress("design", min(1.0, max(len(repaired) / MAX_SHRUNK_DRAWS, (k + 1) / candidates)))
        if len(repaired) == MAX_SHRUNK_DRAWS:
            break
    if not repaired:  # one more attempt, whose error names the obstacle
        x = feasible(problem, lambda: problem.space.random(rng))
        repaired.append(Draw(x, problem.value(x)))
    return sorted(repaired, key=lambda draw: draw.value)


def feasible(problem: ExcitationProblem, draw: Callable[[], Float1D]) -> Float1D:
    """Draw a motion and shrink it toward rest until it keeps all limits.

    Raises `InfeasibleError` if `MAX_DROPPED_DRAWS` draws in a row cannot be shrunk enough.
    """
    for _ in range(MAX_DROPPED_DRAWS):
        x = shrink_to_limits(problem, draw())
        if x is not None:
            return x
    x = problem.rest + MIN_DRAW_SHARE * (problem.shrink_to_limits(draw()) - problem.rest)
    reason = _first_violation(problem, x)
    raise InfeasibleError(
        f"no random excitation keeps all constraints, even with hardly any motion: {reason}; widen "
        "the constraint or choose another home or start pose"
    )


def shrink_to_limits(
    problem: ExcitationProblem, x: Float1D, keeps: Callable[[Float1D], bool] | None = None
) -> Float1D | None:
    """Shrink x toward rest until it keeps all limits; None if it never does.

    `keeps` decides whether a point keeps them, by default `ExcitationProblem.is_feasible`.
    """
    keeps = keeps or problem.is_feasible
    x = problem.shrink_to_limits(move_start(problem, x))
    if keeps(x):
        return x
    low, high = 0.0, 1.0
    for _ in range(HALVING_COUNT):
        middle = 0.5 * (low + high)
        inside = keeps(problem.rest + middle * (x - problem.rest))
        low, high = (middle, high) if inside else (low, middle)
    if low < MIN_DRAW_SHARE:
        return None
    return np.asarray(problem.rest + low * (x - problem.rest))


def move_start(problem: ExcitationProblem, x: Float1D) -> Float1D:
    """Move the offsets of x to the start pose of the problem."""
    if problem.start is None:
        return x
    x = x.copy()
    joints = x.reshape(problem.nominal.dof, -1)
    at_zero = problem.space.make_grid(1).motion(x)[0][0]
    joints[:, 0] += (problem.start - at_zero) / problem.nominal.limits.half_range
    return x


def require_rest(problem: ExcitationProblem) -> None:
    """Raise `InfeasibleError` unless the rest pose, to which motions shrink, is feasible.

    It is infeasible if it violates a constraint, or if the start pose is outside the limits.
    """
    robot, start = problem.nominal, problem.start
    if start is not None:
        outside = (start < robot.limits.lower) | (start > robot.limits.upper)
        if outside.any():
            j = int(outside.argmax())
            joint = robot.joints[j]
            raise InfeasibleError(
                f"the start pose has joint '{joint.name}' at {start[j]:.4g}, outside its range of "
                f"{joint.lower:.4g} to {joint.upper:.4g}; choose another one"
            )
    reason = _first_violation(problem, problem.rest)
    if reason:
        where = "home" if start is None else "start"
        raise InfeasibleError(
            f"even at rest in the {where} pose, {reason}; widen the constraint or choose another "
            "pose"
        )


def _first_violation(problem: ExcitationProblem, x: Float1D) -> str:
    try:
        violations = problem.find_violations(x)
    except PathError as error:
        return str(error)
    return str(violations[0]) if violations else ""
