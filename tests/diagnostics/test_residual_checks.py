"""Whiteness of residuals, cross-validation between periods, worst direction."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.directions import weakest_direction
from robotid_sim.diagnostics.residuals import assign_periods, cross_validate, residual_whiteness
from robotid_sim.errors import LogError, OptionError
from robotid_sim.estimation.block_sandwich import effective_rows
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem


def fit(problem):
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


def colored(data, rho, seed):
    """Return noise whose neighbors correlate by rho."""
    drive = np.sqrt(1 - rho**2) * np.random.default_rng(seed).standard_normal(data.tau.shape)
    for k in range(1, len(drive)):
        drive[k] += rho * drive[k - 1]
    return data.noise * drive


@pytest.fixture(scope="module")
def data(exact, arm):
    return exact(arm, 100.0, period=20.0)


class TestWhiteness:
    def test_white_residuals_pass_as_often_as_they_should(self, data):
        p = []
        for seed in range(100):
            problem = data.problem(data.white(np.random.default_rng(seed)))
            p += residual_whiteness(problem, fit(problem)).p_value.tolist()
        assert 0.0 <= np.mean(np.array(p) < 0.05) < 0.1  # 200 tests scatter by 1.5 %
        assert 0.4 < np.mean(p) < 0.6

    def test_colored_residuals_do_not(self, data):
        problem = data.problem(colored(data, 0.5, 0))
        found = residual_whiteness(problem, fit(problem))
        assert not found.is_white.any()
        assert found.first == pytest.approx(0.5, abs=0.06)
        assert "colored" in found.sentences()[0]

    def test_rows_are_worth_what_their_correlation_says(self, data):
        """Sums of rows that correlate by rho vary (1 + rho) / (1 - rho) times as much as white."""
        shares = []
        for seed in range(20):
            problem = data.problem(colored(data, 0.6, seed))
            found = residual_whiteness(problem, fit(problem))
            shares.append(found.effective_rows / found.rows)
        assert np.mean(shares) == pytest.approx(0.25, rel=0.1)

    def test_white_rows_are_worth_all(self):
        rho = np.zeros((100, 1))
        rho[0] = 1.0
        assert effective_rows(rho) == pytest.approx(100.0)

    def test_lags_need_rows(self, data):
        problem = data.problem()
        with pytest.raises(OptionError, match="lags"):
            residual_whiteness(problem, fit(problem), lags=problem.samples)


def repeated(data, periods, noise):
    """Return a problem of several periods of the same motion."""
    W, tau = np.tile(data.W, (periods, 1)), np.tile(data.tau, (periods, 1))
    problem = data.problem()
    return LinearProblem(
        W, (tau + noise).ravel(), problem.basis, problem.joint_names, problem.dt, problem.nominal
    )


class TestCrossValidation:
    def test_white_noise_is_predicted_as_expected(self, exact, irb140):
        data = exact(irb140, 10.0)
        ratios, expected = [], 0.0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            noise = data.noise * rng.standard_normal((300, 6))
            found = cross_validate(repeated(data, 3, noise), 10.0)
            expected = found.expected
            ratios.append(found.ratio)
        assert found.predicted.shape == (3, 6)
        assert expected == pytest.approx(np.sqrt((1 + 52 / 1200) / (1 - 52 / 1200)))
        assert np.mean(ratios) == pytest.approx(expected, abs=0.02)

    def test_a_period_that_differs_is_noticed(self, exact, arm):
        data = exact(arm, 50.0)
        noise = data.noise * np.random.default_rng(0).standard_normal((1500, 2))
        noise[1000:] += 0.2 * data.state[1]  # more viscous friction in the third period
        found = cross_validate(repeated(data, 3, noise), 10.0)
        assert found.ratio.max() > 1.5
        assert "does not generalize" in found.sentences()[1]

    def test_a_short_last_period_belongs_to_the_one_before(self, exact, arm):
        data = exact(arm, 50.0)
        whole = repeated(data, 3, 0.0)
        short = replace(whole, W=whole.W[:2600], y=whole.y[:2600])  # 1300 of 1500 samples
        assert np.bincount(assign_periods(short, 10.0)).tolist() == [500, 500, 300]
        short = replace(whole, W=whole.W[:2300], y=whole.y[:2300])
        assert np.bincount(assign_periods(short, 10.0)).tolist() == [500, 650]

    def test_one_period_is_too_few(self, exact, arm):
        with pytest.raises(LogError, match="record more periods"):
            cross_validate(exact(arm, 50.0).problem(), 10.0)


class TestWorstDirection:
    def test_it_is_the_combination_that_hardly_moves_the_torque(self, data):
        problem = data.problem(data.white(np.random.default_rng(0)))
        estimate = fit(problem)
        found = weakest_direction(problem, estimate)
        X = problem.unstack_rows(problem.W) / estimate.noise_std[:, None]
        X = X.reshape(len(problem.y), -1)
        X /= np.linalg.norm(X, axis=0)
        assert np.linalg.norm(X @ found.weights) == pytest.approx(found.singular_values[-1])
        assert found.ratio == pytest.approx(estimate.cond, rel=1e-6)

    def test_confounded_columns_are_named(self, data):
        """A column that is another one plus a little."""
        W = np.array(data.W)
        names = list(data.basis.names)
        one, other = names.index("Fv1"), names.index("Ia1R") if "Ia1R" in names else 0
        W[:, other] = W[:, one] * (1.0 + 1e-3 * np.sin(np.arange(len(W))))
        y = (data.tau + data.white(np.random.default_rng(0))).ravel()
        problem = LinearProblem(W, y, data.basis, data.robot.joint_names, data.dt)
        found = weakest_direction(problem, fit(problem))
        assert {name for name, _ in found.main_parameters} == {names[one], names[other]}
        assert found.ratio > 500.0
        assert any("Fv1" in text for text in found.sentences())
