"""Reading MJCF, the format of MuJoCo, by MuJoCo's own compiler.

The compiler resolves defaults, classes and includes and computes inertia from geoms; the compiled
model becomes a tree like that of a URDF, so that chain, settings and writers are those of URDF. The
file that a writer of robotid put beside it (see `robotid_sim.model.mjcf`) is read too. Names of
files and numbers of copies are checked first: MuJoCo reads every file that is named, in any folder,
and makes as many copies, cells and pixels as are requested.
"""

import importlib
import logging
import math
import os
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from robotid_sim.errors import MissingExtraError, UrdfError
from robotid_sim.inputs import (
    MAX_MESH_SIZE,
    MAX_XML_SIZE,
    open_file,
    read_beside,
    read_file,
    require_reference_allowed,
)
from robotid_sim.model.mjcf_tree import (
    BALL_JOINT_TYPE,
    FREE_JOINT_TYPE,
    HINGE,
    SLIDE,
    MjcfDrives,
    MjcfNames,
    MjcfTree,
    read_drives,
)
from robotid_sim.model.settings import check_overrides
from robotid_sim.model.urdf import UrdfDocument, parse_urdf

MAX_FILES = 100
"""Maximum number of files of a model."""

MAX_PARTS = 1e7
"""Maximum number of cells, pixels or copies of an element."""

MAX_ELEMENTS = 1e5
"""Maximum number of elements of all files, including replicas."""

COUNT_ATTRIBUTES = ("count", "nrow", "ncol", "width", "height", "params", "nsample")
"""Attributes with numbers of parts; the product of these numbers is limited."""

FOLDER_ATTRIBUTES = ("assetdir", "meshdir", "texturedir")
"""Attributes of ``<compiler>`` with the folders of meshes, textures and other files."""

_COMMENT_PATTERN = re.compile(r"<!--.*?-->", re.DOTALL)
_DECLARATION_PATTERN = re.compile(r"^\s*<\?xml.*?\?>", re.DOTALL)


def mjcf_parts(file: Path) -> dict[Path, bytes]:
    """Read an MJCF file and all files that it includes; the file itself comes first.

    Raises `UrdfError` if one is not well-formed XML, or has too many elements, `FileFormatError` if
    a file that one names is not a regular one, is too large, or is not below the folder.
    """
    parts: dict[Path, bytes] = {}
    roots: dict[Path, etree._Element] = {}
    waiting, elements = [(file, 1.0)], 0.0
    while waiting:
        path, copies = waiting.pop()
        if path in parts:  # MuJoCo refuses files that are included twice
            continue
        if len(parts) == MAX_FILES:
            raise UrdfError(f"{file}: is made of more than {MAX_FILES} files; simplify it")
        parts[path] = read_file(path, MAX_XML_SIZE)
        roots[path] = _parse(parts[path], path)
        for element in roots[path].iter("{*}*"):
            count = copies * _count(element, path)
            elements += count
            if elements > MAX_ELEMENTS:
                raise UrdfError(f"{path} stands for over {MAX_ELEMENTS:g} elements; simplify it")
            if element.tag in ("include", "model") and element.get("file"):
                places = _places([element.get("file", "")], {file.parent, path.parent}, {""})
                waiting += [
                    (_require_readable(file, place, element, path), count) for place in places
                ]
    folders = {
        c.get(key, "")
        for r in roots.values()
        for c in r.iter("compiler")
        for key in FOLDER_ATTRIBUTES
    }
    for path, root in roots.items():
        for element in root.iter("{*}*"):
            for key, name in element.attrib.items():
                named = [str(name)] if str(key).startswith("file") else []
                for place in _places(named, {file.parent, path.parent}, {"", *folders}):
                    _require_readable(file, place, element, path)
    return parts


def _require_readable(file: Path, place: Path, element: etree._Element, path: Path) -> Path:
    """Return the file that an element names; raise unless it may be read."""
    what = f"{place}, the <{element.tag}> in {path}:{element.sourceline},"
    require_reference_allowed(file, place, what, MAX_MESH_SIZE)
    return place


def _places(names: list[str], bases: set[Path], folders: set[str]) -> list[Path]:
    """List the existing files that MuJoCo may read for `names`, in all folders it searches."""
    forms = {form for name in names for form in (name, Path(name).name)}
    places = {base / folder / form for base, folder, form in product(bases, folders, forms)}
    return sorted(place for place in places if os.path.lexists(place) and not place.is_dir())


def _parse(content: bytes, path: Path) -> etree._Element:
    """Parse a file as MuJoCo does: always as UTF-8, without comments."""
    text = _DECLARATION_PATTERN.sub(
        "", _COMMENT_PATTERN.sub("", content.decode("utf-8", errors="replace"))
    )
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UrdfError(f"{path}: not well-formed XML: {' '.join(str(error).split())}") from error
    if root.getroottree().docinfo.doctype:
        raise UrdfError(f"{path}: a document type (entities) is not accepted; remove <!DOCTYPE>")
    return root


def _count(element: etree._Element, path: Path) -> float:
    """Count the copies of an element; raise if it has too many parts."""
    keys = element.attrib if element.tag == "size" else COUNT_ATTRIBUTES
    keys = (*keys, "size") if element.tag == "numeric" else keys
    values = [_number(word) for key in keys for word in element.get(key, "").split()]
    parts = math.prod(max(value, 1.0) for value in values)
    if parts > MAX_PARTS:
        raise UrdfError(
            f"{path}:{element.sourceline}: <{element.tag}> stands for {parts:.3g} parts, at most "
            f"{MAX_PARTS:g} are made; simplify it"
        )
    copies = (_number(above.get("count", "1")) for above in element.iterancestors("replicate"))
    return math.prod(max(value, 1.0) for value in copies)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # MuJoCo reports it
        return 1.0


MJCF_FORMAT = "MJCF"
WORLD_LINK = "world"
"""Link of the bodies that do not move."""

OTHER_JOINT_KINDS = {FREE_JOINT_TYPE: "free", BALL_JOINT_TYPE: "ball"}

_log = logging.getLogger(__name__)


def is_mjcf(path: str | Path) -> bool:
    """Return whether a file is MJCF: XML whose root is ``<mujoco>``."""
    try:
        with open_file(path) as file:
            _, root = next(etree.iterparse(file, events=("start",), resolve_entities=False))
            return bool(root.tag == "mujoco")
    except (OSError, etree.XMLSyntaxError, StopIteration):
        return False


def read_mjcf(path: str | Path) -> UrdfDocument:
    """Read an MJCF file as a tree; its notes list elements without a counterpart.

    Raises `MissingExtraError` if MuJoCo is not installed, `UrdfError`, with MuJoCo's text, if it
    refuses the file, and `FileFormatError` if the TOML beside it is invalid.
    """
    file = Path(path)
    spec, model = _compile(file)
    # Settings that robotid wrote next to the file, if any.
    content = read_beside(file, file.with_suffix(".toml").name)
    stated = content if content.get("model") == file.name else {}
    names = MjcfNames(model, str(stated.get("base", WORLD_LINK)), spec.modelname or file.stem)
    drives = read_drives(model, names.joints)
    tree = MjcfTree(spec, model, drives, names)
    etree.indent(tree.root, "  ")
    xml = etree.tostring(tree.root, xml_declaration=True, encoding="UTF-8")
    document = parse_urdf(xml, file)
    settings = check_overrides(stated.get("joints", {}), str(file.with_suffix(".toml")))
    for j, name in enumerate(names.joints):
        source = document.joints[name]
        source.dynamics["Ia"] = float(drives.Ia[j])
        values = settings.get(name, {})
        source.limits.update({k: v for k, v in values.items() if k == "velocity"})
        source.dynamics.update({k: v for k, v in values.items() if k != "velocity"})
    # Line numbers refer to a generated text.
    links = {name: replace(link, line=0) for name, link in document.links.items()}
    kinds = {  # by the names of types in MJCF
        name: OTHER_JOINT_KINDS.get(int(model.jnt_type[j]), document.joints[name].kind)
        for j, name in enumerate(names.joints)
        if name in document.joints
    }
    joints = {
        name: replace(source, line=0, kind=kinds.get(name, source.kind))
        for name, source in document.joints.items()
    }
    return replace(
        document,
        links=links,
        joints=joints,
        base=stated.get("base"),
        tip=stated.get("tip"),
        terms=drives.springs,
        format=MJCF_FORMAT,
        gravity=tuple(float(g) for g in model.opt.gravity),
        notes=_notes(model, names, drives, tree),
    )


def _compile(file: Path) -> tuple[Any, Any]:
    """Return the specification of a file and the model that MuJoCo makes of it."""
    try:
        mujoco = importlib.import_module("mujoco")
    except ImportError as error:
        raise MissingExtraError(
            f"reading the MJCF {file} needs MuJoCo: pip install mujoco"
        ) from error
    mjcf_parts(file)
    # MuJoCo writes a file for every warning otherwise.
    mujoco.set_mju_user_warning(lambda message: _log.warning("MuJoCo: %s", message))
    try:
        spec = mujoco.MjSpec.from_file(str(file))
        model = spec.compile()
    except ValueError as error:
        text = " ".join(str(error).split())
        raise UrdfError(f"{file}: MuJoCo refuses it: {text}") from error
    return spec, model


def _notes(model: Any, names: MjcfNames, drives: MjcfDrives, tree: MjcfTree) -> tuple[str, ...]:
    """List assumptions about the file and elements without a counterpart."""
    notes = [f"{reason} are omitted: {', '.join(items)}" for reason, items in tree.dropped.items()]
    turned = [
        f"{names.joints[j]} {ref:.4g}"
        for j in range(model.njnt)
        if model.jnt_type[j] in (HINGE, SLIDE)
        if (ref := float(model.qpos0[model.jnt_qposadr[j]]))
    ]
    if turned:
        notes.append(
            f"positions are those of MuJoCo, the file shows the robot at ref: {', '.join(turned)}"
        )
    if np.any(model.opt.wind) or model.opt.density or model.opt.viscosity:
        notes.append("air or water around the robot is omitted")
    return tuple(f"MJCF: {note}" for note in (*drives.notes, *notes))
