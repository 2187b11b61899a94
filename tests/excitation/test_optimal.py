"""Optimal excitation: better than random, within every limit, same bits for any workers."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
from excitations import same, seeded, weakened

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.errors import OptionError
from robotid_sim.excitation.criteria import Criterion, DOptimality
from robotid_sim.excitation.criteria_spectrum import ConditionNumber
from robotid_sim.excitation.design import (
    excitation_quality,
    random_design,
    random_designs,
    random_feasible,
)
from robotid_sim.excitation.information import assume_noise, compute_expected_std
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.perturb import perturb

OPTIONS = FourierOptions()
DENSE = 10 * 4000  # ten times the grid that results are checked on
SMALL = DesignPlan(search=GradientSearch(starts=2, candidates=20, iterations=30))
TORQUE_GRID = 1e-3
"""What the torque of a random start may exceed its share between its own grid points, relative."""


@pytest.fixture(scope="module")
def designed(robot):
    nominal = perturb(robot, seeded(1))
    basis = base_parameters(nominal)
    settings = DesignPlan(search=GradientSearch(starts=1, candidates=20, iterations=20))
    return nominal, basis, optimal_design(nominal, basis, seeded(), settings)


def test_design_beats_the_best_random_draw_on_every_robot(designed):
    nominal, basis, result = designed
    drawn = random_designs(nominal, basis, seeded(), options=OPTIONS, candidates=20)
    assert result.value_before == drawn[0].value
    assert result.value_after < result.value_before - 1.0
    assert result.value_after == min(result.start_values)
    best = excitation_quality(nominal, basis, drawn[0].trajectory).log_det
    assert excitation_quality(nominal, basis, result.trajectory).log_det > best


def test_design_keeps_every_limit_on_a_ten_times_denser_grid(designed):
    nominal, basis, result = designed
    found = excitation_quality(nominal, basis, result.trajectory, DENSE)
    assert found.position_ratio <= OPTIONS.margin
    assert found.velocity_ratio <= OPTIONS.margin
    assert found.acceleration_ratio <= OPTIONS.margin
    assert found.torque_ratio <= OPTIONS.torque_ratio * (1.0 + TORQUE_GRID)


def test_design_uses_the_room_that_it_has(designed):
    nominal, basis, result = designed
    found = excitation_quality(nominal, basis, result.trajectory)
    uses = (found.position_ratio, found.velocity_ratio, found.acceleration_ratio)
    assert max(*uses, found.torque_ratio) > 0.9 * OPTIONS.torque_ratio


@pytest.mark.slow
def test_condition_number_design_improves_the_condition_number(arm):
    basis = base_parameters(arm)
    result = optimal_design(arm, basis, seeded(), replace(SMALL, criterion=ConditionNumber()))
    before = random_designs(
        arm, basis, seeded(), options=OPTIONS, criterion=ConditionNumber(), candidates=20
    )[0]
    assert np.exp(before.value) == pytest.approx(np.exp(result.value_before), rel=1e-12)
    cond = excitation_quality(arm, basis, result.trajectory).cond_raw
    assert cond == pytest.approx(np.exp(result.value_after), rel=0.05)  # another grid
    assert cond < 0.9 * excitation_quality(arm, basis, before.trajectory).cond_raw


@pytest.mark.slow
def test_same_seed_gives_the_same_bits_with_one_worker_and_two(arm):
    basis = base_parameters(arm)
    one = optimal_design(arm, basis, seeded(7), SMALL)
    two = optimal_design(arm, basis, seeded(7), SMALL, workers=2)
    other = optimal_design(arm, basis, seeded(8), SMALL)
    assert same(one.trajectory, two.trajectory)
    assert one.start_values == two.start_values
    assert not same(one.trajectory, other.trajectory)


@pytest.mark.slow
@pytest.mark.parametrize("share", [pytest.param(0.5, marks=pytest.mark.nightly), 0.35])
def test_weak_drives_bound_the_motion_and_not_the_success(irb140, share):
    weak = weakened(irb140, share)
    basis = base_parameters(weak)
    result = optimal_design(
        weak,
        basis,
        seeded(),
        DesignPlan(search=GradientSearch(starts=1, candidates=20, iterations=25)),
    )
    found = excitation_quality(weak, basis, result.trajectory, DENSE)
    assert found.torque_ratio <= OPTIONS.torque_ratio * (1.0 + TORQUE_GRID)
    assert found.torque_ratio > 0.9 * OPTIONS.torque_ratio  # the limit is what stops it
    assert result.value_after < result.value_before


def test_robot_without_torque_limits_can_be_designed(arm):
    free = weakened(arm, np.inf)
    result = optimal_design(free, base_parameters(free), seeded(), SMALL)
    assert result.value_after < result.value_before


def test_amplitude_bounds_the_swing_and_the_velocity(arm):
    options = FourierOptions(amplitude=0.1)
    result = optimal_design(arm, base_parameters(arm), seeded(), replace(SMALL, family=options))
    reference = result.trajectory(np.linspace(0.0, options.period, 4000))
    allowed = options.amplitude * options.margin
    swing = np.abs(reference.q - result.trajectory.q0).max(axis=0)
    assert (swing <= allowed * arm.limits.half_range).all()
    assert (np.abs(reference.dq).max(axis=0) <= allowed * arm.limits.velocity).all()


def test_slow_acceleration_binds_where_bernsteins_bound_does_not_rule_it_out(arm):
    joints = tuple(replace(joint, acceleration=0.5 * joint.velocity) for joint in arm.joints)
    gentle = replace(arm, joints=joints)
    basis = base_parameters(gentle)
    result = optimal_design(gentle, basis, seeded(), SMALL)
    found = excitation_quality(gentle, basis, result.trajectory, DENSE)
    assert 0.8 < found.acceleration_ratio <= OPTIONS.margin


def test_without_starts_the_result_is_the_random_design(arm):
    basis = base_parameters(arm)
    result = optimal_design(
        arm, basis, seeded(3), DesignPlan(search=GradientSearch(starts=0, candidates=8))
    )
    drawn = random_design(arm, basis, seeded(3), candidates=8)
    for name in ("q0", "a", "b"):  # rounding of the way through the coordinates
        ours, theirs = (getattr(one, name) for one in (result.trajectory, drawn))
        np.testing.assert_allclose(ours, theirs, atol=1e-14)
    assert result.value_after == result.value_before
    assert result.success


@pytest.mark.parametrize(
    ("search", "workers"),
    [
        (GradientSearch(starts=-1), 1),
        (GradientSearch(candidates=0, starts=0), 1),
        (SMALL.search, 0),
    ],
)
def test_impossible_numbers_are_refused(arm, search, workers):
    plan = DesignPlan(search=search)
    with pytest.raises(OptionError):
        optimal_design(arm, base_parameters(arm), seeded(), plan, workers=workers)


def test_progress_rises_to_one(arm):
    seen = []
    optimal_design(
        arm, base_parameters(arm), seeded(), SMALL, progress=lambda *said: seen.append(said)
    )
    assert {stage for stage, _ in seen} == {"design"}
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


# ------------------------------------------------------------------------------------ Ctrl-C


@dataclass(frozen=True)
class Impatient(Criterion):
    """D-optimality until somebody presses Ctrl-C once; negative patience never ends."""

    symbol: ClassVar[str] = "impatient"

    patience: int
    calls: list[int] = field(default_factory=lambda: [0])

    def differentiate(self, R, count):
        self.calls[0] += 1
        if self.calls[0] == self.patience:
            raise KeyboardInterrupt
        return DOptimality().differentiate(R, count)


@pytest.mark.slow
def test_ctrl_c_within_a_start_returns_the_best_so_far(arm):
    basis = base_parameters(arm)
    settings = DesignPlan(search=GradientSearch(starts=2, candidates=20, iterations=100))
    whole = optimal_design(arm, basis, seeded(), replace(settings, criterion=Impatient(-1)))
    result = optimal_design(arm, basis, seeded(), replace(settings, criterion=Impatient(20 + 12)))
    assert result.interrupted
    assert not result.success
    assert "interrupted" in result.message
    assert len(result.start_values) == 1
    assert whole.value_after < result.value_after < result.value_before
    assert excitation_quality(arm, basis, result.trajectory, DENSE).position_ratio <= OPTIONS.margin


@pytest.mark.slow
def test_ctrl_c_between_starts_keeps_those_that_are_done(arm):
    basis = base_parameters(arm)

    def interrupt(_, share):
        if share > 0.2:
            raise KeyboardInterrupt

    whole = optimal_design(arm, basis, seeded(), SMALL)
    result = optimal_design(arm, basis, seeded(), SMALL, progress=interrupt)
    assert result.interrupted
    assert result.start_values == whole.start_values[:1]
    assert result.value_after == whole.start_values[0]


# --------------------------------------------------------------------------- the search space


# -------------------------------------------------------------------------- expected accuracy


def test_expected_std_is_the_cramer_rao_bound_of_the_whole_log(arm):
    basis = base_parameters(arm)
    trajectory = random_feasible(arm, seeded(), OPTIONS)
    noise = assume_noise(arm, trajectory)
    t = np.arange(0.0, trajectory.duration, 1e-3)
    reference = trajectory(t)
    tau = joint_torque(arm, reference.q, reference.dq, reference.ddq)
    np.testing.assert_allclose(noise, 0.01 * np.sqrt((tau**2).mean(axis=0)), rtol=1e-3)
    W = torque_regressor(arm, reference.q, reference.dq, reference.ddq, basis.columns)
    flat = (W / noise[:, None]).reshape(-1, basis.rank)
    bound = np.sqrt(np.diag(np.linalg.inv(flat.T @ flat)))
    np.testing.assert_allclose(
        compute_expected_std(arm, basis, trajectory), bound, rtol=2e-2
    )  # its grid
    double = compute_expected_std(arm, basis, trajectory, noise_std=2.0 * noise, dt=4e-3)
    np.testing.assert_allclose(
        double, 4.0 * compute_expected_std(arm, basis, trajectory), rtol=1e-9
    )


def test_expected_std_is_infinite_without_motion(arm):
    trajectory = random_feasible(arm, seeded(), OPTIONS)
    still = replace(trajectory, a=0.0 * trajectory.a, b=0.0 * trajectory.b)
    assert np.isinf(compute_expected_std(arm, base_parameters(arm), still)).all()
