r"""Fitting what is linear in most parameters and nonlinear in a few: variable projection.

For given nonlinear parameters x the linear ones follow by least squares, so that only

.. math:: \min_x | P_x^\perp y |^2

is left, with the projector beside the columns of the regressor W(x) [1]_. The columns that do not
depend on x are eliminated once, by QR; for the Jacobian the form of [2]_ is taken,
:math:`-P^\perp\, (\partial W / \partial x)\, \beta`, with which the iteration is that of
Gauss-Newton on all parameters at once.

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

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.friction_shapes import FrictionShape, limits
from robotid_sim.estimation.problem import LinearProblem, extended, joint_columns, rows_of
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

PRECISION = 1e-10
"""Smallest singular value of shaped columns that counts, relative."""

AS_WELL = 4.0
"""Weighted squares, those of two standard deviations, that do not tell two values apart."""

HALVINGS = 12
"""Halvings of an interval in which a value is sought."""

CONVERGED = 1e-8
"""Relative change of cost or parameters at which a search ends."""


@dataclass(frozen=True, slots=True, eq=False)
class SeparableProblem:
    """Rows with dry friction of some shape; nonlinear parameters are arrays (k, n)."""

    linear: LinearProblem
    """The rows with the friction of the nominal model."""
    motion: Motion
    """Where they come from."""
    nominal: Robot
    shape: FrictionShape
    coulomb: Int1D = field(init=False)
    """Columns of the linear problem that are Fc of every joint, shape (n,)."""

    def __post_init__(self) -> None:
        names = list(self.linear.basis.names)
        expected = [f"Fc{j + 1}" for j in range(self.nominal.dof)]
        if missing := [name for name in expected if name not in names]:
            raise OptionError(
                f"the shape of friction shows through Fc, which the problem lacks: "
                f"{', '.join(missing)}; add Fc to the joint parameters"
            )
        indices = np.array([names.index(name) for name in expected], dtype=np.intp)
        object.__setattr__(self, "coulomb", indices)

    def shaped(self, values: Float2D) -> Float:
        """Return the shaped columns' own rows, shape (m, N, n)."""
        columns = self.shape.columns(self.motion.dq, values, self.nominal.eps)
        return np.array([rows_of(self.motion, c) for c in columns])

    def slopes(self, values: Float2D) -> Float:
        """Return their derivatives by the logarithms of `values`, shape (k, m, N, n)."""
        all_slopes = self.shape.derivatives(self.motion.dq, values, self.nominal.eps)
        return np.array([[rows_of(self.motion, c) for c in row] for row in all_slopes])

    def design(self, values: Float2D, active: Int1D) -> LinearProblem:
        """Return the linear problem for given nonlinear parameters.

        Parameters
        ----------
        values : ndarray, shape (k, n)
            Nonlinear parameters.
        active : ndarray of int, shape (a,)
            Joints that have the further linear parameters of the shape.

        Returns
        -------
        problem : LinearProblem
            Further parameters come last, by parameter.
        """
        first, *more = self.shaped(values)
        W = np.array(self.linear.W)
        W[:, self.coulomb] = joint_columns(first)
        problem = replace(self.linear, W=W, nominal=None)
        if not more or not active.size:
            return problem
        symbols = [f"{name}{j + 1}" for name in self.shape.linear[1:] for j in active]
        units = [self.linear.basis.units[self.coulomb[j]] for _ in more for j in active]
        columns = np.hstack([joint_columns(rows)[:, active] for rows in more])
        return extended(problem, columns, symbols, units)

    def tangent(self, values: Float2D, beta: Float1D, active: Int1D) -> Float2D:
        """Return the torque per change of the active joints' log parameters.

        Parameters
        ----------
        values : ndarray, shape (k, n)
            Nonlinear parameters.
        beta : ndarray
            Linear parameters of `design`.
        active : ndarray of int, shape (a,)
            Joints whose parameters change.

        Returns
        -------
        slopes : ndarray, shape (N n, k a)
            Torque [N m or N].
        """
        levels = np.zeros((len(self.shape.linear), self.nominal.dof))
        levels[0] = beta[self.coulomb]
        levels[1:, active] = beta[self.linear.basis.rank :].reshape(-1, active.size)
        torque = (self.slopes(values) * levels[:, None]).sum(axis=1)
        return np.hstack([joint_columns(rows)[:, active] for rows in torque])


class Projection:
    """The residual of a separable problem, its linear parameters eliminated.

    The nonlinear parameters of active joints are searched; those of the others are `frozen`,
    shape (k, n).
    """

    def __init__(
        self, problem: SeparableProblem, weights: Float1D, active: Int1D, frozen: Float2D
    ) -> None:
        self.problem, self.active, self.frozen = problem, active, frozen
        self.weight = np.tile(weights, problem.linear.samples)
        whole = problem.design(frozen, active[:0]).W
        fixed = np.delete(whole, problem.coulomb[active], axis=1)
        self.Q = np.linalg.qr(fixed * self.weight[:, None])[0]
        self.y = self._beside(problem.linear.y * self.weight)
        self.nfev = 0

    def values(self, x: Float1D) -> Float2D:
        """Return all nonlinear parameters (k, n) from the logarithms of the active joints'."""
        values = np.array(self.frozen)
        values[:, self.active] = np.exp(x).reshape(len(values), -1)
        return values

    def residual(self, x: Float1D) -> Float1D:
        """Return the weighted residual after the best linear parameters, shape (N n,)."""
        self.nfev += 1
        U, _ = self._shaped(x)
        return np.asarray(self.y - U @ (U.T @ self.y))

    def jacobian(self, x: Float1D) -> Float2D:
        """Return its derivative by x in the form of [2], shape (N n, k a)."""
        U, to_levels = self._shaped(x)
        levels = np.zeros((len(self.problem.shape.linear), self.problem.nominal.dof))
        levels[:, self.active] = (to_levels @ (U.T @ self.y)).reshape(len(levels), -1)
        torque = (self.problem.slopes(self.values(x)) * levels[:, None]).sum(axis=1)
        D = self._beside(self._weighted(torque))
        return np.asarray(-(D - U @ (U.T @ D)))

    def best_of(self, x: Float1D, grid: Float2D) -> Float1D:
        """Return a point with the best first parameter of every joint, one joint after the other.

        Parameters
        ----------
        x : ndarray, shape (k a,)
            Logarithms of the active joints' parameters; tried too.
        grid : ndarray, shape (m, k a)
            Values to try.

        Returns
        -------
        x : ndarray, shape (k a,)
            The best of them.
        """
        x = np.array(x)
        for i in range(self.active.size):
            tried = np.array([x] * (len(grid) + 1))
            tried[1:, i] = grid[:, i]
            x = tried[int(np.argmin([(self.residual(y) ** 2).sum() for y in tried]))]
        return x

    def gains(self, x: Float1D) -> Float1D:
        """Return by how much x lowers the squares below those of each joint as frozen, (a,)."""
        lowest, frozen = float((self.residual(x) ** 2).sum()), np.log(self.frozen[:, self.active])
        found = np.zeros(self.active.size)
        for i in range(self.active.size):
            before = x.reshape(frozen.shape).copy()
            before[:, i] = frozen[:, i]
            found[i] = float((self.residual(before.ravel()) ** 2).sum()) - lowest
        return found

    def _shaped(self, x: Float1D) -> tuple[Float2D, Float2D]:
        """Return an orthonormal basis of the shaped columns and what maps it to their levels."""
        C = self._beside(self._weighted(self.problem.shaped(self.values(x))))
        U, s, Vt = np.linalg.svd(C, full_matrices=False)
        rank = int((s > PRECISION * s[0]).sum())
        return U[:, :rank], Vt[:rank].T / s[:rank]

    def _weighted(self, rows: Float) -> Float2D:
        columns = [joint_columns(part)[:, self.active] for part in rows]
        return np.asarray(np.hstack(columns) * self.weight[:, None])

    def _beside(self, x: Float) -> Float:
        return np.asarray(x - self.Q @ (self.Q.T @ x))


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Where a search of nonlinear parameters ended."""

    values: Float2D
    """Nonlinear parameters, shape (k, n)."""
    log_std: Float2D
    """Standard deviation of their logarithms for white residuals, shape (k, n); NaN if idle."""
    at_bound: np.ndarray
    """Joints at which a parameter ended at its bound, shape (n,)."""
    gain: Float1D
    """By how much a joint's own parameters lower the weighted squares, shape (n,); else zero."""
    nfev: int
    success: bool
    message: str


def search(
    problem: SeparableProblem, weights: Float1D, active: Int1D, start: Float2D, frozen: Float2D
) -> Search:
    """Minimize the eliminated residual over the active joints by trust-region Gauss-Newton.

    Parameters
    ----------
    problem : SeparableProblem
        With k nonlinear parameters a joint.
    weights : ndarray, shape (n,)
        Inverse noise of the rows, so that the residual has unit variance [1/(N m) or 1/N].
    active : ndarray of int, shape (a,)
        Joints whose parameters are searched.
    start : ndarray, shape (k, n)
        Where active joints begin.
    frozen : ndarray, shape (k, n)
        Parameters of the other joints.

    Returns
    -------
    search : Search
        Where it ended.
    """
    projection = Projection(problem, weights, active, frozen)
    lower, upper = (np.log(b[:, active]).ravel() for b in limits(problem.shape, problem.nominal))
    inner = 1e-6 * (upper - lower)
    x = np.clip(np.log(start[:, active]).ravel(), lower + inner, upper - inner)
    if problem.shape.tried and np.array_equal(start, frozen):
        x = projection.best_of(x, np.linspace(lower + inner, upper - inner, problem.shape.tried))
    result = least_squares(
        projection.residual,
        x,
        projection.jacobian,
        bounds=(lower, upper),
        xtol=CONVERGED,
        ftol=CONVERGED,
        gtol=CONVERGED,
        max_nfev=200,
    )
    log_std = np.full(start.shape, np.nan)
    log_std[:, active] = _std(projection.jacobian(result.x)).reshape(len(start), -1)
    near = (np.minimum(result.x - lower, upper - result.x) < 1e-3).reshape(len(start), -1)
    at_bound = np.zeros(problem.nominal.dof, dtype=bool)
    at_bound[active] = near.any(axis=0)
    gain = np.zeros(problem.nominal.dof)
    gain[active] = projection.gains(result.x)
    return Search(
        values=projection.values(result.x),
        log_std=log_std,
        at_bound=at_bound,
        gain=gain,
        nfev=projection.nfev,
        success=result.status > 0,
        message=result.message,
    )


def nearest(
    problem: SeparableProblem, weights: Float1D, values: Float2D, start: Float2D, joints: Int1D
) -> Float2D:
    """Move parameters toward their start, joint by joint, as far as the rows are explained as well.

    Parameters
    ----------
    problem : SeparableProblem
        With k nonlinear parameters a joint.
    weights : ndarray, shape (n,)
        Inverse noise of the rows, so that the residual has unit variance [1/(N m) or 1/N].
    values, start : ndarray, shape (k, n)
        Where a search ended, and where it began.
    joints : ndarray of int, shape (a,)
        Joints that show no best value.

    Returns
    -------
    values : ndarray, shape (k, n)
        The weighted squares are larger by at most `AS_WELL` for every joint that has moved.
    """
    for j in joints.tolist():
        projection = Projection(problem, weights, np.array([j]), values)
        ends = np.log(values[:, j]), np.log(start[:, j])
        least = float((projection.residual(ends[0]) ** 2).sum())
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            share = 0.5 * (low + high)
            x = (1.0 - share) * ends[0] + share * ends[1]
            as_well = float((projection.residual(x) ** 2).sum()) - least < AS_WELL
            low, high = (share, high) if as_well else (low, share)
        values = projection.values((1.0 - low) * ends[0] + low * ends[1])
    return values


def _std(J: Float2D) -> Float1D:
    """Return the standard deviations of a fit with this Jacobian, infinite where it is blind."""
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    seen = s > 1e-8 * max(float(s.max(initial=0.0)), 1e-300)
    variance = ((Vt[seen] / s[seen, None]) ** 2).sum(axis=0)
    blind = (Vt[~seen] ** 2).sum(axis=0) > 1e-6
    return np.where(blind, np.inf, np.sqrt(variance))
