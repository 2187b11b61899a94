"""The consistent estimator: always a robot that can exist, never a worse fit than it must be."""

from dataclasses import replace

import numpy as np
import pytest
from robots import example_path, urdf_path
from sampling import sampled

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.errors import OptionError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.cone_program import CONE_MARGIN
from robotid_sim.estimation.consistent import Consistent, make_consistent
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, extend_problem
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.model import inertia, parameters
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

SAMPLES = 150
NOISE = 0.05
"""Torque noise over the RMS torque of each joint: enough to make least squares impossible."""


class Trials:
    """Noisy problems of random robots with the kinematics of one, all on the same states."""

    def __init__(self, robot):
        rng = np.random.default_rng(0)
        self.robot, self.basis = robot, base_parameters(robot)
        shape = (SAMPLES, robot.dof)
        self.state = (
            rng.uniform(robot.limits.lower, robot.limits.upper, shape),
            rng.uniform(-2.0, 2.0, shape),
            rng.uniform(-5.0, 5.0, shape),
        )
        W = torque_regressor(robot, *self.state, self.basis.columns)
        self.W = W.reshape(-1, self.basis.rank)

    def problem(self, seed, noise=NOISE):
        """Return the problem of a random robot and that robot."""
        rng = np.random.default_rng(seed)
        plant = perturb(self.robot, rng, scale=0.5)
        tau = joint_torque(plant, *self.state)
        size = noise * np.sqrt((tau**2).mean(axis=0))
        y = (tau + size * rng.standard_normal(tau.shape)).ravel()
        names, nominal = self.robot.joint_names, perturb(plant, rng)
        return LinearProblem(self.W, y, self.basis, names, 0.1, nominal), plant


@pytest.fixture(scope="module", params=[3, 6])
def trials(request):
    """Chains of 3 links (a SCARA without its wrist) and of 6 links (irb140)."""
    if request.param == 3:
        return Trials(Robot.from_urdf(urdf_path("scara"), tip="quill"))
    return Trials(Robot.from_urdf(urdf_path("irb140")))


def fit(problem, **options):
    return Consistent(**options).fit(problem, np.random.default_rng(0))


def least_squares(problem):
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


def best(problem, free):
    """Return the unconstrained solution for the weights that the consistent fit uses."""
    return reduce_rows(problem).solve(1.0 / free.noise_std)[0]


def cost(problem, beta, noise_std):
    return float(noise_std**-2.0 @ reduce_rows(problem).compute_squared_residuals(beta))


def smallest_eigenvalue(phi, nominal):
    """Return that of all pseudo-inertias, scaled to the nominal's mass and radius of gyration."""
    least = np.inf
    for k in range(nominal.dof):
        body = parameters.inertial_slice(k)
        start = nominal.parameters()[body]
        radius = np.sqrt(0.5 * np.trace(inertia.inertia_matrix(start)) / start[0])
        T = np.diag([1.0 / radius] * 3 + [1.0]) / np.sqrt(start[0])
        J = T @ inertia.pseudo_inertia(phi[body]) @ T
        least = min(least, float(np.linalg.eigvalsh(J)[0]))
    return least


@pytest.mark.slow
def test_a_hundred_noisy_problems_of_a_hundred_are_solved(trials):
    impossible = 0
    for seed in range(100):
        problem, _ = trials.problem(seed)
        # Without a divergence, which takes some of the fit for bodies near the nominal ones.
        estimate, free = fit(problem, divergence=0.0), least_squares(problem)
        assert estimate.success, (seed, estimate.message)
        phi = estimate.phi
        # The solver ends within 1e-7 of the boundary, which is at 3e-6.
        assert smallest_eigenvalue(phi, problem.nominal) >= 0.95 * CONE_MARGIN
        for j in range(trials.robot.dof):
            Fv, Fc, _, Ia = phi[parameters.joint_slice(j, trials.robot.dof)]
            assert min(Fv, Fc, Ia) >= 0.0
        np.testing.assert_allclose(
            estimate.beta, problem.basis.project(phi), rtol=1e-12, atol=1e-12
        )
        assert problem.nominal.with_parameters(phi).inconsistencies() == [None] * trials.robot.dof
        least, own = (
            cost(problem, b, free.noise_std) for b in (best(problem, free), estimate.beta)
        )
        assert own >= least * (1.0 - 1e-12)
        lifted = make_consistent(free.beta, free.cov, problem.nominal, problem.basis)
        impossible += not lifted.exact
        other = cost(problem, problem.basis.project(lifted.robot.parameters()), free.noise_std)
        # The pull of 1e-6 on some 70 parameters of order 1.
        assert own <= other + 1e-3
    assert impossible > 50  # so that the constraints are what is tried here


@pytest.mark.slow
def test_it_predicts_the_true_robot_no_worse_than_least_squares(trials):
    rng = np.random.default_rng(1)
    shape = (SAMPLES, trials.robot.dof)
    limits = trials.robot.limits
    unseen = (rng.uniform(limits.lower, limits.upper, shape), *rng.standard_normal((2, *shape)))
    W = torque_regressor(trials.robot, *unseen, trials.basis.columns)
    errors = []
    for seed in range(30):
        problem, plant = trials.problem(seed)
        true = joint_torque(plant, *unseen)
        errors.append(
            [
                np.sqrt((((true - W @ e.beta) ** 2).mean(axis=0) / (true**2).mean(axis=0)).mean())
                for e in (fit(problem), least_squares(problem))
            ]
        )
    consistent, free = np.mean(errors, axis=0)
    assert consistent < free


def test_it_equals_least_squares_where_that_is_possible(trials):
    equal = 0
    for seed in range(20):
        problem, _ = trials.problem(seed, noise=1e-3)
        estimate, free = fit(problem, divergence=0.0), least_squares(problem)
        if not make_consistent(free.beta, free.cov, problem.nominal, problem.basis).exact:
            continue
        equal += 1
        # The pull of 1e-6 moves it by 1e-6 of a standard deviation, the solver by 1e-4.
        assert np.abs((estimate.beta - best(problem, free)) / free.std).max() < 1e-3
        np.testing.assert_array_equal(estimate.cov, free.cov)
        np.testing.assert_array_equal(estimate.noise_std, free.noise_std)
    assert equal >= 3


@pytest.mark.parametrize("noise", sampled((1e-6, 1e-4, 1e-3, 1e-2), 1e-3, mark=pytest.mark.slow))
def test_good_data_are_solved_too(trials, noise):
    for seed in range(20):
        problem, _ = trials.problem(seed, noise)
        estimate, free = fit(problem), least_squares(problem)
        assert estimate.success, (seed, estimate.message)
        lifted = make_consistent(free.beta, free.cov, problem.nominal, problem.basis)
        assert np.isfinite(lifted.distance)


@pytest.mark.slow
def test_light_links_without_friction_are_solved_too():
    trials = Trials(Robot.from_urdf(example_path("so_arm_description/urdf/so100.urdf")))
    for seed in range(20):
        assert fit(trials.problem(seed, 1e-3)[0]).success, seed
    for seed in (31, 58, 86):  # the solver needs shorter steps
        assert fit(trials.problem(seed, 1e-2)[0]).success, seed


def with_spring(trials, seed, noise, stiffness=40.0):
    """Return a problem whose first joint has a spring of unknown stiffness, and its robot."""
    problem, plant = trials.problem(seed, noise)
    column = np.zeros((SAMPLES, trials.robot.dof))
    column[:, 0] = trials.state[0][:, 0]
    spring = replace(problem, y=problem.y + stiffness * column.ravel())
    return extend_problem(spring, column.reshape(-1, 1), ["k1"], ["N m/rad"]), plant


def test_a_spring_is_fitted_beside_a_robot_that_can_exist(trials):
    for seed in range(5):
        problem, plant = with_spring(trials, seed, 1e-3)
        estimate, free = fit(problem), least_squares(problem)
        assert estimate.success
        assert trials.robot.with_parameters(estimate.phi) is not None  # raises if impossible
        assert estimate.names[-1] == "k1"
        assert abs(estimate.beta[-1] - 40.0) < 4.0 * free.std[-1]
        true = problem.basis.B[:-1, : estimate.phi.size] @ plant.parameters()
        assert np.abs((estimate.beta[:-1] - true) / free.std[:-1]).max() < 6.0


def test_a_spring_of_unknown_stiffness_leaves_no_more_than_a_known_one(trials):
    for seed in range(10):
        problem, _ = with_spring(trials, seed, 1e-3)
        known, scale = trials.problem(seed, 1e-3)[0], least_squares(problem).noise_std
        costs = []
        for each in (problem, known):
            left = each.unstack_rows(each.y - each.W @ fit(each, divergence=0.0).beta)
            costs.append(((left / scale) ** 2).sum())
        # The fits weigh joints by their own residuals, which differ a little.
        assert costs[0] < 1.001 * costs[1]


def test_noise_free_data_give_the_true_robot(trials):
    for seed in range(10):
        problem, plant = trials.problem(seed, noise=0.0)
        estimate, free = fit(problem), least_squares(problem)
        assert estimate.success, (seed, estimate.message)
        true = problem.basis.project(plant.parameters())
        np.testing.assert_allclose(estimate.beta, true, rtol=1e-6, atol=1e-6)
        assert make_consistent(free.beta, free.cov, problem.nominal, problem.basis).exact


def test_links_have_plausible_masses_where_data_leave_them_open():
    trials = Trials(Robot.from_urdf(example_path("ur_description/urdf/ur10_robot.urdf")))
    first = [parameters.inertial_slice(k).start for k in range(trials.robot.dof)]
    largest = {0.0: [], 0.1: []}
    for seed in range(5):
        problem, _ = trials.problem(seed, noise=0.05)
        for gamma, ratios in largest.items():
            ratio = fit(problem, divergence=gamma).phi[first] / problem.nominal.parameters()[first]
            ratios.append(np.exp(np.abs(np.log(ratio)).max()))
    assert np.median(largest[0.0]) > 100.0
    assert max(largest[0.1]) < 2.0


def test_the_default_divergence_moves_what_data_show_by_little(trials):
    for seed in range(10):
        problem, _ = trials.problem(seed, noise=1e-3)
        with_it, without = fit(problem), fit(problem, divergence=0.0)
        moved = np.abs(with_it.beta - without.beta) / least_squares(problem).std
        assert moved.max() < 0.5


def test_a_link_without_nominal_mass_has_no_divergence(trials):
    problem, _ = trials.problem(0, noise=1e-3)
    phi = problem.nominal.parameters().copy()
    phi[parameters.inertial_slice(5)] = 0.0
    nominal = problem.nominal.with_parameters(phi, formal=True)
    estimate = fit(replace(problem, nominal=nominal))
    assert estimate.success, estimate.message
    assert smallest_eigenvalue(estimate.phi, problem.nominal) > 0.0


def test_it_is_registered_and_says_what_it_is(trials):
    problem, _ = trials.problem(0)
    estimate = ESTIMATORS.build("consistent", pull=1e-4).fit(problem, np.random.default_rng(0))
    assert estimate.estimator == "consistent"
    assert estimate.options == {"pull": 1e-4, "divergence": 0.1, "rounds": 5, "block": None}
    assert estimate.block == WeightedLeastSquares().fit(problem).block
    assert estimate.seconds > 0.0


def test_a_problem_without_a_nominal_is_refused(trials):
    problem, _ = trials.problem(0)
    with pytest.raises(OptionError, match="nominal robot"):
        fit(replace(problem, nominal=None))


def test_a_parameter_at_its_bound_has_a_one_sided_interval(arm):
    phi = arm.parameters()
    phi[[k for k, name in enumerate(arm.parameter_names) if name.startswith("Fc")]] = 0.0
    frictionless = arm.with_parameters(phi)
    trials, ended, held = Trials(frictionless), 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        tau = joint_torque(frictionless, *trials.state)
        tau = tau + 0.05 * np.sqrt((tau**2).mean(axis=0)) * rng.standard_normal(tau.shape)
        problem = LinearProblem(
            trials.W, tau.ravel(), trials.basis, arm.joint_names, 0.1, perturb(frictionless, rng)
        )
        estimate = fit(problem)
        intervals = confidence_intervals(problem, estimate)
        coulomb = [k for k, name in enumerate(estimate.names) if name.startswith("Fc")]
        ended_names = np.array(estimate.names)[estimate.is_at_bound]
        assert {name[:2] for name in ended_names} <= {"Fv", "Fc", "Ia"}
        zero = [k for k in coulomb if estimate.is_at_bound[k]]
        ended += len(zero)
        assert (intervals.lower[zero] == 0.0).all()
        assert (intervals.upper[zero] > 0.0).all()
        held.append(intervals.covers(trials.basis.project(frictionless.parameters()))[coulomb])
    assert 20 < ended < 60  # of 80, half are below zero by chance
    assert np.mean(held) > 0.93
