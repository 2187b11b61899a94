"""Tables for robot controllers: from home to home, named columns, within the limits."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.errors import FileFormatError, InfeasibleError, OptionError
from robotid_sim.excitation import FAMILIES
from robotid_sim.tasks.path_file import PathFile, read_waypoints
from robotid_sim.trajectory.homing import returned
from robotid_sim.trajectory.trajectory_files import export_csv

RATE = 125.0  # [1/s]


@pytest.fixture(scope="module", params=FAMILIES)
def trajectory(request, irb140):
    space = FAMILIES.build(request.param, period=5.0, periods=1).space(irb140)
    return space.trajectory(space.random(np.random.default_rng(0)))


def table(path):
    lines = path.read_text().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    return comments, header, np.array(rows, dtype=float)


def test_table_runs_from_home_to_home_at_rest(irb140, trajectory, tmp_path):
    export_csv(trajectory, tmp_path / "robot.csv", RATE, irb140)
    _, header, rows = table(tmp_path / "robot.csv")
    names = list(irb140.joint_names)
    assert header == ["t", *(f"{part}.{j}" for part in ("q", "dq", "ddq") for j in names)]
    np.testing.assert_array_equal(rows[:, 0], np.arange(len(rows)) / RATE)
    for end in (rows[0], rows[-1]):
        np.testing.assert_array_equal(end[1:7], irb140.home)
        np.testing.assert_array_equal(end[7:], 0.0)


def test_table_is_the_trajectory_with_its_way_back(irb140, trajectory, tmp_path):
    export_csv(trajectory, tmp_path / "robot.csv", RATE, irb140)
    comments, _, rows = table(tmp_path / "robot.csv")
    whole = returned(irb140, trajectory)
    reference = whole(whole.start + rows[:, 0])
    expected = np.hstack([reference.q, reference.dq, reference.ddq])
    np.testing.assert_array_equal(rows[:, 1:], expected)  # all bits
    assert rows[-1, 0] >= whole.duration - whole.start - 1e-9
    assert f"motion from t = {-trajectory.start:g} s to" in comments[0]
    assert comments[1] == "# joint_units: rad rad rad rad rad rad"


def test_positions_alone_are_a_path_file(irb140, tmp_path):
    space = FAMILIES.build("quintic", period=5.0, periods=1, poses=2, margin=0.5).space(irb140)
    trajectory = space.trajectory(space.random(np.random.default_rng(0)))
    export_csv(trajectory, tmp_path / "path.csv", 20.0, irb140, quantities=("q",))
    rows = read_waypoints(tmp_path / "path.csv", irb140.joint_names)
    whole = returned(irb140, trajectory)
    np.testing.assert_array_equal(rows.values, whole(whole.start + rows.t).q)
    run = PathFile(path=str(tmp_path / "path.csv")).runs(irb140)[0].trajectory
    t = np.linspace(0.0, run.duration, 500)
    # A quintic spline through samples 0.05 s apart, of jerks that jump by some 10 rad/s^3.
    np.testing.assert_allclose(run(t).q, whole(whole.start + t).q, atol=1e-3)


def test_a_motion_without_approach_gets_one(irb140, tmp_path):
    space = FAMILIES.build("b-spline", periods=1).space(irb140)
    run = space.trajectory(space.random(np.random.default_rng(0))).motion
    export_csv(run, tmp_path / "robot.csv", RATE, irb140)
    _, _, rows = table(tmp_path / "robot.csv")
    np.testing.assert_array_equal(rows[0, 1:7], irb140.home)


def test_a_faster_motion_than_the_robot_can_do_is_refused(irb140, iiwa, tmp_path):
    space = FAMILIES.build("b-spline", periods=1).space(irb140)
    trajectory = space.trajectory(space.random(np.random.default_rng(0)))
    joints = (replace(irb140.joints[0], velocity=0.1), *irb140.joints[1:])
    with pytest.raises(InfeasibleError, match=r"'joint_1' uses .* of its velocity limit at t"):
        export_csv(trajectory, tmp_path / "robot.csv", RATE, replace(irb140, joints=joints))
    with pytest.raises(OptionError, match="give the robot it was made for"):
        export_csv(trajectory, tmp_path / "robot.csv", RATE, iiwa)
    assert not list(tmp_path.iterdir())


def test_rates_quantities_and_folders_are_checked(irb140, tmp_path):
    space = FAMILIES.build("quintic", periods=1).space(irb140)
    trajectory = space.trajectory(space.random(np.random.default_rng(0)))
    for rate in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(OptionError, match="rate must be positive"):
            export_csv(trajectory, tmp_path / "robot.csv", rate, irb140)
    for quantities in ((), ("tau",)):
        with pytest.raises(OptionError, match="quantities are some of q, dq, ddq"):
            export_csv(trajectory, tmp_path / "x.csv", RATE, irb140, quantities=quantities)
    with pytest.raises(FileFormatError, match="cannot write"):
        export_csv(trajectory, tmp_path / "nowhere" / "robot.csv", RATE, irb140)
