"""Friction's shape and gravity are found beside the linear parameters; wrong ones are named."""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.diagnostics.transition_velocity import check_transition_velocity
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError
from robotid_sim.estimation.friction_fit import (
    eps_errors,
    estimate_eps,
    raise_row_rate,
    revise_eps,
    set_eps,
)
from robotid_sim.estimation.gravity_fit import (
    gravity_columns,
    gravity_errors,
    refine_gravity,
    revise_gravity,
)
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.variable_projection import Projection, SeparableProblem
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.validation.fit_tests import residual_noise

SEEDS = range(5)

RATE = 100.0
"""Samples of the 10 s of exact motion [Hz]."""

LONG = np.sqrt(10.0 * RATE / (20.0 * 1000.0))
"""Noise share with which those say as much as 20 s at 1 kHz, the standard log, at 1 %."""


@pytest.fixture(scope="module")
def data(exact, irb140):
    return exact(irb140, RATE)


def noisy(data, seed, share=LONG):
    return data.motion(data.tau + share * data.white(np.random.default_rng(seed)))


def fit(motion, nominal, basis):
    problem = build_problem(motion, nominal, basis)
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


@pytest.fixture(scope="module", params=[2.0, 0.5])
def fits(request, data):
    """Return per seed what is estimated from a wrong eps, and the fit with the known one."""
    wrong = set_eps(data.robot, request.param * data.robot.eps)
    motions = [noisy(data, seed) for seed in SEEDS]
    return [(estimate_eps(m, wrong, data.basis), fit(m, data.robot, data.basis)) for m in motions]


class TestEps:
    @pytest.mark.slow
    def test_it_is_found_from_twice_and_half(self, data, fits):
        errors = np.array([found.eps / data.robot.eps - 1.0 for found, _ in fits])
        assert all(found.success and all(found.identifiable) for found, _ in fits)
        assert np.sqrt((errors**2).mean(axis=0)).max() < 0.06  # the shoulder; others 1-3 %
        stds = np.array([found.std / data.robot.eps for found, _ in fits])
        assert 0.6 < np.sqrt((errors**2 / stds**2).mean()) < 1.5  # 30 values scatter by 13 %

    @pytest.mark.slow
    def test_it_costs_the_linear_parameters_little(self, data, fits):
        known = np.array([(k.beta - data.beta) / k.std for _, k in fits])
        found = np.array([(f.estimate.beta - data.beta) / k.std for f, k in fits])
        assert np.sqrt((found**2).mean()) < 1.3 * np.sqrt((known**2).mean())
        ratios = [np.diag(f.estimate.cov_white) / np.diag(k.cov_white) for f, k in fits]
        assert np.sqrt(np.max(ratios)) < 1.3
        assert np.sqrt(np.min(ratios)) > 0.98  # what is not known cannot help; sigma scatters

    def test_the_noise_is_that_of_the_known_one(self, fits):
        for found, known in fits:
            np.testing.assert_allclose(found.estimate.noise_std, known.noise_std, rtol=0.01)

    def test_the_linear_part_is_weighted_least_squares_at_the_estimate(self, data, fits):
        found, motion = fits[0][0], noisy(data, SEEDS[0])
        again = fit(motion, set_eps(data.robot, found.eps), data.basis)
        assert (np.abs(found.estimate.beta - again.beta) / again.std).max() < 0.03


@pytest.mark.parametrize("factor", [0.15, 30.0, 300.0])
def test_eps_is_found_from_decades_away(data, factor):
    wrong = set_eps(data.robot, factor * data.robot.eps)
    found = estimate_eps(noisy(data, 0), wrong, data.basis)
    assert all(found.identifiable)
    assert not any(found.one_sided)
    errors = found.eps / data.robot.eps - 1.0
    assert np.abs(errors).max() < 0.15
    assert (np.abs(errors) < 4.0 * found.std / data.robot.eps).all()


def test_a_sign_that_switches_at_once_is_one_sided(data):
    robot, dq = data.robot, data.state[1]
    coulomb = np.array([joint.friction.Fc for joint in robot.joints])
    sharp = data.tau + coulomb * (np.sign(dq) - np.tanh(dq / robot.eps))
    motion = data.motion(sharp + LONG * data.white(np.random.default_rng(0)))
    found = estimate_eps(motion, robot, data.basis)
    assert found.success
    assert all(found.identifiable)
    assert (found.eps < 0.2 * robot.eps).all()
    limits = np.array(found.one_sided)
    assert limits.any()
    assert np.isnan(found.std[limits]).all()
    assert "or less in the log, 0.03 in the model" in found.sentences()[int(limits.argmax())]
    known = fit(motion, set_eps(robot, 1e-3 * robot.eps), data.basis)
    assert found.estimate.noise_std == pytest.approx(known.noise_std, rel=0.05)


class TestRevision:
    """The transition velocity is taken where the log shows another, joint by joint."""

    def test_the_right_velocities_stay(self, data):
        assert all(revise_eps(noisy(data, s), data.robot, data.basis) is None for s in SEEDS)

    @pytest.mark.parametrize("factor", [0.1, 0.5, 2.0, 10.0])
    def test_wrong_ones_are_found_where_they_are(self, data, factor):
        eps = np.array(data.robot.eps)
        eps[[1, 4]] *= factor
        found = revise_eps(noisy(data, 0), set_eps(data.robot, eps), data.basis)
        assert np.flatnonzero(found.identifiable).tolist() == [1, 4]
        np.testing.assert_allclose(found.eps, data.robot.eps, rtol=0.15)

    def test_a_base_without_coulomb_friction_shows_none(self, data):
        basis = base_parameters(data.robot, ("Fv", "Ia"))
        assert revise_eps(noisy(data, 0), data.robot, basis) is None

    def test_intervals_hold_what_is_unknown_of_it(self, data):
        """Errors of the velocities alone, over many seeds, are those of the random effects."""
        wrong = set_eps(data.robot, 2.0 * data.robot.eps)
        motion = noisy(data, 0)
        found = revise_eps(motion, wrong, data.basis)
        rows = build_problem(motion, set_eps(wrong, found.eps), data.basis)
        columns = eps_errors(found, rows, motion, found.estimate.beta)
        assert columns.shape == (len(rows.y), data.robot.dof)
        exact = build_problem(motion, data.robot, data.basis)
        torque = (exact.W - rows.W) @ data.beta
        size = np.linalg.norm(torque) / np.linalg.norm(columns)
        assert 0.2 < size < 3.0


@pytest.mark.slow
def test_joints_without_coulomb_friction_keep_their_eps(exact, iiwa):
    data = exact(iiwa, 100.0)
    assert all(joint.friction.Fc == 0.0 for joint in iiwa.joints)
    wrong = set_eps(iiwa, 2.0 * iiwa.eps)
    found = estimate_eps(noisy(data, 0), wrong, data.basis)
    assert sum(found.identifiable) <= 1  # a friction that is all noise may be significant by chance
    hidden = ~np.array(found.identifiable)
    np.testing.assert_array_equal(found.eps[hidden], wrong.eps[hidden])
    assert np.isnan(found.std[hidden]).all()
    assert found.estimate.success
    assert len(found.sentences()) == sum(found.identifiable)


def test_eps_without_coulomb_parameters_is_refused(arm, exact):
    data = exact(arm, 100.0)
    basis = base_parameters(arm, ("Fv", "Ia"))
    with pytest.raises(OptionError, match="identifiable only with Fc"):
        estimate_eps(noisy(data, 0), arm, basis)


def test_slopes_are_the_derivatives_of_the_signs(arm, exact):
    motion = noisy(exact(arm, 100.0), 0)
    problem = SeparableProblem(build_problem(motion, arm, base_parameters(arm)), motion)
    eps, h = 1.3 * arm.eps, 1e-6
    numeric = (problem.signs(eps * np.exp(h)) - problem.signs(eps * np.exp(-h))) / (2 * h)
    np.testing.assert_allclose(problem.slopes(eps), numeric, atol=1e-8)  # rounding over h


def test_projection_is_the_residual_of_the_whole_fit(arm, exact):
    data = exact(arm, 100.0)
    motion = noisy(data, 0)
    problem = SeparableProblem(build_problem(motion, arm, data.basis), motion)
    weights, every, eps = 1.0 / data.noise, np.arange(arm.dof), 1.2 * arm.eps
    residual = Projection(problem, weights, every, eps).residual(np.log(eps))
    whole = problem.design(eps)
    row = np.tile(weights, whole.samples)
    solved = np.linalg.lstsq(whole.W * row[:, None], whole.y * row, rcond=None)[0]
    wanted = (whole.y - whole.W @ solved) * row
    np.testing.assert_allclose(residual, wanted, atol=1e-8 * np.abs(wanted).max())


class TestSuspicion:
    @pytest.mark.parametrize("factor", [2.0, 0.5])
    def test_a_wrong_eps_is_named(self, data, factor):
        wrong = set_eps(data.robot, factor * data.robot.eps)
        suspicion = check_transition_velocity(noisy(data, 0), wrong, data.basis)
        above = suspicion.noise_nominal / (
            LONG * data.noise
        )  # what the check of the residuals sees
        assert above.max() > 2.0
        assert set(suspicion.doubtful_joints) >= set(np.array(data.robot.joint_names)[above > 1.25])
        assert all(name in " ".join(suspicion.sentences()) for name in suspicion.doubtful_joints)

    def test_one_wrong_joint_is_told_from_the_others(self, data):
        eps = np.array(data.robot.eps)
        eps[3] *= 2.0
        suspicion = check_transition_velocity(noisy(data, 0), set_eps(data.robot, eps), data.basis)
        assert suspicion.doubtful_joints == (data.robot.joint_names[3],)

    @pytest.mark.parametrize("seed", range(4))
    def test_the_right_eps_is_not_suspected(self, data, seed):
        suspicion = check_transition_velocity(noisy(data, seed), data.robot, data.basis)
        assert suspicion.doubtful_joints == ()
        assert "the cause is different" in suspicion.sentences()[0]

    def test_another_error_is_not_blamed_on_it(self, data):
        """A torque that comes 10 ms late makes residuals, but eps does not explain them."""
        late = np.roll(data.tau, 1, axis=0) + LONG * data.white(np.random.default_rng(0))
        suspicion = check_transition_velocity(data.motion(late), data.robot, data.basis)
        assert (suspicion.noise_nominal > 1.25 * LONG * data.noise).any()
        assert len(suspicion.doubtful_joints) <= 1


SENSORS = (EncoderNoise(), TorqueNoise())
NOISE_RATIO = 1.25
"""Limit of the verdict."""


@pytest.fixture(scope="module", params=sampled(("irb140", "geared_iiwa"), "irb140"))
def run(request, experiment):
    return experiment(request.getfixturevalue(request.param))


@pytest.fixture(scope="module", params=sampled((2.0, 0.5), 2.0))
def wrong(request, run):
    return set_eps(run.nominal, request.param * run.nominal.eps)


@pytest.fixture(scope="module")
def logs(run):
    return [measure(run.log, SENSORS, np.random.default_rng(seed)) for seed in range(6)]


@pytest.mark.slow
def test_the_check_of_the_residuals_fails_and_eps_is_named(run, wrong, logs):
    preprocessor = RtsSmoother().tune(logs[0], wrong)
    rngs = [np.random.default_rng([9, k]) for k in range(5)]
    motion = preprocessor(logs[0], wrong)
    problem = build_problem(motion, wrong, run.basis)
    args = (logs[0], SENSORS, preprocessor, motion, problem, WeightedLeastSquares(), rngs)
    noise = residual_noise(run.plant, wrong, *args)
    assert noise.ratio.max() > NOISE_RATIO
    worst = run.plant.joint_names[int(noise.ratio.argmax())]
    suspicion = check_transition_velocity(motion, wrong, run.basis)
    assert worst in suspicion.doubtful_joints
    right = check_transition_velocity(preprocessor(logs[0], run.nominal), run.nominal, run.basis)
    assert right.doubtful_joints == ()


@pytest.mark.slow
def test_it_is_estimated_and_costs_the_linear_parameters_little(run, wrong, logs):
    truth = run.basis.project(run.plant.parameters())
    eps, found, known = [], [], []
    for log in logs:
        motion = RtsSmoother()(log, wrong)
        revised = estimate_eps(raise_row_rate(motion), wrong, run.basis)
        assert revised.success
        assert all(revised.identifiable)
        best = fit(motion, run.nominal, run.basis)
        own = fit(motion, set_eps(wrong, revised.eps), run.basis)
        eps.append(revised.eps / run.plant.eps - 1.0)
        found.append((own.beta - truth) / best.std)
        known.append((best.beta - truth) / best.std)
    assert np.sqrt(np.square(eps).mean(axis=0)).max() < 0.06
    assert np.sqrt(np.square(found).mean()) < 1.3 * np.sqrt(np.square(known).mean())


@pytest.mark.slow
def test_the_truth_is_not_looked_at(run, wrong, logs):
    blind = replace(logs[0], truth=None)
    fits = [estimate_eps(RtsSmoother()(log, wrong), wrong, run.basis) for log in (logs[0], blind)]
    assert fits[0].eps.tobytes() == fits[1].eps.tobytes()
    assert fits[0].estimate.beta.tobytes() == fits[1].estimate.beta.tobytes()


SHARE = 0.1
"""Noise of the rows over 1 % of the RMS torque: as behind the low-pass of the rows."""


def turned(gravity, degrees):
    """Return gravity on a base that leans about an axis between x and y."""
    angle, side = np.radians(degrees), np.radians(40.0)
    down = [np.sin(angle) * np.cos(side), np.sin(angle) * np.sin(side), -np.cos(angle)]
    return np.linalg.norm(gravity) * np.array(down)


def motion_of(case, gravity, seed=0):
    """Return the motion of a robot in another gravity than the model's."""
    robot: Robot = replace(case.robot, gravity=gravity)
    tau = joint_torque(robot, *case.state)
    return case.motion(tau + SHARE * case.white(np.random.default_rng(seed)))


def revised(case, gravity, seed=0):
    return revise_gravity(motion_of(case, gravity, seed), case.robot, case.basis)


def test_the_right_gravity_stays(case):
    assert all(revised(case, case.robot.gravity, seed) is None for seed in range(10))


@pytest.mark.parametrize("degrees", [0.3, 1.0, 5.0])
def test_a_tilted_base_is_found_with_its_own_base_parameters(case, degrees):
    gravity = turned(case.robot.gravity, degrees)
    fit = revised(case, gravity)
    std = np.sqrt(np.diag(fit.cov))
    assert np.all(np.abs(fit.robot.gravity - gravity)[:2] < 4.0 * std[:2].max())
    assert std[2] == 0.0
    assert np.linalg.norm(fit.robot.gravity) == pytest.approx(np.linalg.norm(gravity))
    assert fit.basis.rank == case.basis.rank + 2  # first moments of the link on the vertical axis
    (text,) = fit.sentences()
    assert f"{degrees:.2g}"[:2] in text
    assert "the base is tilted" in text


@pytest.mark.parametrize("factor", [0.97, 1.04])
def test_another_strength_is_found_and_may_be_the_clock(case, factor):
    fit = revised(case, factor * case.robot.gravity)
    assert fit.excess == pytest.approx(factor - 1.0, abs=0.003)
    assert fit.angle == pytest.approx(0.0, abs=1e-9)
    assert fit.basis.rank == case.basis.rank
    (text,) = fit.sentences()
    assert ("weaker" in text) == (factor < 1.0)
    assert ("fast" in text) == (factor < 1.0)


def test_a_slow_clock_is_gravity_of_another_strength(case):
    """With times c t, torques are those of inertia c^2 phi in gravity g over c^2."""
    c = 0.98
    tau = case.tau + SHARE * case.white(np.random.default_rng(0))
    motion = case.motion(tau)
    slow = replace(motion, t=c * motion.t, dq=motion.dq / c, ddq=motion.ddq / c**2)
    fit = revise_gravity(slow, case.robot, case.basis)
    assert fit.excess == pytest.approx(c**-2 - 1.0, abs=0.003)
    problem = build_problem(slow, fit.robot, fit.basis)
    beta = WeightedLeastSquares().fit(problem).beta
    true = fit.basis.project(case.robot.parameters())
    moments = [k for k, name in enumerate(fit.basis.names) if name.startswith("m")]
    std = WeightedLeastSquares().fit(problem).std[moments]
    far = np.abs(beta[moments] - c**2 * true[moments])
    assert np.all(far < 5.0 * std + 0.002 * np.abs(true[moments]))  # of the strength
    # One deviation of the random effects is what a clock would be wrong by.
    widened = replace(problem, random=gravity_errors(fit, problem, slow, beta))
    std = WeightedLeastSquares().fit(widened).std
    assert (np.abs(beta - true) < 2.0 * std).mean() > 0.9


def test_columns_are_the_derivatives_of_the_torque(case):
    motion = motion_of(case, case.robot.gravity)
    problem = build_problem(motion, case.robot, case.basis)
    columns = gravity_columns(problem, motion, case.beta)
    assert columns.shape == (len(motion.t), case.robot.dof, 3)
    along = np.linalg.norm(case.robot.gravity) * columns[:, :, 2]
    still = np.zeros_like(motion.q)
    no_friction = case.robot.with_parameters(case.robot.parameters())
    weight = joint_torque(no_friction, motion.q, still, still) - joint_torque(
        replace(no_friction, gravity=np.zeros(3)), motion.q, still, still
    )
    np.testing.assert_allclose(along, weight, atol=1e-6 * np.abs(weight).max())


def test_another_motion_of_the_log_refines_it(case):
    gravity = turned(case.robot.gravity, 1.0)
    fit = revised(case, gravity, seed=0)
    again = refine_gravity(fit, motion_of(case, gravity, seed=1))
    assert np.degrees(again.angle) == pytest.approx(1.0, abs=0.05)


def test_a_robot_without_gravity_has_none_to_revise(case):
    floating = replace(case.robot, gravity=np.zeros(3))
    assert revise_gravity(motion_of(case, np.zeros(3)), floating, case.basis) is None
