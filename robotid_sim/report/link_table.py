"""Bodies of models beside one another: mass, center of mass, principal moments."""

from collections.abc import Mapping

from robotid_sim.arrays import Float1D
from robotid_sim.model.inertia import principal_axes, unpack
from robotid_sim.model.robot import Robot
from robotid_sim.section import number
from robotid_sim.table import Table

OPEN = (
    "Only the combinations in the table of base parameters show in a torque. What they leave open, "
    "as the mass of a body that only turns about its own axis, stays near the nominal model: the "
    "torques of the identified robot are right, a single number of a body need not be."
)
"""What a reader of the table must know."""


def link_table(models: Mapping[str, Robot]) -> Table:
    """Return mass, center of mass and principal moments of every body, a column a model."""
    robots = list(models.values())
    rows = []
    for k, link in enumerate(robots[0].links):
        values = [_quantities(robot.links[k].phi) for robot in robots]
        rows += [
            (link.name, quantity, *(", ".join(number(v, 4) for v in of[quantity]) for of in values))
            for quantity in values[0]
        ]
    columns = ("link", "quantity", *models)
    return Table(columns, tuple(rows), "Bodies of the robot", text_columns=2)


def _quantities(phi: Float1D) -> dict[str, list[float]]:
    mass, center, central = unpack(phi)
    moments, _ = principal_axes(central)
    return {
        "mass [kg]": [mass],
        "center of mass [mm]": (1e3 * center).tolist(),
        "principal moments [kg m²]": moments.tolist(),
    }
