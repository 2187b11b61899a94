"""The plan of a campaign: a study, its factors, and the combination of their levels."""

import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from robotid_sim.campaign.factors import Factor, Level, factor_of, shorten
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.shipped_plans import list_shipped_plans
from robotid_sim.config_section import ConfigSection
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.inputs import read_toml
from robotid_sim.pipeline.config_tables import first_error

Design = Literal["grid", "list", "latin-hypercube", "sobol"]

QUICK_SEEDS = 3
QUICK_SAMPLES = 8
QUICK_LEVELS = 3
"""Size of a plan in its quick form."""

ANSWER_FIELDS = ("level", "value", "limit", "by")
"""Fields of the sentence of an answer, see `AnswerConfig`."""

MAX_TRIALS = 100_000
"""Largest number of trials of a campaign."""

MAX_SEED = 2**63 - 1
"""Largest integer of a column of the store."""


class AnswerConfig(ConfigSection):
    """An answer in the report of a campaign: a metric, the level of a factor, and a sentence."""

    metric: str
    """Metric of the answer."""
    factor: str
    """Factor whose level is the answer."""
    at_most: float | None = None
    """The answer is the first level of the factor at which the upper quartile of the metric, over
    all other factors, is at most this; without it, the level with the smallest median."""
    by: str | None = None
    """Factor with one answer for each level."""
    sentence: str
    """Text with the fields ``{level}``, ``{value}``, ``{limit}`` and ``{by}``."""

    @field_validator("sentence")
    @classmethod
    def _require_known_fields(cls, sentence: str) -> str:
        try:
            fields = [field for _, *field in Formatter().parse(sentence) if field[0] is not None]
            is_valid = all(name in ANSWER_FIELDS and not any(spec) for name, *spec in fields)
        except ValueError:  # a single brace
            is_valid = False
        if not is_valid:
            allowed = ", ".join(f"{{{name}}}" for name in ANSWER_FIELDS)
            reason = f"may have {allowed} and no other field; write {{{{ and }}}} for braces"
            raise PydanticCustomError("field", reason)
        return sentence


class CampaignPlan(ConfigSection):
    """A campaign: common settings, factors and number of trials."""

    title: str = "Campaign"
    """Title of its report."""
    question: str = ""
    """Question of the campaign, for its report."""
    robot: str | None = None
    """Catalog name or URDF; it may also be a factor."""
    study: dict[str, Any] = Field(default_factory=dict)
    """Keys of a study.toml for all trials."""
    factors: dict[str, Any] = Field(default_factory=dict)
    """Levels by key of a study, as ``"design.period"``, or by any name; see
    docs/how-to/campaigns.md."""
    design: Design = "grid"
    """Combination of levels: all combinations (``grid``), first levels, second levels, ...
    (``list``), or `samples` space-filling points."""
    samples: int = Field(default=64, ge=1, le=1_000_000)
    """Number of points of a space-filling design."""
    seeds: Annotated[int, Field(ge=1, le=1_000_000)] | tuple[int, ...] = 30
    """Seeds of the noise: a number, counted from 0, or a list. Nominal model and design depend on
    ``study.seed``, which may be a factor."""
    record: tuple[str, ...] = ("model_error", "parameter_error", "nees")
    """Metrics by name, see docs/reference/files.md."""
    arrays: tuple[Literal["beta", "std", "true"], ...] = ()
    """Vectors of every trial to store in arrays.h5."""
    time_limit: float | None = Field(default=None, gt=0.0)
    """Time limit of the trials of one log [s]; slower trials are recorded as late."""
    answers: tuple[AnswerConfig, ...] = ()
    """Answers in the report."""

    @model_validator(mode="after")
    def _require_valid(self) -> "CampaignPlan":
        for name in (*self.record, *(answer.metric for answer in self.answers)):
            if name not in METRICS:
                raise UnknownNameError.from_names("metric", name, METRICS)
        for answer in self.answers:
            for name in (answer.factor, *([] if answer.by is None else [answer.by])):
                if name not in self.factors:
                    raise UnknownNameError.from_names("factor of an answer", name, self.factors)
        seeds = self.seed_list
        outside = not seeds or min(seeds) < 0 or max(seeds) > MAX_SEED
        if outside or len(set(seeds)) < len(seeds):
            raise OptionError(
                f"seeds = {shorten(self.seeds)}; give distinct whole numbers from 0 to {MAX_SEED}"
            )
        if self.count > MAX_TRIALS:
            raise OptionError(
                f"the plan has {self.count:g} trials, the limit is {MAX_TRIALS}; give fewer seeds, "
                "levels or samples"
            )
        if self.robot is None and not any(f.has_key("robot") for f in self.factor_list):
            raise OptionError('a campaign needs a robot; give robot = "irb140", or a factor robot')
        return self

    @property
    def seed_list(self) -> tuple[int, ...]:
        """The seeds."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def count(self) -> int:
        """Number of trials."""
        levels = [len(factor.levels) for factor in self.factor_list]
        points = {"grid": math.prod(levels), "list": max(levels, default=1)}
        return len(self.seed_list) * points.get(self.design, self.samples)

    @property
    def factor_list(self) -> tuple[Factor, ...]:
        """The factors with their levels."""
        return tuple(factor_of(name, levels) for name, levels in self.factors.items())

    @property
    def has_loop_metric(self) -> bool:
        """Whether a metric needs the closed loop."""
        return any(METRICS[name].of_loop for name in self.record)

    def quick(self) -> "CampaignPlan":
        """Return a smaller campaign of the same kind: fewer seeds, samples and levels."""
        levels = {f.name: f.reduce_levels(QUICK_LEVELS) for f in self.factor_list}
        if self.design == "list":
            levels = dict(self.factors)
        return self.model_copy(
            update={
                "seeds": self.seed_list[:QUICK_SEEDS],
                "samples": min(self.samples, QUICK_SAMPLES),
                "factors": levels,
            }
        )

    def points(self) -> list[dict[str, Level]]:
        """Return the levels of all factors at every point of the design."""
        factors = self.factor_list
        if not factors:
            return [{}]
        drawn = next((f.name for f in factors if f.drawn is not None), None)
        if drawn is not None and self.design in ("grid", "list"):
            raise OptionError(
                f"factor '{drawn}' has a distribution, but design {self.design} needs levels; "
                'give a range with steps, or design = "sobol"'
            )
        if self.design not in ("grid", "list"):
            from scipy.stats import qmc  # slow import

            # The points depend only on the design and the numbers of factors and samples.
            if self.design == "sobol":  # SciPy warns unless it is a power of two
                exponent = (self.samples - 1).bit_length()
                shares = qmc.Sobol(len(factors), rng=0).random_base2(exponent)[: self.samples]
            else:
                shares = qmc.LatinHypercube(len(factors), rng=0).random(self.samples)
            return [
                {f.name: f.level_at(share) for f, share in zip(factors, row, strict=True)}
                for row in shares.tolist()
            ]
        counts = {f.name: len(f.levels) for f in factors}
        if self.design == "list" and len(set(counts.values())) > 1:
            raise OptionError(f"a list needs equal numbers of levels, got {counts}")
        levels = [f.levels for f in factors]
        rows = product(*levels) if self.design == "grid" else zip(*levels, strict=True)
        return [dict(zip(counts, row, strict=True)) for row in rows]


def load_plan(path: str | Path) -> CampaignPlan:
    """Load the plan of a file, or the shipped plan of a name.

    Raises
    ------
    FileFormatError
        If the file cannot be read or is not TOML.
    OptionError, UnknownNameError
        If a key, a factor, a metric or a value is invalid.
    """
    shipped = {name: file for name, file in list_shipped_plans().items() if name == str(path)}
    file = shipped.get(str(path), Path(path))
    if not (file.exists() or file.suffix):
        raise UnknownNameError.from_names("plan", str(path), list_shipped_plans())
    return plan_of(read_toml(file, "plan"), str(path))


def plan_of(content: Mapping[str, Any], where: str = "plan") -> CampaignPlan:
    """Build the plan from the content of a file.

    Parameters
    ----------
    content : mapping
        Content of a campaign.toml, see `load_plan`.
    where : str
        Name in messages.

    Returns
    -------
    plan : CampaignPlan
        The validated plan.

    Raises
    ------
    OptionError, UnknownNameError
        If a key or a value is invalid.
    """
    try:
        return CampaignPlan.model_validate(content)
    except ValidationError as error:
        key, reason = first_error(error)
        keys = ", ".join(CampaignPlan.model_fields)
        first = error.errors()[0]
        if first["type"] == "extra_forbidden":
            raise OptionError(f"{where}: unknown key '{key}'; known: {keys}") from error
        if first["type"] == "value_error":  # the message names its keys
            raise OptionError(f"{where}: {first['ctx']['error']}") from error
        raise OptionError(f"{where}: '{key}': {reason}") from error
    except (OptionError, UnknownNameError) as error:
        raise type(error)(f"{where}: {error}") from error
