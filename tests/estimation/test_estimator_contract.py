"""What every registered estimator does, beside what `testing.check_estimator` asks of it."""

from dataclasses import asdict

import cloudpickle
import numpy as np
import pytest
from sampling import sampled
from searches import brief

from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import OptionError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.estimate import load_estimates, save_estimates
from robotid_sim.estimation.extended_kalman import ExtendedKalman
from robotid_sim.estimation.instrumental import InstrumentalVariables
from robotid_sim.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from robotid_sim.estimation.output_error import InputError, OutputError
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.recursive import RecursiveLeastSquares
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.estimation.total_least_squares import TotalLeastSquares
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.fit_plan import build_fit

NAN = float("nan")
IMPOSSIBLE = {
    OrdinaryLeastSquares: [{"block": 0.0}],
    WeightedLeastSquares: [{"rounds": 0}, {"block": -1.0}, {"block": NAN}],
    Consistent: [
        *({"pull": value} for value in (0.0, -1.0, NAN)),
        *({"divergence": -1.0}, {"divergence": NAN}, {"rounds": 0}, {"block": 0.0}),
    ],
    InstrumentalVariables: [{"rounds": 0}, {"block": 0.0}, {"block": NAN}],
    RecursiveLeastSquares: [{"rounds": 0}, {"forgetting": 0.0}, {"block": NAN}],
    TotalLeastSquares: [{"rounds": 0}, {"block": 0.0}],
    OutputError: [{"bandwidth": 0.0}, {"bandwidth": NAN}, {"block": -1.0}],
    InputError: [{"bandwidth": 0.0}, {"bandwidth": float("inf")}, {"block": -1.0}],
    ExtendedKalman: [{"spread": 0.5}],
}
BITS = ("beta", "torque_rms", "noise_std", "cov", "cov_white")


@pytest.fixture
def problem(exact, arm):
    data = exact(arm)
    return data.problem(data.white(np.random.default_rng(0)))


def bits(estimate):
    values = (getattr(estimate, name) for name in BITS)
    return b"".join(b"" if value is None else value.tobytes() for value in values)


@pytest.mark.parametrize("name", ESTIMATORS)
class TestContract:
    def test_it_fits_its_problem(self, problem, name):
        estimator = ESTIMATORS.build(name)
        estimate = estimator.fit(problem, np.random.default_rng(0))
        assert estimate.options == asdict(estimator)
        assert estimate.estimator == {"swarm": "wls-pso"}.get(name, name)  # its optimizer
        assert estimate.units == problem.basis.units
        assert estimate.seconds >= 0.0
        assert (estimate.torque_rms > 0.0).all()

    def test_covariances_are_symmetric_and_positive(self, problem, name):
        estimate = brief(name).fit(problem, np.random.default_rng(0))
        for cov in (estimate.cov, estimate.cov_white):
            if cov is not None:
                scale = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
                assert np.abs((cov - cov.T) / scale).max() < 1e-9  # rounding
                assert np.linalg.eigvalsh(cov / scale).min() > 0.0

    def test_a_file_keeps_the_estimate(self, problem, tmp_path, name):
        estimate = brief(name).fit(problem, np.random.default_rng(0))
        save_estimates([estimate], tmp_path / "estimate.json")
        (loaded,), _ = load_estimates(tmp_path / "estimate.json")
        assert bits(loaded) == bits(estimate)
        assert loaded.options == estimate.options


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_go_to_other_processes_by_their_name(name) -> None:
    text = cloudpickle.dumps(ESTIMATORS[name])
    assert len(text) < 200  # not the class itself, which would replace the fields of this one
    assert cloudpickle.loads(text) is ESTIMATORS[name]


@pytest.mark.parametrize("estimator", IMPOSSIBLE)
def test_options_that_cannot_be_are_refused_at_once(estimator) -> None:
    for options in IMPOSSIBLE[estimator]:
        with pytest.raises(OptionError):
            estimator(**options)


SEEDS = range(100, 120)


def bound_std(run, noise):
    """Return the Cramér-Rao standard deviations: exact motion, every sample after period one."""
    use, truth = run.log.t >= run.log.period, run.log.truth
    state = (truth.q[use], truth.dq[use], truth.ddq[use])
    W = torque_regressor(run.nominal, *state, run.basis.columns).reshape(-1, run.basis.rank)
    names = run.log.joint_names
    problem = LinearProblem(W, truth.tau[use].ravel(), run.basis, names, run.log.dt)
    return np.sqrt(np.diag(cramer_rao(problem, noise)))


@pytest.fixture(scope="module", params=sampled(("irb140", "iiwa", "geared_iiwa"), "irb140"))
def scores(request, experiment):
    """Return NEES per dimension, errors over the bound, hits of the 95 % intervals, noise ratio."""
    run = experiment(request.getfixturevalue(request.param))
    truth = run.basis.project(run.plant.parameters())
    noise = 0.01 * np.sqrt((run.log.tau_meas[run.log.t >= 0.0] ** 2).mean(axis=0))
    std = bound_std(run, noise)
    nees, errors, hits = [], [], []
    preprocessor = build_fit(StudyConfig()).preprocessor
    for seed in SEEDS:
        log = measure(run.log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(seed))
        problem = build_problem(preprocessor(log, run.nominal), run.nominal, run.basis)
        estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
        assert estimate.success
        error = estimate.beta - truth
        nees.append(error @ np.linalg.solve(estimate.cov, error) / error.size)
        errors.append(error / std)
        hits.append(np.abs(error) < 1.96 * estimate.std)
    return {"nees": np.array(nees), "errors": np.array(errors), "hits": np.array(hits)}


@pytest.mark.slow
def test_covariance_is_calibrated(scores):
    assert 0.7 <= np.median(scores["nees"]) <= 1.5


@pytest.mark.slow
def test_errors_are_near_the_cramer_rao_bound(scores):
    rms = np.sqrt((scores["errors"] ** 2).mean(axis=0))
    assert np.median(rms) <= 1.15
    assert rms.max() <= 2.5


@pytest.mark.slow
def test_confidence_intervals_cover(scores):
    assert scores["hits"].mean() >= 0.92


@pytest.mark.slow
def test_no_parameter_beats_the_bound(scores):
    """An unbiased estimate cannot; a ratio far below one would mean a wrong yardstick."""
    rms = np.sqrt((scores["errors"] ** 2).mean(axis=0))
    assert np.median(rms) > 0.8  # 20 seeds scatter by 16 % a parameter, their median by far less
