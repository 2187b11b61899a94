"""Functions of the state that a log shows: found on one motion, predicted along another."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.estimation.discrepancy import allowing_for, with_values
from robotid_sim.estimation.discrepancy_search import find_discrepancy
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.state_functions import QUANTITIES, hats, lacking_torque
from robotid_sim.model.friction_law import Stribeck


@pytest.fixture(scope="module")
def case(irb140, exact):
    return exact(irb140, 50.0)


def stribeck_peak(robot, joint, v):
    law, friction = Stribeck(), robot.joints[joint].friction
    peak = (law.static - 1.0) * friction.Fc * np.exp(-((v / law.velocity) ** 2))
    return peak * np.tanh(v / friction.eps)


def model_of(case, beta):
    """Return the robot with base parameters."""
    phi = case.basis.completed(beta, case.robot.parameters())
    return case.robot.with_parameters(phi, formal=True)


def fitted(case, torque):
    """Return motion, estimate and discrepancy of a torque, its functions with their values."""
    motion = case.motion(torque + case.white(np.random.default_rng(0)))
    plain = build_problem(motion, case.robot, case.basis)
    found = find_discrepancy(plain, motion, case.robot)
    problem = allowing_for(plain, found)
    beta = WeightedLeastSquares().fit(problem, np.random.default_rng(0)).beta
    return motion, beta, with_values(found, plain, beta, motion, model_of(case, beta))


def own(case, joint, torque):
    lack = np.zeros(case.tau.shape)
    lack[:, joint] = torque
    return lack


def half(motion, part):
    """Return a part of a motion."""
    arrays = ("t", "q", "dq", "ddq", "tau")
    return replace(motion, **{name: getattr(motion, name)[part] for name in arrays})


@pytest.mark.parametrize("joint", [0, 3])
def test_a_stribeck_peak_is_predicted_where_no_parameter_has_it(case, joint):
    lack = own(case, joint, stribeck_peak(case.robot, joint, case.state[1][:, joint]))
    cut = len(lack) * 2 // 3
    motion = case.motion(case.tau + lack + case.white(np.random.default_rng(0)))
    seen, unseen = half(motion, slice(0, cut)), half(motion, slice(cut, None))
    plain = build_problem(seen, case.robot, case.basis)
    found = find_discrepancy(plain, seen, case.robot)
    beta = WeightedLeastSquares().fit(allowing_for(plain, found), np.random.default_rng(0)).beta
    model = model_of(case, beta)
    found = with_values(found, plain, beta, seen, model)
    rows = build_problem(unseen, case.robot, case.basis)
    alone = (rows.by_joint(rows.W @ beta) - (case.tau + lack)[cut:])[:, joint]
    both = alone + lacking_torque(found.lacks, unseen, model)[:, joint]
    assert np.sqrt((both**2).mean()) < 0.3 * np.sqrt((alone**2).mean())
    assert np.sqrt((both**2).mean()) < 0.5 * case.noise[joint]


def test_values_are_those_of_the_function_itself(case):
    """Of the direction: an offset, the same at every speed, whatever the noise of the rows."""
    offset = 5.0 * case.noise[2]
    _, _, found = fitted(case, case.tau + own(case, 2, offset))
    (lack,) = (lack for lack in found.lacks if lack.quantity == "direction")
    assert lack.joint == case.robot.joint_names[2]
    assert len(lack.knots) == len(lack.values)
    np.testing.assert_allclose(lack.values, offset, rtol=0.15)


def test_functions_of_the_position_have_their_mean_where_the_parameters_do(case):
    q = case.state[0][:, 1]
    torque = 10.0 * case.noise[1] * np.sin(3.0 * q)
    motion, beta, found = fitted(case, case.tau + own(case, 1, torque))
    model = model_of(case, beta)
    predicted = lacking_torque([lack for lack in found.lacks if lack.values], motion, model)[:, 1]
    plain = build_problem(motion, case.robot, case.basis)
    total = plain.by_joint(plain.W @ beta)[:, 1] + predicted
    assert np.sqrt(((total - case.tau[:, 1] - torque) ** 2).mean()) < 0.5 * case.noise[1]


def test_what_belongs_to_one_motion_alone_has_no_values(case):
    drift = np.linspace(-5.0, 5.0, len(case.tau)) * case.noise[0]
    _, _, found = fitted(case, case.tau + own(case, 0, drift))
    assert found.lacks[0].quantity == "time"
    for lack in found.lacks:
        assert bool(lack.values) <= QUANTITIES[lack.quantity].stays
    motion = case.motion(case.tau)
    only = [lack for lack in found.lacks if lack.quantity == "time"]
    assert not lacking_torque(only, motion, case.robot).any()


def test_functions_that_foretell_no_other_part_of_the_log_have_no_values(case):
    """An offset that turns its sign halfway: one part says the wrong thing of the other."""
    offset = 5.0 * case.noise[2]
    _, _, found = fitted(case, case.tau + own(case, 2, offset))
    assert any(lack.values for lack in found.lacks)
    half_way = np.where(np.arange(len(case.tau)) < len(case.tau) // 2, offset, -offset)
    motion = case.motion(case.tau + own(case, 2, half_way))
    plain = build_problem(motion, case.robot, case.basis)
    bare = replace(found, lacks=tuple(replace(x, knots=(), values=()) for x in found.lacks))
    model = model_of(case, case.beta)
    assert not any(lack.values for lack in with_values(bare, plain, case.beta, motion, model).lacks)


def test_functions_weaker_than_the_drift_of_the_joint_have_no_values(case):
    noise = case.noise[2]
    for size, valued in ((1.0, True), (40.0, False)):
        drift = np.sin(np.linspace(0.0, 5.0, len(case.tau))) * size * noise
        _, _, found = fitted(case, case.tau + own(case, 2, 5.0 * noise + drift))
        lacks = {lack.quantity: lack for lack in found.lacks if lack.joint.endswith("3")}
        assert bool(lacks["direction"].values) == valued


def test_functions_of_knots_add_up_to_one_also_around_a_period():
    x = np.linspace(-1.0, 3.0, 41)
    knots = np.linspace(0.0, 1.0, 5, endpoint=False)
    np.testing.assert_allclose(hats(x, knots, 1.0).sum(axis=1), 1.0)
    np.testing.assert_allclose(hats(x, knots, 1.0), hats(x + 1.0, knots, 1.0), atol=1e-12)
    np.testing.assert_allclose(hats(x, knots).sum(axis=1), 1.0)
