"""A robot's parts in a PyBullet client, posed joint by joint; physics never runs here."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import RobotIdError
from robotid_sim.model.geometry import rpy_from_rotation
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.robot_visuals import Color, VisualPart

with captured_output():  # prints its build time
    import pybullet

ELSEWHERE = (0.0, 0.0, -1e4)
"""Where a hidden puppet stands [m]; taking it away would cost a load to bring it back."""


@contextmanager
def direct_client() -> Iterator[int]:
    """Give a PyBullet client without a window."""
    client = pybullet.connect(pybullet.DIRECT)
    try:
        yield client
    finally:
        pybullet.disconnect(physicsClientId=client)


class PosedRobot:
    """Parts on the bodies of a robot, in a client.

    Parameters
    ----------
    client : int
        PyBullet client.
    robot : Robot
        Its kinematics; the user's file is never loaded, a private text is written from it.
    parts : sequence of VisualPart
        What hangs on its bodies.
    merged : bool
        Make one link of all parts of a body. Bullet's window gives a link one color only, and
        every change of a link's color takes it a frame.

    Raises
    ------
    RobotIdError
        If Bullet refuses a mesh.
    """

    def __init__(
        self, client: int, robot: Robot, parts: Sequence[VisualPart], *, merged: bool = False
    ) -> None:
        self.robot = robot
        self.parts = tuple(parts)
        self.visible = True
        if merged:
            bodies = sorted({part.body for part in parts})
            self._groups = [[part for part in parts if part.body == body] for body in bodies]
        else:
            self._groups = [[part] for part in parts]
        self._client = client
        with tempfile.TemporaryDirectory() as folder, captured_output() as printed:
            path = Path(folder) / "puppet.urdf"
            path.write_text(_urdf(robot, self._groups, Path(folder)), encoding="utf-8")
            # Bullet would give back the robot that it read from a file of this name before.
            pybullet.setPhysicsEngineParameter(enableFileCaching=0, physicsClientId=client)
            try:
                self._body = pybullet.loadURDF(str(path), useFixedBase=True, physicsClientId=client)
            except pybullet.error:
                self._body = -1
        if self._body < 0:
            reason = printed.text.splitlines()[-1] if printed.text else "no reason given"
            raise RobotIdError(f"PyBullet cannot draw '{robot.name}': {reason}")
        names = [
            pybullet.getJointInfo(self._body, k, physicsClientId=client)[1].decode()
            for k in range(pybullet.getNumJoints(self._body, physicsClientId=client))
        ]
        self._moving = [names.index(f"joint_{k}") for k in range(robot.dof)]
        self.links = [names.index(f"mount_{k}") for k in range(len(self._groups))]

    def pose(self, q: Float1D) -> None:
        """Put the joints at `q` [rad or m], shape (n,)."""
        pybullet.resetJointStatesMultiDof(
            self._body, self._moving, [[float(v)] for v in q], physicsClientId=self._client
        )

    def show(self, *, visible: bool) -> None:
        """Show or hide the puppet."""
        if visible != self.visible:
            where = (0.0, 0.0, 0.0) if visible else ELSEWHERE
            pybullet.resetBasePositionAndOrientation(
                self._body, where, (0.0, 0.0, 0.0, 1.0), physicsClientId=self._client
            )
            self.visible = visible

    def paint(self, colors: Mapping[int, Color]) -> None:
        """Give all parts of some bodies a color; -1 is the base."""
        for group, link in zip(self._groups, self.links, strict=True):
            body = group[0].body
            if body in colors:
                pybullet.changeVisualShape(
                    self._body, link, rgbaColor=colors[body], physicsClientId=self._client
                )

    def body_poses(self) -> Float2D:
        """Return the pose of every movable body as the engine has it, shape (n, 4, 4)."""
        poses = np.tile(np.eye(4), (self.robot.dof, 1, 1))
        for k, link in enumerate(self._moving):
            state = pybullet.getLinkState(
                self._body, link, computeForwardKinematics=1, physicsClientId=self._client
            )
            poses[k, :3, 3] = state[4]
            rotation = pybullet.getMatrixFromQuaternion(state[5])
            poses[k, :3, :3] = np.reshape(rotation, (3, 3))
        return poses

    def body_of_link(self, link: int) -> int:
        """Return the body that carries a part's link, as a segmentation mask numbers it."""
        return self._groups[self.links.index(link)][0].body


def _urdf(robot: Robot, groups: Sequence[Sequence[VisualPart]], folder: Path) -> str:
    """Return a URDF without limits, a link per group of parts; save its meshes in `folder`."""
    text = ['<robot name="puppet"><link name="base"/>']
    parent = "base"
    for k, joint in enumerate(robot.joints):
        kind = "prismatic" if joint.prismatic else "continuous"
        axis = " ".join(repr(float(v)) for v in joint.axis)
        limit = '<limit lower="-1e6" upper="1e6" effort="0" velocity="1e6"/>'
        text.append(
            f'<link name="body_{k}"/><joint name="joint_{k}" type="{kind}">'
            f'{_origin(joint.T_parent_joint)}<parent link="{parent}"/><child link="body_{k}"/>'
            f'<axis xyz="{axis}"/>{limit}</joint>'
        )
        parent = f"body_{k}"
    files: dict[int, Path] = {}
    for k, group in enumerate(groups):
        visuals = "\n".join(_visual(part, f"color_{k}", folder, files) for part in group)
        body = "base" if group[0].body < 0 else f"body_{group[0].body}"
        text.append(
            f'<link name="group_{k}">{visuals}</link><joint name="mount_{k}" type="fixed">'
            f'<parent link="{body}"/><child link="group_{k}"/></joint>'
        )
    return "\n".join([*text, "</robot>"])  # Bullet breaks lines of more than 8191 characters


def _visual(part: VisualPart, material: str, folder: Path, files: dict[int, Path]) -> str:
    if isinstance(part.mesh, Path):
        file = part.mesh
    else:
        file = files.setdefault(id(part.mesh), folder / f"mesh_{len(files)}.obj")
        if not file.exists():
            part.mesh.save(file)
    scale = " ".join(repr(float(v)) for v in part.scale)
    color = " ".join(repr(float(v)) for v in part.rgba)
    return (
        f"<visual>{_origin(part.T_body_part)}<geometry><mesh filename={quoteattr(str(file))} "
        f'scale="{scale}"/></geometry><material name="{material}"><color rgba="{color}"/>'
        "</material></visual>"
    )


def _origin(T: Float2D) -> str:
    xyz = " ".join(repr(float(v)) for v in T[:3, 3])
    rpy = " ".join(repr(float(v)) for v in rpy_from_rotation(T[:3, :3]))
    return f'<origin xyz="{xyz}" rpy="{rpy}"/>'
