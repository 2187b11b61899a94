"""An import of a foreign log in words and tables."""

from collections.abc import Iterable, Iterator

from robotid_sim.importing.import_map import JointMap
from robotid_sim.importing.importer import ImportedLog
from robotid_sim.importing.match import BY_NAME
from robotid_sim.model.robot import Robot
from robotid_sim.report.text.parts import Text
from robotid_sim.table import Table

FEW = 8
"""Unused columns that are named."""


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
