"""Reading MJCF, the format of MuJoCo, by MuJoCo's own compiler.

The compiler resolves defaults, classes and includes and computes inertia from geoms; the compiled
model becomes the tree that a URDF would be, so that chain, settings and writers are those of URDF.
What a writer of ours put beside the file (see `robotid_sim.model.mjcf`) is read too.
"""

import importlib
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from robotid_sim.errors import MissingExtraError, UrdfError
from robotid_sim.inputs import open_file, read_beside
from robotid_sim.model.mjcf_drives import BALL, FREE, HINGE, SLIDE, MjcfDrives, read_drives
from robotid_sim.model.mjcf_files import mjcf_parts
from robotid_sim.model.mjcf_tree import MjcfNames, MjcfTree
from robotid_sim.model.settings import check_overrides
from robotid_sim.model.urdf import UrdfDocument, UrdfJoint, parse_urdf

MJCF = "MJCF"
WORLD = "world"
"""Link of what does not move."""

OTHER_KINDS = {FREE: "free", BALL: "ball"}

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
    """Return the tree of an MJCF file, with what of the file has no counterpart in its notes.

    Raises `MissingExtraError` if MuJoCo is not installed, `UrdfError`, with MuJoCo's text, if it
    refuses the file, and `FileFormatError` if the TOML beside it is none.
    """
    file = Path(path)
    spec, model = _compiled(file)
    stated = _side_car(file)
    names = MjcfNames(model, str(stated.get("base", WORLD)), spec.modelname or file.stem)
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
    # Lines are those of a text that nobody sees.
    links = {name: replace(link, line=0) for name, link in document.links.items()}
    joints = {name: _joint_of(model, names, source) for name, source in document.joints.items()}
    return replace(
        document,
        links=links,
        joints=joints,
        base=stated.get("base"),
        tip=stated.get("tip"),
        terms=drives.springs,
        format=MJCF,
        gravity=tuple(float(g) for g in model.opt.gravity),
        notes=_notes(model, names, drives, tree),
    )


def _compiled(file: Path) -> tuple[Any, Any]:
    """Return the specification of a file and the model that MuJoCo makes of it."""
    try:
        mujoco = importlib.import_module("mujoco")
    except ImportError as error:
        raise MissingExtraError(
            f"reading the MJCF {file} needs MuJoCo: pip install mujoco"
        ) from error
    mjcf_parts(file)
    # MuJoCo writes a file for every warning otherwise.
    mujoco.set_mju_user_warning(_tell)
    try:
        spec = mujoco.MjSpec.from_file(str(file))
        model = spec.compile()
    except ValueError as error:
        text = " ".join(str(error).split())
        raise UrdfError(f"{file}: MuJoCo refuses it: {text}") from error
    return spec, model


def _tell(message: str) -> None:
    _log.warning("MuJoCo: %s", message)


def _joint_of(model: Any, names: MjcfNames, source: UrdfJoint) -> UrdfJoint:
    """Return a joint of the tree by the name of its type in MJCF, without a line."""
    if source.name not in names.joints:
        return replace(source, line=0)
    kind = int(model.jnt_type[names.joints.index(source.name)])
    return replace(source, line=0, kind=OTHER_KINDS.get(kind, source.kind))


def _side_car(file: Path) -> dict[str, Any]:
    """Return what a writer of ours put beside the file; nothing if there is none."""
    content = read_beside(file, file.with_suffix(".toml").name)
    return content if content.get("model") == file.name else {}


def _notes(model: Any, names: MjcfNames, drives: MjcfDrives, tree: MjcfTree) -> tuple[str, ...]:
    """Return what was assumed of the file and what of it has no counterpart."""
    notes = [f"{reason} are left out: {', '.join(of)}" for reason, of in tree.dropped.items()]
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
        notes.append("air or water around the robot is left out")
    return tuple(f"MJCF: {note}" for note in (*drives.notes, *notes))
