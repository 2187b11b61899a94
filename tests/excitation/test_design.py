"""Excitation design: limits hold everywhere, the best of many is good, failure names the joint."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.excitation.design import (
    default_path,
    excitation_quality,
    random_design,
    random_feasible,
    torque_scale,
)
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.perturb import perturb

OPTIONS = FourierOptions()
DENSE = 10 * (50 + 400 * OPTIONS.periods)  # ten times the grid that the design looks at
CANDIDATES = 30
TORQUE_GRID = 1e-3
"""What the torque may rise between the design's own grid points, relative: (pi H / 400)^2 / 2."""


def weakened(robot, share):
    """Return the robot with all effort limits times `share`."""
    joints = tuple(replace(joint, effort=joint.effort * share) for joint in robot.joints)
    return replace(robot, joints=joints)


@pytest.fixture(scope="module")
def designed(robot):
    nominal = perturb(robot, np.random.default_rng(1))
    basis = base_parameters(nominal)
    rng = np.random.default_rng(0)
    return nominal, basis, random_design(nominal, basis, rng, candidates=CANDIDATES)


def test_design_respects_every_limit_between_its_grid_points(designed):
    nominal, basis, trajectory = designed
    found = excitation_quality(nominal, basis, trajectory, samples=DENSE)
    assert found.position_ratio <= 1.0
    assert found.velocity_ratio <= 1.0
    assert found.acceleration_ratio <= 1.0
    assert found.torque_ratio <= OPTIONS.torque_ratio


def test_design_keeps_its_margin_from_the_kinematic_limits(designed):
    nominal, _, trajectory = designed
    reference = trajectory(np.linspace(0.0, trajectory.base_period, 4000))
    limits = nominal.limits
    margin = OPTIONS.margin * (1.0 + 1e-12)  # the bound itself is exact, its rounding is not
    assert (np.abs(reference.q - limits.middle) <= margin * limits.half_range).all()
    assert (np.abs(reference.dq) <= margin * limits.velocity).all()
    assert (np.abs(reference.ddq) <= margin * limits.acceleration).all()


def test_design_excites_better_than_the_median_draw(designed):
    nominal, basis, trajectory = designed
    rng = np.random.default_rng(99)
    draws = [random_feasible(nominal, rng, OPTIONS) for _ in range(15)]
    median = np.median(
        [excitation_quality(nominal, basis, draw, samples=100).log_det for draw in draws]
    )
    assert excitation_quality(nominal, basis, trajectory, samples=100).log_det > median


def test_design_starts_at_home_and_names_the_joints(designed):
    nominal, _, trajectory = designed
    np.testing.assert_array_equal(trajectory(np.array([trajectory.start])).q[0], nominal.home)
    assert trajectory.joint_names == nominal.joint_names


def test_same_seed_gives_the_same_bits_and_another_seed_another_motion(irb140):
    basis = base_parameters(irb140)
    one, two, other = (
        random_design(irb140, basis, np.random.default_rng(seed), candidates=5)
        for seed in (7, 7, 8)
    )
    assert one.a.tobytes() == two.a.tobytes()
    assert one.b.tobytes() == two.b.tobytes()
    assert one.q0.tobytes() == two.q0.tobytes()
    assert not np.array_equal(one.a, other.a)


@pytest.mark.parametrize("seed", range(4))
def test_weak_drives_get_a_smaller_motion_within_the_torque_share(irb140, seed):
    weak = weakened(irb140, 0.5)
    trajectory = random_feasible(weak, np.random.default_rng(seed), OPTIONS)
    found = excitation_quality(weak, base_parameters(weak), trajectory, samples=DENSE)
    assert found.torque_ratio <= OPTIONS.torque_ratio * (1.0 + TORQUE_GRID)
    assert found.torque_ratio > 0.3  # the limit is what stops it, not timidity


def test_infeasible_torque_names_the_joint(irb140):
    joints = list(irb140.joints)
    joints[1] = replace(joints[1], effort=1.0)  # the shoulder carries some 200 N m
    weak = replace(irb140, joints=tuple(joints))
    with pytest.raises(InfeasibleError, match=f"joint '{irb140.joint_names[1]}'") as caught:
        random_design(weak, base_parameters(weak), np.random.default_rng(0), candidates=1)
    assert "\n" not in str(caught.value)


def test_robot_without_torque_limits_has_torque_ratio_zero(arm):
    free = weakened(arm, np.inf)
    trajectory = random_feasible(free, np.random.default_rng(0), OPTIONS)
    assert excitation_quality(free, base_parameters(free), trajectory).torque_ratio == 0.0


def test_amplitude_and_margin_scale_the_motion(arm):
    small = random_feasible(arm, np.random.default_rng(0), FourierOptions(amplitude=0.1))
    large = random_feasible(arm, np.random.default_rng(0), FourierOptions())
    np.testing.assert_allclose(small.a, 0.1 * large.a, rtol=1e-12)  # same draw, scaled


def test_log_det_does_not_depend_on_the_base_set(arm):
    basis = base_parameters(arm)
    trajectory = random_feasible(arm, np.random.default_rng(0), OPTIONS)
    order = np.arange(basis.rank)[::-1]
    turned = replace(
        basis,
        columns=basis.columns[order],
        B=basis.B[order],
        units=tuple(basis.units[k] for k in order),
    )
    one = excitation_quality(arm, basis, trajectory).log_det
    assert excitation_quality(arm, turned, trajectory).log_det == pytest.approx(
        one, rel=1e-12
    )  # rounding


def test_default_path_ignores_inertia_and_gives_the_torque_scale(irb140):
    nominal = perturb(irb140, np.random.default_rng(3))
    assert default_path(irb140).a.tobytes() == default_path(nominal).a.tobytes()
    path = default_path(irb140)
    reference = path(np.arange(500) * path.base_period / 500)
    tau = joint_torque(irb140, reference.q, reference.dq, reference.ddq)
    np.testing.assert_allclose(torque_scale(irb140), np.sqrt((tau**2).mean(axis=0)), rtol=1e-12)


def test_progress_rises_to_one(arm):
    seen = []
    basis = base_parameters(arm)
    random_design(
        arm,
        basis,
        np.random.default_rng(0),
        candidates=4,
        progress=lambda stage, share: seen.append((stage, share)),
    )
    assert seen == [("design", 0.25), ("design", 0.5), ("design", 0.75), ("design", 1.0)]


@pytest.mark.parametrize(
    "change",
    [
        {"harmonics": 1},
        {"periods": 0},
        {"period": 0.0},
        {"period": float("nan")},
        {"margin": 0.0},
        {"margin": 1.1},
        {"amplitude": 1.1},
        {"amplitude": -0.5},
        {"torque_ratio": 0.0},
    ],
)
def test_impossible_options_are_refused(change):
    with pytest.raises(OptionError):
        FourierOptions(**change)


def test_a_design_needs_a_candidate(arm):
    basis = base_parameters(arm)
    with pytest.raises(OptionError, match="at least 1 candidate"):
        random_design(arm, basis, np.random.default_rng(0), candidates=0)


def test_a_design_runs_on_one_blas_thread_wherever_it_is_called(arm):
    seen = set()

    def watch(_stage, _share):
        seen.update(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")

    with threadpool_limits(2):
        rng = np.random.default_rng(0)
        random_design(arm, base_parameters(arm), rng, candidates=1, progress=watch)
    assert seen == {1}
