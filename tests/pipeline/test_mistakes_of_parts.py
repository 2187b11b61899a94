"""Mistakes of a user's own parts name the part; preprocessors may choose their rows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from measured import measured

from robotid_sim import testing
from robotid_sim.errors import LogError, OptionError, RobotIdError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure, measured_again
from robotid_sim.model.catalog import load_robot
from robotid_sim.pipeline.fit_plan import FitPlan, PreprocessConfig, build_preprocessor
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.preprocess.rts import RtsSmoother


class Short(WeightedLeastSquares):
    """An estimator that loses a parameter."""

    def fit(self, problem, rng=None):
        """Return an estimate with a short beta."""
        estimate = super().fit(problem, rng)
        return replace(estimate, beta=estimate.beta[:-1])


class Unfit(WeightedLeastSquares):
    """An estimator that divides by zero."""

    def fit(self, problem, rng=None):
        """Return an estimate without numbers."""
        estimate = super().fit(problem, rng)
        return replace(estimate, beta=np.nan * estimate.beta)


class Unfiltered(RtsSmoother):
    """A preprocessor that keeps every sample as a row."""

    def __call__(self, log, nominal):
        """Return a motion without a row filter."""
        return replace(super().__call__(log, nominal), row_filter=None)


class Unsmooth(RtsSmoother):
    """A preprocessor that divides by zero."""

    def __call__(self, log, nominal):
        """Return a motion without numbers."""
        motion = super().__call__(log, nominal)
        return replace(motion, tau=np.nan * motion.tau)


class Halved(RtsSmoother):
    """A preprocessor that loses samples."""

    def __call__(self, log, nominal):
        """Return the first half of a motion."""
        motion, half = super().__call__(log, nominal), slice(log.t.size // 2)
        channels = {name: getattr(motion, name)[half] for name in ("t", "q", "dq", "ddq", "tau")}
        return replace(motion, **channels)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Short(), r"estimator 'mine' makes no valid Estimate: beta has shape .*; correct its fit"),
        (Unfit(), r"estimator 'mine' makes no valid Estimate: beta is not finite .*correct its"),
        (Unfiltered(), r"what Unfiltered returned has no row_filter: give the Motion row_filter="),
        (Unsmooth(), r"preprocessor Unsmooth: tau is not finite .*; correct its __call__"),
        (Halved(), r"what Halved returned has other samples or joints than its log"),
    ],
)
def test_a_wrong_array_of_a_part_names_the_part(part, said):
    case = measured(load_robot("twolink"))
    estimates = isinstance(part, WeightedLeastSquares)
    plan = FitPlan(
        preprocessor=RtsSmoother() if estimates else part,
        estimators={"mine": part if estimates else WeightedLeastSquares()},
        chosen="mine",
    )
    with pytest.raises(RobotIdError, match=said):
        fit_logs(case.log, case.nominal, case.basis, plan, np.random.default_rng(0))


@pytest.mark.parametrize("part", [Unfiltered(), Unsmooth(), Halved()])
def test_the_check_of_a_preprocessor_refuses_what_a_study_refuses(part):
    with pytest.raises(AssertionError, match=type(part).__name__):
        testing.check_preprocessor(part)


class Blind(EncoderNoise):
    """A sensor that divides by zero."""

    def __call__(self, log, rng):
        """Return a log without torques."""
        return replace(log, tau_meas=np.nan * log.tau_meas)


class OneJoint(EncoderNoise):
    """A sensor that sees the first joint only."""

    def __call__(self, log, rng):
        """Return the torque of a joint."""
        return replace(log, tau_meas=log.tau_meas[:, :1])


@pytest.mark.parametrize(
    ("sensor", "reason"),
    [(Blind(), "tau_meas is not finite at"), (OneJoint(), "tau_meas has shape")],
)
def test_a_wrong_array_of_a_sensor_names_the_sensor(sensor, reason):
    log, rng = measured(load_robot("twolink")).log, np.random.default_rng(0)
    said = rf"^sensor {type(sensor).__name__} makes no valid log: {reason} .*its __call__$"
    for sense in (
        lambda: measure(log, sensor, rng),
        lambda: measured_again(log, (sensor,), rng, 0.5),
    ):
        with pytest.raises(LogError, match=said) as caught:
            sense()
        assert "repair" not in str(caught.value)


@dataclass(frozen=True, kw_only=True)
class WithoutRows(Preprocessor):
    """A preprocessor that chooses the rows itself."""

    def __call__(self, log, nominal):
        """Return the motion of the smoother."""
        return RtsSmoother()(log, nominal)


@pytest.fixture
def registered(monkeypatch):
    """The preprocessor without rows has a name for the time of a test."""
    monkeypatch.setattr(PREPROCESSORS, "_entries", dict(PREPROCESSORS._entries))
    monkeypatch.setattr(PREPROCESSORS, "_origins", dict(PREPROCESSORS._origins))
    PREPROCESSORS.register("without-rows", WithoutRows)


@pytest.mark.usefixtures("registered")
def test_a_preprocessor_without_a_field_for_rows_is_built_and_fits():
    part = build_preprocessor(PreprocessConfig(name="without-rows"))
    testing.check_preprocessor(part)
    case = measured(load_robot("twolink"))
    plan = FitPlan(preprocessor=part, estimators={"wls": WeightedLeastSquares()}, chosen="wls")
    fit = fit_logs(case.log, case.nominal, case.basis, plan, np.random.default_rng(0))
    assert fit.estimates[0].success


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("section", [{"rows": {"cutoff": 4.0}}, {"cutoffs": (4.0, 4.0)}])
def test_rows_for_a_preprocessor_that_chooses_them_are_refused(section):
    with pytest.raises(OptionError, match="'without-rows' chooses its rows itself; remove"):
        build_preprocessor(PreprocessConfig(name="without-rows", **section))
