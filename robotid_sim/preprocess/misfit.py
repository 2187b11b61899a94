"""Misfit of a motion and its torque for the best parameters, for choices between preprocessors."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import regressor_parts, torque_regressor
from robotid_sim.dynamics.term_torques import standard_torque
from robotid_sim.errors import LogError
from robotid_sim.measurement.motion import Motion, RowFilter
from robotid_sim.model.robot import Robot

WEIGHT_ROUNDS = 4
"""Number of iterations of the weights."""

JOINT_SYMBOLS = ("Fv", "Fc", "Fo", "Ia")
"""Joint parameters of these fits: all of them, because only the misfit counts."""


@dataclass(frozen=True, slots=True, eq=False)
class RowFit:
    """A regressor to which different torques can be fitted.

    The nominal model gives kinematics, the direction of gravity and transition velocities; its
    inertia is not used.
    """

    W: Float
    """Rows of the regressor, shape (N, n, b)."""
    row_filter: RowFilter
    """Filter of the torque."""
    parameters: BaseParameters
    """Parameters of the columns."""
    size: Float1D
    """Divisors of the columns, shape (b,)."""

    @classmethod
    def from_motion(
        cls, motion: Motion, robot: Robot, parameters: BaseParameters | None = None
    ) -> "RowFit":
        """Compute the rows of a motion with a row filter; `parameters` are by default all."""
        row_filter = motion.row_filter
        assert row_filter is not None
        q, dq, ddq = (part[row_filter.sample_slice] for part in (motion.q, motion.dq, motion.ddq))
        if parameters is None:
            parameters = _select_basis(robot, tuple(np.asarray(motion.tau.any(axis=0)).tolist()))
        W = row_filter.filter_parts(regressor_parts(robot, q, dq, ddq, parameters.columns))
        if W.shape[0] * W.shape[1] <= 2 * W.shape[2]:
            raise LogError(
                f"{W.shape[0] * W.shape[1]} rows are too few to compare preprocessors with "
                f"{W.shape[2]} parameters; record a longer log, or name a preprocessor"
            )
        size = np.sqrt((W**2).mean(axis=(0, 1)))
        size = np.where(size > 0.0, size, 1.0)
        return cls(W / size, row_filter, parameters, size)

    def rows(self, tau: Float2D) -> Float2D:
        """Filter a torque (N, n) of the log to rows."""
        return self.row_filter.apply(tau[self.row_filter.sample_slice])

    def noise(self, y: Float2D) -> Float1D:
        """Compute the RMS residual of a weighted fit to the rows `y` [N m], shape (n,)."""
        sigma = np.ones(y.shape[1])
        for _ in range(WEIGHT_ROUNDS + 1):
            residual = self.residual(y, sigma) * sigma
            free = max(len(y) - self.W.shape[2] / y.shape[1], 1.0)
            sigma = np.sqrt((residual**2).sum(axis=0) / free)
            sigma = np.maximum(sigma, max(1e-12 * sigma.max(), 1e-150))
        return np.asarray(sigma)

    def solution(self, y: Float2D) -> Float1D:
        """Fit base parameters to rows of a torque, shape (b,)."""
        sigma = self.noise(y)
        weighted = (self.W / sigma[:, None]).reshape(-1, self.W.shape[2])
        beta = np.linalg.lstsq(weighted, (y / sigma).ravel(), rcond=None)[0]
        return np.asarray(beta / self.size)

    def torque(self, motion: Motion, robot: Robot, tau: Float2D) -> Float2D:
        """Fit a model to the torque `tau`; return its torque along the motion, shape (N, n)."""
        W = torque_regressor(robot, motion.q, motion.dq, motion.ddq, self.parameters.columns)
        return np.asarray(W @ self.solution(self.rows(tau)))

    def basis(self, sigma: Float1D) -> Float2D:
        """Compute an orthonormal basis of the span of the weighted rows, shape (N n, b)."""
        weighted = (self.W / sigma[:, None]).reshape(-1, self.W.shape[2])
        return np.asarray(np.linalg.qr(weighted)[0])

    def residual(self, y: Float2D, sigma: Float1D, basis: Float2D | None = None) -> Float2D:
        """Compute the weighted residual of the weighted fit, shape (N, n)."""
        Q = self.basis(sigma) if basis is None else basis
        scaled = (y / sigma).ravel()
        return np.asarray((scaled - Q @ (Q.T @ scaled)).reshape(y.shape))


def standard_torque_of(motion: Motion, robot: Robot) -> Float2D:
    """Subtract the torque of the robot's joint terms from that of a motion, shape (N, n)."""
    return standard_torque(robot, motion.q, motion.dq, motion.ddq, motion.tau)


@lru_cache(maxsize=2)  # several choices are made for one robot
def _select_basis(robot: Robot, measured: tuple[bool, ...]) -> BaseParameters:
    """Build the base parameters with all joint parameters, for joints with measured torque."""
    return base_parameters(robot, JOINT_SYMBOLS, np.array(measured))
