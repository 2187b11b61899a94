"""Kinds of parts, and what `robotid list` says of each, read from the registries."""

import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from robotid_sim.errors import UnknownNameError
from robotid_sim.registry import Registry
from robotid_sim.table import Table

PartRows = list[dict[str, str]]


class PartKind(NamedTuple):
    """One kind of parts; what has them is loaded when it is asked."""

    summary: str
    use: str
    """Where the name of a part goes."""
    registry: str = ""
    """Where their registry is; or the functions for rows and tables."""
    rows_of: str = ""
    tables_of: str = ""
    settable: bool = True
    """Whether parts have options."""
    summaries: Mapping[str, str] = {}
    """Of parts that do not say it themselves."""

    @classmethod
    def read(cls, rows: str = "", tables: str = "", **entry: Any) -> "PartKind":
        """Read an entry of the file."""
        return cls(rows_of=rows, tables_of=tables, **entry)

    def rows(self) -> PartRows:
        """Return name, summary and source of every part."""
        if not self.registry:
            rows: PartRows = resolve_name(self.rows_of)()
            return rows
        registry: Registry[object] = resolve_name(self.registry)
        return registry.describe()

    def tables(self, name: str) -> list[Table]:
        """Return what there is to say of a part by its name."""
        if self.tables_of:
            tables: list[Table] = resolve_name(self.tables_of)(name)
            return tables
        options = resolve_name(self.registry).options(name) if self.registry else []
        return [_table("options", options)] if options and self.settable else []


def _table(title: str, rows: PartRows) -> Table:
    cells = tuple(tuple(row.values()) for row in rows)
    return Table(tuple(rows[0]), cells, title, text_columns=len(rows[0]))


def robot_tables(name: str) -> list[Table]:
    """Return joints and published sets of a robot of the catalog."""
    from robotid_sim.model.catalog import load_robot, published_sets
    from robotid_sim.section import number

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
    title = "joints: limits in the unit, per second, per second squared, N m or N"
    try:
        sets = published_sets(name)
    except UnknownNameError:
        return [_table(title, joints)]
    rows = [{"name": key, "summary": text} for key, text in sets.items()]
    return [_table(title, joints), _table("published sets, for `--model published:NAME`", rows)]


def preset_rows() -> PartRows:
    """Return the presets of sensors."""
    from robotid_sim.measurement.presets import PRESETS

    summaries = KINDS["presets"].summaries
    source = "robotid_sim/measurement/presets.toml, with a reason for every number"
    return [{"name": n, "summary": summaries[n], "source": source} for n in PRESETS]


def preset_tables(name: str) -> list[Table]:
    """Return the sensors of a preset."""
    from robotid_sim.measurement.presets import describe_presets

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


def engine_rows() -> PartRows:
    """Return the engines, and which of them are missing."""
    from robotid_sim.engine.engines import ENGINES

    source = "robotid_sim/engine/engines.py"
    missing = {name: "" if find_spec(name) else ", not installed" for name in ENGINES}
    return [
        {"name": name, "summary": f"{engine.words}{missing[name]}", "source": source}
        for name, engine in ENGINES.items()
    ]


def term_rows() -> PartRows:
    """Return the terms that a fit may choose."""
    from robotid_sim.model.joint_terms import KINDS as TERMS
    from robotid_sim.model.joint_terms import SOUGHT

    source = "robotid_sim/model/joint_terms.py"
    return [{"name": n, "summary": TERMS[n].words, "source": source} for n in SOUGHT]


def term_tables(name: str) -> list[Table]:
    """Return the parameters of a term."""
    from robotid_sim.model.joint_terms import KINDS as TERMS
    from robotid_sim.model.joint_terms import unit_of

    kind = TERMS[name]
    pairs = list(zip(kind.symbols, kind.units, strict=True))
    pairs += [] if kind.shape is None else [(kind.shape.name, kind.shape.unit)]
    rows = [{"symbol": s, "unit": unit_of(unit, "rad")} for s, unit in pairs]
    return [_table("parameters, for a joint that turns", rows)]


_file = Path(__file__).with_suffix(".toml")
KINDS: Mapping[str, PartKind] = {
    name: PartKind.read(**entry)
    for name, entry in tomllib.loads(_file.read_text(encoding="utf-8")).items()
}
