"""Reading URDF text into a validated tree; every error names file, line and element.

Only the file itself is read: no entities, no network, no included files. Meshes are resolved to
paths but not opened.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
from lxml import etree

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import UrdfError
from robotid_sim.inputs import MAX_XML_SIZE, read_file
from robotid_sim.model import inertia
from robotid_sim.model.geometry import (
    GeometryShape,
    check_elements,
    rotation_from_rpy,
    terms_in,
    transform,
)
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.mesh_files import resolve_mesh
from robotid_sim.model.urdf_xml import line_of, parse_xml
from robotid_sim.model.xacro_files import XACRO_SUFFIX, expand_xacro
from robotid_sim.representation import public_value

V = TypeVar("V")

MOVABLE_KINDS = ("revolute", "continuous", "prismatic")
JOINT_KINDS = (*MOVABLE_KINDS, "fixed", "floating", "planar")
EXTENSION_TAG = "robotid"
"""Top-level element that holds what URDF cannot represent: chain ends, and keys of a joint."""

MAX_LINKS = 1000
"""Maximum number of links of a robot, moving or not."""

EXTENSION_KEYS = ("Ia", "Fo", "eps", "acceleration")


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class UrdfLink:
    """A ``<link>``: its inertial parameters about the link frame and its shapes."""

    name: str
    line: int
    phi: Float1D
    shapes: tuple[GeometryShape, ...]


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class UrdfJoint:
    """A ``<joint>``; `limits` and `dynamics` contain only the values that the file gives."""

    name: str
    line: int
    kind: str
    parent: str
    child: str
    T_parent_joint: Float2D
    axis: Float1D
    limits: dict[str, float] = field(default_factory=dict)
    dynamics: dict[str, float] = field(default_factory=dict)
    mimic: str = ""
    """Name of the joint that it mimics; empty if none."""

    @property
    def is_movable(self) -> bool:
        """Whether the joint can move, mimic joints included."""
        return self.kind != "fixed"


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class UrdfDocument:
    """A URDF whose links and joints form one tree."""

    path: Path
    xml: bytes
    name: str
    root: str
    links: dict[str, UrdfLink]
    joints: dict[str, UrdfJoint]
    base: str | None = None
    """First link of the chain, if the file states it; `tip` is the last one."""
    tip: str | None = None
    terms: tuple[JointTerm, ...] = ()
    """Joint terms that the file states."""
    format: str = "URDF"
    """Format of the file that it was read from; `xml` is always a URDF."""
    gravity: tuple[float, ...] | None = None
    """Gravity that the file states [m/s^2]."""
    notes: tuple[str, ...] = ()
    """Elements of the file without a counterpart, one sentence each."""

    def joints_below(self, link: str) -> list[UrdfJoint]:
        """Return the joints whose parent is `link`, in the order of the file."""
        return [joint for joint in self.joints.values() if joint.parent == link]

    def fail(self, line: int, text: str) -> NoReturn:
        """Raise a UrdfError that names file and line."""
        raise UrdfError(f"{self.where(line)}: {text}")

    def where(self, line: int) -> str:
        """Return file and line for a message; the file alone where there is no line."""
        return f"{self.path}:{line}" if line else str(self.path)


def read_urdf(path: str | Path, arguments: Mapping[str, str] | None = None) -> UrdfDocument:
    """Read and validate a URDF file; a xacro file is expanded with `arguments`.

    Raises `UrdfError` if the file cannot be read, or its links and joints do not form one tree of
    bodies with numbers that are finite.
    """
    file = Path(path)
    try:
        xml = read_file(file, MAX_XML_SIZE)
    except OSError as error:
        raise UrdfError(f"cannot read URDF {file}: {error.strerror}") from error
    if file.suffix == XACRO_SUFFIX:
        xml = expand_xacro(file, arguments or {})
    return parse_urdf(xml, file)


def parse_urdf(xml: bytes, file: Path) -> UrdfDocument:
    """Validate the text of a URDF; see `read_urdf`."""
    root = parse_xml(xml, file)
    reader = _Reader(file, root)
    if (count := len(root.findall("link"))) > MAX_LINKS:
        reader.fail(root, f"the robot has {count} links, at most {MAX_LINKS} are read; remove some")
    notes = check_elements(root, file)
    links = reader.unique(root.findall("link"), reader.link, "link")
    joints = reader.unique(root.findall("joint"), reader.joint, "joint")
    reader.mimics(root, joints)
    reader.extension(root, joints)
    terms = terms_in(root.findall(f"{EXTENSION_TAG}/term"), list(joints), reader.fail)
    base = reader.tree_root(links, joints, line_of(root))
    name = root.get("name") or file.stem
    if not name.isprintable():
        reader.fail(root, f"the robot's name {name!r} has control characters; rename it")
    ends = root.find(EXTENSION_TAG)
    first, tip = (None, None) if ends is None else (ends.get("base"), ends.get("tip"))
    return UrdfDocument(
        file, xml, name, base, links, joints, first, tip, terms, notes=(*notes, *reader.notes)
    )


class _Reader:
    """Turns elements into values; remembers the file for the messages."""

    def __init__(self, path: Path, root: etree._Element) -> None:
        self.path = path
        self.notes: list[str] = []
        self.materials = {m.get("name"): m for m in root.findall("material")}

    def fail(self, element: etree._Element | int, text: str) -> NoReturn:
        line = element if isinstance(element, int) else line_of(element)
        raise UrdfError(f"{self.path}:{line}: {text}")

    def unique(
        self, elements: list[etree._Element], read: Callable[[etree._Element, str], V], tag: str
    ) -> dict[str, V]:
        values: dict[str, V] = {}
        for element in elements:
            name = element.get("name")
            if not name:
                self.fail(element, f"<{tag}> has no name")
            if not name.isprintable():
                self.fail(element, f"{tag} name {name!r} has control characters; rename it")
            if name in values:
                self.fail(element, f"duplicate {tag} name '{name}'; rename one of them")
            values[name] = read(element, name)
        return values

    def number(self, element: etree._Element, key: str, owner: str, default: float | None) -> float:
        text = element.get(key)
        if text is None:
            if default is None:
                self.fail(element, f"{owner}: <{element.tag}> has no attribute '{key}'")
            return default
        return self.numbers(element, key, owner, text, 1)[0]

    def numbers(
        self, element: etree._Element, key: str, owner: str, text: str, count: int
    ) -> list[float]:
        try:
            # Reject "1_0", which float accepts.
            values = [float(word.replace("_", "?")) for word in text.split()]
        except ValueError:
            hint = "; name it .urdf.xacro to expand it" if "$" in text else ""
            self.fail(element, f"{owner}: {element.tag} {key}='{text}' is not numeric{hint}")
        if len(values) != count:
            self.fail(element, f"{owner}: {element.tag} {key}='{text}' needs {count} number(s)")
        if not all(math.isfinite(v) for v in values):
            self.fail(element, f"{owner}: {element.tag} {key}='{text}' is not finite")
        return values

    def vector(
        self, element: etree._Element, key: str, owner: str, default: tuple[float, ...]
    ) -> Float1D:
        text = element.get(key)
        if text is None:
            return np.array(default)
        return np.array(self.numbers(element, key, owner, text, len(default)))

    def origin(self, parent: etree._Element, owner: str) -> Float2D:
        element = parent.find("origin")
        if element is None:
            return np.eye(4)
        xyz = self.vector(element, "xyz", owner, (0.0, 0.0, 0.0))
        rpy = self.vector(element, "rpy", owner, (0.0, 0.0, 0.0))
        return transform(rotation_from_rpy(rpy), xyz)

    def link(self, element: etree._Element, name: str) -> UrdfLink:
        owner = f"link '{name}'"
        inertial = element.find("inertial")
        phi = np.zeros(10) if inertial is None else self.inertial(inertial, owner)
        shapes = []
        for each in (*element.findall("visual"), *element.findall("collision")):
            try:
                shapes.append(self.shape(each, owner))
            except UrdfError as error:  # shapes do not matter to the dynamics
                self.notes.append(f"a shape that cannot be read is omitted: {error}")
        return UrdfLink(name, line_of(element), phi, tuple(filter(None, shapes)))

    def inertial(self, element: etree._Element, owner: str) -> Float1D:
        mass_element, tensor = element.find("mass"), element.find("inertia")
        if mass_element is None:
            self.fail(element, f"{owner}: <inertial> has no <mass>")
        mass = self.number(mass_element, "value", owner, None)
        if mass < 0.0:
            self.fail(mass_element, f"{owner}: the mass is negative ({mass:g} kg)")
        values = [0.0] * 6
        if tensor is not None:
            keys = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")
            values = [self.number(tensor, k, owner, 0.0) for k in keys]
        about_com = inertia.inertia_matrix(np.array([0.0] * 4 + values))
        in_com_frame = inertia.pack(mass, np.zeros(3), about_com)
        return inertia.transform(in_com_frame, self.origin(element, owner))

    def shape(self, element: etree._Element, owner: str) -> GeometryShape | None:
        geometry = element.find("geometry")
        if geometry is None or len(geometry) == 0:
            self.fail(element, f"{owner}: <{element.tag}> has no geometry")
        body = next(iter(geometry.iterchildren("*")), None)
        if body is None:
            return None
        mesh, outside = None, False
        match body.tag:
            case "box":
                size = tuple(self.vector(body, "size", owner, (0.0, 0.0, 0.0)))
            case "cylinder" | "capsule":
                size = tuple(self.number(body, k, owner, None) for k in ("radius", "length"))
            case "sphere":
                size = (self.number(body, "radius", owner, None),)
            case "mesh":
                if not body.get("filename"):
                    self.fail(body, f"{owner}: <mesh> has no filename")
                mesh, outside = resolve_mesh(str(body.get("filename")), self.path)
                size = tuple(self.vector(body, "scale", owner, (1.0, 1.0, 1.0)))
            case _:
                return None
        placed, rgba = self.origin(element, owner), self.color(element, owner)
        sizes, collision = tuple(map(float, size)), element.tag == "collision"
        return GeometryShape(str(body.tag), sizes, placed, mesh, rgba, collision, outside)

    def color(self, element: etree._Element, owner: str) -> tuple[float, float, float, float]:
        """Return the color of a shape, by its own material or by the name of a shared one."""
        grey = (0.7, 0.7, 0.7, 1.0)
        material = element.find("material")
        if material is not None and material.find("color") is None:
            material = self.materials.get(material.get("name"))
        color = None if material is None else material.find("color")
        if color is None:
            return grey
        red, green, blue, alpha = (float(v) for v in self.vector(color, "rgba", owner, grey))
        return red, green, blue, alpha

    def joint(self, element: etree._Element, name: str) -> UrdfJoint:
        owner = f"joint '{name}'"
        kind = element.get("type", "")
        if kind not in JOINT_KINDS:
            self.fail(element, f"{owner}: unknown type '{kind}'; known: {', '.join(JOINT_KINDS)}")
        ends = {}
        for tag in ("parent", "child"):
            end = element.find(tag)
            if end is None or not end.get("link"):
                self.fail(element, f"{owner}: no <{tag} link=…>")
            ends[tag] = str(end.get("link"))
        axis = np.array([1.0, 0.0, 0.0])
        axis_element = element.find("axis")
        if axis_element is not None:
            axis = self.vector(axis_element, "xyz", owner, (1.0, 0.0, 0.0))
        if kind in MOVABLE_KINDS:
            length = float(np.linalg.norm(axis))
            if length < 1e-9:
                self.fail(element, f"{owner}: the axis is zero; give a direction such as '0 0 1'")
            axis = axis / length
        mimic = element.find("mimic")
        return UrdfJoint(
            name=name,
            line=line_of(element),
            kind=kind,
            parent=ends["parent"],
            child=ends["child"],
            T_parent_joint=self.origin(element, owner),
            axis=axis,
            limits=self.table(element, "limit", ("lower", "upper", "velocity", "effort"), owner),
            dynamics=self.table(element, "dynamics", ("damping", "friction"), owner),
            mimic="" if mimic is None else mimic.get("joint", "another joint"),
        )

    def table(
        self, parent: etree._Element, tag: str, keys: tuple[str, ...], owner: str
    ) -> dict[str, float]:
        element = parent.find(tag)
        if element is None:
            return {}
        stated = [key for key in keys if element.get(key) is not None]
        return {key: self.number(element, key, owner, None) for key in stated}

    def mimics(self, root: etree._Element, joints: dict[str, UrdfJoint]) -> None:
        """Raise if a joint mimics itself or no joint, or by a factor that is not a number."""
        for element in root.findall("joint/mimic"):
            follower, leader = element.getparent().get("name"), element.get("joint", "")
            if leader not in joints or leader == follower:
                self.fail(
                    element,
                    f"joint '{follower}' mimics '{leader}', which is not another joint; name one",
                )
            for key in ("multiplier", "offset"):
                self.number(element, key, f"joint '{follower}'", 1.0)

    def extension(self, root: etree._Element, joints: dict[str, UrdfJoint]) -> None:
        for element in root.findall(f"{EXTENSION_TAG}/joint"):
            name = element.get("name", "")
            if name not in joints:
                self.fail(element, f"<{EXTENSION_TAG}> names the unknown joint '{name}'")
            for key in element.attrib:
                if key not in ("name", *EXTENSION_KEYS):
                    names = ", ".join(EXTENSION_KEYS)
                    self.fail(
                        element,
                        f"<{EXTENSION_TAG}> joint '{name}': unknown '{key}'; known: {names}",
                    )
            keys = [key for key in EXTENSION_KEYS if element.get(key) is not None]
            owner = f"joint '{name}'"
            joints[name].dynamics.update({k: self.number(element, k, owner, None) for k in keys})

    def tree_root(self, links: dict[str, UrdfLink], joints: dict[str, UrdfJoint], line: int) -> str:
        """Return the root link; raise unless links and joints form one tree."""
        if not links:
            self.fail(line, "the robot has no links")
        parent_joint: dict[str, UrdfJoint] = {}
        for joint in joints.values():
            for role, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in links:
                    text = f"joint '{joint.name}': unknown {role} link '{link}'"
                    self.fail(joint.line, f"{text}; add the link or correct the name")
            if joint.child in parent_joint:
                other = parent_joint[joint.child].name
                text = f"link '{joint.child}' is the child of two joints, '{other}' and"
                self.fail(joint.line, f"{text} '{joint.name}'; a URDF is a tree")
            parent_joint[joint.child] = joint
        roots = [name for name in links if name not in parent_joint]
        if len(roots) > 1:
            listed = ", ".join(f"'{name}' (line {links[name].line})" for name in roots)
            text = f"several root links: {listed}; join them by fixed joints"
            self.fail(links[roots[1]].line, text)
        for name in links:
            path = [name]
            while path[-1] in parent_joint:
                path.append(parent_joint[path[-1]].parent)
                if path[-1] == name:
                    cycle = " -> ".join(reversed(path))
                    self.fail(parent_joint[name].line, f"the links form a cycle: {cycle}")
                if len(path) > len(links):
                    break  # the cycle is further up and is found from its own links
        return roots[0]
