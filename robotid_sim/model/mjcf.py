"""Writing a robot as MJCF, the format of MuJoCo, and the remaining data as TOML.

MuJoCo has rotor inertia (``armature``), viscous (``damping``) and Coulomb friction
(``frictionloss``, without smoothing) and springs (``stiffness`` about ``springref``); other terms
of joints are noted. Friction offsets, the friction constant `eps`, limits of velocity and
acceleration and the ends of the chain go into a TOML file beside it, which
`robotid_sim.model.mjcf_reader` reads.
"""

from pathlib import Path

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float2D
from robotid_sim.errors import FileFormatError, MissingExtraError, OptionError
from robotid_sim.files import atomic_path
from robotid_sim.inputs import real_path
from robotid_sim.model import inertia
from robotid_sim.model.geometry import GeometryShape, number_text, require_mesh
from robotid_sim.model.joint_terms import describe_omissions, linear_springs, remove_linear_springs
from robotid_sim.model.mesh_files import MESH_FOLDER, MUJOCO_MESH_SUFFIXES, MeshFolder, MeshMode
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import mesh_folder, require_side_car, write_side_car
from robotid_sim.model.solid import read_mesh

VISUAL, COLLISION = "2", "3"
"""Groups of geoms that MuJoCo's viewer shows or hides."""

TRIANGLE_MARGIN = 1e-9
"""Smallest relative triangle margin that is written; MuJoCo refuses negative margins."""


def write_mjcf(
    robot: Robot, path: str | Path, *, meshes: MeshMode = MeshMode.COPY
) -> tuple[str, ...]:
    """Write `robot` as MJCF and, in a ``.toml`` file beside it, data that MJCF cannot represent.

    Copied meshes that MuJoCo does not read, such as Collada, are converted to STL. Returns a list
    of data that could not be written, such as missing meshes.

    Raises `InconsistentInertiaError` if a body has parameters that no rigid body can have,
    `OptionError` if meshes are requested as in a ROS package, which MJCF does not support, and
    `FileFormatError` if a file cannot be written, or a different file has the name of its side car.
    """
    if meshes is MeshMode.PACKAGE:
        raise OptionError("MJCF does not support packages; choose --meshes copy or keep")
    folder = mesh_folder(robot, path, massless="it has no mass, which MuJoCo requires")
    require_side_car(path)
    root = etree.Element("mujoco", model=robot.name)
    compiler = etree.SubElement(root, "compiler", angle="radian", autolimits="true")
    if meshes is MeshMode.COPY:
        compiler.set("meshdir", MESH_FOLDER)
    etree.SubElement(root, "option", gravity=number_text(robot.gravity))
    assets = etree.SubElement(root, "asset")
    world = etree.SubElement(root, "worldbody")
    parent = world
    for k in range(robot.dof):
        parent = _write_body(parent, robot, k)
        for shape in robot.links[k].shapes:
            _write_geom(parent, assets, shape, folder, meshes)
    etree.SubElement(parent, "site", name=robot.tip, **_pose_attributes(robot.T_last_tip))
    actuators = etree.SubElement(root, "actuator")
    for joint in robot.joints:
        motor = etree.SubElement(actuators, "motor", name=joint.name, joint=joint.name)
        if np.isfinite(joint.effort):
            motor.set("ctrlrange", number_text((-joint.effort, joint.effort)))
    etree.indent(root, "  ")
    with atomic_path(path) as temporary:
        etree.ElementTree(root).write(str(temporary), xml_declaration=True, encoding="utf-8")
        folder.save()
    write_side_car(robot, path, ("Fo", "eps", "velocity", "acceleration"))
    points = [link.name for link in robot.links if inertia.is_point(link.phi)]
    notes = [f"written with a radius of gyration of 1 mm, for MuJoCo: {', '.join(points)}"]
    return (
        *notes[: len(points)],
        *folder.notes,
        *describe_omissions(remove_linear_springs(robot.terms)),
    )


def _write_body(parent: etree._Element, robot: Robot, k: int) -> etree._Element:
    link, joint = robot.links[k], robot.joints[k]
    body = etree.SubElement(
        parent, "body", name=link.name, **_pose_attributes(joint.T_parent_joint)
    )
    phi = inertia.add_extent(link.phi)
    if inertia.triangle_margin(phi) < TRIANGLE_MARGIN:
        phi = inertia.nearest_consistent(phi, margin=2.0 * TRIANGLE_MARGIN)
    mass, com, central = inertia.unpack(phi)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = central.tolist()
    tensor = number_text((xx, yy, zz, xy, xz, yz))  # order of MuJoCo
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
    if spring := linear_springs(robot.terms).get(joint.name):
        element.set("stiffness", number_text(spring.stiffness))
        element.set("springref", number_text(spring.rest))
    if np.isfinite(joint.effort):
        element.set("actuatorfrcrange", number_text((-joint.effort, joint.effort)))
    return body


def _write_geom(
    body: etree._Element,
    assets: etree._Element,
    shape: GeometryShape,
    folder: MeshFolder,
    mode: MeshMode,
) -> None:
    values = _pose_attributes(shape.T_body_shape)
    match shape.kind:
        case "box":
            values |= {"type": "box", "size": number_text([0.5 * s for s in shape.size])}
        case "cylinder" | "capsule":
            radius, length = shape.size
            values |= {"type": shape.kind, "size": number_text([radius, 0.5 * length])}
        case "sphere":
            values |= {"type": "sphere", "size": number_text(shape.size)}
        case _:
            name = _mesh_asset(assets, shape, folder, mode)
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
    assets: etree._Element, shape: GeometryShape, folder: MeshFolder, mode: MeshMode
) -> str | None:
    """Return the asset of a mesh, added if it is new; None if MuJoCo cannot read it."""
    assert shape.mesh is not None
    try:
        require_mesh(shape, "the robot")
        if mode is MeshMode.COPY and shape.mesh.suffix.lower() in MUJOCO_MESH_SUFFIXES:
            file_name = folder.add(shape.mesh)
        elif mode is MeshMode.COPY:
            file_name = folder.place(f"{shape.mesh.stem}.stl", read_mesh(shape.mesh).stl())
        elif shape.mesh.suffix.lower() in MUJOCO_MESH_SUFFIXES:
            file_name = real_path(shape.mesh).as_posix()
        else:
            raise FileFormatError(f"MuJoCo reads {', '.join(MUJOCO_MESH_SUFFIXES)} only")
    except (FileFormatError, MissingExtraError) as error:
        folder.add_note(str(shape.mesh), f"is omitted: {error}")
        return None
    scale = number_text(shape.size)
    for mesh in assets:
        if (mesh.get("file"), mesh.get("scale")) == (file_name, scale):
            return str(mesh.get("name"))
    name = f"mesh_{len(assets)}"
    etree.SubElement(assets, "mesh", name=name, file=file_name, scale=scale)
    return name


def _pose_attributes(T: Float2D) -> dict[str, str]:
    """Return position and unit quaternion (w x y z) of a frame."""
    quaternion = Rotation.from_matrix(T[:3, :3]).as_quat(canonical=True, scalar_first=True)
    return {"pos": number_text(T[:3, 3]), "quat": number_text(quaternion)}
