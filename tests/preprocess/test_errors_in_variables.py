"""Motion and torque together: right to the bound, with and without much noise, shut samples out."""

from dataclasses import replace

import numpy as np
import pytest
from robots import example_path
from scipy.linalg import solve_triangular

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.errors import OptionError
from robotid_sim.estimation.problem import rows_of
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.errors_in_variables import ErrorsInVariables, inertia_of, slopes_of
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.preprocess.whitening import WhiteningRowFilter, factor_of


def noisy(case, seed=0, encoder=1e-4):
    sensors = (EncoderNoise(revolute=encoder), TorqueNoise())
    return measure(case.log, sensors, np.random.default_rng(seed))


def test_the_factor_is_that_of_the_covariance():
    rng = np.random.default_rng(0)
    N, std = 40, np.linspace(0.5, 2.0, 40)
    slopes = rng.standard_normal((N, 6))
    G = np.zeros((N, N + 5))
    for k in range(N):
        G[k, k : k + 6] = slopes[k]
    bands = factor_of(slopes, std)
    L = sum(np.diag(bands[d, : N - d], -d) for d in range(6))
    np.testing.assert_allclose(L @ L.T, np.diag(std**2) + G @ G.T, atol=1e-12)


def test_rows_are_whitened_before_the_low_pass():
    rng = np.random.default_rng(0)
    N, slopes = 600, rng.standard_normal((600, 6))
    factor = factor_of(slopes, np.ones(N))
    options = {"first": 0, "stop": N, "step": 10, "edge": 20, "cutoff": 0.05}
    row_filter = WhiteningRowFilter(**options, factors=factor[None])
    x = rng.standard_normal((N, 1))
    L = sum(np.diag(factor[d, : N - d], -d) for d in range(6))
    white = solve_triangular(L, x, lower=True)
    plain = WhiteningRowFilter(
        **options, factors=np.pad(np.ones((1, 1, N)), ((0, 0), (0, 5), (0, 0)))
    )
    np.testing.assert_allclose(row_filter.apply(x), plain.apply(white), atol=1e-12)


COUPLED = JointTerm("coupled-joints", "joint_6", (0.015, 0.3, 0.5), 1.0, "joint_5")


@pytest.mark.parametrize("terms", [(), (COUPLED, JointTerm("stribeck", "joint_2", (9.0,), 0.3))])
def test_slopes_are_the_derivatives_of_the_torque(irb140, terms):
    robot, rng = replace(irb140, terms=terms), np.random.default_rng(0)
    q, dq, ddq = 0.5 * rng.standard_normal((3, 8, robot.dof))
    dq[:4] *= 0.1  # friction changes its sign
    slopes = slopes_of(robot, q, dq, ddq, dt=1.0)
    for kind in range(3):
        for j in range(robot.dof):
            sides = []
            for sign in (1.0, -1.0):
                state = [x.copy() for x in (q, dq, ddq)]
                state[kind][:, j] += sign * 1e-6
                sides.append(joint_torque(robot, *state)[:, j])
            derivative = (sides[0] - sides[1]) / 2e-6
            np.testing.assert_allclose(slopes[kind, :, j], derivative, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("encoder", "median", "worst"), [(1e-4, 1.5, 4.5), (1e-3, 1.6, 5.0)])
def test_errors_stay_at_the_bound_with_much_encoder_noise(engine, arm, encoder, median, worst):
    case = engine(arm)
    errors = [
        case.ratio(ErrorsInVariables()(noisy(case, seed, encoder), case.nominal))
        for seed in range(5)
    ]
    rms = np.sqrt((np.array(errors) ** 2).mean(axis=0))
    assert np.median(rms) <= median
    assert rms.max() <= worst


def test_the_smoother_alone_is_far_from_it(engine, arm):
    case = engine(arm)
    log = noisy(case, encoder=1e-3)
    together, smoothed = (
        np.sqrt((case.ratio(x(log, case.nominal)) ** 2).mean())
        for x in (ErrorsInVariables(), RtsSmoother())
    )
    assert together < 0.6 * smoothed


def test_shut_samples_have_no_say(engine, arm):
    case = engine(arm)
    log = noisy(case)
    sound = np.ones(log.q.shape, dtype=bool)
    sound[12_000:12_200] = False
    tau = np.where(sound, log.tau_meas, 1e3)
    wild = type(log)(**{**{f: getattr(log, f) for f in log.__slots__}, "tau_meas": tau})
    tuned = ErrorsInVariables().tuned(log, case.nominal)
    right = case.ratio(tuned.motion(log, case.nominal, sound))
    shut = case.ratio(tuned.motion(wild, case.nominal, sound))
    np.testing.assert_allclose(shut, right, atol=0.5)


def test_a_tuned_one_keeps_model_and_noise(engine, arm):
    case = engine(arm)
    tuned = ErrorsInVariables().tuned(noisy(case, 0), case.nominal)
    again = tuned.tuned(noisy(case, 1), case.nominal)
    assert again is tuned
    assert tuned.noise is not None
    np.testing.assert_allclose(tuned.noise.position, 1e-4, rtol=0.05)


def test_no_round_at_all_is_refused():
    with pytest.raises(OptionError, match="at least 1 round"):
        ErrorsInVariables(rounds=0)


def test_a_few_lost_samples_cost_little(engine, arm):
    case = engine(arm)
    log = noisy(case)
    lost = np.random.default_rng(3).random(log.t.size) < 0.02
    held = np.maximum.accumulate(np.where(lost, 0, np.arange(log.t.size)))
    spoiled = replace(log, q=log.q[held], tau_meas=log.tau_meas[held], truth=None)
    ratios = [case.ratio(Adaptive(delay=0.0)(each, case.nominal)) for each in (log, spoiled)]
    sizes = [np.sqrt((ratio**2).mean()) for ratio in ratios]
    assert sizes[1] < 3.0 * sizes[0]


def test_inertia_is_the_derivative_of_the_torque_by_the_acceleration(irb140):
    robot, rng = replace(irb140, terms=(COUPLED,)), np.random.default_rng(0)
    q, dq, ddq = 0.5 * rng.standard_normal((3, 4, robot.dof))
    inertia = inertia_of(robot, q, dt=1.0)
    for j in range(robot.dof):
        moved = ddq.copy()
        moved[:, j] += 1.0
        change = joint_torque(robot, q, dq, moved) - joint_torque(robot, q, dq, ddq)
        np.testing.assert_allclose(inertia[:, :, j], change, atol=1e-9)


def with_coupled_motors(case):
    """Return a case whose torques are those of a robot with a motor that two joints share."""
    truth = case.log.truth
    tau = truth.tau + terms_torque(case.plant, [COUPLED], truth.q, truth.dq, truth.ddq)
    log = replace(case.log, tau_meas=tau, truth=replace(truth, tau=tau))
    nominal, plant = (replace(robot, terms=(COUPLED,)) for robot in (case.nominal, case.plant))
    return replace(case, log=log, nominal=nominal, plant=plant)


@pytest.mark.slow
@pytest.mark.parametrize("coupled", ["links", "motors"])
def test_more_rounds_leave_no_more_where_inertia_is_coupled(engine, irb140, coupled):
    if coupled == "links":
        path = example_path("talos_data/robots/talos_full_v2.urdf")
        case = engine(load_robot(path, tip="gripper_left_base_link"))
    else:
        case = with_coupled_motors(engine(irb140))
    log = noisy(case)
    tuned = ErrorsInVariables().tuned(log, case.nominal)

    def left(rounds):
        motion = replace(tuned, rounds=rounds)(log, case.nominal)
        model = joint_torque(case.plant, motion.q, motion.dq, motion.ddq)
        return (rows_of(motion, motion.tau - model) ** 2).mean(axis=0)

    np.testing.assert_allclose(left(8), left(3), rtol=0.05)
