"""Several logs as one problem: rows stay exact, and weigh by the noise of log and joint."""

from dataclasses import replace

import numpy as np
import pytest
from measured import measured
from robots import DATA

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import LogError
from robotid_sim.estimation.friction_fit import finer_rows
from robotid_sim.estimation.least_squares import LARGEST, WeightedLeastSquares, weights_by_log
from robotid_sim.estimation.problem import build_problem
from robotid_sim.measurement.joined_motion import JoinedRowFilter, joined
from robotid_sim.measurement.motion import Motion, gated
from robotid_sim.model.catalog import load_robot
from robotid_sim.preprocess.preprocessor import Rows


@pytest.fixture(scope="module")
def arm():
    return measured(load_robot(DATA / "2r.urdf"))


def part_of(arm, rows: slice, noise=(0.0, 0.0), seed=0) -> Motion:
    """Return the true motion of a part of the log, its torque with white noise of every joint."""
    log = arm.log.cut(rows)
    q, dq, ddq = (x[rows] for x in arm.state)
    tau = joint_torque(arm.plant, q, dq, ddq)
    tau = tau + np.random.default_rng(seed).standard_normal(tau.shape) * noise
    return Motion(log.t, q, dq, ddq, tau, log.joint_names, row_filter=Rows().filter_for(log))


def log_of(motion: Motion) -> np.ndarray:
    assert isinstance(motion.row_filter, JoinedRowFilter)
    return motion.row_filter.log_of


def weighted(motion: Motion, weights: np.ndarray) -> Motion:
    assert isinstance(motion.row_filter, JoinedRowFilter)
    return replace(motion, row_filter=replace(motion.row_filter, weights=weights))


HALVES = slice(0, 2500), slice(3100, 6000)


def test_rows_are_those_of_each_log_and_exact(arm):
    motions = [part_of(arm, rows) for rows in HALVES]
    problem = build_problem(joined(motions), arm.nominal, arm.basis)
    each = [build_problem(motion, arm.nominal, arm.basis) for motion in motions]
    np.testing.assert_allclose(problem.W, np.vstack([part.W for part in each]), atol=1e-10)
    np.testing.assert_allclose(problem.y, np.concatenate([part.y for part in each]), atol=1e-10)
    beta = arm.basis.of(arm.plant.parameters())
    np.testing.assert_allclose(problem.W @ beta, problem.y, atol=1e-11 * np.abs(problem.y).max())
    whole = joined(motions)
    assert whole.row_times.size == problem.samples == log_of(whole).size
    finer = finer_rows(whole)
    assert build_problem(finer, arm.nominal, arm.basis).samples == log_of(finer).size


def test_one_log_is_itself_and_gates_stay(arm):
    one, other = (part_of(arm, rows) for rows in HALVES)
    assert joined([one]) is one
    shut = np.ones(one.q.shape, dtype=bool)
    shut[1200:1300, 1] = False
    assert one.row_filter is not None
    closed = replace(one, row_filter=gated(one.row_filter, shut))
    tau = closed.tau.copy()
    tau[1200:1300, 1] = 1e6  # of a broken sensor
    problem = build_problem(joined([replace(closed, tau=tau), other]), arm.nominal, arm.basis)
    np.testing.assert_allclose(
        problem.W @ arm.basis.of(arm.plant.parameters()), problem.y, atol=1e-9
    )


def test_logs_weigh_by_their_noise_joint_by_joint(arm):
    noise = np.array([[1.0, 0.1], [0.1, 0.4]])
    motions = [
        part_of(arm, rows, std, seed)
        for seed, (rows, std) in enumerate(zip(HALVES, noise, strict=True))
    ]
    whole = joined(motions)
    problem = build_problem(whole, arm.nominal, arm.basis)
    weights = weights_by_log(problem, log_of(whole))
    np.testing.assert_allclose(weights[1] / weights[0], noise[0] / noise[1], rtol=0.25)
    rows = build_problem(weighted(whole, weights), arm.nominal, arm.basis)
    left = rows.by_joint(rows.y - rows.W @ WeightedLeastSquares().fit(rows).beta)
    spread = [left[log_of(whole) == k].std(axis=0) for k in (0, 1)]
    np.testing.assert_allclose(spread[0], spread[1], rtol=0.25)


def test_weights_make_the_estimate_better_than_either_log_and_than_equal_ones(arm):
    beta = arm.basis.of(arm.plant.parameters())
    errors = {"one": [], "equal": [], "weighted": []}
    for seed in range(10):
        pairs = zip(HALVES, ((1.0, 1.0), (0.05, 0.05)), strict=True)
        motions = [part_of(arm, rows, std, 10 * seed + k) for k, (rows, std) in enumerate(pairs)]
        whole = joined(motions)
        problem = build_problem(whole, arm.nominal, arm.basis)
        weights = weights_by_log(problem, log_of(whole))
        tried = {"one": motions[1], "equal": whole, "weighted": weighted(whole, weights)}
        for name, motion in tried.items():
            fit = WeightedLeastSquares().fit(build_problem(motion, arm.nominal, arm.basis))
            errors[name].append(fit.beta - beta)
    size = {name: np.sqrt(np.mean(np.square(found), axis=0)) for name, found in errors.items()}
    assert np.median(size["weighted"] / size["equal"]) < 0.3
    assert np.median(size["weighted"] / size["one"]) < 1.1


def test_a_log_without_noise_does_not_become_all_of_the_fit(arm):
    motions = [part_of(arm, HALVES[0], (1.0, 1.0)), part_of(arm, HALVES[1])]
    whole = joined(motions)
    problem = build_problem(whole, arm.nominal, arm.basis)
    weights = weights_by_log(problem, log_of(whole))
    assert weights.max() <= LARGEST
    assert np.isfinite(weights).all()


def test_logs_of_other_rates_are_refused(arm):
    one, other = (part_of(arm, rows) for rows in HALVES)
    slow = replace(other, t=2.0 * other.t)
    with pytest.raises(LogError, match="logs of 250 and 125 Hz cannot be fitted together"):
        joined([one, slow])
    with pytest.raises(LogError, match="only motions of the same joints"):
        joined([one, replace(other, row_filter=None)])
