"""Information on the base parameters, of existing data and of planned excitations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze, readonly
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.excitation.criteria import NOISE_FLOOR, NOISE_SHARE
from robotid_sim.excitation.design import base_regressor, torque_scale
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Excitation, run_time

SAMPLE_COUNT = 500
"""Number of points of a period over which the information is averaged."""


SYMMETRY_TOLERANCE = 1e-9
"""Relative tolerance of asymmetry and negative eigenvalues of an information matrix."""


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    r"""Existing data of the base parameters: :math:`R_0^T R_0 = \sum_k W_k^T \Sigma^{-1} W_k`.

    In inverse units of the base parameters, thus comparable with their covariance; the parameters
    have the order of the `BaseParameters` that define the columns of the regressor W.
    """

    root: Float2D
    """R0, upper triangular, shape (b, b); zero for no data."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "root")
        root = self.root
        if root.shape[0] != root.shape[1] or np.tril(root, -1).any():
            raise ShapeError(
                f"a prior's root must be square and upper triangular, got shape {root.shape}; for "
                "other matrices there are Prior.from_information and Prior.from_rows"
            )

    @classmethod
    def none(cls, rank: int) -> Self:
        """Return an empty prior of `rank` base parameters."""
        return cls(np.zeros((rank, rank)))

    @classmethod
    def from_information(cls, information: Float2D) -> Self:
        """Make the prior from an information matrix, the inverse of a covariance, shape (b, b).

        Raises `OptionError` if it is not symmetric and positive semidefinite.
        """
        M = readonly(information, shape=(None, None), name="information")
        if M.shape[0] != M.shape[1] or np.abs(M - M.T).max() > SYMMETRY_TOLERANCE * np.abs(M).max():
            raise OptionError("an information matrix must be symmetric; give the root as it is")
        # Scaled to a unit diagonal, so that parameters of small magnitude keep their digits.
        size = np.sqrt(np.where(np.diag(M) > 0.0, np.diag(M), 1.0))
        values, vectors = np.linalg.eigh(M / np.outer(size, size))
        if values[0] < -SYMMETRY_TOLERANCE * max(values[-1], 1.0):
            raise OptionError(
                f"an information matrix must not have negative eigenvalues, got {values[0]:.3g}"
            )
        half = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return cls._from_root(half * size)

    @classmethod
    def from_rows(cls, W: Float, noise_std: Float1D) -> Self:
        """Return the prior of regressor rows, such as those of a linear problem.

        Rows are sample-major, shape (N n, b) or (N, n, b); the noise is by joint [N m or N].
        """
        noise = np.asarray(noise_std, dtype=float)
        rows = np.asarray(W).reshape(-1, noise.size, np.shape(W)[-1]) / noise[:, None]
        return cls._from_root(rows.reshape(-1, rows.shape[-1]))

    @classmethod
    def _from_root(cls, rows: Float2D) -> Self:
        missing = max(rows.shape[1] - rows.shape[0], 0)
        R = np.linalg.qr(np.pad(rows, ((0, missing), (0, 0))), mode="r")
        return cls(np.triu(R))

    def __add__(self, other: "Prior") -> "Prior":
        """Add the information of two priors."""
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        return self._from_root(np.vstack([self.root, other.root]))

    @property
    def information(self) -> Float2D:
        """Information matrix, shape (b, b)."""
        return np.asarray(self.root.T @ self.root)

    @property
    def is_empty(self) -> bool:
        """True without any data."""
        return not self.root.any()

    @property
    def is_full_rank(self) -> bool:
        """True if the data determine all parameters."""
        size = np.abs(np.diag(self.root))
        return bool(size.min() > np.finfo(float).eps * size.max())

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant of the information; minus infinity without full rank."""
        if not self.is_full_rank:
            return -np.inf
        return float(2.0 * np.log(np.abs(np.diag(self.root))).sum())

    @property
    def std(self) -> Float1D:
        """Cramér-Rao bounds of the standard deviations, shape (b,); infinite without full rank."""
        if not self.is_full_rank:
            return np.full(len(self.root), np.inf)
        return np.asarray(np.linalg.norm(np.linalg.inv(self.root), axis=1))


def assume_noise(nominal: Robot, trajectory: Excitation) -> Float1D:
    """Return 1 % of the RMS of the nominal torques on a trajectory, shape (n,) [N m or N]."""
    rms = np.sqrt(_mean_squared_torque(nominal, trajectory))
    floor = 1e-3 * max(float(rms.max()), np.finfo(float).tiny)  # for a joint that needs no torque
    return np.asarray(NOISE_SHARE * np.maximum(rms, floor))


def design_noise(nominal: Robot, trajectory: Excitation, floor: float = NOISE_FLOOR) -> Float1D:
    """Return the torque noise that criteria assume on a trajectory, shape (n,) [N m or N].

    One percent of the root of the mean squared nominal torque plus the square of the joint's torque
    scale times `floor`: see `Criterion`. It is larger than `assume_noise`, which has no such floor.
    """
    variance = _mean_squared_torque(nominal, trajectory) + (floor * torque_scale(nominal)) ** 2
    return np.asarray(NOISE_SHARE * np.sqrt(variance))


def log_samples(family: ExcitationFamily, dt: float) -> float:
    """Return the number of samples, dt apart [s], of a log of a family: those of all periods."""
    return family.periods * family.period / dt


def samples_of(trajectory: Excitation, dt: float) -> float:
    """Return the number of samples, dt apart [s], of a trajectory's log; see `log_samples`."""
    return float(getattr(trajectory, "motion", trajectory).duration) / dt


def compute_information(
    nominal: Robot,
    basis: BaseParameters,
    trajectories: Sequence[Excitation],
    *,
    noise_std: Float1D | None = None,
    floor: float = NOISE_FLOOR,
    dt: float = 1e-3,
) -> Prior:
    r"""Compute the information in the logs of trajectories: :math:`\sum W^T \Sigma^{-1} W`.

    For exactly known motion and white torque noise, over `log_samples` samples of each
    trajectory. It is the prior for the design of the next one.

    The noise is by joint [N m or N], by default the `design_noise` with its floor; samples are dt
    apart [s]. No trajectories give a prior of no data.
    """
    rows = [np.zeros((1, basis.rank))]
    for trajectory in trajectories:
        noise = design_noise(nominal, trajectory, floor) if noise_std is None else noise_std
        W = base_regressor(nominal, basis, trajectory, _one_period(trajectory))
        each = np.sqrt(samples_of(trajectory, dt) / SAMPLE_COUNT)
        rows.append((each * W / np.asarray(noise)[:, None]).reshape(-1, basis.rank))
    return Prior.from_rows(np.vstack(rows), np.ones(1))


def compute_expected_std(
    nominal: Robot,
    basis: BaseParameters,
    trajectory: Excitation,
    noise_std: Float1D | None = None,
    dt: float = 1e-3,
) -> Float1D:
    r"""Compute the expected standard deviation of every base parameter.

    The Cramér-Rao bound :math:`\sqrt{\operatorname{diag} (W^T \Sigma^{-1} W)^{-1}}` of
    `compute_information`.

    The noise is by joint [N m or N], by default the `assume_noise`; samples are dt apart [s]. The
    result has shape (b,), infinite if the motion does not determine the parameters.
    """
    noise = assume_noise(nominal, trajectory) if noise_std is None else noise_std
    return compute_information(nominal, basis, [trajectory], noise_std=noise, dt=dt).std


def _mean_squared_torque(nominal: Robot, trajectory: Excitation) -> Float1D:
    reference = trajectory(_one_period(trajectory))
    tau = joint_torque(nominal, reference.q, reference.dq, reference.ddq)
    return np.asarray((tau**2).mean(axis=0))


def _one_period(trajectory: Excitation) -> Float1D:
    return np.asarray(np.arange(SAMPLE_COUNT) * run_time(trajectory) / SAMPLE_COUNT)
