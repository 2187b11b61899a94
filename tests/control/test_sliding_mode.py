"""Sliding mode and reaching laws in closed form on one joint; gains and a documented law."""

import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from loops import (
    DT,
    INERTIA,
    loop_gains,
    path_of,
    regulate,
    sliding_alone,
    some_state,
    turntable_robot,
)

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.sliding_memory import SuperTwisting
from robotid_sim.control.sliding_mode import ExponentialReaching, PowerReaching, SlidingMode
from robotid_sim.dynamics.dynamics import coriolis, joint_torque, mass_matrix
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.joint import Friction
from robotid_sim.testing import check_controller
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


PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-controller.md"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the Python on the page."""
    module = ModuleType("documented_law")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look it up
    monkeypatch.setattr(CONTROLLERS, "register", lambda name: lambda cls: cls)
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.M):
        exec(code, vars(module))
    return module


def test_the_law_of_the_page_is_a_controller(page: ModuleType) -> None:
    check_controller(page.MyGravityPd.from_gains)


def test_the_laws_of_its_comparison_are_controllers(page: ModuleType) -> None:
    for factory in page.comparison.controllers.values():
        check_controller(factory)


def test_without_the_trait_it_is_none(page: ModuleType) -> None:
    page.MyGravityPd.uses_feedforward = True
    with pytest.raises(AssertionError, match="uses_feedforward = False"):
        check_controller(page.MyGravityPd.from_gains)


FINE = 1e-4  # [s]
START = 2.0  # [rad/s]
THIN = np.array([1e-3])
"""Layer that is no part of the closed forms [rad/s]."""

NONE = 1e-9
"""Bandwidth next to nothing, see `sliding_alone` [rad/s]."""

ONE = np.array([INERTIA])
L = 10.0
"""Bound of the rate of the disturbance over the inertia [rad/s^3]."""


def first_zero(s):
    """Return the time at which s is first within twice the thin layer [s]."""
    return int(np.argmax(np.abs(s) < 2.0 * THIN)) * FINE


def exponential(robot, epsilon, k):
    return ExponentialReaching(
        model=robot, bandwidth=NONE, inertia=ONE, reaching=np.array([epsilon]), decay=k, layer=THIN
    )


def power(robot, k, alpha):
    return PowerReaching(
        model=robot, bandwidth=NONE, inertia=ONE, reaching=np.array([k]), layer=THIN, exponent=alpha
    )


def twisting(robot, k1, k2, layer=1e-6, bound=1e6):
    return SuperTwisting(
        model=robot,
        bandwidth=NONE,
        inertia=ONE,
        k1=np.array([k1]),
        k2=np.array([k2]),
        layer=np.array([layer]),
        bound=np.array([bound]),
        rate=1.0 / FINE,
    )


@pytest.mark.parametrize("start", [START, -START])
def test_constant_rate(turntable, start):
    gains = replace(loop_gains(NONE, 2.0), layer=THIN)
    s = sliding_alone(SlidingMode(turntable, gains), start, 0.5, FINE)
    # Two steps, and twice the layer on the way of 2 rad/s.
    assert first_zero(s) == pytest.approx(abs(start) * INERTIA / 2.0, rel=2e-3, abs=2.0 * FINE)
    assert (np.diff(np.abs(s[s * start > 0.01])) < 0.0).all()


@pytest.mark.parametrize(("epsilon", "k"), [(2.0, 5.0), (10.0, 1.0), (0.5, 10.0)])
def test_exponential_law(turntable, epsilon, k):
    s = sliding_alone(exponential(turntable, epsilon, k), START, 1.0, FINE)
    predicted = np.log(1.0 + k * START / epsilon) / k
    # The last 2e-3 rad/s take 2e-3 / epsilon, at most 4 ms.
    assert first_zero(s) == pytest.approx(predicted, abs=2e-3 / epsilon + 2.0 * FINE)
    t = np.arange(s.size) * FINE
    before = t < 0.9 * predicted
    wanted = (START + epsilon / k) * np.exp(-k * t) - epsilon / k
    np.testing.assert_allclose(s[before], wanted[before], atol=k * FINE * START)  # Euler


@pytest.mark.parametrize(("k", "alpha"), [(5.0, 0.5), (3.0, 0.3), (6.0, 0.8)])
def test_power_law(turntable, k, alpha):
    s = sliding_alone(power(turntable, k, alpha), START, 1.2, FINE)
    predicted = START ** (1.0 - alpha) / ((1.0 - alpha) * k)
    rest = (2.0 * THIN[0]) ** (1.0 - alpha) / ((1.0 - alpha) * k)
    assert first_zero(s) == pytest.approx(predicted - rest, rel=2e-3, abs=2.0 * FINE)
    t = np.arange(s.size) * FINE
    before = t < 0.8 * predicted
    wanted = (START ** (1.0 - alpha) - (1.0 - alpha) * k * t[before]) ** (1.0 / (1.0 - alpha))
    np.testing.assert_allclose(s[before], wanted, atol=k * FINE * START)  # Euler


def test_super_twisting_undisturbed(turntable):
    # With x = |s|^1/2 and dt = x d(sigma), the law is linear: x' = -(k1 x + w) / 2, w' = k2 x.
    # s first crosses zero at w1 / k2, where x is zero; every further half turn shrinks w by the
    # factor r and takes (1 + r) w / k2.
    k1, k2 = 1.5 * np.sqrt(L), 1.1 * L
    turn = np.sqrt(k2 / 2.0 - k1**2 / 16.0)
    phase = np.arctan2(4.0 * turn, k1)
    x0, decay = np.sqrt(START), np.exp(-0.25 * k1 * phase / turn)
    w1 = 2.0 * x0 * decay * (turn * np.sin(phase) + 0.25 * k1 * np.cos(phase))
    r = np.exp(-0.25 * k1 * np.pi / turn)
    first, last = w1 / k2, w1 / k2 * (1.0 + (1.0 + r) / (1.0 - r))
    s = sliding_alone(twisting(turntable, k1, k2), START, 1.5 * last, FINE)
    t = np.arange(s.size) * FINE
    assert t[np.argmax(s < 0.0)] == pytest.approx(first, rel=5e-3)  # Euler
    # After half a turn, |s| has shrunk by r^2 = 1/40; after all but r^3 of w, by r^6 = 1.5e-5.
    after = t > last - (1.0 + r) / (1.0 - r) * w1 / k2 * r**3
    assert np.abs(s[after]).max() < 1e-4 * START
    assert np.abs(s[t < first]).max() == START


def wave(t, s):
    """Return a triangular disturbance whose rate over the inertia is L all the time [N m]."""
    return INERTIA * L * (0.25 - abs((t + 0.25) % 1.0 - 0.5))


@pytest.mark.slow
def test_super_twisting_holds_a_disturbance_within_its_condition(turntable):
    s = sliding_alone(twisting(turntable, 1.5 * np.sqrt(L), 1.1 * L), 0.5, 3.0, FINE, wave)
    # What is left is of the order of L dt^2, 1e-7.
    assert np.abs(s[20000:]).max() < 1e-5


def test_super_twisting_whose_integral_is_too_slow_is_carried_away(turntable):
    def ramp(t, s):
        return -INERTIA * L * t

    s = sliding_alone(twisting(turntable, 1.5 * np.sqrt(L), 0.5 * L), 0.0, 2.0, FINE, ramp)
    # k1 |s|^1/2 has to give what the integral does not: s = ((L - k2) t / k1)^2, less its lag.
    assert s[-1] > 0.5 * ((1.0 - 0.5) * L * 2.0 / (1.5 * np.sqrt(L))) ** 2
    assert (np.diff(s[2:]) > 0.0).all()


@pytest.mark.parametrize(("k1", "holds"), [(1.5, True), (0.3, False)])
def test_super_twisting_with_too_little_damping_diverges(turntable, k1, holds):
    # The condition is k1 > sqrt(k2 + L), 1.45 sqrt(L). The worst disturbance always opposes what
    # the integral lacks, so that undamped half turns grow by sqrt((k2 + L) / (k2 - L)) = 4.6.
    law = twisting(turntable, k1 * np.sqrt(L), 1.1 * L)
    d = 0.0

    def worst(t, s):
        nonlocal d
        missing = law._state[0] + d / INERTIA
        d += FINE * INERTIA * L * np.sign(missing)
        return d

    s = sliding_alone(law, 1e-3, 1.0, FINE, worst)
    assert np.isfinite(s).all()
    assert (np.abs(s[5000:]).max() < 1e-3) == holds
    assert holds or np.abs(s[5000:]).max() > 0.1


@pytest.mark.slow
def test_super_twisting_layer_is_left_alone_by_admitted_disturbances(turntable):
    k1, k2 = 1.5 * np.sqrt(L), 1.1 * L
    layer = (k1 / 50.0) ** 2
    s = sliding_alone(twisting(turntable, k1, k2, layer), 0.0, 3.0, FINE, wave)
    assert 0.5 * layer < np.abs(s).max() < 1.3 * layer  # L / k2, and the overshoot at its turns


@pytest.mark.parametrize("exponent", [0.0, 1.0, -0.5, float("nan")])
def test_exponents_outside_of_zero_to_one_are_refused(turntable, exponent):
    with pytest.raises(OptionError, match=r"exponent is .* between 0 and 1"):
        power(turntable, 1.0, exponent)
