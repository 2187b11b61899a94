"""``robotid cad``: the inertia of a robot from its geometry."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.cli import output
from robotid_sim.files import require_writable
from robotid_sim.model import inertia
from robotid_sim.model.cad import CadInertia, CadLink, inertia_from_geometry
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.section import number
from robotid_sim.table import Table


def cad(
    *,
    robot: str,
    total_mass: float,
    out: Path,
    convex_hull: bool,
    collision: bool,
    base: str | None,
    tip: str | None,
    json: bool,
) -> int:
    """Do ``robotid cad``; its words are in `cli.syntax.cad`."""
    require_writable(out)
    read = load_robot(robot, base=base, tip=tip, formal=True)  # its own inertia goes anyway
    result = inertia_from_geometry(read, total_mass, convex_hull=convex_hull, collision=collision)
    write_urdf(result.robot, out)
    if json:
        output.print_json(_report(result, total_mass, out))
    else:
        _print_report(result, total_mass, out)
    return 0


def _report(result: CadInertia, total_mass: float, out: Path) -> dict[str, Any]:
    links = []
    for link in result.links:
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
    volume = sum(link.volume for link in result.links)
    return {
        "robot": result.robot.name,
        "total_mass": total_mass,
        "density": total_mass / volume,
        "links": links,
        "file": str(out),
    }


def _print_report(result: CadInertia, total_mass: float, out: Path) -> None:
    output.print_table(_table(result.links))
    output.print_line()
    volume = sum(link.volume for link in result.links)
    output.print_line(
        f"total mass {total_mass:g} kg in {1e3 * volume:.4g} l: uniform density "
        f"{total_mass / volume:.4g} kg/m^3"
    )
    for link in result.links:
        for name in link.hulls:
            output.print_line(f"{link.name}: convex hull taken of {name}, which is not closed")
    output.print_written([out])


def _table(links: Sequence[CadLink]) -> Table:
    bodies = [inertia.unpack(link.phi) for link in links]
    moments = [np.linalg.eigvalsh(central) for _, _, central in bodies]
    columns = {
        "link": [link.name if link.movable else f"{link.name} (fixed)" for link in links],
        "volume [l]": [number(1e3 * link.volume) for link in links],
        "mass [kg]": [number(link.mass) for link in links],
        "center of mass [m]": [" ".join(f"{x:+.4f}" for x in com) for _, com, _ in bodies],
        "principal moments [kg m^2]": [" ".join(map(number, row)) for row in moments],
    }
    return Table.of(columns)
