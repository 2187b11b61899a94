"""Parts of the WLS-RWPSO paper that stand beside its searches: filters, weights, controllers."""

import numpy as np
import pytest

from robotid_sim.estimation.least_squares import noise_std
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.model.catalog import load_robot
from robotid_sim.papers.driving import FunctionPath
from robotid_sim.papers.rocr6.cell import recursive_kalman, tracked
from robotid_sim.papers.rocr6.model import (
    AS_PRINTED,
    NOISE,
    PAPER_DIVISOR,
    ROBOT,
    FirstThree,
    design,
    noise_by_the_paper,
    noisy_problem,
    nominal_six,
    stacked,
    trajectory_of,
    weighted_estimates,
)
from robotid_sim.preprocess.kalman_torque import kalman_torque


@pytest.mark.parametrize("gain", [0.02, 0.3])
def test_the_recursion_becomes_the_steady_filter(gain) -> None:
    rng = np.random.default_rng(0)
    u = np.sin(np.linspace(0.0, 6.0, 2000))
    z = 1.2 * u + 0.1 * rng.standard_normal(u.size)
    x, K = recursive_kalman(z, u, gain)
    assert K[0] == 1.0
    assert (np.diff(K) <= 1e-12).all()
    assert K[-1] == pytest.approx(gain, rel=1e-6)
    np.testing.assert_allclose(x[-100:], kalman_torque(z, u, gain)[-100:], atol=1e-6)


@pytest.fixture(scope="module")
def reduction():
    paths = design(3, 0, 0)
    rng = np.random.default_rng(1)
    arm = FirstThree()
    W = stacked(arm, trajectory_of(paths["excitation"]))
    return reduce_rows(noisy_problem(arm, W, rng))


def test_both_divisors_give_the_noise(reduction) -> None:
    beta, _ = reduction.solve(np.ones(3))
    ours, paper = noise_std(reduction, beta, beta.size), noise_by_the_paper(reduction, beta)
    np.testing.assert_allclose(ours, NOISE, rtol=0.05)
    np.testing.assert_allclose(paper, ours, rtol=0.01)
    assert (paper != ours).all()


def test_readings_of_the_weights_differ_as_their_weights(reduction) -> None:
    betas = weighted_estimates(reduction)
    distance = {name: np.linalg.norm(beta - betas["WLS"]) for name, beta in betas.items()}
    assert distance[PAPER_DIVISOR] < 0.01 * distance["LS"]
    assert distance[AS_PRINTED] > distance["LS"] > 0.0


@pytest.mark.slow
def test_a_controller_tracks_better_with_the_true_model() -> None:
    whole = trajectory_of(design(6, 1, 0)["verification"])
    path = FunctionPath(whole.joint_names, whole, 0.5, whole.start)
    plant = load_robot(ROBOT)
    true, nominal = (tracked(plant, model, path) for model in (plant, nominal_six(0)))
    assert np.linalg.norm(true["rms"]) < 0.1 * np.linalg.norm(nominal["rms"])
    assert all(a >= b for a, b in zip(true["largest"], true["rms"], strict=True))
