"""Optimal excitation as a nonlinear program: a criterion over motions within the limits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, cast

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

from robotid_sim.arrays import Float, Float1D, Float2D, MotionArrays
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import PathError
from robotid_sim.excitation.constraints import (
    MotionConstraint,
    TorqueLimit,
    Violation,
    find_violations,
    tighten_bounds,
)
from robotid_sim.excitation.criteria import Criterion
from robotid_sim.excitation.design import REGRESSOR_SAMPLES, torque_scale
from robotid_sim.excitation.sensitivity import regressor_sensitivity
from robotid_sim.excitation.space import (
    ExcitationFamily,
    ExcitationGrid,
    ExcitationSpace,
    LinearGrid,
    LinearSpace,
    NonlinearSpace,
)
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Excitation

CRITERION_TOLERANCE = 1e-6
"""Change of the criterion below which the program is solved."""

STEP_SHARES = (0.99, 0.97, 0.94, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1)
"""Shares of the step to an infeasible point that are tried in order to find a feasible one."""

Constraints = Sequence[Any]
"""Constraints as scipy takes them; its stubs refuse a mixed sequence of its own classes."""


class Objective(Protocol):
    """A function of the coordinates to minimize, and its gradient."""

    def value(self, x: Float1D) -> float:
        """Return the value."""

    def gradient(self, x: Float1D) -> Float1D:
        """Return the gradient, shape (d,)."""


@dataclass(frozen=True, slots=True, eq=False)
class ExcitationProblem:
    """Minimize a criterion over the motions of a family that keep the limits.

    Coordinates x are those of the family's space; for several motions they are stacked one motion
    after the other, and limits hold for each. Torque limits of the nominal model are always among
    the constraints.
    """

    nominal: Robot
    basis: BaseParameters
    family: ExcitationFamily
    criterion: Criterion
    extra: tuple[MotionConstraint, ...] = ()
    """Constraints in addition to kinematic and torque limits."""
    start: Float1D | None = None
    """Pose where every run starts [rad or m], shape (n,); None for any. Linear families only."""
    space: ExcitationSpace = field(init=False)
    torque_scale: Float1D = field(init=False)
    grid: ExcitationGrid = field(init=False)
    """The samples of the criterion."""
    limit_matrix: Float2D | None = field(init=False)
    """A such that ``|A x| <= 1`` keeps the kinematic limits of one motion; None if nonlinear."""
    rest: Float1D = field(init=False)
    """Coordinates of rest in the start or home pose, toward which motions are shrunk."""
    _grids: dict[int, ExcitationGrid] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        space = self.family.space(self.nominal)
        informed = self.criterion.set_nominal(self.basis.project(self.nominal.parameters()))
        matrix = space.limit_matrix() if isinstance(space, LinearSpace) else None
        object.__setattr__(self, "criterion", informed)
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "torque_scale", torque_scale(self.nominal))
        object.__setattr__(self, "grid", space.make_grid(REGRESSOR_SAMPLES))
        object.__setattr__(self, "limit_matrix", matrix)
        object.__setattr__(self, "_grids", {})
        pose = self.nominal.home if self.start is None else self.start
        object.__setattr__(self, "rest", rest_coordinates(space, pose, self.family.margin))

    # ------------------------------------------------------------------ criterion

    def regressor(self, x: Float1D) -> Float:
        """Return the base regressor of the criterion, one motion after the other."""
        return torque_regressor(self.nominal, *self._motion(self.grid, x), self.basis.columns)

    def value(self, x: Float1D, criterion: Criterion | None = None) -> float:
        """Return the criterion, or a stage of it; infinite if no motion exists for x."""
        try:
            W = self.regressor(x)
        except PathError:
            return np.inf
        return (criterion or self.criterion)(W, self.torque_scale)[0]

    def gradient(self, x: Float1D, criterion: Criterion | None = None) -> Float1D:
        """Return the gradient of the criterion, or of a stage of it, in the coordinates."""
        motion, columns = self._motion(self.grid, x), self.basis.columns
        W = torque_regressor(self.nominal, *motion, columns)
        _, G = (criterion or self.criterion)(W, self.torque_scale)
        slopes = regressor_sensitivity(self.nominal, columns, motion, G)
        by_q, by_dq, by_ddq = (np.split(slope, self.motions) for slope in slopes)
        parts = zip(by_q, by_dq, by_ddq, self.each(x), strict=True)
        return np.concatenate([self.grid.pull_back(*part) for part in parts])

    @property
    def motions(self) -> int:
        """Number of motions that are designed together."""
        return self.criterion.motions

    def each(self, x: Float1D) -> list[Float1D]:
        """Return the coordinates of every motion."""
        return [x] if self.motions == 1 else np.split(x, self.motions)

    def toward_rest(self, x: Float1D, shares: Iterable[float]) -> Iterator[Float1D]:
        """Return points between rest and x, at the given shares of the distance."""
        rest = np.tile(self.rest, self.motions)
        return (rest + share * (x - rest) for share in shares)

    def trajectories(self, x: Float1D) -> tuple[Excitation, ...]:
        """Return the trajectories with the given coordinates, one per motion."""
        return tuple(self.space.trajectory(part) for part in self.each(x))

    def coordinates(self, trajectories: Sequence[Excitation]) -> Float1D:
        """Return the coordinates of trajectories, one per motion."""
        return np.concatenate([self.space.coordinates(path) for path in trajectories])

    def _motion(self, grid: ExcitationGrid, x: Float1D) -> MotionArrays:
        """Return all motions one after the other, each array of shape (motions N, n)."""
        if self.motions == 1:
            return grid.motion(x)
        q, dq, ddq = zip(*(grid.motion(part) for part in self.each(x)), strict=True)
        return np.concatenate(q), np.concatenate(dq), np.concatenate(ddq)

    # ---------------------------------------------------------------- constraints

    @property
    def constraints(self) -> tuple[MotionConstraint, ...]:
        """Constraints of a motion in addition to kinematic limits."""
        torque = TorqueLimit(self.nominal, self.family.torque_ratio)
        return (torque, *self.extra) if torque.joints.size else self.extra

    @property
    def is_smooth(self) -> bool:
        """Whether all constraints are smooth; see `MotionConstraint.smooth`."""
        return all(constraint.smooth for constraint in self.constraints)

    def constraint_values(self, constraint: MotionConstraint, x: Float1D) -> Float1D:
        """Return the values of a constraint on its grid, sample-major, one motion after another."""
        motion = self._motion(self.grid_of(constraint.samples), x)
        return np.asarray(constraint.values(motion).ravel())

    def constraint_jacobian(self, constraint: MotionConstraint, x: Float1D) -> Float2D:
        """Return the derivative of `constraint_values`, one column per coordinate."""
        grid = self.grid_of(constraint.samples)
        blocks = (chain_slopes(grid, p, constraint.slopes(grid.motion(p))) for p in self.each(x))
        return np.asarray(block_diag(*blocks))

    def kinematic_constraints(self) -> list[Any]:
        """Return the limits of position, velocity, acceleration and jerk, and the start pose."""
        if self.limit_matrix is None:
            assert isinstance(self.space, NonlinearSpace)
            return [NonlinearConstraint(self._limit_values, -np.inf, 1.0)]
        constraints: list[Any] = [
            LinearConstraint(block_diag(*[self.limit_matrix] * self.motions), -1.0, 1.0)
        ]
        if self.start is not None:
            rows, right = start_rows(self.space, self.start)
            pose = np.tile(right, self.motions)
            constraints.append(LinearConstraint(block_diag(*[rows] * self.motions), pose, pose))
        return constraints

    def motion_constraints(self) -> list[NonlinearConstraint]:
        """Return torque limits and further constraints on their grids, slightly tightened."""
        constraints = []
        for constraint in self.constraints:
            count = constraint.samples * self.motions
            lower, upper = (np.tile(bound, count) for bound in tighten_bounds(constraint))
            values = partial(self.constraint_values, constraint)
            jacobian = partial(self.constraint_jacobian, constraint)
            constraints.append(NonlinearConstraint(values, lower, upper, jac=jacobian))
        return constraints

    def find_violations(self, x: Float1D, *, quickly: bool = False) -> list[Violation]:
        """Find the violations of the trajectories of x, with approach and return."""
        return [
            violation
            for trajectory in self.trajectories(x)
            for violation in find_violations(trajectory, self.constraints, quickly=quickly)
        ]

    def is_feasible(self, x: Float1D) -> bool:
        """Check all constraints on grids that are fine enough during the iterations of a solver."""
        try:
            return not self.find_violations(x, quickly=True)
        except PathError:
            return False

    def is_feasible_on_grid(self, x: Float1D) -> bool:
        """Return whether all constraints hold on the grids of the solver; fast, for swarms."""
        try:
            return not any((excess > 0.0).any() for excess in self.excesses(x))
        except PathError:
            return False

    def excesses(self, x: Float1D) -> Iterator[Float2D]:
        """Yield the excess of x over each constraint on the grids of the solver, shape (N, m)."""
        for constraint in self.constraints:
            yield constraint.excess(self._motion(self.grid_of(constraint.samples), x))

    def shrink_to_limits(self, x: Float1D) -> Float1D:
        """Return x, shrunk toward rest if it violates a kinematic limit."""
        return np.concatenate([self._shrink(part) for part in self.each(x)])

    def _shrink(self, x: Float1D) -> Float1D:
        center = np.zeros_like(x) if self.start is None else self.rest
        if self.limit_matrix is not None:
            step, start = self.limit_matrix @ (x - center), self.limit_matrix @ center
            room = np.where(step > 0.0, 1.0 - start, 1.0 + start)
            return np.asarray(center + (x - center) / max(1.0, float((np.abs(step) / room).max())))
        return largest_motion(cast(NonlinearSpace, self.space), x)  # others have `limit_matrix`

    def grid_of(self, samples: int) -> ExcitationGrid:
        """Return the map to the motion at `samples` times of a run; it is cached."""
        if samples not in self._grids:
            self._grids[samples] = self.space.make_grid(samples)
        return self._grids[samples]

    def _limit_values(self, x: Float1D) -> Float1D:
        assert isinstance(self.space, NonlinearSpace)
        values = np.concatenate([self.space.limit_values(part) for part in self.each(x)])
        return np.asarray(np.minimum(values, 1e6))  # solvers cannot handle infinity

    # --------------------------------------------------------------------- solver

    def descend(
        self,
        x: Float1D,
        objectives: Sequence[Objective],
        constraints: Constraints,
        iterations: int,
        watch: Callable[..., None] | None = None,
        *,
        max_gradient: float = np.inf,
    ) -> tuple[Float1D, bool, str]:
        """Minimize a sum by sequential quadratic programming; return x, success and message.

        The sum is scaled down if its gradient at the start is longer than `max_gradient`.
        """
        scale, start = 1.0, self.shrink_to_limits(x)

        def value(x: Float1D) -> float:
            return scale * sum(objective.value(x) for objective in objectives)

        def gradient(x: Float1D) -> Float1D:
            return np.asarray(scale * sum(objective.gradient(x) for objective in objectives))

        try:
            if np.isfinite(max_gradient):
                scale = max_gradient / max(max_gradient, float(np.linalg.norm(gradient(start))))
            result = minimize(
                value,
                start,
                jac=gradient,  # separate: line searches need values only
                method="SLSQP",
                constraints=constraints,
                callback=watch,
                options={"maxiter": iterations, "ftol": scale * CRITERION_TOLERANCE},
            )
        except PathError as error:  # a nonlinear family may leave its workspace between iterations
            return x, False, str(error)
        usable = bool(np.isfinite(result.x).all())
        return (result.x if usable else x), bool(result.success), str(result.message)

    def advance(self, x: Float1D, y: Float1D, stage: Criterion) -> tuple[Float1D, bool]:
        """Return the best feasible point between feasible x and y, and whether y is feasible.

        A violated kinematic limit is repaired by scaling; the flag covers all other constraints.
        """
        end = self.shrink_to_limits(y)
        if self.is_feasible(end):
            points, is_feasible = [x, end], True
        else:
            path = (x + share * (end - x) for share in STEP_SHARES)
            points, is_feasible = [x, *(point for point in path if self.is_feasible(point))], False
        return min(points, key=lambda point: self.value(point, stage)), is_feasible


@dataclass(frozen=True, slots=True, eq=False)
class StageCost:
    """The criterion of a problem, or a stage of it, as an objective."""

    problem: ExcitationProblem
    stage: Criterion

    def value(self, x: Float1D) -> float:
        """Return the criterion."""
        return self.problem.value(x, self.stage)

    def gradient(self, x: Float1D) -> Float1D:
        """Return its gradient."""
        return self.problem.gradient(x, self.stage)


MAX_SHRINKS = 40
MIN_SHRINK_FACTOR, MAX_SHRINK_FACTOR = 0.6, 0.98
"""Bounds of the factor by which a motion of a nonlinear family is scaled at once."""


def rest_coordinates(space: ExcitationSpace, pose: Float1D, margin: float) -> Float1D:
    """Return the coordinates of rest in a pose, or as near to it as the limits permit."""
    x = np.zeros(space.size)
    if isinstance(space, LinearSpace):
        limits = space.robot.limits
        offset = np.clip((pose - limits.middle) / limits.half_range, -margin, margin)
        x.reshape(space.robot.dof, -1)[:, 0] = offset
    return x


def start_rows(space: ExcitationSpace, pose: Float1D) -> tuple[Float2D, Float1D]:
    """Return A and b such that ``A x = b`` lets a run of a linear space start in a pose."""
    grid = space.make_grid(1)
    assert isinstance(grid, LinearGrid)
    rows = block_diag(*(grid.position[0] * grid.unit.T))
    return np.asarray(rows), np.asarray(pose - grid.middle)


def largest_motion(space: NonlinearSpace, x: Float1D) -> Float1D:
    """Shrink x toward rest until the limits of a nonlinear space hold.

    Rates are roughly proportional to the size of the motion, so a few steps scaled by the use of
    the limits find a size that just keeps them.
    """
    size = 1.0
    for _ in range(MAX_SHRINKS):
        limit_share = float(space.limit_values(size * x).max())
        if limit_share <= 1.0:
            return np.asarray(size * x)
        size *= min(MAX_SHRINK_FACTOR, max(MIN_SHRINK_FACTOR, 1.0 / limit_share))
    return np.zeros_like(x)


def chain_slopes(grid: ExcitationGrid, x: Float1D, slopes: tuple[Float, Float, Float]) -> Float2D:
    """Convert derivatives by the motion, each (N, m, n), to those by coordinates, (N m, d)."""
    if isinstance(grid, LinearGrid):
        parts = zip(slopes, (grid.position, grid.velocity, grid.acceleration), strict=True)
        by_x = sum(np.einsum("tmj,td->tmjd", slope, part) for slope, part in parts)
        return np.asarray((by_x * grid.unit.T).reshape(-1, x.size))
    parts = zip(slopes, grid.jacobian(x), strict=True)
    total = sum(np.einsum("tmj,tjd->tmd", slope, part) for slope, part in parts)
    return np.asarray(total).reshape(-1, x.size)
