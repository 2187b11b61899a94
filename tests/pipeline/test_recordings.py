"""Recordings from logs: what of a log an estimator that simulates gets to see."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.sensors import measure
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.fitted_motion import recording_of
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.rts import RtsSmoother

SAMPLES = 6000


@pytest.fixture(scope="module")
def run(experiment, arm):
    return experiment(arm)


@pytest.fixture(scope="module")
def log(run):
    """Return six seconds of the arm in the engine, measured."""
    sensors = [SENSORS.build("encoder-noise"), SENSORS.build("torque-noise", relative=0.01)]
    begin = int((run.log.t < 0.0).sum())
    part = run.log.cut(slice(begin, begin + SAMPLES))
    return replace(measure(part, sensors, np.random.default_rng(0)), truth=None)


@pytest.fixture
def plan():
    return build_fit(load_config(None, {}))


@pytest.mark.parametrize(
    "name",
    [
        "input-error",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("output-error", "extended-kalman")),
    ],
)
def test_a_log_of_the_engine_is_identified_by_simulation(run, log, plan, name):
    chosen = replace(plan, estimators={name: ESTIMATORS.build(name)}, chosen=name)
    fit = fit_logs(log, run.nominal, run.basis, chosen, np.random.default_rng(0))
    assert fit.chosen.success, fit.chosen.message
    assert fit.chosen.message == ""
    true = run.basis.of(run.plant.parameters())
    assert confidence_intervals(fit.problem, fit.chosen).covers(true).mean() > 0.8
    assert not fit.doubt


def test_estimators_that_do_not_ask_get_no_recordings(run, log, plan):
    chosen = replace(plan, estimators={"wls": ESTIMATORS.build("wls")}, chosen="wls")
    fit = fit_logs(log, run.nominal, run.basis, chosen, np.random.default_rng(0))
    assert fit.problem.recordings == ()


@pytest.mark.parametrize(
    ("offset", "moved", "lead"), [(0.0, 0, 0.5), (0.4, 0, 0.1), (1.3, 1, 0.2), (-0.4, -1, -0.1)]
)
def test_torques_stand_by_the_position_at_which_their_step_begins(run, log, offset, moved, lead):
    late = replace(log, torque_time_offset=offset * log.dt)
    smoother = RtsSmoother(corners=(20.0,) * log.dof)
    motion = smoother(late, run.nominal)
    recording = recording_of(late, smoother, motion, run.nominal)
    assert recording.lead == pytest.approx(lead * log.dt, abs=1e-9)
    first = motion.row_filter.first
    np.testing.assert_array_equal(recording.q, log.q[motion.row_filter.used])
    np.testing.assert_array_equal(recording.tau[0], log.tau_meas[first - moved])


def test_times_of_the_torques_that_are_not_even_are_met(run, log):
    shifted = replace(log, torque_times=log.t + 0.5 * log.dt)
    smoother = RtsSmoother(corners=(20.0,) * log.dof)
    motion = smoother(shifted, run.nominal)
    recording = recording_of(
        replace(shifted, torque_time_offset=0.0), smoother, motion, run.nominal
    )
    assert recording.lead == 0.0
    np.testing.assert_allclose(recording.tau, log.tau_meas[motion.row_filter.used])


def test_faults_are_not_sound_and_a_joint_without_torque_is_not_simulated(run, log, plan):
    q = log.q.copy()
    q[3000, 0] += 0.5
    spiked = replace(log, q=q)
    tuned = Adaptive().tuned(spiked, run.nominal)
    motion = tuned(spiked, run.nominal)
    recording = recording_of(spiked, tuned, motion, run.nominal)
    at = 3000 - motion.row_filter.first
    assert not recording.sound[at, 0]
    assert recording.sound.mean() > 0.99
    tau = log.tau_meas.copy()
    tau[:, 1] = 0.0
    chosen = replace(plan, estimators={"oe": ESTIMATORS.build("output-error")}, chosen="oe")
    blind = replace(log, tau_meas=tau)
    fit = fit_logs(blind, run.nominal, run.basis, chosen, np.random.default_rng(0))
    assert fit.problem.recordings == ()
