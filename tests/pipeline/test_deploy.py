"""Packages for controllers: the rehearsal finds what was planted, and refuses what it cannot."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import FileFormatError, InfeasibleError, MissingExtraError, OptionError
from robotid_sim.excitation.design import random_design
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline import rehearsal as module
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.deploy import deploy
from robotid_sim.trajectory.reference import PointToPoint


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(urdf_path("irb140"))


@pytest.fixture(scope="module")
def motion(robot):
    rng = np.random.default_rng(3)
    options = FourierOptions(periods=1)
    return random_design(robot, base_parameters(robot), rng, options=options, candidates=20)


FORMS = ("csv", "ros2")
FURTHER = ("abb", "fanuc", "kuka-krl", "kuka-rsi", "lerobot", "ur")


def check(robot, motion, target, seed=0):
    config = load_config(None, {"seed": seed, "design": {"constraints": {"contact": True}}})
    package = deploy(robot, motion, target, config)
    done = package.rehearsal
    assert package.passed
    assert done.covered.mean() > 0.85
    planted = dict(zip(done.names, done.planted, strict=True))
    assert planted["Fc1"] > robot.parameters()[robot.parameter_names.index("Fc1")]
    return package


@pytest.mark.parametrize("target", FORMS)
def test_planted_parameters_are_found_through_the_form_of_the_log(robot, motion, target) -> None:
    check(robot, motion, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", FURTHER)
def test_every_target_finds_them(robot, motion, target) -> None:
    check(robot, motion, target, seed=1)


def test_a_failed_rehearsal_writes_nothing(robot, motion, tmp_path) -> None:
    package = check(robot, motion, "ros2")
    done = package.rehearsal
    failed = replace(package, rehearsal=replace(done, nees=1.1 * done.max_nees))
    assert not failed.passed
    assert "Rehearsal FAILED" in failed.verdict
    with pytest.raises(InfeasibleError, match="not written"):
        failed.write(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    files = package.write(tmp_path / "new")
    content = json.loads(files[-1].read_text())
    assert content["rehearsal"]["passed"]
    assert content["files"] == [file.name for file in files[:-1]]
    with pytest.raises(FileFormatError, match="not empty"):
        package.write(tmp_path / "new")


def test_a_wrong_reading_of_the_log_fails_the_rehearsal(robot, motion, monkeypatch) -> None:
    """The gate can fail: a recorder that halves the torques of a joint is noticed."""
    write = module.write_vendor_log

    def wrong(log, target, folder, constants):
        scale = np.ones(robot.dof)
        scale[1] = 0.9
        return write(replace(log, tau_meas=log.tau_meas * scale), target, folder, constants)

    monkeypatch.setattr(module, "write_vendor_log", wrong)
    config = load_config(None, {"design": {"constraints": {"contact": True}}})
    assert not deploy(robot, motion, "csv", config).passed


def test_a_missing_writer_of_logs_is_told_before_the_work(robot, motion, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rosbags.rosbag2", None)
    monkeypatch.setattr(module, "clean_run", None)
    with pytest.raises(MissingExtraError, match="need rosbags"):
        deploy(robot, motion, "ros2")


def test_links_that_touch_are_refused(robot) -> None:
    low = np.clip(robot.home, robot.limits.lower, robot.limits.upper)
    low[1:3] = robot.limits.upper[1:3]
    motion = PointToPoint(robot.joint_names, robot.home, low, 0.0, 4.0)
    with pytest.raises(InfeasibleError, match="must not run this motion"):
        deploy(robot, motion, "csv", rehearse=False)


def test_a_rate_of_the_engine_that_does_not_fit_the_log_is_refused(robot, motion) -> None:
    settings = {"experiment": {"rate": 950.0}, "design": {"constraints": {"contact": True}}}
    with pytest.raises(OptionError, match=r"no multiple of the 100 Hz of the log"):
        deploy(robot, motion, "ros2", load_config(None, settings))
