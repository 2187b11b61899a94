"""Damages of a log that are common in practice: each is named with its joint."""

from dataclasses import replace

import numpy as np
import pytest
from damages import damages
from measured import measured
from robots import example_path

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.model.robot import Robot

DAMAGES = damages(6, 2, (1, 2))
NAMES = [damage.name for damage in DAMAGES]


@pytest.mark.parametrize("name", NAMES)
def test_a_damage_is_named_with_its_joint(cell, name):
    damage = DAMAGES[NAMES.index(name)]
    result = diagnose(damage.change(cell.log), cell.nominal, cell.basis)
    joints = tuple(cell.log.joint_names[j] for j in damage.joints)
    # Those without a gain are of single samples: steps of friction where they do not belong.
    modeled = {(cause.kind, cause.joints) for cause in result.causes if cause.gain is not None}
    assert modeled == {(damage.kind, joints)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", [(0, 1), (1, 2, 5), (0, 2, 4), (0, 1, 2), (3, 4), (0, 1, 2, 4), (1, 2, 3, 4, 5)]
)
def test_several_wrong_signs_are_those_and_no_other(cell, wrong):
    signs = np.where(np.isin(range(6), wrong), -1.0, 1.0)
    log = replace(cell.log, tau_meas=cell.log.tau_meas * signs)
    causes = diagnose(log, cell.nominal, cell.basis).causes
    assert {cause.kind for cause in causes} == {"torque-sign"}
    assert sorted(j for cause in causes for j in cause.joints) == [
        cell.log.joint_names[j] for j in wrong
    ]
    errors, _ = contradictions(log, cell.nominal, cell.basis)
    named = {name for e in errors for name in cell.log.joint_names if name in e.split(":")[0]}
    assert named <= {cell.log.joint_names[j] for j in wrong}


def test_a_sound_log_has_no_gross_error(cell):
    assert diagnose(cell.log, cell.nominal, cell.basis).healthy


def test_a_sound_log_of_an_arm_with_rounded_right_angles_has_no_gross_error():
    cell = measured(Robot.from_urdf(example_path("so_arm_description/urdf/so100.urdf")))
    assert diagnose(cell.log, cell.nominal, cell.basis).healthy


def test_torques_in_newton_millimeters_are_said_to_be(cell):
    (cause,) = diagnose(
        DAMAGES[NAMES.index("N mm")].change(cell.log), cell.nominal, cell.basis
    ).causes
    assert (cause.sentence, cause.remedy) == (
        "All measured torques are in N mm.",
        "multiply their columns by 0.001",
    )
