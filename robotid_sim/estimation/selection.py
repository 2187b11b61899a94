r"""Selection of hypotheses about the rows of a log, by the likelihood of blocks that are left out.

A hypothesis is a set of columns beside those of a linear problem: a term of a joint's torque, or
what a fault of the log would add to it. A first look holds the noise of the joints and takes the
rows as they are; the best of it are compared by blocks that are left out of the fit [1]_. Of those
that explain as much the one of fewest parameters is taken, all others are tried again beside it,
and one that later ones have made needless goes.

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
"""Gains that differ by less, or by less than a standard error, speak for fewer parameters."""

FINALIST_COUNT = 8
"""Hypotheses of the first look that are compared by held-out likelihood."""

MIN_COLUMN_SHARE = 1e-6
"""Size of a column beside those of the model, over its size, from which it shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis:
    """Columns that may be needed beside those of a linear problem."""

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
    """What the weighted columns of a fit leave of a torque or of further columns."""

    Q: Float2D
    """Orthonormal basis of the columns, shape (N n, p)."""
    weights: Float2D
    """Of every row, zero where it does not count, shape (N, n)."""

    @classmethod
    def from_columns(cls, columns: Float, weights: Float2D) -> Self:
        """Return the projection for columns, shape (N, n, p), and weights of their rows."""
        return cls(span_of((columns * weights[:, :, None]).reshape(weights.size, -1)), weights)

    def project(self, x: Float) -> Float2D:
        """Return what is left of signals (N, n) or (N, n, k), weighted, shape (N n, k)."""
        k = 1 if x.ndim == 2 else x.shape[2]
        weighted = (x.reshape(*self.weights.shape, k) * self.weights[:, :, None]).reshape(-1, k)
        return np.asarray(weighted - self.Q @ (self.Q.T @ weighted))

    def cost(self, y: Float2D) -> float:
        """Return half the squared residual of a torque, the negative log-likelihood."""
        return 0.5 * float((self.project(y) ** 2).sum())

    def gains(self, y: Float2D, columns: Sequence[Float]) -> Float1D:
        """Return by how much the log-likelihood of a torque rises with each set of columns."""
        residual = self.project(y)[:, 0]
        left = self.project(np.concatenate(columns, axis=2))
        gains, first = [], 0
        for part in columns:
            own = left[:, first : first + part.shape[2]]
            first += part.shape[2]
            size = np.linalg.norm((part * self.weights[:, :, None]).reshape(len(own), -1), axis=0)
            Q, R = np.linalg.qr(own)
            shown = np.abs(np.diag(R)) > MIN_COLUMN_SHARE * size
            gains.append(0.5 * float(((Q[:, shown].T @ residual) ** 2).sum()))
        return np.array(gains)


def finalists(hypotheses: Sequence[H], gains: Float1D, margin: float) -> list[H]:
    """Return the hypotheses that a first look likes best, if they gain more than a margin."""
    best = np.argsort(-gains, kind="stable")[:FINALIST_COUNT]
    return [hypotheses[k] for k in best if gains[k] > margin]


def consecutive(first: int, sizes: Sequence[int]) -> list[Int1D]:
    """Return the indices of groups of columns that stand one behind the other."""
    ends = first + np.cumsum([0, *sizes])
    return [np.arange(*pair) for pair in pairwise(ends)]


def outcomes(held: HeldOut, plain: int, sizes: Sequence[int]) -> Iterator[tuple[Fit, Float1D]]:
    """Yield the fit with each of the groups of columns behind the plain ones, and its gain.

    The gain is that of the likelihood of every block that is left out, shape (folds,).
    """
    columns = np.arange(plain)
    before = held.score(columns)
    for group in consecutive(plain, sizes):
        larger = np.concatenate([columns, group])
        yield held.fit(larger), held.score(larger) - before


def is_no_worse(gain: Float1D, top: Float1D, tie: float = TIE_TOLERANCE) -> bool:
    """Return whether a gain by block is as good as the largest one, or nearly."""
    gap = top - gain
    error = float(np.sqrt(gap.size) * gap.std(ddof=1))
    return bool(gap.sum() <= max(tie, error))


def gains_beside(held: HeldOut, columns: Int1D, groups: Sequence[Int1D]) -> list[Float1D]:
    """Return the log-likelihood that groups of the columns gain beside the others, by block."""
    whole = held.score(columns)
    return [whole - held.score(np.setdiff1d(columns, group)) for group in groups]


def select_groups(
    held: HeldOut,
    columns: Int1D,
    groups: Sequence[Int1D],
    judge: Callable[[Float1D], tuple[bool, float]],
) -> list[int]:
    """Return which groups of the columns are needed beside one another.

    The least goes until all are worth their columns: a gain by block is judged by whether it is,
    and by how much.
    """
    kept = list(range(len(groups)))
    while kept:
        gains = gains_beside(held, columns, [groups[k] for k in kept])
        judged = [judge(gain) for gain in gains]
        least = judged.index(min(judged))
        if judged[least][0]:
            break
        columns = np.setdiff1d(columns, groups[kept.pop(least)])
    return kept
