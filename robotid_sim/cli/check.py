"""``robotid check``: whether a robot can exist, and what can be identified of it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.cli import output
from robotid_sim.dynamics.base_parameters import BaseParameters, random_states
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.light_joints import light_joints
from robotid_sim.dynamics.textbook_base import textbook_base
from robotid_sim.errors import MissingExtraError, OptionError, RobotIdError, install_command
from robotid_sim.files import require_writable
from robotid_sim.model.diagnosis import (
    BodyDiagnosis,
    RepairReport,
    diagnose,
    repair_report,
    summary,
)
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mass_comparison import unlikely_masses
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.build_robot import build_basis, build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.section import number
from robotid_sim.table import Table
from robotid_sim.validation.prediction import rms

UNKNOWN = (
    "?: no mass, no geometry, a mesh that is missing, or the reader of meshes is: "
    + install_command("cad")
)
OUTSIDE = "the COM lies outside of the hull of its geometry: look at units, frames and signs"


def check(*, robot: str, json: bool, out: Path | None, study: StudyConfig) -> int:
    """Do ``robotid check``; its words are in `cli.syntax.check`."""
    repair = study.robot.repair
    if out is not None and not repair:
        raise OptionError("-o writes the repaired robot; give it together with --repair")
    if out is not None:
        require_writable(out)
    raw = study.robot.model_copy(update={"repair": False})
    read = build_robot(robot, raw, formal=True)
    basis = build_basis(read, study)
    bodies = diagnose(read)
    report = _report(read, basis, bodies)
    if study.nominal.file is not None:
        report["unlikely_masses"] = unlikely_masses(read, build_nominal(read, study))
    if repair:
        fixed = read.repaired()
        states = random_states(read)
        torque = joint_torque(read, *states)
        change = joint_torque(fixed, *states) - torque
        repaired = repair_report(read, fixed, change, rms(torque))
        report["repair"] = _repair(repaired, read)
        if out is not None:
            write_urdf(fixed, out)
            report["repair"]["file"] = str(out)
    report.update(_prospect(robot, study))
    if json:
        output.print_json(report)
    else:
        _print_report(read, report)
        repaired_ones = repair and any(body.reason is not None for body in bodies)
        output.print_line(summary(bodies) + (", before the repair" if repaired_ones else ""))
        refused, missing = report["refused"], report.get("missing")
        can_run = f"a study cannot run here: {missing}" if missing else "a study can run"
        output.print_line("a study of it is refused: " + refused if refused else can_run)
        output.print_written([out])
    consistent = all(body.reason is None for body in bodies)
    return 0 if (consistent or repair) and report["refused"] is None else 1


def _prospect(robot: str, study: StudyConfig) -> dict[str, Any]:
    """Return why `robotid run` would refuse the robot, or what it would assume.

    A package that is not installed is told too, but nothing is wrong with the robot then.
    """
    try:
        return {"refused": None, "assumptions": build_setup(robot, study).assumptions}
    except MissingExtraError as error:
        return {"refused": None, "assumptions": [], "missing": str(error)}
    except RobotIdError as error:
        return {"refused": str(error)}


def _report(robot: Robot, basis: BaseParameters, bodies: Sequence[BodyDiagnosis]) -> dict[str, Any]:
    links = [
        {
            "name": body.name,
            "consistent": body.reason is None,
            "reason": body.reason,
            "engine": body.engine,
            "mass": body.mass,
            "com": body.com.tolist(),
            "com_inside": body.com_inside,
            "principal_moments": body.moments.tolist(),
            "triangle_margin": body.triangle_margin,
            "pseudo_inertia_eigenvalues": body.pseudo_inertia.tolist(),
            "fused": [*link.fixed, *link.locked],
        }
        for link, body in zip(robot.links, bodies, strict=True)
    ]
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
        "light_joints": light_joints(robot),
        "assumptions": list(robot.assumptions),
        "inertial_rank": basis.inertial_rank,
        "rank": basis.rank,
        "groupings": list(basis.groupings),
        "textbook_groupings": list(textbook_base(robot, basis).groupings),
        "identifiable_alone": list(basis.identifiable_alone),
        "in_combination": list(basis.in_combination),
        "no_effect": list(basis.no_effect),
        "faint": list(basis.faint),
    }


def _repair(report: RepairReport, robot: Robot) -> dict[str, Any]:
    bodies = zip(robot.links, report.distance.tolist(), strict=True)
    joints = zip(robot.joint_names, report.torque.tolist(), strict=True)
    return {
        "metric": report.metric,
        "distance": {link.name: distance for link, distance in bodies},
        "parameters": [
            {"name": name, "before": before, "after": after}
            for name, before, after in report.changed
        ],
        "torque_change_relative": dict(joints),
    }


def _print_report(robot: Robot, report: dict[str, Any]) -> None:
    output.print_line(f"{robot.name}: {robot.dof} joints")
    for note in report["assumptions"]:
        output.print_line(f"  assumed: {note}")
    output.print_line()
    links = report["links"]
    output.print_table(_body_table(links))
    for link in links:
        outside = OUTSIDE if link["com_inside"] is False else None
        for text in filter(None, (link["reason"], link["engine"], outside)):
            output.print_line(f"  {link['name']}: {text}")
    if any(link["com_inside"] is None for link in links):
        output.print_line(f"  {UNKNOWN}")
    for text in report.get("unlikely_masses", ()):
        output.print_line(f"  WARNING: {text}")
    if "repair" in report:
        _print_repair(report["repair"])
    output.print_line()
    output.print_table(_joint_table(report["joints"]))
    for text in report["light_joints"]:
        output.print_line(f"  WARNING: {text}")
    output.print_line()
    output.print_line(
        f"{report['rank']} base parameters, {report['inertial_rank']} of them inertial:"
    )
    for text in report["textbook_groupings"]:
        output.print_line(f"  {text}")
    for key in ("identifiable_alone", "in_combination", "no_effect"):
        names = report[key]
        output.print_line(f"{key.replace('_', ' ')} ({len(names)}): {' '.join(names)}")
    if report["faint"]:
        output.print_line(
            f"not counted: {' '.join(report['faint'])}, which would stand alone only with 1e4 "
            "times more signal; angles rounded in the URDF, such as 1.5708, make such directions"
        )


def _body_table(links: Sequence[dict[str, Any]]) -> Table:
    inside = {True: "yes", False: "NO", None: "?"}
    columns: dict[str, Iterable[str]] = {
        "link": [link["name"] for link in links],
        "body": ["ok" if link["consistent"] else "IMPOSSIBLE" for link in links],
        "mass [kg]": [f"{link['mass']:.4g}" for link in links],
        "COM in hull": [inside[link["com_inside"]] for link in links],
        "moments about COM [kg m^2]": [
            " ".join(f"{moment:.4g}" for moment in link["principal_moments"]) for link in links
        ],
        "triangle margin": [f"{link['triangle_margin']:.2g}" for link in links],
        "least pseudo inertia": [f"{link['pseudo_inertia_eigenvalues'][0]:.2g}" for link in links],
    }
    return Table.of(columns, text_columns=2)


def _joint_table(joints: Sequence[dict[str, Any]]) -> Table:
    columns: dict[str, Iterable[str]] = {
        "joint": [joint["name"] for joint in joints],
        "unit": [joint["unit"] for joint in joints],
    }
    columns |= {
        key: [number(joint[key]) for joint in joints]
        for key in joints[0]
        if key not in ("name", "unit")
    }
    return Table.of(columns, text_columns=2)


def _print_repair(repair: dict[str, Any]) -> None:
    output.print_line()
    output.print_line(f"repaired, nearest in the {repair['metric']}")
    for name, distance in repair["distance"].items():
        if distance > 0.0:
            output.print_line(f"  {name}: tensor about the COM moved by {distance:.3%}")
    changed = repair["parameters"]
    if changed:
        columns = {
            "parameter": [parameter["name"] for parameter in changed],
            "before": [number(parameter["before"], 6) for parameter in changed],
            "after": [number(parameter["after"], 6) for parameter in changed],
        }
        output.print_table(Table.of(columns))
    changes = repair["torque_change_relative"].items()
    shares = ", ".join(f"{name} {share:.2%}" for name, share in changes)
    output.print_line(f"RMS change of the torques over random states: {shares}")
