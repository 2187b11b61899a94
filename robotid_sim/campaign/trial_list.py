"""From a plan to its trials: what each one is, and the work that some of them share."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robotid_sim.campaign.factors import ROBOT, Level
from robotid_sim.campaign.plan import CampaignPlan
from robotid_sim.campaign.robot_files import RobotFiles
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError
from robotid_sim.pipeline.build import require_buildable
from robotid_sim.pipeline.config import StudyConfig, load_config


@documented
@dataclass(frozen=True, slots=True)
class StudyTrial:
    """A virtual experiment and one estimate of it."""

    key: str
    """Hash of everything that decides the result."""
    factors: Mapping[str, str | float]
    """Label of the level of every factor."""
    seed: int
    """Of the noise."""
    robot: str
    study: StudyConfig
    base: str
    """Hash of what decides the motions: robot, nominal model, design, experiment."""
    log: str
    """Hash of what decides the log: that, sensors, seed."""
    rows: str
    """Hash of what decides the rows of the fit: that, preprocessor, terms."""


@documented
@dataclass(frozen=True, slots=True)
class Group:
    """Trials of one log: done by one process, one after the other."""

    trials: tuple[StudyTrial, ...]

    @property
    def first(self) -> StudyTrial:
        """The first trial."""
        return self.trials[0]


def trials_of(
    plan: CampaignPlan, files: RobotFiles | None = None, *, trust_plugins: bool = False
) -> list[StudyTrial]:
    """Return all trials of a plan, in the order of its factors and seeds.

    Their keys depend on the content of the robots that are files, which is read now unless `files`
    has it. `trust_plugins` runs the plugins that the plan names, see `load_config`. Raises
    `OptionError` or `UnknownNameError` if a study that comes of the levels is refused.
    """
    trials: list[StudyTrial] = []
    files = files or RobotFiles()
    for point in plan.points():
        robot, study = _study_of(plan, point, trust_plugins=trust_plugins)
        labels = {name: level.label for name, level in point.items()}
        parts = _parts(robot, study, plan, files.of(robot, study.nominal.file))
        trials += [_trial(seed, labels, robot, study, parts) for seed in plan.seed_list]
    by_key = {trial.key: trial for trial in trials}
    if len(by_key) < len(trials):
        twice = next(t for t in trials if by_key[t.key] is not t)
        one, two = dict(twice.factors), dict(by_key[twice.key].factors)
        raise OptionError(f"two trials are the same: {one} and {two}; a factor changes nothing")
    return trials


def _study_of(
    plan: CampaignPlan, point: Mapping[str, Level], *, trust_plugins: bool
) -> tuple[str, StudyConfig]:
    """Return robot and study at a point of the design."""
    content, robot = deepcopy(plan.study), plan.robot
    for name, level in point.items():
        for key, value in level.values.items():
            if key == ROBOT:
                robot = str(value)
            else:
                _put(content, key, value, name)
    try:
        study = load_config(None, content, trust_plugins=trust_plugins)
        require_buildable(study)
    except OptionError as error:
        where = ", ".join(f"{name} = {level.label}" for name, level in point.items())
        raise type(error)(f"study{f' at {where}' if where else ''}: {error}") from error
    if robot is None:
        raise OptionError(f"level {[level.label for level in point.values()]} has no robot")
    return robot, study


def _put(content: dict[str, Any], key: str, value: Any, factor: str) -> None:
    *sections, last = key.split(".")
    for name in sections:
        inside = content.setdefault(name, {})
        if not isinstance(inside, dict):
            raise OptionError(f"factor '{factor}': '{key}' is inside of a value of the study")
        content = inside
    content[last] = deepcopy(value)


def _parts(
    robot: str, study: StudyConfig, plan: CampaignPlan, files: Mapping[str, str]
) -> tuple[Any, Any, Any, Any]:
    """Return what decides motions, log, rows and estimate, without the seed."""
    whole = study.model_dump(mode="json")
    fit, sensors, control = whole["estimation"], whole["sensors"], whole["control"]
    sections = ("seed", "plugins", "robot", "nominal", "design", "experiment")
    base = {"of": robot, **{name: whole[name] for name in sections}}
    base["joint_parameters"] = fit.pop("joint_parameters")
    base["rows"] = whole["preprocess"]["rows"]
    base["control"] = control if plan.needs_loop else None
    if files:
        base["files"] = files
    chosen = fit.pop("chosen")
    own = {"estimator": chosen, "options": fit.pop("options").get(chosen)}
    own |= {"loop": plan.needs_loop, "arrays": sorted(plan.arrays)}
    fit.pop("estimators")
    return base, [whole["preset"], sensors], [whole["preprocess"], fit], own


def _trial(
    seed: int,
    labels: Mapping[str, str | float],
    robot: str,
    study: StudyConfig,
    parts: tuple[Any, Any, Any, Any],
) -> StudyTrial:
    base = _hash(parts[0])
    log = _hash([base, parts[1], seed])
    rows = _hash([log, parts[2]])
    key = _hash([rows, parts[3]])
    return StudyTrial(key, labels, seed, robot, study, base, log, rows)


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=_text)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} cannot be hashed")


def groups_of(trials: Sequence[StudyTrial]) -> list[Group]:
    """Return the trials by their log, in their order."""
    by_log: dict[str, list[StudyTrial]] = defaultdict(list)
    for trial in trials:
        by_log[trial.log].append(trial)
    return [Group(tuple(members)) for members in by_log.values()]


@documented
@dataclass(frozen=True, slots=True)
class SharedWork:
    """How much of every kind of work trials need, and how much they share."""

    trials: int
    bases: int
    """Designs, each with its two rollouts in the engine."""
    logs: int
    fits: int
    """Preprocessed logs."""

    @classmethod
    def of(cls, trials: Sequence[StudyTrial]) -> "SharedWork":
        """Return the work of trials."""
        counts = (len({getattr(t, name) for t in trials}) for name in ("base", "log", "rows"))
        return cls(len(trials), *counts)

    def __str__(self) -> str:
        return (
            f"{self.trials} trials share {self.bases} designs with their rollouts, {self.logs} "
            f"logs and {self.fits} preprocessed logs; alone they would need {self.trials} of each"
        )
