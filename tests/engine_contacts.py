"""What PyBullet itself says of contacts: its own loader, its own collision detection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import Setup
from robotid_sim.pipeline.study import Study
from robotid_sim.trajectory.reference import Trajectory

STEP = 1e-3
"""Time between the poses that are looked at [s]."""


def motions_of(study: Study) -> dict[str, Trajectory]:
    """Return all motions that a study has run, by name."""
    tasks = () if study.loop is None else study.loop.tasks
    motions = {"excitation": study.trajectory, "unseen": study.setup.unseen}
    return motions | {task.name: task.trajectory for task in tasks}


def deepest_contacts(setup: Setup, motions: Mapping[str, Trajectory]) -> dict[str, float]:
    """Return what touches on motions and how deep [m], by motion and bodies.

    Bodies that touch at home, as those of a wrist may, do not count, nor do neighbors.
    """
    import pybullet
    from pybullet_utils.bullet_client import BulletClient

    floor = setup.excitation.floor
    found: dict[str, float] = {}
    client = BulletClient(pybullet.DIRECT)
    try:
        body, joints = loaded(client, setup.cell.plant)
        bodies = [body] if floor is None else [body, floor_of(client, floor)]
        at_home = set(touching(client, bodies, joints, setup.nominal.home))
        for name, motion in motions.items():
            for q in motion(np.arange(motion.start, motion.duration, STEP)).q:
                for pair, depth in touching(client, bodies, joints, q).items():
                    if pair not in at_home:
                        key = f"{name}: {pair}"
                        found[key] = max(depth, found.get(key, 0.0))
    finally:
        client.disconnect()
    return found


def loaded(client: Any, robot: Robot) -> tuple[int, list[int]]:
    """Return the body of a robot and the engine's indices of its joints."""
    assert robot.document is not None
    path = Path(robot.document.path)
    client.setAdditionalSearchPath(str(path.parent))
    flags = client.URDF_USE_SELF_COLLISION | client.URDF_USE_SELF_COLLISION_EXCLUDE_PARENT
    body = client.loadURDF(str(path), useFixedBase=True, flags=flags)
    names = [client.getJointInfo(body, k)[1].decode() for k in range(client.getNumJoints(body))]
    return body, [names.index(name) for name in robot.joint_names]


def floor_of(client: Any, height: float) -> int:
    """Return a body whose top is at a height [m]."""
    box = client.createCollisionShape(client.GEOM_BOX, halfExtents=[5.0, 5.0, 5.0])
    return int(client.createMultiBody(0, box, basePosition=[0.0, 0.0, height - 5.0]))


def touching(
    client: Any, bodies: list[int], joints: list[int], q: np.ndarray
) -> dict[tuple[int, int, int], float]:
    """Return the depth of every contact in a pose [m], by the other body and both links."""
    robot = bodies[0]
    for joint, value in zip(joints, q.tolist(), strict=True):
        client.resetJointState(robot, joint, value)
    client.performCollisionDetection()
    points = client.getContactPoints(bodyA=robot)
    return {(p[2], p[3], p[4]): -p[8] for p in points if p[8] < 0.0}
