"""Rigid transforms, the shapes that a URDF attaches to links, and a movable body of the chain.

The module also checks a URDF for duplicate elements and for negative or implausible numbers, and
reads the joint terms of the ``<robotid>`` element.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from lxml import etree

from robotid_sim.arrays import ArrayLike, Float1D, Float2D, freeze
from robotid_sim.errors import FileFormatError, OptionError, UrdfError
from robotid_sim.inputs import PACKAGE_PATH_VARIABLE
from robotid_sim.model.joint_terms import JointTerm, require_terms_of
from robotid_sim.model.mesh_files import require_mesh_file
from robotid_sim.model.urdf_xml import is_shown
from robotid_sim.representation import public_value


def transform(rotation: Float2D, translation: Float1D) -> Float2D:
    """Return the homogeneous transform, shape (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def rotation_from_rpy(rpy: Float1D) -> Float2D:
    """Return ``Rz(yaw) Ry(pitch) Rx(roll)``, the URDF's fixed-axis convention [rad]."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(rotation: Float2D) -> Float1D:
    """Return roll, pitch, yaw [rad]; at a pitch of ±90 degrees the roll is zero."""
    cos_pitch = np.hypot(rotation[0, 0], rotation[1, 0])
    pitch = np.arctan2(-rotation[2, 0], cos_pitch)
    if cos_pitch < 1e-9:
        return np.array([0.0, pitch, np.arctan2(-rotation[0, 1], rotation[1, 1])])
    roll = np.arctan2(rotation[2, 1], rotation[2, 2])
    return np.array([roll, pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])


def number_text(values: ArrayLike) -> str:
    """Return numbers as text with all their bits, separated by spaces, without negative zeros."""
    return " ".join(repr(float(value) + 0.0) for value in np.ravel(values))


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class GeometryShape:
    """One visual or collision shape of a movable body."""

    kind: str
    """``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``."""
    size: tuple[float, ...]
    """Box: x, y, z; cylinder and capsule: radius, length; sphere: radius; mesh: scale x, y, z."""
    T_body_shape: Float2D
    """Placement in the frame of the body, shape (4, 4)."""
    mesh: Path | None = None
    """The mesh file, resolved; it need not exist until something draws it."""
    rgba: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)
    """Color."""
    collision: bool = False
    """True for collision geometry, False for visual."""
    outside: bool = False
    """Whether the mesh file is outside the folders of the robot; it is not read."""

    def __post_init__(self) -> None:
        freeze(self, (4, 4), "T_body_shape")


def require_mesh(shape: GeometryShape, owner: str) -> None:
    """Raise `FileFormatError` if the mesh of a shape cannot be read; it belongs to `owner`."""
    if shape.mesh is None:
        return
    element = "collision" if shape.collision else "visual"
    if shape.outside:
        raise FileFormatError(
            f"mesh {shape.mesh} of {owner} is outside the folder of the robot's file; copy it "
            f"there, or add a common folder to {PACKAGE_PATH_VARIABLE}, or remove <{element}>"
        )
    require_mesh_file(shape.mesh)
    if not shape.mesh.is_file():
        raise FileFormatError(
            f"mesh {shape.mesh} of {owner} is missing; put the file there, set "
            f"{PACKAGE_PATH_VARIABLE} if it "
            f"is in a ROS package, or remove the <{element}> element"
        )


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A movable body: its inertial parameters about the frame of its URDF link."""

    name: str
    phi: Float1D
    """``m mx my mz Ixx Ixy Iyy Ixz Iyz Izz`` about the link frame, shape (10,)."""
    fixed: tuple[str, ...] = ()
    """URDF links fused to it through fixed joints."""
    locked: tuple[str, ...] = ()
    """URDF links fused to it behind joints locked at zero."""
    shapes: tuple[GeometryShape, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, (10,), "phi", what=f"link '{self.name}': ")


SINGLE_CHILDREN = ("parent", "child", "mimic")
"""Children that a joint may have only once: they define the tree."""

FIRST_CHILDREN = {
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "axis", "limit", "dynamics"),
    "visual": ("origin", "geometry", "material"),
    "collision": ("origin", "geometry"),
}
"""Children of which only the first is read, as in ROS, Pinocchio and Bullet."""

SIZE_ATTRIBUTES = {
    "box": "size",
    "sphere": "radius",
    "cylinder": "radius length",
    "capsule": "radius length",
}

MAX_VALUES = {
    ("mass", "value"): (1e5, "kg"),
    **{("inertia", f"i{k}"): (1e6, "kg m^2") for k in ("xx", "yy", "zz", "xy", "xz", "yz")},
    ("axis", "xyz"): (1e9, "long"),
    ("origin", "xyz"): (100.0, "m"),
    ("origin", "rpy"): (100.0, "rad"),
    **{(tag, key): (1e3, "m") for tag, keys in SIZE_ATTRIBUTES.items() for key in keys.split()},
    **{("dynamics", key): (1e6, "N m s/rad, N m") for key in ("damping", "friction")},
}
"""Maximum plausible value, and its unit, by element and attribute."""


def check_elements(root: etree._Element, path: Path) -> tuple[str, ...]:
    """Remove unsupported elements of a URDF; return notes on them and on assumptions.

    Raises `UrdfError` if a joint has two parents, children or leaders, or a number is impossible
    for an arm.
    """
    for element in root.iter("joint"):
        counts = Counter(child.tag for child in element if child.tag in SINGLE_CHILDREN)
        for tag, count in counts.items():
            if count > 1:
                second = element.findall(tag)[1]
                text = f"<{tag}> occurs {count} times; keep one of them"
                _fail(path, second, f"{_owner(element)}: {text}")
    for tag, key in MAX_VALUES:
        for element in root.iter(tag):
            largest, unit = MAX_VALUES[tag, key]
            worst = max((abs(value) for value in _numbers(element, key)), default=0.0)
            if largest < worst < float("inf"):  # infinite values are refused when they are read
                text = f"{tag} {key}='{element.get(key)}' is more than {largest:g} {unit}"
                _fail(path, element, f"{_owner(element)}: {text}: is it in another unit?")
    seconds = []
    for element in root.iter(*FIRST_CHILDREN):
        for tag in FIRST_CHILDREN[str(element.tag)]:
            for second in element.findall(tag)[1:]:
                seconds.append(f"<{tag}> of {_owner(element)}")
                element.remove(second)
    flat = _remove_flat_shapes(root, path)
    massless = [
        str(inertial.getparent().get("name"))
        for inertial in root.iter("inertial")
        if inertial.find("inertia") is None and inertial.getparent() is not None
    ]
    macros = [
        f"<{element.prefix}:{etree.QName(element).localname}> of {_owner(element)}"
        for element in root.iter("{*}*")
        if "xacro" in str(element.tag) and is_shown(element)
    ]
    notes = {"shapes without a volume are omitted": flat, "second ones are omitted": seconds}
    notes["macros of xacro, not expanded, are omitted"] = macros
    notes |= {"missing <inertia> taken as zero": massless}
    return tuple(
        f"{text}: {', '.join(dict.fromkeys(names))}" for text, names in notes.items() if names
    )


def _remove_flat_shapes(root: etree._Element, path: Path) -> list[str]:
    """Remove shapes of size zero and return their links; raise for negative sizes."""
    links = []
    for shape in list(root.iter("visual", "collision")):
        for body in shape.iterfind("geometry/*"):
            sizes = [
                x
                for key in SIZE_ATTRIBUTES.get(str(body.tag), "").split()
                for x in _numbers(body, key)
            ]
            sizes += [abs(x) for x in _numbers(body, "scale")]  # a mirrored mesh
            if min(sizes, default=1.0) < 0.0:
                _fail(path, body, f"{_owner(shape)}: the size of the {body.tag} is negative")
            if min(sizes, default=1.0) == 0.0:
                links.append(str(shape.getparent().get("name")))
                shape.getparent().remove(shape)
                break
    return links


def _numbers(element: etree._Element, key: str) -> list[float]:
    """Return the numbers of an attribute; empty if one is invalid (its reader refuses it)."""
    try:
        return [float(word) for word in element.get(key, "").split()]
    except ValueError:
        return []


def _owner(element: etree._Element) -> str:
    """Return the link or joint of an element, for messages."""
    while element.tag not in ("link", "joint") and element.getparent() is not None:
        element = element.getparent()
    return f"{element.tag} '{element.get('name', '')}'"


def _fail(path: Path, element: etree._Element, text: str) -> None:
    raise UrdfError(f"{path}:{element.sourceline or 0}: {text}")


def terms_in(
    elements: Sequence[etree._Element],
    joint_names: Sequence[str],
    fail: Callable[[etree._Element, str], NoReturn],
) -> tuple[JointTerm, ...]:
    """Read the terms of ``<term>`` elements; `fail` is called with an error."""
    terms = []
    for element in elements:
        shape = element.get("shape")
        try:
            term = JointTerm(
                str(element.get("kind")),
                str(element.get("joint")),
                tuple(float(text) for text in element.get("values", "").split()),
                None if shape is None else float(shape),
                element.get("partner"),
            )
            require_terms_of([term], joint_names)
        except (ValueError, OptionError) as error:
            fail(element, f"<robotid> term: {error}")
        terms.append(term)
    return tuple(terms)


def attributes_of(term: JointTerm) -> dict[str, str]:
    """Return the attributes of the element of a term."""
    values = {"values": " ".join(map(number_text, term.values))}
    shape = {} if term.shape is None else {"shape": number_text(term.shape)}
    partner = {} if term.partner is None else {"partner": term.partner}
    return {"kind": term.kind, "joint": term.joint, **values, **shape, **partner}
