"""Laws with a memory: what it buys, and that it does not wind up."""

from dataclasses import replace

import numpy as np
import pytest
from loops import DT, INERTIA, loop_gains, regulate, turntable_robot

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.linear_feedback import Pid
from robotid_sim.control.sliding_memory import AdaptiveSlidingMode, IntegralSlidingMode
from robotid_sim.errors import OptionError

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
