"""Friction that differs between directions is linear, and is found as such."""

import numpy as np
import pytest

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import OptionError
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.directional_friction import directional_friction, directional_problem
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.model.friction_law import column
from robotid_sim.model.friction_laws import Asymmetric


def fitted(data, tau, estimator=None):
    motion = data.motion(tau)
    problem = build_problem(motion, data.robot, data.basis)
    wider = directional_problem(problem, motion, data.robot)
    return (estimator or WeightedLeastSquares()).fit(wider, np.random.default_rng(0))


def asymmetric(data, law):
    """Return the torque of a plant with the law, and its coefficients."""
    rows, dq = law.coefficients(data.robot), data.state[1]
    forward = dq >= 0.0
    sign, torque = np.tanh(dq / data.robot.eps), np.array(data.tau)
    for kind, signal in (("Fv", dq), ("Fc", sign)):
        own = np.array([getattr(joint.friction, kind) for joint in data.robot.joints])
        sides = (column(rows, f"{kind}_{side}") for side in ("forward", "backward"))
        torque += (np.where(forward, *sides) - own) * signal
    return torque, rows


@pytest.fixture(scope="module")
def data(exact, irb140):
    return exact(irb140, 100.0)


def test_both_directions_are_found_exactly_without_noise(data):
    tau, rows = asymmetric(data, Asymmetric(coulomb=0.2, viscous=-0.1))
    found = directional_friction(fitted(data, tau))
    for kind in ("Fv", "Fc"):
        wanted = [column(rows, f"{kind}_{side}") for side in ("forward", "backward")]
        np.testing.assert_allclose(getattr(found, kind), wanted, rtol=1e-7)


def test_errors_are_as_large_as_their_standard_deviations(data):
    tau, rows = asymmetric(data, Asymmetric())
    scores = []
    for seed in range(10):
        noise = data.white(np.random.default_rng(seed))
        found = directional_friction(fitted(data, tau + noise))
        wanted = np.array([column(rows, f"Fc_{side}") for side in ("forward", "backward")])
        scores.append((found.Fc - wanted) / found.Fc_std)
    assert 0.8 < np.sqrt(np.mean(np.square(scores))) < 1.2  # 120 values, not all independent
    assert any("forward" in text for text in found.sentences())


def test_symmetric_friction_shows_no_difference(data):
    noise = data.white(np.random.default_rng(0))
    found = directional_friction(fitted(data, data.tau + noise))
    assert (found.significance < 4.0).all()
    assert "No joint" in found.sentences()[0]


def test_a_consistent_robot_is_fitted_beside_it(data):
    tau, rows = asymmetric(data, Asymmetric(coulomb=0.2, viscous=-0.1))
    estimate = fitted(data, tau + data.white(np.random.default_rng(0)), Consistent())
    data.robot.with_parameters(estimate.phi)  # raises if it cannot exist
    found = directional_friction(estimate)
    wanted = np.array([column(rows, f"Fc_{side}") for side in ("forward", "backward")])
    assert (np.abs(found.Fc - wanted) < 4.0 * found.Fc_std).all()


def test_it_needs_friction_among_the_parameters(data):
    motion = data.motion(data.tau)
    problem = build_problem(motion, data.robot, base_parameters(data.robot, ("Fv",)))
    with pytest.raises(OptionError, match="Fc1"):
        directional_problem(problem, motion, data.robot)
