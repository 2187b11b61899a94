"""The smoother against a textbook one, its corner by likelihood, and errors that it leaves."""

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
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.errors_in_variables import ErrorsInVariables, inertia_of, slopes_of
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother, likelihood_corner, velocity_noise
from robotid_sim.preprocess.whitening import NODE_OFFSETS, Stencil, WhiteningRowFilter, factor_of

ALL_ROWS = Rows(cutoff=5.0, rate=10.0, tail=0.0, edge=0.0)


def log_of(q, dt, offset=0.0):
    q = np.atleast_2d(q).T if np.ndim(q) == 1 else q
    names = tuple(f"joint_{j}" for j in range(q.shape[1]))
    t = np.arange(len(q)) * dt
    return Log(t, q, np.zeros_like(q), names, ("rad",) * len(names), torque_time_offset=offset)


def textbook_smoother(z, h, corner, offset, R=((1.0,),)):
    """Return the RTS-smoothed states by the formulas of the textbook, with matrices throughout.

    Measured are positions, or rows of position and velocity, with covariance R. Kalman filter in
    Joseph form, then x_s = x + P F^T P_pred^-1 (x_s' - x_pred').
    """
    lam = h * (2.0 * np.pi * corner) ** 6
    F = np.array([[1.0, h, h**2 / 2.0], [0.0, 1.0, h], [0.0, 0.0, 1.0]])
    Q = lam * np.array(
        [
            [h**5 / 20.0, h**4 / 8.0, h**3 / 6.0],
            [h**4 / 8.0, h**3 / 3.0, h**2 / 2.0],
            [h**3 / 6.0, h**2 / 2.0, h],
        ]
    )
    z, R = np.reshape(z, (-1, len(R))), np.array(R)
    H = np.array([[1.0, -offset, offset**2 / 2.0], [0.0, 1.0, -offset]])[: len(R)]
    x, P = np.array([z[0, 0], 0.0, 0.0]), np.diag([1e4, 1e10, 1e12])
    filtered = []
    for k, value in enumerate(z):
        if k:
            x, P = F @ x, F @ P @ F.T + Q
        x_pred, P_pred = x, P
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x = x + K @ (value - H @ x)
        rest = np.eye(3) - K @ H
        P = rest @ P @ rest.T + K @ R @ K.T
        filtered.append((x_pred, P_pred, x, P))
    smoothed = [filtered[-1][2]]
    for k in range(len(z) - 2, -1, -1):
        x_pred, P_pred, _, _ = filtered[k + 1]
        _, _, x, P = filtered[k]
        smoothed.append(x + P @ F.T @ np.linalg.solve(P_pred, smoothed[-1] - x_pred))
    return np.array(smoothed[::-1])


@pytest.mark.parametrize("offset", [0.0, 4e-3])
@pytest.mark.parametrize("corner", [0.8, 3.0, 12.0])
def test_smoother_is_the_textbook_one(arm, corner, offset):
    h, rng = 1e-2, np.random.default_rng(0)
    t = np.arange(300) * h
    z = np.sin(3.0 * t) + 0.3 * np.cos(8.0 * t) + 1e-3 * rng.standard_normal(t.size)
    motion = RtsSmoother(corners=(corner,), rows=ALL_ROWS)(log_of(z, h, offset), arm)
    wanted = textbook_smoother(z, h, corner, offset)
    # The diffuse start of 1e12 times the noise variance leaves some eight digits to both.
    for k, name in enumerate(("q", "dq", "ddq")):
        scale = np.abs(wanted[:, k]).max()
        error = np.abs(getattr(motion, name)[:, 0] - wanted[:, k]).max()
        assert error < 1e-8 * scale, name


def waves(noise, of_velocity, delay=0.0, samples=4000, h=4e-3):
    """Return a log with velocities, and its accelerations."""
    rng, t = np.random.default_rng(0), np.arange(samples) * h

    def at(times, order):
        terms = ((1.0, 3.0), (0.3, 8.0))
        return sum(a * w**order * np.sin(w * times + order * np.pi / 2) for a, w in terms)

    q = at(t, 0) + noise * rng.standard_normal(t.size)
    dq = at(t - delay, 1) + of_velocity * rng.standard_normal(t.size)
    return replace(log_of(q, h), dq=dq[:, None]), at(t, 2)


def test_with_velocities_it_is_the_textbook_one_too(arm):
    log, _ = waves(1e-3, 1e-2, samples=300)
    ratio, delay, sound = velocity_noise(log, 0)
    assert sound.all()
    assert abs(delay) < 1e-3
    found = RtsSmoother(corners=(3.0,), rows=ALL_ROWS)(log, arm)
    z = np.column_stack([log.q, log.dq])
    wanted = textbook_smoother(z, log.dt, 3.0, 0.0, np.diag([1.0, ratio]))
    np.testing.assert_allclose(found.dq[:, 0], wanted[:, 1], atol=1e-2)  # but for that delay


@pytest.mark.parametrize("delay", [0.0, 3e-3])
@pytest.mark.parametrize(("noise", "of_velocity"), [(3e-4, 3e-3), (1e-3, 1e-2)])
def test_velocities_weigh_by_their_noise_and_without_their_delay(arm, noise, of_velocity, delay):
    log, ddq = waves(noise, of_velocity, delay)
    ratio, late, sound = velocity_noise(log, 0)
    # Sums of few steps tell little of a small noise: it is taken for more rather than for less.
    assert 0.6 < ratio / (of_velocity / noise) ** 2 < 4.0
    assert late == pytest.approx(delay, abs=3e-4)
    assert sound.mean() > 0.99
    assert likelihood_corner(log, 0)[1] == pytest.approx(noise, rel=0.1)
    both, alone = (RtsSmoother()(each, arm) for each in (log, replace(log, dq=None)))
    inner = slice(200, -200)
    errors = [np.std(motion.ddq[inner, 0] - ddq[inner]) for motion in (both, alone)]
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("wrong", ["deg", "sign", "zero", "low-passed"])
def test_velocities_that_are_none_have_no_say(arm, wrong):
    log, _ = waves(1e-6, 1e-5)
    kernel = np.ones(25) / 25.0
    low_passed = np.convolve(log.dq[:, 0], kernel, "same")[:, None]
    changed = {"deg": 57.3 * log.dq, "sign": -log.dq, "zero": 0.0 * log.dq}
    log = replace(log, dq=(changed | {"low-passed": low_passed})[wrong])
    assert velocity_noise(log, 0) is None
    both, alone = (RtsSmoother()(each, arm) for each in (log, replace(log, dq=None)))
    np.testing.assert_array_equal(both.ddq, alone.ddq)


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0, 1.3])
def test_steady_gain_is_that_of_a_butterworth_of_order_three(arm, share):
    corner, dt = 5.0, 1e-3
    t = np.arange(20_000) * dt
    w = 2.0 * np.pi * share * corner
    motion = RtsSmoother(corners=(corner,))(log_of(np.sin(w * t), dt), arm)
    middle = slice(5000, 15_000)  # 25 time constants from both ends
    waves = np.column_stack([np.sin(w * t[middle]), np.cos(w * t[middle])])
    in_phase, shifted = np.linalg.lstsq(waves, motion.q[middle, 0], rcond=None)[0]
    gain = 1.0 / (1.0 + share**6)
    within = 0.01  # the closed form is for a sample time far below 1/corner
    assert in_phase == pytest.approx(gain, rel=within)
    assert abs(shifted) < within * gain


@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-3])
def test_likelihood_finds_the_encoder_noise_of_simulated_motion(experiment, irb140, noise):
    log = experiment(irb140).log
    noisy = EncoderNoise(revolute=noise)(log, np.random.default_rng(0))
    found = [likelihood_corner(noisy, j)[1] for j in range(noisy.dof)]
    # The motion is not a random jerk; 1 % was measured (calibration.md section 2).
    np.testing.assert_allclose(found, noise, rtol=0.05)


def test_corners_fall_as_the_noise_rises(experiment, irb140):
    log = experiment(irb140).log
    corners = []
    for noise in (1e-5, 1e-4, 1e-3):
        noisy = EncoderNoise(revolute=noise)(log, np.random.default_rng(0))
        corners.append([likelihood_corner(noisy, j)[0] for j in range(0, noisy.dof, 3)])
    assert (np.diff(corners, axis=0) < 0.0).all()


def test_corner_is_that_of_largest_likelihood_for_a_random_jerk():
    rng = np.random.default_rng(0)
    dt, corner, noise = 1e-2, 4.0, 1e-3
    jerk = (
        noise * (2.0 * np.pi * corner) ** 3 * rng.standard_normal(20_000)
    )  # per step, r = noise^2
    ddq = np.cumsum(jerk) * dt
    dq = np.cumsum(ddq) * dt
    q = np.cumsum(dq) * dt + noise * rng.standard_normal(ddq.size)
    found, encoder = likelihood_corner(log_of(q, dt), 0)
    assert found == pytest.approx(corner, rel=0.05)  # 20,000 samples determine it to about 1 %
    assert encoder == pytest.approx(noise, rel=0.03)


def test_factor_multiplies_the_corner_of_largest_likelihood(experiment, arm):
    virtual = experiment(arm)
    noisy = EncoderNoise()(virtual.log, np.random.default_rng(0))
    likely = np.array([likelihood_corner(noisy, j)[0] for j in range(noisy.dof)])
    for factor in (1.0, 3.0):
        tuned = RtsSmoother(corner_factor=factor).tune(noisy, virtual.nominal)
        np.testing.assert_allclose(tuned.corners, factor * likely, rtol=1e-12)
    default = RtsSmoother().tune(noisy, virtual.nominal)
    np.testing.assert_allclose(default.corners, 2.0 * likely, rtol=1e-12)


def test_fixed_corners_are_taken_as_they_are(experiment, arm):
    virtual = experiment(arm)
    fixed = RtsSmoother(corners=(10.0, 20.0), corner_factor=7.0)
    assert fixed.tune(virtual.log, virtual.nominal) is fixed


def test_motion_is_that_of_the_torque_time():
    dt, offset, w = 1e-3, 3.75e-4, 2.0 * np.pi * 0.5
    t = np.arange(10_000) * dt
    log = log_of(np.sin(w * t), dt, offset)
    motion = RtsSmoother(corners=(50.0,))(log, None)
    middle = slice(1000, -1000)
    late = t[middle] + offset
    # The smoother itself loses (0.5/50)^6 = 1e-12 of the wave; the rest is rounding, which the
    # corner of 50 Hz amplifies by some 300 per derivative. Without the offset q errs by 1e-3.
    assert np.abs(motion.q[middle, 0] - np.sin(w * late)).max() < 1e-9
    assert np.abs(motion.dq[middle, 0] - w * np.cos(w * late)).max() < 1e-8
    assert np.abs(motion.ddq[middle, 0] + w**2 * np.sin(w * late)).max() < 1e-6
    assert np.abs(motion.q[middle, 0] - np.sin(w * t[middle])).max() > 1e-3


def test_constant_acceleration_passes_unchanged(arm):
    t = np.arange(3000) * 1e-2
    log = log_of(0.2 - 0.5 * t + 0.05 * t**2, 1e-2)
    motion = RtsSmoother(corners=(2.0,))(log, arm)
    # Eight digits remain of the diffuse start; positions reach 30 rad.
    np.testing.assert_allclose(motion.q, log.q, atol=1e-6)
    np.testing.assert_allclose(motion.dq[:, 0], -0.5 + 0.1 * t, atol=1e-6)
    np.testing.assert_allclose(motion.ddq, 0.1, atol=1e-6)


def test_joints_are_smoothed_alone(arm):
    rng = np.random.default_rng(0)
    q = np.cumsum(rng.standard_normal((3000, 3)) * 1e-3, axis=0)
    corners = (3.0, 10.0, 25.0)
    together = RtsSmoother(corners=corners)(log_of(q, 1e-3), arm)
    for j in range(3):
        alone = RtsSmoother(corners=corners[j : j + 1])(log_of(q[:, j], 1e-3), arm)
        np.testing.assert_array_equal(together.ddq[:, j], alone.ddq[:, 0])


def test_every_joint_needs_a_corner(arm):
    with pytest.raises(OptionError, match="2 corners for 1 joints"):
        RtsSmoother(corners=(1.0, 2.0))(log_of(np.zeros(3000), 1e-3), arm)


@pytest.mark.parametrize(
    "options",
    [
        {"corner_factor": 0.0},
        {"corner_factor": -1.0},
        {"corner_factor": float("nan")},
        {"corners": (1.0, 0.0)},
        {"corners": (float("nan"),)},
    ],
)
def test_corners_must_be_positive(options):
    with pytest.raises(OptionError, match="must be positive"):
        RtsSmoother(**options)


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


@pytest.mark.slow
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
    tuned = ErrorsInVariables().tune(log, case.nominal)
    right = case.ratio(tuned.motion(log, case.nominal, sound))
    shut = case.ratio(tuned.motion(wild, case.nominal, sound))
    np.testing.assert_allclose(shut, right, atol=0.5)


def test_a_tuned_one_keeps_model_and_noise(engine, arm):
    case = engine(arm)
    tuned = ErrorsInVariables().tune(noisy(case, 0), case.nominal)
    again = tuned.tune(noisy(case, 1), case.nominal)
    assert again is tuned
    assert tuned.noise is not None
    np.testing.assert_allclose(tuned.noise.position, 1e-4, rtol=0.05)


def test_no_round_at_all_is_refused():
    with pytest.raises(OptionError, match="at least 1 round"):
        ErrorsInVariables(rounds=0)


@pytest.mark.slow
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
    tuned = ErrorsInVariables().tune(log, case.nominal)

    def left(rounds):
        motion = replace(tuned, rounds=rounds)(log, case.nominal)
        model = joint_torque(case.plant, motion.q, motion.dq, motion.ddq)
        return (rows_of(motion, motion.tau - model) ** 2).mean(axis=0)

    np.testing.assert_allclose(left(8), left(3), rtol=0.05)


DT = 0.02


def quintic(t):
    """Return a polynomial that six samples determine, with its derivatives, columns of one."""
    p = np.polynomial.Polynomial([0.3, -1.0, 2.0, 0.7, -3.0, 1.5])
    return [p.deriv(k)(t)[:, None] if k else p(t)[:, None] for k in range(3)]


def log(offset, uneven):
    t = np.arange(50) * DT
    even = replace(log_of(quintic(t)[0], DT), torque_time_offset=offset)
    if not uneven:
        return even
    late = np.random.default_rng(0).uniform(-0.5, 0.5, t.size) * DT
    return replace(even, torque_times=t + late)


@pytest.mark.parametrize("offset", [0.0, 0.7 * DT, -2.3 * DT])
@pytest.mark.parametrize("uneven", [False, True])
def test_differences_of_a_quintic_are_exact_at_the_torque_times(offset, uneven):
    it = log(offset, uneven)
    inner = slice(8, -8)
    for found, exact in zip(
        Stencil.from_log(it).motion(it.q), quintic(it.action_times), strict=True
    ):
        assert np.allclose(found[inner], exact[inner], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("uneven", [False, True])
def test_slopes_are_those_of_a_torque_by_its_samples(uneven):
    it, rng = log(0.3 * DT, uneven), np.random.default_rng(0)
    stencil, partial = Stencil.from_log(it), rng.standard_normal((3, it.t.size, 1))
    slopes = stencil.slopes(partial)
    assert slopes.shape == (it.t.size, 1, NODE_OFFSETS.size)
    n = np.zeros_like(it.q)
    n[8:-8] = rng.standard_normal((it.t.size - 16, 1))
    torque = sum(p * x for p, x in zip(partial, stencil.motion(n), strict=True))
    x = rng.standard_normal(n.shape)
    adjoint = stencil.apply_transposed(slopes, x)
    assert (adjoint * n).sum() == pytest.approx((x * torque).sum(), rel=1e-9)
