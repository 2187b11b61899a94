"""Old names of the package, of options and of keys still work, with one line of deprecation."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import robotid_sim as rid
from robotid_sim import renamed
from robotid_sim.estimation.estimate import load_estimates
from robotid_sim.measurement.sensors import Sensor
from robotid_sim.model.joint_terms import select_kinds
from robotid_sim.papers import claims
from robotid_sim.papers.paper import ReproductionSetup
from robotid_sim.pipeline.result import upgrade_result


@pytest.mark.parametrize(("old", "new"), renamed.RENAMED_FUNCTIONS.items())
def test_old_functions_are_the_new_ones(old, new):
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated, use {new}"):
        assert getattr(rid, old) is getattr(rid, new)


def test_old_members_have_the_values_of_the_new_ones():
    robot = rid.load_robot("twolink")
    basis = rid.base_parameters(robot)
    with pytest.warns(DeprecationWarning, match="BaseParameters.of is deprecated"):
        beta = basis.of(robot.parameters())
    np.testing.assert_array_equal(beta, basis.project(robot.parameters()))


def test_old_keys_of_a_study_are_read(tmp_path, caplog):
    file = tmp_path / "study.toml"
    file.write_text("[estimation]\ntorque_gain_std = 0.02\n")
    with caplog.at_level(logging.WARNING):
        assert rid.load_config(file).estimation.drive_gain_std == 0.02
    assert "torque_gain_std is deprecated, use drive_gain_std" in caplog.text


def test_old_keys_of_an_estimate_are_read(tmp_path):
    file = tmp_path / "estimate.json"
    old = {"schema": "robotid/estimate/1", "doubt": "why", "estimates": []}
    old |= {"friction_velocity": [0.1], "terms": [{"kind": "friction-velocity"}]}
    file.write_text(json.dumps(old))
    _, context = load_estimates(file)
    assert context["warning"] == "why"
    assert context["transition_velocity"] == [0.1]
    assert context["terms"] == [{"kind": "transition-velocity"}]


def test_old_kinds_of_terms_are_chosen():
    assert select_kinds(["friction-velocity"]) == ("transition-velocity",)


def test_old_methods_of_a_users_class_are_called(caplog):
    @dataclass(frozen=True)
    class Mine(Sensor):
        def __call__(self, log, rng):
            return log

        def settled(self, drawn):
            return "held"

    with caplog.at_level(logging.WARNING):
        renamed.upgrade_methods(Mine)
    assert Mine().fix_draws({}) == "held"
    assert "Mine.settled is deprecated, name it fix_draws" in caplog.text


def test_old_options_are_taken():
    words = ("--draws", "--torque-gain-std", "--out")
    upgraded = [renamed.upgrade_word(word, renamed.RENAMED_OPTIONS) for word in words]
    assert upgraded == ["--posterior-samples", "--drive-gain-std", "--out"]


def test_old_checks_of_a_result_have_their_new_names():
    content = {"verdict": {"checks": [{"name": "no_cause_named"}, {"name": "no_fault_found"}]}}
    names = [check["name"] for check in upgrade_result(content)["verdict"]["checks"]]
    assert names == ["no_fault_found"] * 2


def test_papers_of_users_find_the_old_names():
    with pytest.warns(DeprecationWarning, match="use collect_measured"):
        assert claims.measured(1.0).ours == 1.0
    setup = ReproductionSetup(Path("out"))
    with pytest.warns(DeprecationWarning, match="use ReproductionSetup.plan_runs"):
        assert [trial.name for trial in setup.repeated("a", "m:f", 2)] == ["a-0", "a-1"]
