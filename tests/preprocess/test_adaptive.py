"""The adaptive preprocessor: what it decides, that it says so, and how accurate it is.

The low-pass of every joint's rows: the band in which a model explains its torque."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.errors import OptionError
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.encoder_sensors import EncoderNoise, EncoderQuantization
from robotid_sim.measurement.motion import GatedRowFilter
from robotid_sim.measurement.recording_faults import DroppedSamples, Outliers
from robotid_sim.measurement.sensors import measure, preset
from robotid_sim.measurement.torque_sensors import TorqueDelay, TorqueNoise
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.preprocess.adaptive import (
    BY_JOINT,
    CUTOFF_RATIO,
    LOWEST_EDGE,
    Adaptive,
    find_explained_band,
    rows_by_joint,
)
from robotid_sim.preprocess.errors_in_variables import ErrorsInVariables
from robotid_sim.preprocess.faults import find_faults, repair_log
from robotid_sim.preprocess.periods import FourierFit
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother

SEEDS = range(100, 105)


def noisy(log, *sensors, seed=0, encoder=1e-4):
    noise = (TorqueNoise(), EncoderNoise(revolute=encoder))
    return measure(log, (*noise, *sensors), np.random.default_rng(seed))


@pytest.mark.slow
def test_engine_data_get_motion_and_torque_together_to_the_bit(engine, arm):
    case = engine(arm)
    log = noisy(case.log)
    tuned = Adaptive().tune(log, case.nominal)
    assert (tuned.method, tuned.delay) == ("errors-in-variables", 0.0)
    one, two = tuned(log, case.nominal), ErrorsInVariables()(log, case.nominal)
    assert one.ddq.tobytes() == two.ddq.tobytes()
    np.testing.assert_array_equal(one.row_filter.factors, two.row_filter.factors)
    for fact in ("no faulty samples", "not significant", "method errors-"):
        assert fact in tuned.message
    ends = re.search(r"encoder noise (\S+) to (\S+) mrad", tuned.message).groups()
    assert [float(end) for end in ends] == pytest.approx([0.1, 0.1], rel=0.05)


@pytest.mark.parametrize(("method", "same"), [("rts", RtsSmoother), ("fourier-fit", FourierFit)])
def test_other_methods_are_those_of_that_name(periodic, arm, method, same):
    case = periodic(arm)
    log = noisy(case.log, encoder=1e-3)
    one, two = (x(log, case.nominal) for x in (Adaptive(method=method), same()))
    np.testing.assert_array_equal(one.ddq, two.ddq)
    assert one.row_filter == two.row_filter


def test_faults_and_delay_are_found_said_and_undone(engine, arm):
    case = engine(arm)
    faults = (TorqueDelay(samples=2.5), Outliers(), DroppedSamples())
    log = noisy(case.log, *faults)
    tuned = Adaptive().tune(log, case.nominal)
    assert tuned.delay / log.dt == pytest.approx(2.5, abs=0.15)
    lost = log.provenance["measured_by"][-1]["drawn"]["lost"]
    assert f"{lost} lost samples" in tuned.message
    assert "torque outliers" in tuned.message.replace(
        "torque and 0 position outliers", "torque outliers"
    )
    assert "corrected" in tuned.message
    motion = tuned(log, case.nominal)
    treated, plain = (
        np.sqrt((case.ratio(m) ** 2).mean()) for m in (motion, RtsSmoother()(log, case.nominal))
    )
    assert treated < 3.0  # without any faults: 1 to 2
    assert plain > 5.0 * treated


def test_what_is_given_is_not_decided(engine, arm):
    case = engine(arm)
    log = noisy(case.log, Outliers())
    given = Adaptive(method="fourier-fit", delay=2e-3, outliers=0.0).tune(log, case.nominal)
    assert (given.method, given.delay) == ("fourier-fit", 2e-3)
    assert "delay given" in given.message
    assert "faulty" not in given.message
    assert not isinstance(given(log, case.nominal).row_filter, GatedRowFilter)


@pytest.mark.parametrize(
    "options", [{"method": "kalman"}, {"outliers": -1.0}, {"delay": float("nan")}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(OptionError, match=r"unknown method|finite numbers"):
        Adaptive(**options)


def rms_errors(case, encoder):
    """Return median and worst RMS error over the Cramér-Rao deviation, and worst model errors."""
    errors, model = [], []
    for seed in SEEDS:
        log = noisy(case.log, seed=seed, encoder=encoder)
        errors.append(case.ratio(Adaptive()(log, case.nominal)))
        model.append(case.model_error(errors[-1] * case.std))
    rms = np.sqrt((np.array(errors) ** 2).mean(axis=0))
    return np.median(rms), rms.max(), np.median(model)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "encoder"), sampled(product(("irb140", "geared_iiwa"), (1e-4, 1e-3)), ("irb140", 1e-4))
)
def test_exactly_periodic_motion_is_as_accurate_as_the_bound_allows(
    request, periodic, name, encoder
):
    median, worst, _ = rms_errors(periodic(request.getfixturevalue(name)), encoder)
    assert median <= 1.15
    assert worst <= 2.2  # by chance alone the largest of 60 RMS over 5 seeds reaches 1.7


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(("irb140", "geared_iiwa"), "irb140"))
@pytest.mark.parametrize(("encoder", "bars"), [(1e-4, (1.15, 2.5)), (1e-3, (2.0, 8.0))])
def test_engine_motion_is_within_the_bars(request, engine, name, encoder, bars):
    median, worst, model = rms_errors(engine(request.getfixturevalue(name)), encoder)
    assert median <= bars[0]
    assert worst <= bars[1]
    assert model <= 0.006


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(("lab", "industrial", "harsh"), "industrial"))
def test_every_preset_is_treated_better_than_by_the_smoother(engine, irb140, name):
    case = engine(irb140)
    sensors = [SENSORS.build(kind, **options) for kind, options in preset(name).items()]
    log = measure(case.log, sensors, np.random.default_rng(0))
    adaptive, plain = (
        np.median(np.abs(case.ratio(x(log, case.nominal)))) for x in (Adaptive(), RtsSmoother())
    )
    assert adaptive <= 1.05 * plain


RATE = 200.0


def band(low, high, size):
    """Return a torque of one amplitude at all frequencies of a band."""
    t = np.arange(0.0, 60.0, 1.0 / RATE)
    f = np.arange(low + 0.05, high, 0.1)[:, None]
    return size * np.sin(2.0 * np.pi * f * t + 7.0 * f**2).sum(axis=0)


@pytest.mark.slow
def test_a_band_ends_where_a_model_leaves_more_than_it_explains():
    rest = band(0.0, 80.0, 1.0)
    model = [band(0.0, end, 2.0) for end in (1.25, 5.0, 20.0, 80.0)]
    ends = find_explained_band(np.column_stack(model), np.column_stack([rest] * 4), RATE)
    assert ends.tolist() == [1.25, 5.0, 20.0, 40.0]


def test_what_is_explained_again_above_a_gap_does_not_count():
    model = band(0.0, 2.5, 2.0) + band(5.0, 20.0, 2.0)
    assert find_explained_band(model[:, None], band(0.0, 80.0, 1.0)[:, None], RATE).tolist() == [
        2.5
    ]
    nothing = band(5.0, 20.0, 2.0)
    assert find_explained_band(nothing[:, None], band(0.0, 80.0, 1.0)[:, None], RATE).tolist() == [
        LOWEST_EDGE
    ]


def test_rows_come_as_often_as_the_fastest_joint_needs(engine, arm):
    case = engine(arm)
    motion = RtsSmoother()(case.log, case.nominal)
    noise = np.random.default_rng(0).standard_normal(motion.tau.shape)
    loud = replace(motion, tau=motion.tau + 0.02 * np.std(motion.tau, axis=0) * noise)
    rows = rows_by_joint(loud, case.nominal, Rows())
    assert rows.cutoff == max(rows.cutoffs)
    assert rows.rate == 2.0 * rows.cutoff
    assert rows.edge == pytest.approx(0.1 * max(1.0, 5.0 / min(rows.cutoffs)))
    assert min(rows.cutoffs) >= CUTOFF_RATIO * LOWEST_EDGE
    quiet = rows_by_joint(motion, case.nominal, Rows())
    assert all(a >= b for a, b in zip(quiet.cutoffs, rows.cutoffs, strict=True))


@pytest.mark.slow
def test_the_adaptive_preprocessor_says_how_far_the_rows_of_joints_go(engine, arm):
    case = engine(arm)
    tuned = Adaptive(low_pass=BY_JOINT, method="rts").tune(case.log, case.nominal)
    assert f"rows of joints up to {tuned.rows.cutoffs[0]:g}" in tuned.message
    motion = tuned(case.log, case.nominal)
    assert motion.row_filter.cutoffs == tuned.rows.cutoffs_per_sample(case.log.dt)


def test_wrong_words_and_cutoffs_are_refused():
    with pytest.raises(OptionError, match="unknown low-pass 'own'"):
        Adaptive(low_pass="own")
    with pytest.raises(OptionError, match="up to 5 Hz"):
        Rows(cutoffs=(5.0, 6.0))


def test_cutoffs_are_as_many_as_joints_before_anything_runs(arm):
    config = StudyConfig.model_validate({"preprocess": {"cutoffs": [5.0, 4.0, 3.0]}})
    with pytest.raises(OptionError, match=f"has 3 numbers for {arm.dof} joints"):
        build_setup(arm, config.quick())


NOISE = (TorqueNoise(), EncoderNoise())


def measured(log, *sensors, seed=0):
    return measure(log, (*NOISE, *sensors), np.random.default_rng(seed))


def drawn(log):
    return log.provenance["measured_by"][-1]["drawn"]


@pytest.mark.parametrize("sensors", [(), NOISE, (EncoderQuantization(bits=12), TorqueNoise())])
def test_engine_data_without_faults_have_none(engine, arm, sensors):
    log = measure(engine(arm).log, sensors, np.random.default_rng(1))
    assert not find_faults(log).any
    assert repair_log(log, find_faults(log)) is log


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
    error = (repair_log(log, faults).q - clean.q)[bad]
    assert bad.sum() > 300
    # Interpolation over a gap passes 1.2 to 2 times the noise of its neighbors.
    assert np.sqrt((error**2).mean()) < 2.0e-4
    assert np.sqrt(((log.q - clean.q)[bad] ** 2).mean()) > 1e-3
