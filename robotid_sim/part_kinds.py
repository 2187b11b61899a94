"""Kinds of parts and their description for `robotid list`, read from the registries."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import NamedTuple

from robotid_sim.errors import UnknownNameError
from robotid_sim.registry import Registry
from robotid_sim.table import Table

PartRows = list[dict[str, str]]

PRESET_SUMMARIES: Mapping[str, str] = {
    "ideal": "no sensor: positions and torques as they are",
    "lab": "joint torque sensors and fine encoders",
    "industrial": "motor currents, a delay, and the encoders of an industrial arm",
    "harsh": "strong noise, ripple, drift, delay and faulty samples",
}


class PartKind(NamedTuple):
    """One kind of parts."""

    summary: str
    use: str
    """Option or key that takes the name of a part."""
    rows: Callable[[], PartRows]
    """Function that lists name, summary and source of every part."""
    tables: Callable[[str], list[Table]] = lambda _: []
    """Function that describes a part, by its name."""

    @classmethod
    def from_registry(
        cls, place: str, summary: str, use: str, *, settable: bool = True
    ) -> "PartKind":
        """Return the kind of a registry, which is loaded at first use."""

        def registry() -> Registry[object]:
            loaded: Registry[object] = resolve_name(f"robotid_sim.{place}")
            return loaded

        def tables(name: str) -> list[Table]:
            rows = registry().options(name) if settable else []
            return [_table("options", rows)] if rows else []

        return cls(summary, use, lambda: registry().describe(), tables)


def _table(title: str, rows: PartRows) -> Table:
    cells = tuple(tuple(row.values()) for row in rows)
    return Table(tuple(rows[0]), cells, title, text_columns=len(rows[0]))


def _robot_tables(name: str) -> list[Table]:
    from robotid_sim.model.catalog import list_published_sets, load_robot
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
        sets = list_published_sets(name)
    except UnknownNameError:
        return [_table(title, joints)]
    rows = [{"name": key, "summary": text} for key, text in sets.items()]
    return [_table(title, joints), _table("published sets, for `--model published:NAME`", rows)]


def _presets() -> PartRows:
    from robotid_sim.measurement.sensors import PRESETS

    source = "robotid_sim/measurement/presets.toml, with a reason for every number"
    return [{"name": n, "summary": PRESET_SUMMARIES[n], "source": source} for n in PRESETS]


def _preset_tables(name: str) -> list[Table]:
    from robotid_sim.measurement.sensors import describe_presets

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


def _engines() -> PartRows:
    from robotid_sim.engine.engines import ENGINES

    source = "robotid_sim/engine/engines.py"
    missing = {name: "" if find_spec(name) else ", not installed" for name in ENGINES}
    return [
        {"name": name, "summary": f"{engine.words}{missing[name]}", "source": source}
        for name, engine in ENGINES.items()
    ]


def _terms() -> PartRows:
    from robotid_sim.model.joint_terms import FITTED_KINDS
    from robotid_sim.model.joint_terms import TERM_KINDS as TERMS

    source = "robotid_sim/model/joint_terms.py"
    return [{"name": n, "summary": TERMS[n].words, "source": source} for n in FITTED_KINDS]


def _term_tables(name: str) -> list[Table]:
    from robotid_sim.model.joint_terms import TERM_KINDS as TERMS
    from robotid_sim.model.joint_terms import unit_of

    kind = TERMS[name]
    pairs = list(zip(kind.symbols, kind.units, strict=True))
    pairs += [] if kind.constant is None else [(kind.constant.name, kind.constant.unit)]
    rows = [{"symbol": s, "unit": unit_of(unit, "rad")} for s, unit in pairs]
    return [_table("parameters, for a joint that turns", rows)]


def _papers() -> PartRows:
    from robotid_sim.papers import describe_papers

    return describe_papers()


_FAMILY_KIND = PartKind.from_registry(
    "excitation:FAMILIES",
    "families of excitation motions",
    "--family {name}; options: [design] options = {{ … }}",
)

PART_KINDS: Mapping[str, PartKind] = {
    "robots": PartKind(
        "robots of the catalog",
        "robotid check {name}",
        lambda: resolve_name("robotid_sim.model.catalog_files:describe_catalog")(),
        _robot_tables,
    ),
    "families": _FAMILY_KIND,
    "trajectories": _FAMILY_KIND._replace(summary="the same as families"),
    "criteria": PartKind.from_registry(
        "excitation:CRITERIA",
        "what an excitation is designed for",
        "--criterion {name}; options: [design] criterion_options = {{ … }}",
    ),
    "sensors": PartKind.from_registry(
        "measurement:SENSORS", "what corrupts a log", "[sensors.{name}]"
    ),
    "presets": PartKind("sensors of typical cells", "--preset {name}", _presets, _preset_tables),
    "friction-laws": PartKind.from_registry(
        "model.friction_law:FRICTION_LAWS",
        "friction of the simulated plant",
        '--plant-friction {name}; options: [experiment.friction] law = "{name}"',
    ),
    "plant-drives": PartKind.from_registry(
        "model.plant_drives:PLANT_DRIVES",
        "what lies between rotors and links of the simulated plant",
        '--plant-drive {name}; options: [experiment.drive] kind = "{name}"',
    ),
    "engines": PartKind(
        "engines of the simulated plant", "--engine {name}; [experiment] engine", _engines
    ),
    "terms": PartKind(
        "torques of a joint in addition to the standard ones",
        "--terms {name}; [estimation] joint_terms",
        _terms,
        _term_tables,
    ),
    "preprocessors": PartKind.from_registry(
        "preprocess:PREPROCESSORS",
        "from a log to motion and torque",
        '[preprocess] name = "{name}"; options = {{ … }}',
    ),
    "estimators": PartKind.from_registry(
        "estimation:ESTIMATORS",
        "from motion and torque to parameters",
        "--estimator {name}; options: [estimation.options.{name}]",
    ),
    "optimizers": PartKind.from_registry(
        "optim.optimizer:OPTIMIZERS",
        "algorithms that search without gradients",
        "--solver {name}; --estimator wls-{name}; options: [estimation.options.wls-{name}.options]",
    ),
    "controllers": PartKind.from_registry(
        "control:CONTROLLERS",
        "controllers of the closed loop",
        "--controller {name}; its gains follow from bandwidth and error of [control]",
        settable=False,
    ),
    "tasks": PartKind.from_registry(
        "tasks:TASKS",
        "motions of the closed loop",
        "--task {name}; options: [control.tasks.{name}]",
    ),
    "scenarios": PartKind.from_registry(
        "experiment.conditions:CONDITIONS",
        "disturbances of the closed loop, which + joins",
        "--scenario {name}; options: [control.conditions.{name}]",
    ),
    "papers": PartKind("published systems", "robotid reproduce {name} --out out", _papers),
}
