"""What every registered estimator does, beside what `testing.check_estimator` asks of it."""

from dataclasses import asdict

import cloudpickle
import numpy as np
import pytest
from searches import brief

from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.estimate import load_estimates, save_estimates

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
