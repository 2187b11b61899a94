"""What a log shows by itself: lost, clipped, frozen and noisy samples."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.diagnostics.recording_causes import (
    clipped_torques,
    coarse_positions,
    frozen_positions,
    recording_causes,
    sample_noise,
)
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.preprocess.faults import find_faults
from robotid_sim.preprocess.rts import RtsSmoother


def kinds(log):
    causes = recording_causes(log, find_faults(log)).causes
    return {(cause.kind, cause.joints) for cause in causes}


def test_a_sound_log_shows_nothing(cell, small_cell):
    for one in (cell, small_cell):
        assert kinds(one.log) == set()
        assert not recording_causes(one.log, find_faults(one.log)).bad.any()


@pytest.mark.parametrize("share", [0.01, 0.2])
def test_lost_samples(cell, share):
    lost = SENSORS.build("dropped-samples", probability=share)
    assert kinds(lost(cell.log, np.random.default_rng(0))) == {("lost-samples", ())}


def test_a_clipped_torque_has_its_joint_and_its_samples(cell):
    tau = np.array(cell.log.tau_meas)
    limit = np.quantile(tau[:, 1], 0.95)
    tau[:, 1] = np.minimum(tau[:, 1], limit)
    log = cell.changed(tau_meas=tau)
    assert kinds(log) == {("torque-clipped", cell.log.joint_names[1:2])}
    np.testing.assert_array_equal(clipped_torques(tau)[:, 1], tau[:, 1] == limit)


def test_a_coarse_torque_is_not_clipped(cell):
    tau = cell.log.tau_meas
    assert not clipped_torques(np.round(tau / np.ptp(tau, axis=0), 2)).any()


def test_outliers_of_either_channel(cell):
    rng = np.random.default_rng(0)
    hit = rng.random(cell.log.t.size) < 2e-3
    tau, q = np.array(cell.log.tau_meas), np.array(cell.log.q)
    tau[hit, 3] += 5.0 * tau[:, 3].std()
    q[hit, 4] += 0.1
    found = kinds(cell.changed(tau_meas=tau, q=q))
    names = cell.log.joint_names
    assert found == {("torque-outliers", names[3:4]), ("position-outliers", names[4:5])}


def test_a_frozen_encoder_is_told_from_a_joint_at_rest(cell):
    q = np.array(cell.log.q)
    speed = np.abs(cell.state[1][:, 2])
    begin = int(speed[:-200].argmax()) - 25
    q[begin : begin + 50, 2] = q[begin, 2]
    frozen = frozen_positions(q)
    assert frozen[begin : begin + 50, 2].all()
    assert frozen.sum() <= 51
    assert ("encoder-frozen", cell.log.joint_names[2:3]) in kinds(cell.changed(q=q))
    resting = np.array(cell.log.q)
    resting[-50:, 2] = resting[-50, 2]
    assert not frozen_positions(resting).any()


@pytest.mark.parametrize("channel", ["q", "tau_meas"])
def test_one_noisy_sensor_is_named_and_equal_ones_are_not(cell, channel):
    rng, clean = np.random.default_rng(0), getattr(cell.log, channel)
    noise = {"q": 2e-3, "tau_meas": 0.4 * clean.std(axis=0)}[channel]
    noise = noise * rng.standard_normal(clean.shape)
    only = np.zeros_like(noise)
    only[:, 1] = noise[:, 1]
    kind = {"q": "position-noise", "tau_meas": "torque-noise"}[channel]
    assert kinds(cell.changed(**{channel: clean + only})) == {(kind, cell.log.joint_names[1:2])}
    assert kinds(cell.changed(**{channel: clean + noise})) == set()


def test_a_coarse_encoder_is_noisy(cell):
    q = np.array(cell.log.q)
    q[:, 0] = np.round(q[:, 0] / 5e-3) * 5e-3
    assert ("position-noise", cell.log.joint_names[:1]) in kinds(cell.changed(q=q))


def test_sample_noise_is_that_of_white_noise():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 20.0, 20_000)[:, None]
    x = np.sin(t) + [1e-3, 2e-2] * rng.standard_normal((t.size, 2))
    np.testing.assert_allclose(sample_noise(x), [1e-3, 2e-2], rtol=0.03)  # 20,000 samples: 1 %


@pytest.mark.parametrize(("step", "named"), [(0.0, ()), (5e-4, ()), (5e-3, ("slow",))])
def test_a_position_is_too_coarse_for_a_slow_motion(irb140, step, named):
    t = np.arange(0.0, 20.0, 0.004)
    phases = 2.0 * np.pi * np.array([0.1, 0.8, 0.0]) * t[:, None]
    exact = np.sin(phases) + 1e-5 * np.random.default_rng(0).standard_normal(phases.shape)
    q = np.round(exact / step) * step if step else exact
    names, units = ("slow", "fast", "still"), ("rad", "rad", "rad")
    log = Log(t, q, np.ones_like(q), joint_names=names, joint_units=units)
    smoother = RtsSmoother(corners=(8.0, 8.0, 8.0))
    found = coarse_positions(log, smoother(log, irb140).ddq, smoother.corners)
    assert tuple(joint for cause in found for joint in cause.joints) == named


def test_nothing_else_is_told_of_a_joint_that_is_too_coarse(irb140, cell):
    base = base_parameters(irb140)
    rows = slice(None, None, 4)
    log = replace(
        cell.log, t=cell.log.t[rows], q=cell.log.q[rows], tau_meas=cell.log.tau_meas[rows]
    )
    log = replace(log, dq=None, tau_cmd=None, truth=None, q=np.round(log.q / 0.05) * 0.05)
    causes = [c for c in diagnose(log, irb140, base).causes if c.joints]
    assert {c.kind for c in causes} == {"position-noise"}


def test_wrong_stamps_are_named_instead_of_outliers_of_all_joints(cell):
    rows = np.arange(300, cell.log.t.size, 150)
    q = cell.log.q.copy()
    q[rows] += 0.004 * cell.state[1][rows]  # taken 4 ms later than stamped
    causes = diagnose(cell.changed(q=q), cell.nominal, cell.basis).causes
    kinds = {cause.kind for cause in causes}
    assert "position-outliers" not in kinds
