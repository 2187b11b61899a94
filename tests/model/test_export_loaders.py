"""Written URDFs in Pinocchio, MuJoCo and PyBullet: every loader sees the same rigid bodies."""

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from lxml import etree
from robots import urdf_path

from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

RELATIVE = 1e-6
"""Of the largest torque: bodies near the triangle boundary are moved by up to 2e-6 of their tensor,
and Bullet diagonalizes full tensors to 3e-8."""

N_STATES = 50

ROBOTS = {
    "irb140": None,
    "irb140 perturbed": 1,
    "iiwa perturbed": 2,
    "panda perturbed": 3,
    "ur5 perturbed": 4,
    "2r perturbed": 5,
    "ppp perturbed": 6,
    "scara perturbed": 7,
    "rp perturbed": 8,
}


@pytest.fixture(params=ROBOTS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Robot, Path]:
    """Return a robot and its written URDF, whose geometry is stripped: meshes are not at stake."""
    robot = Robot.from_urdf(urdf_path(request.param.split()[0]))
    seed = ROBOTS[request.param]
    if seed is not None:
        robot = perturb(robot, np.random.default_rng(seed))
    path = tmp_path / "written.urdf"
    write_urdf(robot, path)
    tree = etree.parse(str(path))
    for tag in ("visual", "collision"):
        for element in tree.findall(f"link/{tag}"):
            element.getparent().remove(element)
    tree.write(str(tmp_path / "bare.urdf"))
    return robot, tmp_path / "bare.urdf"


def random_states(robot: Robot, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(-s, s, (N_STATES, robot.dof)) for s in (1.5, 2.0, 5.0)], axis=1)


def assert_same_torques(robot: Robot, torque) -> None:
    states = random_states(robot)
    theirs = np.array([torque(*state) for state in states])
    ours = rigid_body_torque(robot, states[:, 0], states[:, 1], states[:, 2])
    assert np.abs(theirs - ours).max() <= RELATIVE * np.abs(ours).max()


def test_pinocchio_reads_the_same_bodies(written, pinocchio_model) -> None:
    robot, path = written
    model = pinocchio_model(robot, path)
    data = model.createData()
    assert_same_torques(robot, lambda q, dq, ddq: pin.rnea(model, data, q, dq, ddq).copy())


def test_mujoco_reads_the_same_bodies(written) -> None:
    robot, path = written
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.gravity = robot.gravity
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    )
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    data = mujoco.MjData(model)
    at = [model.joint(name).qposadr[0] for name in robot.joint_names]

    def torque(q, dq, ddq):
        data.qpos[:], data.qvel[:], data.qacc[:] = 0.0, 0.0, 0.0  # fingers stay at zero
        data.qpos[at], data.qvel[at], data.qacc[at] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse[at].copy()

    assert_same_torques(robot, torque)


def test_pybullet_reads_the_same_bodies(written, pybullet) -> None:
    robot, path = written
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
        pybullet.setGravity(*robot.gravity.tolist(), physicsClientId=client)
        body = pybullet.loadURDF(
            str(path),
            useFixedBase=True,
            flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
            physicsClientId=client,
        )
        infos = [
            pybullet.getJointInfo(body, j, physicsClientId=client)
            for j in range(pybullet.getNumJoints(body, physicsClientId=client))
        ]
        movable = [info[1].decode() for info in infos if info[2] != pybullet.JOINT_FIXED]
        at = [movable.index(name) for name in robot.joint_names]

        def torque(q, dq, ddq):
            full = np.zeros((3, len(movable)))
            full[:, at] = q, dq, ddq
            # Lists: PyBullet reads an ndarray here as a tuple and crashes.
            tau = pybullet.calculateInverseDynamics(body, *full.tolist(), physicsClientId=client)
            return np.array(tau)[at]

        assert_same_torques(robot, torque)
    finally:
        pybullet.disconnect(physicsClientId=client)


def test_written_irb140_loads_with_its_geometry(irb140: Robot, tmp_path: Path, pybullet) -> None:
    path = tmp_path / "irb140.urdf"
    write_urdf(irb140, path)
    assert mujoco.MjModel.from_xml_path(str(path)).nv == 6
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(path), useFixedBase=True, physicsClientId=client)
        assert len(pybullet.getVisualShapeData(body, physicsClientId=client)) > 6
    finally:
        pybullet.disconnect(physicsClientId=client)
