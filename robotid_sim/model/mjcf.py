"""Writing a robot as MJCF, the format of MuJoCo, and what it has no place for as TOML.

MuJoCo has rotor inertia (``armature``), viscous (``damping``) and Coulomb friction
(``frictionloss``, without smoothing); friction offsets, the friction constant `eps`, acceleration
limits and the ends of the chain go into a TOML file beside it.
"""

import os
from pathlib import Path

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float2D
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.files import atomic_path
from robotid_sim.model import inertia
from robotid_sim.model.geometry import GeometryShape, number_text
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import write_side_car

READABLE_MESHES = (".stl", ".obj", ".msh")
"""Mesh formats that MuJoCo reads."""

VISUAL, COLLISION = "2", "3"
"""Groups of geoms, as MuJoCo's viewer switches them."""

TRIANGLE_MARGIN = 1e-9
"""Smallest relative triangle margin that is written; MuJoCo refuses a tensor beyond zero."""


def write_mjcf(robot: Robot, path: str | Path) -> list[str]:
    """Write `robot` as MJCF and, beside it with the suffix ``.toml``, what MJCF cannot hold.

    Parameters
    ----------
    robot : Robot
        The robot; its bodies must be possible.
    path : str or Path
        The MJCF file.

    Returns
    -------
    notes : list of str
        What could not be written, such as meshes in a format that MuJoCo does not read.

    Raises
    ------
    InconsistentInertiaError
        If a body has parameters that no rigid body can have.
    FileFormatError
        If a file cannot be written.
    """
    for link, reason in zip(robot.links, robot.inconsistencies(), strict=True):
        if reason is None and link.phi[0] <= 0.0:
            reason = "it has no mass, and MuJoCo moves no body without"
        if reason is not None:
            raise InconsistentInertiaError(f"cannot write link '{link.name}': {reason}")
    notes: list[str] = []
    root = etree.Element("mujoco", model=robot.name)
    etree.SubElement(root, "compiler", angle="radian", autolimits="true")
    etree.SubElement(root, "option", gravity=number_text(robot.gravity))
    assets = etree.SubElement(root, "asset")
    world = etree.SubElement(root, "worldbody")
    parent = world
    for k in range(robot.dof):
        parent = _write_body(parent, assets, robot, k, Path(path), notes)
    etree.SubElement(parent, "site", name=robot.tip, **_placed(robot.T_last_tip))
    _write_motors(root, robot)
    etree.indent(root, "  ")
    with atomic_path(path) as temporary:
        etree.ElementTree(root).write(str(temporary), xml_declaration=True, encoding="utf-8")
    write_side_car(robot, path, ("Fo", "eps", "acceleration"))
    return notes


def _write_body(
    parent: etree._Element,
    assets: etree._Element,
    robot: Robot,
    k: int,
    path: Path,
    notes: list[str],
) -> etree._Element:
    link, joint = robot.links[k], robot.joints[k]
    body = etree.SubElement(parent, "body", name=link.name, **_placed(joint.T_parent_joint))
    phi = link.phi
    if inertia.triangle_margin(phi) < TRIANGLE_MARGIN:
        phi = inertia.nearest_consistent(phi, margin=2.0 * TRIANGLE_MARGIN)
    mass, com, central = inertia.unpack(phi)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = central.tolist()
    tensor = number_text((xx, yy, zz, xy, xz, yz))  # MuJoCo's order
    etree.SubElement(
        body, "inertial", pos=number_text(com), mass=number_text(mass), fullinertia=tensor
    )
    element = etree.SubElement(
        body,
        "joint",
        name=joint.name,
        type="slide" if joint.prismatic else "hinge",
        axis=number_text(joint.axis),
        range=number_text((joint.lower, joint.upper)),
        armature=number_text(joint.rotor_inertia),
        damping=number_text(joint.friction.Fv),
        frictionloss=number_text(joint.friction.Fc),
    )
    if np.isfinite(joint.effort):
        element.set("actuatorfrcrange", number_text((-joint.effort, joint.effort)))
    for shape in link.shapes:
        _write_geom(body, assets, shape, path, notes)
    return body


def _write_geom(
    body: etree._Element, assets: etree._Element, shape: GeometryShape, path: Path, notes: list[str]
) -> None:
    values = _placed(shape.T_body_shape)
    match shape.kind:
        case "box":
            values |= {"type": "box", "size": number_text([0.5 * s for s in shape.size])}
        case "cylinder" | "capsule":
            radius, length = shape.size
            values |= {"type": shape.kind, "size": number_text([radius, 0.5 * length])}
        case "sphere":
            values |= {"type": "sphere", "size": number_text(shape.size)}
        case _:
            name = _mesh_asset(assets, shape, path, notes)
            if name is None:
                return
            values |= {"type": "mesh", "mesh": name}
    if shape.collision:
        values |= {"group": COLLISION}
    else:
        color = number_text(shape.rgba)
        values |= {"group": VISUAL, "contype": "0", "conaffinity": "0", "rgba": color}
    etree.SubElement(body, "geom", **values)


def _mesh_asset(
    assets: etree._Element, shape: GeometryShape, path: Path, notes: list[str]
) -> str | None:
    """Return the asset of a mesh, added if it is new; None if MuJoCo cannot read the file."""
    file = shape.mesh
    if file is None or not file.is_file() or file.suffix.lower() not in READABLE_MESHES:
        note = f"mesh left out, MuJoCo reads {', '.join(READABLE_MESHES)} only: {file}"
        if note not in notes:
            notes.append(note)
        return None
    where = Path(os.path.relpath(file.resolve(), path.resolve().parent)).as_posix()
    scale = number_text(shape.size)
    for mesh in assets:
        if (mesh.get("file"), mesh.get("scale")) == (where, scale):
            return str(mesh.get("name"))
    name = f"mesh_{len(assets)}"
    etree.SubElement(assets, "mesh", name=name, file=where, scale=scale)
    return name


def _write_motors(root: etree._Element, robot: Robot) -> None:
    actuators = etree.SubElement(root, "actuator")
    for joint in robot.joints:
        motor = etree.SubElement(actuators, "motor", name=joint.name, joint=joint.name)
        if np.isfinite(joint.effort):
            motor.set("ctrlrange", number_text((-joint.effort, joint.effort)))


def _placed(T: Float2D) -> dict[str, str]:
    """Return position and unit quaternion (w x y z) of a frame."""
    quaternion = Rotation.from_matrix(T[:3, :3]).as_quat(canonical=True, scalar_first=True)
    return {"pos": number_text(T[:3, 3]), "quat": number_text(quaternion)}
