"""Sensors: the contract of the registry, and what each does to the numbers.

Presets: known sensors, every robot, growing error; the table says what they are."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import kstest

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import ArgumentTypeError, OptionError, UnknownNameError
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.encoder_sensors import (
    EncoderColoredNoise,
    EncoderHarmonics,
    EncoderNoise,
    EncoderQuantization,
    SampleJitter,
)
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import interpolate_samples
from robotid_sim.measurement.recording_faults import DroppedSamples, Outliers
from robotid_sim.measurement.sensors import (
    PRESETS,
    PROVENANCE_KEY,
    describe_presets,
    fix_sensors,
    measure,
    preset,
    replicate_measurement,
)
from robotid_sim.measurement.torque_sensors import (
    MotorCurrent,
    TorqueDelay,
    TorqueNoise,
    TorqueOffset,
    TorqueRipple,
)
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog

CHANNELS = ("t", "q", "tau_meas", "dq", "tau_cmd", "current")


def bits(log):
    present = [getattr(log, name) for name in CHANNELS if getattr(log, name) is not None]
    return b"".join(channel.tobytes() for channel in present)


def build(name):
    return SENSORS.build(name, **SENSORS[name].check_options)


def long_log(samples=20_000):
    """Return a log long enough to measure a standard deviation to half a percent."""
    t = (np.arange(samples) - 1000) * 1e-3
    q = np.column_stack([np.sin(t), 0.3 * np.cos(2.0 * t), 0.1 * np.sin(3.0 * t)])
    tau = np.column_stack([100.0 * np.cos(t), 20.0 * np.sin(t), 3.0 * np.sin(2.0 * t)])
    return Log(t, q, tau, ("base", "arm", "slide"), ("rad", "rad", "m"))


@pytest.mark.parametrize("name", SENSORS)
class TestContract:
    def test_provenance_names_it_with_its_options_as_a_file_would_give_them_back(self, log, name):
        sensor = build(name)
        out = measure(log, (sensor, sensor), np.random.default_rng(0))
        assert {**out.provenance, PROVENANCE_KEY: None} == {**log.provenance, PROVENANCE_KEY: None}
        first, second = out.provenance[PROVENANCE_KEY]
        assert first["sensor"] == second["sensor"] == type(sensor).__name__
        for field in fields(sensor):
            value = getattr(sensor, field.name)
            assert first[field.name] == (list(value) if isinstance(value, tuple) else value)
        assert json.loads(json.dumps(out.provenance)) == out.provenance

    def test_it_works_on_a_log_with_currents_and_keeps_torque_and_current_together(self, log, name):
        current = MotorCurrent(torque_constant=(2.0, 3.0, 4.0))(log, np.random.default_rng(0))
        out = build(name)(current, np.random.default_rng(1))
        np.testing.assert_allclose(out.tau_meas, out.current * out.torque_constant, atol=1e-12)


@pytest.mark.parametrize("value", [-1e-6, np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("encoder-noise", "revolute"),
        ("encoder-noise", "prismatic"),
        ("encoder-quantization", "revolute"),
        ("encoder-quantization", "prismatic"),
        ("torque-noise", "relative"),
        ("torque-noise", "absolute"),
        ("torque-delay", "delay"),
        ("torque-delay", "samples"),
        ("torque-offset", "relative"),
        ("torque-ripple", "relative"),
        ("torque-ripple", "gear"),
        ("encoder-quantization", "bits"),
        ("encoder-colored-noise", "revolute"),
        ("encoder-colored-noise", "correlation_time"),
        ("encoder-harmonics", "lead"),
        ("motor-current", "torque_constant"),
        ("motor-current", "noise"),
        ("sample-jitter", "std"),
        ("dropped-samples", "probability"),
        ("outliers", "probability"),
        ("outliers", "torque"),
    ],
)
def test_negative_and_infinite_parameters_are_refused(name, option, value):
    with pytest.raises(OptionError, match=option):
        SENSORS.build(name, **{option: value})


SAMPLING = 0.03
"""Six standard deviations of a standard deviation from 20,000 samples (1/sqrt(2 N) = 0.5 %)."""


def test_encoder_noise_has_its_standard_deviation_by_kind_of_joint():
    log = long_log()
    noise = EncoderNoise(revolute=2e-4, prismatic=3e-5)(log, np.random.default_rng(0)).q - log.q
    np.testing.assert_allclose(noise.std(axis=0), [2e-4, 2e-4, 3e-5], rtol=SAMPLING)
    assert np.abs(noise.mean(axis=0) / noise.std(axis=0)).max() < 4.0 / np.sqrt(log.t.size)


def test_encoder_noise_is_white_and_independent_between_joints():
    log = long_log()
    noise = EncoderNoise()(log, np.random.default_rng(1)).q - log.q
    correlation = 4.5 / np.sqrt(log.t.size)  # 4.5 standard deviations of a sample correlation
    scaled = noise / noise.std(axis=0)
    assert np.abs((scaled[1:] * scaled[:-1]).mean(axis=0)).max() < correlation
    assert np.abs(np.corrcoef(noise.T)[np.triu_indices(3, 1)]).max() < correlation


def test_torque_noise_is_relative_to_the_torque_after_time_zero_plus_absolute():
    log = long_log()
    sensor = TorqueNoise(relative=0.02, absolute=0.1)
    noise = sensor(log, np.random.default_rng(2)).tau_meas - log.tau_meas
    rms = np.sqrt((log.tau_meas[log.t >= 0.0] ** 2).mean(axis=0))
    np.testing.assert_allclose(noise.std(axis=0), 0.02 * rms + 0.1, rtol=SAMPLING)


def test_quantization_rounds_to_the_grid():
    log = long_log()
    step = np.array([1e-3, 1e-3, 1e-2])
    out = EncoderQuantization(revolute=1e-3, prismatic=1e-2)(log, np.random.default_rng(0))
    counts = out.q / step
    assert np.abs(counts - np.round(counts)).max() < 1e-9  # rounding of counts up to 1e3
    assert (np.abs(out.q - log.q) <= 0.5 * step * (1.0 + 1e-9)).all()
    error = (out.q - log.q) / step
    np.testing.assert_allclose(error.std(axis=0), 1.0 / np.sqrt(12.0), rtol=0.05)  # near uniform


def test_quantization_of_zero_resolution_changes_nothing():
    log = long_log()
    out = EncoderQuantization(revolute=0.0, prismatic=1e-3)(log, np.random.default_rng(0))
    np.testing.assert_array_equal(out.q[:, :2], log.q[:, :2])
    assert not np.array_equal(out.q[:, 2], log.q[:, 2])


def test_a_replicate_is_rounded_at_other_places_and_other_sensors_draw_the_same():
    log, rounding = long_log(), EncoderQuantization(revolute=1e-3, prismatic=1e-2)
    step = np.array([1e-3, 1e-3, 1e-2])
    sensors = (EncoderNoise(), rounding, TorqueNoise())
    plain = measure(log, sensors, np.random.default_rng(1))
    same, other = (
        replicate_measurement(log, sensors, np.random.default_rng(1), k) for k in (0.0, 0.3)
    )
    np.testing.assert_array_equal(same.q, plain.q)
    np.testing.assert_array_equal(other.tau_meas, plain.tau_meas)
    assert other.provenance == plain.provenance
    assert not np.array_equal(other.q, plain.q)
    rng = np.random.default_rng(0)
    for share in (0.0, 0.3, 0.7):
        counts = rounding.again(log, rng, share).q / step + share
        assert np.abs(counts - np.round(counts)).max() < 1e-9
        error = rounding.again(log, rng, share).q - log.q
        assert (np.abs(error) <= 0.5 * step * (1.0 + 1e-9)).all()


def test_delay_shifts_torque_to_later_samples_and_interpolates_fractions():
    log = long_log(2000)
    rng = np.random.default_rng(0)
    rounding = 1e-10  # relative to 100 N m, of a time divided by the sample time
    late = TorqueDelay(delay=3e-3)(log, rng)
    np.testing.assert_allclose(late.tau_meas[3:], log.tau_meas[:-3], atol=rounding)
    np.testing.assert_array_equal(late.tau_meas[:3], log.tau_meas[[0, 0, 0]])
    np.testing.assert_array_equal(late.q, log.q)
    half = TorqueDelay(delay=0.5e-3)(log, rng).tau_meas
    t = log.t[1:] - 0.5e-3
    wanted = np.column_stack([100.0 * np.cos(t), 20.0 * np.sin(t), 3.0 * np.sin(2.0 * t)])
    np.testing.assert_allclose(half[1:], wanted, atol=rounding)
    same = TorqueDelay(samples=0.25, delay=0.25e-3)(log, rng).tau_meas
    np.testing.assert_allclose(same, half, atol=rounding)


def test_no_delay_changes_nothing():
    log = long_log(100)
    out = TorqueDelay()(log, np.random.default_rng(0))
    np.testing.assert_array_equal(out.tau_meas, log.tau_meas)


def test_measure_applies_sensors_in_order_with_one_generator():
    log = long_log(2000)
    sensors = (EncoderNoise(), EncoderQuantization(), TorqueNoise())
    together = measure(log, sensors, np.random.default_rng(5))
    rng, one_by_one = np.random.default_rng(5), log
    for sensor in sensors:
        one_by_one = sensor(one_by_one, rng)
    assert together.q.tobytes() == one_by_one.q.tobytes()
    assert together.tau_meas.tobytes() == one_by_one.tau_meas.tobytes()
    swapped = measure(log, sensors[1::-1], np.random.default_rng(5))
    assert not np.array_equal(swapped.q, together.q)


def test_no_sensor_leaves_the_log_as_it_is(log):
    assert measure(log, (), np.random.default_rng(0)) is log


def test_noise_of_a_log_without_truth_is_the_same(log):
    blind = replace(log, truth=None)
    sensors = (EncoderNoise(), TorqueNoise())
    one, two = (measure(x, sensors, np.random.default_rng(1)) for x in (log, blind))
    assert bits(one) == bits(two)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("encoder-noise", "revolute"),
        ("encoder-harmonics", "gear"),
        ("motor-current", "error"),
        ("torque-noise", "absolute"),
        ("outliers", "torque"),
    ],
)
def test_options_are_one_number_or_one_per_joint(log, name, option):
    with pytest.raises(OptionError, match=rf"{option} has 2 entries for 3 joints"):
        SENSORS.build(name, **{option: [0.1, 0.2]})(log, np.random.default_rng(0))
    lists, numbers = (
        SENSORS.build(name, **{option: value})(log, np.random.default_rng(0))
        for value in ([0.1, 0.1, 0.1], 0.1)
    )
    assert bits(lists) == bits(numbers)
    with pytest.raises(OptionError, match=option):
        SENSORS.build(name, **{option: "much"})


@pytest.mark.parametrize("name", ["encoder-harmonics", "torque-ripple"])
@pytest.mark.parametrize("bad", [{"orders": [1.0]}, {"shares": []}, {"orders": 2.0, "shares": 1.0}])
def test_orders_and_shares_of_harmonics_belong_together(name, bad):
    with pytest.raises(OptionError, match="orders and shares"):
        SENSORS.build(name, **bad)


def test_resolution_is_given_in_one_way():
    with pytest.raises(OptionError, match="not both"):
        EncoderQuantization(bits=16, revolute=1e-4)


def test_quantization_after_noise_stays_on_the_grid_and_before_it_does_not():
    log, step = long_log(2000), 2.0 * np.pi / 2**14
    sensors = (EncoderNoise(), EncoderQuantization(bits=14))
    after, before = (
        measure(log, order, np.random.default_rng(0)).q[:, 0] / step
        for order in (sensors, sensors[::-1])
    )
    assert np.abs(after - np.round(after)).max() < 1e-9  # rounding of counts up to 1e4
    assert np.abs(before - np.round(before)).max() > 0.1


def test_a_replicate_of_the_same_cell_differs_in_its_noise_only():
    log = long_log(2000)
    lasting = ("torque-ripple", "motor-current", "torque-offset", "encoder-harmonics")
    cell = tuple(SENSORS.build(name) for name in (*lasting, "torque-noise"))
    cell = (cell[0], replace(cell[1], noise=0.0), *cell[2:4], replace(cell[4], relative=0.001))
    seen = measure(log, cell, np.random.default_rng(0))
    again = measure(log, fix_sensors(cell, seen), np.random.default_rng(1))
    other = measure(log, cell, np.random.default_rng(1))
    rms = np.sqrt((log.tau_meas**2).mean(axis=0))
    same, new = (np.abs(x.tau_meas - seen.tau_meas).max(axis=0) / rms for x in (again, other))
    assert (same < 0.01).all()  # 7 standard deviations of the noise
    assert (new > 0.01).all()
    np.testing.assert_array_equal(again.q, seen.q)
    assert np.abs(other.q - seen.q).max() > 1e-5
    one_sensor_less = replace(seen, provenance={})
    assert fix_sensors(cell, one_sensor_less) == cell


def test_given_phases_are_used_and_checked(log):
    phase = [[0.0, 1.0, 2.0], [0.5, 1.5, 2.5]]
    one, two = (
        SENSORS.build("torque-ripple", phase=phase)(log, np.random.default_rng(seed))
        for seed in (0, 1)
    )
    assert bits(one) == bits(two)
    with pytest.raises(OptionError, match="one per order and joint"):
        SENSORS.build("torque-ripple", phase=[[0.0, 1.0]])(log, np.random.default_rng(0))


def test_measure_takes_one_sensor_or_many_and_needs_rng_only_to_draw(log) -> None:
    noise, rounding = EncoderNoise(), EncoderQuantization()
    one, many = (measure(log, s, np.random.default_rng(3)) for s in (noise, [noise]))
    assert np.array_equal(one.q, many.q)
    assert np.array_equal(measure(log, rounding).q, measure(log, [rounding]).q)
    with pytest.raises(OptionError, match="EncoderNoise needs random numbers; give rng"):
        measure(log, noise)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((np.zeros(3), ()), "log is of type ndarray, expected Log: give what rollout or load_log"),
        ((None, ("encoder-noise",)), "a sensor is of type str, expected Sensor: give objects"),
    ],
)
def test_what_is_no_log_or_sensor_is_told_by_name(log, arguments, text) -> None:
    first, sensors = arguments
    with pytest.raises(ArgumentTypeError, match=text):
        measure(log if first is None else first, sensors)


def short_log(robot, samples=500):
    """Return the clean log of a smooth motion around home."""
    t = (np.arange(samples) - 50) * 1e-3
    reach = np.minimum(0.3, 0.2 * (robot.limits.upper - robot.limits.lower))
    omega = 2.0 * np.pi * (1.0 + 0.3 * np.arange(robot.dof))
    wave = np.outer(t, omega)
    q = robot.home + reach * np.sin(wave)
    dq, ddq = reach * omega * np.cos(wave), -reach * omega**2 * np.sin(wave)
    tau = joint_torque(robot, q, dq, ddq)
    truth = Truth(q, dq, ddq, tau)
    return Log(t, q, tau, robot.joint_names, robot.joint_units, truth=truth)


def sensors_of(name):
    return tuple(SENSORS.build(sensor, **options) for sensor, options in preset(name).items())


@pytest.mark.parametrize("name", sorted(catalog()))
def test_presets_run_on_every_robot_and_grow_from_nothing_to_harsh(name, tmp_path):
    log = short_log(load_robot(name))
    assert measure(log, sensors_of("ideal"), np.random.default_rng(0)) is log
    position, torque = np.zeros(log.dof), np.zeros(log.dof)
    for level in ("lab", "industrial", "harsh"):
        seen = measure(log, sensors_of(level), np.random.default_rng(0))
        assert seen.truth is log.truth
        assert len(seen.provenance[PROVENANCE_KEY]) == len(PRESETS[level])
        worse = np.std(seen.q - log.q, axis=0), np.std(seen.tau_meas - log.tau_meas, axis=0)
        assert (worse[0] > position).all()
        assert (worse[1] > torque).all()
        position, torque = worse
    assert (torque < 0.5 * np.std(log.tau_meas, axis=0) + 0.1).all()  # still a measurement
    save_log(seen, tmp_path / "log.h5")
    loaded = load_log(tmp_path / "log.h5")
    assert loaded.provenance == seen.provenance
    assert loaded.current.tobytes() == seen.current.tobytes()


def test_presets_are_ordered_and_ideal_has_no_sensor():
    assert list(PRESETS) == ["ideal", "lab", "industrial", "harsh"]
    assert not PRESETS["ideal"]
    assert set().union(*PRESETS.values()) == set(SENSORS)  # every sensor is of use somewhere
    for name in PRESETS:
        order = list(PRESETS[name])
        assert order == [sensor for sensor in PRESETS["harsh"] if sensor in order]


def test_the_table_gives_the_numbers_of_the_presets_with_a_reason():
    rows = describe_presets()
    assert len(rows) == sum(len(sensors) for sensors in PRESETS.values())
    for row in rows:
        assert row["options"] == PRESETS[row["preset"]][row["sensor"]]
        assert "assumed" in row["reason"] or "doi:" in row["reason"]


def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(UnknownNameError, match="known: ideal, lab, industrial, harsh"):
        preset("perfect")


def test_a_preset_is_a_copy():
    preset("lab")["torque-noise"]["relative"] = 1.0
    assert PRESETS["lab"]["torque-noise"]["relative"] < 0.1


DT = 1e-3  # [s]
SAMPLES = 20_000
SIGMAS = 3.5
"""Deviations of a statistic that a seeded test allows; 3.5 happens once in 2000."""


def log_of(q, tau):
    """Return a log of two revolute joints and a prismatic one."""
    return Log(np.arange(len(q)) * DT, q, tau, ("base", "arm", "slide"), ("rad", "rad", "m"))


def moving_log(samples=SAMPLES):
    t = np.arange(samples) * DT
    q = np.column_stack([1.5 * np.sin(0.7 * t), 0.8 * np.cos(1.3 * t), 0.2 * np.sin(0.9 * t)])
    tau = np.column_stack([100.0 * np.cos(t), 20.0 * np.sin(1.1 * t), 3.0 * np.sin(2.0 * t)])
    return log_of(q, tau)


def rms(x):
    return np.sqrt((x**2).mean(axis=0))


def drawn(log):
    return log.provenance[PROVENANCE_KEY][-1]["drawn"]


def test_colored_noise_has_its_size_and_its_memory():
    log = moving_log()
    sensor = EncoderColoredNoise(revolute=2e-4, prismatic=3e-5, correlation_time=0.02)
    noise = sensor(log, np.random.default_rng(0)).q - log.q
    scaled = noise / np.array([2e-4, 2e-4, 3e-5])
    # Only every 2 T = 40 samples are as good as independent: 500 of them in the log.
    assert np.abs(rms(scaled) - 1.0).max() < SIGMAS / np.sqrt(2.0 * 500.0)
    for lag in (1, 20, 60):
        correlation = (scaled[lag:] * scaled[:-lag]).mean(axis=0)
        assert np.abs(correlation - np.exp(-lag * DT / 0.02)).max() < SIGMAS / np.sqrt(500.0)
    starts = [sensor(log_of(*np.zeros((2, 10, 3))), np.random.default_rng(k)).q for k in range(300)]
    first = rms(np.array(starts)[:, 0]) / np.array([2e-4, 2e-4, 3e-5])
    assert np.abs(first - 1.0).max() < SIGMAS / np.sqrt(600.0)  # stationary from the start


@pytest.mark.parametrize("kind", [EncoderHarmonics, TorqueRipple])
def test_harmonics_have_their_amplitudes_and_nothing_else(kind):
    log = moving_log(5000)
    options = {"orders": (1.0, 3.0), "shares": (1.0, 0.25), "gear": (1.0, 50.0, 2.0)}
    if kind is EncoderHarmonics:
        out = kind(revolute=1e-3, prismatic=1e-4, lead=0.02, **options)(
            log, np.random.default_rng(0)
        )
        error, size = out.q - log.q, np.array([1e-3, 1e-3, 1e-4])
    else:
        sensor = kind(relative=0.02, absolute=0.1, lead=0.02, **options)
        out = sensor(log, np.random.default_rng(0))
        error, size = out.tau_meas - log.tau_meas, 0.02 * rms(log.tau_meas) + 0.1
    phase = np.array(drawn(out)["phase"])
    assert phase.shape == (2, 3)
    angle = log.q * np.array([1.0, 50.0, 2.0 * 2.0 * np.pi / 0.02])
    wanted = size * (np.sin(angle + phase[0]) + 0.25 * np.sin(3.0 * angle + phase[1]))
    np.testing.assert_allclose(error, wanted, atol=1e-12 * np.abs(log.tau_meas).max())


@pytest.mark.parametrize(("bits", "gear", "step"), [(12, 1.0, 2**-12), (10, 25.0, 2**-10 / 25.0)])
def test_bits_per_revolution_are_the_resolution_and_its_error_is_uniform(bits, gear, step):
    log = moving_log()
    out = EncoderQuantization(bits=bits, gear=gear)(log, np.random.default_rng(0))
    error = (out.q - log.q)[::97, :2] / (2.0 * np.pi * step)
    assert np.abs(error).max() <= 0.5 + 1e-9  # rounding of counts up to 1e5
    for joint in range(2):
        assert kstest(error[:, joint], "uniform", args=(-0.5, 1.0)).pvalue > 1e-3


def test_torque_noise_takes_one_number_per_joint():
    log = moving_log()
    sensor = TorqueNoise(relative=[0.01, 0.0, 0.03], absolute=[0.0, 0.5, 0.1])
    noise = sensor(log, np.random.default_rng(1)).tau_meas - log.tau_meas
    wanted = np.array([0.01, 0.0, 0.03]) * rms(log.tau_meas) + np.array([0.0, 0.5, 0.1])
    assert np.abs(rms(noise) / wanted - 1.0).max() < SIGMAS / np.sqrt(2.0 * SAMPLES)


def test_torque_offset_is_the_given_one_plus_a_draw_of_its_size():
    log = moving_log(1000)
    given = TorqueOffset(offset=(1.0, -2.0, 0.5), relative=0.0)(log, np.random.default_rng(0))
    np.testing.assert_allclose((given.tau_meas - log.tau_meas)[7], (1.0, -2.0, 0.5), atol=1e-12)
    draws = []
    for seed in range(400):
        out = TorqueOffset(relative=0.02)(log, np.random.default_rng(seed))
        error = out.tau_meas - log.tau_meas
        assert np.ptp(error, axis=0).max() < 1e-12  # rounding of 100 N m
        np.testing.assert_allclose(drawn(out)["offset"], error[0], atol=1e-12)
        draws.append(error[0])
    wanted = 0.02 * rms(log.tau_meas)
    assert np.abs(rms(np.array(draws)) / wanted - 1.0).max() < SIGMAS / np.sqrt(800.0)


def test_motor_current_scales_the_torque_by_the_error_of_its_constant():
    log = moving_log(1000)
    exact = {"torque_constant": (10.0, 5.0, 100.0), "error_std": 0.0, "noise": 0.0}
    sensor = MotorCurrent(error=(0.05, -0.02, 0.0), offset=(0.0, 0.1, 0.2), **exact)
    out = sensor(log, np.random.default_rng(0))
    K, delta, i0 = np.array([10.0, 5.0, 100.0]), np.array([0.05, -0.02, 0.0]), (0.0, 0.1, 0.2)
    np.testing.assert_allclose(out.current, log.tau_meas / (K * (1.0 + delta)) + i0, rtol=1e-13)
    np.testing.assert_array_equal(out.tau_meas, K * out.current)
    np.testing.assert_array_equal(out.torque_constant, K)


def test_motor_current_has_its_noise_and_draws_its_error():
    log = moving_log()
    sensor = MotorCurrent(noise=(0.01, 0.03, 0.05), error_std=0.0)
    out = sensor(log, np.random.default_rng(0))
    K = np.abs(log.tau_meas).max(axis=0) / 10.0  # 10 A at the largest torque
    np.testing.assert_allclose(out.torque_constant, K, rtol=1e-12)
    noise = rms(out.current - log.tau_meas / K)
    relative = noise / np.array([0.01, 0.03, 0.05])
    assert np.abs(relative - 1.0).max() < SIGMAS / np.sqrt(2.0 * SAMPLES)
    short = moving_log(20)
    errors = [
        drawn(MotorCurrent(error_std=0.04)(short, np.random.default_rng(k)))["error"]
        for k in range(400)
    ]
    assert np.abs(rms(np.array(errors)) / 0.04 - 1.0).max() < SIGMAS / np.sqrt(800.0)


def band_limited(seed, samples=4000, bandwidth=100.0):
    """Return sums of 40 sinusoids below a bandwidth [Hz], and the function of time."""
    rng = np.random.default_rng(seed)
    omega, phase = 2.0 * np.pi * rng.uniform(1.0, bandwidth, 40), rng.uniform(0.0, 6.28, (3, 40))

    def signal(t):
        return np.stack([np.sin(np.outer(t, omega) + p).sum(axis=1) for p in phase], axis=1)

    return signal, signal(np.arange(samples) * DT)


def measured_delay(x, y):
    """Return the lag in samples at which y correlates best with x, to a fraction of a sample."""
    window = np.hanning(len(x))
    X, Y = np.fft.rfft(window * x), np.fft.rfft(window * y)
    omega = 2.0 * np.pi * np.fft.rfftfreq(len(x))

    def negative(lag):
        return -(np.conj(X) * Y * np.exp(1j * omega * lag)).real.sum()

    coarse = min(np.arange(-2.0, 12.0, 0.5), key=negative)
    return minimize_scalar(negative, bounds=(coarse - 0.6, coarse + 0.6), method="bounded").x


@pytest.mark.parametrize("delay", [0.0, 0.3, 0.5, 1.0, 2.75, 7.5])
def test_delay_is_found_again_by_cross_correlation(delay):
    _, tau = band_limited(0)
    log = log_of(np.zeros_like(tau), tau)
    by_samples = TorqueDelay(samples=delay)(log, np.random.default_rng(0))
    by_seconds = TorqueDelay(delay=delay * DT)(log, np.random.default_rng(0))
    np.testing.assert_allclose(by_samples.tau_meas, by_seconds.tau_meas, atol=1e-9)
    for joint in range(3):
        found = measured_delay(tau[:, joint], by_samples.tau_meas[:, joint])
        assert found == pytest.approx(delay, abs=0.02)


@pytest.mark.parametrize(("bandwidth", "error"), [(50.0, 1.1e-7), (100.0, 2.7e-5)])
def test_interpolation_is_as_good_as_it_says(bandwidth, error):
    t = np.arange(1000) * DT
    x = np.exp(1j * 2.0 * np.pi * bandwidth * t)[:, None]
    middle = np.arange(10, 980) + 0.5
    for part in (x.real, x.imag):
        assert np.abs(interpolate_samples(part, np.arange(1000.0)) - part).max() == 0.0
    exact = np.exp(1j * 2.0 * np.pi * bandwidth * middle * DT)[:, None]
    found = interpolate_samples(x.real, middle) + 1j * interpolate_samples(x.imag, middle)
    assert 0.5 * error < np.abs(found - exact).max() <= error


def test_interpolation_is_exact_for_polynomials_of_degree_7_even_at_the_ends():
    def polynomials(k):
        return np.stack([(k / 20.0 - 1.0) ** m for m in range(8)], axis=1)

    position = np.array([0.0, 0.3, 1.5, 20.5, 38.7, 39.0])
    found = interpolate_samples(polynomials(np.arange(40.0)), position)
    np.testing.assert_allclose(found, polynomials(position), atol=1e-13)
    outside = interpolate_samples(polynomials(np.arange(40.0)), np.array([-3.0, 50.0]))
    np.testing.assert_allclose(outside, polynomials(np.array([0.0, 39.0])), atol=1e-13)


def test_jitter_is_an_error_of_time_that_joints_share():
    ramp = np.outer(np.arange(SAMPLES) * DT, [0.5, -2.0, 0.1])  # constant velocities
    log = log_of(ramp, np.zeros_like(ramp))
    out = SampleJitter(std=5e-5)(log, np.random.default_rng(0))
    late = ((out.q - log.q) / np.array([0.5, -2.0, 0.1]))[5:-5]
    np.testing.assert_allclose(late[:, 0], late[:, 1], atol=1e-13)
    assert rms(late[:, 0]) / 5e-5 == pytest.approx(1.0, abs=SIGMAS / np.sqrt(2.0 * SAMPLES))
    assert drawn(out)["rms"] == pytest.approx(rms(late[:, 0]), rel=0.01)  # five samples cut
    white = (late[1:, 0] * late[:-1, 0]).mean() / 5e-5**2
    assert abs(white) < SIGMAS / np.sqrt(SAMPLES)
    np.testing.assert_array_equal(out.tau_meas, log.tau_meas)


def test_dropped_samples_hold_the_last_one_in_every_channel():
    log = MotorCurrent(noise=1.0)(moving_log(), np.random.default_rng(0))
    out = DroppedSamples(probability=0.05)(log, np.random.default_rng(1))
    lost = (out.q != log.q).any(axis=1)
    spread = np.sqrt(SAMPLES * 0.05 * 0.95)
    assert abs(drawn(out)["lost"] - 0.05 * SAMPLES) < SIGMAS * spread
    assert lost.sum() == drawn(out)["lost"]
    assert not lost[0]
    for name in ("q", "tau_meas", "current"):
        seen, true = getattr(out, name), getattr(log, name)
        np.testing.assert_array_equal(seen[1:][lost[1:]], seen[:-1][lost[1:]])
        np.testing.assert_array_equal(seen[~lost], true[~lost])


def test_outliers_have_their_share_their_size_and_both_signs():
    log = moving_log()
    sensor = Outliers(probability=0.02, torque=(5.0, 10.0, 0.0), position=4.0)
    out = sensor(log, np.random.default_rng(0))
    for name, size, joints in (
        ("tau_meas", np.array([5.0, 10.0, 0.0]) * rms(log.tau_meas), 2),
        ("q", 4.0 * log.q.std(axis=0), 3),
    ):
        error = getattr(out, name) - getattr(log, name)
        hit = np.abs(error) > 1e-9
        assert drawn(out)["torque" if joints == 2 else "position"] == hit.sum()
        wanted, spread = joints * 0.02 * SAMPLES, np.sqrt(joints * SAMPLES * 0.02 * 0.98)
        assert abs(hit.sum() - wanted) < SIGMAS * spread
        np.testing.assert_allclose(np.abs(error)[hit], np.broadcast_to(size, hit.shape)[hit])
        signs = np.sign(error[hit])
        assert abs(signs.mean()) < SIGMAS / np.sqrt(hit.sum())
