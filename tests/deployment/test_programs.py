"""Programs of packages, run against stubs of the interfaces that they use."""

import ast
import csv
import json
import re
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.deploy import TOLERANCE, deploy
from robotid_sim.trajectory.reference import PointToPoint

DEGREE = np.pi / 180.0


def package_of(target, name="irb140"):
    robot = Robot.from_urdf(urdf_path(name), tip="panda_link8" if name == "panda" else None)
    reach = 0.3 * robot.limits.half_range
    goal = np.clip(robot.home + reach, robot.limits.lower, robot.limits.upper)
    motion = PointToPoint(robot.joint_names, robot.home, goal, 0.0, 4.0)
    return deploy(robot, motion, target, rehearse=False)


def program(package, name, folder):
    """Run a program as a module, and return its names; the files of the package are beside it."""
    for file, text in package.files.items():
        (folder / file).write_text(text)
    names = {"__name__": "program"}
    exec(compile(package.files[name], name, "exec"), names)
    return SimpleNamespace(**names)


@pytest.mark.parametrize("target", ["ros2", "lerobot", "kuka-rsi"])
def test_a_name_is_no_code(target) -> None:
    robot = Robot.from_urdf(urdf_path("irb140"))
    name = 'arm""" + exit(3) + """'
    hostile = replace(robot, name=name, joints=robot.joints)
    motion = PointToPoint(robot.joint_names, robot.home, robot.home + 0.1, 0.0, 2.0)
    files = deploy(hostile, motion, target, rehearse=False).files
    (text,) = [text for file, text in files.items() if file.endswith(".py")]
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert not [call for call in calls if getattr(call.func, "id", "") == "exit"]
    assert all('"""' not in text for file, text in files.items() if not file.endswith(".py"))


class RsiController:
    """Axes that are where they were told to be, plus an error [deg]."""

    def __init__(self, start, error=0.0):
        self.start, self.error, self.moves, self.stamp = start, error, np.zeros(6), 0

    def telegram(self):
        self.stamp += 4
        axes = self.start + self.moves + self.error
        cells = " ".join(f'A{k}="{axis:.6f}"' for k, axis in enumerate(axes, start=1))
        currents = " ".join(f'A{k}="{0.1 * k}"' for k in range(1, 7))
        return (
            f'<Rob Type="KUKA"><AIPos {cells}/><MACur {currents}/><IPOC>{self.stamp}</IPOC></Rob>'
        )

    def take(self, text):
        assert f"<IPOC>{self.stamp}</IPOC>" in text
        self.moves = np.array([float(v) for v in re.findall(r'A\d="([^"]*)"', text)])


@pytest.mark.parametrize("speed", ["010", "100"])
def test_rsi_plays_the_motion_and_records_it(tmp_path, speed) -> None:
    package = package_of("kuka-rsi")
    code = program(package, "play_rsi.py", tmp_path)
    times, points = code.read_motion(tmp_path / f"motion_{speed}.csv")
    controller, rows = RsiController(np.array(points[0])), []
    code.play(controller.telegram, controller.take, times, points, rows.append)
    assert len(rows) == round(times[-1] / 0.004) + 1
    played = np.array([row[1:7] for row in rows])
    share = int(speed) / 100.0
    designed = package.played[share](np.arange(len(rows)) * 0.004).q / DEGREE
    # A row is what the controller measured before its answer, and has six decimals.
    assert np.abs(played[1:] - designed[:-1]).max() < 2e-3
    assert rows[0][7:] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])


def test_rsi_stops_answering_an_axis_that_is_off(tmp_path) -> None:
    code = program(package_of("kuka-rsi"), "play_rsi.py", tmp_path)
    times, points = code.read_motion(tmp_path / "motion_100.csv")
    controller, answers = RsiController(np.array(points[0]), error=1.1 * TOLERANCE / DEGREE), []
    with pytest.raises(SystemExit, match="off its set point"):
        code.play(controller.telegram, answers.append, times, points, print)
    assert not answers


class Arm:
    """An arm of LeRobot that is where it was sent, plus an error [deg]."""

    def __init__(self, names, error=0.0):
        self.state, self.error, self.sent = dict.fromkeys(names, 0.0), error, []
        self.bus = SimpleNamespace(sync_read=lambda *_, **__: dict.fromkeys(names, 7.0))

    def get_observation(self):
        return {f"{name}.pos": value + self.error for name, value in self.state.items()}

    def send_action(self, action):
        self.state = {name.removesuffix(".pos"): value for name, value in action.items()}
        self.sent.append(list(self.state.values()))


class Clock:
    """Time that passes only in `sleep`."""

    now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_lerobot_approaches_plays_and_records(tmp_path) -> None:
    package, clock = package_of("lerobot"), Clock()
    code = program(package, "play_lerobot.py", tmp_path)
    motors = [f"motor_{k}" for k in range(6)]
    times, points = code.read_motion(tmp_path / "motion_100.csv")
    arm, rows = Arm(motors), []
    code.approach(arm, motors, points[0], clock, clock.sleep)
    assert clock.now == pytest.approx(11.0, abs=0.05)
    assert arm.sent[-1] == points[0]
    arm.sent.clear()
    code.play(arm, motors, times, points, rows.append, clock, clock.sleep)
    sent = np.array(arm.sent) * DEGREE
    designed = package.played[1.0](0.02 * np.arange(len(sent))).q
    assert np.abs(sent - designed).max() < package.error.max() + 1e-3
    assert [row[0] for row in rows] == pytest.approx(0.02 * np.arange(len(rows)))
    assert rows[0][7:] == [7.0] * 6


def test_lerobot_holds_an_arm_that_is_off(tmp_path) -> None:
    code, clock = program(package_of("lerobot"), "play_lerobot.py", tmp_path), Clock()
    motors = [f"motor_{k}" for k in range(6)]
    arm, rows = Arm(motors, error=10.0), []
    times, points = code.read_motion(tmp_path / "motion_100.csv")
    with pytest.raises(SystemExit, match="off its set point"):
        code.play(arm, motors, times, points, rows.append, clock, clock.sleep)
    assert len(rows) == 1
    assert arm.sent[-1] == pytest.approx([a + 10.0 for a in arm.sent[0]])


class Client:
    """An action client of ROS 2 that reports errors on the way and ends with a code."""

    def __init__(self, errors=(), accepted=True, code=0):
        self.errors, self.accepted, self.code, self.canceled = errors, accepted, code, False

    def send_goal_async(self, goal, feedback_callback):
        self.goal, self.feedback = goal, feedback_callback
        return lambda: self

    def get_result_async(self):
        for error in self.errors:
            positions = SimpleNamespace(positions=[0.0, error])
            self.feedback(SimpleNamespace(feedback=SimpleNamespace(error=positions)))
        return lambda: SimpleNamespace(
            result=SimpleNamespace(error_code=self.code, error_string="goal tolerance")
        )

    def cancel_goal_async(self):
        self.canceled = True


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (Client(errors=(0.01, -0.02)), None),
        (Client(errors=(0.01, -1.5 * TOLERANCE, 0.5)), r"canceled: a joint is 0\.15 off"),
        (Client(accepted=False), "the controller refused the goal"),
        (Client(code=-5), "failed: -5 goal tolerance"),
    ],
)
def test_the_node_of_ros_plays_watches_and_cancels(tmp_path, client, reason) -> None:
    code = program(package_of("ros2"), "play_ros2.py", tmp_path)
    trajectory = json.loads((tmp_path / "motion_030.json").read_text())["trajectory"]
    player = code.Player(client, lambda future: future(), lambda values: {"trajectory": values})
    if reason is None:
        player.play(trajectory)
    else:
        with pytest.raises(SystemExit, match=reason):
            player.play(trajectory)
    assert client.canceled == (reason is not None and "off" in reason)
    assert client.goal["trajectory"] is trajectory
    start = code.start_of(trajectory)["points"]
    assert start[0]["positions"] == trajectory["points"][0]["positions"]
    assert start[0]["time_from_start"]["sec"] == 10


LIBFRANKA = r"""
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
namespace franka {
struct Duration {
  double s = 0.001;
  double toSec() const { return s; }
  std::uint64_t toMSec() const { return 1; }
};
struct RobotState { std::array<double, 7> q{}, q_d{}, dq{}, tau_J{}; Duration time; };
struct JointPositions {
  JointPositions(const std::array<double, 7>& values) : q(values) {}
  std::array<double, 7> q;
  bool motion_finished = false;
};
inline JointPositions MotionFinished(JointPositions value) {
  value.motion_finished = true;
  return value;
}
enum class ControllerMode { kJointImpedance };
constexpr double kMaxCutoffFrequency = 1000.0;
class Robot {
 public:
  explicit Robot(const std::string&) {}
  void automaticErrorRecovery() {}
  void control(std::function<JointPositions(const RobotState&, Duration)> callback,
               ControllerMode = ControllerMode::kJointImpedance, bool = true, double = 100.0) {
    Duration step{0.0};
    for (;;) {
      const JointPositions command = callback(state, step);
      state.q = state.q_d = command.q;
      state.time.s += 0.001;
      step.s = 0.001;
      if (command.motion_finished) return;
    }
  }
  RobotState state;
};
}
"""
"""What the program uses of libfranka, with a robot that is where it is told to be."""


@pytest.mark.slow
def test_the_program_for_franka_compiles_plays_and_records(tmp_path) -> None:
    compiler = shutil.which("c++")
    assert compiler, "no C++ compiler; .ci/run brings one"
    package = package_of("franka", "panda")
    (tmp_path / "franka").mkdir()
    (tmp_path / "franka" / "robot.h").write_text(LIBFRANKA)
    (tmp_path / "franka" / "exception.h").write_text("#pragma once\n")
    for file, text in package.files.items():
        (tmp_path / file).write_text(text)
    built, source = tmp_path / "play", tmp_path / "play_franka.cpp"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    subprocess.run([compiler, *flags, str(source), "-o", str(built)], check=True, timeout=120)
    log = tmp_path / "log.csv"
    subprocess.run([built, "robot", tmp_path / "motion_100.csv", log], check=True, timeout=60)
    with log.open() as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["time", "q[0]", "q[1]"]
    measured = np.array(rows[1:], dtype=float)
    designed = package.played[1.0](1e-3 * np.arange(len(measured))).q
    assert np.abs(measured[2:, 1:8] - designed[1:-1]).max() < 5e-3
    missing = subprocess.run([built, "robot", "none.csv", log], capture_output=True, text=True)
    assert missing.returncode == 1
    assert "cannot read none.csv" in missing.stderr
