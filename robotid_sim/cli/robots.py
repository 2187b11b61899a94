"""``robotid check``, ``export`` and ``cad``: whether a robot can exist, and its files."""

from pathlib import Path

from robotid_sim.cli import options, output
from robotid_sim.cli.command import command
from robotid_sim.model.mesh_files import MeshMode


@command("nominal")
def check(
    robot: str,
    json: bool = False,
    out: Path | None = None,
    junit: Path | None = None,
    *,
    study: options.Configuration,
) -> int:
    """Check a robot: consistency link by link, limits, rank, groupings, whether a study can run.

    Masses far from those of a nominal model are told. Exit 0 if every movable body can exist (or
    was repaired) and a study is not refused, 1 if not.
    """
    from robotid_sim.errors import OptionError
    from robotid_sim.model.export import write_urdf
    from robotid_sim.pipeline.check import check as check_robot
    from robotid_sim.report.junit import write_junit
    from robotid_sim.report.text import check_cases, check_text

    if out is not None and not study.robot.repair:
        raise OptionError("-o writes the repaired robot; give it together with --repair")
    output.begin(out, junit)
    done = check_robot(robot, study)
    content = done.content()
    if out is not None and done.repaired is not None:
        write_urdf(done.repaired, out)
        content["repair"]["file"] = str(out)
    write_junit(junit, f"check {done.robot.name}", check_cases(done))
    output.print_result(content, check_text(done), [out, junit], as_json=json)
    return 0 if done.passed else 1


@command(beside=lambda values: [values["out"].with_suffix(".toml")])
def export(
    robot: str,
    out: Path,
    format: str | None = None,
    meshes: MeshMode = MeshMode.COPY,
    json: bool = False,
    *,
    study: options.Configuration,
) -> int:
    """Write a robot for other tools, as URDF, MJCF (MuJoCo), SDF (Gazebo), or source code.

    The suffix of the file says which: .urdf, .xml, .sdf, .py, .c. A TOML file beside a model holds
    what the format has no place for: rotor inertia (not of MJCF), friction offset and constant,
    acceleration limits. Source code computes inverse dynamics, mass matrix, gravity and friction,
    and needs numpy alone, or nothing.
    """
    from robotid_sim.pipeline.build_robot import build_robot
    from robotid_sim.pipeline.export import export as write_robot
    from robotid_sim.pipeline.export import format_of

    output.begin()
    chosen = format_of(out, format)
    read = build_robot(robot, study.robot)
    files, notes = write_robot(read, out, format=chosen, meshes=meshes)
    content = {"robot": read.name, "format": chosen, "files": list(map(str, files)), "notes": notes}
    output.print_result(content, notes, files, as_json=json)
    return 0


@command()
def cad(
    robot: str,
    total_mass: float,
    out: Path,
    convex_hull: bool = False,
    collision: bool = False,
    base: str | None = None,
    tip: str | None = None,
    json: bool = False,
) -> int:
    """Give a robot the inertia of its geometry, at uniform density.

    Every link takes a share of the mass by the volume of its visual shapes, meshes and primitives.
    Overlaps count once.
    """
    from robotid_sim.model.cad import inertia_from_geometry
    from robotid_sim.model.catalog import load_robot
    from robotid_sim.model.export import write_urdf
    from robotid_sim.report.text import cad_text

    output.begin(out)
    read = load_robot(robot, base=base, tip=tip, formal=True)  # its own inertia goes anyway
    done = inertia_from_geometry(read, total_mass, convex_hull=convex_hull, collision=collision)
    write_urdf(done.robot, out)
    output.print_result({**done.content(), "file": str(out)}, cad_text(done), [out], as_json=json)
    return 0
