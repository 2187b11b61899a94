r"""Full parameters of a physically consistent robot, as a cone program.

In scaled variables x with :math:`\phi = \phi_0 + D x` around the nominal robot, every body has the
linear matrix inequality :math:`J_k(\phi) \succeq \epsilon 1` on its pseudo-inertia [1]_, and
friction and rotor parameters are not negative. It has two objectives: the consistent robot nearest
to the nominal one with given base parameters, and the consistent robot that fits data best [2]_.

References
----------
.. [1] Wensing, Kim, Slotine (2018), "Linear matrix inequalities for physically consistent inertial
   parameter identification", IEEE Robotics and Automation Letters, doi:10.1109/LRA.2017.2729659.
.. [2] Lee, Wensing, Park (2020), "Geometric robot dynamic identification: a convex programming
   approach", IEEE Trans. Robotics, doi:10.1109/TRO.2019.2926491 (log-det divergence).
"""

from collections.abc import Iterable
from itertools import product

import clarabel
import numpy as np
from scipy import sparse

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.model import inertia, parameters
from robotid_sim.model.robot import Robot

CONE_MARGIN = 3e-6
"""Minimum eigenvalue of a body's pseudo-inertia, scaled to unit mass and size."""

MARGIN_ADDITION = 3e-7
"""Addition to the margin in the program, because the solver stops slightly outside its cones."""

TOTAL_MARGIN = (CONE_MARGIN + MARGIN_ADDITION) * np.eye(4)

MIN_NOMINAL_EIGENVALUE = 1e-3
"""Minimum eigenvalue of a nominal body's scaled pseudo-inertia in the divergence: a link that is
thin in CAD may carry thicker parts."""

MAX_WEIGHT = 1e10
"""Maximum weight of the data over that of a parameter, limited by the precision of the solver."""

MIN_WEIGHT = 1e-8
"""Weight below which a divergence is omitted."""

SOLVER_TOLERANCES = (1e-10, 1e-9, 1e-8, 1e-7)
"""Tolerances of the solver, tried in turn."""

REGULARIZATION_SHIFTS = (1e-8, 1e-10)
"""Shifts of the linear systems of the solver, tried in turn: the most robust one costs some
precision."""

STEP_SHARES = (0.99, 0.9, 0.7)
"""Shares of the distance to the boundary of the cones per step, tried in turn: shorter steps need
more iterations, and converge for bodies near the boundary."""

_SOLVED_STATUSES = ("Solved", "AlmostSolved")
_INFEASIBLE_STATUSES = ("PrimalInfeasible", "DualInfeasible")


class ConsistentProgram:
    """The consistent robots around a nominal one.

    The variables are zero for the nominal robot and scaled by its parameters; parameters that the
    basis does not consider are constant.
    """

    def __init__(self, nominal: Robot, basis: BaseParameters) -> None:
        self.phi0 = nominal.parameters()
        self.basis = basis
        self.free = np.asarray(basis.considered)
        phi, dof = self.phi0, nominal.dof
        bodies = [_scales_of_body(phi[parameters.inertial_slice(k)]) for k in range(dof)]
        joint_parameters = [phi[parameters.joint_slice(k, dof)] for k in range(dof)]
        torque = max(1.0, *(float(np.abs(d[:3]).max()) for d in joint_parameters))
        inertia_scale = max(float(b[4]) for b in bodies)
        floors = np.array([torque, torque, torque, inertia_scale])
        joint_scales = [np.maximum(np.abs(d), 1e-2 * floors) for d in joint_parameters]
        self.scale = np.concatenate([*bodies, *joint_scales])[self.free]
        self.B = basis.B[:, self.free] * self.scale
        self._bodies = [self._body_cone(k) for k in range(dof)]
        masses = phi[[parameters.inertial_slice(k).start for k in range(dof)]]
        self._bodies_with_mass = np.flatnonzero(masses > 0.0).tolist()
        names = parameters.names(dof)
        nonnegative = [c for c, f in enumerate(self.free) if names[f][:2] in ("Fv", "Fc", "Ia")]
        A = np.zeros((len(nonnegative), self.free.size))
        A[range(len(nonnegative)), nonnegative] = -1.0
        self.nonnegative = np.array(nonnegative, dtype=np.intp)
        self._sign_rows = A, phi[self.free[nonnegative]] / self.scale[nonnegative]
        self.A, self.b, self.cones = self._constraints(range(dof))

    def find_exact(self, beta: Float1D) -> Float1D | None:
        """Find the full parameters nearest to the nominal ones with base parameters `beta`.

        `beta` has shape (b,), the result (14 n,); None if no consistent robot has these base
        parameters.
        """
        offset = beta - self.basis.project(self.phi0)
        size = np.linalg.norm(self.B, axis=1)  # weights by std would exceed the precision
        A = np.vstack([self.B / size[:, None], self.A])
        b = np.concatenate([offset / size, self.b])
        cones = [clarabel.ZeroConeT(len(beta)), *self.cones]
        x = _solve(np.ones(self.free.size), np.zeros(self.free.size), A, b, cones)
        return None if x is None else self._phi(x)

    def find_nearest(
        self, beta: Float1D, R: Float2D, *, pull: float = 1e-6, divergence: float = 0.0
    ) -> Float1D | None:
        r"""Find the consistent full parameters of least squared deviation from base parameters.

        .. math:: \min_\phi |R (B\phi - \beta)|^2 + \lambda |D^{-1}(\phi - \phi_0)|^2
            + 2 \gamma \sum_k d(J_k(\phi), J_k(\phi_0)),

        with the log-det divergence :math:`d(J, J_0) = \mathrm{tr}(J_0^{-1} J) - \log\det J`.
        With R the triangular factor of a regressor and `beta` its least-squares
        solution this is the constrained least-squares fit; the squares are taken on slack
        variables, because forming B^T R^T R B loses half of the digits.

        `pull` is :math:`\lambda` and `divergence` :math:`\gamma`; the divergence of a body without
        a nominal mass is omitted. The result has shape (14 n,), and is None if the solver fails.
        """
        count, slacks = self.free.size, len(beta)
        RB, offset = R @ self.B, R @ (beta - self.basis.project(self.phi0))
        size = float(np.linalg.norm(RB, 2))  # slack variables of order one for any noise
        weight = min(size**2, MAX_WEIGHT)
        # The divergence is weighted relative to the data; with exact data, which determine all
        # parameters, it would only cost digits.
        divergence *= weight / size**2
        # The log det of the divergence enforces the cone of the body.
        with_divergence = self._bodies_with_mass if divergence > MIN_WEIGHT else []
        with_cone = [k for k in range(len(self._bodies)) if k not in with_divergence]
        bodies, limits, cones = self._constraints(with_cone)
        A: Float2D = np.block(
            [[RB / size, -np.eye(slacks)], [bodies, np.zeros((len(limits), slacks))]]
        )
        b = np.concatenate([offset / size, limits])
        cones = [clarabel.ZeroConeT(slacks), *cones]
        weights: Float1D = np.concatenate([np.full(count, pull), np.full(slacks, weight)])
        linear: Float1D = np.zeros(len(weights))
        for rows_k, start_k in (self._bodies[k] for k in with_divergence):
            A_k, b_k = -rows_k, start_k + _svec(TOTAL_MARGIN)  # b + A x = svec(T J(phi) T)
            # gamma (tr(J0^-1 J) - log det J), where log det J is the largest sum of log z_i with
            # [[J, Z], [Z^T, diag z]] >= 0, Z upper triangular with diagonal z; the logarithms are
            # exponential cones.
            values, vectors = np.linalg.eigh(_smat(b_k))
            J0 = vectors @ np.diag(np.maximum(values, MIN_NOMINAL_EIGENVALUE)) @ vectors.T
            inverse = _svec(np.linalg.inv(J0))
            linear[:count] += divergence * (inverse @ A_k)
            rows, shift, row_cones = _log_det_rows(A_k, b_k)
            new_columns = rows.shape[1] - count
            zeros = np.zeros((len(rows), A.shape[1] - count))
            block = np.hstack([rows[:, :count], zeros, rows[:, count:]])
            A = np.vstack([np.pad(A, ((0, 0), (0, new_columns))), block])
            b, cones = np.concatenate([b, shift]), [*cones, *row_cones]
            weights = np.pad(weights, (0, new_columns))
            linear = np.concatenate([linear, np.zeros(new_columns - 4), np.full(4, -divergence)])
        x = _solve(weights, linear, A, b, cones)
        return None if x is None else self._phi(x[:count])

    def _constraints(self, bodies: Iterable[int]) -> tuple[Float2D, Float1D, list[object]]:
        """Stack A, b and the cones of b - A x, for some bodies and all nonnegative parameters."""
        cones = [self._bodies[k] for k in bodies]
        A, b = self._sign_rows
        kinds = [clarabel.PSDTriangleConeT(4) for _ in cones]
        return (
            np.vstack([*(A_k for A_k, _ in cones), A]),
            np.concatenate([*(b_k for _, b_k in cones), b]),
            [*kinds, clarabel.NonnegativeConeT(len(b))],
        )

    def _body_cone(self, k: int) -> tuple[Float2D, Float1D]:
        """Return A, b with b - A x = svec(T J(phi) T - margin 1), T scaling to unit size."""
        body = parameters.inertial_slice(k)
        size = _scales_of_body(self.phi0[body])
        T = np.diag([1.0 / np.sqrt(size[4])] * 3 + [1.0 / np.sqrt(size[0])])
        A = np.zeros((10, self.free.size))
        for column, index in enumerate(self.free):
            if body.start <= index < body.stop:
                unit = np.zeros(10)
                unit[index - body.start] = self.scale[column]
                A[:, column] = -_svec(T @ inertia.pseudo_inertia(unit) @ T)
        start = T @ inertia.pseudo_inertia(self.phi0[body]) @ T
        return A, _svec(start - TOTAL_MARGIN)

    def _phi(self, x: Float1D) -> Float1D:
        phi = np.array(self.phi0)
        phi[self.free] += self.scale * x
        indices = self.free[self.nonnegative]
        phi[indices] = np.maximum(phi[indices], 0.0)  # the solver may stop slightly outside
        return phi


def _solve(
    weights: Float1D, linear: Float1D, A: Float2D, b: Float1D, cones: list[object]
) -> Float1D | None:
    """Minimize sum(weights x^2)/2 + linear x subject to b - A x in the cones; None on failure."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    P, rows = sparse.diags(weights, format="csc"), sparse.csc_matrix(A)
    for step, shift, tolerance in product(STEP_SHARES, REGULARIZATION_SHIFTS, SOLVER_TOLERANCES):
        settings.max_step_fraction = step
        settings.static_regularization_constant = shift
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
        solution = clarabel.DefaultSolver(P, linear, rows, b, cones, settings).solve()
        if str(solution.status) in _SOLVED_STATUSES:
            return np.array(solution.x)
        if str(solution.status) in _INFEASIBLE_STATUSES:
            return None
    return None


def _triangle(size: int) -> list[tuple[int, int]]:
    """Return the order of clarabel's triangle: the columns of the upper half."""
    return [(i, j) for j in range(size) for i in range(j + 1)]


def _svec(matrix: Float2D) -> Float1D:
    """Return the upper triangle with off-diagonals times sqrt 2, so that dot products agree."""
    order = _triangle(len(matrix))
    return np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in order])


def _smat(vector: Float1D) -> Float2D:
    """Return the symmetric 4 x 4 matrix of a vector; the inverse of `_svec`."""
    matrix = np.zeros((4, 4))
    for value, (i, j) in zip(vector, _triangle(4), strict=True):
        matrix[i, j] = matrix[j, i] = value if i == j else value / np.sqrt(2.0)
    return matrix


def _log_det_rows(A: Float2D, b: Float1D) -> tuple[Float2D, Float1D, list[object]]:
    """Return rows over (x, Z (10), t (4)) that let t_i reach log z_i for J = smat(b + A x).

    The first cone holds [[J, Z], [Z^T, diag z]], the others (t_i, 1, z_i) with exp(t_i) <= z_i.
    """
    count = A.shape[1]
    rows, offset = np.zeros((36 + 12, count + 14)), np.zeros(36 + 12)
    index = {pair: k for k, pair in enumerate(_triangle(4))}
    for row, (i, j) in enumerate(_triangle(8)):
        if j < 4:
            rows[row, :count], offset[row] = -A[index[i, j]], b[index[i, j]]
        elif i < 4 and i <= j - 4:  # Z, upper triangular
            rows[row, count + index[i, j - 4]] = -np.sqrt(2.0)
        elif i == j:  # diag z
            rows[row, count + index[i - 4, i - 4]] = -1.0
    for i in range(4):
        first = 36 + 3 * i
        rows[first, count + 10 + i] = -1.0
        offset[first + 1] = 1.0
        rows[first + 2, count + index[i, i]] = -1.0
    return rows, offset, [clarabel.PSDTriangleConeT(8), *[clarabel.ExponentialConeT()] * 4]


def _scales_of_body(phi: Float1D) -> Float1D:
    """Return m, m r (3), m r^2 (6) with the radius of gyration r about the link origin."""
    mass = float(phi[0]) if phi[0] > 0.0 else 1e-3
    radius = float(np.sqrt(max(0.5 * np.trace(inertia.inertia_matrix(phi)) / mass, 1e-6)))
    return np.array([mass] + [mass * radius] * 3 + [mass * radius**2] * 6)
