"""What `robotid list` says of kinds and items, from the registries.

As a program (``python -m robotid_sim.cli.kinds``) it writes what `robotid list` reads.
"""

from collections.abc import Mapping
from typing import Any

from robotid_sim.cli.items import FILE, SCHEMA, Items, ListedKind, with_state
from robotid_sim.control import CONTROLLERS
from robotid_sim.engine.engines import ENGINES
from robotid_sim.errors import UnknownNameError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.experiment.conditions import CONDITIONS
from robotid_sim.files import write_json
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.presets import PRESETS, describe_presets
from robotid_sim.model.catalog import load_robot, published_sets
from robotid_sim.model.catalog_files import describe_catalog
from robotid_sim.model.friction_laws import FRICTION_LAWS
from robotid_sim.model.joint_terms import KINDS as TERMS
from robotid_sim.model.joint_terms import SOUGHT, unit_of
from robotid_sim.model.plant_drives import PLANT_DRIVES
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.papers import describe_papers
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.registry import Registry
from robotid_sim.section import number
from robotid_sim.table import Table
from robotid_sim.tasks import TASKS

PRESET_SUMMARIES: Mapping[str, str] = {
    "ideal": "no sensor: positions and torques as they are",
    "lab": "joint torque sensors and fine encoders",
    "industrial": "motor currents, a delay, and the encoders of an industrial arm",
    "harsh": "strong noise, ripple, drift, delay and faulty samples",
}


def _registered(
    registry: Registry[Any], summary: str, use: str, *, settable: bool = True
) -> ListedKind:
    def tables(name: str) -> list[Table]:
        rows = registry.options(name) if settable else []
        return [_table("options", rows)] if rows else []

    return ListedKind(summary, registry.describe, tables, use)


def _table(title: str, rows: Items) -> Table:
    columns = tuple(rows[0])
    cells = tuple(tuple(row.values()) for row in rows)
    return Table(columns, cells, title, text_columns=len(columns))


def _robot_tables(name: str) -> list[Table]:
    robot = load_robot(name)
    joints = [
        {
            "name": joint.name,
            "unit": unit,
            "range": f"{number(joint.lower)} … {number(joint.upper)}",
            "velocity": number(joint.velocity),
            "acceleration": number(joint.acceleration),
            "effort": number(joint.effort),
        }
        for joint, unit in zip(robot.joints, robot.joint_units, strict=True)
    ]
    tables = [
        _table("joints: limits in the unit, per second, per second squared, N m or N", joints)
    ]
    try:
        sets = published_sets(name)
    except UnknownNameError:
        return tables
    rows = [{"name": key, "summary": text} for key, text in sets.items()]
    return [*tables, _table("published sets, for `--model published:NAME`", rows)]


def _preset_rows() -> Items:
    source = "robotid_sim/measurement/presets.toml, with a reason for every number"
    return [{"name": n, "summary": PRESET_SUMMARIES[n], "source": source} for n in PRESETS]


def _preset_tables(name: str) -> list[Table]:
    rows = [
        {
            "sensor": row["sensor"],
            "options": ", ".join(f"{key} {value}" for key, value in row["options"].items()),
            "reason": row["reason"],
        }
        for row in describe_presets()
        if row["preset"] == name
    ]
    return [_table("sensors, in the order in which they apply", rows)] if rows else []


def _engine_rows() -> Items:
    source = "robotid_sim/engine/engines.py"
    return [{"name": name, "summary": e.words, "source": source} for name, e in ENGINES.items()]


def _term_rows() -> Items:
    source = "robotid_sim/model/joint_terms.py"
    return [{"name": n, "summary": TERMS[n].words, "source": source} for n in SOUGHT]


def _term_tables(name: str) -> list[Table]:
    kind = TERMS[name]
    pairs = list(zip(kind.symbols, kind.units, strict=True))
    pairs += [] if kind.shape is None else [(kind.shape.name, kind.shape.unit)]
    rows = [{"symbol": s, "unit": unit_of(unit, "rad")} for s, unit in pairs]
    return [_table("parameters, for a joint that turns", rows)]


def _paper_tables(name: str) -> list[Table]:
    del name
    return []


_FAMILIES = _registered(
    FAMILIES,
    "families of excitation motions",
    "--family {name}; options: [design] options = {{ … }}",
)

KINDS: Mapping[str, ListedKind] = {
    "robots": ListedKind(
        "robots of the catalog", describe_catalog, _robot_tables, "robotid check {name}"
    ),
    "families": _FAMILIES,
    "trajectories": _FAMILIES._replace(summary="the same as families"),
    "criteria": _registered(
        CRITERIA,
        "what an excitation is designed for",
        "--criterion {name}; options: [design] criterion_options = {{ … }}",
    ),
    "sensors": _registered(SENSORS, "what corrupts a log", "[sensors.{name}]"),
    "presets": ListedKind(
        "sensors of typical cells", _preset_rows, _preset_tables, "--preset {name}"
    ),
    "friction-laws": _registered(
        FRICTION_LAWS,
        "friction of the simulated plant",
        '--plant-friction {name}; options: [experiment.friction] law = "{name}"',
    ),
    "plant-drives": _registered(
        PLANT_DRIVES,
        "what lies between rotors and links of the simulated plant",
        '--plant-drive {name}; options: [experiment.drive] kind = "{name}"',
    ),
    "engines": ListedKind(
        "engines of the simulated plant",
        lambda: with_state(_engine_rows()),
        _paper_tables,
        "--engine {name}; [experiment] engine",
    ),
    "terms": ListedKind(
        "torques that a joint may have beside the standard ones",
        _term_rows,
        _term_tables,
        "--terms {name}; [estimation] joint_terms",
    ),
    "preprocessors": _registered(
        PREPROCESSORS,
        "from a log to motion and torque",
        '[preprocess] name = "{name}"; options = {{ … }}',
    ),
    "estimators": _registered(
        ESTIMATORS,
        "from motion and torque to parameters",
        "--estimator {name}; options: [estimation.options.{name}]",
    ),
    "optimizers": _registered(
        OPTIMIZERS,
        "algorithms that search without gradients",
        "--solver {name}; an estimator of that name: [estimation.options.wls-{name}.options]",
    ),
    "controllers": _registered(
        CONTROLLERS,
        "controllers of the closed loop",
        "--controller {name}; its gains follow from bandwidth and error of [control]",
        settable=False,
    ),
    "tasks": _registered(
        TASKS, "motions of the closed loop", "--task {name}; options: [control.tasks.{name}]"
    ),
    "scenarios": _registered(
        CONDITIONS,
        "disturbances of the closed loop, which + joins",
        "--scenario {name}; options: [control.conditions.{name}]",
    ),
    "papers": ListedKind(
        "published systems", describe_papers, _paper_tables, "robotid reproduce {name} --out out"
    ),
}


def content() -> dict[str, Any]:
    """Return what `robotid list` says, as JSON values; robots and engines depend on the machine."""
    return {name: _content(name, kind) for name, kind in KINDS.items()}


def _content(name: str, kind: ListedKind) -> dict[str, Any]:
    rows = _engine_rows() if name == "engines" else kind.rows()
    items = [{**row, "tables": [_as_json(t) for t in kind.tables(row["name"])]} for row in rows]
    return {"summary": kind.summary, "use": kind.use, "items": items}


def _as_json(table: Table) -> dict[str, Any]:
    return {"title": table.title, "columns": table.columns, "rows": table.rows}


if __name__ == "__main__":
    write_json(FILE, *SCHEMA, content())
