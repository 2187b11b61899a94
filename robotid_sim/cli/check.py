"""``robotid check``: whether a robot can exist, and what can be identified of it."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from robotid_sim.cli import options, output
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import OptionError
from robotid_sim.model import inertia
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.robots import read_robot
from robotid_sim.study.stages import basis_of


@options.for_study
def check(
    robot: options.RobotArg,
    json: options.Json = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="URDF to write, with --repair.")
    ] = None,
    *,
    study: StudyConfig,
) -> int:
    """Check a robot: consistency link by link, limits, rank, groupings.

    Exit 0 if every movable body can exist (or was repaired), 1 if not.
    """
    repair = study.robot.repair
    if out is not None and not repair:
        raise OptionError("-o writes the repaired robot; give it together with --repair")
    raw = study.robot.model_copy(update={"repair": False})
    read = read_robot(robot, raw, formal=True)
    basis = basis_of(read, study)
    report = _report(read, basis)
    consistent = all(link["consistent"] for link in report["links"])
    if repair:
        fixed = read.repaired()
        for link, before, after in zip(report["links"], read.links, fixed.links, strict=True):
            link["repair_distance"] = _distance(before.phi, after.phi)
        if out is not None:
            write_urdf(fixed, out)
            report["repaired"] = str(out)
    if json:
        output.print_json(report)
    else:
        _print_report(read, report)
    return 0 if consistent or repair else 1


def _report(robot: Robot, basis: BaseParameters) -> dict[str, Any]:
    links = []
    for link, reason in zip(robot.links, robot.inconsistencies(), strict=True):
        mass, com, central = inertia.unpack(link.phi)
        links.append(
            {
                "name": link.name,
                "consistent": reason is None,
                "reason": reason,
                "mass": mass,
                "com": com.tolist(),
                "principal_moments": np.linalg.eigvalsh(central).tolist(),
                "fused": [*link.fixed, *link.locked],
            }
        )
    joints = []
    for joint, unit in zip(robot.joints, robot.joint_units, strict=True):
        joints.append(
            {
                "name": joint.name,
                "unit": unit,
                "lower": joint.lower,
                "upper": joint.upper,
                "velocity": joint.velocity,
                "acceleration": joint.acceleration,
                "effort": joint.effort if np.isfinite(joint.effort) else None,
                "Fv": joint.friction.Fv,
                "Fc": joint.friction.Fc,
                "Fo": joint.friction.Fo,
                "eps": joint.friction.eps,
                "Ia": joint.rotor_inertia,
            }
        )
    return {
        "robot": robot.name,
        "dof": robot.dof,
        "links": links,
        "joints": joints,
        "assumptions": list(robot.assumptions),
        "inertial_rank": basis.inertial_rank,
        "rank": basis.rank,
        "groupings": list(basis.groupings),
        "identifiable_alone": list(basis.identifiable_alone),
        "in_combination": list(basis.in_combination),
        "no_effect": list(basis.no_effect),
    }


def _distance(before: Any, after: Any) -> float:
    """Return how far a repair moved the inertia about the COM, relative (Frobenius)."""
    old, new = inertia.unpack(before)[2], inertia.unpack(after)[2]
    size = float(np.linalg.norm(old))
    return float(np.linalg.norm(new - old)) / size if size > 0.0 else 0.0


def _print_report(robot: Robot, report: dict[str, Any]) -> None:
    output.print_line(f"{robot.name}: {robot.dof} joints")
    for note in report["assumptions"]:
        output.print_line(f"  assumed: {note}")
    output.print_line()
    rows = []
    for link in report["links"]:
        repaired = link.get("repair_distance")
        verdict = "ok" if link["consistent"] else f"IMPOSSIBLE: {link['reason']}"
        if repaired:
            verdict += f" (repaired, {repaired:.2%} away)"
        moments = " ".join(f"{m:.4g}" for m in link["principal_moments"])
        rows.append([link["name"], verdict, f"{link['mass']:.4g}", moments])
    output.print_table(
        "", ["link", "consistency", "mass [kg]", "moments about COM [kg m^2]"], rows, text_columns=2
    )
    output.print_line()
    columns = ["joint", "unit", "lower", "upper", "velocity", "acceleration", "effort"]
    columns += ["Fv", "Fc", "Fo", "eps", "Ia"]
    rows = [
        [str(joint["name"]), joint["unit"], *(output.number(joint[key]) for key in columns[2:])]
        for joint in ({**joint, "joint": joint["name"]} for joint in report["joints"])
    ]
    output.print_table("", columns, rows, text_columns=2)
    output.print_line()
    output.print_line(
        f"{report['rank']} base parameters, {report['inertial_rank']} of them inertial:"
    )
    for text in report["groupings"]:
        output.print_line(f"  {text}")
    for key, title in (
        ("identifiable_alone", "identifiable alone"),
        ("in_combination", "in combination"),
        ("no_effect", "no effect"),
    ):
        names = report[key]
        output.print_line(f"{title} ({len(names)}): {' '.join(names)}")
    if "repaired" in report:
        output.print_line(f"repaired robot written to {report['repaired']}")
