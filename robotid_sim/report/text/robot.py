"""A robot in words and tables: what a check finds, and inertia from geometry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robotid_sim.errors import install_command
from robotid_sim.model import inertia
from robotid_sim.report.junit import JunitCase
from robotid_sim.report.text import Text
from robotid_sim.section import number
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.model.cad import CadInertia, CadLink
    from robotid_sim.pipeline.check import RobotCheck


UNKNOWN = (
    "?: no mass, no geometry, a mesh that is missing, or the reader of meshes is: "
    + install_command("cad")
)
OUTSIDE = "the COM lies outside of the hull of its geometry: look at units, frames and signs"


def check_text(check: RobotCheck) -> Iterator[Text]:
    """Return what can be said of a robot, as a terminal shows it."""
    robot, report = check.robot, check.content()
    yield f"{robot.name}: {robot.dof} joints"
    for note in report["assumptions"]:
        yield f"  assumed: {note}"
    yield ""
    links = report["links"]
    yield _body_table(links)
    for link in links:
        outside = OUTSIDE if link["com_inside"] is False else None
        for text in filter(None, (link["reason"], link["engine"], outside)):
            yield f"  {link['name']}: {text}"
    if any(link["com_inside"] is None for link in links):
        yield f"  {UNKNOWN}"
    for text in report.get("unlikely_masses", ()):
        yield f"  WARNING: {text}"
    if "repair" in report:
        yield from _repair_text(report["repair"])
    yield ""
    yield _joint_table(report["joints"])
    for text in report["light_joints"]:
        yield f"  WARNING: {text}"
    yield ""
    yield f"{report['rank']} base parameters, {report['inertial_rank']} of them inertial:"
    for text in report["textbook_groupings"]:
        yield f"  {text}"
    for key in ("identifiable_alone", "in_combination", "no_effect"):
        names = report[key]
        yield f"{key.replace('_', ' ')} ({len(names)}): {' '.join(names)}"
    if report["faint"]:
        yield (
            f"not counted: {' '.join(report['faint'])}, which would stand alone only with 1e4 "
            "times more signal; angles rounded in the URDF, such as 1.5708, make such directions"
        )
    yield check.finding
    refused, missing = report["refused"], report.get("missing")
    can_run = f"a study cannot run here: {missing}" if missing else "a study can run"
    yield "a study of it is refused: " + refused if refused else can_run


def _repair_text(repair: dict[str, Any]) -> Iterator[Text]:
    yield ""
    yield f"repaired, nearest in the {repair['metric']}"
    for name, distance in repair["distance"].items():
        if distance > 0.0:
            yield f"  {name}: tensor about the COM moved by {distance:.3%}"
    changed = repair["parameters"]
    if changed:
        columns = {
            "parameter": [parameter["name"] for parameter in changed],
            "before": [number(parameter["before"], 6) for parameter in changed],
            "after": [number(parameter["after"], 6) for parameter in changed],
        }
        yield Table.of(columns)
    changes = repair["torque_change_relative"].items()
    shares = ", ".join(f"{name} {share:.2%}" for name, share in changes)
    yield f"RMS change of the torques over random states: {shares}"


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


def check_cases(check: RobotCheck) -> list[JunitCase]:
    """Return the checks of a robot: every body, and whether a study can run."""
    repaired = check.repaired is not None
    cases = [
        (body.name, "" if repaired or body.reason is None else body.reason) for body in check.bodies
    ]
    return [*cases, ("study", check.prospect["refused"] or "")]


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
