"""Steps: the robot starts where it is said to start, and a still pose is to be held."""

import numpy as np
import pytest
from robots import urdf_path
from sampling import sampled

from robotid_sim.errors import OptionError, PathError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.kinematics.workspace import reach
from robotid_sim.model.robot import Robot
from robotid_sim.tasks import TASKS
from robotid_sim.tasks.path import tracking_path
from robotid_sim.tasks.task import RunPlan

AXES = {"irb140": "xyz", "iiwa": "xyz", "scara": "xyz", "ppp": "xyz", "twolink": "xz", "rp": "xy"}


@pytest.mark.parametrize(
    "name", sampled((*AXES, "2r"), "irb140", "scara", "2r", mark=pytest.mark.slow)
)
def test_joint_step_starts_below_the_start_of_the_circle(name):
    robot = Robot.from_urdf(urdf_path(name))
    (run,) = TASKS.build("joint-step").runs(robot)
    assert (run.name, run.is_step, run.path) == ("joint-step", True, None)
    wanted = [-0.002 if prismatic else -0.02 for prismatic in robot.prismatic]
    np.testing.assert_array_equal(run.offset, wanted)
    reference = run.trajectory(np.array([0.0, 0.7, 1.5]))
    np.testing.assert_array_equal(reference.q, np.tile(tracking_path(robot).points[0], (3, 1)))
    assert not reference.dq.any()
    assert not reference.ddq.any()
    assert (run.trajectory.start, run.trajectory.duration) == (0.0, 1.5)


def test_joint_step_takes_its_sizes(arm):
    (run,) = TASKS.build("joint-step", revolute=-0.1, seconds=2.0).runs(arm)
    np.testing.assert_array_equal(run.offset, [0.1, 0.1])
    assert run.trajectory.duration == 2.0


@pytest.mark.parametrize("size", [None, 0.004])
@pytest.mark.parametrize(
    ("name", "axes"), sampled(AXES.items(), *list(AXES.items())[2:], mark=pytest.mark.slow)
)
def test_task_step_moves_the_tip_by_its_size_along_every_axis(name, axes, size):
    robot = Robot.from_urdf(urdf_path(name))
    runs = TASKS.build("task-step", size=size).runs(robot)
    assert [run.name for run in runs] == [f"task-step-{axis}" for axis in axes]
    for run, axis in zip(runs, axes, strict=True):
        held = run.trajectory(np.zeros(1)).q[0]
        start, end = tip_pose(robot, held + run.offset), tip_pose(robot, held)
        shift = start[:3, 3] - end[:3, 3]
        wanted = np.zeros(3)
        wanted["xyz".index(axis)] = size or 0.01 * reach(robot)
        np.testing.assert_allclose(np.abs(shift), wanted, atol=1e-9)  # the solver's is 1e-10
        if robot.dof >= 6:
            np.testing.assert_allclose(start[:3, :3], end[:3, :3], atol=1e-9)
        assert (held + run.offset >= robot.limits.lower).all()
        assert (held + run.offset <= robot.limits.upper).all()
        assert run.is_step


def test_steps_hold_the_pose_of_the_plan(irb140):
    held = np.array([0.1, 0.2, -0.3, 0.4, 0.9, 0.0])
    for name in ("joint-step", "task-step"):
        for run in TASKS.build(name).runs(irb140, RunPlan(start=held)):
            np.testing.assert_array_equal(run.trajectory(np.array([1.0])).q[0], held)


def test_a_task_step_goes_the_other_way_at_a_limit():
    robot = Robot.from_urdf(urdf_path("ppp"))
    held = np.array([robot.limits.upper[0], 0.0, 0.0])
    run = TASKS.build("task-step", size=0.01).runs(robot, RunPlan(start=held))[0]
    np.testing.assert_allclose(run.offset, [-0.01, 0.0, 0.0], atol=1e-9)


def test_a_task_step_too_far_is_refused(irb140):
    with pytest.raises(PathError, match=r"task step of \(2, 0, 0\) m.* out of reach of 'irb140'"):
        TASKS.build("task-step", size=2.0).runs(irb140)


def test_a_task_step_beyond_the_limits_either_way_is_refused():
    robot = Robot.from_urdf(urdf_path("ppp"))
    with pytest.raises(PathError, match=r"task step of \(0, 0.7, 0\) m.* needs y at -0.7"):
        TASKS.build("task-step", size=0.7).runs(robot, RunPlan(start=np.array([-0.2, 0.0, 0.0])))


def test_a_task_step_of_a_tip_on_a_single_curve_is_refused(arm):
    with pytest.raises(PathError, match="'2r' moves along a single curve"):
        TASKS.build("task-step").runs(arm)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("joint-step", {"revolute": np.nan}),
        ("joint-step", {"seconds": 0.0}),
        ("task-step", {"size": 0.0}),
        ("task-step", {"size": np.inf}),
        ("task-step", {"seconds": -1.0}),
    ],
)
def test_steps_without_a_size_or_time_are_refused(name, options):
    with pytest.raises(OptionError, match="step"):
        TASKS.build(name, **options)
