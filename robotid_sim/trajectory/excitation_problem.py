"""Optimal excitation as a nonlinear program: a criterion over the series that keep the limits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.criteria import Criterion
from robotid_sim.trajectory.design import (
    REGRESSOR_SAMPLES,
    FourierOptions,
    torque_ratios,
    torque_scale,
)
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.fourier_space import FourierGrid, FourierSpace
from robotid_sim.trajectory.sensitivity import Motion, regressor_sensitivity, torque_sensitivity

TORQUE_SAMPLES = 80
"""Points of a period on which the torque limits are imposed."""

TORQUE_SHARE = 0.98
"""Share of the torque allowance that is used there, for the sake of the times between."""

DENSE_SAMPLES = 4000
"""Points of a period on which the torque of a result is checked."""

TOLERANCE = 1e-6
"""Change of the criterion below which the program is solved."""

STEPS = (0.99, 0.97, 0.94, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1)
"""Shares of the way to a point with too much torque that are tried for one without."""

Constraints = Sequence[Any]
"""Constraints as scipy takes them; its stubs refuse a mixed sequence of its own classes."""


@dataclass(frozen=True, slots=True, eq=False)
class ExcitationProblem:
    """Minimize a criterion over the series that start from rest and keep the limits.

    Coordinates x are those of `FourierSpace`; if the criterion is one of several motions, those of
    one motion after the other, and limits hold for each.
    """

    nominal: Robot
    basis: BaseParameters
    options: FourierOptions
    criterion: Criterion
    space: FourierSpace = field(init=False)
    torque_scale: Float1D = field(init=False)
    grid: FourierGrid = field(init=False)
    """The samples that the criterion sees."""
    torque_grid: FourierGrid = field(init=False)
    limits: Float2D = field(init=False)
    """A such that ``|A x| <= 1`` keeps the kinematic limits of one motion."""

    def __post_init__(self) -> None:
        space = FourierSpace(self.nominal, self.options)
        informed = self.criterion.informed(self.basis.of(self.nominal.parameters()))
        object.__setattr__(self, "criterion", informed)
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "torque_scale", torque_scale(self.nominal))
        object.__setattr__(self, "grid", space.on_grid(REGRESSOR_SAMPLES))
        object.__setattr__(self, "torque_grid", space.on_grid(TORQUE_SAMPLES))
        object.__setattr__(self, "limits", space.limit_matrix())

    def regressor(self, x: Float1D) -> Float:
        """Return the base regressor that the criterion sees, one motion after the other."""
        return torque_regressor(self.nominal, *self._motion(self.grid, x), self.basis.columns)

    def value(self, x: Float1D, criterion: Criterion | None = None) -> float:
        """Return the criterion, or a stage of it."""
        return (criterion or self.criterion)(self.regressor(x), self.torque_scale)[0]

    def gradient(self, x: Float1D, criterion: Criterion | None = None) -> Float1D:
        """Return the gradient of the criterion, or of a stage of it, in the coordinates."""
        motion, columns = self._motion(self.grid, x), self.basis.columns
        W = torque_regressor(self.nominal, *motion, columns)
        _, G = (criterion or self.criterion)(W, self.torque_scale)
        slopes = regressor_sensitivity(self.nominal, columns, motion, G)
        by_motion = (np.split(slope, self.motions) for slope in slopes)
        return np.concatenate([self.grid.pull_back(*part) for part in zip(*by_motion, strict=True)])

    @property
    def motions(self) -> int:
        """Number of motions that are designed together."""
        return self.criterion.motions

    def each(self, x: Float1D) -> list[Float1D]:
        """Return the coordinates of every motion."""
        return np.split(x, self.motions)

    def trajectories(self, x: Float1D) -> tuple[FourierTrajectory, ...]:
        """Return the series with the given coordinates, one a motion."""
        return tuple(self.space.trajectory(part) for part in self.each(x))

    def coordinates(self, trajectories: Sequence[FourierTrajectory]) -> Float1D:
        """Return the coordinates of as many series as there are motions."""
        return np.concatenate([self.space.coordinates(series) for series in trajectories])

    def _motion(self, grid: FourierGrid, x: Float1D) -> Motion:
        """Return all motions one after the other, each array of shape (motions N, n)."""
        q, dq, ddq = zip(*(grid.motion(part) for part in self.each(x)), strict=True)
        return np.concatenate(q), np.concatenate(dq), np.concatenate(ddq)

    @property
    def limited_joints(self) -> Int1D:
        """Indices of the joints that have a torque limit."""
        return np.flatnonzero(np.isfinite(self.nominal.limits.effort))

    @property
    def torque_allowance(self) -> Float1D:
        """Torque that the limited joints may need on the torque grid [N m]."""
        effort = self.nominal.limits.effort[self.limited_joints]
        return np.asarray(TORQUE_SHARE * self.options.torque_ratio * effort)

    def torque_use(self, x: Float1D) -> Float1D:
        """Return torques over what is allowed, sample-major, for the joints that have a limit."""
        tau = joint_torque(self.nominal, *self._motion(self.torque_grid, x))
        return np.asarray((tau[:, self.limited_joints] / self.torque_allowance).ravel())

    def torque_use_jacobian(self, x: Float1D) -> Float2D:
        """Return the derivative of `torque_use`, one column a coordinate."""
        return np.asarray(block_diag(*(self._torque_use_jacobian(part) for part in self.each(x))))

    def _torque_use_jacobian(self, x: Float1D) -> Float2D:
        """Return the derivative of `torque_use` for one motion."""
        grid, joints = self.torque_grid, self.limited_joints
        by_q, by_dq, by_ddq = torque_sensitivity(self.nominal, grid.motion(x))
        by_x = (
            np.einsum("jti,td->tijd", by_q[:, :, joints], grid.position)
            + np.einsum("jti,td->tijd", by_dq[:, :, joints], grid.velocity)
            + np.einsum("jti,td->tijd", by_ddq[:, :, joints], grid.acceleration)
        )
        scaled = by_x * grid.unit.T / self.torque_allowance[:, None, None]
        return np.asarray(scaled.reshape(-1, x.size))

    def keeps_torque(self, x: Float1D) -> bool:
        """Return whether the nominal torque stays within its share, approach included."""
        return all(
            torque_ratios(self.nominal, trajectory, DENSE_SAMPLES).max()
            <= self.options.torque_ratio
            for trajectory in self.trajectories(x)
        )

    def within_limits(self, x: Float1D) -> Float1D:
        """Return x, scaled toward rest at mid-range if it violates a kinematic limit."""
        scaled = [part / max(1.0, float(np.abs(self.limits @ part).max())) for part in self.each(x)]
        return np.concatenate(scaled)

    def kinematic_constraint(self) -> LinearConstraint:
        """Return the limits of position, velocity and acceleration."""
        return LinearConstraint(block_diag(*[self.limits] * self.motions), -1.0, 1.0)

    def torque_constraint(self) -> NonlinearConstraint:
        """Return the limits of the nominal torque on the torque grid."""
        return NonlinearConstraint(self.torque_use, -1.0, 1.0, jac=self.torque_use_jacobian)

    def descend(
        self,
        x: Float1D,
        stage: Criterion,
        constraints: Constraints,
        iterations: int,
        watch: Callable[..., None],
    ) -> tuple[Float1D, bool, str]:
        """Return where sequential quadratic programming goes from x, success and message."""
        found = minimize(
            self.value,
            self.within_limits(x),
            args=(stage,),
            jac=self.gradient,  # apart: line searches need values alone
            method="SLSQP",
            constraints=constraints,
            callback=watch,
            options={"maxiter": iterations, "ftol": TOLERANCE},
        )
        usable = bool(np.isfinite(found.x).all())
        return (found.x if usable else x), bool(found.success), str(found.message)

    def advance(self, x: Float1D, y: Float1D, stage: Criterion) -> tuple[Float1D, bool]:
        """Return the best point with all limits kept between x, which does, and y, and if y does.

        A violated kinematic limit is mended by scaling alone, so that the flag is of the torque.
        """
        end = self.within_limits(y)
        if self.keeps_torque(end):
            tried, free = [x, end], True
        else:
            way = (x + share * (end - x) for share in STEPS)
            tried, free = [x, *(point for point in way if self.keeps_torque(point))], False
        return min(tried, key=lambda point: self.value(point, stage)), free
