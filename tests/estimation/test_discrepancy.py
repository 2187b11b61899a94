"""What a model lacks: found by joint and quantity, allowed for, predicted along another motion."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.estimation.discrepancy import (
    Discrepancy,
    add_function_values,
    compute_widening,
    weigh_discrepancy,
    whiten_by_columns,
)
from robotid_sim.estimation.discrepancy_search import find_discrepancy
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.state_functions import (
    QUANTITIES,
    UnmodeledFunction,
    compute_unmodeled_torque,
    evaluate_hats,
)
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.friction_law import Stribeck
from robotid_sim.model.robot import Robot

SEEDS = 20


def wls(problem):
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


def fitted(case, lack, seed=0):
    """Return motion and problem of the exact torque plus what the model lacks plus noise."""
    noise = case.white(np.random.default_rng(seed))
    motion = case.motion(case.tau + lack + noise)
    return motion, build_problem(motion, case.robot, case.basis)


def own(case, joint, torque):
    lack = np.zeros(case.tau.shape)
    lack[:, joint] = torque
    return lack


def stribeck(case, joint):
    robot: Robot = case.robot
    law = robot.joints[joint].friction
    v = case.state[1][:, joint]
    peak = (Stribeck().static - 1.0) * law.Fc * np.exp(-((v / Stribeck().velocity) ** 2))
    return own(case, joint, peak * np.tanh(v / law.eps))


def test_a_model_that_lacks_nothing_leaves_the_problem_as_it_is(case):
    found = 0
    for seed in range(SEEDS):
        motion, problem = fitted(case, 0.0, seed)
        discrepancy = find_discrepancy(problem, motion, case.robot)
        found += bool(discrepancy.unmodeled)
        if not discrepancy.unmodeled:
            assert weigh_discrepancy(problem, discrepancy) is problem
    assert found <= 1


@pytest.mark.slow
def test_a_row_or_two_of_a_joint_show_nothing(case):
    """As where a joint creeps through a reversal: noise beyond all others, one function fits it."""
    found, rng = 0, np.random.default_rng(5)
    for seed in range(SEEDS):
        lack = np.zeros(case.tau.shape)
        slowest = np.argsort(np.abs(case.state[1]), axis=0)[:2]
        np.put_along_axis(lack, slowest, 12.0 * case.noise * rng.choice([-1.0, 1.0], (2, 1)), 0)
        motion, problem = fitted(case, lack, seed)
        found += bool(find_discrepancy(problem, motion, case.robot).unmodeled)
    assert found <= 1


LACKS = {
    "speed": lambda case, j: stribeck(case, j),
    "direction": lambda case, j: own(case, j, 5.0 * case.noise[j]),
    "position": lambda case, j: own(
        case, j, 5.0 * case.noise[j] * np.sin(4.0 * case.state[0][:, j])
    ),
    "time": lambda case, j: own(case, j, np.linspace(-5.0, 5.0, len(case.tau)) * case.noise[j]),
    "lag": lambda case, j: own(case, j, 0.02 * np.gradient(case.tau[:, j], case.dt)),
}


@pytest.mark.parametrize(
    ("quantity", "joint"),
    sampled(product(LACKS, (1, 4)), ("speed", 4), ("time", 1), mark=pytest.mark.slow),
)
def test_the_joint_and_the_quantity_are_named(case, quantity, joint):
    motion, problem = fitted(case, LACKS[quantity](case, joint))
    first = find_discrepancy(problem, motion, case.robot).unmodeled[0]
    assert (first.joint, first.quantity) == (case.robot.joint_names[joint], quantity)
    assert first.over_noise > 0.3


@pytest.mark.slow
def test_a_torque_that_periods_repeat_is_no_noise(case):
    """Of the period alone, not of the state, which differs between the halves of the motion."""
    phase = case.dt * np.arange(len(case.tau)) / 5.0
    for joint in (0, 4):
        lack = own(case, joint, 3.0 * case.noise[joint] * np.sin(2.0 * np.pi * 5.0 * phase))
        motion, problem = fitted(case, lack)
        alone = find_discrepancy(problem, motion, case.robot)
        repeated = find_discrepancy(problem, replace(motion, period=5.0), case.robot)
        name = case.robot.joint_names[joint]
        assert (name, "phase") in {(lack.joint, lack.quantity) for lack in repeated.unmodeled}
        assert "phase" not in {lack.quantity for lack in alone.unmodeled}
        covered = confidence_intervals(
            (allowed := weigh_discrepancy(problem, repeated)), wls(allowed)
        ).covers(case.beta)
        assert covered.mean() > 0.9


@pytest.mark.slow
def test_a_torque_that_periods_do_not_repeat_is_not_called_so(case):
    rng = np.random.default_rng(3)
    found = 0
    for seed in range(SEEDS):
        slow = np.convolve(rng.standard_normal(len(case.tau)), np.ones(5) / 5.0, mode="same")
        motion, problem = fitted(case, own(case, 1, case.noise[1] * slow), seed)
        lacks = find_discrepancy(problem, replace(motion, period=5.0), case.robot).unmodeled
        found += "phase" in {lack.quantity for lack in lacks}
    assert found <= 1


@pytest.mark.slow
def test_intervals_that_allow_for_it_cover(case):
    lack = sum(stribeck(case, j) for j in range(case.robot.dof))
    plain_hits, hits, errors, before = [], [], [], []
    for seed in range(SEEDS):
        motion, plain = fitted(case, lack, seed)
        discrepancy = find_discrepancy(plain, motion, case.robot)
        problem = weigh_discrepancy(plain, discrepancy)
        for rows, covered, off in ((plain, plain_hits, before), (problem, hits, errors)):
            estimate = wls(rows)
            covered.append(confidence_intervals(rows, estimate).covers(case.beta))
            off.append(np.abs(estimate.beta - case.beta))
    assert np.mean(plain_hits) < 0.85
    assert np.mean(hits) >= 0.9
    inertial = case.basis.inertial_rank
    assert np.median(np.array(errors)[:, :inertial]) < np.median(np.array(before)[:, :inertial])
    wider = compute_widening(problem, plain, wls(problem).noise_std)
    assert np.median(wider) < 2.0
    assert wider.max() > 5.0  # the friction of the joints


@pytest.mark.slow
def test_stated_errors_of_the_torque_constants_are_in_the_intervals(case):
    """No log shows an error that all joints share; the intervals hold it once it is stated."""
    covered = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        gain = 1.0 + 0.02 * rng.standard_normal()
        motion = case.motion(gain * case.tau + case.white(rng))
        plain = build_problem(motion, case.robot, case.basis)
        stated = weigh_discrepancy(
            plain, find_discrepancy(plain, motion, case.robot, gain_std=0.02)
        )
        both = [confidence_intervals(rows, wls(rows)) for rows in (plain, stated)]
        covered.append([intervals.covers(case.beta).mean() for intervals in both])
    without, with_it = np.mean(covered, axis=0)
    assert without < 0.8
    assert with_it > 0.92


def test_rows_are_freed_by_the_inverse_root_of_their_covariance(case):
    rng = np.random.default_rng(0)
    rows, columns = rng.standard_normal((30, 2, 4)), rng.standard_normal((30, 2, 3))
    result = whiten_by_columns(rows, columns)
    for j in range(2):
        V = np.eye(30) + columns[:, j] @ columns[:, j].T
        values, vectors = np.linalg.eigh(V)
        np.testing.assert_allclose(
            result[:, j], (vectors / np.sqrt(values)) @ vectors.T @ rows[:, j], atol=1e-12
        )


def test_random_effects_widen_both_covariances(case):
    motion, problem = fitted(case, 0.0)
    assert isinstance(motion, Motion)
    random = np.random.default_rng(0).standard_normal((len(problem.y), 2))
    alone, with_random = wls(problem), wls(replace(problem, random=random))
    for cov in ("cov", "cov_white"):
        more = getattr(with_random, cov) - getattr(alone, cov)
        values = np.linalg.eigvalsh(more)
        assert (values > 1e-9 * values.max()).sum() == 2
    np.testing.assert_array_equal(alone.beta, with_random.beta)


PERIODS = 3


def repeated(case, seed, share):
    """Return motion and problem of three periods, a share of whose noise is the same in all."""
    rng = np.random.default_rng(seed)
    same = np.tile(case.white(rng), (PERIODS, 1))
    other = np.vstack([case.white(rng) for _ in range(PERIODS)])
    noise = np.sqrt(share) * same + np.sqrt(1.0 - share) * other
    one = case.motion(case.tau)
    q, dq, ddq, tau = (np.tile(x, (PERIODS, 1)) for x in (one.q, one.dq, one.ddq, one.tau))
    t = case.dt * np.arange(len(q))
    motion = replace(one, t=t, q=q, dq=dq, ddq=ddq, tau=tau + noise, period=len(one.t) * case.dt)
    return motion, build_problem(motion, case.robot, case.basis)


@pytest.mark.slow
def test_noise_that_no_period_repeats_is_none(case):
    found = 0
    for seed in range(SEEDS):
        motion, problem = repeated(case, seed, 0.0)
        found += find_discrepancy(problem, motion, case.robot).repeats
    assert found <= 1


@pytest.mark.slow
def test_intervals_cover_where_periods_repeat_what_no_function_explains(case):
    """As of torque ripple, of a hundred waves a turn: three periods are no better than one."""
    plain_hits, hits = [], []
    for seed in range(SEEDS):
        motion, plain = repeated(case, seed, 0.7)
        discrepancy = find_discrepancy(plain, motion, case.robot)
        assert discrepancy.repeats
        problem = weigh_discrepancy(plain, discrepancy)
        for rows, covered in ((plain, plain_hits), (problem, hits)):
            covered.append(confidence_intervals(rows, wls(rows)).covers(case.beta).mean())
    assert np.mean(plain_hits) < 0.88
    assert 0.92 < np.mean(hits) < 0.98


def test_what_no_one_could_measure_is_not_said():
    large, small = (UnmodeledFunction("elbow", "time", 1.0, over, 9.0) for over in (0.5, 1e-6))
    found = Discrepancy((large, small), np.zeros((4, 2)), np.ones(1))
    assert found.significant == (large,)


def model_of(case, beta):
    """Return the robot with base parameters."""
    phi = case.basis.complete(beta, case.robot.parameters())
    return case.robot.with_parameters(phi, formal=True)


def valued(case, torque):
    """Return motion, estimate and discrepancy of a torque, its functions with their values."""
    motion = case.motion(torque + case.white(np.random.default_rng(0)))
    plain = build_problem(motion, case.robot, case.basis)
    found = find_discrepancy(plain, motion, case.robot)
    problem = weigh_discrepancy(plain, found)
    beta = wls(problem).beta
    return motion, beta, add_function_values(found, plain, beta, motion, model_of(case, beta))


def half(motion, part):
    """Return a part of a motion."""
    arrays = ("t", "q", "dq", "ddq", "tau")
    return replace(motion, **{name: getattr(motion, name)[part] for name in arrays})


@pytest.mark.parametrize("joint", [0, 3])
def test_a_stribeck_peak_is_predicted_where_no_parameter_has_it(case, joint):
    lack = stribeck(case, joint)
    cut = len(lack) * 2 // 3
    motion = case.motion(case.tau + lack + case.white(np.random.default_rng(0)))
    seen, unseen = half(motion, slice(0, cut)), half(motion, slice(cut, None))
    plain = build_problem(seen, case.robot, case.basis)
    found = find_discrepancy(plain, seen, case.robot)
    beta = wls(weigh_discrepancy(plain, found)).beta
    model = model_of(case, beta)
    found = add_function_values(found, plain, beta, seen, model)
    rows = build_problem(unseen, case.robot, case.basis)
    alone = (rows.unstack_rows(rows.W @ beta) - (case.tau + lack)[cut:])[:, joint]
    both = alone + compute_unmodeled_torque(found.unmodeled, unseen, model)[:, joint]
    assert np.sqrt((both**2).mean()) < 0.3 * np.sqrt((alone**2).mean())
    assert np.sqrt((both**2).mean()) < 0.5 * case.noise[joint]


@pytest.mark.slow
def test_values_are_those_of_the_function_itself(case):
    """Of the direction: an offset, the same at every speed, whatever the noise of the rows."""
    offset = 5.0 * case.noise[2]
    _, _, found = valued(case, case.tau + own(case, 2, offset))
    (lack,) = (lack for lack in found.unmodeled if lack.quantity == "direction")
    assert lack.joint == case.robot.joint_names[2]
    assert len(lack.knots) == len(lack.values)
    np.testing.assert_allclose(lack.values, offset, rtol=0.15)


@pytest.mark.slow
def test_functions_of_the_position_have_their_mean_where_the_parameters_do(case):
    q = case.state[0][:, 1]
    torque = 10.0 * case.noise[1] * np.sin(3.0 * q)
    motion, beta, found = valued(case, case.tau + own(case, 1, torque))
    model = model_of(case, beta)
    predicted = compute_unmodeled_torque(
        [lack for lack in found.unmodeled if lack.values], motion, model
    )[:, 1]
    plain = build_problem(motion, case.robot, case.basis)
    total = plain.unstack_rows(plain.W @ beta)[:, 1] + predicted
    assert np.sqrt(((total - case.tau[:, 1] - torque) ** 2).mean()) < 0.5 * case.noise[1]


@pytest.mark.slow
def test_what_belongs_to_one_motion_alone_has_no_values(case):
    drift = np.linspace(-5.0, 5.0, len(case.tau)) * case.noise[0]
    _, _, found = valued(case, case.tau + own(case, 0, drift))
    assert found.unmodeled[0].quantity == "time"
    for lack in found.unmodeled:
        assert bool(lack.values) <= QUANTITIES[lack.quantity].lasting
    motion = case.motion(case.tau)
    only = [lack for lack in found.unmodeled if lack.quantity == "time"]
    assert not compute_unmodeled_torque(only, motion, case.robot).any()


@pytest.mark.slow
def test_functions_that_foretell_no_other_part_of_the_log_have_no_values(case):
    """An offset that turns its sign halfway: one part says the wrong thing of the other."""
    offset = 5.0 * case.noise[2]
    _, _, found = valued(case, case.tau + own(case, 2, offset))
    assert any(lack.values for lack in found.unmodeled)
    half_way = np.where(np.arange(len(case.tau)) < len(case.tau) // 2, offset, -offset)
    motion = case.motion(case.tau + own(case, 2, half_way))
    plain = build_problem(motion, case.robot, case.basis)
    bare = replace(found, unmodeled=tuple(replace(x, knots=(), values=()) for x in found.unmodeled))
    model = model_of(case, case.beta)
    assert not any(
        lack.values for lack in add_function_values(bare, plain, case.beta, motion, model).unmodeled
    )


@pytest.mark.slow
def test_functions_weaker_than_the_drift_of_the_joint_have_no_values(case):
    noise = case.noise[2]
    for size, known in ((1.0, True), (40.0, False)):
        drift = np.sin(np.linspace(0.0, 5.0, len(case.tau))) * size * noise
        _, _, found = valued(case, case.tau + own(case, 2, 5.0 * noise + drift))
        lacks = {lack.quantity: lack for lack in found.unmodeled if lack.joint.endswith("3")}
        assert bool(lacks["direction"].values) == known


def test_functions_of_knots_add_up_to_one_also_around_a_period():
    x = np.linspace(-1.0, 3.0, 41)
    knots = np.linspace(0.0, 1.0, 5, endpoint=False)
    np.testing.assert_allclose(evaluate_hats(x, knots, 1.0).sum(axis=1), 1.0)
    np.testing.assert_allclose(
        evaluate_hats(x, knots, 1.0), evaluate_hats(x + 1.0, knots, 1.0), atol=1e-12
    )
    np.testing.assert_allclose(evaluate_hats(x, knots).sum(axis=1), 1.0)
