"""A robot's visuals in a PyBullet client, posed joint by joint; physics never runs here."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import trimesh

from robotid_sim.arrays import Float1D
from robotid_sim.engine.client import EngineClient, EngineError
from robotid_sim.engine.private_urdf import joint_element, origin_element
from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import FileFormatError, RobotIdError
from robotid_sim.model.geometry import number_text
from robotid_sim.model.mesh_files import is_binary_stl
from robotid_sim.model.robot import Robot
from robotid_sim.model.solid import read_mesh
from robotid_sim.viewer.colors import Rgba
from robotid_sim.viewer.robot_visuals import VisualPart

ELSEWHERE = (0.0, 0.0, -1e4)
"""Where a hidden robot stands [m]; taking it away would cost a load to bring it back."""


class PosedRobot:
    """Parts on the bodies of a robot, in a client.

    The user's file is never loaded: a private text is written from the kinematics, with a link per
    part. Raises `RobotIdError` if Bullet refuses a mesh.
    """

    def __init__(self, client: EngineClient, robot: Robot, parts: Sequence[VisualPart]) -> None:
        self.parts, self.visible = tuple(parts), True
        self._place: tuple[float, ...] = (0.0, 0.0, 0.0)
        self._client = client
        with tempfile.TemporaryDirectory() as folder, captured_output() as printed:
            path = Path(folder) / "robot.urdf"
            try:
                path.write_text(_urdf(robot, parts, Path(folder)), encoding="utf-8")
            except FileFormatError as error:
                raise RobotIdError(f"cannot draw '{robot.name}': {error}") from error
            # Bullet would give back the robot that it read from a file of this name before.
            client.setPhysicsEngineParameter(enableFileCaching=0)
            try:
                self._body = client.loadURDF(str(path), useFixedBase=True)
            except EngineError:
                self._body = -1
        if self._body < 0:
            reason = printed.text.splitlines()[-1] if printed.text else "no reason given"
            raise RobotIdError(f"PyBullet cannot draw '{robot.name}': {reason}")
        count = client.getNumJoints(self._body)
        names = [client.getJointInfo(self._body, k)[1].decode() for k in range(count)]
        self._moving = [names.index(f"joint_{k}") for k in range(robot.dof)]
        self.links = [names.index(f"mount_{k}") for k in range(len(parts))]

    def pose(self, q: Float1D) -> None:
        """Put the joints at `q` [rad or m], shape (n,)."""
        values = [[float(value)] for value in q]
        self._client.resetJointStatesMultiDof(self._body, self._moving, values)

    def show(self, *, visible: bool) -> None:
        """Show or hide the robot."""
        if visible != self.visible:
            self._stand(self._place if visible else ELSEWHERE)
            self.visible = visible

    def shift(self, place: Float1D) -> None:
        """Put the root frame at a place [m], shape (3,)."""
        self._place = tuple(place.tolist())
        if self.visible:
            self._stand(self._place)

    def _stand(self, place: tuple[float, ...]) -> None:
        self._client.resetBasePositionAndOrientation(self._body, place, (0.0, 0.0, 0.0, 1.0))

    def paint(self, colors: Mapping[int, Rgba | None]) -> None:
        """Give all parts of some bodies a color, or for None their own; -1 is the base."""
        for part, link in zip(self.parts, self.links, strict=True):
            if part.body in colors:
                color = colors[part.body] or part.rgba
                self._client.changeVisualShape(self._body, link, rgbaColor=color)

    def body_of_link(self, link: int) -> int:
        """Return the body that carries a part's link, as a segmentation mask numbers it."""
        return self.parts[self.links.index(link)].body


def _urdf(robot: Robot, parts: Sequence[VisualPart], folder: Path) -> str:
    """Return a URDF with a link per part; save its meshes in `folder`."""
    text = ['<robot name="visuals"><link name="base"/>']
    text += [f'<link name="body_{k}"/>{joint_element(robot, k)}' for k in range(robot.dof)]
    files: dict[int | Path, Path] = {}
    for k, part in enumerate(parts):
        visual = _visual(part, f"color_{k}", folder, files)
        body = "base" if part.body < 0 else f"body_{part.body}"
        text.append(
            f'<link name="part_{k}">{visual}</link><joint name="mount_{k}" type="fixed">'
            f'<parent link="{body}"/><child link="part_{k}"/></joint>'
        )
    return "\n".join([*text, "</robot>"])  # Bullet breaks lines of more than 8191 characters


def _visual(part: VisualPart, material: str, folder: Path, files: dict[int | Path, Path]) -> str:
    if isinstance(part.mesh, Path) and is_binary_stl(part.mesh):
        file = part.mesh
    else:
        key = part.mesh if isinstance(part.mesh, Path) else id(part.mesh)
        file = files.setdefault(key, folder / f"mesh_{len(files)}.obj")
        if not file.exists():
            mesh = part.mesh
            if isinstance(mesh, Path):  # Bullet's own readers crash at files that are broken
                solid = read_mesh(mesh)
                mesh = trimesh.Trimesh(solid.vertices, solid.faces).smooth_shaded
            mesh.export(file, include_normals=True)
    return (
        f"<visual>{origin_element(part.T_body_part)}<geometry>"
        f'<mesh filename={quoteattr(str(file))} scale="{number_text(part.scale)}"/></geometry>'
        f'<material name="{material}"><color rgba="{number_text(part.rgba)}"/></material></visual>'
    )
