r"""Variable projection: transition velocities of Coulomb friction with all linear parameters.

Friction is :math:`F_c \tanh(\dot q / \epsilon)`. For given logarithms x of the velocities
:math:`\epsilon`, whose errors are relative, the linear parameters follow by least squares,
so that only

.. math:: \min_x | P_x^\perp y |^2

remains, with the projector onto the complement of the columns of the regressor W(x) [1]_. The
columns that do not depend on x are eliminated once, by QR; for the Jacobian the form of [2]_ is
taken, :math:`-P^\perp\, (\partial W / \partial x)\, \beta`, which makes the iteration Gauss-Newton
on all parameters at once.

References
----------
.. [1] Golub, Pereyra (1973), "The differentiation of pseudo-inverses and nonlinear least squares
   problems whose variables separate", SIAM J. Numerical Analysis 10(2), doi:10.1137/0710036.
.. [2] Kaufman (1975), "A variable projection method for solving separable nonlinear least squares
   problems", BIT 15, doi:10.1007/BF01932995.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import least_squares

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D, Int1D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.problem import LinearProblem, joint_columns, rows_of
from robotid_sim.measurement.motion import Motion

VELOCITY_RATIO_RANGE = (1e-3, 10.0)
"""Range of a velocity over the nominal one; the value in a file may be a guess."""

START_COUNT = 17
"""Number of start values over that range: the cost has no slope where tanh is a line or a step."""

RANK_TOLERANCE = 1e-10
"""Minimum relative singular value of the columns of signs."""

TIE_TOLERANCE = 4.0
"""Maximum difference of weighted squares of equally good values: two standard deviations."""

MAX_HALVINGS = 12
"""Maximum number of halvings of a search interval."""

COST_TOLERANCE = 1e-8
"""Relative change of cost or parameters at which a search ends."""


@dataclass(frozen=True, slots=True, eq=False)
class SeparableProblem:
    """Rows with variable transition velocities of Coulomb friction, arrays of shape (n,)."""

    linear: LinearProblem
    """Rows with the friction of the nominal model."""
    motion: Motion
    """Motion of the rows."""
    coulomb: Int1D = field(init=False)
    """Columns of Fc of every joint, shape (n,)."""

    def __post_init__(self) -> None:
        names = list(self.linear.basis.names)
        expected = [f"Fc{j + 1}" for j in range(self.linear.dof)]
        if missing := [name for name in expected if name not in names]:
            raise OptionError(
                f"the transition velocity is identifiable only with Fc, which is missing for "
                f"{', '.join(missing)}; add Fc to the joint parameters"
            )
        indices = np.array([names.index(name) for name in expected], dtype=np.intp)
        object.__setattr__(self, "coulomb", indices)

    def signs(self, eps: Float1D) -> Float2D:
        """Compute the rows of the smooth sign of every joint, shape (N, n)."""
        return rows_of(self.motion, np.tanh(self.motion.dq / eps))

    def slopes(self, eps: Float1D) -> Float2D:
        """Compute the derivatives of `signs` by the logarithms of `eps`, shape (N, n)."""
        ratio = self.motion.dq / eps
        return rows_of(self.motion, -ratio * (1.0 - np.tanh(ratio) ** 2))

    def design(self, eps: Float1D) -> LinearProblem:
        """Make the linear problem for given velocities."""
        W = np.array(self.linear.W)
        W[:, self.coulomb] = joint_columns(self.signs(eps))
        return replace(self.linear, W=W, nominal=None)

    def tangent(self, eps: Float1D, beta: Float1D) -> Float2D:
        """Compute the torque per change of the logarithms of `eps`, shape (N n, n) [N m or N].

        The linear parameters beta are those of `design`.
        """
        return joint_columns(self.slopes(eps) * beta[self.coulomb])


class Projection:
    """The residual of a separable problem with eliminated linear parameters.

    The velocities of active joints are searched; others are `frozen`, shape (n,).
    """

    def __init__(
        self, problem: SeparableProblem, weights: Float1D, active: Int1D, frozen: Float1D
    ) -> None:
        self.problem, self.active, self.frozen = problem, active, frozen
        self.weight = np.tile(weights, problem.linear.samples)
        design = problem.design(frozen).W
        fixed = np.delete(design, problem.coulomb[active], axis=1)
        self.Q = np.linalg.qr(fixed * self.weight[:, None])[0]
        self.y = self._project_out(problem.linear.y * self.weight)
        self.nfev = 0

    def eps(self, x: Float1D) -> Float1D:
        """Return all velocities, shape (n,), from the logarithms of the active ones."""
        eps = np.array(self.frozen)
        eps[self.active] = np.exp(x)
        return eps

    def residual(self, x: Float1D) -> Float1D:
        """Compute the weighted residual for the best linear parameters, shape (N n,)."""
        self.nfev += 1
        U, _ = self._make_sign_basis(x)
        return np.asarray(self.y - U @ (U.T @ self.y))

    def jacobian(self, x: Float1D) -> Float2D:
        """Compute the derivative of `residual` by x in the form of [2], shape (N n, a)."""
        U, to_coefficients = self._make_sign_basis(x)
        coefficients = np.zeros(self.problem.linear.dof)
        coefficients[self.active] = to_coefficients @ (U.T @ self.y)
        D = self._project_out(self._weigh(self.problem.slopes(self.eps(x)) * coefficients))
        return np.asarray(-(D - U @ (U.T @ D)))

    def search_grid(self, x: Float1D, grid: Float2D) -> Float1D:
        """Find the best value of every joint on a grid, one joint after the other.

        The start is x, shape (a,), the grid has shape (m, a).
        """
        x = np.array(x)
        for i in range(self.active.size):
            tried = np.array([x] * (len(grid) + 1))
            tried[1:, i] = grid[:, i]
            x = tried[int(np.argmin([(self.residual(y) ** 2).sum() for y in tried]))]
        return x

    def gains(self, x: Float1D) -> Float1D:
        """Compute the reduction of the squares by x for each joint over its frozen value, (a,)."""
        lowest, frozen = float((self.residual(x) ** 2).sum()), np.log(self.frozen[self.active])
        gains = np.zeros(self.active.size)
        for i in range(self.active.size):
            before = x.copy()
            before[i] = frozen[i]
            gains[i] = float((self.residual(before) ** 2).sum()) - lowest
        return gains

    def _make_sign_basis(self, x: Float1D) -> tuple[Float2D, Float2D]:
        """Compute an orthonormal basis of the columns of signs and the map to coefficients."""
        C = self._project_out(self._weigh(self.problem.signs(self.eps(x))))
        U, s, Vt = np.linalg.svd(C, full_matrices=False)
        rank = int((s > RANK_TOLERANCE * s[0]).sum())
        return U[:, :rank], Vt[:rank].T / s[:rank]

    def _weigh(self, rows: Float2D) -> Float2D:
        return np.asarray(joint_columns(rows)[:, self.active] * self.weight[:, None])

    def _project_out(self, x: Float) -> Float:
        return np.asarray(x - self.Q @ (self.Q.T @ x))


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Result of a search of velocities; arrays of shape (n,)."""

    eps: Float1D
    log_std: Float1D
    """Standard deviation of the logarithm of `eps` for white residuals; NaN if not searched."""
    at_bound: Bool1D
    """Joints whose velocity ended at its bound."""
    gain: Float1D
    """Reduction of the weighted squares by the velocity of a joint, zero if not searched."""
    nfev: int
    success: bool
    message: str


def search(
    problem: SeparableProblem, weights: Float1D, active: Int1D, start: Float1D, frozen: Float1D
) -> Search:
    """Minimize the eliminated residual over the active joints by trust-region Gauss-Newton.

    Weights are the inverse noise of the rows, so that the residual has unit variance; active joints
    start at `start`, the others keep their `frozen` velocities, both of shape (n,).
    """
    projection = Projection(problem, weights, active, frozen)
    lower, upper = (np.log(bound * frozen[active]) for bound in VELOCITY_RATIO_RANGE)
    inner = 1e-6 * (upper - lower)
    x = np.clip(np.log(start[active]), lower + inner, upper - inner)
    if np.array_equal(start, frozen):
        x = projection.search_grid(x, np.linspace(lower + inner, upper - inner, START_COUNT))
    result = least_squares(
        projection.residual,
        x,
        projection.jacobian,
        bounds=(lower, upper),
        xtol=COST_TOLERANCE,
        ftol=COST_TOLERANCE,
        gtol=COST_TOLERANCE,
        max_nfev=200,
    )
    log_std = np.full(start.shape, np.nan)
    J = projection.jacobian(result.x)
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    identifiable = s > 1e-8 * max(float(s.max(initial=0.0)), 1e-300)
    variance = ((Vt[identifiable] / s[identifiable, None]) ** 2).sum(axis=0)
    unseen = (Vt[~identifiable] ** 2).sum(axis=0) > 1e-6  # not identifiable
    log_std[active] = np.where(unseen, np.inf, np.sqrt(variance))
    at_bound = np.zeros(start.shape, dtype=bool)
    at_bound[active] = np.minimum(result.x - lower, upper - result.x) < 1e-3
    gain = np.zeros(start.shape)
    gain[active] = projection.gains(result.x)
    return Search(
        eps=projection.eps(result.x),
        log_std=log_std,
        at_bound=at_bound,
        gain=gain,
        nfev=projection.nfev,
        success=result.status > 0,
        message=result.message,
    )


def move_to_nominal(
    problem: SeparableProblem, weights: Float1D, eps: Float1D, start: Float1D, joints: Int1D
) -> Float1D:
    """Move velocities toward their start, joint by joint, while the fit is equally good.

    This serves joints without a unique best value; the weighted squares increase by at most
    `TIE_TOLERANCE` per joint. Weights as for `search`.
    """
    for j in joints.tolist():
        projection = Projection(problem, weights, np.array([j]), eps)
        ends = np.log(eps[[j]]), np.log(start[[j]])
        min_squares = float((projection.residual(ends[0]) ** 2).sum())
        low, high = 0.0, 1.0
        for _ in range(MAX_HALVINGS):
            share = 0.5 * (low + high)
            x = (1.0 - share) * ends[0] + share * ends[1]
            is_equal = float((projection.residual(x) ** 2).sum()) - min_squares < TIE_TOLERANCE
            low, high = (share, high) if is_equal else (low, share)
        eps = projection.eps((1.0 - low) * ends[0] + low * ends[1])
    return eps
