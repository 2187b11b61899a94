"""A first look at candidates: what they gain in the sample, with the noise of the joints held."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.estimation.held_out import Fit


@dataclass(frozen=True, slots=True, eq=False)
class Remainder:
    """What the weighted plain columns leave of a torque or of further columns."""

    Q: Float2D
    """Orthonormal basis of the plain columns, shape (N n, p)."""
    weights: Float2D
    """Of every row, zero where it does not count, shape (N, n)."""

    @classmethod
    def of(cls, evidence: Evidence, fit: Fit) -> Self:
        """Return the projection for the noise of a fit of the plain columns."""
        weights = evidence.use / fit.sigma
        plain = np.concatenate([evidence.W, evidence.columns], axis=2)
        plain = (plain * weights[:, :, None]).reshape(weights.size, -1)
        size = np.linalg.norm(plain, axis=0)
        Q, R = np.linalg.qr(plain / np.where(size > 0.0, size, 1.0))
        shown = np.abs(np.diag(R)) > 1e-9
        return cls(Q[:, shown], weights)

    def left(self, x: Float) -> Float2D:
        """Return what is left of signals (N, n) or (N, n, k), weighted, shape (N n, k)."""
        k = 1 if x.ndim == 2 else x.shape[2]
        weighted = (x.reshape(*self.weights.shape, k) * self.weights[:, :, None]).reshape(-1, k)
        return np.asarray(weighted - self.Q @ (self.Q.T @ weighted))

    def cost(self, y: Float2D) -> float:
        """Return half the squared residual of a torque, the negative log-likelihood."""
        return 0.5 * float((self.left(y) ** 2).sum())

    def gains(self, y: Float2D, columns: list[Float]) -> Float1D:
        """Return by how much the log-likelihood of a torque rises with each set of columns."""
        residual = self.left(y)[:, 0]
        left = self.left(np.concatenate(columns, axis=2))
        gains, first = [], 0
        for part in columns:
            last = first + part.shape[2]
            Q, R = np.linalg.qr(left[:, first:last])
            shown = np.abs(np.diag(R)) > 1e-6 * np.linalg.norm(
                (part * self.weights[:, :, None]).reshape(-1, last - first), axis=0
            )
            gains.append(0.5 * float(((Q[:, shown].T @ residual) ** 2).sum()))
            first = last
        return np.array(gains)
