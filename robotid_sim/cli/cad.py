"""``robotid cad``: the inertia of a robot from its geometry."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command


@command()
def cad(
    robot: options.RobotArg,
    total_mass: Annotated[
        float,
        options.value(
            "KG", "Mass of the whole robot, its base included [kg].", callback=options.positive
        ),
    ],
    out: Annotated[Path, options.output_option("URDF to write.")],
    convex_hull: Annotated[
        bool, options.flag("--convex-hull", "Take the convex hull of meshes that are open.")
    ] = False,
    collision: Annotated[
        bool, options.flag("--collision", "Take collision shapes, not visual ones.")
    ] = False,
    base: options.BaseLink = None,
    tip: options.TipLink = None,
    json: options.Json = False,
) -> int:
    """Give a robot the inertia of its geometry, at uniform density.

    The mass of every link is proportional to the volume of its visual shapes, meshes and
    primitives. Overlaps count once.
    """
    from robotid_sim.model.cad import inertia_from_geometry
    from robotid_sim.model.catalog import load_robot
    from robotid_sim.model.export import write_urdf
    from robotid_sim.report.text import cad_text

    output.begin(out)
    # The inertia of the robot is replaced, and its limits do not matter.
    read = load_robot(robot, base=base, tip=tip, assume_limits=True, formal=True)
    result = inertia_from_geometry(read, total_mass, convex_hull=convex_hull, collision=collision)
    write_urdf(result.robot, out)
    content = {**result.content(), "file": str(out)}
    output.print_result(content, cad_text(result), [out], as_json=json)
    return 0
