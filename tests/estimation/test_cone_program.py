"""The cone program: feasible, optimal by its own KKT conditions; the lift that is built on it."""

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.estimation.cone_program import (
    CONE_MARGIN,
    MAX_WEIGHT,
    MIN_NOMINAL_EIGENVALUE,
    ConsistentProgram,
)
from robotid_sim.estimation.consistent import make_consistent
from robotid_sim.model import inertia, parameters
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

SOLVER = 1e-6
"""The solver stops at 1e-10 relative; its multipliers are good to some 1e-7 of the gradient."""

ROBOTS = ("2r", "rp", "scara", "irb140")


def scaling(phi):
    """Return T that scales a body's pseudo-inertia to unit mass and radius of gyration."""
    radius = np.sqrt(0.5 * np.trace(inertia.inertia_matrix(phi)) / phi[0])
    return np.diag([1.0 / (radius * np.sqrt(phi[0]))] * 3 + [1.0 / np.sqrt(phi[0])])


class Case:
    """A nominal robot, and base parameters that are `noise` standard deviations off possible."""

    def __init__(self, name, seed, noise, joint_parameters=("Fv", "Fc", "Ia")):
        rng = np.random.default_rng(seed)
        plant = Robot.from_urdf(urdf_path(name))
        self.nominal = perturb(plant, rng)
        self.basis = base_parameters(plant, joint_parameters)
        self.true = perturb(plant, rng).parameters()
        rank = self.basis.rank
        self.R = np.linalg.qr(rng.standard_normal((3 * rank, rank)), mode="r")
        size = np.abs(self.basis.B) @ np.abs(self.nominal.parameters()) + 1e-3
        self.R = 20.0 * self.R / size
        self.beta = self.basis.project(self.true) + noise * size * rng.standard_normal(rank)
        self.program = ConsistentProgram(self.nominal, self.basis)

    @property
    def dof(self):
        return self.nominal.dof

    def bodies(self, phi):
        """Return scaled pseudo-inertias of all bodies and of the nominal ones, none too thin."""
        made = []
        for k in range(self.dof):
            body = parameters.inertial_slice(k)
            start = self.nominal.parameters()[body]
            T = scaling(start)
            J, J0 = (T @ inertia.pseudo_inertia(p) @ T for p in (phi[body], start))
            values, vectors = np.linalg.eigh(J0)
            made.append(
                [J, vectors @ np.diag(np.maximum(values, MIN_NOMINAL_EIGENVALUE)) @ vectors.T]
            )
        return made

    def objective(self, phi, pull, divergence=0.0):
        misfit = self.R @ (self.basis.project(phi) - self.beta)
        away = ((phi - self.nominal.parameters())[self.program.free]) / self.program.scale
        total = misfit @ misfit + pull * (away @ away)
        for J, J0 in self.bodies(phi) if divergence else ():
            total += 2.0 * divergence * (np.trace(np.linalg.solve(J0, J)) - np.linalg.slogdet(J)[1])
        return total

    def gradient(self, phi, pull):
        """Return the gradient over the full parameters, without divergence."""
        away = np.zeros(phi.size)
        free = self.program.free
        away[free] = (phi - self.nominal.parameters())[free] / self.program.scale**2
        misfit = self.R.T @ (self.R @ (self.basis.project(phi) - self.beta))
        return 2.0 * (self.basis.B.T @ misfit + pull * away)

    def body_gradient(self, g, k):
        """Return the gradient over the scaled pseudo-inertia of body k, symmetric (4, 4)."""
        body = parameters.inertial_slice(k)
        back = np.linalg.inv(scaling(self.nominal.parameters()[body]))
        G, unit = np.zeros((4, 4)), np.eye(4)
        for i in range(4):
            for j in range(4):
                E = 0.5 * (np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i]))
                G[i, j] = g[body] @ inertia.from_pseudo_inertia(back @ E @ back)
        return G

    def signed(self):
        """Return where the parameters stand that must not be negative."""
        names = self.nominal.parameter_names
        return [f for f in self.program.free if names[f][:2] in ("Fv", "Fc", "Ia")]


def assert_feasible(case, phi):
    for J, _ in case.bodies(phi):
        assert np.linalg.eigvalsh(J)[0] >= 0.99 * CONE_MARGIN
    assert (phi[case.signed()] >= 0.0).all()


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("noise", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("pull", [1e-6, 1e-2])
def test_the_nearest_robot_satisfies_the_optimality_conditions(name, noise, pull):
    # For a convex program these are proof: the gradient over every body is itself positive
    # semidefinite and orthogonal to the body's distance to the boundary, and likewise for signs.
    case = Case(name, 1, noise)
    phi = case.program.find_nearest(case.beta, case.R, pull=pull)
    assert_feasible(case, phi)
    pull *= max(1.0, np.linalg.norm(case.R @ case.program.B, 2) ** 2 / MAX_WEIGHT)
    g = case.gradient(phi, pull)
    start = case.gradient(case.nominal.parameters(), pull)
    for k, (J, _) in enumerate(case.bodies(phi)):
        G = case.body_gradient(g, k)
        size = np.linalg.norm(case.body_gradient(start, k)) + 1.0
        assert np.linalg.eigvalsh(G)[0] > -SOLVER * size
        assert abs(np.trace(G @ (J - CONE_MARGIN * np.eye(4)))) < SOLVER * size * np.trace(J)
    signed = case.signed()
    scale = case.program.scale[np.isin(case.program.free, signed)]
    slope, room = g[signed] * scale, phi[signed] / scale
    size = np.abs(start[signed] * scale).max() + 1.0
    assert slope.min() > -SOLVER * size
    assert np.abs(slope * room).max() < SOLVER * size * max(1.0, room.max())


@pytest.mark.parametrize("name", ["2r", "scara"])
@pytest.mark.parametrize("divergence", [0.0, 0.1])
def test_no_feasible_point_is_better(name, divergence):
    case, rng = Case(name, 2, 1.0), np.random.default_rng(3)
    phi = case.program.find_nearest(case.beta, case.R, pull=1e-3, divergence=divergence)
    best = case.objective(phi, 1e-3, divergence)
    others = [perturb(case.nominal, rng, scale=0.9).parameters() for _ in range(300)]
    fixed = np.setdiff1d(np.arange(phi.size), case.program.free)
    for other in others:
        other[fixed] = phi[fixed]
        for share in (1.0, 1e-1, 1e-2, 1e-3):  # between two feasible points all are feasible
            point = phi + share * (other - phi)
            assert case.objective(point, 1e-3, divergence) > best * (1.0 - 1e-7)


@pytest.mark.parametrize("name", ["2r", "scara", "irb140"])
@pytest.mark.parametrize("gamma", [1.0, 100.0])
def test_divergence_has_the_stationary_point_of_its_formula(name, gamma):
    # Inside the cone the gradient vanishes: G + 2 gamma (J0^-1 - J^-1) = 0 for every body.
    case, pull = Case(name, 4, 0.05), 1e-3
    phi = case.program.find_nearest(case.beta, case.R, pull=pull, divergence=gamma)
    assert_feasible(case, phi)
    g, bodies = case.gradient(phi, pull), case.bodies(phi)
    found = np.array([case.body_gradient(g, k) for k in range(case.dof)])
    wanted = np.array([2.0 * gamma * (np.linalg.inv(J) - np.linalg.inv(J0)) for J, J0 in bodies])
    # A solution whose objective is right to 1e-10 has a gradient right to the root of that times
    # the root of the curvature gamma J^-2.
    assert np.abs(found - wanted).max() < 3e-3 * max(gamma, np.abs(wanted).max())


def test_divergence_pulls_toward_the_nominal_monotonically():
    case, distances, misfits = Case("scara", 5, 0.3), [], []
    for gamma in (1e-2, 1.0, 1e2, 1e4, 1e6):
        phi = case.program.find_nearest(case.beta, case.R, pull=1e-9, divergence=gamma)
        distances.append(
            sum(
                np.trace(np.linalg.solve(J0, J))
                - np.linalg.slogdet(J)[1]
                + np.linalg.slogdet(J0)[1]
                for J, J0 in case.bodies(phi)
            )
        )
        misfits.append(case.objective(phi, 0.0))
    assert (np.diff(distances) < 0.0).all()
    assert (np.diff(misfits) > 0.0).all()
    assert distances[-1] == pytest.approx(4.0 * case.dof, abs=0.01)  # trace of 1 for every body


def test_a_stronger_pull_ends_at_the_nominal():
    case = Case("scara", 6, 0.5)
    start = case.nominal.parameters()
    away = [
        np.linalg.norm(
            (case.program.find_nearest(case.beta, case.R, pull=pull) - start)[case.program.free]
            / case.program.scale
        )
        for pull in (1e-6, 1e-2, 1e2, 1e10)
    ]
    assert (np.diff(away) < 0.0).all()
    assert away[-1] < 1e-4


@pytest.mark.parametrize("name", ROBOTS)
def test_exact_base_parameters_are_met_by_the_nearest_robot(name):
    case = Case(name, 7, 0.0)
    std = 1e-2 * np.abs(case.beta) + 1e-6
    phi = case.program.find_exact(case.beta)
    assert_feasible(case, phi)
    assert np.abs((case.basis.project(phi) - case.beta) / std).max() < SOLVER
    free, scale, start = case.program.free, case.program.scale, case.nominal.parameters()
    mine, other = (np.linalg.norm((p - start)[free] / scale) for p in (phi, case.true))
    assert mine <= other * (1.0 + SOLVER)  # the true robot is one of those it chooses from


def test_impossible_base_parameters_are_met_by_nobody():
    case = Case("2r", 8, 0.0)
    beta = case.beta.copy()
    beta[case.basis.names.index("Fv1")] = -1.0
    assert case.program.find_exact(beta) is None


@pytest.mark.parametrize("kept", [(), ("Fv",), ("Fv", "Fc", "Fo", "Ia")])
def test_parameters_outside_the_basis_stay_as_they_are(kept):
    case = Case("scara", 9, 0.3, kept)
    phi = case.program.find_nearest(case.beta, case.R)
    fixed = np.setdiff1d(np.arange(phi.size), case.basis.considered)
    assert fixed.size == case.dof * (4 - len(kept))
    np.testing.assert_array_equal(phi[fixed], case.nominal.parameters()[fixed])
    assert_feasible(case, phi)


@pytest.mark.parametrize("name", ROBOTS)
def test_lift_is_exact_where_a_robot_exists(name):
    case = Case(name, 10, 0.0)
    cov = np.linalg.inv(case.R.T @ case.R)
    lifted = make_consistent(case.beta, cov, case.nominal, case.basis)
    assert lifted.exact
    assert lifted.distance < SOLVER
    assert "exactly the estimated base parameters" in lifted.message
    assert lifted.robot.inconsistencies() == [None] * case.dof
    found = case.basis.project(lifted.robot.parameters())
    np.testing.assert_allclose(found, case.beta, atol=SOLVER * np.sqrt(np.diag(cov)).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_lift_takes_the_nearest_robot_otherwise_and_says_so(name):
    case = Case(name, 11, 1.0)
    beta = case.beta.copy()
    viscous = case.basis.names.index("Fv1")
    cov = np.linalg.inv(case.R.T @ case.R)
    beta[viscous] = -3.0 * np.sqrt(cov[viscous, viscous])
    lifted = make_consistent(beta, cov, case.nominal, case.basis)
    assert not lifted.exact
    assert lifted.message.startswith("no rigid bodies have exactly")
    assert f"{lifted.distance:.2g} standard deviations" in lifted.message
    case.beta, case.R = beta, np.linalg.inv(np.linalg.cholesky(cov))
    phi = lifted.robot.parameters()
    assert_feasible(case, phi)
    error = (case.basis.project(phi) - beta) / np.sqrt(np.diag(cov))
    assert lifted.distance == pytest.approx(np.sqrt((error**2).mean()), rel=1e-9)
    best = case.objective(phi, 1e-6)
    assert best < case.objective(case.true, 1e-6)
    assert best < case.objective(case.nominal.parameters(), 1e-6)


def test_a_lifted_robot_survives_the_file(tmp_path):
    case = Case("2r", 12, 1.0)
    lifted = make_consistent(case.beta, np.linalg.inv(case.R.T @ case.R), case.nominal, case.basis)
    write_urdf(lifted.robot, tmp_path / "lifted.urdf")
    again = Robot.from_urdf(tmp_path / "lifted.urdf")
    # The writer keeps a margin of 1e-6 to the triangle inequality, as large as the program's own.
    np.testing.assert_allclose(again.parameters(), lifted.robot.parameters(), atol=1e-5)
