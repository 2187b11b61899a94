"""What existing data say about the base parameters, as a square root of their information."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze, readonly
from robotid_sim.errors import OptionError, ShapeError

SYMMETRY = 1e-9
"""Asymmetry and negative eigenvalues of an information matrix that pass for rounding, relative."""


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    r"""Existing data of the base parameters: :math:`R_0^T R_0 = \sum_k W_k^T \Sigma^{-1} W_k`.

    In inverse units of the base parameters, thus comparable with their covariance; the order of
    the parameters is that of the `BaseParameters` that the regressor W has its columns from.
    """

    root: Float2D
    """R0, upper triangular, shape (b, b); zero for no data."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "root")
        root = self.root
        if root.shape[0] != root.shape[1] or np.tril(root, -1).any():
            raise ShapeError(
                f"a prior's root must be square and upper triangular, got shape {root.shape}; for "
                "other matrices there are Prior.of_information and Prior.of_rows"
            )

    @classmethod
    def none(cls, rank: int) -> Self:
        """Return the prior of no data about `rank` base parameters."""
        return cls(np.zeros((rank, rank)))

    @classmethod
    def of_information(cls, information: Float2D) -> Self:
        """Return the prior of an information matrix, the inverse of a covariance, shape (b, b).

        Raises
        ------
        OptionError
            If it is not symmetric and positive semidefinite.
        """
        M = readonly(information, shape=(None, None), name="information")
        if M.shape[0] != M.shape[1] or np.abs(M - M.T).max() > SYMMETRY * np.abs(M).max():
            raise OptionError("an information matrix must be symmetric; give the root as it is")
        # Scaled to a unit diagonal, so that parameters of small units keep their digits.
        size = np.sqrt(np.where(np.diag(M) > 0.0, np.diag(M), 1.0))
        values, vectors = np.linalg.eigh(M / np.outer(size, size))
        if values[0] < -SYMMETRY * max(values[-1], 1.0):
            raise OptionError(
                f"an information matrix must not have negative eigenvalues, got {values[0]:.3g}"
            )
        half = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return cls._of_any_root(half * size)

    @classmethod
    def of_rows(cls, W: Float, noise_std: Float1D) -> Self:
        """Return the prior of regressor rows, such as those of a linear problem.

        Parameters
        ----------
        W : ndarray, shape (N n, b) or (N, n, b)
            Rows sample-major: row ``k n + j`` is joint j at sample k.
        noise_std : ndarray, shape (n,)
            Torque noise of every joint [N m].
        """
        noise = np.asarray(noise_std, dtype=float)
        rows = np.asarray(W).reshape(-1, noise.size, np.shape(W)[-1]) / noise[:, None]
        return cls._of_any_root(rows.reshape(-1, rows.shape[-1]))

    @classmethod
    def _of_any_root(cls, rows: Float2D) -> Self:
        missing = max(rows.shape[1] - rows.shape[0], 0)
        R = np.linalg.qr(np.pad(rows, ((0, missing), (0, 0))), mode="r")
        return cls(np.triu(R))

    def __add__(self, other: "Prior") -> "Prior":
        """Return what both data say together."""
        if self.empty or other.empty:
            return other if self.empty else self
        return self._of_any_root(np.vstack([self.root, other.root]))

    @property
    def information(self) -> Float2D:
        """Information matrix, shape (b, b)."""
        return np.asarray(self.root.T @ self.root)

    @property
    def empty(self) -> bool:
        """True without any data."""
        return not self.root.any()

    @property
    def determined(self) -> bool:
        """True if the data determine all parameters."""
        size = np.abs(np.diag(self.root))
        return bool(size.min() > np.finfo(float).eps * size.max())

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant of the information; minus infinity without full rank."""
        if not self.determined:
            return -np.inf
        return float(2.0 * np.log(np.abs(np.diag(self.root))).sum())

    @property
    def std(self) -> Float1D:
        """Cramér-Rao bounds of the standard deviations, shape (b,); infinite without full rank."""
        if not self.determined:
            return np.full(len(self.root), np.inf)
        return np.asarray(np.linalg.norm(np.linalg.inv(self.root), axis=1))
