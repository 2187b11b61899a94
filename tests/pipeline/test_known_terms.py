"""A robot whose springs and counterbalance are known: plant, log, fit and file have them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.model.export import lost_in_urdf, write_urdf
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell
from robotid_sim.pipeline.build_robot import build_basis, build_nominal
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.streams import Streams

pytestmark = pytest.mark.slow

EXACT = 1e-9
"""Of the equation of motion [N m]: as in tests/experiment/test_rollout.py."""

TOML = """
schema = "robotid/robot/1"
urdf = "2r.urdf"
[joints.shoulder]
counterbalance = [[-4.0, 6.0], [-1.0, 4.5], [0.0, 0.0], [1.0, -4.5], [4.0, -6.0]]
[joints.elbow]
spring = { stiffness = 3.0, rest = 0.4 }
"""


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("balanced")
    (folder / "2r.urdf").write_bytes(urdf_path("2r").read_bytes())
    (folder / "robot.toml").write_text(TOML)
    return Robot.from_urdf(folder / "2r.urdf")


@pytest.fixture(scope="module")
def case(robot, excitation):
    config = load_config(None)
    nominal = build_nominal(robot, config)
    log = run_experiment(build_cell(robot, nominal, config), excitation, Streams(0)("measure"))
    return config, nominal, log


@pytest.fixture(scope="module")
def excitation(robot):

    options = FourierOptions(period=5.0, periods=2, amplitude=0.5)
    return random_feasible(robot, np.random.default_rng(0), options)


def test_they_are_those_of_the_settings(robot):
    assert {term.kind for term in robot.terms} == {"counterbalance", "spring"}
    assert JointTerm("spring", "elbow", (3.0, -1.2000000000000002)) in robot.terms


def test_the_truth_of_the_log_is_the_inverse_dynamics(robot, case):
    truth = case[2].truth
    state = (truth.q, truth.dq, truth.ddq)
    assert np.abs(joint_torque(robot, *state) - truth.tau).max() < EXACT
    without = joint_torque(replace(robot, terms=()), *state)
    assert (np.abs(without - truth.tau).max(axis=0) > 1.0).all()


def test_a_fit_that_knows_them_finds_the_parameters(robot, case):
    config, nominal, log = case
    assert nominal.terms == robot.terms
    basis = build_basis(nominal, config)
    fit = fit_logs(replace(log, truth=None), nominal, basis, build_fit(config), Streams(0)("fit"))
    intervals = fit.intervals()
    true = basis.of(robot.parameters())
    assert intervals.covers(true).mean() >= 0.8
    assert (np.abs(intervals.values - true) <= 4.0 * intervals.std).all()
    assert fit.lift.robot.terms == robot.terms
    blind = replace(nominal, terms=())
    wrong = fit_logs(replace(log, truth=None), blind, basis, build_fit(config), Streams(0)("fit"))
    assert (np.abs(wrong.chosen.beta - true) > 4.0 * intervals.std).any()


def test_files_keep_them_to_the_bit(robot, case, tmp_path):
    write_urdf(robot, tmp_path / "out.urdf")
    read = Robot.from_urdf(tmp_path / "out.urdf")
    assert read.terms == robot.terms
    truth = case[2].truth
    state = (truth.q, truth.dq, truth.ddq)
    bits = (terms_torque(model, model.terms, *state).tobytes() for model in (read, robot))
    assert len(set(bits)) == 1
    assert np.abs(joint_torque(read, *state) - joint_torque(robot, *state)).max() < EXACT
    assert any("counterbalance of shoulder" in text for text in lost_in_urdf(robot))
    save_log(case[2], tmp_path / "log.h5")
    assert load_log(tmp_path / "log.h5").truth.tau.tobytes() == truth.tau.tobytes()
