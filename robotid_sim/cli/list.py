"""``robotid list``: what there is, with its source."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from robotid_sim.cli import options, output
from robotid_sim.control import CONTROLLERS
from robotid_sim.errors import UnknownNameError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.experiment.conditions import CONDITIONS
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.presets import PRESETS, describe_presets
from robotid_sim.model.catalog import describe_catalog
from robotid_sim.model.friction_laws import FRICTION_LAWS
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.papers import describe_papers
from robotid_sim.plugins import load_plugins
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.section import Table
from robotid_sim.tasks import TASKS

KINDS: dict[str, Callable[[], list[dict[str, str]]]] = {
    "robots": describe_catalog,
    "trajectories": FAMILIES.describe,
    "families": FAMILIES.describe,
    "criteria": CRITERIA.describe,
    "sensors": SENSORS.describe,
    "presets": lambda: _preset_rows(),
    "friction-laws": FRICTION_LAWS.describe,
    "preprocessors": PREPROCESSORS.describe,
    "estimators": ESTIMATORS.describe,
    "optimizers": OPTIMIZERS.describe,
    "controllers": CONTROLLERS.describe,
    "tasks": TASKS.describe,
    "scenarios": CONDITIONS.describe,
    "papers": describe_papers,
}


def _preset_rows() -> list[dict[str, str]]:
    summary, source = "no sensor: positions and torques as they are", "a cell without errors"
    bare = [name for name, sensors in PRESETS.items() if not sensors]
    rows = [{"name": name, "summary": summary, "source": source} for name in bare]
    return rows + [_preset_row(row) for row in describe_presets()]


def _preset_row(row: dict[str, Any]) -> dict[str, str]:
    options = ", ".join(f"{key} {value}" for key, value in row["options"].items())
    name = f"{row['preset']}: {row['sensor']}"
    return {"name": name, "summary": options, "source": row["reason"]}


def list_(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.")],
    plugin: options.Plugins = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> int:
    """List what there is of a kind, with its source."""
    del verbose, debug
    load_plugins(plugin or ())
    if kind not in KINDS:
        raise UnknownNameError(f"unknown kind '{kind}'; known: {', '.join(KINDS)}")
    entries = KINDS[kind]()
    if json:
        output.print_json(entries)
    else:
        columns = ("name", "summary", "source")
        rows = tuple(tuple(entry[name] for name in columns) for entry in entries)
        output.print_table(Table(columns, rows, text_columns=3))
    return 0
