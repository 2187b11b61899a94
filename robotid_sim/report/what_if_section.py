"""The section that repeats a fit in the browser, and its configuration as TOML."""

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robotid_sim.pipeline.fit_plan import EstimationConfig
from robotid_sim.pipeline.refit import Refit
from robotid_sim.report.sections import Recipe
from robotid_sim.section import LivePart, Section

DROPPED_OPTIONS = {
    **dict.fromkeys(("--quick", "--full", "--view", "--dry-run", "--json"), 0),
    **dict.fromkeys(("--config", "--estimator", "--report", "--urdf", "--parameters"), 1),
    **dict.fromkeys(("-o", "--out"), 1),
    "--posterior-samples": 2,
    "--draws": 2,
}
"""Options that the configuration contains or that would overwrite the results of the page, with the
number of their values."""

OUTPUT_OPTIONS = {
    "run": ("--out", "what-if"),
    "identify": ("--out", "what-if.json", "--parameters", "what-if.csv"),
}
"""New output files of a command."""

SCRIPTS, STYLE = ("refit", "what_if"), "what_if"


def study_text(recipe: Recipe, estimator: str) -> str:
    """Return the configuration of a page as TOML, with a further estimator as the chosen one."""
    settings = json.loads(recipe.settings)
    estimation = dict(settings.get("estimation", {}))
    before = estimation.get("estimators", EstimationConfig().estimators)
    options = dict(estimation.get("options", {}))
    options.pop(estimator, None)
    estimation |= {
        "estimators": list(dict.fromkeys([*before, estimator])),
        "chosen": estimator,
        "options": options,
    }
    return toml_text({**settings, "estimation": estimation})


def command_with_config(command: str) -> str:
    """Return the command of a page with its configuration in a file and new output files."""
    words = shlex.split(command)
    kept_words: list[str] = []
    while words:
        word = words.pop(0)
        name, equals, _ = word.partition("=")
        if name in DROPPED_OPTIONS:
            del words[: 0 if equals else DROPPED_OPTIONS[name]]
        else:
            kept_words.append(word)
    output_options = next(
        (OUTPUT_OPTIONS[word] for word in kept_words if word in OUTPUT_OPTIONS), ()
    )
    return shlex.join([*kept_words, "--config", "study.toml", *output_options])


def toml_text(content: Mapping[str, Any]) -> str:
    """Convert JSON values to TOML; null values are omitted."""
    return "\n".join(_lines(content, ())) + "\n"


def _lines(content: Mapping[str, Any], path: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table: its values, then the tables in it."""
    tables = {key: value for key, value in content.items() if isinstance(value, Mapping)}
    if path and (len(tables) < len(content) or not tables):
        yield f"[{'.'.join(map(_key, path))}]"
    for key, value in content.items():
        if value is not None and key not in tables:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        yield from _lines(value, (*path, key))


def _key(key: str) -> str:
    letters = key.replace("_", "").replace("-", "")
    return key if letters.isascii() and letters.isalnum() else _value(key)


def _value(value: Any) -> str:
    """Format a value as TOML, tables within lists on one line."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0.0 else "-inf"
    # JSON writes texts, numbers and truth values like TOML, except for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def what_if_section(refit: Refit | None, recipe: Recipe) -> tuple[Section, ...]:
    """Build the section that repeats the fit in the page; empty without a weighted fit."""
    if refit is None:
        return ()
    chosen, difference = refit.chosen, ""
    if chosen.estimator != "wls" and chosen.success:
        distance = float(np.abs((chosen.beta - refit.start.beta) / refit.start.std).max())
        difference = ", without the constraints or the search of the chosen estimate "
        difference += (
            f"({chosen.estimator}), which lies up to {distance:.2g} standard deviations from it"
        )
    content = {
        **refit.data,
        "file": study_text(recipe, refit.estimator),
        "command": command_with_config(recipe.command),
        "estimator": refit.estimator,
    }
    section = Section(
        title="What if?",
        text="Exclude joints or time windows, change weights, add a prior or fix parameters: the "
        "page repeats the fit. Motion, transition velocities and unmodeled torque remain "
        f"unchanged. The start is weighted least squares of all rows{difference}.",
        live=LivePart("what-if", SCRIPTS, STYLE, json.dumps(content, separators=(",", ":"))),
    )
    return (section,)
