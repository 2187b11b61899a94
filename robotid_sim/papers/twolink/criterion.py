"""The identification criterion as a quadratic form, exact and fast."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import lsq_linear

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.papers.twolink.model import LOWER, UPPER
from robotid_sim.papers.twolink.motion import Driven

LS_IN_BOX = "LS in the box"
"""Name of the minimum within the search ranges, beside ``LS`` for that without them."""


@dataclass(frozen=True, slots=True, eq=False)
class TorqueCriterion:
    r"""Mean squared torque error over N samples, eq. (3).

    .. math:: J(\lambda) = \frac{1}{N} \sum_i \|\tau_i - \hat\tau_i\|^2
        = J_\text{LS} + \|R\, (\lambda - \lambda_\text{LS})\|^2

    with the triangular factor R of the regressor, divided by the root of N. The search is given the
    second term only: on exact data the first is lost in rounding, and the minimum is the same.
    """

    factor: Float2D
    """R, shape (4, 4)."""
    least_squares: Float1D
    """The estimate of eq. (29), shape (4,), which minimizes J."""
    floor: float
    """J at that estimate [N^2 m^2]."""

    @classmethod
    def of(cls, W: Float2D, y: Float1D, samples: int) -> Self:
        """Return the criterion of data, ``y = W @ lambda``, from so many samples."""
        Q, R = np.linalg.qr(W)
        estimate = np.linalg.solve(R, Q.T @ y)
        # One step of refinement: what is left of the exact data is then rounding alone.
        estimate += np.linalg.solve(R, Q.T @ (y - W @ estimate))
        residual = y - W @ estimate
        return cls(R / np.sqrt(samples), estimate, float(residual @ residual) / samples)

    @classmethod
    def of_run(cls, run: Driven) -> Self:
        """Return the criterion of a run of the arm."""
        return cls.of(run.regressor(), run.target(), run.t.size)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return what `content` holds."""
        factor, estimate = (np.array(content[name]) for name in ("factor", "least_squares"))
        return cls(factor, estimate, float(content["floor"]))

    def content(self) -> dict[str, Any]:
        """Return the JSON form; all bits are kept."""
        return {
            "factor": self.factor.tolist(),
            "least_squares": self.least_squares.tolist(),
            "floor": self.floor,
        }

    def excess(self, X: Float2D) -> Float1D:
        """Return J less its minimum of points, shape (m, 4) to (m,)."""
        return np.asarray((((X - self.least_squares) @ self.factor.T) ** 2).sum(axis=1))

    def in_the_box(self) -> Float1D:
        """Return the minimum of J within the search ranges, shape (4,): bounded least squares."""
        target = self.factor @ self.least_squares
        solution = lsq_linear(self.factor, target, bounds=(LOWER, UPPER), method="bvls", tol=1e-15)
        return np.asarray(solution.x)


def mean_squared_error(run: Driven, parameters: Float1D) -> float:
    """Return J by its definition, eq. (3), sample by sample [N^2 m^2]."""
    residual = run.target() - run.regressor() @ parameters
    return float(residual @ residual) / run.t.size


def relative_error(run: Driven, parameters: Float1D) -> Float1D:
    """Return the accumulated torque error over the accumulated torque of both joints, shape (2,).

    The print of eq. (31) is lost and its words give no number: our reading of E_r is the sum of
    absolute errors over that of absolute torques.
    """
    errors = (run.target() - run.regressor() @ parameters).reshape(-1, 2)
    return np.asarray(np.abs(errors).sum(axis=0) / np.abs(run.tau).sum(axis=0))
