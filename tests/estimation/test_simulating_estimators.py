"""Output and input error and the extended Kalman filter: exact on exact data, honest on noise."""

from dataclasses import replace

import numpy as np
import pytest
from recorded import Recorded

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.estimation.block_sandwich import PADDING_INDEX, block_samples
from robotid_sim.estimation.extended_kalman import ExtendedKalman
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.output_error import (
    InputError,
    OutputError,
    estimate_torque_noise,
    make_observer,
)
from robotid_sim.estimation.prediction_error import find_settled_samples
from robotid_sim.estimation.problem import select_columns, stack_problems
from robotid_sim.estimation.simulation import (
    MISSING_RECORDING_MESSAGE,
    constant_gains,
    make_simulated_robot,
    predict,
)

SEEDS = range(6)

METHODS = (OutputError(), InputError(), ExtendedKalman())
BANDWIDTH = OutputError(bandwidth=20.0)

names = pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)


@pytest.fixture(scope="module")
def data(arm):
    return Recorded(arm)


def off(problem, factor):
    """Return a problem whose rows have the torque times a factor, so that the start is off."""
    return replace(problem, y=factor * problem.y)


@pytest.mark.parametrize("method", [*METHODS, BANDWIDTH], ids=["oe", "ie", "ekf", "bandwidth"])
def test_exact_data_give_exact_parameters(data, method):
    found = method.fit(data.problem())
    assert found.success, found.message
    np.testing.assert_allclose(found.beta, data.beta, rtol=1e-5, atol=1e-6 * data.beta.max())


@pytest.mark.parametrize("method", [BANDWIDTH, InputError()], ids=["oe", "ie"])
def test_no_good_start_is_needed(data, method):
    clean = data.problem()
    wls = WeightedLeastSquares().fit(off(clean, 1.3))
    assert np.abs(wls.beta - data.beta).max() > 0.2 * data.beta.max()
    found = method.fit(off(clean, 1.3))
    assert found.success, found.message
    np.testing.assert_allclose(found.beta, data.beta, rtol=1e-5, atol=1e-6 * data.beta.max())


@pytest.mark.slow
@pytest.mark.parametrize("feedback", [False, True], ids=["calm", "feedback"])
@names
def test_intervals_hold_and_there_is_no_bias(data, method, feedback):
    errors, held = [], []
    for seed in SEEDS:
        problem = data.problem(seed, feedback=feedback)
        found = method.fit(problem)
        assert found.success, found.message
        errors.append((found.beta - data.beta) / found.std)
        held.append(confidence_intervals(problem, found).covers(data.beta))
    size = np.sqrt((np.array(errors) ** 2).mean())
    assert 0.75 < size < 1.3
    assert np.abs(np.mean(errors, axis=0)).max() < 4.0 / np.sqrt(len(SEEDS))
    assert np.mean(held) > 0.9


def test_input_error_is_the_torque_that_is_missing(data):
    (recording,) = data.problem().recordings
    missing = 0.01 * recording.tau.std(axis=0)
    less = replace(recording, tau=recording.tau - missing)
    observer = make_observer(data.robot, less, 50.0)
    motion = predict(data.robot, less, observer.gains)
    added = observer.weigh(slice(None), motion.innovations)[find_settled_samples(50.0, less)]
    np.testing.assert_allclose(added.mean(axis=0), missing, rtol=0.1)  # friction answers too
    assert (added.std(axis=0) < 0.3 * missing).all()


def test_likelihood_finds_the_torque_noise_of_a_shaken_loop(data):
    problem = data.problem(0, feedback=True)
    recording = problem.recordings[0]
    gains = constant_gains(50.0, recording)
    robot = make_simulated_robot(problem, data.beta)
    motion = predict(robot, recording, gains)
    found = estimate_torque_noise(robot, recording, motion, gains, data.basis.columns)
    np.testing.assert_allclose(found, data.torque_noise, rtol=0.3)


def test_constant_gains_hold_a_motion_once_they_have_forgotten_what_they_missed(data):
    (recording,) = data.problem().recordings  # at 250 Hz
    sound = recording.valid.copy()
    sound[[200, *range(500, 510)], 0] = False
    held = find_settled_samples(10.0, replace(recording, valid=sound))
    (at,) = np.nonzero(~held)
    start, single, gap = np.split(at, np.nonzero(np.diff(at) > 1)[0] + 1)
    assert (start[0], start[-1]) == (0, 124)
    np.testing.assert_array_equal(single, [200])
    assert gap[0] == 500
    assert 510 < gap[-1] < 510 + 125


@names
def test_samples_that_are_not_sound_have_no_say(data, method):
    problem = data.problem(0)
    (recording,) = problem.recordings
    q, sound = recording.q.copy(), recording.valid.copy()
    sound[500:510, 0] = False
    q[500:510, 0] += 0.1
    changed = replace(problem, recordings=(replace(recording, q=q, valid=sound),))
    found, whole = method.fit(changed), method.fit(problem)
    assert (np.abs(found.beta - whole.beta) < whole.std).all()


def test_blocks_hold_a_phase_of_all_periods(data):
    rows = replace(data.problem(), recordings=(), period=2.0, repeats=True)
    samples = block_samples(rows, 0.1)
    held = np.sort(samples[samples != PADDING_INDEX])
    np.testing.assert_array_equal(held, np.arange(rows.samples))
    for block in samples:
        times = rows.dt * block[block != PADDING_INDEX]
        np.testing.assert_array_equal(np.unique(times // 2.0), [0.0, 1.0, 2.0])
        assert np.ptp(times % 2.0) < 0.1
    apart = block_samples(replace(rows, repeats=False), 0.1)
    np.testing.assert_array_equal(np.diff(apart, axis=1), 1)


@names
def test_two_logs_tell_more_than_one(data, method):
    problems = [data.problem(seed) for seed in (0, 1)]
    both, single = method.fit(stack_problems(problems)), method.fit(problems[0])
    ratio = np.median(both.std / single.std)
    assert 0.6 < ratio < 0.85  # 1 / sqrt 2


@names
def test_without_a_recording_it_is_least_squares_and_says_so(data, method):
    problem = data.problem(0)
    for less in (replace(problem, recordings=()), select_columns(problem, [0, 1, 2])):
        found, wls = method.fit(less), WeightedLeastSquares().fit(less)
        assert found.success
        assert found.message == MISSING_RECORDING_MESSAGE
        np.testing.assert_array_equal(found.beta, wls.beta)


@names
def test_a_model_that_does_not_follow_the_motion_fails_with_a_message(data, method):
    found = method.fit(off(data.problem(0), -1.0))
    assert not found.success
    assert "does not follow the motion" in found.message


@pytest.mark.slow
def test_random_effects_widen_the_covariance(data):
    problem = data.problem(0)
    random = replace(problem, random=0.02 * problem.y[:, None])
    for method in METHODS:
        assert (method.fit(random).std > method.fit(problem).std).all()


def test_recordings_that_cannot_be_are_refused(data):
    (recording,) = data.problem().recordings
    with pytest.raises(OptionError, match="more than half a sample"):
        replace(recording, lead=recording.dt)
    with pytest.raises(OptionError, match="noise of its positions"):
        replace(recording, position_noise=0.0 * recording.position_noise)
    with pytest.raises(ShapeError, match="valid"):
        replace(recording, valid=recording.valid[1:])
