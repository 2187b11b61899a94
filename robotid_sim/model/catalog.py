"""Robots that ship with the package, and loading of a robot by name or path.

The links of the URDFs have the inertia of their meshes. The parameters that papers print,
physically consistent or not, are in a ``published.toml`` next to the URDF, with a physically
consistent set for the engine.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import FileFormatError, UnknownNameError, suggestion
from robotid_sim.files import check_schema
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog_files import catalog, find_urdf
from robotid_sim.model.geometry import transform
from robotid_sim.model.robot import Robot


def load_robot(robot: str | Path, **options: Any) -> Robot:
    """Return a robot by catalog name or by the path of a URDF or MJCF file.

    Options are those of `Robot.from_urdf`.

    Parameters
    ----------
    robot : str or Path
        Catalog name, or path of a URDF or MJCF file.
    **options
        As of `Robot.from_urdf`.

    Returns
    -------
    robot : Robot
        The robot.
    """
    return Robot.from_urdf(find_urdf(robot), **options)


@dataclass(frozen=True, slots=True, eq=False)
class PublishedParameters:
    """Parameters of the links up to `tip` as a paper prints them; maybe physically inconsistent.

    Examples
    --------
    >>> published = load_published_parameters("irb140")
    >>> arm = load_robot("irb140", tip=published.tip)
    >>> formal = arm.with_parameters(published.phi, formal=True)
    """

    name: str
    """Name of the set, such as ``table-2``."""
    summary: str
    """Description of the set, and how the printed numbers were interpreted."""
    source: str
    """The paper."""
    tip: str
    """Last link of the chain; links behind it are not part of the set."""
    phi: Float1D
    """Full parameters in the URDF's link frames, layout of `Robot.parameters`, shape (14 n,)."""
    frames: tuple[Float2D, ...]
    """The paper's link frames in the link frames of the URDF, each of shape (4, 4)."""


def list_published_sets(robot: str) -> dict[str, str]:
    """Return the published sets of a catalog robot with their summaries; the default comes first.

    Raises `UnknownNameError` if the robot is unknown or has no published sets.
    """
    content = _read_published(robot)
    others = [name for name in content["sets"] if name != content["default"]]
    return {name: content["sets"][name]["summary"] for name in (content["default"], *others)}


def load_published_parameters(robot: str, name: str | None = None) -> PublishedParameters:
    """Return parameters of a catalog robot as a paper prints them.

    Parameters
    ----------
    robot : str
        Catalog name.
    name : str, optional
        Name of the set; by default the paper's reference set.

    Returns
    -------
    published : PublishedParameters
        In the URDF's link frames.

    Raises
    ------
    UnknownNameError
        If the robot has no such set.
    """
    content = _read_published(robot)
    name = name or content["default"]
    if name not in content["sets"]:
        names, hint = ", ".join(list_published_sets(robot)), suggestion(name, content["sets"])
        raise UnknownNameError(
            f"no published set '{name}' of robot '{robot}'{hint}; known: {names}"
        )
    chosen, tip = content["sets"][name], content["tip"]
    arm = load_robot(robot, tip=tip)
    frames, bodies, drives = [], [], []
    for link, joint in zip(arm.links, arm.joints, strict=True):
        frame = content["frames"][link.name]
        x, y = np.array(frame["x"], dtype=float), np.array(frame["y"], dtype=float)
        axes = np.column_stack([x, y, np.cross(x, y)])
        frames.append(transform(axes, np.array(frame["origin"], dtype=float)))
        bodies.append(inertia.transform(_body(chosen[link.name]), frames[-1]))
        values = chosen.get(joint.name, {})
        drives.append([float(values.get(symbol, 0.0)) for symbol in parameters.JOINT_SYMBOLS])
    return PublishedParameters(
        name=name,
        summary=chosen["summary"],
        source=content["source"],
        tip=tip,
        phi=np.concatenate([*bodies, *np.array(drives)]),
        frames=tuple(frames),
    )


def load_published_print(robot: str, name: str | None = None) -> dict[str, dict[str, Any]]:
    """Read a published set as it is printed, in the paper's frames, with its last digits.

    Parameters
    ----------
    robot : str
        Catalog name.
    name : str, optional
        Name of the set; by default the paper's reference set.

    Returns
    -------
    values : dict of str to dict
        By link, numbers as `Decimal`; keys and units are those of the ``published.toml`` beside the
        URDF: ``mass``, ``com`` or ``first_moment``, ``inertia``.

    Raises
    ------
    UnknownNameError
        If the robot has no such set.
    """
    content = _read_published(robot, parse_float=Decimal)
    name = load_published_parameters(robot, name).name
    return {
        link: dict(values) for link, values in content["sets"][name].items() if link != "summary"
    }


def make_published_links(robot: str) -> Robot:
    """Build a robot of only the links that a paper treats, from its set for the engine.

    The chain ends at the same link as that of `load_published_parameters`, but has no links behind
    it: the wrist, which `load_robot` with that tip locks and adds to the last link, is omitted.
    """
    published = load_published_parameters(robot, _read_published(robot)["engine"])
    return _replace_bodies(load_robot(robot, tip=published.tip), published)


def make_published_plant(robot: str, tip: str | None = None) -> Robot:
    """Build a catalog robot whose first links have the parameters of a paper's set for the engine.

    Parameters
    ----------
    robot : str
        Catalog name.
    tip : str, optional
        End of the chain; links behind it are locked and stay part of the last link.

    Returns
    -------
    robot : Robot
        Robot with physically consistent bodies; friction, rotors and limits are the catalog's.

    Raises
    ------
    UnknownNameError
        If the robot has no published sets.
    """
    published = load_published_parameters(robot, _read_published(robot)["engine"])
    full_robot, chain = load_robot(robot), load_robot(robot, tip=tip)
    phi = chain.parameters()
    for k in range(_count(published)):
        body = parameters.inertial_slice(k)
        phi[body] += published.phi[body] - full_robot.links[k].phi
    return chain.with_parameters(phi)


def make_published_robot(robot: str, name: str | None = None) -> Robot:
    """Build a catalog robot whose inertial parameters are those of a published set.

    Friction and rotors stay the catalog's, because the sets differ only in the bodies.

    Parameters
    ----------
    robot : str
        Catalog name.
    name : str, optional
        Name of the set; by default the paper's reference set.

    Returns
    -------
    robot : Robot
        With `Robot.formal`: for dynamics and controllers, never for the engine or a writer.

    Raises
    ------
    UnknownNameError
        If the robot has no such set.
    """
    published, full_robot = load_published_parameters(robot, name), load_robot(robot)
    return apply_published(full_robot, published)


def apply_published(robot: Robot, published: PublishedParameters) -> Robot:
    """Return a robot with published bodies in its first links; see `make_published_robot`.

    Parameters
    ----------
    robot : Robot
        With at least the links of the set.
    published : PublishedParameters
        Source of the bodies; its friction and rotors are ignored.

    Returns
    -------
    robot : Robot
        With `Robot.formal`.
    """
    return _replace_bodies(robot, published, formal=True)


def _replace_bodies(robot: Robot, published: PublishedParameters, *, formal: bool = False) -> Robot:
    phi = robot.parameters()
    bodies = slice(0, parameters.INERTIAL_COUNT * _count(published))
    phi[bodies] = published.phi[bodies]
    return robot.with_parameters(phi, formal=formal)


def _count(published: PublishedParameters) -> int:
    """Count the links of a set."""
    return published.phi.size // (parameters.INERTIAL_COUNT + parameters.JOINT_COUNT)


def _read_published(
    robot: str, parse_float: Callable[[str], float | Decimal] = float
) -> dict[str, Any]:
    path = catalog().get(robot, Path(robot)).parent / "published.toml"
    if robot not in catalog() or not path.is_file():
        names = ", ".join(n for n, p in catalog().items() if (p.parent / path.name).is_file())
        raise UnknownNameError(
            f"robot '{robot}' has no published parameters; robots with published ones: {names}"
        )
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=parse_float)
    except ValueError as error:
        raise FileFormatError(f"{path} is not a published.toml: {error}") from error
    check_schema(content.get("schema"), "published", 1, path)
    return content


def _body(values: Mapping[str, Any]) -> Float1D:
    """Return ten parameters in the paper's frame; the tensor is about the COM or the origin."""
    mass = float(values["mass"])
    moments = [float(values["inertia"][key]) for key in parameters.INERTIAL_SYMBOLS[4:]]
    tensor = inertia.inertia_matrix(np.array([0.0] * 4 + moments))
    if "com" in values:
        return inertia.pack(mass, np.array(values["com"], dtype=float), tensor)
    phi = inertia.pack(mass, np.zeros(3), tensor)
    phi[1:4] = values["first_moment"]
    return phi
