"""Inertia from geometry in words and tables."""

from collections.abc import Iterator, Sequence

import numpy as np

from robotid_sim.model import inertia
from robotid_sim.model.cad import CadInertia, CadLink
from robotid_sim.report.text.parts import Text
from robotid_sim.section import number
from robotid_sim.table import Table


def cad_text(result: CadInertia) -> Iterator[Text]:
    """Return every link's share of the mass, and what was taken of open meshes."""
    total_mass = result.total_mass
    yield _table(result.links)
    yield ""
    volume = sum(link.volume for link in result.links)
    yield (
        f"total mass {total_mass:g} kg in {1e3 * volume:.4g} l: uniform density "
        f"{total_mass / volume:.4g} kg/m^3"
    )
    for link in result.links:
        for name in link.hulls:
            yield f"{link.name}: convex hull taken of {name}, which is not closed"


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
