"""Texts and tables of robots and logs for the terminal; checks as JUnit XML.

Servers of continuous integration read JUnit XML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from robotid_sim.errors import install_command
from robotid_sim.files import write_text
from robotid_sim.importing.match import NAME_REASON
from robotid_sim.model import inertia
from robotid_sim.pipeline.result import VerdictResult
from robotid_sim.section import number
from robotid_sim.table import Table

JunitCase = tuple[str, str]
"""The name of a check, and why it fails; empty if it passes."""


def write_junit(path: Path | None, suite: str, cases: Sequence[JunitCase]) -> None:
    """Write checks as one suite of tests with the name `suite`, if there is a path.

    Raises `FileFormatError` if the file cannot be written.
    """
    if path is None:
        return
    failures = sum(bool(failure) for _, failure in cases)
    counts = {"name": suite, "tests": str(len(cases)), "failures": str(failures)}
    root = ElementTree.Element("testsuites")
    tests = ElementTree.SubElement(root, "testsuite", counts)
    for name, failure in cases:
        test = ElementTree.SubElement(tests, "testcase", classname=suite, name=name)
        if failure:
            ElementTree.SubElement(test, "failure", message=failure)
    ElementTree.indent(root)
    write_text(path, ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def verdict_cases(verdict: VerdictResult) -> list[JunitCase]:
    """Convert the checks of a verdict to JUnit cases."""
    cases = []
    for check in verdict.checks:
        lower_text = "" if check.lower is None else f"{check.lower:.6g} to "
        text = f"{check.value} against {lower_text}{check.limit:.6g} {check.message}".strip()
        cases.append((check.name, "" if check.passed else text))
    return cases


if TYPE_CHECKING:
    from robotid_sim.diagnostics.cause import Diagnosis
    from robotid_sim.importing.importer import ImportedLog
    from robotid_sim.importing.reading import Logs
    from robotid_sim.model.cad import CadInertia
    from robotid_sim.model.robot import Robot
    from robotid_sim.pipeline.check import RobotCheck
    from robotid_sim.pipeline.payload import PayloadResult
    from robotid_sim.pipeline.simulate import Experiment

Text = str | Table
"""A line, which a terminal wraps, or a table."""

UNKNOWN_TEXT = "?: no mass or geometry, a missing mesh, or no reader of meshes; " + install_command(
    "cad"
)
OUTSIDE_TEXT = "COM outside of the convex hull of the geometry; check units, frames and signs"

MAX_NAMED_COLUMNS = 8
"""Number of unused columns that are listed."""


USUAL_FLOOR, CHAIN, OFF_CHAIN = "the floor is at z = 0 m", "chain of", "joints off the chain"
"""First words of notes on the floor, the chain and the joints that are not part of it."""


def select_assumptions(notes: Sequence[str]) -> list[str]:
    """Select the assumptions about a robot that are unusual: not its floor, not its only chain."""
    usual = [USUAL_FLOOR]
    if not any(note.startswith(OFF_CHAIN) for note in notes):
        usual.append(CHAIN)
    return [f"assumed: {note}" for note in notes if not note.startswith(tuple(usual))]


def check_text(check: RobotCheck) -> Iterator[Text]:
    """Report whether a robot is physically consistent and can be studied, and its faults."""
    robot, report = check.robot, check.content()
    yield f"{robot.name}: {robot.dof} joints, {check.finding}"
    for link in report["links"]:
        outside = OUTSIDE_TEXT if link["com_inside"] is False else None
        for text in filter(None, (link["reason"], link["engine"], outside)):
            yield f"  {link['name']}: {text}"
    for text in (*report.get("unlikely_masses", ()), *report["light_joints"]):
        yield f"  WARNING: {text}"
    for note in select_assumptions(report["assumptions"]):
        yield f"  {note}"
    if "repair" in report:
        repair = report["repair"]
        yield ""
        yield f"repaired: nearest physically consistent robot in the {repair['metric']}"
        for name, distance in repair["distance"].items():
            if distance > 0.0:
                yield f"  {name}: tensor about the COM changed by {distance:.3%}"
        changed = repair["parameters"]
        if changed:
            columns = {
                "parameter": [parameter["name"] for parameter in changed],
                "before": [number(parameter["before"], 6) for parameter in changed],
                "after": [number(parameter["after"], 6) for parameter in changed],
            }
            yield Table.from_columns(columns)
        changes = repair["torque_change_relative"].items()
        shares = ", ".join(f"{name} {share:.2%}" for name, share in changes)
        yield f"RMS change of the torques over random states: {shares}"
    groups = ("identifiable_alone", "in_combination", "not_identifiable")
    counts = (f"{len(report[key])} {key.replace('_', ' ')}" for key in groups)
    yield (
        f"{report['rank']} base parameters, {report['inertial_rank']} of them inertial; "
        f"single parameters: {', '.join(counts)}"
    )
    refused, missing = report["refused"], report.get("missing")
    can_run = f"a study cannot run here: {missing}" if missing else "a study can run"
    yield f"a study is refused: {refused}" if refused else can_run


def check_details(check: RobotCheck) -> Iterator[Text]:
    """Report bodies, joints and groupings of a robot."""
    report = check.content()
    yield ""
    for note in report["assumptions"]:
        yield f"assumed: {note}"
    links = report["links"]
    yield _body_table(links)
    if any(link["com_inside"] is None for link in links):
        yield f"  {UNKNOWN_TEXT}"
    yield ""
    joints = report["joints"]
    columns: dict[str, Iterable[str]] = {
        "joint": [joint["name"] for joint in joints],
        "unit": [joint["unit"] for joint in joints],
    }
    columns |= {
        key: [number(joint[key]) for joint in joints]
        for key in joints[0]
        if key not in ("name", "unit")
    }
    yield Table.from_columns(columns, text_columns=2)
    yield ""
    yield "base parameters:"
    for text in report["textbook_groupings"]:
        yield f"  {text}"
    for key in ("identifiable_alone", "in_combination", "not_identifiable"):
        names = report[key]
        yield f"{key.replace('_', ' ')} ({len(names)}): {' '.join(names)}"
    if report["negligible"]:
        yield (
            f"not counted: {' '.join(report['negligible'])}, which need 1e4 times the signal; "
            "angles rounded in the URDF, such as 1.5708, cause them"
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
        "smallest pseudo-inertia eigenvalue": [
            f"{link['pseudo_inertia_eigenvalues'][0]:.2g}" for link in links
        ],
    }
    return Table.from_columns(columns, text_columns=2)


def check_cases(check: RobotCheck) -> list[JunitCase]:
    """List the checks of a robot: every body, and whether a study can run."""
    repaired = check.repaired is not None
    cases = [
        (body.name, "" if repaired or body.reason is None else body.reason) for body in check.bodies
    ]
    return [*cases, ("study", check.prospect["refused"] or "")]


def cad_text(result: CadInertia) -> Iterator[Text]:
    """Report the share of the mass of every link, and the convex hulls of open meshes."""
    total_mass = result.total_mass
    bodies = [inertia.unpack(link.phi) for link in result.links]
    moments = [np.linalg.eigvalsh(central) for _, _, central in bodies]
    columns = {
        "link": [link.name if link.movable else f"{link.name} (fixed)" for link in result.links],
        "volume [l]": [number(1e3 * link.volume) for link in result.links],
        "mass [kg]": [number(link.mass) for link in result.links],
        "center of mass [m]": [" ".join(f"{x:+.4f}" for x in com) for _, com, _ in bodies],
        "principal moments [kg m^2]": [" ".join(map(number, row)) for row in moments],
    }
    yield Table.from_columns(columns)
    yield ""
    volume = sum(link.volume for link in result.links)
    yield (
        f"total mass {total_mass:g} kg in {1e3 * volume:.4g} l: uniform density "
        f"{total_mass / volume:.4g} kg/m^3"
    )
    for link in result.links:
        for name in link.hulls:
            yield f"{link.name}: mesh {name} is not closed; its convex hull is used"
    for note in result.robot.assumptions:
        if note.startswith("limits missing"):
            yield f"{note}; assumed limits are written, enter those of the robot"


def diagnose_text(diagnosis: Diagnosis, logs: Logs) -> Iterator[Text]:
    """Report conclusions from reading a log, and the causes of its faults."""
    yield from log_reading_text(logs.notes)
    if diagnosis.is_healthy:
        yield from diagnosis.sentences()
        return
    for k, cause in enumerate(diagnosis.causes, start=1):
        yield f"{k}. {cause.kind}: {cause.sentence}"
        yield f"   Remedy: {cause.remedy}."
    yield from diagnosis.not_detectable


def diagnose_details(diagnosis: Diagnosis) -> Iterator[Text]:
    """Report the evidence for every cause."""
    for k, cause in enumerate(diagnosis.causes, start=1):
        yield f"{k}. Evidence: {cause.evidence}."


def log_reading_text(notes_by_log: Mapping[str, Sequence[str]]) -> Iterator[Text]:
    """Report conclusions, dropped columns and resampling from reading logs, by their names."""
    for name, notes in notes_by_log.items():
        for note in notes:
            yield f"{name}: {note}"


def import_text(imported: ImportedLog, robot: Robot) -> Iterator[Text]:
    """Report the columns of every quantity, their units, and conclusions."""
    log, joints = imported.log, imported.mapping.joints
    yield (
        f"{robot.name}: {log.t.size} samples, {1.0 / log.dt:.6g} Hz, {log.t[0]:.6g} to "
        f"{log.t[-1]:.6g} s"
    )
    yield ""
    units = []
    for quantity in imported.reasons:
        unit = f"{'torque' if quantity == 'command' else quantity}_unit"
        joint_values = (getattr(j, unit) for j in joints.values() if getattr(j, quantity))
        units.append(", ".join(dict.fromkeys(joint_values)))
    columns = {
        "quantity": list(imported.reasons),
        "unit": units,
        "columns": list(imported.reasons.values()),
    }
    yield Table.from_columns(columns, text_columns=3)
    by_name = [q for q, reason in imported.reasons.items() if reason == NAME_REASON]
    mapped = [quantity for quantity in imported.reasons if quantity not in by_name]
    if mapped:
        yield ""
        cells = {q: [getattr(joints[name], q) or "-" for name in robot.joint_names] for q in mapped}
        yield Table.from_columns({"joint": robot.joint_names, **cells}, text_columns=len(cells) + 1)
    yield ""
    yield from imported.notes
    if imported.unused:
        more = len(imported.unused) - MAX_NAMED_COLUMNS
        text = ", ".join(imported.unused[:MAX_NAMED_COLUMNS]) + (
            f" and {more} more" if more > 0 else ""
        )
        yield f"not used: {text}"


def payload_text(payload: PayloadResult) -> Iterator[Text]:
    """Report how the logs were read, and the estimated payload."""
    yield from log_reading_text(payload.logs.notes)
    yield from payload.estimate.sentences()
    if (constants := payload.torque_constants) is not None:
        yield f"torque constants: {' '.join(map(number, constants))} N m/A"
    yield from report_warning(payload.warning)


def simulate_text(experiment: Experiment) -> Iterator[Text]:
    """Report peak torques, use of the limits, saturation and contacts."""
    plant, log, peak = experiment.plant, experiment.log, experiment.peak_torque
    yield f"{plant.name}: {log.t.size} samples at {1.0 / log.dt:g} Hz"
    columns = {
        "joint": plant.joint_names,
        "peak torque": map(number, peak),
        "of limit": [f"{share:.0%}" for share in peak / plant.limits.effort],
    }
    for name, joint_values in experiment.limit_use.items():
        columns[name.replace("_", " ")] = [f"{share:.0%}" for share in joint_values]
    yield Table.from_columns(columns)
    for name, share in zip(plant.joint_names, experiment.saturated_share, strict=True):
        if share > 0.0:
            yield (
                f"SATURATED: {name}: the commanded torque exceeds its limit in "
                f"{100.0 * share:.2g} % of the samples. Lower design.torque_ratio, or check "
                "rotor inertia and --plant-drive."
            )
    for text in experiment.contacts:
        yield f"CONTACT: {text}; do not run this motion on a robot"


def report_warning(warning: str) -> Iterator[Text]:
    """Report the warning of logs that contradict the nominal model, if there is one."""
    if warning:
        yield f"WARNING: the log is untrusted: {warning}"
