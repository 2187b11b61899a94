"""Inverse and forward dynamics against Pinocchio, on every robot."""

import numpy as np
import pinocchio as pin
import pytest

from robotid_sim.dynamics.dynamics import (
    coriolis,
    effective_inertia,
    forward_dynamics,
    gravity_torque,
    joint_torque,
    mass_matrix,
    potential_energy,
    rigid_body_torque,
    torque_regressor,
)
from robotid_sim.model.robot import Robot

RELATIVE = 1e-8
"""Of the largest torque of a batch; both codes round at 1e-15, the URDF's text at 1e-16."""

N_STATES = 500


@pytest.fixture
def states(robot: Robot) -> np.ndarray:
    """Return q, dq, ddq, each (500, n), over the whole range and up to 3 rad/s, 10 rad/s^2."""
    rng = np.random.default_rng(0)
    shape, limits = (N_STATES, robot.dof), robot.limits
    q = rng.uniform(limits.lower, limits.upper, shape)
    return np.stack([q, rng.uniform(-3, 3, shape), rng.uniform(-10, 10, shape)])


def with_drives(robot: Robot) -> Robot:
    """Return the robot with friction, offset and rotor inertia in every joint."""
    phi = robot.parameters()
    phi[10 * robot.dof :] = np.random.default_rng(1).uniform(0.1, 2.0, 4 * robot.dof)
    return robot.with_parameters(phi)


def assert_relative(got: np.ndarray, want: np.ndarray, tolerance: float = RELATIVE) -> None:
    assert np.abs(got - want).max() <= tolerance * np.abs(want).max()


def test_rigid_body_torque_is_pinocchios(robot, states, pinocchio_model) -> None:
    model = pinocchio_model(robot)
    data = model.createData()
    want = np.array([pin.rnea(model, data, *state).copy() for state in states.swapaxes(0, 1)])
    assert_relative(rigid_body_torque(robot, *states), want)


def test_drive_torque_adds_friction_and_rotor_by_formula(robot, states) -> None:
    driven = with_drives(robot)
    _, dq, ddq = states
    tail = driven.parameters()[10 * robot.dof :].reshape(-1, 4)
    Fv, Fc, Fo, Ia = tail.T
    want = rigid_body_torque(robot, *states)
    want = want + Fv * dq + Fc * np.tanh(dq / robot.eps) + Fo + Ia * ddq
    assert_relative(joint_torque(driven, *states), want, 1e-12)  # the same sum in another order


def test_regressor_times_parameters_is_the_drive_torque(robot, states) -> None:
    driven = with_drives(robot)
    Y = torque_regressor(driven, *states)
    assert Y.shape == (N_STATES, robot.dof, 14 * robot.dof)
    assert_relative(Y @ driven.parameters(), joint_torque(driven, *states))


def test_regressor_does_not_depend_on_the_parameters(robot, states) -> None:
    other = with_drives(robot)
    np.testing.assert_array_equal(
        torque_regressor(robot, *states), torque_regressor(other, *states)
    )


def test_chosen_columns_are_those_of_the_full_regressor(robot, states) -> None:
    columns = [3, 0, 10 * robot.dof + 1]
    Y = torque_regressor(robot, *states)
    np.testing.assert_array_equal(torque_regressor(robot, *states, columns), Y[:, :, columns])


def test_mass_matrix_is_pinocchios_symmetric_and_positive_definite(
    robot, states, pinocchio_model
) -> None:
    model = pinocchio_model(robot)
    data = model.createData()
    M = mass_matrix(robot, states[0], rotors=False)
    for ours, q in zip(M, states[0], strict=True):
        theirs = np.triu(pin.crba(model, data, q))
        assert_relative(ours, theirs + np.triu(theirs, 1).T)
    np.testing.assert_array_equal(M, M.swapaxes(1, 2))
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_rotors_are_added_to_the_diagonal_of_the_mass_matrix(robot, states) -> None:
    driven = with_drives(robot)
    extra = mass_matrix(driven, states[0]) - mass_matrix(driven, states[0], rotors=False)
    rotors = np.diag([joint.rotor_inertia for joint in driven.joints])
    np.testing.assert_allclose(extra, np.broadcast_to(rotors, extra.shape), atol=1e-13)


def test_coriolis_product_is_pinocchios(robot, states, pinocchio_model) -> None:
    model = pinocchio_model(robot)
    data = model.createData()
    rng = np.random.default_rng(2)
    ours, theirs = [], []
    for q, dq, _ in states[:, :100].swapaxes(0, 1):
        v = rng.uniform(-3, 3, robot.dof)
        ours.append(coriolis(robot, q, dq, v))
        theirs.append(pin.computeCoriolisMatrix(model, data, q, dq) @ v)
    size = max(np.abs(theirs).max(), 1.0)  # a gantry has no velocity torque at all
    assert np.abs(np.array(ours) - theirs).max() <= RELATIVE * size


def test_gravity_torque_is_pinocchios(robot, states, pinocchio_model) -> None:
    model = pinocchio_model(robot)
    data = model.createData()
    want = np.array([pin.computeGeneralizedGravity(model, data, q).copy() for q in states[0, :100]])
    got = gravity_torque(robot, states[0, :100])
    assert np.abs(got - want).max() <= RELATIVE * max(1.0, np.abs(want).max())  # rp: none at all


def test_potential_energy_is_pinocchios_up_to_what_stands_still(robot, states, pinocchio_model):
    model = pinocchio_model(robot)
    data = model.createData()
    Q = states[0, :100]
    want = np.array([pin.computePotentialEnergy(model, data, q) for q in Q])
    got = np.array([potential_energy(robot, q) for q in Q])
    size = max(1.0, np.ptp(want))
    np.testing.assert_allclose(got - got[0], want - want[0], atol=RELATIVE * size)


def test_forward_dynamics_inverts_the_drive_torque(robot, states) -> None:
    driven = with_drives(robot)
    tau = joint_torque(driven, *states)
    for k in range(100):
        q, dq, ddq = states[:, k]
        condition = np.linalg.cond(mass_matrix(driven, q))
        found = forward_dynamics(driven, q, dq, tau[k])
        np.testing.assert_allclose(found, ddq, atol=1e-13 * condition * np.abs(tau[k]).max())


def test_effective_inertia_is_what_a_joint_feels_with_the_others_free(robot, states) -> None:
    q = states[0, :5]
    felt = effective_inertia(robot, q)
    for row, M in zip(felt, mass_matrix(robot, q), strict=True):
        unit = np.linalg.solve(M, np.eye(robot.dof))  # accelerations of unit torques
        np.testing.assert_allclose(row, 1.0 / np.diag(unit), rtol=1e-9)
        assert (row <= np.diag(M) * (1 + 1e-12)).all()
