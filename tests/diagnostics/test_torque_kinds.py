"""Torques that are not measured ones, and gravity that points elsewhere, under a rough nominal."""

from dataclasses import replace

import numpy as np
import pytest
from measured import measured
from robots import urdf_path
from scipy.spatial.transform import Rotation

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.model.robot import Robot


@pytest.fixture(scope="module")
def ur10():
    return measured(Robot.from_urdf(urdf_path("ur10")))


def mounted(cell, gravity):
    """Return the log of the same arm and motion under another gravity."""
    return cell.of(joint_torque(replace(cell.plant, gravity=np.array(gravity)), *cell.state))


def only(log, cell):
    (cause,) = diagnose(log, cell.nominal, cell.basis).causes
    errors, _ = contradictions(log, cell.nominal, cell.basis)
    where = f"{', '.join(cause.joints)}: " if cause.joints else ""
    assert errors == (f"{where}{cause.finding}; {cause.remedy}",)
    return cause


@pytest.mark.parametrize("robot", ["cell", "ur10"])
def test_torques_without_gravity_are_named(request, robot) -> None:
    cell = request.getfixturevalue(robot)
    cause = only(mounted(cell, (0.0, 0.0, 0.0)), cell)
    assert cause.kind == "torque-without-gravity"


def test_external_torques_are_named(cell) -> None:
    rng = np.random.default_rng(0)
    push = 0.02 * np.abs(cell.log.tau_meas).max(axis=0) * rng.standard_normal(cell.log.q.shape)
    cause = only(cell.changed(tau_meas=push), cell)
    assert cause.finding == "the torques contain neither gravity nor inertia"


def test_magnitudes_of_one_joint_are_named(cell) -> None:
    tau = cell.log.tau_meas.copy()
    tau[:, 3] = np.abs(tau[:, 3])
    cause = only(cell.changed(tau_meas=tau), cell)
    assert (cause.kind, cause.joints) == ("unsigned-torque", (cell.log.joint_names[3],))


@pytest.mark.parametrize("robot", ["cell", "ur10"])
@pytest.mark.parametrize(
    ("turn", "axis"), [(180.0, "x"), (90.0, "x"), (90.0, "y"), (135.0, "x"), (120.0, "y")]
)
def test_another_mounting_is_named_with_its_gravity(request, robot, turn, axis) -> None:
    cell = request.getfixturevalue(robot)
    gravity = Rotation.from_euler(axis, turn, degrees=True).apply(np.array(cell.nominal.gravity))
    (cause,) = diagnose(mounted(cell, gravity), cell.nominal, cell.basis).causes
    assert cause.kind == "gravity"
    text = cause.remedy.partition("gravity = [")[2].partition("]")[0]
    named = np.array([float(word) for word in text.split(",")])
    angle = np.arccos(named @ gravity / (np.linalg.norm(named) * np.linalg.norm(gravity)))
    assert np.rad2deg(angle) < 6.0


def test_magnitudes_are_named(cell) -> None:
    log = cell.changed(tau_meas=np.abs(cell.log.tau_meas))
    assert only(log, cell).kind == "unsigned-torque"


@pytest.mark.parametrize(("factor", "unit"), [(1e6, "kg mm²"), (1e9, "g mm²"), (1e4, "kg cm²")])
def test_a_nominal_model_in_other_units_is_named_before_the_log(cell, factor, unit) -> None:
    phi = cell.nominal.parameters().copy()
    for k in range(cell.nominal.dof):
        phi[10 * k + 4 : 10 * k + 10] *= factor
    cause = only(cell.log, replace(cell, nominal=cell.nominal.with_parameters(phi, formal=True)))
    assert cause.kind == "nominal-model"
    assert f"looks like {unit}; × {1.0 / factor:g}" in cause.finding
