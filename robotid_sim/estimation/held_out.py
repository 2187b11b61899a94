r"""Held-out likelihood of linear models whose rows have one noise per joint.

With the rows split into contiguous blocks, the parameters and the noise :math:`\hat\sigma_j` of
every joint come from all blocks but one, and the likelihood of that one is

.. math:: \ell = -\sum_j \Big( m_j \log \hat\sigma_j + \frac{\nu + m_j}{2}
    \log \Big( 1 + \frac{|y_j - A_j \hat\beta|^2}{\nu \hat\sigma_j^2} \Big) \Big)

with its :math:`m_j` rows [1]_, the Student distribution of errors whose variance is known by
:math:`\nu` of them: residuals are colored, and a block that goes wrong altogether shall not
outweigh all others. All sums are of products of columns, :math:`[A_j\,y_j]^T [A_j\,y_j]`
by block and joint, which are added up once: a model with some columns less is then a small system.
Normal equations lose half of the digits, which a comparison of likelihoods does not miss.

References
----------
.. [1] Stone (1974), "Cross-validatory choice and assessment of statistical predictions", J. Royal
   Statistical Society B 36, doi:10.1111/j.2517-6161.1974.tb00994.x.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from robotid_sim.arrays import Bool2D, Float, Float1D, Float2D, Int1D

FOLDS = 8
"""Blocks of the cross-validation."""

FLOOR = 5e-4
"""Least noise of a joint's rows that counts, over its RMS torque."""

ROUNDS = 3
"""How often the noise of the joints is estimated anew."""

FREEDOM = 10.0
"""Degrees of freedom nu of the noise in a block that was left out."""

RIDGE = 1e-10
"""Added to the diagonal of the normal equations of unit columns: no fit fails."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A weighted fit of all rows or of some blocks."""

    beta: Float1D
    """Parameters of the chosen columns."""
    sigma: Float1D
    """Noise of every joint's rows [N m], shape (n,)."""
    cov: Float2D
    """Covariance of the parameters for white residuals."""
    likelihood: float
    """Logarithm of the likelihood of the rows themselves, but for a constant."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Sums of products of the columns by block and joint."""

    products: Float
    """Shape (folds, n, p + 1, p + 1); the torque is the last column."""
    count: Float2D
    """Rows by block and joint, shape (folds, n)."""
    floor: Float1D
    """Least noise of every joint [N m], shape (n,)."""
    volume: float
    """Added to the likelihood per sample: logarithm of the change of the torque's unit."""

    @classmethod
    def of(cls, A: Float, fold: Int1D, use: Bool2D, floor: Float1D, volume: float = 0.0) -> Self:
        """Return the sums of rows.

        Parameters
        ----------
        A : ndarray, shape (N, n, p + 1)
            Rows, zero where they are not used; the torque comes last.
        fold : ndarray of int, shape (N,)
            Block of every sample, see `blocks_of`.
        use : ndarray of bool, shape (N, n)
            Which rows are used.
        floor : ndarray, shape (n,)
            Least noise [N m or N].
        volume : float
            Logarithm of the change of the torque's unit, per sample.

        Returns
        -------
        sums : HeldOut
            By block and joint.
        """
        blocks = range(int(fold.max()) + 1)
        by_joint = [A[fold == f].transpose(1, 2, 0) for f in blocks]
        products = np.array([part @ part.transpose(0, 2, 1) for part in by_joint])
        count = np.array([use[fold == f].sum(axis=0) for f in blocks], dtype=float)
        return cls(products, count, floor, volume)

    def fit(self, columns: Sequence[int] | Int1D, without: int | None = None) -> Fit:
        """Return the weighted fit of some columns.

        Parameters
        ----------
        columns : sequence of int
            Indices of the columns.
        without : int, optional
            Block that is left out; by default none is.

        Returns
        -------
        fit : Fit
            Weights follow from its own residuals.
        """
        products, count = self.products.sum(axis=0), self.count.sum(axis=0)
        if without is not None:
            products, count = products - self.products[without], count - self.count[without]
        chosen = np.asarray(columns, dtype=np.intp)
        A, z = products[:, chosen[:, None], chosen], products[:, chosen, -1]
        yy, n, b = products[:, -1, -1], len(products), chosen.size
        free = np.maximum(count - b / n, 1.0)
        sigma = np.sqrt(yy / np.maximum(count, 1.0) + self.floor**2)
        for _ in range(ROUNDS):
            S = np.tensordot(1.0 / sigma**2, A, 1)
            size = np.sqrt(np.diag(S))
            size = np.where(size > 0.0, size, 1.0)
            inverse = np.linalg.inv(S / np.outer(size, size) + RIDGE * np.eye(b))
            beta = inverse @ ((sigma**-2.0) @ z / size) / size
            squares = _squares(beta, A, z, yy)
            sigma = np.sqrt(squares / free + self.floor**2)
        likelihood = -(count * np.log(sigma)).sum() - 0.5 * (squares / sigma**2).sum()
        likelihood += self.volume * count.mean()
        return Fit(beta, sigma, inverse / np.outer(size, size), float(likelihood))

    def score(self, columns: Sequence[int] | Int1D) -> Float1D:
        """Return the likelihood of every block by the fit to the others, shape (folds,)."""
        chosen = np.asarray(columns, dtype=np.intp)
        scores = []
        for f, products in enumerate(self.products):
            fit = self.fit(chosen, without=f)
            A, z = products[:, chosen[:, None], chosen], products[:, chosen, -1]
            squares = _squares(fit.beta, A, z, products[:, -1, -1])
            spread = np.log1p(squares / (FREEDOM * fit.sigma**2))
            score = -self.count[f] * np.log(fit.sigma) - 0.5 * (FREEDOM + self.count[f]) * spread
            scores.append(float(score.sum()) + self.volume * self.count[f].mean())
        return np.array(scores)


def _squares(beta: Float1D, A: Float, z: Float2D, yy: Float1D) -> Float1D:
    """Return the sum of squared residuals of every joint from sums of products, shape (n,)."""
    squares = yy - 2.0 * z @ beta + np.einsum("p,jpq,q->j", beta, A, beta)
    return np.asarray(np.maximum(squares, 0.0))


def blocks_of(times: Float1D, period: float | None) -> Int1D:
    """Return the block of every row: the same phases of all periods are left out together.

    Parameters
    ----------
    times : ndarray, shape (N,)
        Ascending times of the rows [s].
    period : float, optional
        Time after which the motion repeats [s].

    Returns
    -------
    block : ndarray of int, shape (N,)
        From 0 to `FOLDS` - 1.
    """
    elapsed = times - times[0]
    if period is not None and elapsed[-1] > 1.5 * period:
        share = elapsed / period % 1.0
    else:
        share = elapsed / (elapsed[-1] * (1.0 + 1e-9))
    return np.asarray(np.minimum((share * FOLDS).astype(np.intp), FOLDS - 1))
