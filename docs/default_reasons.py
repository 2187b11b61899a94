"""Defaults of a study's configuration with their reasons: `defaults.toml` beside the theory.

Keys come from the models, with the options of the parts that run by default; the file has a reason
for each of them and for no other.
"""

import dataclasses
import tomllib
from pathlib import Path

from schema_rows import default_text, leaves, markdown, rows_of, sections_of

from robotid_sim.estimation import ESTIMATORS
from robotid_sim.measurement import SENSORS
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Rows

REASONS = Path(__file__).with_name("theory") / "defaults.toml"
ROOT = Path(__file__).parents[1]
TOP = "study"
"""Title of the keys that are in no section."""


def parts() -> dict[str, type]:
    """Return the parts that run by default, by the place of their options."""
    default = StudyConfig()
    return {
        **{f"sensors.{name}": SENSORS[name] for name in default.sensors},
        "preprocess.options": PREPROCESSORS[default.preprocess.name],
        "preprocess.rows": Rows,
        **{
            f"estimation.options.{name}": ESTIMATORS[name] for name in default.estimation.estimators
        },
    }


def defaults() -> dict[str, str]:
    """Return the text of every default that is a choice, by the dotted key.

    No choice are required keys, and those that are empty by default: they switch something on.
    """
    found: dict[str, str] = {}
    for place, section in sections_of(StudyConfig, "", set()):
        for key, kind, words, _ in rows_of(section):
            if words.startswith("`") and not next(leaves(kind), None):
                found[f"{place}.{key}".lstrip(".")] = words[: words.rindex("`") + 1]
    for place, part in parts().items():
        for field in dataclasses.fields(part):
            if isinstance(field.default, str | bool | int | float):
                found[f"{place}.{field.name}"] = default_text(field.default)
    return {key: text for key, text in found.items() if text}


def measured_text(sources: list[str]) -> str:
    """Return the cell of what measures a default: scripts, commands, pages, or words."""
    texts = []
    for source in sources:
        if source.endswith(".py"):
            place = source if source.startswith("tests/") else f"bench/{source}"
            if not (ROOT / place).is_file():
                raise ValueError(f"{REASONS.name}: there is no {place}")
            texts.append(f"`{'pytest' if place == source else 'python'} {place}`")
        elif source.endswith(".md"):
            texts.append(f"[]({source})")
        else:
            texts.append(f"`{source}`" if source.startswith("robotid ") else source)
    return ", ".join(texts)


def rows_by_section() -> dict[str, list[tuple[str, ...]]]:
    """Return the rows of the page by section: key, default, why, measured by.

    Raises `ValueError` if a key has no reason, or a reason no key.
    """
    reasons, texts = tomllib.loads(REASONS.read_text(encoding="utf-8")), defaults()
    if odd := sorted(set(reasons) ^ set(texts)):
        raise ValueError(f"{REASONS.name}: keys without a reason, or reasons without a key: {odd}")
    sections: dict[str, list[tuple[str, ...]]] = {}
    for key, text in texts.items():
        section, _, name = key.partition(".")
        cells = markdown(reasons[key]["why"]), measured_text(reasons[key]["by"])
        rows = sections.setdefault(section if name else TOP, [])
        rows.append((f"`{name or key}`", text, *cells))
    return sections
