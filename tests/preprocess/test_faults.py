"""Lost samples and outliers: all found, nothing else, repaired."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.measurement.encoder_sensors import EncoderNoise, EncoderQuantization
from robotid_sim.measurement.recording_faults import DroppedSamples, Outliers
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.preprocess.faults import find_faults, repaired

NOISE = (TorqueNoise(), EncoderNoise())


def measured(log, *sensors, seed=0):
    return measure(log, (*NOISE, *sensors), np.random.default_rng(seed))


def drawn(log):
    return log.provenance["measured_by"][-1]["drawn"]


@pytest.mark.parametrize("sensors", [(), NOISE, (EncoderQuantization(bits=12), TorqueNoise())])
def test_engine_data_without_faults_have_none(engine, arm, sensors):
    log = measure(engine(arm).log, sensors, np.random.default_rng(1))
    assert not find_faults(log).any
    assert repaired(log, find_faults(log)) is log


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 10])
@pytest.mark.parametrize("rows", [1, 4])
def test_a_coarse_encoder_has_no_outliers_but_those_that_are_put_in(engine, irb140, bits, rows):
    """It holds one value for most samples, so that steps are rare and far off the median."""
    every = slice(None, None, rows)
    clean = replace(engine(irb140).log, dq=None, tau_cmd=None, truth=None)
    clean = replace(clean, t=clean.t[every], q=clean.q[every], tau_meas=clean.tau_meas[every])
    log = measure(clean, (EncoderQuantization(bits=bits),), np.random.default_rng(0))
    assert not find_faults(log).position.any()
    wild = np.zeros(log.q.shape, dtype=bool)
    wild[100:-100:200] = True
    found = find_faults(replace(log, q=log.q + 12.0 * 2.0 * np.pi / 2**bits * wild)).position
    np.testing.assert_array_equal(found, wild)


@pytest.mark.parametrize(
    "step", [*(pytest.param(s, marks=pytest.mark.slow) for s in (2, 8, 10, 16)), 32]
)
def test_slow_logs_have_no_more_faults_and_theirs_are_found(engine, irb140, step):
    clean = replace(measured(engine(irb140).log), dq=None, tau_cmd=None, truth=None)
    rows = slice(None, None, step)
    slow = replace(clean, t=clean.t[rows], q=clean.q[rows], tau_meas=clean.tau_meas[rows])
    assert find_faults(slow).torque.sum() <= (2 if step == 32 else 0)  # a reversal in two samples
    wild = np.random.default_rng(0).random(slow.q.shape) < 0.003
    size = np.sqrt((slow.tau_meas**2).mean(axis=0))
    bad = replace(slow, tau_meas=slow.tau_meas + 3.0 * size * wild)
    found = find_faults(bad).torque
    assert (found & wild).sum() >= 0.9 * wild.sum()
    assert (found & ~wild).sum() <= 0.2 * wild.sum() + (2 if step == 32 else 0)


def test_lost_samples_are_found_exactly(engine, arm):
    log = measured(engine(arm).log, DroppedSamples(probability=0.02))
    faults = find_faults(log)
    assert int(faults.lost.sum()) == drawn(log)["lost"] > 500
    assert f"{drawn(log)['lost']} lost samples" in faults.message


def test_a_robot_at_rest_has_lost_nothing(engine, arm):
    log = engine(arm).log
    q, tau = (np.array(x) for x in (log.q, log.tau_meas))
    q[:500], tau[:500] = q[500], tau[500]
    assert not find_faults(replace(log, q=q, tau_meas=tau)).lost.any()


def test_outliers_of_both_channels_are_found(engine, arm):
    clean = measured(engine(arm).log)
    log = measure(clean, (Outliers(position=0.05),), np.random.default_rng(2))
    faults = find_faults(log)
    for found, channel in ((faults.torque, "tau_meas"), (faults.position, "q")):
        true = getattr(log, channel) != getattr(clean, channel)
        assert true.sum() > 30
        assert (found & true).sum() == true.sum()
        assert (found & ~true).sum() <= 2  # a neighbor of two close ones
    np.testing.assert_array_equal(faults.sound, ~faults.torque)


def test_repaired_positions_are_as_good_as_measured_ones(engine, arm):
    clean = engine(arm).log
    log = measured(clean, Outliers(position=0.05), DroppedSamples())
    faults = find_faults(log)
    bad = faults.position | faults.lost[:, None]
    error = (repaired(log, faults).q - clean.q)[bad]
    assert bad.sum() > 300
    # Interpolation over a gap passes 1.2 to 2 times the noise of its neighbors.
    assert np.sqrt((error**2).mean()) < 2.0e-4
    assert np.sqrt(((log.q - clean.q)[bad] ** 2).mean()) > 1e-3
