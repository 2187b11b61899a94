"""What a log accepts, and how it refuses the rest.

Torques that follow the noise of the encoders are told from those that do not.
"""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.errors import LogError, ShapeError
from robotid_sim.measurement.log import FEWEST, Log, Truth, loop_noise
from robotid_sim.measurement.sensors import PRESETS, measure
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.config import load_config


def one_bad(values, channel, index, value):
    array = values[channel].copy()
    array[index] = value
    return {**values, channel: array}


def refused(values):
    with pytest.raises(LogError) as caught:
        Log(**values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("channel", ["q", "tau_meas", "dq", "tau_cmd"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_by_channel_and_index(log_values, channel, value):
    message = refused(one_bad(log_values, channel, (17, 2), value))
    assert f"{channel} is not finite at index (17, 2)" in message


def test_time_that_is_not_finite_is_named(log_values):
    assert "t is not finite at index (5,)" in refused(one_bad(log_values, "t", 5, np.nan))


def test_a_gap_in_time_is_named_by_its_time(log_values):
    t = log_values["t"].copy()
    t[100:] += 1e-3  # one sample lost after t[99] = 0.049 s
    assert "t = 0.049 s" in refused({**log_values, "t": t})


def test_time_may_jitter_by_rounding_but_not_by_more(log_values):
    jitter = np.random.default_rng(0).uniform(-1.0, 1.0, 200) * 1e-3
    Log(**{**log_values, "t": log_values["t"] + 1e-7 * jitter})  # steps within 1e-6 of dt
    assert "uniformly" in refused({**log_values, "t": log_values["t"] + 1e-2 * jitter})


@pytest.mark.parametrize("factor", [-1.0, 0.0])
def test_time_must_advance(log_values, factor):
    assert "does not advance" in refused({**log_values, "t": factor * log_values["t"]})


def test_nine_samples_are_too_few(log_values):
    channels = ("t", "q", "tau_meas", "dq", "tau_cmd")
    short = {name: log_values[name][:9] for name in channels}
    assert "only 9 samples" in refused({**log_values, **short, "truth": None})


@pytest.mark.parametrize("channel", ["q", "tau_meas", "dq", "tau_cmd"])
def test_every_channel_needs_one_column_per_joint_and_one_row_per_sample(log_values, channel):
    for wrong in (log_values[channel][:, :2], log_values[channel][:-1], np.zeros(200)):
        assert f"{channel} has shape" in refused({**log_values, channel: wrong})


def test_text_is_no_channel(log_values):
    assert "q is not an array of numbers" in refused({**log_values, "q": [["a"] * 3] * 200})


def test_every_joint_needs_a_unit(log_values):
    assert "3 joints but 2 units" in refused({**log_values, "joint_units": ("rad", "m")})


def test_optional_channels_may_be_absent(log_values):
    log = Log(**{**log_values, "dq": None, "tau_cmd": None, "truth": None, "period": None})
    assert log.dq is None
    assert log.dof == 3


def test_sample_time_is_the_mean_step(log):
    assert log.dt == pytest.approx(1e-3, rel=1e-12)  # rounding of t


@pytest.mark.parametrize("channel", ["t", "q", "tau_meas", "dq", "tau_cmd"])
def test_channels_are_read_only_copies(log_values, channel):
    log = Log(**log_values)
    before = log_values[channel].copy()
    log_values[channel][0] = 99.0
    np.testing.assert_array_equal(getattr(log, channel), before)
    with pytest.raises(ValueError, match="read-only"):
        getattr(log, channel)[0] = 0.0


@pytest.mark.parametrize("channel", ["q", "dq", "ddq", "tau"])
def test_truth_is_read_only(log, channel):
    with pytest.raises(ValueError, match="read-only"):
        getattr(log.truth, channel)[0] = 0.0


def test_a_log_is_of_the_robot_with_its_joints(irb140, iiwa, arm):
    t, q = np.arange(20) * 1e-3, np.zeros((20, 6))
    log = Log(t, q, q, irb140.joint_names, irb140.joint_units)
    assert log.require_robot(irb140) is log
    with pytest.raises(LogError, match="another robot") as caught:
        log.require_robot(arm)
    assert "shoulder [rad]" in str(caught.value)
    assert f"{irb140.joint_names[0]} [rad]" in str(caught.value)
    with pytest.raises(LogError, match=iiwa.name):
        log.require_robot(iiwa)


def test_a_log_in_other_units_is_of_another_robot(irb140):
    t, q = np.arange(20) * 1e-3, np.zeros((20, 6))
    log = Log(t, q, q, irb140.joint_names, ("rad",) * 5 + ("m",))
    with pytest.raises(LogError, match=r"\[m\]"):
        log.require_robot(irb140)


def test_currents_come_with_a_torque_constant_per_joint(log_values):
    current = log_values["tau_meas"] / 2.0
    both = {**log_values, "current": current, "torque_constant": [2.0, 2.0, 2.0]}
    assert Log(**both).current.shape == (200, 3)
    assert "only together" in refused({**both, "torque_constant": None})
    assert "only together" in refused({**both, "current": None})
    assert "torque_constant has shape" in refused({**both, "torque_constant": [2.0, 2.0]})
    assert "current has shape" in refused({**both, "current": current[:-1]})
    assert "current is not finite" in refused(one_bad(both, "current", (17, 2), np.nan))


def test_friction_of_the_truth_has_the_shape_of_the_truth(log_values):
    truth = log_values["truth"]
    assert replace(truth, friction=0.1 * truth.tau).friction.shape == (200, 3)
    with pytest.raises(ShapeError, match="truth friction"):
        replace(truth, friction=truth.tau[:-1])


def noisy(log, position, torque, *, gain=0.0, delay=0, seed=0):
    """Return a log with white noise of both channels, and torques that answer that of positions."""
    rng = np.random.default_rng(seed)
    n = position * rng.standard_normal(log.q.shape)
    answer = np.vstack([np.zeros((delay, log.dof)), n[: len(n) - delay]])
    tau = log.tau_meas + torque * rng.standard_normal(log.q.shape) - gain * answer
    return replace(log, q=log.q + n, tau_meas=tau)


@pytest.fixture(scope="module")
def clean(exact, arm) -> Log:
    """Return a log of 5 s at 1 kHz without noise."""
    made = exact(arm, 1000.0, period=5.0)
    q, dq, ddq = made.state
    return Log(
        t=np.arange(len(q)) * made.dt,
        q=q,
        tau_meas=made.tau,
        joint_names=arm.joint_names,
        joint_units=arm.joint_units,
        truth=Truth(q, dq, ddq, made.tau),
    )


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_torques_that_answer_noise_are_found_with_their_joint(clean, delay) -> None:
    gains = np.array([0.0, 2000.0])
    found = loop_noise(noisy(clean, 1e-4, 0.1, gain=gains, delay=delay))
    assert found is not None
    assert found.joint == clean.joint_names[1]
    assert found.correlation == pytest.approx(0.2 / np.hypot(0.2, 0.1), abs=0.05)
    assert found.joint in found.sentence()


def test_the_share_is_that_of_the_torque_noise(clean) -> None:
    found = loop_noise(noisy(clean, 1e-4, 0.1, gain=2000.0))
    size = np.sqrt((clean.tau_meas**2).mean(axis=0))
    assert found is not None
    assert found.share == pytest.approx(np.median(np.hypot(0.1, 0.2) / size), rel=0.05)


def test_independent_noise_is_no_loop(clean) -> None:
    assert not any(loop_noise(noisy(clean, 1e-4, 0.1, seed=seed)) for seed in range(20))


@pytest.mark.parametrize("preset", PRESETS)
def test_sensors_outside_of_the_loop_are_no_loop(clean, preset) -> None:
    sensors = build_sensors(load_config(None, {"preset": preset}))
    for seed in range(5):
        assert loop_noise(measure(clean, sensors, np.random.default_rng(seed))) is None


@pytest.mark.parametrize("step", [1e-6, 1e-4, 1e-2])
def test_quantized_positions_say_nothing(clean, step) -> None:
    assert loop_noise(replace(clean, q=np.round(clean.q / step) * step)) is None


def test_a_short_log_says_nothing(clean) -> None:
    shaken = noisy(clean, 1e-4, 0.1, gain=2000.0)
    assert loop_noise(shaken) is not None
    assert loop_noise(shaken.cut(slice(0, FEWEST - 1))) is None
