"""Paths from CSV files: followed as they are written, or refused by row and column."""

import numpy as np
import pytest
from robots import urdf_path
from scipy.spatial.transform import Rotation

from robotid_sim.errors import FileFormatError, OptionError, PathError
from robotid_sim.kinematics.following import phase_spline
from robotid_sim.kinematics.forward import tip_pose, tip_position
from robotid_sim.model.robot import Robot
from robotid_sim.tasks import TASKS
from robotid_sim.tasks.path_file import read_waypoints
from robotid_sim.tasks.task import RunPlan
from robotid_sim.validation.comparison import Comparison, loop_gains

ON_PATH = 5e-5
"""Largest distance of the tip from the rows [m]."""

S = np.linspace(0.0, 1.0, 12)
POSITIONS = np.column_stack([0.45 + 0.1 * S, 0.1 * np.sin(3.0 * S), 0.6 + 0.1 * S**2])
JOINTS = np.array([0.0, 0.1, -0.2, 0.0, 0.8, 0.0]) + np.outer(S, [0.3, -0.2, 0.1, 0.4, 0.2, -0.5])


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a path file."""

    def write(header, rows, *, name="weld.csv"):
        path = tmp_path / name
        lines = [",".join(repr(float(value)) for value in row) for row in rows]
        path.write_text("\n".join([header, *lines]) + "\n")
        return str(path)

    return write


def nearest(robot, path, points):
    """Return the distance from each point to the tip's path, at 20 samples a solved pose [m]."""
    phase = np.linspace(0.0, 2.0 * np.pi, 20 * (len(path.points) - 1) + 1)
    tip = tip_position(robot, phase_spline(path.points)(phase))
    steps = np.diff(tip, axis=0)
    distances = []
    for point in points:  # to the chords between samples
        away = point - tip[:-1]
        along = np.clip((away * steps).sum(axis=1) / (steps**2).sum(axis=1), 0.0, 1.0)
        distances.append(np.linalg.norm(away - along[:, None] * steps, axis=1).min())
    return np.array(distances)


@pytest.mark.parametrize("name", ["irb140", "iiwa"])
def test_the_tip_passes_all_positions_with_its_orientation_held(written, name):
    robot = Robot.from_urdf(urdf_path(name))
    path = TASKS.build("csv", path=written("x,y,z", POSITIONS)).joint_path(robot)
    assert path.task == "csv-weld"
    assert path.largest_index < 1000.0
    assert nearest(robot, path, POSITIONS).max() < ON_PATH
    poses = np.array([tip_pose(robot, q) for q in path.points[[0, 50, -1]]])
    np.testing.assert_allclose(poses[[0, -1], :3, 3], POSITIONS[[0, -1]], atol=1e-9)
    np.testing.assert_allclose(poses[:, :3, :3], poses[[0, 0, 0], :3, :3], atol=1e-9)


def test_the_length_along_the_path_is_even_whatever_the_rows(written, irb140):
    uneven = S**2
    line = np.array([0.4, -0.1, 0.6]) + np.outer(uneven, [0.1, 0.2, 0.05])
    path = TASKS.build("csv", path=written("x,y,z", line)).joint_path(irb140)
    steps = np.linalg.norm(np.diff(tip_position(irb140, path.points), axis=0), axis=1)
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-6)


def test_an_open_path_runs_from_rest_to_rest(written, irb140):
    task = TASKS.build("csv", path=written("x,y,z", POSITIONS))
    runs = task.runs(irb140, RunPlan(slow_lap=12.0))
    assert [run.name for run in runs] == ["csv-weld-fast", "csv-weld-slow"]
    for run in runs:
        ends = run.trajectory(np.array([0.0, run.trajectory.duration]))
        np.testing.assert_allclose(tip_position(irb140, ends.q), POSITIONS[[0, -1]], atol=1e-9)
        assert not ends.dq.any()
        np.testing.assert_allclose(ends.ddq, 0.0, atol=1e-9)
        assert not run.is_step
    assert runs[1].trajectory.duration == 12.0


@pytest.mark.parametrize("flip", [1.0, -1.0])
def test_poses_are_followed_whatever_the_signs_of_quaternions(written, irb140, flip):
    wanted = [tip_pose(irb140, q) for q in JOINTS]
    rows = [
        np.concatenate([T[:3, 3], flip**k * Rotation.from_matrix(T[:3, :3]).as_quat()])
        for k, T in enumerate(wanted)
    ]
    task = TASKS.build("csv", path=written("t,x,y,z,qx,qy,qz,qw", np.column_stack([4.0 * S, rows])))
    (run,) = task.runs(irb140)
    for q, T in zip(run.trajectory(4.0 * S).q, wanted, strict=True):
        reached = tip_pose(irb140, q)
        np.testing.assert_allclose(reached[:3, 3], T[:3, 3], atol=ON_PATH)
        np.testing.assert_allclose(reached[:3, :3], T[:3, :3], atol=1e-3)


def test_joints_are_passed_in_any_order_of_columns(written, irb140):
    names = irb140.joint_names
    order = [3, 0, 5, 1, 2, 4]
    straight = TASKS.build("csv", path=written(",".join(names), JOINTS)).joint_path(irb140)
    header = ", ".join(names[k] for k in order)
    shuffled = TASKS.build("csv", path=written(header, JOINTS[:, order])).joint_path(irb140)
    np.testing.assert_array_equal(straight.points, shuffled.points)
    # Rows on a straight line in joint space: the path is that line at even steps.
    wanted = JOINTS[0] + np.outer(np.linspace(0.0, 1.0, 121), JOINTS[-1] - JOINTS[0])
    np.testing.assert_allclose(straight.points, wanted, atol=1e-12)  # rounding


def test_times_are_the_files_own(written, irb140):
    t = 3.0 + 4.0 * S  # need not begin at zero
    header = ",".join(("t", *irb140.joint_names))
    smooth = JOINTS[0] + np.outer(S**3 * (10 - 15 * S + 6 * S**2), JOINTS[-1] - JOINTS[0])
    (run,) = TASKS.build("csv", path=written(header, np.column_stack([t, smooth]))).runs(irb140)
    trajectory = run.trajectory
    assert (run.name, trajectory.start, trajectory.duration) == ("csv-weld", 0.0, 4.0)
    assert trajectory.period is None
    assert trajectory.joint_names == irb140.joint_names
    np.testing.assert_allclose(trajectory(4.0 * S).q, smooth, atol=1e-6)
    outside = trajectory(np.array([-1.0, 0.0, 4.0, 9.0]))
    np.testing.assert_allclose(outside.q, smooth[[0, 0, -1, -1]], atol=1e-12)
    assert not outside.dq.any()
    assert not outside.ddq.any()
    h = 1e-4  # [s]
    inside = np.linspace(0.2, 3.8, 50)
    before, here, after = (trajectory(inside + shift) for shift in (-h, 0.0, h))
    np.testing.assert_allclose((after.q - before.q) / (2 * h), here.dq, atol=1e-6)
    np.testing.assert_allclose((after.dq - before.dq) / (2 * h), here.ddq, atol=1e-5)


def test_a_timed_tip_keeps_to_its_rows_and_may_rest_at_one(written, irb140):
    rows = POSITIONS[[0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11]]
    t = np.linspace(0.0, 6.0, len(rows))
    task = TASKS.build("csv", path=written("t,x,y,z", np.column_stack([t, rows])))
    (run,) = task.runs(irb140)
    np.testing.assert_allclose(tip_position(irb140, run.trajectory(t).q), rows, atol=ON_PATH)


def test_names_of_joints_come_before_those_of_positions(written):
    robot = Robot.from_urdf(urdf_path("ppp"))  # its joints are x, y and z
    rows = np.column_stack([0.3 * S, 0.2 * S, -0.1 * S])
    path = TASKS.build("csv", path=written("x,y,z", rows)).joint_path(robot)
    np.testing.assert_allclose(path.points[[0, -1]], rows[[0, -1]], atol=1e-12)
    assert path.largest_index == pytest.approx(1.0)


def test_few_joints_follow_positions(written):
    robot = Robot.from_urdf(urdf_path("scara"))
    rows = np.column_stack([0.3 + 0.1 * S, 0.2 * S**2, 0.2 - 0.05 * S])
    path = TASKS.build("csv", path=written("x,y,z", rows)).joint_path(robot)
    assert path.largest_index < 100.0
    assert nearest(robot, path, rows).max() < ON_PATH


def test_comments_blank_lines_and_a_byte_order_mark_are_left_out(tmp_path):
    path = tmp_path / "path.csv"
    rows = "\n".join(f"{k},{k + 1}, {k + 2}" for k in range(4))
    path.write_text(f"\ufeff# a comment\nx, y ,z\n\n{rows}\n", encoding="utf-8")
    waypoints = read_waypoints(path, ("a",))
    assert waypoints.columns == "position"
    assert waypoints.t is None
    np.testing.assert_array_equal(waypoints.values, np.add.outer(np.arange(4), np.arange(3)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no header line; name the columns in it: the joints \\(a, b\\), or x,y,z"),
        ("1,2\n3,4\n5,6\n7,8\n9,10", "no header line"),
        (
            "x,y,z\n1,2,3\n1,2,4\n1,2,5",
            "3 row\\(s\\) below the header line; add points to at least 4",
        ),
        ("x,y\n" + "1,2\n" * 4, "column 'z' is missing"),
        ("t\n1\n2\n3\n4", "mixed columns t; give"),
        ("a\n1\n2\n3\n4", "column 'b' is missing"),
        ("x,y,z,qx,qy,qw\n" + "0,0,0,0,0,1\n" * 4, "column 'qz' is missing"),
        ("x,y,z,x\n" + "1,2,3,4\n" * 4, "column 'x' is a duplicate"),
        ("a,b,c\n" + "1,2,3\n" * 4, "unknown column 'c'; columns are the joints \\(a, b\\)"),
        ("a,b,x\n" + "1,2,3\n" * 4, "mixed columns a,b,x; give"),
        ("a,b\n1,2\n3\n4,5\n6,7", "row 2: 1 values for 2 columns"),
        ("a,b\n1,2\n3,4\n5,six\n7,8", "row 3, column 'b': 'six' is not a finite number"),
        ("a,b\n1,2\n3,4\n5,6\nnan,8", "row 4, column 'a': 'nan' is not a finite number"),
        ("a,b\n1,2\n3,4\n,6\n7,8", "row 3, column 'a': '' is not a finite number"),
        ("t,a,b\n0,1,2\n1,3,4\n1,5,6\n2,7,8", "row 3, column 't': 1 s is not after 1 s"),
        ("t,a,b\n0,1,2\n1,3,4\n1e9,5,6\n2e9,7,8", "row 3, column 't': 1e\\+09 s after .*"),
        ("t,a,b\n0,1,2\n1000,3,4\n2000,5,6\n3000,7,8", "row 2, .* give t in seconds, with steps"),
        ("t,a,b\n-1e308,1,2\n1e308,3,4\n1.1e308,5,6\n1.2e308,7,8", "row 2, .* inf s after"),
        ("t,a,b\n0,1,2\n1e-322,3,4\n1,5,6\n2,7,8", "row 2, .* steps of 1e-06 s to 100 s"),
        ("a,b\n1,2\n3,1e308\n5,6\n7,8", "row 2, column 'b': 1e308 exceeds 1e\\+09; correct it"),
        ('a,b\n1,2\n3,"' + 140_000 * "1" + ",4\n5,6\n7,8", "row 2: not valid CSV: field"),
        (
            "x,y,z,qx,qy,qz,qw\n" + "0,0,0,0,0,0,1\n" * 3 + "0,0,1,0,0,0,2\n",
            "row 4, columns 'qx' to 'qw': quaternion norm 2",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused_by_place(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_waypoints(path, ("a", "b"))
    assert "bad.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path, irb140):
    with pytest.raises(FileFormatError, match=r"cannot read path file .*No such file"):
        TASKS.build("csv", path=str(tmp_path / "absent.csv")).runs(irb140)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="not UTF-8 text"):
        read_waypoints(tmp_path / "binary.csv", ("a",))


def test_a_repeated_row_without_times_is_refused(written, irb140):
    rows = POSITIONS[[0, 1, 2, 2, 3, 4]]
    with pytest.raises(FileFormatError, match=r"weld\.csv, row 4: repeats the previous row"):
        TASKS.build("csv", path=written("x,y,z", rows)).joint_path(irb140)


def test_positions_out_of_reach_are_refused_by_row(written, irb140):
    rows = POSITIONS + np.outer(S > 0.5, [1.0, 0.0, 0.0])
    with pytest.raises(PathError, match=r"weld.csv, between rows \d+ and 7: point .* out of reach"):
        TASKS.build("csv", path=written("x,y,z", rows)).joint_path(irb140)


def test_joints_beyond_their_limits_are_refused_by_row(written, irb140):
    rows = JOINTS.copy()
    rows[4, 2] = 3.0
    path = written(",".join(irb140.joint_names), rows)
    with pytest.raises(PathError, match="row 5: needs joint_3 at 3 rad, above its upper limit"):
        TASKS.build("csv", path=path).joint_path(irb140)


def test_a_spline_beyond_the_limits_between_rows_is_refused(written, irb140):
    rows = np.tile(JOINTS[0], (6, 1))
    rows[:, 0] = [0.0, 1.5, 3.1, 3.1, 1.5, 0.0]  # the limit is pi
    rows[3:, 1] += 1.0
    path = written(",".join(irb140.joint_names), rows)
    with pytest.raises(PathError, match=r"between rows \d and \d: point .* needs joint_1 at 3\.1"):
        TASKS.build("csv", path=path).joint_path(irb140)


def test_times_too_short_for_the_velocity_limits_are_refused(written, irb140):
    quick = written("t,x,y,z", np.column_stack([0.1 * S, POSITIONS]))
    with pytest.raises(PathError, match=r"exceeds its velocity limit .* stretch column 't' by"):
        TASKS.build("csv", path=quick).runs(irb140)


def test_a_near_singular_path_is_refused(written):
    robot = Robot.from_urdf(urdf_path("twolink"))
    x = 1.6 + (0.4 - 1e-7) * np.sin(0.5 * np.pi * S)  # stretched out at 2 m
    rows = np.column_stack([x, 0.0 * S, 2.2 + 0.0 * S])
    with pytest.raises(PathError, match=r"weld.csv, .*singularity index of .* \(near-singular\)"):
        TASKS.build("csv", path=written("x,y,z", rows)).joint_path(robot)


@pytest.mark.parametrize(
    ("step", "count", "words"),
    [
        (100.0, 110, r"runs for 1.09e\+04 s, .*column 't' is in seconds"),
        (1e-6, 4, "takes 3e-06 s, less than a sample at 1000 Hz; give a longer time"),
    ],
)
def test_a_task_of_too_many_samples_or_none_is_refused(written, step, count, words):
    robot = Robot.from_urdf(urdf_path("2r"))
    rows = np.column_stack([step * np.arange(count), np.zeros((count, 2))])
    task = TASKS.build("csv", path=written(",".join(("t", *robot.joint_names)), rows))
    with pytest.raises(OptionError, match=f"task csv-weld {words}"):
        loop_gains(robot, task.runs(robot), Comparison(), 1000.0)


def test_orientations_are_not_asked_of_few_joints(written):
    robot = Robot.from_urdf(urdf_path("scara"))
    rows = np.column_stack([POSITIONS, np.tile([0.0, 0.0, 0.0, 1.0], (12, 1))])
    with pytest.raises(PathError, match="the 4 joints of 'scara' cannot turn its tip"):
        TASKS.build("csv", path=written("x,y,z,qx,qy,qz,qw", rows)).joint_path(robot)
