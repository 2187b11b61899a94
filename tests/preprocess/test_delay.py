"""The delay of the torque: estimated to a tenth of a sample from the log alone, and taken off."""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.errors import LogError
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueDelay, TorqueNoise
from robotid_sim.model.perturb import perturb
from robotid_sim.preprocess import adaptive
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.delay import (
    Delay,
    estimate_delay,
    estimate_remaining_delay,
    remove_delay,
)
from robotid_sim.preprocess.rts import RtsSmoother

NOISE = (EncoderNoise(), TorqueNoise())


def estimated(case, samples, seed=0, nominal=None):
    """Return delay and standard deviation in samples, for a delay of so many."""
    sensors = (*NOISE, TorqueDelay(samples=samples))
    log = replace(measure(case.log, sensors, np.random.default_rng(seed)), truth=None)
    nominal = nominal or case.nominal
    found = estimate_delay(log, RtsSmoother()(log, nominal), nominal)
    return found.value / log.dt, found.std / log.dt, found


@pytest.mark.parametrize("samples", [2.5, 0.0, -1.3])
def test_a_delay_is_found_to_a_tenth_of_a_sample(engine, arm, samples):
    if samples < 0.0:  # no sensor is early; a log that states too early a torque time is
        case = engine(arm)
        log = replace(case.log, torque_time_offset=case.log.torque_time_offset + samples * 1e-3)
        value, _, _ = estimated(replace(case, log=log), 0.0)
    else:
        value, _, found = estimated(engine(arm), samples)
        assert found.is_significant == (samples > 0.0)
    assert value == pytest.approx(samples, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(("irb140", "geared_iiwa"), "irb140"))
@pytest.mark.parametrize("samples", [2.5, 0.0])
def test_a_delay_is_found_on_arms_for_every_seed(request, engine, name, samples):
    case = engine(request.getfixturevalue(name))
    values = []
    for seed in range(5):
        value, std, found = estimated(case, samples, seed)
        assert value == pytest.approx(samples, abs=min(3.0 * std, 0.2))
        assert std < 0.1
        assert found.is_significant == (samples > 0.0)
        values.append(value)
    assert np.mean(values) == pytest.approx(samples, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("samples", sampled((0.0, 0.4), 0.4))
def test_rows_of_known_noise_give_delay_and_deviation_without_bias(engine, irb140, samples):
    case = engine(irb140)
    found, smoothed = [], []
    for seed in range(8):
        sensors = (*NOISE, TorqueDelay(samples=samples))
        log = replace(measure(case.log, sensors, np.random.default_rng(seed)), truth=None)
        motion = Adaptive(delay=0.0)(log, case.nominal)
        rest = estimate_remaining_delay(motion, case.nominal)
        found.append((rest.value / log.dt - samples, rest.std / log.dt))
        smoothed.append(estimate_delay(log, RtsSmoother()(log, case.nominal), case.nominal).value)
    error, std = np.array(found).T
    assert abs(error.mean()) < 3.0 * std.mean() / np.sqrt(error.size)
    assert np.sqrt((error**2).mean()) < 1.7 * std.mean()  # eight draws: 99.9 %
    assert abs(error.mean()) < abs(np.mean(smoothed) / log.dt - samples)


@pytest.mark.slow
def test_a_delay_of_a_smoothed_motion_is_judged_again_by_its_rows(engine, arm, monkeypatch):
    case = engine(arm)
    log = replace(measure(case.log, NOISE, np.random.default_rng(0)), truth=None)
    chance = Delay(0.2 * log.dt, 0.01 * log.dt, log.dt)  # what noise of the motion once made of it
    monkeypatch.setattr(adaptive, "estimate_delay", lambda *_: chance)
    tuned = Adaptive().tune(log, case.nominal)
    assert tuned.delay == 0.0
    assert "is not significant" in tuned.message
    smoothed = Adaptive(method="rts").tune(log, case.nominal)
    assert smoothed.delay == chance.value


def test_a_wrong_inertia_of_the_nominal_is_no_delay(engine, arm):
    case = engine(arm)
    other = perturb(arm, np.random.default_rng(50), scale=0.5)
    # The same columns but for rounding, so the same minimum to the search's tolerance.
    one, two = (estimated(case, 2.5, nominal=x)[0] for x in (case.nominal, other))
    assert one == pytest.approx(two, abs=1e-2)


def test_without_delay_undoes_the_sensor(periodic, arm):
    case = periodic(arm)
    late = measure(case.log, (TorqueDelay(samples=2.4),), np.random.default_rng(0))
    fixed = remove_delay(late, 2.4e-3)
    assert fixed.torque_time_offset == pytest.approx(case.log.torque_time_offset - 4e-4, rel=1e-9)
    smoother = RtsSmoother()
    before, after = (case.ratio(smoother(log, case.nominal)) for log in (late, fixed))
    assert np.abs(before).max() > 1.0
    assert np.abs(after).max() < 1e-4


@pytest.mark.parametrize("delay", [0.013, -0.031, 0.1])
def test_torques_with_times_of_their_own_keep_when_they_act(delay):
    t = np.arange(100) * 0.01
    times = t + np.random.default_rng(0).uniform(-0.005, 0.005, t.size)
    late = Log(t, np.sin(t)[:, None], times[:, None] - delay, ("a",), ("rad",), torque_times=times)
    early = remove_delay(late, delay)
    inner = slice(10, -10)
    assert np.allclose(early.tau_meas[inner, 0], early.action_times[inner], rtol=0.0, atol=1e-12)
    assert np.abs(early.action_times - t)[inner].max() <= 0.0151


def test_no_delay_is_the_log_itself_and_a_delay_of_the_whole_log_is_refused(engine, arm):
    log = engine(arm).log
    assert remove_delay(log, 0.0) is log
    with pytest.raises(LogError, match="longer than the log"):
        remove_delay(log, 100.0)


def test_what_is_significant():
    assert Delay(1e-3, 1e-4, 1e-3).is_significant
    assert not Delay(1e-3, 4e-4, 1e-3).is_significant  # chance
    assert not Delay(1e-5, 1e-7, 1e-3).is_significant  # a hundredth of a sample
