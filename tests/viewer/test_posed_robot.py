"""Robots in PyBullet as the viewer draws them: poses, hiding, what it refuses."""

import numpy as np
import pytest
from robots import DATA

from robotid_sim.engine.client import EngineClient
from robotid_sim.errors import RobotIdError
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import primitive_meshes
from robotid_sim.viewer.pybullet_renderer import HIDDEN_POSITION, PosedRobot
from robotid_sim.viewer.robot_visuals import frame_parts, inertia_parts, robot_parts

ENGINE = 1e-6
"""PyBullet reads the numbers of a URDF in single precision [m]."""

BOXES = '<visual><geometry><mesh filename="box.obj"/></geometry></visual>' * 61


def body_poses(posed: PosedRobot, client: EngineClient) -> np.ndarray:
    """Return the pose of every movable body as the engine has it, shape (n, 4, 4)."""
    poses = np.tile(np.eye(4), (len(posed._moving), 1, 1))
    for pose, link in zip(poses, posed._moving, strict=True):
        state = client.getLinkState(posed._body, link, computeForwardKinematics=1)
        pose[:3, 3] = state[4]
        pose[:3, :3] = np.reshape(client.getMatrixFromQuaternion(state[5]), (3, 3))
    return poses


def test_poses_in_the_engine_are_those_of_our_kinematics(robot) -> None:
    rng = np.random.default_rng(0)
    with EngineClient() as client:
        posed = PosedRobot(client, robot, robot_parts(robot))
        for _ in range(3):
            q = rng.uniform(robot.limits.lower, robot.limits.upper)
            posed.pose(q)
            np.testing.assert_allclose(body_poses(posed, client), link_poses(robot, q), atol=ENGINE)


def test_a_refused_mesh_is_an_error_with_the_robots_name(arm, tmp_path) -> None:
    part = robot_parts(arm)[0]
    missing = type(part)(part.body, part.T_body_part, tmp_path / "none.stl")
    with EngineClient() as client, pytest.raises(RobotIdError, match="2r"):
        PosedRobot(client, arm, [missing])


def test_a_hidden_posed_stands_elsewhere(arm) -> None:
    with EngineClient() as client:
        posed = PosedRobot(client, arm, robot_parts(arm))
        posed.pose(arm.home)
        posed.show(visible=False)
        assert body_poses(posed, client)[0, 2, 3] == pytest.approx(HIDDEN_POSITION[2])
        posed.show(visible=True)
        np.testing.assert_allclose(
            body_poses(posed, client), link_poses(arm, arm.home), atol=ENGINE
        )


def test_every_part_is_a_link_of_its_body(irb140) -> None:
    parts = robot_parts(irb140)
    with EngineClient() as client:
        posed = PosedRobot(client, irb140, parts)
        assert [posed.body_of_link(link) for link in posed.links] == [part.body for part in parts]


def test_robots_with_long_names_and_many_parts_load(tmp_path) -> None:
    folder = tmp_path / 'a folder "quoted" & long' / ("x" * 100)
    folder.mkdir(parents=True)
    primitive_meshes.box(0.1, 0.1, 0.1).export(folder / "box.obj")
    text = (DATA / "2r.urdf").read_text()
    (folder / "robot.urdf").write_text(
        text.replace('<link name="upper">', '<link name="upper">' + BOXES)
    )
    robot = Robot.from_urdf(folder / "robot.urdf")
    with EngineClient() as client:
        PosedRobot(client, robot, robot_parts(robot))


def test_overlays_are_loaded(irb140) -> None:
    masses = inertia_parts(irb140, (0.0, 0.0, 1.0, 1.0), dot=0.02)
    with EngineClient() as client:
        PosedRobot(client, irb140, [*frame_parts(irb140, 0.1), *masses])
