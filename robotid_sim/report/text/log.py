"""Logs in words and tables: what was read, what was simulated, what is wrong or loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from robotid_sim.importing.match import BY_NAME
from robotid_sim.report.text import Text
from robotid_sim.section import number
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.diagnostics.cause import Diagnosis
    from robotid_sim.importing.import_map import JointMap
    from robotid_sim.importing.importer import ImportedLog
    from robotid_sim.importing.reading import Logs
    from robotid_sim.model.robot import Robot
    from robotid_sim.pipeline.payload import PayloadResult
    from robotid_sim.pipeline.simulate import Experiment

FEW = 8
"""Unused columns that are named."""


def diagnose_text(diagnosis: Diagnosis, logs: Logs) -> Iterator[Text]:
    """Return what was concluded when a log was read, and what is wrong with it."""
    yield from reading_text(logs)
    yield from diagnosis.sentences()


def reading_text(logs: Logs) -> Iterator[Text]:
    """Return what was concluded, dropped and resampled when logs were read."""
    for name, notes in logs.notes.items():
        for note in notes:
            yield f"{name}: {note}"


def import_text(imported: ImportedLog, robot: Robot) -> Iterator[Text]:
    """Return which columns were taken for what, and what was concluded."""
    log, joints = imported.log, imported.mapping.joints
    yield (
        f"{robot.name}: {log.t.size} samples, {1.0 / log.dt:.6g} Hz, {log.t[0]:.6g} to "
        f"{log.t[-1]:.6g} s"
    )
    yield ""
    columns = {
        "quantity": list(imported.reasons),
        "unit": [_units(joints.values(), quantity) for quantity in imported.reasons],
        "columns": list(imported.reasons.values()),
    }
    yield Table.of(columns, text_columns=3)
    by_name = [q for q, reason in imported.reasons.items() if reason == BY_NAME]
    others = [quantity for quantity in imported.reasons if quantity not in by_name]
    if others:
        yield ""
        cells = {q: [getattr(joints[name], q) or "-" for name in robot.joint_names] for q in others}
        yield Table.of({"joint": robot.joint_names, **cells}, text_columns=len(cells) + 1)
    yield ""
    yield from imported.notes
    if imported.unused:
        more = len(imported.unused) - FEW
        text = ", ".join(imported.unused[:FEW]) + (f" and {more} more" if more > 0 else "")
        yield f"not used: {text}"


def _units(joints: Iterable[JointMap], quantity: str) -> str:
    """Return the units of a quantity in its columns."""
    kind = "torque" if quantity == "command" else quantity
    units = (getattr(joint, f"{kind}_unit") for joint in joints if getattr(joint, quantity))
    return ", ".join(dict.fromkeys(units))


def payload_text(done: PayloadResult) -> Iterator[Text]:
    """Return how the logs were read, and the estimate."""
    yield from reading_text(done.logs)
    yield from done.estimate.sentences()
    yield from doubt_text(done.doubt)


def simulate_text(done: Experiment) -> Iterator[Text]:
    """Return peak torques, use of the limits, and what no real arm may run."""
    plant, log, peak = done.plant, done.log, done.peak_torque
    yield f"{plant.name}: {log.t.size} samples at {1.0 / log.dt:g} Hz"
    columns = {
        "joint": plant.joint_names,
        "peak torque": map(number, peak),
        "of limit": [f"{share:.0%}" for share in peak / plant.limits.effort],
    }
    for name, of_joints in done.limit_use.items():
        columns[name.replace("_", " ")] = [f"{share:.0%}" for share in of_joints]
    yield Table.of(columns)
    for name, share in zip(plant.joint_names, done.saturated, strict=True):
        if share > 0.0:
            yield (
                f"SATURATED: {name} is commanded more than its torque limit in "
                f"{100.0 * share:.2g} % of the samples, and does not follow; lower "
                "design.torque_ratio, or check rotor inertia and --plant-drive"
            )
    for text in done.contacts:
        yield f"CONTACT: {text}; no real arm may run this"


def doubt_text(doubt: str) -> Iterator[Text]:
    """Return what contradicts logs that were taken in spite of it, if anything."""
    if doubt:
        yield f"WARNING: of the log: {doubt}"
