r"""Selection of hypotheses about the rows of a log, by the likelihood of held-out blocks.

A hypothesis is a set of columns in addition to those of a linear problem: a term of a joint's
torque, or the effect of a data fault. Approximate gains, with fixed noise of the joints, select
finalists; these are compared by held-out blocks [1]_. Among equal hypotheses, the one with the
fewest parameters is selected, all others are tried again in addition, and unnecessary ones are
removed.

References
----------
.. [1] Stone (1974), "Cross-validatory choice and assessment of statistical predictions", J. Royal
   Statistical Society B 36, doi:10.1111/j.2517-6161.1974.tb00994.x.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self, TypeVar

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.estimation.hold_out import Fit, HeldOut
from robotid_sim.estimation.reduction import span_of

TIE_TOLERANCE = 5.0
"""Gains that differ by less, or by less than a standard error, are equal: fewer parameters win."""

FINALIST_COUNT = 8
"""Number of hypotheses that are compared by held-out likelihood."""

MIN_COLUMN_SHARE = 1e-6
"""Minimum share of a column that the model does not explain."""


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """Columns that may be needed in addition to those of a linear problem."""

    kind: str
    joint: int | None
    """None for all joints."""
    columns: Float
    """Torque per unit of every parameter, shape (N, n, k)."""

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(self.columns.shape[2])


H = TypeVar("H", bound=Hypothesis)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualProjection:
    """Projection of torques or columns onto the complement of the weighted columns of a fit."""

    Q: Float2D
    """Orthonormal basis of the columns, shape (N n, p)."""
    weights: Float2D
    """Weight of every row, zero if excluded, shape (N, n)."""

    @classmethod
    def from_columns(cls, columns: Float, weights: Float2D) -> Self:
        """Make the projection for columns, shape (N, n, p), and weights of their rows."""
        return cls(span_of((columns * weights[:, :, None]).reshape(weights.size, -1)), weights)

    def project(self, x: Float) -> Float2D:
        """Project weighted signals (N, n) or (N, n, k), shape (N n, k)."""
        k = 1 if x.ndim == 2 else x.shape[2]
        weighted = (x.reshape(*self.weights.shape, k) * self.weights[:, :, None]).reshape(-1, k)
        return np.asarray(weighted - self.Q @ (self.Q.T @ weighted))

    def cost(self, y: Float2D) -> float:
        """Compute half the squared residual of a torque, the negative log-likelihood."""
        return 0.5 * float((self.project(y) ** 2).sum())

    def gains(self, y: Float2D, columns: Sequence[Float]) -> Float1D:
        """Compute the gain of the log-likelihood of a torque by each set of columns."""
        residual = self.project(y)[:, 0]
        projected = self.project(np.concatenate(columns, axis=2))
        gains, first = [], 0
        for part in columns:
            group = projected[:, first : first + part.shape[2]]
            first += part.shape[2]
            size = np.linalg.norm((part * self.weights[:, :, None]).reshape(len(group), -1), axis=0)
            Q, R = np.linalg.qr(group)
            is_independent = np.abs(np.diag(R)) > MIN_COLUMN_SHARE * size
            gains.append(0.5 * float(((Q[:, is_independent].T @ residual) ** 2).sum()))
        return np.array(gains)


def pick_finalists(hypotheses: Sequence[H], gains: Float1D, margin: float) -> list[H]:
    """Select the hypotheses with the largest approximate gains above a margin."""
    best = np.argsort(-gains, kind="stable")[:FINALIST_COUNT]
    return [hypotheses[k] for k in best if gains[k] > margin]


def list_groups(first: int, sizes: Sequence[int]) -> list[Int1D]:
    """List the indices of consecutive groups of columns."""
    ends = first + np.cumsum([0, *sizes])
    return [np.arange(*pair) for pair in pairwise(ends)]


def fit_groups(blocks: HeldOut, count: int, sizes: Sequence[int]) -> Iterator[tuple[Fit, Float1D]]:
    """Yield the fit with each of the groups of columns after `count` fixed ones, and its gain.

    The gain is that of the log-likelihood of every held-out block, shape (folds,).
    """
    columns = np.arange(count)
    before = blocks.score(columns)
    for group in list_groups(count, sizes):
        larger = np.concatenate([columns, group])
        yield blocks.fit(larger), blocks.score(larger) - before


def is_no_worse(gain: Float1D, top: Float1D, tie: float = TIE_TOLERANCE) -> bool:
    """Return whether a gain by block equals the largest one within the tie tolerance."""
    gap = top - gain
    error = float(np.sqrt(gap.size) * gap.std(ddof=1))
    return bool(gap.sum() <= max(tie, error))


def compute_gains(blocks: HeldOut, columns: Int1D, groups: Sequence[Int1D]) -> list[Float1D]:
    """Compute the gain of the log-likelihood, by block, of each group in addition to the others."""
    total = blocks.score(columns)
    return [total - blocks.score(np.setdiff1d(columns, group)) for group in groups]


def select_groups(
    blocks: HeldOut,
    columns: Int1D,
    groups: Sequence[Int1D],
    judge: Callable[[Float1D], tuple[bool, float]],
) -> list[int]:
    """Select the groups of columns that are needed in addition to one another.

    The weakest group is removed until all are significant; `judge` returns, for a gain by block,
    whether it is significant, and its size.
    """
    selected = list(range(len(groups)))
    while selected:
        gains = compute_gains(blocks, columns, [groups[k] for k in selected])
        judged = [judge(gain) for gain in gains]
        weakest = judged.index(min(judged))
        if judged[weakest][0]:
            break
        columns = np.setdiff1d(columns, groups[selected.pop(weakest)])
    return selected
