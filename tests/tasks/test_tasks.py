"""Shapes that the tip draws and steps: geometry, place, and what is said where they cannot be."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path, with_files
from sampling import sampled

from robotid_sim.errors import OptionError, PathError, RobotIdError
from robotid_sim.kinematics.following import phase_spline
from robotid_sim.kinematics.forward import tip_pose, tip_position
from robotid_sim.kinematics.inverse import singularity_index
from robotid_sim.kinematics.workspace import reach, tip_demand
from robotid_sim.model.robot import Robot
from robotid_sim.tasks import TASKS
from robotid_sim.tasks.path import Lap, fastest_lap, make_tracking_path
from robotid_sim.tasks.task import RunPlan, TaskRun

SIX = with_files("irb140", "irb120", "rs010n", "rocr6", "iiwa", "panda")
FEW = ("twolink", "ppp", "scara", "rp")
SHAPES = ("circle", "figure-eight", "line", "pick-and-place")

ON_PATH = 5e-5
"""Largest distance of the tip from the ideal shape between solved poses [m]."""

HELD = 1e-3
"""Largest error of entries of the held orientation between solved poses."""


def closed_form(shape, phase):
    """Return offsets over the size, shape (M, 2), written independently of the package."""
    match shape:
        case "circle":
            return np.stack([np.cos(phase), np.sin(phase)], axis=1)
        case "line":
            along = -1.0 + (1.0 - np.cos(phase))  # A + (B - A)(1 - cos phi) / 2
            return np.stack([along, along], axis=1) / np.sqrt(2.0)
        case "figure-eight":
            return np.stack([np.sin(phase), 0.5 * np.sin(2.0 * phase)], axis=1)
    time = 1.0 - np.abs(phase / np.pi - 1.0)

    def rise(begin, end):
        s = (time - begin) / (end - begin)
        return np.where(s < 0.0, 0.0, np.where(s > 1.0, 1.0, 10 * s**3 - 15 * s**4 + 6 * s**5))

    return np.stack([2.0 * rise(0.2, 0.8) - 1.0, rise(0.0, 0.4) - rise(0.6, 1.0) - 0.5], axis=1)


@pytest.fixture(scope="module")
def placed():
    """Robot and path of every shape, by names."""
    robots = {name: Robot.from_urdf(urdf_path(name)) for name in (*SIX, *FEW, "2r")}
    return {
        (name, shape): (robot, TASKS.build(shape).joint_path(robot))
        for name, robot in robots.items()
        for shape in SHAPES
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*SIX, *FEW])
def test_the_tip_draws_the_shape_and_keeps_to_the_limits(placed, name, shape):
    robot, path = placed[name, shape]
    assert path.task == shape
    assert path.largest_index < 100.0
    phase = np.linspace(0.0, 2.0 * np.pi, 10 * (len(path.points) - 1) + 1)
    q = phase_spline(path.points)(phase)
    assert (q >= robot.limits.lower).all()
    assert (q <= robot.limits.upper).all()
    tip = tip_position(robot, q)
    offsets = closed_form(shape, phase)
    # Center and the images of the two axes by least squares: of equal length and orthogonal.
    basis = np.column_stack([np.ones(len(phase)), offsets])
    solved, _, rank, _ = np.linalg.lstsq(basis, tip, rcond=1e-9)
    assert rank == (2 if shape == "line" else 3)
    assert np.linalg.norm(basis @ solved - tip, axis=1).max() <= ON_PATH
    sizes = [share * reach(robot) for share in (0.15, 0.10, 0.05)]
    if shape == "line":
        length = np.linalg.norm(tip[0] - tip[len(tip) // 2])
        assert np.isclose(length, np.multiply(2.0, sizes), atol=1e-6).any()
    else:
        first, second = solved[1:]
        assert np.isclose(np.linalg.norm(first), sizes, rtol=1e-4).any()
        assert np.linalg.norm(second) == pytest.approx(np.linalg.norm(first), rel=1e-4)
        assert abs(first @ second) < 1e-4 * (first @ first)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SIX)
def test_six_joints_or_more_hold_the_orientation(placed, name, shape):
    robot, path = placed[name, shape]
    phase = np.linspace(0.0, 2.0 * np.pi, 397)
    R = np.array([tip_pose(robot, q)[:3, :3] for q in phase_spline(path.points)(phase)])
    assert np.abs(R - R[0]).max() < HELD


@pytest.mark.parametrize("name", FEW)
def test_singularity_index_of_few_joints_is_that_of_the_position(placed, name):
    robot, path = placed[name, "circle"]
    demand = tip_demand(robot)
    assert demand.rows == 3
    assert demand.rank == min(robot.dof, 3)
    index = [singularity_index(robot, q, demand) for q in path.points]
    np.testing.assert_array_equal(path.singularity_index, index)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "flat"), [("twolink", 1), ("rp", 2)])
def test_a_planar_arm_draws_in_its_plane(placed, name, flat, shape):
    robot, path = placed[name, shape]
    tip = tip_position(robot, path.points)
    assert np.ptp(tip[:, flat]) < 1e-9


@pytest.mark.parametrize(
    ("shape", "joint_name"),
    [
        ("circle", "joint-ellipse"),
        ("line", "joint-line"),
        ("figure-eight", "joint-figure-eight"),
        ("pick-and-place", "joint-pick-and-place"),
    ],
)
def test_a_tip_without_a_plane_leaves_the_task_to_the_joints(placed, shape, joint_name):
    robot, path = placed["2r", shape]
    assert path.task == joint_name
    swing = (path.points - robot.limits.middle) / robot.limits.half_range
    phase = np.linspace(0.0, 2.0 * np.pi, len(path.points))
    if shape == "circle":
        wanted = np.cos(phase[:, None] + np.array([0.0, np.pi / 3.0]))
    else:
        wanted = closed_form(shape, phase) * (np.sqrt(2.0) if shape == "line" else 1.0)
    np.testing.assert_allclose(swing, 0.25 * wanted, atol=1e-12)  # rounding


def test_tracking_path_is_the_circle(irb140, placed):
    np.testing.assert_array_equal(
        make_tracking_path(irb140).points, placed["irb140", "circle"][1].points
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("plane", "axes"), [("xy", [0, 1]), ("yz", [1, 2]), ("xz", [0, 2])])
def test_center_plane_and_size_are_the_wanted_ones(irb140, shape, plane, axes):
    center = (0.45, 0.05, 0.6)
    task = TASKS.build(shape, center=center, plane=plane, size=0.05)
    path = task.joint_path(irb140)
    phase = np.linspace(0.0, 2.0 * np.pi, len(path.points))
    wanted = np.tile(center, (len(phase), 1))
    wanted[:, axes] += 0.05 * closed_form(shape, phase)
    np.testing.assert_allclose(tip_position(irb140, path.points), wanted, atol=1e-9)


def test_a_well_conditioned_orientation_is_preferred_at_a_given_center(irb140):
    # With the home orientation the wrist is nearly straight there: an index of 996.
    path = TASKS.build("circle", center=(0.45, 0.0, 0.7), plane="xz").joint_path(irb140)
    assert path.largest_index < 100.0


def test_out_of_reach_is_refused_with_the_first_bad_point(irb140):
    task = TASKS.build("figure-eight", center=(0.45, 0.0, 0.7), plane="xz", size=0.4)
    with pytest.raises(PathError) as caught:
        task.joint_path(irb140)
    text = str(caught.value)
    assert text.startswith("figure-eight of half width 0.400 m around (0.45, 0, 0.7): point ")
    assert text.endswith(
        "is out of reach of 'irb140'; choose a smaller half width or another center"
    )
    k = int(text.split(": point ")[1].split(" of 121")[0]) - 1
    x, y = closed_form("figure-eight", np.array([2.0 * np.pi * k / 120.0]))[0]
    point = f"({0.45 + 0.4 * x:.3g}, 0, {0.7 + 0.4 * y:.3g})"
    assert f"at {point} is out of reach" in text


def test_the_first_point_out_of_reach_of_two_links_is_the_geometric_one():
    robot = Robot.from_urdf(urdf_path("twolink"))  # links of 1 m, shoulder at (0, 0, 2.2)
    task = TASKS.build("circle", center=(1.5, 0.0, 2.2), plane="xz", size=0.52)
    with pytest.raises(PathError, match=r"point 1 of 121 at \(2.02, 0, 2.2\) is out of reach"):
        task.joint_path(robot)
    along = -0.8 * np.cos(np.linspace(0.0, 2.0 * np.pi, 121)) / np.sqrt(2.0)
    line = np.column_stack([1.5 + along, along])
    first = int((np.linalg.norm(line, axis=1) > 2.0).argmax())
    x, z = np.round(line[first] + (0.0, 2.2), 3)
    with pytest.raises(PathError) as caught:
        TASKS.build("line", center=(1.5, 0.0, 2.2), plane="xz", size=0.8).joint_path(robot)
    assert f"point {first + 1} of 121 at ({x:g}, 0, {z:g}) is out of reach" in str(caught.value)


def test_a_joint_limit_is_refused_with_joint_value_and_limit():
    robot = Robot.from_urdf(urdf_path("ppp"))  # y within 0.4 m of the middle
    task = TASKS.build("circle", center=(0.0, 0.2, 1.3), plane="xy", size=0.3)
    with pytest.raises(PathError) as caught:
        task.joint_path(robot)
    first = int((0.2 + 0.3 * np.sin(2.0 * np.pi * np.arange(121) / 120.0) > 0.4).argmax())
    y = 0.2 + 0.3 * np.sin(2.0 * np.pi * first / 120.0)
    x = 0.3 * np.cos(2.0 * np.pi * first / 120.0)
    wanted = f"point {first + 1} of 121 at ({x:.3g}, {y:.3g}, 1.3) needs y at {y:.4g} m, above its"
    assert f"{wanted} upper limit 0.4 m; choose a smaller radius" in str(caught.value)


def test_a_near_singular_path_is_refused_with_its_index():
    robot = Robot.from_urdf(urdf_path("twolink"))
    # Ends 2e-6 m from the stretched arm: the index grows as the inverse root of what is left.
    task = TASKS.build("circle", center=(1.7 - 2e-6, 0.0, 2.2), plane="xz", size=0.3)
    with pytest.raises(
        PathError, match=r"singularity index of \d+.*, above 1000 \(near-singular\)"
    ):
        task.joint_path(robot)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"size": 5.0}, "circle of radius 5 m of constant orientation"),
        ({"size": 5.0, "plane": "xz"}, "circle of radius 5 m in the plane xz of constant"),
    ],
)
def test_a_shape_that_fits_nowhere_is_refused_with_the_best_try(irb140, options, wanted):
    with pytest.raises(PathError, match=r"best: circle of radius 5\.000 m around") as caught:
        TASKS.build("circle", **options).joint_path(irb140)
    assert wanted in str(caught.value)


def test_a_tip_on_a_single_curve_refuses_a_wanted_size(arm):
    with pytest.raises(PathError, match=r"'2r' reaches no line of half length 0\.1 m: its tip"):
        TASKS.build("line", size=0.1).joint_path(arm)


def test_a_robot_without_room_lets_the_joints_swing(irb140):
    tight = tuple(replace(j, lower=-1e-3, upper=1e-3) for j in irb140.joints)
    path = TASKS.build("figure-eight").joint_path(replace(irb140, joints=tight))
    assert path.task == "joint-figure-eight"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plane": "yx"}, "unknown plane 'yx'; planes: xy, yz, xz"),
        ({"size": 0.0}, "size of the line is 0 m"),
        ({"size": -1.0}, "size of the line is -1 m"),
        ({"size": np.nan}, "size of the line is not finite"),
        ({"size": "big"}, "size of the line is not an array of numbers"),
        ({"center": (1.0, 2.0)}, "center of the line has shape"),
        ({"center": (1.0, 2.0, np.inf)}, "center of the line is not finite"),
        ({"radius": 1.0}, "task 'line' has no option 'radius'; options: center, plane, size"),
    ],
)
def test_options_without_a_meaning_are_refused(options, message):
    with pytest.raises(RobotIdError, match=message):
        TASKS.build("line", **options)


def test_all_tasks_are_registered():
    shapes_and_others = {*SHAPES, "csv", "joint-step", "task-step"}
    assert set(TASKS) == shapes_and_others
    for entry in TASKS.describe():
        assert entry["summary"]


@pytest.mark.parametrize("slow_lap", [None, 20.0])
def test_a_path_runs_fast_and_slow(placed, slow_lap):
    robot, path = placed["irb140", "figure-eight"]
    runs = TASKS.build("figure-eight").runs(robot, RunPlan(slow_lap=slow_lap, share=0.5))
    names = ["figure-eight-fast", "figure-eight-slow"][: len(runs)]
    assert [run.name for run in runs] == names
    assert len(runs) == (1 if slow_lap is None else 2)
    assert all((run.is_step, run.offset) == (False, None) for run in runs)
    fast = fastest_lap(robot, path, 0.5, RunPlan().longest)
    assert runs[0].trajectory.duration == fast.duration < 20.0
    assert runs[-1].trajectory.duration == (slow_lap or fast.duration)
    for run in runs:
        assert isinstance(run.trajectory, Lap)
        np.testing.assert_array_equal(run.path.points, path.points)


def test_a_slow_lap_is_no_faster_than_the_fast_one(placed):
    robot, _ = placed["irb140", "circle"]
    fast, slow = TASKS.build("circle").runs(robot, RunPlan(slow_lap=3.0, share=0.2))
    assert slow.trajectory.duration == fast.trajectory.duration > 3.0


@pytest.mark.parametrize("share", [0.0, -1.0, 1.1, np.nan])
def test_a_share_of_the_limits_is_one(share):
    with pytest.raises(OptionError, match="share of the limits"):
        RunPlan(share=share)


def test_an_offset_has_one_entry_a_joint(placed):
    lap = Lap(placed["irb140", "circle"][1], 10.0)
    with pytest.raises(RobotIdError, match=r"offset has shape \(2,\), expected \(6,\)"):
        TaskRun("step", lap, offset=np.zeros(2))


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
    np.testing.assert_array_equal(reference.q, np.tile(make_tracking_path(robot).points[0], (3, 1)))
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
    with pytest.raises(PathError, match=r"task step by ± \(2, 0, 0\) m.* out of reach of 'irb140'"):
        TASKS.build("task-step", size=2.0).runs(irb140)


def test_a_task_step_beyond_the_limits_either_way_is_refused():
    robot = Robot.from_urdf(urdf_path("ppp"))
    with pytest.raises(PathError, match=r"task step by ± \(0, 0.7, 0\) m.* needs y at -0.7"):
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
