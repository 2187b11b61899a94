"""Torques that follow the noise of the encoders are told from those that do not."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.measurement.log import FEWEST, Log, Truth, loop_noise
from robotid_sim.measurement.sensors import PRESETS, measure
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.config import load_config


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
