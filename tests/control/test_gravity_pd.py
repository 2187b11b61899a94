"""PD with gravity compensation: its law, its equilibrium, what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from loops import some_state

from robotid_sim.control.controller import Setpoint
from robotid_sim.control.linear_feedback import GravityPd
from robotid_sim.dynamics.dynamics import gravity_torque, mass_matrix
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.joint import Friction


def test_torque_is_gravity_plus_stiffness_and_damping(robot):
    q, dq, ddq = some_state(robot, 0)
    e, de, _ = some_state(robot, 1)
    rng = np.random.default_rng(2)
    kp, kd = rng.uniform(1.0, 100.0, (2, robot.dof))
    tau = GravityPd(robot, kp, kd)(0.0, q, dq, Setpoint(q + e, dq + de, ddq))
    wanted = gravity_torque(robot, q) + kp * e + kd * de
    np.testing.assert_allclose(tau, wanted, rtol=1e-12, atol=1e-10)  # rounding


def test_at_rest_on_the_setpoint_the_robot_stays(robot):
    zero, pose = np.zeros(robot.dof), robot.home
    M = np.diag(mass_matrix(robot, pose))
    controller = GravityPd(robot, 100.0 * M, 20.0 * M)
    with Plant(robot) as plant:
        plant.reset(pose, zero)
        for k in range(100):
            plant.step(controller(k * plant.dt, plant.q, plant.dq, Setpoint(pose, zero, zero)))
        # Rounding of gravity, 1e-13 N m, on the lightest joint, 1e-5 kg m^2, over 0.1 s.
        assert np.abs(plant.q - pose).max() < 1e-9


def test_from_afar_it_comes_to_rest_on_the_setpoint(arm):
    free = replace(arm, joints=tuple(replace(j, friction=Friction()) for j in arm.joints))
    goal, zero = np.array([0.4, -0.3]), np.zeros(2)
    controller = GravityPd(free, np.array([150.0, 60.0]), np.array([40.0, 12.0]))
    with Plant(free) as plant:
        plant.reset(np.array([-0.8, 1.0]), zero)
        for k in range(5000):
            plant.step(controller(k * plant.dt, plant.q, plant.dq, Setpoint(goal, zero, zero)))
        # The slowest pole, kp / kd = 4 per second, leaves exp(-20) of a radian.
        assert np.abs(plant.q - goal).max() < 1e-6


def test_friction_and_inertia_of_the_model_do_not_matter(arm):
    q, dq, ddq = some_state(arm, 3)
    setpoint = Setpoint(q, dq, ddq)
    other = replace(
        arm,
        joints=tuple(
            replace(j, friction=Friction(Fv=9.0, Fc=9.0), rotor_inertia=1.0) for j in arm.joints
        ),
    )
    one, two = (GravityPd(r, np.ones(2), np.ones(2))(0.0, q, dq, setpoint) for r in (arm, other))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", ["kp", "kd"])
def test_negative_gains_are_refused(arm, name):
    gains = {"kp": np.ones(2), "kd": np.ones(2), name: np.array([1.0, -1.0])}
    with pytest.raises(OptionError, match=f"gains {name} must not be negative"):
        GravityPd(arm, **gains)


@pytest.mark.parametrize("name", ["kp", "kd"])
@pytest.mark.parametrize("value", [np.ones(3), np.array([1.0, np.nan])])
def test_gains_of_the_wrong_shape_or_not_finite_are_refused(arm, name, value):
    gains = {"kp": np.ones(2), "kd": np.ones(2), name: value}
    with pytest.raises(ShapeError, match=name):
        GravityPd(arm, **gains)


def test_gains_are_frozen_copies(arm):
    kp = np.ones(2)
    controller = GravityPd(arm, kp, np.ones(2))
    kp[0] = 7.0
    np.testing.assert_array_equal(controller.kp, np.ones(2))
