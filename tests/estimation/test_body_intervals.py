"""Numbers of links: intervals hold the truth, and what no torque shows is as the nominal model."""

from types import SimpleNamespace

import numpy as np
import pytest
from robots import urdf_path
from sampling import sampled

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation.body_intervals import QUANTITIES, estimate_bodies
from robotid_sim.model.perturb import DEFAULT_SCALE, perturb
from robotid_sim.model.robot import Robot


def estimated(nominal, plant, basis, rng, noise, samples=400):
    """Return least squares of random states, as an estimate."""
    q, dq, ddq = (x * rng.uniform(-1.0, 1.0, (samples, nominal.dof)) for x in (2.0, 1.5, 6.0))
    W = torque_regressor(nominal, q, dq, ddq).reshape(samples * nominal.dof, -1)
    tau = W @ plant.parameters()
    size = np.sqrt((tau.reshape(samples, -1) ** 2).mean(axis=0))
    scale = np.tile(noise * size, samples)
    rows = W[:, basis.columns] / scale[:, None]
    cov = np.linalg.inv(rows.T @ rows)
    beta = basis.project(plant.parameters()) + cov @ rows.T @ rng.standard_normal(len(rows))
    return SimpleNamespace(beta=beta, cov=cov, std=np.sqrt(np.diag(cov)))


def numbers(estimate, robot, nominal, basis):
    return list(estimate_bodies(estimate, robot, nominal, basis, estimate.std))


@pytest.mark.parametrize("name", sampled(("irb140", "twolink", "rs010n"), "twolink", "irb140"))
def test_intervals_hold_the_truth(name) -> None:
    nominal = Robot.from_urdf(urdf_path(name))
    basis, inside = base_parameters(nominal), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        plant = perturb(nominal, rng)
        estimate = estimated(nominal, plant, basis, rng, 0.02)
        told = numbers(estimate, plant, nominal, basis)
        ends = np.array([of.interval for of in told if of.identifiable])
        true = np.array([of.identified for of in told if of.identifiable])
        inside += ((ends[:, 0] <= true) & (true <= ends[:, 1])).tolist()
    assert len(inside) >= 24
    assert np.mean(inside) >= 0.9


def test_what_no_torque_shows_is_as_uncertain_as_the_nominal_model(irb140) -> None:
    basis, rng = base_parameters(irb140), np.random.default_rng(0)
    told = numbers(estimated(irb140, irb140, basis, rng, 1e-4), irb140, irb140, basis)
    assert [(of.name, of.unit) for of in told[: len(QUANTITIES)]] == list(QUANTITIES)
    mass = told[0]  # of the first link, which turns about a vertical axis
    assert (mass.link, mass.name, mass.identifiable) == (irb140.links[0].name, "mass", False)
    assert mass.std == pytest.approx(DEFAULT_SCALE * mass.nominal, rel=1e-3)
    assert mass.value == pytest.approx(mass.nominal, rel=1e-2)


def test_a_wider_covariance_leaves_less_identifiable(irb140) -> None:
    basis = base_parameters(irb140)
    counts = []
    for noise in (1e-4, 1e-2, 1.0):
        estimate = estimated(irb140, irb140, basis, np.random.default_rng(0), noise)
        told = numbers(estimate, irb140, irb140, basis)
        counts.append(sum(of.identifiable for of in told))
    assert counts[0] > counts[1] > counts[2] >= 0
