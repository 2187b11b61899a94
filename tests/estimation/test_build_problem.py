"""From one log or several to rows, and fits to parts of them; truth never matters."""

from dataclasses import replace

import numpy as np
import pytest
from measured import measured
from robots import DATA
from sampling import sampled
from searches import brief

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.errors import LogError, ShapeError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.friction_fit import raise_row_rate
from robotid_sim.estimation.hold_out import DEGREES_OF_FREEDOM, HeldOut, robust_gain
from robotid_sim.estimation.least_squares import (
    MAX_WEIGHT_RATIO,
    WeightedLeastSquares,
    weights_by_log,
)
from robotid_sim.estimation.problem import build_problem
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.joined_motion import JoinedRowFilter, join_motions
from robotid_sim.measurement.log import Truth
from robotid_sim.measurement.motion import Motion, add_gate
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother


@pytest.fixture(scope="module")
def virtual(experiment, arm):
    return experiment(arm)


@pytest.fixture(scope="module")
def exact_motion(virtual):
    """Return the motion of the truth, with the default rows."""
    log, truth = virtual.log, virtual.log.truth
    return Motion(
        log.t, truth.q, truth.dq, truth.ddq, truth.tau, log.joint_names, Rows().filter_for(log)
    )


def test_rows_of_exact_motion_satisfy_the_equation(virtual, exact_motion):
    problem = build_problem(exact_motion, virtual.nominal, virtual.basis)
    beta = virtual.basis.project(virtual.plant.parameters())
    residual = np.abs(problem.y - problem.W @ beta)
    assert residual.max() < 1e-9 * np.abs(problem.y).max()  # rounding of filters in series


def test_motion_robot_and_basis_are_of_one_robot(virtual, exact_motion, irb140):
    nominal = virtual.nominal
    with pytest.raises(ShapeError, match="the basis is of another robot than"):
        build_problem(exact_motion, nominal, base_parameters(load_robot("twolink")))
    with pytest.raises(ShapeError, match="the basis is of another robot than"):
        build_problem(exact_motion, nominal, base_parameters(irb140))
    names = tuple(f"axis_{k}" for k in range(nominal.dof))
    with pytest.raises(ShapeError, match=r"the motion has joints axis_0, .*give the robot of"):
        build_problem(replace(exact_motion, joint_names=names), nominal, virtual.basis)


def test_torque_rows_are_the_filtered_torque(virtual, exact_motion):
    problem = build_problem(exact_motion, virtual.nominal, virtual.basis)
    rows = exact_motion.row_filter
    np.testing.assert_array_equal(
        problem.y, rows.apply(exact_motion.tau[rows.sample_slice]).ravel()
    )
    assert problem.dt == pytest.approx(0.1, rel=1e-9)  # rows at 10 Hz
    assert problem.samples == 292  # 30 s less 0.3 s of tail and 0.1 s of edge, each twice
    assert problem.joint_names == virtual.plant.joint_names


def test_regressor_rows_are_the_filtered_regressor(virtual, exact_motion):
    problem = build_problem(exact_motion, virtual.nominal, virtual.basis)
    rows, use = exact_motion.row_filter, exact_motion.row_filter.sample_slice
    motion = (getattr(exact_motion, name)[use] for name in ("q", "dq", "ddq"))
    W = torque_regressor(virtual.nominal, *motion, virtual.basis.columns)
    wanted = rows.apply(W).reshape(-1, virtual.basis.rank)
    np.testing.assert_array_equal(problem.W, wanted)


def test_a_mask_selects_samples_unfiltered(virtual, exact_motion):
    mask = np.zeros(exact_motion.t.size, dtype=bool)
    mask[5000:20_000:50] = True
    masked = replace(exact_motion, row_filter=None, mask=mask)
    problem = build_problem(masked, virtual.nominal, virtual.basis)
    np.testing.assert_array_equal(problem.y, exact_motion.tau[mask].ravel())
    assert problem.samples == mask.sum()


def test_without_mask_or_filter_every_sample_is_a_row(virtual, exact_motion):
    problem = build_problem(replace(exact_motion, row_filter=None), virtual.nominal, virtual.basis)
    assert problem.samples == exact_motion.t.size
    assert problem.dt == exact_motion.dt


def test_inertia_of_the_nominal_does_not_enter(virtual, exact_motion):
    other = perturb(virtual.plant, np.random.default_rng(99))
    one, two = (
        build_problem(exact_motion, nominal, base_parameters(nominal))
        for nominal in (virtual.nominal, other)
    )
    assert one.W.tobytes() == two.W.tobytes()
    assert one.basis.B.tobytes() == two.basis.B.tobytes()


def scrambled(log):
    rng = np.random.default_rng(1)
    return replace(log, truth=Truth(*rng.standard_normal((4, *log.q.shape))))


@pytest.mark.parametrize("preprocessor", sampled(PREPROCESSORS, "rts", mark=pytest.mark.slow))
def test_truth_changes_no_estimate(virtual, preprocessor):
    log = measure(virtual.log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))
    versions = (log, replace(log, truth=None), scrambled(log))
    motions = [PREPROCESSORS.build(preprocessor)(one, virtual.nominal) for one in versions]
    problems = [build_problem(motion, virtual.nominal, virtual.basis) for motion in motions]
    for name in ESTIMATORS:
        found = set()
        for problem in problems:
            estimate = brief(name).fit(problem, np.random.default_rng(0))
            assert estimate.success, name
            found.add(estimate.beta.tobytes() + estimate.cov.tobytes())
        assert len(found) == 1, name


def test_filtering_the_torque_alone_would_bias(virtual):
    """The reason for the shared filter: friction is biased by many standard deviations."""
    log = measure(virtual.log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))
    motion = RtsSmoother()(log, virtual.nominal)
    right = build_problem(motion, virtual.nominal, virtual.basis)
    rows = motion.row_filter
    use = np.arange(log.t.size)[rows.sample_slice][rows.rows]
    mask = np.isin(np.arange(log.t.size), use)
    unfiltered = build_problem(
        replace(motion, row_filter=None, mask=mask), virtual.nominal, virtual.basis
    )
    wrong = replace(right, W=unfiltered.W)
    beta = virtual.basis.project(virtual.plant.parameters())
    wls = ESTIMATORS.build("wls")
    estimates = [wls.fit(problem, np.random.default_rng(0)) for problem in (right, wrong)]
    std = estimates[0].std
    worst = [np.abs((estimate.beta - beta) / std).max() for estimate in estimates]
    assert worst[0] < 5.0
    assert worst[1] > 20.0


@pytest.fixture(scope="module")
def lab():
    return measured(load_robot(DATA / "2r.urdf"))


def part_of(lab, rows: slice, noise=(0.0, 0.0), seed=0) -> Motion:
    """Return the true motion of a part of the log, its torque with white noise of every joint."""
    log = lab.log.cut(rows)
    q, dq, ddq = (x[rows] for x in lab.state)
    tau = joint_torque(lab.plant, q, dq, ddq)
    tau = tau + np.random.default_rng(seed).standard_normal(tau.shape) * noise
    return Motion(log.t, q, dq, ddq, tau, log.joint_names, row_filter=Rows().filter_for(log))


def log_of(motion: Motion) -> np.ndarray:
    assert isinstance(motion.row_filter, JoinedRowFilter)
    return motion.row_filter.log_indices


def weighted(motion: Motion, weights: np.ndarray) -> Motion:
    assert isinstance(motion.row_filter, JoinedRowFilter)
    return replace(motion, row_filter=replace(motion.row_filter, weights=weights))


HALVES = slice(0, 2500), slice(3100, 6000)


def test_rows_are_those_of_each_log_and_exact(lab):
    motions = [part_of(lab, rows) for rows in HALVES]
    problem = build_problem(join_motions(motions), lab.nominal, lab.basis)
    each = [build_problem(motion, lab.nominal, lab.basis) for motion in motions]
    np.testing.assert_allclose(problem.W, np.vstack([part.W for part in each]), atol=1e-10)
    np.testing.assert_allclose(problem.y, np.concatenate([part.y for part in each]), atol=1e-10)
    beta = lab.basis.project(lab.plant.parameters())
    np.testing.assert_allclose(problem.W @ beta, problem.y, atol=1e-11 * np.abs(problem.y).max())
    whole = join_motions(motions)
    assert whole.row_times.size == problem.samples == log_of(whole).size
    finer = raise_row_rate(whole)
    assert build_problem(finer, lab.nominal, lab.basis).samples == log_of(finer).size


def test_one_log_is_itself_and_gates_stay(lab):
    one, other = (part_of(lab, rows) for rows in HALVES)
    assert join_motions([one]) is one
    shut = np.ones(one.q.shape, dtype=bool)
    shut[1200:1300, 1] = False
    assert one.row_filter is not None
    closed = replace(one, row_filter=add_gate(one.row_filter, shut))
    tau = closed.tau.copy()
    tau[1200:1300, 1] = 1e6  # of a broken sensor
    problem = build_problem(join_motions([replace(closed, tau=tau), other]), lab.nominal, lab.basis)
    np.testing.assert_allclose(
        problem.W @ lab.basis.project(lab.plant.parameters()), problem.y, atol=1e-9
    )


def test_logs_weigh_by_their_noise_joint_by_joint(lab):
    noise = np.array([[1.0, 0.1], [0.1, 0.4]])
    motions = [
        part_of(lab, rows, std, seed)
        for seed, (rows, std) in enumerate(zip(HALVES, noise, strict=True))
    ]
    whole = join_motions(motions)
    problem = build_problem(whole, lab.nominal, lab.basis)
    weights = weights_by_log(problem, log_of(whole))
    np.testing.assert_allclose(weights[1] / weights[0], noise[0] / noise[1], rtol=0.25)
    rows = build_problem(weighted(whole, weights), lab.nominal, lab.basis)
    left = rows.unstack_rows(rows.y - rows.W @ WeightedLeastSquares().fit(rows).beta)
    spread = [left[log_of(whole) == k].std(axis=0) for k in (0, 1)]
    np.testing.assert_allclose(spread[0], spread[1], rtol=0.25)


def test_weights_make_the_estimate_better_than_either_log_and_than_equal_ones(lab):
    beta = lab.basis.project(lab.plant.parameters())
    errors = {"one": [], "equal": [], "weighted": []}
    for seed in range(10):
        pairs = zip(HALVES, ((1.0, 1.0), (0.05, 0.05)), strict=True)
        motions = [part_of(lab, rows, std, 10 * seed + k) for k, (rows, std) in enumerate(pairs)]
        whole = join_motions(motions)
        problem = build_problem(whole, lab.nominal, lab.basis)
        weights = weights_by_log(problem, log_of(whole))
        tried = {"one": motions[1], "equal": whole, "weighted": weighted(whole, weights)}
        for name, motion in tried.items():
            fit = WeightedLeastSquares().fit(build_problem(motion, lab.nominal, lab.basis))
            errors[name].append(fit.beta - beta)
    size = {name: np.sqrt(np.mean(np.square(found), axis=0)) for name, found in errors.items()}
    assert np.median(size["weighted"] / size["equal"]) < 0.3
    assert np.median(size["weighted"] / size["one"]) < 1.1


def test_a_log_without_noise_does_not_become_all_of_the_fit(lab):
    motions = [part_of(lab, HALVES[0], (1.0, 1.0)), part_of(lab, HALVES[1])]
    whole = join_motions(motions)
    problem = build_problem(whole, lab.nominal, lab.basis)
    weights = weights_by_log(problem, log_of(whole))
    assert weights.max() <= MAX_WEIGHT_RATIO
    assert np.isfinite(weights).all()


def test_logs_of_other_rates_are_refused(lab):
    one, other = (part_of(lab, rows) for rows in HALVES)
    slow = replace(other, t=2.0 * other.t)
    with pytest.raises(LogError, match="logs of 250 and 125 Hz cannot be fitted together"):
        join_motions([one, slow])
    with pytest.raises(LogError, match="the same joints"):
        join_motions([one, replace(other, row_filter=None)])


def rows(seed=0, extra=0.0):
    """Return rows of two joints with five columns, the last of which counts `extra`."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((160, 2, 5))
    beta, noise = np.array([1.0, -2.0, 0.5, 0.0, extra]), np.array([0.1, 1.0])
    y = A @ beta + noise * rng.standard_normal((160, 2))
    use = np.ones((160, 2), dtype=bool)
    use[40:50, 1] = False
    fold = np.repeat(np.arange(8), 20)
    whole = np.concatenate([A, y[:, :, None]], axis=2) * use[:, :, None]
    return A, y, use, fold, HeldOut.from_columns(whole, fold, use, np.full(2, 1e-9))


def direct(A, y, use, floor=1e-9):
    """Return the weighted fit of rows by ordinary linear algebra."""
    sigma, count = np.sqrt((y**2 * use).sum(axis=0) / use.sum(axis=0)), use.sum(axis=0)
    for _ in range(3):
        w = (use / sigma).ravel()
        beta = np.linalg.lstsq(A.reshape(len(w), -1) * w[:, None], y.ravel() * w, rcond=None)[0]
        squares = (use * (y - A @ beta) ** 2).sum(axis=0)
        sigma = np.sqrt(squares / (count - A.shape[2] / 2) + floor**2)
    return beta, sigma


def test_a_fit_is_the_weighted_fit_of_the_rows_that_count():
    A, y, use, _, held = rows()
    fit = held.fit(np.arange(4))
    beta, sigma = direct(A[:, :, :4], y, use)
    np.testing.assert_allclose(fit.beta, beta, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(fit.sigma, sigma, rtol=1e-7)


def test_a_score_is_that_of_the_block_by_the_fit_to_the_others():
    A, y, use, fold, held = rows()
    scores = held.score(np.arange(4))
    for f in (0, 2, 7):
        out = fold == f
        beta, sigma = direct(A[~out][:, :, :4], y[~out], use[~out])
        m = use[out].sum(axis=0)
        squares = (use[out] * (y[out] - A[out][:, :, :4] @ beta) ** 2).sum(axis=0)
        spread = np.log1p(squares / (DEGREES_OF_FREEDOM * sigma**2))
        expected = (-m * np.log(sigma) - 0.5 * (DEGREES_OF_FREEDOM + m) * spread).sum()
        np.testing.assert_allclose(scores[f], expected, rtol=1e-6)


def test_a_column_that_counts_gains_and_one_that_does_not_loses():
    gains = []
    for extra in (0.0, 0.1):
        trials = (rows(seed, extra)[-1] for seed in range(20))
        gains.append([(h.score(np.arange(5)) - h.score(np.arange(4))).sum() for h in trials])
    assert np.mean(gains[0]) < 0.0
    assert np.min(gains[1]) > 10.0


def test_dependent_columns_do_no_harm():
    A, y, use, fold, _ = rows()
    twice = np.concatenate([A, A[:, :, :1], y[:, :, None]], axis=2) * use[:, :, None]
    held = HeldOut.from_columns(twice, fold, use, np.full(2, 1e-9))
    plain, both = held.score(np.arange(5)), held.score(np.arange(6))
    np.testing.assert_allclose(plain, both, rtol=1e-2)  # a parameter more for the noise


def test_the_score_of_a_block_is_that_of_its_joints():
    *_, held = rows()
    by_joint = held.score_by_joint(np.arange(4))
    assert by_joint.shape == (8, 2)
    np.testing.assert_allclose(by_joint.sum(axis=1), held.score(np.arange(4)))


def test_random_effects_are_shrunk_by_their_variance():
    A, y, use, _, held = rows(extra=0.5)
    random = replace(held, effects=1)
    fit = random.fit(np.arange(5))
    weight = 1.0 / np.tile(fit.sigma, 160)
    scaled = A.reshape(320, 5) * (use.ravel() * weight)[:, None]
    penalty = np.diag([0.0, 0.0, 0.0, 0.0, 1.0])
    expected = np.linalg.solve(
        scaled.T @ scaled + penalty, scaled.T @ (y.ravel() * use.ravel() * weight)
    )
    np.testing.assert_allclose(fit.beta, expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("gain", "sign"), [([3.0] * 8, 1.0), ([24.0] + [0.0] * 7, -1.0), ([-3.0] * 8, -1.0)]
)
def test_a_gain_of_one_block_is_worth_nothing(gain, sign):
    spread = np.linspace(-0.1, 0.1, 8)
    assert np.sign(robust_gain(np.array(gain) + spread)) == sign
