"""Parts of the ELPIDSO paper that stand beside its searches: variants, stability, payloads."""

import numpy as np
import pytest

from robotid_sim.optim.minimize import minimize
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.model import (
    GAINS,
    PULLS,
    WEIGHTS,
    integrate,
    largest_real_part,
    radius,
    routh_hurwitz,
)
from robotid_sim.papers.twolink.trials import (
    LOADS,
    POINTS,
    VARIANTS,
    TorqueCriterion,
    accumulated_error,
    drive_loaded,
    loaded_parameters,
    make_optimizer,
    search,
    spread_of,
)

LARGEST_RESIDUAL = 1e-9
"""Torque error of exact parameters in the engine: rounding [N m]."""


@pytest.fixture(scope="module")
def criterion() -> TorqueCriterion:
    return TorqueCriterion.of_run(integrate([0.5])[0])


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_keeps_its_budget_and_its_box(criterion, variant) -> None:
    found, again = (search(variant, criterion.content(), 2000, 0, ["test"]) for _ in range(2))
    assert found == again
    assert found["evaluations"] == 2000
    assert len(found["diversity"]) == POINTS
    beta = np.array(found["parameters"])
    assert ((beta >= model.LOWER) & (beta <= model.UPPER)).all()
    assert found["excess"] == pytest.approx(float(criterion.excess(beta[None])[0]))


def batches(variant: str) -> list[np.ndarray]:
    """Return the points that a variant asks for on a bowl, batch by batch."""
    asked: list[np.ndarray] = []

    def cost(X: np.ndarray) -> np.ndarray:
        asked.append(X)
        return ((X - 3.0) ** 2).sum(axis=1)

    rng = np.random.default_rng(0)
    bounds = np.zeros(4), np.full(4, 10.0)
    minimize(cost, *bounds, method=make_optimizer(variant), max_evals=2000, rng=rng)
    return asked


def test_without_mutation_no_single_point_is_asked_for() -> None:
    assert min(len(X) for X in batches("ELPIDSO")) == 1
    assert {len(X) for X in batches("without mutation")} == {20}


def test_drawn_velocities_move_the_swarm_at_once_and_rest_does_not() -> None:
    # the pull to the best point of all begins at zero, and every particle is at its own
    first, *rest = (X for X in batches("ELPIDSO") if len(X) > 1)
    np.testing.assert_allclose(rest[0], first, atol=1.0)
    first, *rest = (X for X in batches("drawn velocities") if len(X) > 1)
    assert np.abs(rest[0] - first).max() > 1.0


def test_diversity_is_the_mean_distance_from_the_center_in_boxes() -> None:
    X = np.zeros((2, 4))
    X[1, 0] = 10.0  # the whole box
    assert spread_of(X) == pytest.approx(0.5)


def test_routh_hurwitz_is_about_the_roots_and_not_about_the_update() -> None:
    for gains in GAINS:
        for w in WEIGHTS:
            for f in PULLS:
                assert routh_hurwitz(gains, w, f) == (largest_real_part(gains, w, f) < 0.0)
    assert routh_hurwitz((1.0, 0.5, 0.5), 0.4, 2.0)
    assert radius((1.0, 0.5, 0.5), 0.4, 2.0) > 2.0
    assert all(radius(GAINS[0], w, f) < 1.0 for w in WEIGHTS for f in PULLS)


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_a_changed_payload_has_the_parameters_of_its_mass(load) -> None:
    run, residual = drive_loaded(load), {}
    for name, parameters in {"new": loaded_parameters(*LOADS[load]), "old": model.TRUE}.items():
        residual[name] = np.abs(run.target() - run.regressor() @ parameters).max()
    assert residual["new"] < LARGEST_RESIDUAL
    assert residual["old"] > 1e3 * LARGEST_RESIDUAL


def test_the_accumulated_error_is_the_sum_over_the_samples() -> None:
    run = integrate([5.0])[0]
    np.testing.assert_allclose(accumulated_error(run, model.TRUE), 0.0, atol=1e-10)
    off = model.TRUE + np.array([0.1, 0.0, 0.0, 0.0])
    by_hand = 0.1 * np.abs(run.regressor()[0::2, 0]).sum()
    np.testing.assert_allclose(accumulated_error(run, off), [by_hand, 0.0], atol=1e-9)
