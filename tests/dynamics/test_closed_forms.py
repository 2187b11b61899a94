"""Dynamics against closed forms: a pendulum, a planar arm, a turntable with a slide."""

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.dynamics import (
    coriolis,
    forward_dynamics,
    gravity_torque,
    joint_torque,
    mass_matrix,
    rigid_body_torque,
    torque_regressor,
)
from robotid_sim.dynamics.wrench import wrench_regressor
from robotid_sim.errors import RankDeficientError
from robotid_sim.model import inertia, parameters
from robotid_sim.model.geometry import Link
from robotid_sim.model.joint import Friction, Joint
from robotid_sim.model.robot import Robot

EXACT = 1e-12  # [N m] some ten roundings of torques of 50 N m
G = 9.81  # [m/s^2]


def pendulum(mass: float = 2.0, *, Ia: float = 0.3, last: float | None = None) -> Robot:
    """Return a pendulum about the horizontal y axis, hanging along -z; optionally with a wrist."""
    common = {"lower": -3.0, "upper": 3.0, "velocity": 5.0, "acceleration": 50.0}
    swing = Joint(
        "swing",
        np.eye(4),
        np.array([0.0, 1.0, 0.0]),
        prismatic=False,
        friction=Friction(Fv=0.4, Fc=0.6, Fo=0.1, eps=0.05),
        rotor_inertia=Ia,
        **common,
    )
    bob = inertia.pack(mass, np.array([0.0, 0.0, -0.5]), np.diag([0.02, 0.03, 0.02]))
    links, joints = (Link("bob", bob),), (swing,)
    if last is not None:
        phi = inertia.pack(last, np.zeros(3), np.eye(3) * 0.1 * last)
        wrist = Joint("wrist", np.eye(4), np.array([0.0, 0.0, 1.0]), prismatic=False, **common)
        links, joints = (*links, Link("hand", phi)), (*joints, wrist)
    return Robot("pendulum", links, joints)


def test_pendulum_torque() -> None:
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-3, 3, (3, 50, 1))
    about_pivot = 0.03 + 2.0 * 0.25
    rigid = about_pivot * ddq + 2.0 * G * 0.5 * np.sin(q)
    robot = pendulum()
    np.testing.assert_allclose(rigid_body_torque(robot, q, dq, ddq), rigid, atol=EXACT)
    drive = rigid + 0.4 * dq + 0.6 * np.tanh(dq / 0.05) + 0.1 + 0.3 * ddq
    np.testing.assert_allclose(joint_torque(robot, q, dq, ddq), drive, atol=EXACT)


def test_pendulum_acceleration() -> None:
    robot = pendulum()
    q, dq, tau = np.array([0.7]), np.array([-0.2]), np.array([3.0])
    friction = 0.4 * dq + 0.6 * np.tanh(dq / 0.05) + 0.1
    want = (tau - friction - 2.0 * G * 0.5 * np.sin(q)) / (0.03 + 0.5 + 0.3)
    np.testing.assert_allclose(forward_dynamics(robot, q, dq, tau), want, atol=EXACT)


def test_gravity_vector_may_point_anywhere() -> None:
    robot = pendulum()
    tilted = Robot("tilted", robot.links, robot.joints, gravity=np.array([0.0, 0.0, 9.81]))
    q = np.array([0.4])
    np.testing.assert_allclose(gravity_torque(tilted, q), -gravity_torque(robot, q), atol=EXACT)
    sideways = Robot("sideways", robot.links, robot.joints, gravity=np.array([-3.0, 0.0, 0.0]))
    # The bob at (0.5 * -sin q, ., -0.5 cos q) feels m g 0.5 cos q about +y, held by the torque.
    want = -2.0 * 3.0 * 0.5 * np.cos(q)
    np.testing.assert_allclose(gravity_torque(sideways, q), want, atol=EXACT)


def planar(robot: Robot) -> tuple[np.ndarray, ...]:
    """Return, per body, mass, COM in the plane and inertia about the axis through the COM."""
    bodies = [inertia.unpack(link.phi) for link in robot.links]
    masses = np.array([b[0] for b in bodies])
    coms = np.array([b[1][:2] for b in bodies])
    moments = np.array([b[2][2, 2] for b in bodies])
    return masses, coms, moments


def turned(angle: float, v: np.ndarray) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1]])


def test_planar_two_link_arm() -> None:
    robot = Robot.from_urdf(urdf_path("2r"), urdf_friction=False)
    (m1, m2), (c1, c2), (I1, I2) = planar(robot)
    a = 0.5  # [m] length of the upper arm
    rng = np.random.default_rng(1)
    for q, dq, ddq in rng.uniform(-2, 2, (30, 3, 2)):
        elbow, com2 = np.array([a, 0.0]), turned(q[1], c2)
        coupling = m2 * elbow @ com2
        slope = m2 * elbow @ turned(np.pi / 2, com2)  # d coupling / d q2
        M12 = I2 + m2 * c2 @ c2 + coupling
        M11 = I1 + m1 * c1 @ c1 + I2 + m2 * (a * a + c2 @ c2) + 2 * coupling
        M = np.array([[M11, M12], [M12, I2 + m2 * c2 @ c2]])
        velocity = slope * np.array([2 * dq[0] * dq[1] + dq[1] ** 2, -(dq[0] ** 2)])
        first = (m1 * turned(q[0], c1) + m2 * turned(q[0], elbow))[0]
        second = (m2 * turned(q[0], com2))[0]
        gravity = G * np.array([first + second, second])  # the plane's second axis points up
        np.testing.assert_allclose(mass_matrix(robot, q), M, atol=EXACT)
        np.testing.assert_allclose(coriolis(robot, q, dq, dq), velocity, atol=EXACT)
        np.testing.assert_allclose(gravity_torque(robot, q), gravity, atol=EXACT)
        want = M @ ddq + velocity + gravity
        np.testing.assert_allclose(rigid_body_torque(robot, q, dq, ddq), want, atol=EXACT)


def test_christoffel_coriolis_matrix_of_the_planar_arm() -> None:
    robot = Robot.from_urdf(urdf_path("2r"))
    (_, m2), (_, c2), _ = planar(robot)
    rng = np.random.default_rng(2)
    for q, dq, v in rng.uniform(-2, 2, (20, 3, 2)):
        h = m2 * np.array([0.5, 0.0]) @ turned(np.pi / 2, turned(q[1], c2))
        C = h * np.array([[dq[1], dq[0] + dq[1]], [-dq[0], 0.0]])
        np.testing.assert_allclose(coriolis(robot, q, dq, v), C @ v, atol=EXACT)


def test_slide_on_a_turntable_feels_centrifugal_and_coriolis_force() -> None:
    robot = Robot.from_urdf(urdf_path("rp"), urdf_friction=False)
    mass, com, _ = inertia.unpack(robot.links[1].phi)
    q, dq = np.array([0.4, 0.2]), np.array([1.5, 0.3])
    reach = 0.1 + q[1] + com[0]  # [m] of the slide's COM along the radial axis
    tau = rigid_body_torque(robot, q, dq, np.zeros(2))
    assert tau[1] == pytest.approx(-mass * reach * dq[0] ** 2, rel=1e-12)
    assert tau[0] == pytest.approx(2 * mass * reach * dq[0] * dq[1], rel=1e-12)


def test_gantry_carries_all_masses_behind_each_stage() -> None:
    robot = Robot.from_urdf(urdf_path("ppp"), urdf_friction=False)
    np.testing.assert_allclose(mass_matrix(robot, np.zeros(3)), np.diag([55.0, 25.0, 7.0]))
    np.testing.assert_allclose(np.abs(gravity_torque(robot, np.ones(3))), [0, 0, 7 * G], atol=EXACT)


def test_joint_that_moves_no_inertia_is_an_error_with_the_remedy() -> None:
    robot = pendulum(last=0.0)
    with pytest.raises(RankDeficientError, match=r"'pendulum'.*rotor inertia"):
        forward_dynamics(robot, np.zeros(2), np.zeros(2), np.zeros(2))
    assert np.isfinite(forward_dynamics(pendulum(last=0.1), [0, 0], [0, 0], [0, 0])).all()


def test_drive_torque_is_the_component_of_the_wrench_along_the_axis(robot: Robot) -> None:
    batch = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 5, robot.dof))
    W = wrench_regressor(robot, *batch)
    Y = torque_regressor(robot, *batch)[:, :, : parameters.INERTIAL_COUNT * robot.dof]
    axes, slides = robot.geometry[:, 3:6], robot.geometry[:, 6] == 1.0
    for j in range(robot.dof):
        part = W[:, j, :3] if slides[j] else W[:, j, 3:]
        along = np.einsum("r,krc->kc", axes[j], part)
        np.testing.assert_allclose(along, Y[:, j], atol=1e-12 * np.abs(Y).max())


def test_at_rest_the_base_carries_the_weight_of_all_links(irb140: Robot) -> None:
    rest = np.zeros(irb140.dof)
    W = wrench_regressor(irb140, rest, rest, rest)
    inertial = irb140.parameters()[: parameters.INERTIAL_COUNT * irb140.dof]
    force = W[0, :3] @ inertial
    weight = sum(link.phi[0] for link in irb140.links) * np.linalg.norm(irb140.gravity)
    np.testing.assert_allclose(np.linalg.norm(force), weight, rtol=1e-12)
