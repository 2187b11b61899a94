"""Motions for controllers: their files parse back to the motion within the stated error."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from robots import urdf_path
from rosbags.typesys import Stores, get_typestore

from robotid_sim.cli.help import load_command
from robotid_sim.deployment.motion_files import motion_text, read_motion, sample_set_points
from robotid_sim.deployment.target import find_target, list_targets
from robotid_sim.errors import FileFormatError, InfeasibleError, OptionError, UnknownNameError
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.deploy import SPEEDS, deploy
from robotid_sim.trajectory.homing import add_ways
from robotid_sim.trajectory.reference import PointToPoint

ANY_PLACE = load_config(None, {"design": {"constraints": {"contact": True}}})

ROBOTS = ("irb140", "ur10", "panda")

STATEMENTS = {
    "ur": (
        r"# .*|def robotid_\d+\(\):|thread watch\(\):|while .*:|if .*:|end|halt|sync\(\)|"
        r"(actual|target) = get_(actual|target)_joint_positions\(\)|k = .*|textmsg\(.*\)|"
        r"movej\(\[.*\], a=0.5, v=0.2\)|sleep\(2.0\)|run watch\(\)|stopj\(1.0\)|robotid_\d+\(\)|"
        r"servoj\(\[(-?\d\.\d{7}(, )?){6}\], t=\d\.\d{6}, lookahead_time=0.05, gain=500\)"
    ),
    "kuka-krl": (
        r"&ACCESS RVP|DEF motion_\d+\(\)|;.*|BAS\(#\w+, \d+\)|WAIT SEC 2.0|(PTP_|END)SPLINE|END|"
        r"TIME_BLOCK (START|(PART|END) = \d+\.\d{6})|S?PTP \{(A\d -?\d+\.\d{5}(, )?){6}\}"
    ),
    "abb": (
        r"#.*|t,.*|\d+\.\d{9}(,-?\d+\.\d{5}){6}|MODULE robotid_egm|!.*|VAR egm\w+ \w+;|"
        r"CONST jointtarget jStart := \[\[(-?\d+\.\d{5}(, )?){6}\], \[(9E9(, )?){6}\]\];|"
        r"CONST egm_minmax limJ\d := \[-0.05, 0.05\];|PROC main\(\)|WaitTime 2;|ENDPROC|ENDMODULE|"
        r"MoveAbsJ jStart, v100, fine, tool0;|EGM(Reset|GetId) egmID1;|"
        r'EGMSetupUC ROB_1, egmID1, "default", "EGM_PC" \\Joint \\CommTimeout:=1;|'
        r"EGMActJoint egmID1 (\\J\d:=limJ\d ){6}\\LpFilter:=100 \\SampleRate:=4 "
        r"\\MaxSpeedDeviation:=[\d.]+;|EGMRunJoint egmID1, EGM_STOP_HOLD (\\J\d ){6}"
        r"\\CondTime:=[\d.]+ \\RampInTime:=0.05;"
    ),
}
"""Statements of a language that a file may have."""


def load(name):
    return Robot.from_urdf(urdf_path(name), tip="panda_link8" if name == "panda" else None)


def motion_of(robot):
    """A motion with half of the speed that the robot may have."""
    reach = 0.2 * robot.limits.half_range
    ends = robot.home, np.clip(robot.home + reach, robot.limits.lower, robot.limits.upper)
    time = 2.0 * float((15.0 / 8.0 * reach / robot.limits.velocity).max())
    return PointToPoint(robot.joint_names, *ends, 0.0, max(2.0, time))


def fitting(robot):
    return [name for name, form in list_targets().items() if robot.dof in (form.dof or [robot.dof])]


@pytest.mark.parametrize("name", ROBOTS)
def test_files_parse_back_to_the_motion(name) -> None:
    robot = load(name)
    motion = motion_of(robot)
    assert len(fitting(robot)) >= 4
    for target in fitting(robot):
        package = deploy(robot, motion, target, ANY_PLACE, rehearse=False)
        whole, form = add_ways(robot, motion), find_target(target)
        assert list(package.played) == list(SPEEDS)
        for speed, played in package.played.items():
            t = np.linspace(0.0, whole.duration - whole.start, 3001)
            designed = whole(whole.start + t)
            again = played(t / speed)
            bound = package.error + 1e-6
            assert (np.abs(again.q - designed.q) <= bound).all(), (target, speed)
            # A slower file is no other motion: velocities scale with its speed.
            assert np.allclose(again.dq / speed, designed.dq, atol=0.05), (target, speed)
            ends = played(np.array([0.0, played.duration]))
            assert np.abs(ends.q - robot.home).max() < 2e-7 + 1e-5 * (form.unit == "deg")
        assert package.error.max() < 1e-3
        for shares in package.use.values():
            assert shares.max() < 1.0


@pytest.mark.parametrize("target", STATEMENTS)
def test_every_line_is_a_statement_of_the_language(target) -> None:
    robot = load("irb140")
    package = deploy(robot, motion_of(robot), target, rehearse=False)
    for text in package.files.values():
        for line in filter(None, map(str.strip, text.splitlines())):
            assert re.fullmatch(STATEMENTS[target], line), line


def test_blocks_of_a_spline_last_as_long_as_the_motion() -> None:
    robot = load("irb140")
    package = deploy(robot, motion_of(robot), "kuka-krl", rehearse=False)
    for name, duration in package.durations().items():
        parts = re.findall(r"TIME_BLOCK PART = (\S+)", package.files[name])
        (end,) = re.findall(r"TIME_BLOCK END = (\S+)", package.files[name])
        assert sum(map(float, parts)) == pytest.approx(duration, abs=1e-3)
        assert float(end) == pytest.approx(duration, abs=1e-3)


def test_goals_of_ros_are_json_with_the_fields_of_the_message() -> None:
    robot = load("panda")
    package = deploy(robot, motion_of(robot), "ros2", rehearse=False)
    trajectory = json.loads(package.files["motion_100.json"])["trajectory"]
    assert trajectory["joint_names"] == list(robot.joint_names)
    stamps = [point["time_from_start"] for point in trajectory["points"]]
    times = [stamp["sec"] + 1e-9 * stamp["nanosec"] for stamp in stamps]
    assert np.allclose(np.diff(times), 0.05)
    assert all(len(p["accelerations"]) == robot.dof for p in trajectory["points"])


def test_goals_of_ros_are_messages() -> None:
    store = get_typestore(Stores.ROS2_HUMBLE)
    robot = load("irb140")
    package = deploy(robot, motion_of(robot), "ros2", rehearse=False)
    trajectory = json.loads(package.files["motion_100.json"])["trajectory"]
    kind, point, header, stamp, duration = (
        store.types[name]
        for name in (
            "trajectory_msgs/msg/JointTrajectory",
            "trajectory_msgs/msg/JointTrajectoryPoint",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
            "builtin_interfaces/msg/Duration",
        )
    )
    points = []
    for values in trajectory["points"]:
        arrays = {k: np.array(v) for k, v in values.items() if k != "time_from_start"}
        time = duration(**values["time_from_start"])
        points.append(point(**arrays, effort=np.zeros(0), time_from_start=time))
    first = header(stamp=stamp(sec=0, nanosec=0), frame_id="")
    message = kind(header=first, joint_names=trajectory["joint_names"], points=points)
    again = store.deserialize_cdr(store.serialize_cdr(message, kind.__msgtype__), kind.__msgtype__)
    positions = np.array([each.positions for each in again.points])
    assert np.allclose(positions, package.played[1.0].q, atol=1e-7)


def test_the_configuration_of_rsi_is_xml_with_a_correction_for_every_axis() -> None:
    robot = replace(load("irb140"), name="arm--2")  # which no comment of XML may hold
    text = deploy(robot, motion_of(robot), "kuka-rsi", rehearse=False).files["robotid_rsi.xml"]
    tags = [element.get("TAG") for element in ElementTree.fromstring(text).iter("ELEMENT")]
    assert tags[-6:] == [f"AK.A{k}" for k in range(1, 7)]
    assert {"DEF_AIPos", "DEF_MACur"} < set(tags)


def test_a_motion_whose_rate_breaks_a_limit_is_refused() -> None:
    robot = load("irb140")
    fast = PointToPoint(robot.joint_names, robot.home, robot.home + 0.5, 0.0, 0.2)
    with pytest.raises(InfeasibleError, match=r"joint 'joint_\d' uses \d+% of its velocity limit"):
        deploy(robot, fast, "csv", rehearse=False)
    with pytest.raises(InfeasibleError, match=r"off the motion.*higher --rate"):
        deploy(robot, motion_of(robot), "csv", rate=2.0, rehearse=False)


def test_the_help_names_every_target() -> None:
    (text,) = [p.help for p in load_command("deploy").params if p.name == "to"]
    assert text == f"Controller: {', '.join(list_targets())}."


def test_targets_refuse_other_robots_and_rates() -> None:
    robot = load("irb140")
    motion = motion_of(robot)
    with pytest.raises(OptionError, match=r"Franka .* has 7 joints, 'irb140' has 6"):
        deploy(robot, motion, "franka", rehearse=False)
    with pytest.raises(UnknownNameError, match="did you mean 'fanuc'"):
        deploy(robot, motion, "fanuk", rehearse=False)
    for rate in (0.5, 1e4, float("nan")):
        with pytest.raises(OptionError, match="set points a second"):
            deploy(robot, motion, "csv", rate=rate, rehearse=False)


def test_a_file_with_a_row_too_short_is_refused() -> None:
    robot, target = load("twolink"), find_target("csv")
    dt, points = sample_set_points(target, motion_of(robot), 1.0)
    context = {"title": "", "warning": "", "unit": "rad", "columns": robot.joint_names}
    text = motion_text(target, robot, points, dt, context)
    assert read_motion(target, robot, text, dt).q.shape == points.q.shape
    lines = text.splitlines()
    lines[10] = lines[10].rpartition(",")[0]
    with pytest.raises(FileFormatError, match=r"set point \d+ has 1 values"):
        read_motion(target, robot, "\n".join(lines), dt)
    with pytest.raises(FileFormatError, match="0 set points"):
        read_motion(target, robot, "", dt)
