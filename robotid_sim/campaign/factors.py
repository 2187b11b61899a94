"""Factors of a campaign and their levels."""

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robotid_sim.config_section import MAX_NUMBER
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, suggestion

FACTOR_KEYS: Mapping[str, tuple[str, ...]] = {
    "estimator": ("estimation.estimators", "estimation.chosen"),
    "preprocessor": ("preprocess.name",),
    "criterion": ("design.criterion",),
    "family": ("design.family",),
    "engine": ("experiment.engine",),
}
"""Keys of a study by the short names of factors that set them."""

ROBOT_FACTOR = "robot"
"""The factor that selects the robot."""

DISTRIBUTIONS = ("uniform", "log-uniform", "normal")
"""Distributions of levels, for space-filling designs."""

RANGE_KINDS = ("range", "log-range")
"""Kinds of ranges, with equal steps or with equal ratios."""


@document_attributes
@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor."""

    label: str | float
    """Label in tables: the value of the level, or a name."""
    values: Mapping[str, Any]
    """Values by key of a study, with dots, or ``robot``."""


@document_attributes
@dataclass(frozen=True, slots=True)
class Factor:
    """A factor with its levels, or with the distribution of its levels."""

    name: str
    levels: tuple[Level, ...] = ()
    drawn: tuple[str, float, float] | None = None
    """Distribution and its two numbers."""
    value: Any = None
    """The factor as written in the plan."""

    def has_key(self, key: str) -> bool:
        """Check whether every level sets a key."""
        return bool(self.levels) and all(key in level.values for level in self.levels)

    def level_at(self, share: float) -> Level:
        """Return the level at a share of the distribution, in [0, 1)."""
        if self.drawn is None:
            return self.levels[int(share * len(self.levels))]
        return _make_level(self.name, _quantile(*self.drawn, share))

    def reduce_levels(self, count: int) -> Any:
        """Reduce the value in the plan to at most `count` levels, including the first and last."""
        if self.drawn is not None or len(self.levels) <= count:
            return self.value
        indices = [round(k * (len(self.levels) - 1) / (count - 1)) for k in range(count)]
        if isinstance(self.value, Sequence):
            return [self.value[k] for k in indices]
        return [self.levels[k].label for k in indices]


shorten = reprlib.repr
"""Shorten the text of a value for a message."""


def factor_of(name: str, value: Any) -> Factor:
    """Build a factor of a plan.

    `name` is ``robot``, a key of a study with dots, a short name such as ``estimator``, or any name
    if the levels name their keys. `value` is a list of values; or of levels ``{name = "fine", study
    = {"sensors.encoder-noise.revolute" = 1e-5}}`` that set several keys, also ``robot``; or
    ``{range = [0.1, 0.5], steps = 5}``, ``log-range`` for equal ratios; or a distribution for
    space-filling designs: ``{uniform = [low, high]}``, ``{log-uniform = [low, high]}``,
    ``{normal = [mean, std]}``. Raises `OptionError` for other values.
    """
    if isinstance(value, Mapping):
        return _make_range_factor(name, value)
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise OptionError(f"factor '{name}' needs a list of levels or a range, got {value!r}")
    levels = tuple(_make_level(name, entry) for entry in value)
    labels = [level.label for level in levels]
    if len(set(labels)) < len(labels):
        raise OptionError(f"factor '{name}' has equal levels: {labels}")
    return Factor(name, levels, value=value)


def _make_level(name: str, value: Any) -> Level:
    if isinstance(value, Mapping) and "name" in value:
        unknown = set(value) - {"name", "study", ROBOT_FACTOR}
        if unknown:
            raise OptionError(
                f"factor '{name}', level '{value['name']}': unknown key '{min(unknown)}'; known: "
                "name, study, robot"
            )
        study = value.get("study", {})
        if not isinstance(study, Mapping):
            raise OptionError(
                f"factor '{name}', level '{value['name']}': study = {shorten(study)}; give a "
                "table with keys of a study"
            )
        values = dict(_flatten(study))
        if ROBOT_FACTOR in value:
            values[ROBOT_FACTOR] = value[ROBOT_FACTOR]
        return Level(str(value["name"]), values)
    if name == "estimator":
        if not isinstance(value, str):
            raise OptionError(
                f"factor 'estimator': {shorten(value)} is not a name; give names of `robotid "
                'list estimators`, such as "ols"'
            )
        return Level(value, {"estimation.estimators": [value], "estimation.chosen": value})
    keys = FACTOR_KEYS.get(name, (name,))
    label = value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
    return Level(label, dict.fromkeys(keys, value))


def _flatten(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Flatten the keys of nested tables, with dots; an empty table is a value."""
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        inside = isinstance(value, Mapping) and value
        flat += _flatten(value, f"{prefix}{key}.") if inside else [(f"{prefix}{key}", value)]
    return flat


def _make_range_factor(name: str, spec: Mapping[str, Any]) -> Factor:
    kinds = [kind for kind in (*DISTRIBUTIONS, *RANGE_KINDS) if kind in spec]
    kind = kinds[0] if len(kinds) == 1 else ""
    needed = {kind, "steps"} if kind in RANGE_KINDS else {kind}
    if not kind or set(spec) != needed:
        raise OptionError(
            f"factor '{name}': {dict(spec)} is not a range"
            f"{suggestion(next(iter(spec), ''), [*DISTRIBUTIONS, *RANGE_KINDS])}; give a list, "
            "{range = [low, high], steps = n}, log-range, or one of uniform, log-uniform, normal"
        )
    numbers = spec[kind]
    is_valid = (
        isinstance(numbers, Sequence)
        and len(numbers) == 2
        and all(isinstance(x, int | float) and abs(x) <= MAX_NUMBER for x in numbers)
    )
    first, second = numbers if is_valid else (0.0, 0.0)
    positive = first > 0.0 or not kind.startswith("log")
    if not is_valid or not positive or not (second > 0.0 if kind == "normal" else first < second):
        form = "mean and a positive deviation" if kind == "normal" else "two increasing numbers"
        form += ", both positive" if kind.startswith("log") else ""
        raise OptionError(
            f"factor '{name}': {kind} = {shorten(numbers)}; give {form}, within {MAX_NUMBER:g}"
        )
    low, high = float(first), float(second)
    if kind in DISTRIBUTIONS:
        return Factor(name, drawn=(kind, low, high), value=dict(spec))
    steps = spec["steps"]
    if not isinstance(steps, int) or isinstance(steps, bool) or not 2 <= steps <= 1000:
        raise OptionError(f"factor '{name}': steps = {steps!r}; give a whole number from 2 to 1000")
    uniform = "log-uniform" if kind == "log-range" else "uniform"
    values = [_quantile(uniform, low, high, k / (steps - 1)) for k in range(steps)]
    return Factor(name, tuple(_make_level(name, value) for value in values), value=values)


def _quantile(kind: str, first: float, second: float, share: float) -> float:
    if kind == "uniform":
        return first + share * (second - first)
    if kind == "log-uniform":
        return float(first * (second / first) ** share)
    from scipy.special import ndtri

    return float(first + second * ndtri(min(max(share, 1e-12), 1.0 - 1e-12)))
