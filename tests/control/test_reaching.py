"""Reaching of every law on one joint, in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from loops import INERTIA, loop_gains, sliding_alone, turntable_robot

from robotid_sim.control.sliding_memory import SuperTwisting
from robotid_sim.control.sliding_mode import ExponentialReaching, PowerReaching, SlidingMode
from robotid_sim.errors import OptionError

DT = 1e-4  # [s]
START = 2.0  # [rad/s]
THIN = np.array([1e-3])
"""Layer that is no part of the closed forms [rad/s]."""

NONE = 1e-9
"""Bandwidth next to nothing, see `sliding_alone` [rad/s]."""

ONE = np.array([INERTIA])
L = 10.0
"""Bound of the rate of the disturbance over the inertia [rad/s^3]."""


@pytest.fixture(scope="module")
def turntable(tmp_path_factory):
    return turntable_robot(tmp_path_factory.mktemp("urdf"))


def first_zero(s):
    """Return the time at which s is first within twice the thin layer [s]."""
    return int(np.argmax(np.abs(s) < 2.0 * THIN)) * DT


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
        rate=1.0 / DT,
    )


@pytest.mark.parametrize("start", [START, -START])
def test_constant_rate(turntable, start):
    gains = replace(loop_gains(NONE, 2.0), layer=THIN)
    s = sliding_alone(SlidingMode(turntable, gains), start, 0.5, DT)
    # Two steps, and twice the layer on the way of 2 rad/s.
    assert first_zero(s) == pytest.approx(abs(start) * INERTIA / 2.0, rel=2e-3, abs=2.0 * DT)
    assert (np.diff(np.abs(s[s * start > 0.01])) < 0.0).all()


@pytest.mark.parametrize(("epsilon", "k"), [(2.0, 5.0), (10.0, 1.0), (0.5, 10.0)])
def test_exponential_law(turntable, epsilon, k):
    s = sliding_alone(exponential(turntable, epsilon, k), START, 1.0, DT)
    predicted = np.log(1.0 + k * START / epsilon) / k
    # The last 2e-3 rad/s take 2e-3 / epsilon, at most 4 ms.
    assert first_zero(s) == pytest.approx(predicted, abs=2e-3 / epsilon + 2.0 * DT)
    t = np.arange(s.size) * DT
    before = t < 0.9 * predicted
    wanted = (START + epsilon / k) * np.exp(-k * t) - epsilon / k
    np.testing.assert_allclose(s[before], wanted[before], atol=k * DT * START)  # Euler


@pytest.mark.parametrize(("k", "alpha"), [(5.0, 0.5), (3.0, 0.3), (6.0, 0.8)])
def test_power_law(turntable, k, alpha):
    s = sliding_alone(power(turntable, k, alpha), START, 1.2, DT)
    predicted = START ** (1.0 - alpha) / ((1.0 - alpha) * k)
    rest = (2.0 * THIN[0]) ** (1.0 - alpha) / ((1.0 - alpha) * k)
    assert first_zero(s) == pytest.approx(predicted - rest, rel=2e-3, abs=2.0 * DT)
    t = np.arange(s.size) * DT
    before = t < 0.8 * predicted
    wanted = (START ** (1.0 - alpha) - (1.0 - alpha) * k * t[before]) ** (1.0 / (1.0 - alpha))
    np.testing.assert_allclose(s[before], wanted, atol=k * DT * START)  # Euler


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
    s = sliding_alone(twisting(turntable, k1, k2), START, 1.5 * last, DT)
    t = np.arange(s.size) * DT
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
    s = sliding_alone(twisting(turntable, 1.5 * np.sqrt(L), 1.1 * L), 0.5, 3.0, DT, wave)
    # What is left is of the order of L dt^2, 1e-7.
    assert np.abs(s[20000:]).max() < 1e-5


def test_super_twisting_whose_integral_is_too_slow_is_carried_away(turntable):
    def ramp(t, s):
        return -INERTIA * L * t

    s = sliding_alone(twisting(turntable, 1.5 * np.sqrt(L), 0.5 * L), 0.0, 2.0, DT, ramp)
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
        d += DT * INERTIA * L * np.sign(missing)
        return d

    s = sliding_alone(law, 1e-3, 1.0, DT, worst)
    assert np.isfinite(s).all()
    assert (np.abs(s[5000:]).max() < 1e-3) == holds
    assert holds or np.abs(s[5000:]).max() > 0.1


@pytest.mark.slow
def test_super_twisting_layer_is_left_alone_by_admitted_disturbances(turntable):
    k1, k2 = 1.5 * np.sqrt(L), 1.1 * L
    layer = (k1 / 50.0) ** 2
    s = sliding_alone(twisting(turntable, k1, k2, layer), 0.0, 3.0, DT, wave)
    assert 0.5 * layer < np.abs(s).max() < 1.3 * layer  # L / k2, and the overshoot at its turns


@pytest.mark.parametrize("exponent", [0.0, 1.0, -0.5, float("nan")])
def test_exponents_outside_of_zero_to_one_are_refused(turntable, exponent):
    with pytest.raises(OptionError, match=r"exponent is .* between 0 and 1"):
        power(turntable, 1.0, exponent)
