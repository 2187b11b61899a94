"""Sliding mode: reaching and decay in closed form on one joint, gains by formula."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from loops import DT, INERTIA, loop_gains, path_of, regulate, some_state, turntable_robot

from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.sliding_mode import SlidingMode
from robotid_sim.dynamics.dynamics import coriolis, joint_torque, mass_matrix
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.joint import Friction
from robotid_sim.trajectory.reference import Reference

SLOW = 1e-13
"""Frequency of a disturbance that does not pass from joint to joint [Hz]."""


@pytest.fixture(scope="module")
def turntable(tmp_path_factory):
    """One vertical joint without gravity torque and friction."""
    return turntable_robot(tmp_path_factory.mktemp("urdf"))


def regulated(robot, gains, offset, seconds, disturbance=0.0):
    """Return error and sliding variable of a setpoint at zero, shape (N,) each."""
    e, de, _ = regulate(robot, SlidingMode(robot, gains), offset, seconds, disturbance)
    return e, de + gains.bandwidth * e


@pytest.mark.parametrize(("bandwidth", "gain"), [(10.0, 4.0), (20.0, 2.0)])
def test_s_falls_at_k_over_i_and_reaches_the_layer_when_predicted(turntable, bandwidth, gain):
    gains, offset = loop_gains(bandwidth, gain), 0.3
    layer = float(gains.layer[0])
    _, s = regulated(turntable, gains, offset, 1.5)
    assert s[0] == pytest.approx(bandwidth * offset)
    assert s[0] > 2.0 * layer
    predicted = (s[0] - layer) * INERTIA / gain
    reached = int(np.argmax(s <= layer)) * DT
    # The torque is held: it knows the velocity of half a step ago, lambda dt / 2 of the rate.
    held = bandwidth * DT
    assert reached == pytest.approx(predicted, abs=3.0 * DT + held * predicted)
    outside = s[: round(0.9 * predicted / DT)]
    rate = np.polyfit(np.arange(outside.size) * DT, outside, 1)[0]
    assert rate == pytest.approx(-gain / INERTIA, rel=held)


def test_s_falls_whatever_its_sign(turntable):
    gains = loop_gains(20.0, 2.0)
    (_, up), (_, down) = (regulated(turntable, gains, side * 0.3, 0.5) for side in (1.0, -1.0))
    np.testing.assert_allclose(down, -up, atol=1e-12)  # rounding


def test_inside_the_layer_s_decays_at_the_bandwidth(turntable):
    gains = loop_gains(20.0, 4.0)
    e, s = regulated(turntable, gains, 0.01, 0.25)
    assert 0.0 < s[0] < gains.layer[0]
    t = np.arange(s.size) * DT
    # The hold delays a loop of 20 rad/s by half a millisecond: 1 % of the rate.
    assert -np.polyfit(t, np.log(s), 1)[0] == pytest.approx(20.0, rel=0.02)
    # Two poles at -lambda: e = (s0 t + e0) exp(-lambda t).
    np.testing.assert_allclose(e, (s[0] * t + e[0]) * np.exp(-20.0 * t), atol=0.02 * e[0])


@pytest.mark.parametrize("bandwidth", [10.0, 30.0])
@pytest.mark.parametrize("disturbance", [1.5, -3.0])
def test_a_steady_disturbance_leaves_the_error_bound(turntable, bandwidth, disturbance):
    gains = loop_gains(bandwidth, 4.0, abs(disturbance))
    e, s = regulated(turntable, gains, 0.0, 25.0 / bandwidth, disturbance)
    # exp(-25) is left of the transient; what stays is exact.
    assert abs(e[-1]) == pytest.approx(float(gains.error_bound[0]), rel=1e-6)
    assert np.sign(e[-1]) == -np.sign(disturbance)
    assert abs(s[-1]) == pytest.approx(abs(disturbance) / (INERTIA * bandwidth), rel=1e-6)


def test_a_disturbance_above_the_gain_is_not_held(turntable):
    e, _ = regulated(turntable, loop_gains(20.0, 2.0), 0.0, 0.5, 3.0)
    assert e[-1] < -0.01
    assert e[-1] < e[-100] < e[-200]


def test_without_error_the_torque_is_the_inverse_dynamics(robot):
    q, dq, ddq = some_state(robot, 1)
    gains = LoopGains.from_specification(robot, path_of(robot), rate=1000.0)
    tau = SlidingMode(robot, gains)(0.0, q, dq, Setpoint(q, dq, ddq))
    wanted = joint_torque(robot, q, dq, ddq)
    np.testing.assert_allclose(tau, wanted, rtol=1e-12, atol=1e-10)  # rounding


def test_with_error_the_torque_is_the_law(robot):
    q, dq, ddq = some_state(robot, 2)
    e, de, _ = (0.01 * part for part in some_state(robot, 3))
    gains = LoopGains.from_specification(robot, path_of(robot), rate=1000.0)
    tau = SlidingMode(robot, gains)(0.0, q, dq, Setpoint(q + e, dq + de, ddq))
    v, a = dq + de + gains.bandwidth * e, ddq + gains.bandwidth * de
    zero = 0.0 * q
    friction = joint_torque(robot, q, v, zero) - rigid_torque(robot, q, v, zero)
    gravity = rigid_torque(robot, q, zero, zero)
    s = de + gains.bandwidth * e
    switching = gains.gain * np.clip(s / gains.layer, -1.0, 1.0)
    wanted = mass_matrix(robot, q) @ a + coriolis(robot, q, dq, v) + gravity + friction + switching
    np.testing.assert_allclose(tau, wanted, rtol=1e-10, atol=1e-10)  # rounding


def rigid_torque(robot, q, dq, ddq):
    bare = replace(robot, joints=tuple(replace(j, friction=Friction()) for j in robot.joints))
    return joint_torque(bare, q, dq, ddq)


def test_lyapunov_function_falls_outside_the_layer(arm):
    # M ds + C s = -K sign(s) - Fv s - ..., so V = s^T M s / 2 falls by at least K^T |s|.
    q, dq, ddq = some_state(arm, 4)
    gains = replace(
        LoopGains.from_specification(arm, path_of(arm), rate=1000.0), layer=np.full(2, 1e-9)
    )
    setpoint = Setpoint(q + 0.05, dq - 0.3, ddq)
    tau = SlidingMode(arm, gains)(0.0, q, dq, setpoint)
    s = setpoint.dq - dq + gains.bandwidth * (setpoint.q - q)
    M = mass_matrix(arm, q)
    still = joint_torque(arm, q, dq, 0.0 * q)
    ds = setpoint.ddq - np.linalg.solve(M, tau - still) + gains.bandwidth * (setpoint.dq - dq)
    h = 1e-6  # [s], central difference
    change = (mass_matrix(arm, q + h * dq) - mass_matrix(arm, q - h * dq)) / (2.0 * h)
    rate = s @ M @ ds + 0.5 * s @ change @ s
    assert rate < -float(gains.gain @ np.abs(s)) + 1e-6


def test_gains_of_the_specification_are_the_formulas(irb140):
    path = path_of(irb140)
    found = LoopGains.from_specification(
        irb140,
        path,
        rate=1000.0,
        disturbance=0.4,
        uncertainty=0.3,
        error=1e3,
        bandwidth=40.0,
        frequency=SLOW,
    )
    peak = np.abs(joint_torque(irb140, path.q, path.dq, path.ddq)).max(axis=0)
    inertia = np.mean([np.diag(mass_matrix(irb140, q)) for q in path.q], axis=0)
    assert found.bandwidth == 40.0
    np.testing.assert_allclose(found.inertia, inertia, rtol=1e-12)  # rounding, as below
    np.testing.assert_allclose(found.gain, 1.2 * 0.7 * peak, rtol=1e-12)
    np.testing.assert_allclose(found.layer, 1.2 * 0.7 * peak / (inertia * 40.0), rtol=1e-12)
    np.testing.assert_allclose(found.error_bound, 0.4 * peak / (inertia * 1600.0), rtol=1e-12)
    assert found.limited == ()


def test_disturbances_that_change_pass_from_joint_to_joint(irb140):
    path = path_of(irb140)
    make = partial(LoopGains.from_specification, irb140, path, rate=1000.0)
    slow, quick = make(frequency=SLOW), make(frequency=1.0)
    assert quick.bandwidth == slow.bandwidth
    assert (quick.error_bound > 0.999 * slow.error_bound).all()
    assert (quick.error_bound > 1.01 * slow.error_bound).any()
    # Amplitude of every joint's error, all torques in the worst phase, at the worst pose.
    omega, size = 2.0 * np.pi, slow.inertia * slow.bandwidth
    M = mass_matrix(irb140, path.q)
    worst = np.zeros(6)
    for pose in M:
        response = np.abs(np.linalg.inv(1j * omega * pose + np.diag(size)))
        worst = np.maximum(worst, response @ slow.disturbance / abs(slow.bandwidth + 1j * omega))
    larger = quick.error_bound > 1.001 * slow.error_bound
    np.testing.assert_allclose(quick.error_bound[larger], worst[larger], rtol=0.02)  # fewer poses


def test_bandwidth_rises_until_the_bound_holds_on_every_joint(irb140):
    path = path_of(irb140)
    make = partial(LoopGains.from_specification, irb140, path, rate=1000.0, frequency=SLOW)
    loose = make(bandwidth=1.0, error=1e3)
    wanted = float(loose.error_bound.max()) / 2500.0  # needs 50 rad/s
    found = make(bandwidth=1.0, error=wanted)
    assert found.bandwidth == pytest.approx(50.0, rel=1e-9)  # rounding
    assert found.error_bound.max() == pytest.approx(wanted, rel=1e-9)
    assert found.limited == ()


def test_joints_that_miss_the_bound_at_the_largest_bandwidth_are_named(irb140):
    path = path_of(irb140)
    highest = 2.0 * np.pi * 1000.0 / 20.0
    make = partial(LoopGains.from_specification, irb140, path, rate=1000.0, frequency=SLOW)
    loose = make(bandwidth=1.0, error=1e3)
    at_highest = loose.error_bound * loose.bandwidth**2 / highest**2
    error = float(np.median(at_highest))
    found = make(error=error)
    assert found.bandwidth == pytest.approx(highest)
    np.testing.assert_allclose(found.error_bound, at_highest, rtol=1e-9)  # rounding
    names = [n for n, b in zip(irb140.joint_names, at_highest, strict=True) if b > error]
    assert found.limited == tuple(names)
    assert len(names) == 3


@pytest.mark.parametrize(
    "options",
    [
        {"rate": 0.0},
        {"error": 0.0},
        {"bandwidth": -1.0},
        {"disturbance": -0.1},
        {"uncertainty": -0.1},
        {"error": float("nan")},
        {"rate": float("nan")},
        {"frequency": 0.0},
    ],
)
def test_a_specification_that_makes_no_sense_is_refused(arm, options):
    with pytest.raises(OptionError, match="must be positive"):
        LoopGains.from_specification(arm, path_of(arm), **{"rate": 1000.0, **options})


def test_a_path_at_rest_without_gravity_gives_finite_gains(turntable):
    rest = Reference(*(np.zeros((5, 1)) for _ in range(3)))
    gains = LoopGains.from_specification(turntable, rest, rate=1000.0)
    torque = SlidingMode(turntable, gains)(0.0, np.zeros(1), np.ones(1), Setpoint(*np.ones((3, 1))))
    assert np.isfinite(torque).all()


def test_gains_of_another_number_of_joints_are_refused(arm, irb140):
    gains = LoopGains.from_specification(irb140, path_of(irb140), rate=1000.0)
    with pytest.raises(OptionError, match="for 6 joints, '2r' has 2"):
        SlidingMode(arm, gains)


@pytest.mark.parametrize("name", ["inertia", "gain", "layer", "error_bound"])
def test_gains_must_be_finite(arm, name):
    gains = LoopGains.from_specification(arm, path_of(arm), rate=1000.0)
    with pytest.raises(ShapeError, match=name):
        replace(gains, **{name: np.array([1.0, np.nan])})


def test_inside_the_layer_the_linear_loop_is_that_of_computed_torque(turntable):
    # Two poles at -lambda either way: kp = lambda^2, kd = 2 lambda.
    gains, zero = loop_gains(25.0, 4.0), np.zeros(1)
    q, dq = np.array([0.003]), np.array([-0.02])
    setpoint = Setpoint(zero, zero, zero)
    one = SlidingMode(turntable, gains)(0.0, q, dq, setpoint)
    other = ComputedTorque(turntable, 625.0, 50.0)(0.0, q, dq, setpoint)
    np.testing.assert_allclose(one, other, rtol=1e-12)  # rounding
