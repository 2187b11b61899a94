"""The ROCR6 of the WLS-RWPSO paper: base parameters, published numbers, searches, filters."""

import numpy as np
import pytest

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.fitness import SquaredFitness
from robotid_sim.estimation.least_squares import noise_std
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.inertia import inconsistency
from robotid_sim.model.parameters import inertial_slice
from robotid_sim.papers.driving import FunctionPath
from robotid_sim.papers.rocr6.cell import (
    filter_errors,
    filter_torques,
    measure_tracking,
    recursive_kalman,
    rows_of,
)
from robotid_sim.papers.rocr6.model import (
    AS_PRINTED,
    FOURIER_OPTIONS,
    PAPER_DIVISOR,
    PRINTED_GAINS,
    PRINTED_VALUES,
    ROBOT_NAME,
    TABLE_2,
    TABLE_3,
    TORQUE_NOISE,
    FirstThreeJoints,
    compute_weighted_estimates,
    design,
    estimate_printed_noise,
    find_settling_generation,
    noisy_problem,
    nominal_six,
    search,
    search_run,
    stack_regressor,
    trajectory_of,
)
from robotid_sim.papers.rocr6.paper import base_ranks, second_moment_determinant
from robotid_sim.preprocess.kalman_torque import kalman_torque


@pytest.fixture(scope="module")
def arm() -> FirstThreeJoints:
    return FirstThreeJoints()


@pytest.fixture(scope="module")
def three() -> dict:
    return design(3, 0, 0)


def test_base_parameters_are_15_21_36_48() -> None:
    assert list(base_ranks().values()) == [15, 21, 36, 48]


def test_table_2_holds_the_sums_of_khalils_rules(arm) -> None:
    d2, a3 = 0.216, -0.257
    groupings = dict(zip(TABLE_2, arm.basis.B, strict=True))
    symbols = arm.basis.symbols
    expected = {
        "Izz1": {"Izz1": 1.0, "Iyy2": 1.0, "Iyy3": 1.0, "m2": d2**2, "m3": d2**2 + a3**2,
                 "mz2": 2 * d2, "mz3": 2 * d2},
        "Ixx2": {"Ixx2": 1.0, "Iyy2": -1.0, "m3": -(a3**2)},
        "Ixz2": {"Ixz2": 1.0, "mz3": -a3},
        "Izz2": {"Izz2": 1.0, "m3": a3**2},
        "mx2": {"mx2": 1.0, "m3": a3},
        "Ixx3": {"Ixx3": 1.0, "Iyy3": -1.0},
    }  # fmt: skip
    for name, row in groupings.items():
        wanted = np.zeros(len(symbols))
        for symbol, factor in expected.get(name, {name: 1.0}).items():
            wanted[symbols.index(symbol)] = factor
        np.testing.assert_allclose(row, wanted, atol=1e-9, err_msg=name)


def test_published_robot_has_the_parameters_of_table_2(arm) -> None:
    np.testing.assert_allclose(arm.true, list(TABLE_2.values()), atol=1e-9)


def test_base_regressor_gives_the_torque_of_the_robot(arm) -> None:
    q, dq, ddq = np.random.default_rng(0).uniform(-2.0, 2.0, (3, 50, 3))
    tau = arm.regressor(q, dq, ddq) @ arm.true
    np.testing.assert_allclose(tau, joint_torque(arm.robot, q, dq, ddq), atol=1e-9)


def test_link_3_of_table_2_cannot_exist(arm) -> None:
    assert second_moment_determinant() == pytest.approx(-0.0215, abs=1e-4)
    assert inconsistency(arm.robot.parameters()[inertial_slice(2)])


@pytest.mark.parametrize("method", PRINTED_GAINS)
def test_printed_gains_follow_from_table_3(method) -> None:
    gains = 100.0 * (1.0 - np.divide(TABLE_3["WLS-RWPSO"], TABLE_3[method]))
    np.testing.assert_allclose(gains, PRINTED_GAINS[method], atol=0.1)


def test_excitation_is_one_period_of_five_harmonics_within_limits(arm, three) -> None:
    trajectory = trajectory_of(three["excitation"])
    assert (trajectory.harmonics, trajectory.base_period, trajectory.periods) == (5, 20.0, 1)
    motion = trajectory(np.linspace(0.0, FOURIER_OPTIONS.period, 2001))
    limits = arm.robot.limits
    assert (np.abs(motion.q - limits.middle) <= limits.half_range).all()
    assert (np.abs(motion.dq) <= limits.velocity).all()
    assert three["condition"] <= three["condition_of_best_draw"] * (1.0 + 1e-12)


def test_no_search_beats_least_squares_in_training(three) -> None:
    found = search_run(three["excitation"], three["verification"], seed=0, run=0)["methods"]
    least = found["LS"]["fitness"]
    for name in PRINTED_VALUES["searches"]:
        assert found[name]["fitness"] >= least * (1.0 - 1e-12), name
    assert found["WLS-PSO without clamp and walls"]["fitness"] > 1.5 * least
    for name in ("PSO", "RWPSO"):
        assert found[f"WLS-{name} that knows WLS, weighted"]["gain_over_start"] < 1e-6


def test_swarm_stays_in_ten_percent_of_its_center() -> None:
    center = np.array([1.0, -20.0, 0.05])
    goal = SquaredFitness(np.eye(3), np.array([5.0, 5.0, 5.0]), 0.0)
    best, curve = search({"setting": "tang-2023-rwpso"}, center, goal, 3, np.random.default_rng(0))
    np.testing.assert_allclose(best, [1.1, -18.0, 0.055], rtol=1e-9)
    assert len(curve) == 200
    assert (np.diff(curve) <= 0.0).all()


def test_search_is_settled_when_most_of_its_fall_is_done() -> None:
    assert find_settling_generation(np.array([10.0, 5.0, 0.2, 0.09, 0.0])) == 4
    assert find_settling_generation(np.array([1.0, 1.0, 1.0])) == 1


@pytest.fixture(scope="module")
def recorded(arm, three) -> tuple[Log, Motion]:
    """Return a log of the exact motion with noisy torques, and that motion."""
    t = np.arange(-500, 20_000) * 1e-3
    at = trajectory_of(three["excitation"])(t)
    tau = joint_torque(arm.robot, at.q, at.dq, at.ddq)
    noise = np.array(TORQUE_NOISE) * np.random.default_rng(0).standard_normal(tau.shape)
    names, units = arm.robot.joint_names, arm.robot.joint_units
    truth = Truth(at.q, at.dq, at.ddq, tau)
    log = Log(t, at.q, tau + noise, joint_names=names, joint_units=units, truth=truth)
    return log, Motion(t, at.q, at.dq, at.ddq, log.tau_meas, names)


def test_rows_are_two_thousand_samples_after_the_approach(recorded) -> None:
    log, motion = recorded
    rows = rows_of(log, motion, log.tau_meas)
    np.testing.assert_allclose(rows.row_times, np.arange(2000) * 0.01, atol=1e-9)


def test_five_points_leave_seventeen_thirtyfifths_of_the_variance(arm, recorded) -> None:
    log, motion = recorded
    errors = filter_errors(log, filter_torques(log, motion, arm.robot))["filters all"]["methods"]
    raw, cubic, kalman = (np.array(errors[f]["rms"]) for f in ("raw", "five-point", "Kalman"))
    np.testing.assert_allclose(cubic / raw, np.sqrt(17.0 / 35.0), rtol=0.02)
    assert (kalman < 0.1 * raw).all()  # the model it trusts is the true one here


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
def reduction(arm, three):
    W = stack_regressor(arm, trajectory_of(three["excitation"]))
    return reduce_rows(noisy_problem(arm, W, np.random.default_rng(1)))


def test_both_divisors_give_the_noise(reduction) -> None:
    beta, _ = reduction.solve(np.ones(3))
    ours, paper = noise_std(reduction, beta, beta.size), estimate_printed_noise(reduction, beta)
    np.testing.assert_allclose(ours, TORQUE_NOISE, rtol=0.05)
    np.testing.assert_allclose(paper, ours, rtol=0.01)
    assert (paper != ours).all()


def test_readings_of_the_weights_differ_as_their_weights(reduction) -> None:
    betas = compute_weighted_estimates(reduction)
    distance = {name: np.linalg.norm(beta - betas["WLS"]) for name, beta in betas.items()}
    assert distance[PAPER_DIVISOR] < 0.01 * distance["LS"]
    assert distance[AS_PRINTED] > distance["LS"] > 0.0


@pytest.mark.slow
def test_a_controller_tracks_better_with_the_true_model() -> None:
    whole = trajectory_of(design(6, 1, 0)["verification"])
    path = FunctionPath(whole.joint_names, whole, 0.5, whole.start)
    plant = load_robot(ROBOT_NAME)
    true, nominal = (measure_tracking(plant, model, path) for model in (plant, nominal_six(0)))
    assert np.linalg.norm(true["rms"]) < 0.1 * np.linalg.norm(nominal["rms"])
    assert all(a >= b for a, b in zip(true["largest"], true["rms"], strict=True))
