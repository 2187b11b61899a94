"""The loop: its log obeys the plant's equation of motion, its clock starts where it should."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.control.controller import Controller
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.engines import default_engine
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import LogError, SimulationDiverged
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import rollout
from robotid_sim.trajectory.reference import PointToPoint

SHORT = FourierOptions(period=2.0, periods=2, amplitude=0.5)


def short_run(robot, *, seed=0, substeps=4, dt=1e-3, leapfrog=True):
    trajectory = random_feasible(robot, np.random.default_rng(seed), SHORT)
    with Plant(robot, dt=dt, substeps=substeps, leapfrog=leapfrog) as plant:
        return trajectory, rollout(plant, ComputedTorque(robot), trajectory)


@pytest.mark.parametrize("leapfrog", [True, False])
def test_torque_equals_the_equation_of_motion_at_the_true_state(experiment, irb140, leapfrog):
    log = experiment(irb140, leapfrog=leapfrog).log
    truth = log.truth
    tau = joint_torque(irb140, truth.q, truth.dq, truth.ddq)
    # The solve of M ddq = tau - h loses the condition number of M, 1e4, times 1e-16 times 1e3 N m.
    assert np.abs(tau - truth.tau).max() < 1e-9
    np.testing.assert_array_equal(truth.tau, log.tau_meas)


def test_truth_obeys_the_equation_of_motion_on_every_robot(robot):
    _, log = short_run(robot)
    tau = joint_torque(robot, log.truth.q, log.truth.dq, log.truth.ddq)
    assert np.abs(tau - log.truth.tau).max() < 1e-9  # as above


def test_time_zero_is_on_the_grid_and_the_grid_is_the_trajectory(arm):
    trajectory, log = short_run(arm)
    assert 0.0 in log.t
    assert log.dt == pytest.approx(1e-3, rel=1e-9)  # rounding error of the mean step
    assert log.t[0] == pytest.approx(trajectory.start, abs=1e-12)
    assert log.t[-1] == pytest.approx(trajectory.duration - log.dt, abs=1e-12)
    np.testing.assert_array_equal(log.q[0], arm.home)
    assert log.period == trajectory.period == 2.0


@pytest.mark.parametrize(("substeps", "dt"), [(1, 1e-3), (4, 1e-3), (8, 1e-3), (4, 2e-3)])
def test_torque_acts_half_a_step_less_half_a_substep_late(arm, substeps, dt):
    wanted = 0.5 * dt - 0.5 * dt / substeps
    with Plant(arm, dt=dt, substeps=substeps) as plant:
        assert plant.torque_time_offset == pytest.approx(wanted, rel=1e-12)
        motion = PointToPoint(arm.joint_names, arm.home, arm.home, 0.0, 0.1)
        log = rollout(plant, ComputedTorque(arm), motion)
    assert log.torque_time_offset == pytest.approx(wanted, rel=1e-12)
    assert log.t.size == round(0.1 / dt)


@pytest.mark.slow
def test_same_run_gives_the_same_bits(irb140):
    (_, one), (_, two) = short_run(irb140), short_run(irb140)
    for name in ("t", "q", "tau_cmd", "tau_meas"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert one.truth.ddq.tobytes() == two.truth.ddq.tobytes()


@pytest.mark.slow
def test_a_second_run_on_the_same_plant_gives_the_same_bits(arm):
    trajectory = random_feasible(arm, np.random.default_rng(0), SHORT)
    with Plant(arm) as plant:
        one, two = (rollout(plant, ComputedTorque(arm), trajectory) for _ in range(2))
    assert one.q.tobytes() == two.q.tobytes()


@pytest.mark.slow
def test_motion_repeats_from_period_to_period(experiment, arm):
    log = experiment(arm).log
    start = int((log.t < 10.0 - 1e-6).sum())
    second, third = log.q[start : start + 10_000], log.q[start + 10_000 :]
    assert np.abs(second - third).max() < 1e-12  # rounding; the loop has long settled


def test_log_names_the_joints_and_the_engine(arm):
    _, log = short_run(arm)
    assert log.require_robot(arm) is log
    assert log.dq is None
    assert log.provenance["engine"] == default_engine()
    assert log.provenance["substeps"] == 4
    assert log.provenance["controller"] == "ComputedTorque"


def test_progress_ends_at_one(arm):
    seen = []
    motion = PointToPoint(arm.joint_names, arm.home, arm.home, 0.0, 2.5)
    with Plant(arm) as plant:
        rollout(
            plant,
            ComputedTorque(arm),
            motion,
            progress=lambda stage, share: seen.append((stage, share)),
        )
    shares = [share for _, share in seen]
    assert {stage for stage, _ in seen} == {"simulate"}
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_trajectory_of_another_robot_is_refused(arm, irb140):
    motion = PointToPoint(arm.joint_names, arm.home, arm.home, 0.0, 1.0)
    with Plant(irb140) as plant, pytest.raises(LogError, match="shoulder, elbow") as caught:
        rollout(plant, ComputedTorque(irb140), motion)
    assert irb140.name in str(caught.value)
    assert "\n" not in str(caught.value)


class Saturating(Controller):
    """A law that asks for far more torque than the drives have."""

    def __call__(self, t, q, dq, setpoint):
        return np.array([1e6, -1e6]) * np.sign(np.sin(40.0 * t) + 1e-9)


def test_torque_is_clipped_at_the_limits_and_the_command_is_kept(arm):
    motion = PointToPoint(arm.joint_names, arm.home, arm.home, 0.0, 0.2)
    with Plant(arm) as plant:
        log = rollout(plant, Saturating(), motion)
    assert (np.abs(log.tau_meas) <= arm.limits.effort).all()
    np.testing.assert_array_equal(np.abs(log.tau_cmd), 1e6)
    np.testing.assert_array_equal(log.truth.tau, log.tau_meas)


class Runaway(Controller):
    """A law with velocity feedback of the wrong sign."""

    def __call__(self, t, q, dq, setpoint):
        return np.array([0.0, 100.0]) * (dq + 1e-3)


def test_divergence_carries_time_and_joint(arm):
    strong = replace(arm, joints=tuple(replace(joint, effort=np.inf) for joint in arm.joints))
    motion = PointToPoint(arm.joint_names, arm.home, arm.home, 0.0, 5.0)
    with Plant(strong) as plant, pytest.raises(SimulationDiverged) as caught:
        rollout(plant, Runaway(), motion)
    assert caught.value.joint in arm.joint_names
    assert 0.0 < caught.value.t < 5.0
    assert "\n" not in str(caught.value)
