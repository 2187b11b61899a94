"""Elastic joints and backlash of a plant are named with their joint, from its log alone."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.diagnostics.recording_causes import with_backlash
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import Cell
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.plant_drives import Backlash, Elastic
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.simulate import run_experiment

CASES = {
    "sound": (None, None),
    "elastic": (Elastic(stiffness=(2e3,), joints=("shoulder",)), ("elastic-joint", "shoulder")),
    "backlash": (Backlash(play=1e-2, joints=("shoulder",)), ("backlash", "shoulder")),
}


@pytest.fixture(scope="module")
def robot():
    arm = Robot.from_urdf(urdf_path("2r"))
    pairs = zip(arm.joints, (0.3, 0.1), strict=True)
    return replace(arm, joints=tuple(replace(joint, rotor_inertia=Ia) for joint, Ia in pairs))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_named_with_its_joint(robot, case):
    drive, wanted = CASES[case]
    options = FourierOptions(period=10.0, periods=2, amplitude=0.6)
    path = random_feasible(robot, np.random.default_rng(0), options)
    sensors = build_sensors(load_config(None))
    cell = Cell(plant=robot, controller=ComputedTorque(robot), drive=drive, sensors=sensors)
    log = run_experiment(cell, path, np.random.default_rng(0))
    found = diagnose(replace(log, truth=None), robot, base_parameters(robot))
    assert [(cause.kind, *cause.joints) for cause in found.causes] == [wanted] * (drive is not None)
    if case == "elastic":
        twist = np.abs(log.truth.q - log.truth.link_q)[:, 0].max()
        said = float(found.causes[0].finding.split(", by ")[1].split(" rad")[0])
        assert said == pytest.approx(twist, rel=0.1)


@pytest.mark.parametrize(
    ("joint", "play"),
    [
        pytest.param("joint_1", 1e-2, marks=pytest.mark.slow),
        pytest.param("joint_2", 1e-2, marks=pytest.mark.slow),
        pytest.param("joint_3", 5e-3, marks=pytest.mark.slow),
    ],
)
def test_backlash_is_named_where_it_strikes_other_joints_and_rattles(joint, play):
    arm = load_robot("irb140")
    rotors = (9.0, 9.0, 2.0, 0.1, 0.08, 0.03)
    pairs = zip(arm.joints, rotors, strict=True)
    arm = replace(arm, joints=tuple(replace(joint, rotor_inertia=Ia) for joint, Ia in pairs))
    path = random_feasible(arm, np.random.default_rng(0), FourierOptions(period=10.0, periods=2))
    sensors = build_sensors(load_config(None))
    law, drive = ComputedTorque(arm, 2500.0, 100.0), Backlash(play=play, joints=(joint,))
    cell = Cell(plant=arm, controller=law, drive=drive, sensors=sensors)
    log = run_experiment(cell, path, np.random.default_rng(0))
    found = diagnose(replace(log, truth=None), arm, base_parameters(arm))
    assert ("backlash", (joint,)) in [(cause.kind, cause.joints) for cause in found.causes]


def outlier(joint):
    return Cause("torque-outliers", (joint,), "", "", "")


def motion_of(robot, seconds=20.0):
    t = np.arange(0.0, seconds, 0.01)
    q = np.stack([1.2 * np.sin(t), 0.9 * np.sin(1.7 * t)], axis=1)
    dq, ddq = np.gradient(q, 0.01, axis=0), np.zeros_like(q)
    return Motion(joint_names=robot.joint_names, t=t, q=q, dq=dq, ddq=ddq, tau=np.ones_like(q))


def test_outliers_at_any_time_stay_outliers(robot):
    motion = motion_of(robot)
    marks = np.random.default_rng(0).random(motion.q.shape) < 0.02
    causes = (outlier("shoulder"), outlier("elbow"))
    assert with_backlash(causes, marks, motion, robot) == causes


def test_without_outliers_nothing_is_named(robot):
    motion = motion_of(robot)
    assert with_backlash((), np.zeros(motion.q.shape, dtype=bool), motion, robot) == ()
