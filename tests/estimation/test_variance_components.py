"""Variance components: there where they are, not where they are not, as likely as can be."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from robotid_sim.estimation.variance_components import choose_components

ROWS, FIXED, SIZES = 120, 4, (5, 3, 6)


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((ROWS, FIXED)), rng.standard_normal((ROWS, sum(SIZES)))
    ends = np.cumsum([0, *SIZES])
    return X, Z, [np.arange(low, high) for low, high in pairwise(ends)]


def data(model, variances, seed):
    X, Z, groups = model
    rng = np.random.default_rng(seed)
    y = X @ np.arange(1.0, FIXED + 1.0) + rng.standard_normal(ROWS)
    for variance, group in zip(variances, groups, strict=True):
        y += Z[:, group] @ (np.sqrt(variance) * rng.standard_normal(group.size))
    return y


def restricted_likelihood(model, y, logs):
    """Return the negative restricted log-likelihood by its definition."""
    X, Z, groups = model
    V = np.eye(ROWS)
    for log_variance, group in zip(logs, groups, strict=True):
        V += np.exp(log_variance) * Z[:, group] @ Z[:, group].T
    inner = X.T @ np.linalg.solve(V, X)
    beta = np.linalg.solve(inner, X.T @ np.linalg.solve(V, y))
    r = y - X @ beta
    terms = np.linalg.slogdet(V)[1] + np.linalg.slogdet(inner)[1] + r @ np.linalg.solve(V, r)
    return 0.5 * terms, beta


def test_variances_are_those_of_largest_restricted_likelihood(model):
    y = data(model, (0.5, 2.0, 0.2), seed=1)
    found = choose_components(model[0], y, model[1], model[2], significance=0.5)
    assert (found.variances > 0.0).all()
    best = minimize(
        lambda logs: restricted_likelihood(model, y, logs)[0],
        np.zeros(3),
        method="Nelder-Mead",
        options={"xatol": 1e-5, "fatol": 1e-9, "maxiter": 2000},
    )
    np.testing.assert_allclose(np.log(found.variances), best.x, atol=5e-3)
    beta = restricted_likelihood(model, y, np.log(found.variances))[1]
    np.testing.assert_allclose(found.beta, beta, rtol=1e-9)


def test_effects_are_the_best_linear_unbiased_predictions(model):
    X, Z, groups = model
    y = data(model, (0.0, 2.0, 0.0), seed=2)
    found = choose_components(X, y, Z, groups, significance=0.01)
    assert np.flatnonzero(found.variances).tolist() == [1]
    V = np.eye(ROWS) + found.variances[1] * Z[:, groups[1]] @ Z[:, groups[1]].T
    u = found.variances[1] * Z[:, groups[1]].T @ np.linalg.solve(V, y - X @ found.beta)
    np.testing.assert_allclose(found.effects[groups[1]], u, rtol=1e-8)
    assert not found.effects[groups[0]].any()
    assert found.ratios[1] > 10.0


def test_noise_alone_has_no_component_but_rarely(model):
    alarms = sum(
        choose_components(
            model[0], data(model, (0.0, 0.0, 0.0), seed), model[1], model[2], 0.05
        ).variances.any()
        for seed in range(200)
    )
    assert alarms <= 20  # 10 expected; 20 is improbable to 2 in a thousand


def test_what_fixed_effects_nearly_explain_has_no_size_of_its_own():
    """A function like a column of the model, but for a thousandth of it, is seen in noise alone."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 3))
    own = np.linalg.qr(np.column_stack([X, rng.standard_normal(300)]))[0][:, -1] * np.sqrt(300.0)
    Z = (X[:, 0] + 1e-3 * own)[:, None]
    y = X @ np.ones(3) + 0.5 * own + rng.standard_normal(300)
    groups = [np.array([0])]
    free = choose_components(X, y, Z, groups, 0.01)
    bound = choose_components(X, y, Z, groups, 0.01, largest=np.array([9.0]))
    assert free.variances[0] > 1e4  # five hundred times the noise, for half of it
    assert bound.variances[0] == 0.0
    np.testing.assert_allclose(bound.beta, np.ones(3), atol=0.25)
