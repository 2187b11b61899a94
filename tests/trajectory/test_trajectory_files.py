"""JSON form of a trajectory: every bit kept, everything unusable refused in one line.

Tables for robot controllers: from home to home, named columns, within the limits.
"""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.errors import FileFormatError, InfeasibleError, OptionError
from robotid_sim.excitation import FAMILIES
from robotid_sim.excitation.design import default_path
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.path_file import PathFile, read_waypoints
from robotid_sim.trajectory.fourier import SCHEMA_VERSION, FourierTrajectory
from robotid_sim.trajectory.homing import add_return
from robotid_sim.trajectory.trajectory_files import export_csv, load_trajectory, save_trajectory


def awkward_series(*, home):
    rng = np.random.default_rng(0)
    q0, a, b = rng.standard_normal(2), *rng.standard_normal((2, 2, 3))
    q0[0], a[0, 0] = 0.1 + 0.2, 5e-324  # neither survives rounding to few digits
    lead = (rng.standard_normal(2), 1.0 / 3.0) if home else (None, 0.0)
    return FourierTrajectory(("a", "b"), q0, a, b, 10.0 / 3.0, 2, *lead)


def written(folder, **changes):
    """Return a trajectory file with some keys changed, or removed where the value is `...`."""
    path = folder / "trajectory.json"
    awkward_series(home=True).save(path)
    content = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not ...}))
    return path


@pytest.mark.parametrize("home", [True, False])
def test_round_trip_keeps_every_bit(tmp_path, home):
    trajectory = awkward_series(home=home)
    trajectory.save(tmp_path / "trajectory.json")
    loaded = load_trajectory(tmp_path / "trajectory.json")
    for name in ("q0", "a", "b"):
        assert getattr(loaded, name).tobytes() == getattr(trajectory, name).tobytes()
    for name in ("joint_names", "base_period", "periods", "approach", "start", "duration"):
        assert getattr(loaded, name) == getattr(trajectory, name)
    if home:
        assert loaded.home.tobytes() == trajectory.home.tobytes()
    else:
        assert loaded.home is None


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (f"robotid/trajectory/{SCHEMA_VERSION + 1}", "newer than this robotid_sim"),
        ("robotid/log/1", "not a robotid trajectory file"),
        (..., "not a robotid trajectory file"),
    ],
)
def test_other_schemas_are_refused(tmp_path, schema, message):
    with pytest.raises(FileFormatError, match=message):
        load_trajectory(written(tmp_path, schema=schema))


@pytest.mark.parametrize("key", ["joint_names", "q0", "a", "b", "base_period", "family"])
def test_a_missing_key_is_refused_by_name(tmp_path, key):
    with pytest.raises(FileFormatError, match=key):
        load_trajectory(written(tmp_path, **{key: ...}))


@pytest.mark.parametrize(
    "change",
    [
        {"family": "spline"},
        {"extra": 1},
        {"a": None},
        {"a": [[1.0, 2.0, 3.0], [1.0]]},
        {"a": "text"},
        {"q0": [1.0]},
        {"q0": [float("nan"), 0.0]},
        {"base_period": "ten"},
        {"base_period": float("nan")},
        {"periods": -1},
        {"periods": 1.5},
        {"joint_names": 3},
        {"home": [0.0]},
    ],
)
def test_unusable_content_is_refused_in_one_line(tmp_path, change):
    with pytest.raises(FileFormatError) as caught:
        load_trajectory(written(tmp_path, **change))
    assert "\n" not in str(caught.value)


def test_a_robot_of_other_size_is_refused_whatever_its_joints_are_called(tmp_path):
    robot, path = Robot.from_urdf(urdf_path("2r")), tmp_path / "trajectory.json"
    trajectory = default_path(robot)
    save_trajectory(trajectory, path, robot)
    assert load_trajectory(path, robot).joint_names == robot.joint_names
    joints = [robot.joints[0], *(longer(joint) for joint in robot.joints[1:])]
    other = replace(robot, joints=tuple(joints))
    with pytest.raises(FileFormatError, match=r"another robot, .*: joint '.*' of '.*' is 0\.1 m"):
        load_trajectory(path, other)


BASES = {"quintic": "poses", "b-spline": "points", "fourier-quintic": "harmonics"}


def run_content(family, functions=2):
    """Return the content of a run of one joint from rest to rest."""
    size = 2 * functions + 1 if family == "fourier-quintic" else functions + 1
    return {
        "schema": f"robotid/trajectory/{SCHEMA_VERSION}",
        "family": family,
        "joint_names": ["a"],
        "basis": {"duration": 5.0, BASES[family]: functions},
        "coefficients": [[0.1]] * int(size),
        "periods": 1,
        "start": 0.0,
    }


@pytest.mark.parametrize("family", BASES)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"start": "x"}, "'start' of a trajectory is 'x'; give a finite number"),
        ({"start": [1]}, r"'start' of a trajectory is \[1\]; give a finite number"),
        ({"start": 100.0}, "'start' of a trajectory is 100 s; give at most zero"),
        ({"periods": True}, "'periods' of a trajectory is True; give a finite number"),
        ({"duration": True}, "'duration' of a trajectory is True; give a finite number"),
        ({"duration": 0.0}, "positive duration"),
        ({"duration": 5e-324}, "positive duration of at least 1e-09 s, got 5e-324 s"),
        ({"functions": 2.5}, "is 2.5; give a whole number above zero"),
        ({"functions": True}, "is True; give a whole number above zero"),
        ({"functions": 0}, "is 0; give a whole number above zero"),
    ],
)
def test_a_run_of_wrong_values_is_refused_by_key(tmp_path, family, changes, said):
    path, content = tmp_path / "t.json", run_content(family, changes.get("functions", 2))
    content["basis"]["duration"] = changes.get("duration", 5.0)
    path.write_text(json.dumps({**content, **{k: changes[k] for k in content.keys() & changes}}))
    with pytest.raises(FileFormatError, match=said) as caught:
        load_trajectory(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("family", BASES)
def test_a_run_of_usual_values_is_read(tmp_path, family):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(run_content(family)))
    assert load_trajectory(path).duration == 5.0


@pytest.mark.parametrize("depth", [2, 300])
def test_homed_motions_are_not_nested(tmp_path, depth):
    path, motion = tmp_path / "t.json", run_content("quintic")
    tag = motion.pop("schema")
    for _ in range(depth):
        motion = {"family": "homed", "home": [0.0], "approach": 1.0, "motion": motion}
    path.write_text(json.dumps({"schema": tag, **motion}))
    with pytest.raises(FileFormatError, match="'motion' is homed itself; give one that"):
        load_trajectory(path)


@pytest.mark.parametrize("name", ["approach", "back"])
def test_ways_from_home_and_back_take_numbers_of_seconds(tmp_path, name):
    path, motion = tmp_path / "t.json", run_content("quintic")
    content = {"schema": motion.pop("schema"), "family": "homed", "home": [0.0], "motion": motion}
    path.write_text(json.dumps({**content, "approach": [1.0], "back": [1.0], name: "x"}))
    with pytest.raises(FileFormatError, match=r"of a trajectory is .*; give a finite number"):
        load_trajectory(path)


def longer(joint):
    """Return a joint that is 0.1 m farther out on its link."""
    T = np.array(joint.T_parent_joint)
    T[0, 3] += 0.1
    return replace(joint, T_parent_joint=T)


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
    whole = add_return(irb140, trajectory)
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
    whole = add_return(irb140, trajectory)
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
