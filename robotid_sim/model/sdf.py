"""Writing a robot as SDF, the format of Gazebo, and the remaining data as TOML.

Poses of links are in the frame of the model with all joints at zero, so that readers of every
version of SDF place them equally. The base is fixed to the world.
"""

from pathlib import Path

import numpy as np
from lxml import etree

from robotid_sim.arrays import Float2D
from robotid_sim.files import atomic_path
from robotid_sim.inputs import real_path
from robotid_sim.model import inertia
from robotid_sim.model.geometry import GeometryShape, number_text, rpy_from_rotation
from robotid_sim.model.joint_terms import describe_omissions, linear_springs, remove_linear_springs
from robotid_sim.model.mesh_files import MESH_FOLDER, MeshFolder, MeshMode
from robotid_sim.model.robot import STANDARD_GRAVITY, Robot
from robotid_sim.model.side_car import base_shapes, mesh_folder, require_side_car, write_side_car

SDF_VERSION = "1.9"

TRIANGLE_MARGIN = 1e-9
"""Smallest relative triangle margin that is written; physics engines refuse a negative one."""


def write_sdf(
    robot: Robot, path: str | Path, *, meshes: MeshMode = MeshMode.COPY
) -> tuple[str, ...]:
    """Write `robot` as a model in SDF, and a side car ``.toml`` with the rest.

    Viscous and Coulomb friction are ``<damping>`` and ``<friction>`` of the joints, a spring is
    ``<spring_stiffness>`` about ``<spring_reference>``; other terms of joints are noted. Meshes of
    a package are named by ``model://``, as Gazebo finds them. Returns data that could not be
    written, one sentence each.

    Raises `InconsistentInertiaError` if a body has parameters that no rigid body can have, or no
    mass, `FileFormatError` if a file cannot be written, or a different file has the name of its
    side car.
    """
    folder = mesh_folder(robot, path, massless="it has no mass, which SDF requires")
    require_side_car(path)
    root = etree.Element("sdf", version=SDF_VERSION)
    model = etree.SubElement(root, "model", name=robot.name)
    base = robot.base if robot.document is None else robot.document.root
    ground = etree.SubElement(model, "link", name=base)
    _write_shapes(ground, base_shapes(robot), folder, meshes)
    _write_ends(model, f"{base}_to_world", "fixed", "world", base)
    T, parent = np.eye(4), base
    for k, link in enumerate(robot.links):
        T = T @ robot.joints[k].T_parent_joint
        element = etree.SubElement(model, "link", name=link.name)
        _text(element, "pose", _pose(T))
        phi = link.phi
        if inertia.triangle_margin(phi) < TRIANGLE_MARGIN:
            phi = inertia.nearest_consistent(phi, margin=2.0 * TRIANGLE_MARGIN)
        mass, com, central = inertia.unpack(phi)
        inertial = etree.SubElement(element, "inertial")
        _text(inertial, "pose", f"{number_text(com)} 0 0 0")
        _text(inertial, "mass", number_text(mass))
        tensor = etree.SubElement(inertial, "inertia")
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        for key, value in zip(keys, central[np.triu_indices(3)], strict=True):
            _text(tensor, key, number_text(value))
        _write_shapes(element, link.shapes, folder, meshes)
        _write_joint(model, robot, k, parent)
        parent = link.name
    if robot.tip not in (base, *(link.name for link in robot.links)):
        frame = etree.SubElement(model, "frame", name=robot.tip, attached_to=parent)
        _text(frame, "pose", _pose(robot.T_last_tip))
    etree.indent(root, "  ")
    with atomic_path(path) as temporary:
        etree.ElementTree(root).write(str(temporary), xml_declaration=True, encoding="utf-8")
        folder.save()
    write_side_car(robot, path, ("Ia", "Fo", "eps", "acceleration"))
    return (*folder.notes, *_list_losses(robot))


def _list_losses(robot: Robot) -> list[str]:
    sentences = []
    rotors = [joint.name for joint in robot.joints if joint.rotor_inertia > 0.0]
    if rotors:
        sentences.append(f"SDF cannot represent the rotor inertia of {', '.join(rotors)}.")
    sentences += describe_omissions(remove_linear_springs(robot.terms))
    if not np.array_equal(robot.gravity, STANDARD_GRAVITY):
        gravity = ", ".join(f"{g:g}" for g in robot.gravity)
        sentences.append(f"Gravity ({gravity}) m/s^2 belongs to the world, not to the model.")
    return sentences


def _write_joint(model: etree._Element, robot: Robot, k: int, parent: str) -> None:
    joint = robot.joints[k]
    source = None if robot.document is None else robot.document.joints[joint.name].kind
    endless = source == "continuous"
    kind = "prismatic" if joint.prismatic else "continuous" if endless else "revolute"
    element = _write_ends(model, joint.name, kind, parent, robot.links[k].name)
    axis = etree.SubElement(element, "axis")
    _text(axis, "xyz", number_text(joint.axis))
    values = {} if endless else {"lower": joint.lower, "upper": joint.upper}
    if np.isfinite(joint.effort):
        values["effort"] = joint.effort
    limit = etree.SubElement(axis, "limit")
    for key, value in (values | {"velocity": joint.velocity}).items():
        _text(limit, key, number_text(value))
    dynamics = etree.SubElement(axis, "dynamics")
    _text(dynamics, "damping", number_text(joint.friction.Fv))
    _text(dynamics, "friction", number_text(joint.friction.Fc))
    if spring := linear_springs(robot.terms).get(joint.name):
        _text(dynamics, "spring_reference", number_text(spring.rest))
        _text(dynamics, "spring_stiffness", number_text(spring.stiffness))


def _write_ends(
    model: etree._Element, name: str, kind: str, parent: str, child: str
) -> etree._Element:
    joint = etree.SubElement(model, "joint", name=name, type=kind)
    _text(joint, "parent", parent)
    _text(joint, "child", child)
    return joint


def _write_shapes(
    link: etree._Element, shapes: tuple[GeometryShape, ...], folder: MeshFolder, mode: MeshMode
) -> None:
    for k, shape in enumerate(shapes):
        if shape.mesh is not None and (shape.outside or not shape.mesh.is_file()):
            why = "outside of the folder of its robot" if shape.outside else "missing"
            folder.add_note(str(shape.mesh), f"is {why}, its shape is omitted")
            continue
        tag = "collision" if shape.collision else "visual"
        element = etree.SubElement(link, tag, name=f"{tag}_{k}")
        _text(element, "pose", _pose(shape.T_body_shape))
        body = etree.SubElement(etree.SubElement(element, "geometry"), shape.kind)
        if shape.mesh is not None:
            uri = real_path(shape.mesh).as_uri()
            if mode is not MeshMode.KEEP:
                package = folder.package.replace("package:", "model:", 1)
                place = MESH_FOLDER if mode is MeshMode.COPY else package
                uri = f"{place}/{folder.add(shape.mesh)}"
            _text(body, "uri", uri)
            _text(body, "scale", number_text(shape.size))
        elif shape.kind == "box":
            _text(body, "size", number_text(shape.size))
        else:
            for key, value in zip(("radius", "length"), shape.size, strict=False):
                _text(body, key, number_text(value))
        if not shape.collision:
            material = etree.SubElement(element, "material")
            for key in ("ambient", "diffuse"):
                _text(material, key, number_text(shape.rgba))


def _pose(T: Float2D) -> str:
    return f"{number_text(T[:3, 3])} {number_text(rpy_from_rotation(T[:3, :3]))}"


def _text(parent: etree._Element, tag: str, text: str) -> None:
    etree.SubElement(parent, tag).text = text
