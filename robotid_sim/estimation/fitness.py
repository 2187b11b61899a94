r"""Cost functions of a linear problem, for whole populations of candidates at once.

With the rows weighted by joint, :math:`r(\beta) = w \circ (y - W \beta)`, they are

.. math::
    \text{squares} = \sum r^2, \qquad
    \text{absolute} = \sum |r|, \qquad
    \text{huber} = \sum \begin{cases} r^2 / 2 & |r| \le \delta \\
        \delta (|r| - \delta / 2) & \text{else} \end{cases}

and each has a known minimum, to which a search is compared.

References
----------
.. [1] Huber (1964), "Robust estimation of a location parameter", Ann. Math. Statistics 35,
   doi:10.1214/aoms/1177703732.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.optimize import linprog

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import Reduction

Loss = Literal["squares", "absolute", "huber"]

BLOCK_SIZE = 512
"""Rows of the regressor at a time, so that the residuals of a population fit into the cache."""

HUBER_CORNER = 1.345
"""Residual above which the loss is linear [std]: 95 % efficient for normal noise."""

MAX_ROUNDS = 500
TORQUE_TOLERANCE = 1e-10
"""Relative change of the fitted torques at convergence; the error of the cost is its square."""


class Fitness(Protocol):
    """A cost of candidates."""

    def __call__(self, X: Float2D) -> Float1D:
        """Compute the costs (m,) of candidates X (m, b)."""

    def minimum(self) -> Float1D:
        """Find the candidate of minimum cost, shape (b,)."""


@dataclass(frozen=True, slots=True, eq=False)
class SquaredFitness:
    """Weighted sum of squares, through one triangular factor: the rows are not read again."""

    R: Float2D
    """Triangular factor of the weighted regressor, shape (b, b)."""
    z: Float1D
    """Projection of the torques onto its basis, shape (b,)."""
    offset: float
    """Cost of the best candidate."""

    @classmethod
    def from_reduction(cls, reduction: Reduction, weights: Float1D) -> "SquaredFitness":
        """Make the cost for weights per joint, shape (n,)."""
        factor = reduction.whole(weights)
        return cls(factor[:-1, :-1].copy(), factor[:-1, -1].copy(), float(factor[-1, -1] ** 2))

    def __call__(self, X: Float2D) -> Float1D:
        """Compute the costs (m,) of candidates X (m, b)."""
        residual = X @ self.R.T
        residual -= self.z
        return np.asarray(np.einsum("ij,ij->i", residual, residual) + self.offset)

    def minimum(self) -> Float1D:
        """Return the least-squares solution."""
        return np.asarray(np.linalg.solve(self.R, self.z))


@dataclass(frozen=True, slots=True, eq=False)
class RowFitness:
    """Cost that reads all rows, `BLOCK_SIZE` at a time."""

    W: Float2D
    """Weighted rows, shape (N, b)."""
    y: Float1D
    """Weighted torques, shape (N,)."""

    def __call__(self, X: Float2D) -> Float1D:
        """Compute the costs (m,) of candidates X (m, b)."""
        total, candidates = np.zeros(len(X)), np.ascontiguousarray(X.T)
        for first in range(0, len(self.W), BLOCK_SIZE):
            rows = slice(first, first + BLOCK_SIZE)
            residual = self.W[rows] @ candidates
            residual -= self.y[rows, None]
            np.abs(residual, out=residual)
            self._apply_loss(residual)
            total += residual.sum(axis=0)
        return total

    def _apply_loss(self, size: Float2D) -> None:
        """Replace absolute residuals by their losses."""


class AbsoluteFitness(RowFitness):
    """Weighted sum of absolute residuals."""

    def minimum(self) -> Float1D:
        """Find the least absolute deviations by a linear program.

        Written in the dual: maximize ``y u`` over ``-1 <= u <= 1`` with ``W^T u = 0``; the solution
        is the multiplier of the equality. It has one equation per parameter instead of one per row.
        """
        scale = np.linalg.norm(self.W, axis=0)
        solution = linprog(
            -self.y,
            A_eq=(self.W / scale).T,
            b_eq=np.zeros(self.W.shape[1]),
            bounds=(-1.0, 1.0),
            method="highs",
        )
        if not solution.success:
            raise ArithmeticError(f"least absolute deviations: {solution.message}")
        return np.asarray(-solution.eqlin.marginals / scale)


@dataclass(frozen=True, slots=True, eq=False)
class HuberFitness(RowFitness):
    """Weighted Huber loss [1]: quadratic for small residuals, linear for large ones."""

    delta: float
    """Residual above which it is linear."""

    def _apply_loss(self, size: Float2D) -> None:
        clipped = np.minimum(size, self.delta)
        # r^2 / 2 up to delta, delta (r - delta / 2) beyond: both are clipped (r - clipped / 2)
        size -= 0.5 * clipped
        size *= clipped

    def minimum(self) -> Float1D:
        """Find the minimum by iteratively reweighted least squares."""
        beta = np.linalg.lstsq(self.W, self.y, rcond=None)[0]
        for _ in range(MAX_ROUNDS):
            size = np.abs(self.y - self.W @ beta)
            root = np.sqrt(np.minimum(1.0, self.delta / np.maximum(size, self.delta)))
            new = np.linalg.lstsq(self.W * root[:, None], self.y * root, rcond=None)[0]
            change = np.abs(self.W @ (new - beta)).max()
            beta = new
            if change <= TORQUE_TOLERANCE * max(self.delta, float(np.abs(self.y).max())):
                break
        return np.asarray(beta)


def make_fitness(
    loss: Loss, problem: LinearProblem, reduction: Reduction, weights: Float1D
) -> Fitness:
    """Make the cost function of a problem.

    The weights of the joints have shape (n,). For ``huber`` they must be the inverse noise, which
    is the unit of the corner. Raises `OptionError` if the loss is unknown.
    """
    if loss == "squares":
        return SquaredFitness.from_reduction(reduction, weights)
    by_row = np.tile(weights, problem.samples)
    W, y = problem.W * by_row[:, None], problem.y * by_row
    if loss == "absolute":
        return AbsoluteFitness(W, y)
    if loss == "huber":
        return HuberFitness(W, y, HUBER_CORNER)
    raise OptionError(f"unknown loss '{loss}'; known: squares, absolute, huber")
