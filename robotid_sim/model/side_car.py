"""Data that a format cannot represent, as TOML beside the file.

The module also finds the fixed links of a robot, and their shapes.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.errors import FileFormatError, InconsistentInertiaError
from robotid_sim.files import write_text
from robotid_sim.inputs import read_toml
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.mesh_files import MeshFolder
from robotid_sim.model.robot import Robot


def require_side_car(path: str | Path) -> None:
    """Raise if a file that does not belong to `path` has the name of its side car.

    It must be called before anything is written. Raises `FileFormatError` if such a file exists:
    a study, or the side car of a model with the same name in another format.
    """
    target = Path(path).with_suffix(".toml")
    if not target.exists():
        return
    name = Path(path).name
    try:
        model = read_toml(target, "TOML").get("model")
    except FileFormatError:
        model = None
    if model == name:
        return
    what = f"belongs to {model}" if isinstance(model, str) else f"does not belong to {name}"
    raise FileFormatError(
        f"cannot write {path}: {target}, which goes with it, exists and {what}; "
        "give the output another name, or move that file"
    )


def write_side_car(robot: Robot, path: str | Path, keys: Sequence[str]) -> Path:
    """Write data that the file at `path` cannot represent to its ``.toml``; return the path.

    `keys` are some of ``Fv Fc Fo eps Ia velocity acceleration``, written for every joint in SI
    units. Raises `FileFormatError` if the file cannot be written, or as `require_side_car`.
    """
    require_side_car(path)
    name = Path(path).name
    lines = [
        f"# What {name} cannot represent. Friction: Fv dq + Fc tanh(dq / eps) + Fo; Ia: reflected",
        "# rotor inertia. Units: SI.",
        f'model = "{name}"',
        f'base = "{robot.base}"',
        f'tip = "{robot.tip}"',
    ]
    for joint in robot.joints:
        law = joint.friction
        values = {"Fv": law.Fv, "Fc": law.Fc, "Fo": law.Fo, "eps": law.eps}
        values |= {"Ia": joint.rotor_inertia, "velocity": joint.velocity}
        values |= {"acceleration": joint.acceleration}
        lines += ["", f'[joints."{joint.name}"]']
        lines += [f"{key} = {float(values[key])!r}" for key in keys]
    target = Path(path).with_suffix(".toml")
    write_text(target, "\n".join(lines) + "\n")
    return target


def mesh_folder(robot: Robot, path: str | Path, *, massless: str = "") -> MeshFolder:
    """Return the folder for the meshes of a robot that is to be written to a file.

    Raises `InconsistentInertiaError` if a body cannot be written: it is not physically consistent,
    or has no mass and `massless` gives a reason against it.
    """
    for link, reason in zip(robot.links, robot.inconsistencies(), strict=True):
        if reason := reason or (massless if link.phi[0] <= 0.0 else ""):
            raise InconsistentInertiaError(f"cannot write link '{link.name}': {reason}")
    return MeshFolder(Path(path), None if robot.document is None else robot.document.path)


def list_fixed_links(robot: Robot) -> list[tuple[str, Float2D, tuple[GeometryShape, ...]]]:
    """Return name, pose in the root frame, shape (4, 4), and shapes of every link of the base."""
    document = robot.document
    if document is None:
        return []
    links: list[tuple[str, Float2D, tuple[GeometryShape, ...]]] = []
    stack: list[tuple[str, Float2D]] = [(document.root, np.eye(4))]
    while stack:
        name, T = stack.pop()
        links.append((name, T, document.links[name].shapes))
        for joint in document.joints_below(name):
            if joint.name not in robot.joint_names:
                stack.append((joint.child, T @ joint.T_parent_joint))
    return links


def base_shapes(robot: Robot) -> tuple[GeometryShape, ...]:
    """Return the shapes of all fixed links, placed in the root frame."""
    return tuple(
        replace(shape, T_body_shape=T @ shape.T_body_shape)
        for _, T, shapes in list_fixed_links(robot)
        for shape in shapes
    )
