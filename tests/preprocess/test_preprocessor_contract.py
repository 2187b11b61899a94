"""What every registered preprocessor does, on the standard experiment of the small arm."""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.motion import GatedRowFilter
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.kalman_torque import five_point_cubic
from robotid_sim.preprocess.preprocessor import Rows

TOGETHER = ("adaptive", "errors-in-variables")
"""Those that estimate motion and torque together: neither is a linear filter of its channel."""
FILTERS = [name for name in PREPROCESSORS if name not in TOGETHER]


@pytest.fixture(scope="module")
def virtual(experiment, arm):
    return experiment(arm)


@pytest.fixture(scope="module")
def measured(virtual):
    return measure(virtual.log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))


def bits(motion):
    return b"".join(getattr(motion, name).tobytes() for name in ("t", "q", "dq", "ddq", "tau"))


@pytest.mark.parametrize("name", sampled(PREPROCESSORS, *FILTERS, mark=pytest.mark.slow))
class TestContract:
    def test_motion_has_a_row_for_every_sample_at_the_torque_times(self, virtual, measured, name):
        motion = PREPROCESSORS.build(name)(measured, virtual.nominal)
        for channel in ("q", "dq", "ddq", "tau"):
            assert getattr(motion, channel).shape == measured.q.shape
        np.testing.assert_array_equal(motion.t, measured.t + measured.torque_time_offset)
        assert motion.joint_names == measured.joint_names
        assert motion.period == measured.period
        assert motion.row_filter is not None

    def test_motion_is_close_to_the_truth(self, virtual, measured, name):
        motion = PREPROCESSORS.build(name)(measured, virtual.nominal)
        use = slice(10_000, -1000)
        truth, offset = virtual.log.truth, measured.torque_time_offset
        q = truth.q + offset * truth.dq + 0.5 * offset**2 * truth.ddq
        # Positions must come out better than the encoder's 1e-4 rad; motion of a few rad/s must
        # survive in velocity and acceleration.
        assert (np.sqrt(((motion.q - q)[use] ** 2).mean(axis=0)) < 1e-4).all()
        # Where torques tell of reversals, accelerations have some of the torque's noise.
        for channel, share in (("dq", 0.01), ("ddq", 0.3 if name in TOGETHER else 0.1)):
            error = (getattr(motion, channel) - getattr(truth, channel))[use]
            size = (getattr(truth, channel)[use] ** 2).mean(axis=0)
            assert (np.sqrt((error**2).mean(axis=0) / size) < share).all()

    def test_a_short_log_is_refused(self, virtual, measured, name):
        channels = ("t", "q", "tau_meas", "tau_cmd")
        cut = {channel: getattr(measured, channel)[:1000] for channel in channels}
        with pytest.raises(LogError, match="too short"):
            PREPROCESSORS.build(name)(replace(measured, **cut, truth=None), virtual.nominal)


@pytest.mark.parametrize("name", FILTERS)
class TestFilters:
    def test_the_torque_stays_that_of_the_log(self, virtual, measured, name):
        motion = PREPROCESSORS.build(name)(measured, virtual.nominal)
        tau = measured.tau_meas
        if name == "period-averaging":
            start = int((measured.t < measured.period - 1e-9).sum())  # rounding of t
            tau = 0.5 * (tau[start : start + 10_000] + tau[start + 10_000 :])
            motion_tau = motion.tau[start : start + 10_000]
        else:
            tau = five_point_cubic(tau) if name == "five-point" else tau
            motion_tau = motion.tau
        np.testing.assert_allclose(
            motion_tau, tau, rtol=0.0 if name != "period-averaging" else 1e-12
        )

    def test_tuned_is_linear(self, virtual, measured, name):
        tuned = PREPROCESSORS.build(name).tune(measured, virtual.nominal)
        noise = replace(measured, q=measured.q - virtual.log.q, tau_meas=measured.tau_meas)
        parts = [tuned(log, virtual.nominal) for log in (virtual.log, noise)]
        whole = tuned(measured, virtual.nominal)
        for channel in ("q", "dq", "ddq"):
            total = getattr(whole, channel)
            error = sum(getattr(part, channel) for part in parts) - total
            # Rounding of a recursion over 30,000 samples whose diffuse start costs ten digits.
            assert np.abs(error).max() < 1e-9 * max(1.0, np.abs(total).max())

    def test_another_row_rate_changes_the_rows_and_not_the_motion(self, virtual, measured, name):
        fast = PREPROCESSORS.build(name, rows=Rows(cutoff=10.0, rate=50.0))
        motion = fast(measured, virtual.nominal)
        assert bits(motion) == bits(PREPROCESSORS.build(name)(measured, virtual.nominal))
        assert motion.row_filter.step == 20
        assert motion.row_filter.cutoff == pytest.approx(0.01, rel=1e-9)  # rounding of dt


@pytest.mark.parametrize("name", sampled(PREPROCESSORS, *FILTERS, mark=pytest.mark.slow))
class TestExactMotion:
    def test_base_parameters_come_back_without_noise(self, periodic, arm, name):
        case = periodic(arm)
        motion = PREPROCESSORS.build(name)(case.log, case.nominal)
        assert np.abs(case.ratio(motion)).max() < PREPROCESSORS[name].exactness

    def test_masks_take_nothing_from_that(self, periodic, arm, name):
        case = periodic(arm)
        rows = Rows(low_velocity=0.2, outliers=8.0)
        motion = PREPROCESSORS.build(name, rows=rows)(case.log, case.nominal)
        if name not in TOGETHER:  # there the covariance shuts them out
            assert isinstance(motion.row_filter, GatedRowFilter)
            rows = motion.row_filter.stop - motion.row_filter.first
            assert motion.row_filter.gate.shape == (rows, arm.dof)
        # The five-point filter is not shared with the regressor, so its small error is gated alone.
        assert np.abs(case.ratio(motion)).max() < PREPROCESSORS[name].exactness * 2.0

    def test_motion_that_does_not_repeat_is_taken_or_refused_by_name(self, periodic, arm, name):
        case = periodic(arm)
        log = replace(case.log, period=None)
        preprocessor = PREPROCESSORS.build(name)
        if preprocessor.needs_period:
            with pytest.raises(LogError, match=f"{name} needs a periodic log"):
                preprocessor(log, case.nominal)
        else:
            assert np.abs(case.ratio(preprocessor(log, case.nominal))).max() < 0.05

    def test_one_period_is_enough_for_an_answer(self, periodic, arm, name):
        case = periodic(arm)
        use = slice(0, 12_000)  # the approach and a period
        log = replace(
            case.log,
            t=case.log.t[use],
            q=case.log.q[use],
            tau_meas=case.log.tau_meas[use],
            tau_cmd=None,
            truth=None,
        )
        tuned = PREPROCESSORS.build(name).tune(case.log, case.nominal)
        assert np.abs(case.ratio(tuned(log, case.nominal))).max() < 0.05


def test_a_log_loses_its_tail_at_both_ends(measured):
    rows = Rows(tail=0.5).filter_for(measured)
    assert measured.t[rows.first] == pytest.approx(0.5, abs=1e-9)  # rounding of t
    assert measured.t[rows.stop - 1] == pytest.approx(measured.t[-1] - 0.5, abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"cutoff": 0.0},
        {"cutoff": 6.0, "rate": 10.0},
        {"cutoff": float("nan")},
        {"tail": -0.1},
        {"edge": -0.1},
        {"tail": float("nan")},
        {"outliers": -1.0},
        {"outliers": float("inf")},
        {"low_velocity": 1.0},
        {"low_velocity": float("nan")},
    ],
)
def test_rows_that_alias_or_cut_backwards_are_refused(options):
    with pytest.raises(OptionError):
        Rows(**options)
