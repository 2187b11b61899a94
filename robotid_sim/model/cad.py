"""Inertia of a robot from its geometry: the mass is divided among the links by volume.

The rule is from Fazilat, Zioui (2025), "Quantum Particle Swarm Optimization (QPSO)-Based Enhanced
Dynamic Model Parameters Identification for an Industrial Robotic Arm", Mathematics 13(16), 2631,
doi:10.3390/math13162631, sec. 2.3: uniform density, the mass of a link from its volume relative to
the whole robot.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from lxml import etree

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import FileFormatError, MissingExtraError, OptionError
from robotid_sim.model import inertia, parameters
from robotid_sim.model.export import inertial_element
from robotid_sim.model.geometry import GeometryShape, require_mesh
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import list_fixed_links
from robotid_sim.model.solid import SHAPE_MAKERS, Solid, read_mesh, union
from robotid_sim.model.urdf import UrdfDocument
from robotid_sim.model.urdf_xml import parse_xml


@dataclass(frozen=True, slots=True, eq=False)
class CadLink:
    """Mass properties of a link, computed from its geometry."""

    name: str
    movable: bool
    """False for a link of the fixed base."""
    volume: float
    """Volume [m^3]."""
    phi: Float1D
    """Ten inertial parameters about the link frame, shape (10,)."""
    hulls: tuple[str, ...]
    """Meshes that were not closed and were replaced by their convex hulls."""

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.phi[0])


@dataclass(frozen=True, slots=True, eq=False)
class CadInertia:
    """A robot with the inertia of its geometry."""

    robot: Robot
    links: tuple[CadLink, ...]
    """The links of the fixed base that have geometry, then all movable bodies."""
    total_mass: float
    """Mass of all links [kg]."""

    @property
    def volume(self) -> float:
        """Volume of all links [m^3]."""
        return sum(link.volume for link in self.links)

    def content(self) -> dict[str, Any]:
        """Return the mass properties of every link as JSON values."""
        links = []
        for link in self.links:
            _, com, central = inertia.unpack(link.phi)
            links.append(
                {
                    "name": link.name,
                    "movable": link.movable,
                    "volume": link.volume,
                    "mass": link.mass,
                    "com": com.tolist(),
                    "inertia": central[np.triu_indices(3)].tolist(),
                    "principal_moments": np.linalg.eigvalsh(central).tolist(),
                    "convex_hulls": list(link.hulls),
                }
            )
        mass, density = self.total_mass, self.total_mass / self.volume
        name = self.robot.name
        return {"robot": name, "total_mass": mass, "density": density, "links": links}


def link_solid(
    shapes: Sequence[GeometryShape],
    owner: str,
    *,
    convex_hull: bool = False,
    collision: bool = False,
) -> tuple[Solid, tuple[str, ...]]:
    """Return the union of shapes, in the frame of their body, and meshes replaced by hulls.

    Where a body has no shapes of the requested kind (visual or collision), the other kind is used.
    Overlaps of shapes count once. A mesh may have cavities; overlaps within one mesh count twice.

    With `convex_hull`, the hull replaces a mesh that is not closed; with `collision`, collision
    shapes replace visual ones. `owner` is the owner of the shapes, for messages. Raises
    `OptionError` if there is no shape, `FileFormatError` if a mesh is missing, unreadable, or not
    closed.
    """
    requested_shapes = [shape for shape in shapes if shape.collision is collision]
    hulls: list[str] = []
    solids = []
    for shape in requested_shapes or shapes:
        solid = _shape_solid(shape, owner)
        if shape.mesh is not None and (count := solid.open_edges):
            if not convex_hull:
                raise FileFormatError(
                    f"{owner}: mesh {shape.mesh} is not closed ({count} open edges), so it has no "
                    "volume; repair it, or take its convex hull (--convex-hull)"
                )
            solid = solid.convex_hull()
            hulls.append(shape.mesh.name)
        solids.append(solid.transform(shape.T_body_shape))
    if not solids:
        raise OptionError(f"{owner} has no geometry; give it a mesh or a primitive as <visual>")
    return union(solids), tuple(hulls)


def vertices(shape: GeometryShape) -> Float2D | None:
    """Return the corners of a shape in the frame of its body, shape (N, 3).

    None if the mesh is missing or unreadable, or its reader is not installed.
    """
    try:
        solid = _shape_solid(shape, "the robot")
    except (FileFormatError, MissingExtraError):
        return None
    return solid.transform(shape.T_body_shape).vertices


def mass_shares(volumes: Sequence[float], total: float) -> list[float]:
    """Divide the mass `total` [kg] in proportion to `volumes`; the masses add up to it exactly.

    The sum is exact in any order: the shares are whole multiples of the spacing of floating-point
    numbers at `total`. Each is rounded down, and the remaining steps go to the largest remainders.
    Sums of such multiples up to `total` are exact.
    """
    if not (0.0 < total < math.inf) or not all(0.0 < v < math.inf for v in volumes):
        raise OptionError(f"the total mass {total:g} kg and all volumes must be positive")
    step = Fraction(math.ulp(total))
    volume_sum = sum(map(Fraction, volumes))
    exact = [Fraction(total) / step * Fraction(volume) / volume_sum for volume in volumes]
    counts = [math.floor(share) for share in exact]
    remaining = int(Fraction(total) / step) - sum(counts)
    by_remainder = sorted(range(len(counts)), key=lambda k: counts[k] - exact[k])
    for k in by_remainder[:remaining]:
        counts[k] += 1
    return [float(count * step) for count in counts]


def inertia_from_geometry(
    robot: Robot, total_mass: float, *, convex_hull: bool = False, collision: bool = False
) -> CadInertia:
    """Return a robot with the inertia of its geometry at uniform density.

    Friction, drives and limits stay; the robot's own inertia is ignored, and may be physically
    inconsistent. A fixed base with geometry gets its share of `total_mass` [kg], because the mass
    on a data sheet includes the base. `convex_hull` and `collision` are those of `link_solid`.

    Raises `OptionError` if a movable body has no geometry, `FileFormatError` if a mesh is missing,
    unreadable, or not closed and `convex_hull` is False.
    """
    bodies = [(name, False, shapes) for name, _, shapes in list_fixed_links(robot) if shapes]
    bodies += [(link.name, True, link.shapes) for link in robot.links]
    solids = [
        link_solid(shapes, f"link '{name}'", convex_hull=convex_hull, collision=collision)
        for name, _, shapes in bodies
    ]
    volumes = [solid.volume for solid, _ in solids]
    links = []
    for (name, movable, _), (solid, hulls), volume, mass in zip(
        bodies, solids, volumes, mass_shares(volumes, total_mass), strict=True
    ):
        phi = solid.parameters(mass=mass)
        phi[0] = mass  # exact share without rounding error
        links.append(CadLink(name, movable, volume, phi, hulls))
    full = robot.parameters()
    for k, link in enumerate(link for link in links if link.movable):
        full[parameters.inertial_slice(k)] = link.phi
    base = {link.name: link.phi for link in links if not link.movable}
    document = robot.document
    if document is not None:
        document = replace(
            document, xml=_replace_inertials(document, base, list_fixed_links(robot))
        )
    return CadInertia(
        replace(robot.with_parameters(full), document=document), tuple(links), total_mass
    )


def _shape_solid(shape: GeometryShape, owner: str) -> Solid:
    """Return a shape in its own frame."""
    require_mesh(shape, owner)
    if shape.mesh is None:
        return SHAPE_MAKERS[shape.kind](*shape.size)
    scale = np.diag([*shape.size, 1.0])
    return read_mesh(shape.mesh).transform(scale)


def _replace_inertials(
    document: UrdfDocument,
    base: dict[str, Float1D],
    fixed: list[tuple[str, Float2D, tuple[GeometryShape, ...]]],
) -> bytes:
    """Return the text of a URDF with replaced inertials of the links that do not move."""
    root = parse_xml(document.xml, document.path)
    names = {name for name, *_ in fixed}
    for element in root.findall("link"):
        name = element.get("name", "")
        if name not in names:
            continue
        for old in element.findall("inertial"):
            element.remove(old)
        if name in base:
            inertial = inertial_element(base[name])
            etree.indent(inertial, "  ", level=2)
            inertial.tail = "\n    "
            element.insert(0, inertial)
    return bytes(etree.tostring(root.getroottree(), xml_declaration=True, encoding="utf-8"))
