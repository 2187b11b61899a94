r"""From base parameters to a full, physically consistent robot near the nominal one.

Base parameters leave most of the full parameters open. Among all consistent robots with exactly the
estimated base parameters the one nearest to the nominal is taken,

.. math:: \min_\phi |D^{-1} (\phi - \phi_0)|^2 \quad \text{s.t.} \quad B \phi = \hat\beta, \quad
    J_k(\phi) \succeq \epsilon 1, \quad F_v, F_c, I_a \ge 0,

a semidefinite program with one 4 x 4 cone per body [1]_. If no consistent robot has these base
parameters, the equality becomes a penalty weighted by the covariance of the estimate.

References
----------
.. [1] Wensing, Kim, Slotine (2018), "Linear matrix inequalities for physically consistent inertial
   parameter identification", IEEE Robotics and Automation Letters, doi:10.1109/LRA.2017.2729659.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.model import inertia, parameters
from robotid_sim.model.robot import Robot

CONE_MARGIN = 3e-6
"""Smallest eigenvalue of a body's pseudo-inertia, scaled to unit mass and size."""

PULL = 1e-6
"""Weight of the distance to the nominal where the base parameters cannot be met exactly."""

_SOLVED = ("Solved", "AlmostSolved")
_TRIANGLE = [(i, j) for j in range(4) for i in range(j + 1)]  # clarabel: columns of the upper half


@dataclass(frozen=True, slots=True, eq=False)
class Lift:
    """A consistent robot for estimated base parameters."""

    robot: Robot
    exact: bool
    """Whether the robot has exactly the estimated base parameters."""
    distance: float
    """Distance of its base parameters to the estimate, in standard deviations per parameter."""
    message: str


def lift(beta: Float1D, cov: Float2D, nominal: Robot, basis: BaseParameters) -> Lift:
    """Return the consistent robot nearest to `nominal` with base parameters `beta`.

    Parameters
    ----------
    beta : ndarray, shape (b,)
        Estimated base parameters.
    cov : ndarray, shape (b, b)
        Their covariance; weighs deviations where `beta` itself is not possible.
    nominal : Robot
        Resolves what the data leave open.
    basis : BaseParameters
        Map from full to base parameters.

    Raises
    ------
    InconsistentInertiaError
        If the solver finds no consistent robot at all.
    """
    program = _Program(nominal, basis)
    # The base parameters are compared in units of their standard deviations.
    std = np.sqrt(np.diag(cov))
    phi = program.solve_exact(beta, std)
    exact = phi is not None
    if phi is None:
        phi = program.solve_nearest(beta, cov)
    robot = nominal.with_parameters(phi)
    distance = float(np.sqrt((((basis.of(phi) - beta) / std) ** 2).mean()))
    message = (
        "a consistent robot with exactly the estimated base parameters"
        if exact
        else "no rigid bodies have exactly the estimated base parameters; the nearest consistent "
        f"robot is {distance:.2g} standard deviations away (rms)"
    )
    return Lift(robot, exact, distance, message)


class _Program:
    """The cone program in scaled variables x, phi = phi0 + D x."""

    def __init__(self, nominal: Robot, basis: BaseParameters) -> None:
        self.phi0 = nominal.parameters()
        self.free = np.asarray(basis.considered)
        self.scale = _scales(nominal)[self.free]
        self.B = basis.B[:, self.free] * self.scale
        self.beta0 = basis.of(self.phi0)
        rows, offsets, self.cones = [], [], []
        for k in range(nominal.dof):
            A, b = self._body_cone(k)
            rows.append(A)
            offsets.append(b)
            self.cones.append(clarabel.PSDTriangleConeT(4))
        self.signed, A, b = self._signs(nominal.dof)
        rows.append(A)
        offsets.append(b)
        self.cones.append(clarabel.NonnegativeConeT(len(b)))
        self.A, self.b = np.vstack(rows), np.concatenate(offsets)

    def _body_cone(self, k: int) -> tuple[Float2D, Float1D]:
        """Return A, b with b - A x = svec(T J(phi) T - margin 1), T scaling to unit size."""
        body = parameters.inertial_slice(k)
        size = _scales_of_body(self.phi0[body])
        T = np.diag([1.0 / np.sqrt(size[4])] * 3 + [1.0 / np.sqrt(size[0])])
        A = np.zeros((10, self.free.size))
        for column, full in enumerate(self.free):
            if body.start <= full < body.stop:
                unit = np.zeros(10)
                unit[full - body.start] = self.scale[column]
                A[:, column] = -_svec(T @ inertia.pseudo_inertia(unit) @ T)
        start = T @ inertia.pseudo_inertia(self.phi0[body]) @ T
        return A, _svec(start - CONE_MARGIN * np.eye(4))

    def _signs(self, dof: int) -> tuple[Int1D, Float2D, Float1D]:
        """Return the columns of Fv, Fc, Ia, and A, b with b - A x their values over their sizes."""
        names = parameters.names(dof)
        wanted = [c for c, f in enumerate(self.free) if names[f][:2] in ("Fv", "Fc", "Ia")]
        A = np.zeros((len(wanted), self.free.size))
        A[range(len(wanted)), wanted] = -1.0
        return np.array(wanted), A, self.phi0[self.free[wanted]] / self.scale[wanted]

    def solve_exact(self, beta: Float1D, std: Float1D) -> Float1D | None:
        """Return the nearest phi with B phi = beta, or None if there is none."""
        A = np.vstack([self.B / std[:, None], self.A])
        b = np.concatenate([(beta - self.beta0) / std, self.b])
        cones = [clarabel.ZeroConeT(len(beta)), *self.cones]
        x = _solve(np.ones(self.free.size), A, b, cones)
        return None if x is None else self._phi(x)

    def solve_nearest(self, beta: Float1D, cov: Float2D) -> Float1D:
        """Return phi with the least covariance-weighted deviation of B phi from beta."""
        whiten = np.linalg.inv(np.linalg.cholesky(cov))
        count, extra = self.free.size, len(beta)
        # w = whiten (B phi - beta) as variables of their own: forming B^T S^-1 B loses digits.
        A = np.block([[whiten @ self.B, -np.eye(extra)], [self.A, np.zeros((len(self.b), extra))]])
        b = np.concatenate([whiten @ (beta - self.beta0), self.b])
        cones = [clarabel.ZeroConeT(extra), *self.cones]
        x = _solve(np.concatenate([np.full(count, PULL), np.ones(extra)]), A, b, cones)
        if x is None:
            raise InconsistentInertiaError(
                "no consistent robot was found near the estimate; the estimate is too far from any "
                "rigid body, check the log and the friction model"
            )
        return self._phi(x[:count])

    def _phi(self, x: Float1D) -> Float1D:
        phi = np.array(self.phi0)
        phi[self.free] += self.scale * x
        signed = self.free[self.signed]
        phi[signed] = np.maximum(phi[signed], 0.0)  # the solver stops a rounding error outside
        return phi


def _solve(weights: Float1D, A: Float2D, b: Float1D, cones: list[object]) -> Float1D | None:
    """Minimize sum(weights x^2)/2 subject to b - A x in the cones; None if that fails."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = 1e-10
    P = sparse.diags(weights, format="csc")
    solver = clarabel.DefaultSolver(
        P, np.zeros(len(weights)), sparse.csc_matrix(A), b, cones, settings
    )
    solution = solver.solve()
    return np.array(solution.x) if str(solution.status) in _SOLVED else None


def _svec(matrix: Float2D) -> Float1D:
    """Return the upper triangle with off-diagonals times sqrt 2, so that dot products agree."""
    return np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in _TRIANGLE])


def _scales(robot: Robot) -> Float1D:
    """Return the natural size of every full parameter, shape (14 n,)."""
    phi = robot.parameters()
    bodies = [_scales_of_body(phi[parameters.inertial_slice(k)]) for k in range(robot.dof)]
    drives = [phi[parameters.joint_slice(k, robot.dof)] for k in range(robot.dof)]
    torque = max(float(np.abs(d[:3]).max()) for d in drives)
    mass = max(float(b[4]) for b in bodies)
    floors = np.array([max(torque, 1.0), max(torque, 1.0), max(torque, 1.0), mass])
    tails = [np.maximum(np.abs(d), 1e-2 * floors) for d in drives]
    return np.concatenate([*bodies, *tails])


def _scales_of_body(phi: Float1D) -> Float1D:
    """Return m, m r (3), m r^2 (6) with the radius of gyration r about the link origin."""
    mass = float(phi[0]) if phi[0] > 0.0 else 1e-3
    radius = float(np.sqrt(max(0.5 * np.trace(inertia.inertia_matrix(phi)) / mass, 1e-6)))
    return np.array([mass] + [mass * radius] * 3 + [mass * radius**2] * 6)
