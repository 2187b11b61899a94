"""Presets: sensors of typical cells, in one table, ``presets.toml``.

The numbers are orders of magnitude, chosen so that the presets lie apart; where no source is named
they are assumptions. `describe_presets` gives the table with the reasons.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from robotid_sim.errors import UnknownNameError

_TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    (files(__package__) / "presets.toml").read_text("utf-8")
)
"""By sensor, in the order in which they apply: the reason, and options by preset."""

_NAMES = ("lab", "industrial", "harsh")

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "ideal": {},
    **{name: {s: row[name] for s, row in _TABLE.items() if name in row} for name in _NAMES},
}
"""Sensors with their options, by preset, in the order in which they apply; `ideal` has none."""


def preset(name: str) -> dict[str, dict[str, Any]]:
    """Return the sensors of a preset with their options, a copy.

    Raises `UnknownNameError` if there is no such preset; the text lists those there are.
    """
    if name not in PRESETS:
        raise UnknownNameError.of("sensor preset", name, PRESETS)
    return {sensor: dict(options) for sensor, options in PRESETS[name].items()}


def describe_presets() -> list[dict[str, Any]]:
    """Return the table: a row per preset and sensor with its options and the reason for them."""
    return [
        {"preset": name, "sensor": s, "options": options, "reason": _TABLE[s]["reason"]}
        for name in _NAMES
        for s, options in preset(name).items()
    ]
