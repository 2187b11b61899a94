"""Computed torque and PD with gravity, integral action, observer, delay, and the loop."""

from dataclasses import replace

import numpy as np
import pytest
from loops import DT, INERTIA, loop_gains, regulate, some_state, turntable_robot
from robots import TIPS, urdf_path

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.controller import Controller, DelayedController, Setpoint
from robotid_sim.control.linear_feedback import (
    MAX_BANDWIDTH_RATIO,
    MIN_BANDWIDTH,
    ComputedTorque,
    GravityPd,
    Pid,
    excitation_bandwidth,
    friction_inertia,
)
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.control.sliding_memory import AdaptiveSlidingMode, IntegralSlidingMode
from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import (
    effective_inertia,
    gravity_torque,
    joint_torque,
    mass_matrix,
)
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.joint import Friction
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.verdict import limits_used
from robotid_sim.tasks.path import Lap, make_tracking_path
from robotid_sim.trajectory.reference import PointToPoint


@pytest.mark.parametrize("name", ["irb140", "irb120", "rs010n", "ur5", "panda", "iiwa"])
def test_industrial_arms_have_the_slowest(name):
    assert excitation_bandwidth(Robot.from_urdf(urdf_path(name)), 1000.0) == MIN_BANDWIDTH


def test_links_of_50_g_have_the_fastest_that_the_rate_admits():
    arm = Robot.from_urdf(urdf_path("so100"))
    for rate in (500.0, 1000.0):
        assert excitation_bandwidth(arm, rate) == MAX_BANDWIDTH_RATIO * rate
    assert excitation_bandwidth(arm, 1e5) < MAX_BANDWIDTH_RATIO * 1e5


def test_dry_friction_without_a_rotor_needs_the_fastest_too():
    """The gripper of a Z1 has 1 N m of dry friction on 3e-4 kg m^2."""
    arm = Robot.from_urdf(urdf_path("z1"))
    assert excitation_bandwidth(arm, 1000.0) == MAX_BANDWIDTH_RATIO * 1000.0
    smooth = Robot.from_urdf(urdf_path("z1"), urdf_friction=False)
    assert excitation_bandwidth(smooth, 1000.0) == MIN_BANDWIDTH


def test_friction_counts_as_inertia_where_there_is_less():
    arm = Robot.from_urdf(urdf_path("z1"))
    inertia = friction_inertia(arm, 1000.0)
    viscous = np.array([joint.friction.Fv for joint in arm.joints])
    lightest = effective_inertia(arm, random_states(arm)[0][:200]).min(axis=0)
    assert (inertia > 0.0).tolist() == [False] * 5 + [True] * 2
    np.testing.assert_allclose((lightest + inertia)[5:], viscous[5:] / 1000.0, rtol=1e-12)
    assert not friction_inertia(load_robot("irb140"), 1000.0).any()


def test_feedback_alone_counts_on_the_added_inertia():
    arm, inertia = load_robot("irb140"), np.linspace(0.1, 0.6, 6)
    rng = np.random.default_rng(0)
    q, dq, *setpoint = rng.uniform(-1.0, 1.0, (5, 6))
    law, wanted = ComputedTorque(arm, 900.0, 60.0), Setpoint(*setpoint)
    more = replace(law, feedback_inertia=inertia)
    feedback = 60.0 * (wanted.dq - dq) + 900.0 * (wanted.q - q)
    added = more(0.0, q, dq, wanted) - law(0.0, q, dq, wanted)
    np.testing.assert_allclose(added, inertia * feedback, rtol=1e-9)
    with pytest.raises(ShapeError, match="feedback_inertia"):
        ComputedTorque(arm, feedback_inertia=np.ones(3))


def test_without_gravity_nothing_is_needed():
    arm = Robot.from_urdf(urdf_path("so100"), gravity=[0.0, 0.0, 0.0])
    assert excitation_bandwidth(arm, 1000.0) == MIN_BANDWIDTH


@pytest.mark.parametrize(
    ("given", "kp", "kd"),
    [({}, 2500.0, 100.0), ({"kp": 900.0}, 900.0, 60.0), ({"kp": 900.0, "kd": 50.0}, 900.0, 50.0)],
)
def test_the_configuration_has_the_last_word(given, kp, kd):
    controller = build_setup("twolink", load_config(None, {"experiment": given})).cell.controller
    assert (controller.kp, controller.kd) == (kp, kd)


@pytest.mark.slow
def test_a_light_arm_keeps_the_velocity_of_its_motion():
    """With the slowest loop the gripper of this study is at 103 % of its limit; designed are 90."""
    setup = build_setup(str(urdf_path("so100")), load_config(None, {"seed": 7}).quick())
    log = run_experiment(setup.cell, setup.unseen, np.random.default_rng(0))
    error = setup.unseen(log.t).dq - log.truth.dq
    kept = log.t >= 0.0
    assert (np.abs(error[kept]).max(axis=0) < 0.06 * setup.cell.plant.limits.velocity).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["z1", "tiago"])
def test_a_joint_of_friction_and_no_rotor_keeps_its_limits(name):
    """With gains in proportion to its inertia alone, and at the slowest for the Z1, a wrist of the
    TIAGo is at 105 % of a limit in this study, the gripper of the Z1 at 118 %; designed are 90."""
    config = load_config(None, {"seed": 4, "robot": {"tip": TIPS.get(name)}}).quick()
    setup = build_setup(str(urdf_path(name)), config)
    log = run_experiment(setup.cell, setup.unseen, np.random.default_rng(0))
    assert limits_used(setup.cell.plant, log, log.t >= 0.0) < 0.95


def test_without_error_the_torque_is_the_inverse_dynamics(robot):
    q, dq, ddq = some_state(robot, 1)
    tau = ComputedTorque(robot)(0.0, q, dq, Setpoint(q, dq, ddq))
    wanted = joint_torque(robot, q, dq, ddq)
    np.testing.assert_allclose(tau, wanted, rtol=1e-12, atol=1e-10)  # rounding


def test_errors_pass_through_mass_and_gains(robot):
    q, dq, ddq = some_state(robot, 2)
    e, de = some_state(robot, 3)[1:]
    controller = ComputedTorque(robot, kp=400.0, kd=40.0)
    with_error = controller(0.0, q - e, dq, Setpoint(q, dq, ddq))
    without = controller(0.0, q - e, dq, Setpoint(q - e, dq, ddq))
    M = mass_matrix(robot, q - e)
    scale = np.abs(M).max() * 400.0
    rounding = 1e-12 * max(scale, 1.0)
    np.testing.assert_allclose(with_error - without, M @ (400.0 * e), atol=10 * rounding)
    rate = controller(0.0, q, dq - de, Setpoint(q, dq - de, ddq + 40.0 * de))
    damped = controller(0.0, q, dq - de, Setpoint(q, dq, ddq))
    friction = joint_torque(robot, q, dq, 0 * q) - joint_torque(robot, q, dq - de, 0 * q)
    rigid = replace(robot, joints=tuple(replace(j, friction=Friction()) for j in robot.joints))
    friction -= joint_torque(rigid, q, dq, 0 * q) - joint_torque(rigid, q, dq - de, 0 * q)
    # The damped law differs only by friction, which is taken at the reference velocity.
    np.testing.assert_allclose(damped - rate, friction, atol=100 * rounding)


def test_exact_model_tracks_to_the_held_torque(arm):
    options = FourierOptions(period=5.0, periods=1)
    trajectory = random_feasible(arm, np.random.default_rng(0), options)
    with Plant(arm) as plant:
        log = rollout(plant, ComputedTorque(arm), trajectory)
    error = np.abs(log.q - trajectory(log.t).q).max()
    # A torque held over dt is dt/2 late on average: e = (d tau/dt / M) dt / (2 kp), at friction
    # reversals some 500 rad/s^3 * 1e-3 / 5000 = 1e-4 rad (4e-5 measured).
    assert error < 1e-4


@pytest.mark.slow
def test_error_of_a_wrong_model_is_bounded_by_the_torque_mismatch(experiment, arm):
    virtual = experiment(arm)
    reference = virtual.trajectory(virtual.log.t)
    error = np.abs(virtual.log.q - reference.q).max(axis=0)
    state = (reference.q, reference.dq, reference.ddq)
    mismatch = joint_torque(virtual.plant, *state) - joint_torque(virtual.nominal, *state)
    M = mass_matrix(virtual.nominal, reference.q)
    wanted = np.linalg.solve(M, mismatch[..., None])[..., 0]
    # e = (s^2 + kd s + kp)^-1 M^-1 mismatch, whose largest gain is 1/kp; friction at the true
    # velocity instead of the reference adds to the mismatch, hence the factor.
    assert (error < 2.0 * np.abs(wanted).max(axis=0) / 2500.0).all()
    assert (error > 1e-4).all()  # the nominal is wrong indeed


def test_an_error_decays_like_a_critically_damped_oscillator(arm):
    frictionless = replace(arm, joints=tuple(replace(j, friction=Friction()) for j in arm.joints))
    start, goal = np.array([0.02, -0.01]), np.zeros(2)
    controller = ComputedTorque(frictionless)
    with Plant(frictionless) as plant:
        plant.reset(start, np.zeros(2))
        path = []
        for k in range(150):
            path.append(plant.q)
            plant.step(controller(k * plant.dt, plant.q, plant.dq, Setpoint(goal, goal, goal)))
    t = np.arange(150)[:, None] * 1e-3
    wanted = start * (1.0 + 50.0 * t) * np.exp(-50.0 * t)
    # The hold delays the loop by dt/2 of its time constant 1/50 s: 2.5 %, at most twice.
    assert np.abs(np.array(path) - wanted).max() < 0.05 * np.abs(start).max()


def test_friction_follows_the_reference_and_not_the_noise(arm):
    q = some_state(arm, 4)[0]
    controller = ComputedTorque(arm, kp=0.0, kd=0.0)
    still, creeping = (
        controller(0.0, q, v, Setpoint(q, np.zeros(2), np.zeros(2)))
        for v in (np.zeros(2), np.full(2, 1e-6))
    )
    # Coulomb friction at the measured velocity would change by Fc 1e-6 / eps = 1e-4 N m.
    np.testing.assert_allclose(still, creeping, atol=1e-8)


def test_torque_is_gravity_plus_stiffness_and_damping(robot):
    q, dq, ddq = some_state(robot, 0)
    e, de, _ = some_state(robot, 1)
    rng = np.random.default_rng(2)
    kp, kd = rng.uniform(1.0, 100.0, (2, robot.dof))
    tau = GravityPd(robot, kp, kd)(0.0, q, dq, Setpoint(q + e, dq + de, ddq))
    wanted = gravity_torque(robot, q) + kp * e + kd * de
    np.testing.assert_allclose(tau, wanted, rtol=1e-12, atol=1e-10)  # rounding


def test_at_rest_on_the_setpoint_the_robot_stays(robot):
    zero, pose = np.zeros(robot.dof), robot.home
    M = np.diag(mass_matrix(robot, pose))
    controller = GravityPd(robot, 100.0 * M, 20.0 * M)
    with Plant(robot) as plant:
        plant.reset(pose, zero)
        for k in range(100):
            plant.step(controller(k * plant.dt, plant.q, plant.dq, Setpoint(pose, zero, zero)))
        # Rounding of gravity, 1e-13 N m, on the lightest joint, 1e-5 kg m^2, over 0.1 s.
        assert np.abs(plant.q - pose).max() < 1e-9


def test_from_afar_it_comes_to_rest_on_the_setpoint(arm):
    free = replace(arm, joints=tuple(replace(j, friction=Friction()) for j in arm.joints))
    goal, zero = np.array([0.4, -0.3]), np.zeros(2)
    controller = GravityPd(free, np.array([150.0, 60.0]), np.array([40.0, 12.0]))
    with Plant(free) as plant:
        plant.reset(np.array([-0.8, 1.0]), zero)
        for k in range(5000):
            plant.step(controller(k * plant.dt, plant.q, plant.dq, Setpoint(goal, zero, zero)))
        # The slowest pole, kp / kd = 4 per second, leaves exp(-20) of a radian.
        assert np.abs(plant.q - goal).max() < 1e-6


def test_friction_and_inertia_of_the_model_do_not_matter(arm):
    q, dq, ddq = some_state(arm, 3)
    setpoint = Setpoint(q, dq, ddq)
    other = replace(
        arm,
        joints=tuple(
            replace(j, friction=Friction(Fv=9.0, Fc=9.0), rotor_inertia=1.0) for j in arm.joints
        ),
    )
    one, two = (GravityPd(r, np.ones(2), np.ones(2))(0.0, q, dq, setpoint) for r in (arm, other))
    np.testing.assert_array_equal(one, two)


def test_gains_are_frozen_copies(arm):
    kp = np.ones(2)
    controller = GravityPd(arm, kp, np.ones(2))
    kp[0] = 7.0
    np.testing.assert_array_equal(controller.kp, np.ones(2))


class Counter(Controller):
    """Returns how often it was called, in an array that it reuses."""

    def __init__(self):
        self.command = np.zeros(2)

    def __call__(self, t, q, dq, setpoint):
        self.command += 1.0
        return self.command

    def reset(self):
        self.command[:] = 0.0


ZERO = np.zeros(2)
SETPOINT = Setpoint(ZERO, ZERO, ZERO)


def counts(controller, count):
    return [controller(0.0, ZERO, ZERO, SETPOINT)[0] for _ in range(count)]


def test_commands_come_one_sample_late_and_the_first_is_held():
    assert counts(DelayedController(Counter()), 5) == [1.0, 1.0, 2.0, 3.0, 4.0]


def test_reset_forgets_the_waiting_command_and_resets_the_controller():
    delayed = DelayedController(Counter())
    first = counts(delayed, 3)
    delayed.reset()
    assert counts(delayed, 3) == first


def test_delays_add_up():
    assert counts(DelayedController(DelayedController(Counter())), 5) == [1.0, 1.0, 1.0, 2.0, 3.0]


def test_a_loop_with_delay_tracks_a_little_worse(arm):
    motion = PointToPoint(arm.joint_names, arm.home, arm.home + 0.3, 0.0, 0.5)
    errors = []
    for controller in (ComputedTorque(arm), DelayedController(ComputedTorque(arm))):
        with Plant(arm) as plant:
            log = rollout(plant, controller, motion)
        errors.append(np.abs(log.q - motion(log.t).q).max())
    assert errors[0] < errors[1] < 1e-3


RATE = 1000.0


@pytest.fixture(scope="module")
def log(arm):
    """A lap of the small arm, with true state and applied torque."""
    with Plant(arm) as plant:
        return rollout(plant, ComputedTorque(arm), Lap(make_tracking_path(arm), 3.0))


def observed(log, observer, noise=0.0, seed=0, lost=0.0):
    """Return velocity errors of an observer that runs beside a log, shape (N, n)."""
    rng = np.random.default_rng(seed)
    observer.reset(log.q[0], log.truth.dq[0])
    errors, velocity = np.empty(log.q.shape), true_velocity(log)
    for k, q in enumerate(log.q):
        y = None if rng.random() < lost else q + noise * rng.standard_normal(q.size)
        _, dq = observer.correct(y)
        errors[k] = dq - velocity[k]
        observer.predict(log.truth.tau[k])
    return errors


def true_velocity(log):
    """Velocity at the start of every sample; the log's is that of the first half sub-step."""
    return log.truth.dq - 0.125e-3 * log.truth.ddq


def test_the_right_model_predicts_without_correction(arm, log):
    blind = observed(log, VelocityObserver(arm, RATE, 1.0), lost=1.0)
    # The plant takes four sub-steps where the observer takes one: 1e-5 of the velocity in a second.
    assert np.abs(blind[:1000]).max() < 1e-4 * np.abs(true_velocity(log)).max()


def test_a_wrong_model_is_corrected(arm, log):
    heavy = arm.with_payload(0.5)
    errors = observed(log, VelocityObserver(heavy, RATE, 100.0))
    blind = observed(log, VelocityObserver(heavy, RATE, 100.0), lost=1.0)
    assert np.abs(errors[200:]).max() < 0.02 * np.abs(true_velocity(log)).max()
    assert np.abs(blind).max() > 10.0 * np.abs(errors).max()


@pytest.mark.parametrize("bandwidth", [50.0, 100.0, 200.0])
def test_velocity_noise_is_as_the_gains_say(arm, log, bandwidth):
    sigma = 1e-4
    errors = observed(log, VelocityObserver(arm, RATE, bandwidth), noise=sigma)
    # Stationary covariance of the linear filter: P = A P A' + sigma^2 g g', A of the error.
    z = np.exp(-bandwidth / RATE)
    gains = np.array([1 - z**3, 1.5 * RATE * (1 - z**2) * (1 - z), RATE**2 * (1 - z) ** 3])
    dt = 1.0 / RATE
    step = np.array([[1.0, dt, 0.5 * dt**2], [0.0, 1.0, dt], [0.0, 0.0, 1.0]])
    A = step @ (np.eye(3) - np.outer(gains, [1.0, 0.0, 0.0]))
    P, drive = np.zeros((3, 3)), sigma**2 * step @ np.outer(gains, gains) @ step.T
    for _ in range(5000):
        P = A @ P @ A.T + drive
    # That is a free mass; gravity and friction of the arm matter at the lowest bandwidth.
    found = errors[200:].std(axis=0)
    assert (found < 1.6 * np.sqrt(P[1, 1])).all()
    assert (found > 0.4 * np.sqrt(P[1, 1])).all()
    assert (found < 0.1 * np.sqrt(2.0) * sigma * RATE).all()  # differences of samples


def test_lost_samples_cost_little(arm, log):
    full = observed(log, VelocityObserver(arm, RATE, 100.0), noise=1e-4)
    half = observed(log, VelocityObserver(arm, RATE, 100.0), noise=1e-4, lost=0.5)
    assert half.std() < 2.0 * full.std()


def test_reset_forgets(arm, log):
    observer = VelocityObserver(arm, RATE, 100.0)
    one = observed(log, observer, noise=1e-4)
    two = observed(log, observer, noise=1e-4)
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, 4000.0, float("nan")])
def test_a_bandwidth_beyond_the_samples_is_refused(arm, bandwidth):
    with pytest.raises(OptionError, match="observer bandwidth"):
        VelocityObserver(arm, RATE, bandwidth)


BANDWIDTH, GAIN = 20.0, 4.0
WITH_INTEGRAL = ("integral-sliding-mode", "pid", "super-twisting")
WEAK = 5.0  # [N m]


@pytest.fixture(scope="module")
def turntable(tmp_path_factory):
    return turntable_robot(tmp_path_factory.mktemp("urdf"))


@pytest.fixture(scope="module")
def weak_turntable(tmp_path_factory):
    """The same with a drive that the start at 1 rad saturates."""
    return turntable_robot(tmp_path_factory.mktemp("urdf"), effort=WEAK)


def build(name, robot, **changes):
    gains = replace(loop_gains(BANDWIDTH, GAIN, 2.0), **changes)
    return CONTROLLERS[name].from_gains(robot, gains)


@pytest.mark.parametrize("name", WITH_INTEGRAL)
@pytest.mark.parametrize("disturbance", [2.0, -1.0])
def test_a_steady_disturbance_leaves_no_error(turntable, name, disturbance):
    e, _, command = regulate(turntable, build(name, turntable), 0.0, 1.5, disturbance)
    assert np.abs(e).max() > 1e-4
    assert abs(e[-1]) < 1e-6
    assert command[-1] == pytest.approx(-disturbance, rel=1e-4)


@pytest.mark.parametrize("name", ["computed-torque", "gravity-pd", "sliding-mode"])
def test_without_an_integral_the_error_is_its_bound(turntable, name):
    e, _, _ = regulate(turntable, build(name, turntable), 0.0, 1.5, 2.0)
    assert e[-1] == pytest.approx(-2.0 / (INERTIA * BANDWIDTH**2), rel=1e-6)


@pytest.mark.parametrize("name", ["exponential-reaching", "power-reaching"])
def test_steeper_laws_keep_below_the_bound(turntable, name):
    e, _, _ = regulate(turntable, build(name, turntable), 0.0, 1.5, 2.0)
    # The disturbance is half of K, where the exponential law has twice the slope, and the power
    # law alpha = 1/2 asks for (1/2)^2 of the layer instead of 1/2.
    assert abs(e[-1]) == pytest.approx(0.5 * 2.0 / (INERTIA * BANDWIDTH**2), rel=1e-3)


def test_integral_sliding_mode_has_no_reaching_phase(turntable):
    law, offset = build("integral-sliding-mode", turntable), 0.3
    e, de, _ = regulate(turntable, law, offset, 0.5)
    z = -2.0 * BANDWIDTH * offset + BANDWIDTH**2 * DT * np.concatenate([[0.0], np.cumsum(e[:-1])])
    s = de + 2.0 * BANDWIDTH * e + z
    assert abs(s[0]) < 1e-12
    # The surface of the others starts at lambda e = 6 rad/s; here the hold leaves some 1 %.
    assert np.abs(s).max() < 0.02 * BANDWIDTH * offset
    t = np.arange(e.size) * DT
    nominal = offset * (1.0 + BANDWIDTH * t) * np.exp(-BANDWIDTH * t)
    np.testing.assert_allclose(e, nominal, atol=0.02 * offset)


def test_integral_sliding_mode_keeps_the_nominal_motion_under_a_disturbance(turntable):
    law = build("integral-sliding-mode", turntable)
    quiet, shaken = (regulate(turntable, law, 0.3, 0.5, d)[0] for d in (0.0, 2.0))
    # s moves by D / (I steepest); the error is that through lambda-poles, e max = s / (e lambda).
    assert np.abs(shaken - quiet).max() < 2.0 / (INERTIA * 2.0 * BANDWIDTH) / (np.e * BANDWIDTH)


def test_the_adaptive_gain_grows_to_what_is_needed_and_falls_again(turntable):
    law = build("adaptive-sliding-mode", turntable)
    seen = []

    def disturbance(t):
        seen.append(law.gain[0])
        return 3.0 if t < 1.0 else 1.0

    e, de, _ = regulate(turntable, law, 0.0, 4.0, disturbance)
    gain, s = np.array(seen), de + BANDWIDTH * e
    assert gain[0] == pytest.approx(0.25 * GAIN)
    outside = np.abs(s) * law.stiffness[0] > gain
    assert outside[:100].any()
    assert not outside[200:].any()
    assert (np.diff(gain)[:-1][outside[1:-1]] > 0.0).all()
    # The layer then holds s at half its width: K = 2 D.
    assert gain[999] == pytest.approx(2.0 * 3.0, rel=0.05)
    assert gain[-1] == pytest.approx(2.0 * 1.0, rel=0.05)
    assert (np.diff(gain[1010:1050]) < 0.0).all()
    law.reset()
    assert law.gain[0] == pytest.approx(0.25 * GAIN)


def test_the_adaptive_gain_keeps_its_limits(turntable):
    law = build("adaptive-sliding-mode", turntable)
    regulate(turntable, law, 0.0, 0.5, 12.0)
    assert law.gain[0] == pytest.approx(2.0 * GAIN)
    regulate(turntable, law, 0.0, 0.5)
    assert law.gain[0] == pytest.approx(0.25 * GAIN)


@pytest.mark.parametrize("name", ["pid", "integral-sliding-mode"])
def test_overshoot_after_saturation_is_a_fraction(turntable, weak_turntable, name):
    # A law for the strong drive does not know that its command is cut: it winds up.
    errors = []
    for model in (turntable, weak_turntable):
        e, _, command = regulate(weak_turntable, build(name, model), 0.5, 2.0)
        assert np.abs(command[:20]).max() > 2.0 * WEAK
        errors.append(e)
    wound, held = errors
    assert -wound.min() > 0.04
    assert -held.min() < 0.5 * -wound.min()
    assert abs(held[-1]) < 1e-3


def test_the_integral_of_super_twisting_stands_still_at_the_limit_and_is_bounded(
    turntable, weak_turntable
):
    known, unknown = (build("super-twisting", r) for r in (weak_turntable, turntable))
    for law in (known, unknown):
        regulate(weak_turntable, law, 2.5, 0.1)
    assert abs(known._state[0]) < 1e-12
    assert abs(unknown._state[0]) > 1.0
    regulate(turntable, unknown, 0.0, 1.0, 50.0)
    assert abs(unknown._state[0]) == pytest.approx(GAIN / INERTIA)


def test_the_adaptive_gain_does_not_grow_at_the_limit(turntable, weak_turntable):
    known, unknown = (build("adaptive-sliding-mode", r) for r in (weak_turntable, turntable))
    for law in (known, unknown):
        regulate(weak_turntable, law, 0.3, 0.01)
    step = unknown.growth[0] * BANDWIDTH * 0.3 * DT
    assert known.gain[0] < WEAK + step
    assert unknown.gain[0] == pytest.approx(2.0 * GAIN)


def test_pid_places_all_three_poles_at_the_bandwidth(turntable):
    e, _, _ = regulate(turntable, build("pid", turntable), 0.1, 0.5)
    t = BANDWIDTH * np.arange(e.size) * DT
    # e(0) = e0 at rest: (1 + t - t^2) exp(-t), by the initial slope and curvature -3 lambda^2 e0.
    np.testing.assert_allclose(e, 0.1 * (1.0 + t - t**2) * np.exp(-t), atol=0.1 * 0.03)


def test_pid_turns_softer_where_the_rate_is_low(turntable):
    law = build("pid", turntable, rate=100.0)
    pole = 25.0 / 3.0  # a quarter of the rate, over the damping of three poles
    np.testing.assert_allclose(law.kp, 3.0 * INERTIA * pole**2)
    np.testing.assert_allclose(law.ki, INERTIA * pole**3)
    np.testing.assert_allclose(law.kd, 3.0 * INERTIA * pole)


def test_limits_of_the_adaptive_gain_in_the_wrong_order_are_refused(turntable):
    law = build("adaptive-sliding-mode", turntable)
    with pytest.raises(OptionError, match="must not exceed"):
        replace(law, smallest=np.array([9.0]))


def test_copies_do_not_share_their_memory(turntable):
    for cls, name in (
        (Pid, "_integral"),
        (IntegralSlidingMode, "_state"),
        (AdaptiveSlidingMode, "_state"),
    ):
        law = cls.from_gains(turntable, loop_gains(BANDWIDTH, GAIN))
        other = replace(law)
        before = getattr(other, name).copy()
        regulate(turntable, law, 0.1, 0.05)
        np.testing.assert_array_equal(getattr(other, name), before)
