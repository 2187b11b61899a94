"""Penalties for constraints in space, because the solver stops at kinks of distances.

The slopes of link distances jump from facet to facet, and imposing them at many times is too
costly. Therefore their squared excess is added to the criterion with increasing weight, and times
at which a motion violates the clearance are added to the grid, as in the exchange methods of
semi-infinite programming [1]_.

References
----------
.. [1] Blankenship, Falk (1976), "Infinitely constrained optimization problems", J. Optimization
   Theory and Applications 19, doi:10.1007/BF00934096.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D, MotionArrays
from robotid_sim.errors import PathError
from robotid_sim.excitation.constraints import MotionConstraint, tighten_bounds
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.draws import Draw, move_start, sample_feasible
from robotid_sim.excitation.problem import ExcitationProblem, StageCost

PENALTY_WEIGHTS = (1e3, 1e4, 1e5, 1e6, 1e6, 1e6)
"""Weights of the rounds; the criterion is a logarithm and the excess is of order one."""

MAX_GRADIENT = 10.0
"""Largest gradient of a penalized sum at the start of a round; with a longer one the quadratic
programs of SLSQP are found inconsistent, and it stops where it began."""

FIRST_ROUND_ITERATIONS, LATER_ROUND_ITERATIONS = 20, 10
"""Iterations of the first and of a later round; more would waste time while links still touch."""

WIDE_DRAW_COUNT = 6
"""Number of random motions that are tried one after the other."""

MAX_ROUNDS = 3
"""Rounds that move a random motion until it keeps all constraints."""

MAX_EXCESS = 0.05
"""Maximum excess, in the scale of a constraint, for which a motion is scaled down."""

SHRINK_FACTORS = (0.99, 0.97, 0.94)
"""Factors by which a nearly feasible motion is shrunk."""

EXCESS_TOLERANCE = 0.02
"""Relative change of the excess, under a larger weight, of a motion that stays infeasible."""

POLISH_ITERATIONS = 200
"""Iterations of a start per round that continues from a feasible motion."""

SCREENING_ITERATIONS = 50
"""Iterations of a start per draw that is screened."""

STEPS_PER_POINT = 10
"""Steps of the checked path from home between two points that count from the beginning."""

WAY_SHARES = np.interp(
    np.arange(14 * STEPS_PER_POINT + 1) / STEPS_PER_POINT, np.arange(15), np.linspace(0.1, 1.0, 15)
)
"""Points of the straight path from home to the start of a motion, as shares of its length."""


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """Weighted squares by which motions violate the constraints of a problem, at chosen times."""

    problem: ExcitationProblem
    constraints: Sequence[MotionConstraint]
    stations: Sequence[Int1D]
    """Points that count, one array each: samples of the grid of `MotionConstraint.checked`, and
    after them points of `WAY_SHARES`."""
    weight: float

    def value(self, x: Float1D) -> float:
        """Return the penalty; infinite if x has no motion."""
        try:
            squares = [(e**2).sum() / c.samples for c, _, _, e in self._excesses(x)]
        except PathError:
            return np.inf
        return 0.5 * self.weight * float(sum(squares))

    def gradient(self, x: Float1D) -> Float1D:
        """Return its gradient in the coordinates."""
        total = np.zeros(x.size)
        share = x.size // self.problem.motions
        for k, (constraint, stations, poses, excess) in enumerate(self._excesses(x)):
            if not excess.any():
                continue
            motion = k // len(self.constraints)
            part = slice(motion * share, (motion + 1) * share)
            soft = constraint.soft_slopes(poses)
            by_point = np.zeros((3, constraint.checked + WAY_SHARES.size, poses[0].shape[1]))
            by_point[:, stations] = [np.einsum("tm,tmn->tn", excess, slope) for slope in soft]
            by_q, by_dq, by_ddq = by_point[:, : constraint.checked]
            by_q[0] += WAY_SHARES @ by_point[0, constraint.checked :]
            grid = self.problem.grid_of(constraint.checked)
            total[part] += grid.pull_back(by_q, by_dq, by_ddq, x[part]) / constraint.samples
        return np.asarray(self.weight * total)

    def refine_stations(self, x: Float1D) -> list[Int1D]:
        """Add the points to the stations at which x violates a constraint most."""
        return [
            np.union1d(stations, _peaks(self._fine_excess(constraint, x), constraint.checked))
            for constraint, stations in zip(self.constraints, self.stations, strict=True)
        ]

    def excess(self, x: Float1D) -> float:
        """Return the largest excess of x on the finest grids and on the path from home."""
        return max(float(self._fine_excess(c, x).max()) for c in self.constraints)

    def excess_at_stations(self, x: Float1D) -> float:
        """Return the largest excess of x at the points that count."""
        return max(float(np.abs(excess).max()) for *_, excess in self._excesses(x))

    def _fine_excess(self, constraint: MotionConstraint, x: Float1D) -> Float1D:
        """Return the largest excess of all motions at every point."""
        every = [
            np.abs(_excess(constraint, self._poses(constraint, part))).max(axis=1)
            for part in self.problem.each(x)
        ]
        return np.asarray(np.max(every, axis=0))

    def _excesses(
        self, x: Float1D
    ) -> Iterator[tuple[MotionConstraint, Int1D, MotionArrays, Float2D]]:
        """Yield constraint, stations, motion at the stations, and signed excess.

        All constraints of the first motion come first.
        """
        for part in self.problem.each(x):
            for constraint, stations in zip(self.constraints, self.stations, strict=True):
                q, dq, ddq = self._poses(constraint, part)
                poses = q[stations], dq[stations], ddq[stations]
                yield constraint, stations, poses, _excess(constraint, poses)

    def _poses(self, constraint: MotionConstraint, part: Float1D) -> MotionArrays:
        """Return a motion on its finest grid, followed by resting points of the path from home."""
        motion = self.problem.grid_of(constraint.checked).motion(part)
        home = self.problem.nominal.home
        way = home + WAY_SHARES[:, None] * (motion[0][0] - home)
        still = np.zeros_like(way)
        parts = zip(motion, (way, still, still), strict=True)
        q, dq, ddq = (np.concatenate(both) for both in parts)
        return q, dq, ddq


def _excess(constraint: MotionConstraint, motion: MotionArrays) -> Float2D:
    """Compute the excess of values above (positive) or below (negative) tightened bounds."""
    lower, upper = tighten_bounds(constraint)
    values = constraint.soft_values(motion)
    return np.asarray(np.maximum(values - upper, 0.0) - np.maximum(lower - values, 0.0))


def _peaks(excess: Float1D, period: int) -> Int1D:
    """Find the positive local maxima of a sequence that is periodic up to an index."""
    round_, way = excess[:period], excess[period:]
    before = np.concatenate([np.roll(round_, 1), [0.0], way[:-1]])
    after = np.concatenate([np.roll(round_, -1), way[1:], [0.0]])
    return np.flatnonzero((excess > 0.0) & (excess >= before) & (excess >= after))


@dataclass(frozen=True, slots=True, eq=False)
class ScreenedDraw:
    """A draw after a first round of the solver."""

    draw: Draw
    end: Float1D | None = None
    """Coordinates after the round; None if the draw was not screened."""
    value: float = np.inf
    """The penalized criterion after the round."""


def screen(
    problem: ExcitationProblem, draws: Sequence[Draw], iterations: int
) -> list[ScreenedDraw]:
    """Rank draws by the penalized criterion after a first round of the solver, the best first.

    After a round it predicts the final criterion, which that of a draw does not. As many of the
    draws are screened as the `iterations` of a start pay for; the others follow in their order.
    """
    count = 0 if problem.is_smooth else min(iterations // SCREENING_ITERATIONS, len(draws))
    kinematic, stage = problem.kinematic_constraints(), next(iter(problem.criterion.stages()))
    stations = _first_stations(problem.constraints)
    penalty = Penalty(problem, problem.constraints, stations, PENALTY_WEIGHTS[0])
    objectives = (StageCost(problem, stage), penalty)
    ranked = []
    for draw in draws[:count]:
        end, _, _ = problem.descend(
            draw.x, objectives, kinematic, FIRST_ROUND_ITERATIONS, max_gradient=MAX_GRADIENT
        )
        end = problem.shrink_to_limits(end)
        ranked.append(ScreenedDraw(draw, end, problem.value(end, stage) + penalty.value(end)))
    ranked.sort(key=lambda screened: screened.value)
    return [*ranked, *map(ScreenedDraw, draws[count:])]


def softly(
    problem: ExcitationProblem,
    x: Float1D,
    stage: Criterion,
    iterations: int,
    watch: Callable[..., None],
    first_end: Float1D | None = None,
) -> tuple[Float1D, bool, str]:
    """Minimize with increasing penalties from a feasible x; return point, success and message.

    Kinematic limits are kept on the way. `first_end` is the end of the first round if that has run
    already. The last round is the first whose result keeps all constraints or, with many
    iterations, a later one.
    """
    rounds_left = iterations // POLISH_ITERATIONS
    weights = (*PENALTY_WEIGHTS, *(PENALTY_WEIGHTS[-1],) * rounds_left)
    y, success, message = _rounds(problem, x, stage, weights, rounds_left, watch, first_end)
    if y is None:  # the overlap is too deep: start again without overlaps
        y, success, message = _rounds(
            problem, x, stage, (PENALTY_WEIGHTS[-1],) * MAX_ROUNDS, 0, watch
        )
    return (x if y is None else y), success, message


def _rounds(
    problem: ExcitationProblem,
    x: Float1D,
    stage: Criterion,
    weights: Sequence[float],
    rounds_left: int,
    watch: Callable[..., None],
    first_end: Float1D | None = None,
) -> tuple[Float1D | None, bool, str]:
    """Run the rounds; return their best feasible result, success and message.

    They end when `rounds_left` further ones have followed the first that keeps all constraints.
    """
    constraints, kinematic = problem.constraints, problem.kinematic_constraints()
    stations = _first_stations(constraints)
    best, least, success, message = None, np.inf, False, ""
    last_excess = np.inf
    for k, weight in enumerate(weights):
        penalty, turns = (
            Penalty(problem, constraints, stations, weight),
            LATER_ROUND_ITERATIONS if k else FIRST_ROUND_ITERATIONS,
        )
        objectives = (StageCost(problem, stage), penalty)
        if k == 0 and first_end is not None:
            x = first_end
        else:
            y, success, message = problem.descend(
                x, objectives, kinematic, turns, watch, max_gradient=MAX_GRADIENT
            )
            x = problem.shrink_to_limits(y)
        excess = penalty.excess(x)
        # The largest share of x that keeps all constraints, also between samples.
        shares = (1.0, *SHRINK_FACTORS) if k and excess < MAX_EXCESS else (1.0,)
        points = (p for p in problem.toward_rest(x, shares) if problem.is_feasible(p))
        feasible = next((point for point in points if not problem.find_violations(point)), None)
        if feasible is not None:
            rounds_left -= 1
            if problem.value(feasible, stage) < least:
                best, least = feasible, problem.value(feasible, stage)
            if rounds_left < 0:
                break
        # The largest excess of the last round remains although this round penalized it.
        elif (station_excess := penalty.excess_at_stations(x)) > MAX_EXCESS and np.isclose(
            station_excess, last_excess, rtol=EXCESS_TOLERANCE
        ):
            break
        last_excess = excess
        stations = penalty.refine_stations(x)
    return best, success, message


@dataclass(frozen=True, slots=True, eq=False)
class DistanceObjective:
    """Half the squared distance to a point."""

    center: Float1D
    """Shape (d,)."""

    def value(self, x: Float1D) -> float:
        """Return half the squared distance."""
        return 0.5 * float((x - self.center) @ (x - self.center))

    def gradient(self, x: Float1D) -> Float1D:
        """Return its gradient."""
        return x - self.center


def wide_draw(problem: ExcitationProblem, rng: np.random.Generator) -> Float1D:
    """Return a large random motion that keeps all constraints.

    It is the better of the first two draws that could be moved until they keep them; if none of a
    few draws can, a draw is shrunk. Raises `InfeasibleError` if that fails too.
    """
    if not problem.extra:
        return sample_feasible(problem, rng, 1)[0].x
    draws = (move_start(problem, problem.space.random(rng)) for _ in range(WIDE_DRAW_COUNT))
    moved = (move_apart(problem, x) for x in draws)
    wide = list(islice((x for x in moved if x is not None), 2))
    if not wide:
        return sample_feasible(problem, rng, WIDE_DRAW_COUNT)[0].x
    return min(wide, key=problem.value)


def move_apart(problem: ExcitationProblem, x: Float1D) -> Float1D | None:
    """Find a motion near x that keeps all constraints; None if a few rounds find none."""
    x = problem.shrink_to_limits(x)
    constraints, distance = problem.constraints, DistanceObjective(x)
    stations = _first_stations(constraints)
    for _ in range(MAX_ROUNDS):
        penalty = Penalty(problem, constraints, stations, PENALTY_WEIGHTS[-1])
        y, _, _ = problem.descend(
            x,
            (distance, penalty),
            problem.kinematic_constraints(),
            LATER_ROUND_ITERATIONS,
            max_gradient=MAX_GRADIENT,
        )
        x = problem.shrink_to_limits(y)
        if problem.is_feasible(x) and not problem.find_violations(x):
            return x
        stations = penalty.refine_stations(x)
    return None


def _first_stations(constraints: Sequence[MotionConstraint]) -> list[Int1D]:
    way = np.arange(0, WAY_SHARES.size, STEPS_PER_POINT)
    return [
        np.concatenate([np.arange(0, c.checked, c.checked // c.samples), c.checked + way])
        for c in constraints
    ]
