"""Writing a robot as URDF: the file it came from, with only the identified numbers changed.

Tensors are written in full with ``rpy="0 0 0"``, so that every loader reads the same body: MuJoCo
drops the rpy of an ``<inertial>``, and Bullet invents 1 kg for a link without one. Links fixed to a
body get an explicit zero inertial, their mass being part of the fused body.

Rotor inertia is written into ``<transmission>`` elements, where Drake looks for it, because URDF
itself cannot represent it. Drake reads the gear ratio r and the inertia I of the rotor from
the actuator of a transmission; the rotor inertia `Ia` at the joint is r^2 I. If a file gives no
ratio, r is one and I is `Ia`.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from lxml import etree

from robotid_sim.arrays import Float1D
from robotid_sim.files import atomic_path
from robotid_sim.inputs import real_path
from robotid_sim.model import inertia
from robotid_sim.model.chain import select_chain
from robotid_sim.model.geometry import Link, attributes_of, number_text, rpy_from_rotation
from robotid_sim.model.joint_terms import names_of
from robotid_sim.model.mesh_files import (
    MESH_FOLDER,
    MUJOCO_MESH_SUFFIXES,
    MeshFolder,
    MeshMode,
    is_part_of_model,
    resolve_mesh,
)
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import mesh_folder
from robotid_sim.model.urdf import EXTENSION_TAG, parse_urdf
from robotid_sim.model.urdf_xml import parse_xml

XML_INDENT = "  "
TRIANGLE_MARGIN = 1e-6
"""Smallest relative triangle margin that is written; Bullet zeroes a tensor at the boundary."""


def write_urdf(
    robot: Robot, path: str | Path, *, meshes: MeshMode = MeshMode.COPY
) -> tuple[str, ...]:
    """Write `robot` as URDF, atomically, with its meshes beside it; return missing mesh files.

    Comments, visuals, transmissions and the rest of the file that the robot was read from are kept.
    What URDF cannot represent (`Ia`, `Fo`, `eps`, acceleration limit, chain ends) goes into one
    ``<robotid>`` element, which only robotid reads; `Ia` is also written to the
    ``<transmission>`` of its joint. The name of a missing mesh does not change.

    Parameters
    ----------
    robot : Robot
        The robot.
    path : str or Path
        File to write.
    meshes : MeshMode
        Whether meshes are copied, or keep their names, or are named as in a ROS package.

    Returns
    -------
    missing : tuple of str
        Notes on mesh files that are missing, one sentence each.

    Raises
    ------
    InconsistentInertiaError
        If a body has parameters that no rigid body can have.
    FileFormatError
        If a file cannot be written.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "arm.urdf"
    >>> missing = rid.write_urdf(robot, file)
    >>> rid.load_robot(file).joint_names
    ('joint_1', 'joint_2')
    """
    folder, root = mesh_folder(robot, path), _tree(robot)
    _name_meshes(root, robot, folder, meshes)
    with atomic_path(path) as temporary:
        temporary.write_bytes(_text_of(root))
        folder.save()
    return tuple(folder.notes)


def list_urdf_losses(robot: Robot) -> tuple[str, ...]:
    """List properties of a robot that plain URDF cannot represent, one sentence each."""
    largest = max(robot.joints, key=lambda joint: joint.rotor_inertia)
    friction = [joint.friction for joint in robot.joints]
    sentences = []
    if largest.rotor_inertia > 0.0:
        sentences.append(
            f"URDF cannot represent rotor inertia, up to {largest.rotor_inertia:.3g} "
            f"{'kg' if largest.prismatic else 'kg m²'} at {largest.name}: Drake reads it from "
            "<transmission>, MuJoCo from MJCF; PyBullet, Pinocchio and Gazebo omit it."
        )
    if any(law.Fv or law.Fc for law in friction):
        sentences.append(
            "Friction is written to <dynamics>: MuJoCo uses all of it, PyBullet and Drake only the "
            "viscous part; Pinocchio reads it but omits it from the torques."
        )
    if any(law.Fo for law in friction):
        sentences.append("Only robotid reads friction offsets.")
    if robot.terms:
        sentences.append(f"Only robotid reads joint terms: {names_of(robot.terms)}.")
    hulls = [s.mesh for link in robot.links for s in link.shapes if s.collision and s.mesh]
    if unread := sorted({mesh.suffix.lower() for mesh in hulls}.difference(MUJOCO_MESH_SUFFIXES)):
        sentences.append(
            f"MuJoCo refuses collision meshes of the format {', '.join(unread)}: "
            "`robotid export --format mjcf` converts them."
        )
    return tuple(sentences)


def embed_parameters(robot: Robot) -> Robot:
    """Write the parameters of a robot into the text of its file in memory.

    A derived model then has no parameters of the original in its text.
    """
    if robot.document is None:
        return robot
    document = parse_urdf(_text_of(_tree(robot)), robot.document.path)
    return replace(robot, document=document)


def _text_of(root: etree._Element) -> bytes:
    text: bytes = etree.tostring(root.getroottree(), xml_declaration=True, encoding="UTF-8")
    return text


def _tree(robot: Robot) -> etree._Element:
    """Build the XML of the robot's file, or of a minimal file, with the robot's numbers."""
    root = _skeleton(robot)
    if robot.document is not None:
        root = parse_xml(robot.document.xml, robot.document.path)
    for link in robot.links:
        _write_body(root, robot, link)
    for k in range(robot.dof):
        _write_joint(root, robot, k)
    for transmission in write_rotor_inertia(root, robot):
        _indent(transmission, level=1)
    old = root.find(EXTENSION_TAG)
    element = etree.SubElement(root, EXTENSION_TAG) if old is None else old
    element.set("base", robot.base)
    element.set("tip", robot.tip)
    for joint in robot.joints:
        matching = [e for e in element.findall("joint") if e.get("name") == joint.name]
        entry = matching[0] if matching else etree.SubElement(element, "joint", name=joint.name)
        entry.set("Ia", number_text(joint.rotor_inertia))
        entry.set("Fo", number_text(joint.friction.Fo))
        entry.set("eps", number_text(joint.friction.eps))
        entry.set("acceleration", number_text(joint.acceleration))
    for entry in element.findall("term"):
        element.remove(entry)
    for term in robot.terms:
        etree.SubElement(element, "term", attributes_of(term))
    _indent(element, level=1)
    return root


def _skeleton(robot: Robot) -> etree._Element:
    """Build a minimal URDF tree for a robot that was not read from a file."""
    root = etree.Element("robot", name=robot.name)
    etree.SubElement(root, "link", name=robot.base)
    names = [link.name for link in robot.links]
    chain_joints = [
        (name, joint.name, "prismatic" if joint.prismatic else "revolute", joint.T_parent_joint)
        for name, joint in zip(names, robot.joints, strict=True)
    ]
    if robot.tip not in names:
        chain_joints.append((robot.tip, f"{robot.tip}_fixed", "fixed", robot.T_last_tip))
    parent = robot.base
    for k, (child, name, kind, T) in enumerate(chain_joints):
        etree.SubElement(root, "link", name=child)
        element = etree.SubElement(root, "joint", name=name, type=kind)
        rpy = rpy_from_rotation(T[:3, :3])
        etree.SubElement(element, "origin", xyz=number_text(T[:3, 3]), rpy=number_text(rpy))
        etree.SubElement(element, "parent", link=parent)
        etree.SubElement(element, "child", link=child)
        if k < robot.dof:
            etree.SubElement(element, "axis", xyz=number_text(robot.joints[k].axis))
        parent = child
    etree.indent(root, XML_INDENT)
    return root


def _write_body(root: etree._Element, robot: Robot, link: Link) -> None:
    phi = np.array(link.phi)
    if link.locked and robot.document is not None:
        # Contribution of links behind locked joints, as in the file, to the body.
        chain = select_chain(robot.document, robot.base, robot.tip)
        phi -= next(b for b in chain.bodies if b.joint.child == link.name).phi_locked
        if inertia.inconsistency(phi) is None:
            _write_inertial(root, link.name, phi)
        else:  # the link alone would be physically inconsistent: make the locked joints rigid
            for joint in root.findall("joint"):
                child = joint.find("child")
                if child is not None and child.get("link") in link.locked:
                    joint.set("type", "fixed")
            _write_inertial(root, link.name, np.array(link.phi))
            for name in link.locked:
                _write_inertial(root, name, np.zeros(10))
    else:
        _write_inertial(root, link.name, phi)
    for name in link.fixed:
        _write_inertial(root, name, np.zeros(10))


def _write_inertial(root: etree._Element, name: str, phi: Float1D) -> None:
    element = next(e for e in root.findall("link") if e.get("name") == name)
    for old in element.findall("inertial"):
        element.remove(old)
    if phi[0] > 0.0 and inertia.triangle_margin(phi) < TRIANGLE_MARGIN:
        phi = inertia.nearest_consistent(phi, margin=2.0 * TRIANGLE_MARGIN)
    inertial = inertial_element(phi)
    element.insert(0, inertial)
    _indent(inertial, level=2)
    if len(element) == 1:
        element.text, inertial.tail = "\n" + 2 * XML_INDENT, "\n" + XML_INDENT


def inertial_element(phi: Float1D) -> etree._Element:
    """Return ten parameters as the ``<inertial>`` of a URDF, with the axes of the link."""
    mass, com, central = inertia.unpack(phi)
    element = etree.Element("inertial")
    etree.SubElement(element, "origin", xyz=number_text(com), rpy="0 0 0")
    etree.SubElement(element, "mass", value=number_text(mass))
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = map(number_text, central[np.triu_indices(3)])
    etree.SubElement(element, "inertia", dict(zip(keys, values, strict=True)))
    return element


def _write_joint(root: etree._Element, robot: Robot, k: int) -> None:
    joint = robot.joints[k]
    element = next(e for e in root.findall("joint") if e.get("name") == joint.name)
    dynamics = _child(element, "dynamics")
    dynamics.set("damping", number_text(joint.friction.Fv))
    dynamics.set("friction", number_text(joint.friction.Fc))
    file_values = {} if robot.document is None else robot.document.joints[joint.name].limits
    values = {"velocity": joint.velocity}
    if element.get("type") != "continuous":
        values |= {"lower": joint.lower, "upper": joint.upper}
    if np.isfinite(joint.effort):
        values["effort"] = joint.effort
    elif file_values.get("effort") != 0.0:
        values["effort"] = 0.0  # no limit
    limit = _child(element, "limit")
    for key, value in values.items():
        if file_values.get(key) != value:
            limit.set(key, number_text(value))


def _name_meshes(root: etree._Element, robot: Robot, folder: MeshFolder, mode: MeshMode) -> None:
    """Make the paths of meshes and textures relative to the URDF that is written."""
    if robot.document is None:
        return
    source = robot.document.path
    moves = real_path(source).parent != folder.folder.parent
    for element in root.iter("mesh", "texture"):
        name = element.get("filename", "")
        file, outside = resolve_mesh(name, source)
        if mode is MeshMode.KEEP:
            if moves and "://" not in name:
                element.set("filename", real_path(file).as_posix())
        elif not outside and is_part_of_model(file):
            place = folder.package if mode is MeshMode.PACKAGE else MESH_FOLDER
            element.set("filename", f"{place}/{folder.add(file)}")
        else:
            folder.add_note(name, *(["is outside its folder, its name is kept"] if outside else []))
    if folder.has_files:  # MuJoCo takes the names without their folders
        settings = _child(root, "mujoco")
        compiler = _child(settings, "compiler")
        compiler.attrib.update({"meshdir": MESH_FOLDER, "strippath": "true"})
        _indent(settings, level=1)


def _indent(element: etree._Element, level: int) -> None:
    """Lay out a new element without touching the rest of the file."""
    etree.indent(element, XML_INDENT, level=level)
    if not (element.tail or "").strip():
        last, before = element.getnext() is None, element.getprevious()
        element.tail = "\n" + XML_INDENT * (level - 1 if last else level)
        if before is not None and not (before.tail or "").strip():
            before.tail = "\n" + XML_INDENT * level


def _child(element: etree._Element, tag: str) -> etree._Element:
    child = element.find(tag)
    return etree.SubElement(element, tag) if child is None else child


DRAKE_NAMESPACE = "http://drake.mit.edu"
TRANSMISSION_TYPE = "transmission_interface/SimpleTransmission"
HARDWARE_INTERFACE = "hardware_interface/EffortJointInterface"


def write_rotor_inertia(root: etree._Element, robot: Robot) -> list[etree._Element]:
    """Add rotor inertia to the actuators of joints; return the added transmissions.

    If any joint has a rotor, every joint gets an actuator: Drake drives no joint without actuator.
    """
    added, has_rotor = [], any(joint.rotor_inertia > 0.0 for joint in robot.joints)
    for joint in robot.joints:
        actuator = _actuator(root, joint.name)
        if actuator is None and has_rotor:
            names = {element.get("name") for element in root.findall("transmission")}
            name = f"{joint.name}_transmission"
            while name in names:
                name += "_"
            transmission = etree.SubElement(root, "transmission", name=name)
            etree.SubElement(transmission, "type").text = TRANSMISSION_TYPE
            moved = etree.SubElement(transmission, "joint", name=joint.name)
            etree.SubElement(moved, "hardwareInterface").text = HARDWARE_INTERFACE
            actuator = etree.SubElement(transmission, "actuator", name=f"{joint.name}_motor")
            etree.SubElement(actuator, "mechanicalReduction").text = "1"
            added.append(actuator.getparent())
        if actuator is not None:
            ratio = _gear_ratio(actuator)
            _set(actuator, "gear_ratio", ratio)
            _set(actuator, "rotor_inertia", joint.rotor_inertia / ratio**2)
    return added


def _actuator(root: etree._Element, joint: str) -> etree._Element | None:
    """Return the actuator of the transmission that moves only this joint; None if there is none."""
    for transmission in root.findall("transmission"):
        moved = [e.get("name") for e in transmission.findall("joint")]
        actuators = transmission.findall("actuator")
        if moved == [joint] and len(actuators) == 1:
            return actuators[0]
    return None


def _gear_ratio(actuator: etree._Element) -> float:
    """Return the gear ratio that the file gives; 1 if there is none."""
    entry = _entry(actuator, "gear_ratio")
    file_values = None if entry is None else entry.get("value")
    for text in (file_values, actuator.findtext("mechanicalReduction")):
        try:
            ratio = abs(float(text or ""))
        except ValueError:
            continue
        if 0.0 < ratio < float("inf"):
            return ratio
    return 1.0


def _set(actuator: etree._Element, key: str, value: float) -> None:
    entry = _entry(actuator, key)
    if entry is None:
        entry = etree.SubElement(
            actuator, f"{{{DRAKE_NAMESPACE}}}{key}", nsmap={"drake": DRAKE_NAMESPACE}
        )
    entry.set("value", number_text(value))


def _entry(actuator: etree._Element, key: str) -> etree._Element | None:
    return next((e for e in actuator.iter("{*}*") if etree.QName(e).localname == key), None)
