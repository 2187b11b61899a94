"""One step of the engine against Pinocchio's forward dynamics, on every robot."""

import numpy as np
import pinocchio as pin
import pytest
from engine_oracle import engine_torque
from robots import TIPS, TWENTY, urdf_path

from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix, rigid_body_torque
from robotid_sim.dynamics.kernels import friction_step_share
from robotid_sim.engine.plant import Plant
from robotid_sim.model.robot import Robot

pytestmark = pytest.mark.usefixtures("each_engine")

RELATIVE = 1e-8
"""Of the largest value of a comparison. The engine rounds at 1e-15, but a step divides a change of
velocity by dt, and light wrists amplify torque by the condition of the mass matrix."""

DT = 1e-3  # [s]


@pytest.fixture(scope="module")
def driven(robot: Robot) -> Robot:
    """Return the robot with an offset and rotor inertia in every joint, and friction from it."""
    return robot.with_parameters(loaded(robot.parameters(), robot.dof))


def loaded(phi: np.ndarray, dof: int) -> np.ndarray:
    """Return parameters with an offset and rotor inertia in every joint, and friction."""
    phi, rng = phi.copy(), np.random.default_rng(1)
    for j in range(dof):
        tail = phi[10 * dof + 4 * j :]
        tail[0] += rng.uniform(0.05, 0.2)
        tail[1] += rng.uniform(0.05, 0.2)
        tail[2], tail[3] = rng.uniform(0.1, 0.5), rng.uniform(0.05, 0.2)
    return phi


def random_state(robot: Robot, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return a state inside the limits and a torque that does not clip."""
    q = rng.uniform(robot.limits.lower, robot.limits.upper)
    dq = rng.uniform(-1.0, 1.0, robot.dof) * np.minimum(2.0, 0.5 * robot.limits.velocity)
    return q, dq, rng.uniform(-0.5, 0.5, robot.dof) * np.minimum(robot.limits.effort, 100.0)


def drive_acceleration(robot, model, data, q, v, tau) -> np.ndarray:
    """Return the acceleration of the drives by Pinocchio's mass matrix and bias torque."""
    laws = [joint.friction for joint in robot.joints]
    friction = np.array([law.torque(np.array(s)) for law, s in zip(laws, v, strict=True)])
    q = pin.integrate(model, pin.neutral(model), q)  # cosine and sine of continuous joints
    M = np.triu(pin.crba(model, data, q))
    M = M + np.triu(M, 1).T + np.diag([joint.rotor_inertia for joint in robot.joints])
    h = pin.rnea(model, data, q, v, np.zeros(robot.dof))
    return np.linalg.solve(M, tau - h - friction)


def assert_pinocchios(plant: Plant, model, count: int, seed: int) -> None:
    """Compare steps of a plant from random states with Pinocchio's forward dynamics."""
    robot, data, rng = plant.robot, model.createData(), np.random.default_rng(seed)
    for _ in range(count):
        q, dq, tau = random_state(robot, rng)
        plant.reset(q, dq)
        step = plant.step(tau)
        ddq = (plant.dq - dq) / DT
        want = drive_acceleration(robot, model, data, q, step.dq, tau)
        assert np.abs(ddq - want).max() <= RELATIVE * np.abs(want).max()
        np.testing.assert_allclose(plant.q, q + DT * plant.dq, rtol=0, atol=1e-14)


def test_step_is_pinocchios_forward_dynamics(driven, pinocchio_model) -> None:
    with Plant(driven, dt=DT, substeps=1) as plant:
        assert_pinocchios(plant, pinocchio_model(driven), 50, 2)


def test_explicit_steps_act_at_the_velocity_of_their_start(driven, pinocchio_model) -> None:
    with Plant(driven, dt=DT, substeps=1, leapfrog=False) as plant:
        assert_pinocchios(plant, pinocchio_model(driven), 50, 2)
        q, dq, tau = random_state(driven, np.random.default_rng(2))
        plant.reset(q, dq)
        np.testing.assert_array_equal(plant.step(tau).dq, dq)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWENTY)
def test_steps_of_twenty_robots_are_pinocchios_forward_dynamics(pinocchio_model, name) -> None:
    stock = Robot.from_urdf(urdf_path(name), tip=TIPS.get(name))
    robot = stock.with_parameters(loaded(stock.parameters(), stock.dof))
    with Plant(robot, dt=DT, substeps=1) as plant:
        assert_pinocchios(plant, pinocchio_model(robot), 200, 8)


def test_forces_act_at_the_velocity_in_the_middle_of_the_step_or_later(driven) -> None:
    rng = np.random.default_rng(3)
    with Plant(driven, dt=DT, substeps=4) as plant:
        for _ in range(20):
            q, dq, tau = random_state(driven, rng)
            plant.reset(q, dq)
            step = plant.step(tau)
            # By how much later depends on the slope of friction over inertia: at most as at rest.
            mobility = np.diagonal(np.linalg.inv(mass_matrix(driven, q)))
            laws = [joint.friction for joint in driven.joints]
            slope = np.array([law.Fv + law.Fc / law.eps for law in laws])
            latest = [friction_step_share(z) for z in (slope * mobility * DT / 4).tolist()]
            share = (step.dq - dq) / (DT / 4 * step.ddq)
            change = np.abs(step.dq - dq)
            moved = change > 0.1 * change.max()
            assert (share[moved] > 0.4999).all()
            assert (share[moved] < np.array(latest)[moved] + 1e-4).all()
            np.testing.assert_array_equal(step.q, q)


def test_step_satisfies_the_equation_of_motion_exactly(driven) -> None:
    rng = np.random.default_rng(4)
    with Plant(driven, dt=DT, substeps=4) as plant:
        for _ in range(20):
            q, dq, tau = random_state(driven, rng)
            plant.reset(q, dq)
            step = plant.step(tau)
            residual = joint_torque(driven, step.q, step.dq, step.ddq) - step.tau
            size = np.abs(tau).max() + np.abs(rigid_body_torque(driven, q, dq, 0 * q)).max()
            assert np.abs(residual).max() <= 1e-11 * size  # rounding of the kernels alone


def test_engines_inverse_dynamics_is_ours(robot: Robot) -> None:
    rng = np.random.default_rng(5)
    limits, shape = robot.limits, (500, robot.dof)
    q = rng.uniform(limits.lower, limits.upper, shape)
    dq, ddq = rng.uniform(-2, 2, shape), rng.uniform(-5, 5, shape)
    want = rigid_body_torque(robot, q, dq, ddq)
    with Plant(robot) as plant:
        got = np.array([engine_torque(plant, *state) for state in zip(q, dq, ddq, strict=True)])
    assert np.abs(got - want).max() <= RELATIVE * np.abs(want).max()


def test_stock_iiwa_without_its_damping_moves_like_frictionless_pinocchio(pinocchio_model) -> None:
    robot = Robot.from_urdf(urdf_path("iiwa"), urdf_friction=False)
    model = pinocchio_model(robot)
    data = model.createData()
    rng = np.random.default_rng(6)
    with Plant(robot, dt=DT, substeps=1, leapfrog=False) as plant:
        q = rng.uniform(-1, 1, 7)
        plant.reset(q, rng.uniform(-1, 1, 7))
        for _ in range(200):  # free motion, state by state
            q, dq = plant.q, plant.dq
            want = pin.aba(model, data, q, dq, np.zeros(7))
            plant.step(np.zeros(7))
            got = (plant.dq - dq) / DT
            assert np.abs(got - want).max() <= RELATIVE * np.abs(want).max()


def test_stock_iiwa_with_its_damping_feels_it_as_viscous_friction(iiwa, pinocchio_model) -> None:
    model = pinocchio_model(iiwa)
    data = model.createData()
    rng = np.random.default_rng(7)
    q, dq = rng.uniform(-1, 1, (2, 7))
    with Plant(iiwa, dt=DT, substeps=1, leapfrog=False) as plant:
        plant.reset(q, dq)
        plant.step(np.zeros(7))
        got = (plant.dq - dq) / DT
    want = pin.aba(model, data, q, dq, -0.5 * dq)
    assert np.abs(got - want).max() <= RELATIVE * np.abs(want).max()


def test_tilted_gravity_is_respected(pinocchio_model) -> None:
    robot = Robot.from_urdf(urdf_path("irb140"), gravity=(3.0, -4.0, -8.0))
    model = pinocchio_model(robot)
    data = model.createData()
    q, zero = np.array([0.3, -0.2, 0.5, 0.1, 0.4, 0.2]), np.zeros(6)
    with Plant(robot, dt=DT, substeps=1, leapfrog=False) as plant:
        plant.reset(q, zero)
        plant.step(zero)
        got = plant.dq / DT
        want = drive_acceleration(robot, model, data, q, zero, zero)
        assert np.abs(got - want).max() <= RELATIVE * np.abs(want).max()
        np.testing.assert_allclose(
            engine_torque(plant, q, zero, zero),
            pin.computeGeneralizedGravity(model, data, q),
            atol=1e-9,  # [N m] of 100
        )


def test_gravity_torque_holds_the_robot_still(robot: Robot) -> None:
    with Plant(robot) as plant:
        zero = np.zeros(robot.dof)
        plant.reset(robot.home, zero)
        hold = rigid_body_torque(robot, robot.home, zero, zero)
        assert (np.abs(hold) <= robot.limits.effort).all()
        for _ in range(100):
            plant.step(hold)
        np.testing.assert_allclose(plant.q, robot.home, atol=1e-9)  # 0.1 s of rounding


def spinner(folder) -> Robot:
    """Return a flywheel that may turn at 200 rad/s."""
    path = folder / "spinner.urdf"
    path.write_text(
        '<robot name="spinner"><link name="base"/><link name="wheel"><inertial><mass value="1"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.15"/></inertial></link>'
        '<joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/>'
        '<axis xyz="0 0 1"/><limit velocity="90" effort="5"/></joint></robot>'
    )
    return Robot.from_urdf(path)


@pytest.mark.parametrize(
    ("q", "dq", "tau", "steps"),
    [
        (0.0, 150.0, 3.0, 10),
        (3.1, 100.0, 0.0, 100),
        (0.0, 50.0, 0.0, 1000),  # default damping leaves 0.96 of it
    ],
    ids=["no clamp at 150 rad/s", "no stop at the range", "no damping"],
)
def test_the_engine_does_nothing_by_itself(tmp_path, q, dq, tau, steps) -> None:
    with Plant(spinner(tmp_path)) as plant:
        plant.reset(np.array([q]), np.array([dq]))
        for _ in range(steps):
            plant.step(np.array([tau]))
        assert plant.dq[0] == pytest.approx(dq + tau / 0.15 * steps * DT, rel=1e-12)
        if tau == 0.0:
            assert plant.q[0] == pytest.approx(q + dq * steps * DT, rel=1e-9)
