"""From a plan to its trials, their shared work and its cost."""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from robotid_sim.campaign.factors import ROBOT_FACTOR, Level
from robotid_sim.campaign.plan import CampaignPlan
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import FileFormatError, OptionError, UrdfError
from robotid_sim.inputs import read_file
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.mjcf_reader import is_mjcf, mjcf_parts
from robotid_sim.pipeline.build import require_buildable
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.config import StudyConfig, load_config

DESIGN_TIME = 6.0
"""Core time of a design of a six-joint arm with 40 candidates [s]."""

SUBSTEP_TIME = 45e-6
"""Time of a sub-step of the engine with controller and drives [s]; `bench/loop.py` prints it."""

SAMPLE_TIME = 18e-6
"""Preprocessing time per sample and joint, of the log and of the validation log [s]."""

LOOP_TIME = 30.0
"""Simulated time of the closed loop of a trial [s]."""

CHANNEL_COUNT = 9
"""Number of arrays of a clean log."""

ROW_SIZE = 1e-3
"""Size of a row of the store [MB]."""

SIDE_CAR_NAME = "robot.toml"
"""Side-car file of a robot file."""


@document_attributes
@dataclass(frozen=True, slots=True)
class StudyTrial:
    """A simulated experiment and one estimate."""

    key: str
    """Hash of everything that affects the result."""
    factors: Mapping[str, str | float]
    """Label of the level of every factor."""
    seed: int
    """Seed of the noise."""
    robot: str
    study: StudyConfig
    motion_key: str
    """Hash of the settings of the motions: robot, nominal model, design, experiment."""
    log_key: str
    """Hash of the settings of the log: those of the motions, sensors, seed."""
    rows_key: str
    """Hash of the settings of the rows: those of the log, preprocessor, terms."""


Group = tuple[StudyTrial, ...]
"""Trials of one log, run by one process one after the other."""


def trials_of(
    plan: CampaignPlan, files: "RobotFiles | None" = None, *, trust_plugins: bool = False
) -> list[StudyTrial]:
    """List all trials of a plan, in the order of its factors and seeds.

    Their keys depend on the content of robot files, which is read unless `files` has it.
    `trust_plugins` runs the plugins of the plan, see `load_config`. Raises `OptionError` or
    `UnknownNameError` if the study of a combination of levels is invalid.
    """
    trials: list[StudyTrial] = []
    files = files or RobotFiles()
    for point in plan.points():
        robot, study = _study_of(plan, point, trust_plugins=trust_plugins)
        labels = {name: level.label for name, level in point.items()}
        parts = _split_settings(robot, study, plan, files.digest_files(robot, study.nominal.file))
        base = _hash(parts[0])
        for seed in plan.seed_list:
            log = _hash([base, parts[1], seed])
            rows = _hash([log, parts[2]])
            key = _hash([rows, parts[3]])
            trials.append(StudyTrial(key, labels, seed, robot, study, base, log, rows))
    by_key = {trial.key: trial for trial in trials}
    if len(by_key) < len(trials):
        duplicate = next(t for t in trials if by_key[t.key] is not t)
        first, second = dict(duplicate.factors), dict(by_key[duplicate.key].factors)
        raise OptionError(f"two trials are equal: {first} and {second}; a factor has no effect")
    return trials


def _study_of(
    plan: CampaignPlan, point: Mapping[str, Level], *, trust_plugins: bool
) -> tuple[str, StudyConfig]:
    """Build robot and study at a point of the design."""
    content, robot = deepcopy(plan.study), plan.robot
    for name, level in point.items():
        for key, value in level.values.items():
            if key == ROBOT_FACTOR:
                robot = str(value)
            else:
                _set_key(content, key, value, name)
    try:
        study = load_config(None, content, trust_plugins=trust_plugins)
        require_buildable(study)
    except OptionError as error:
        where = ", ".join(f"{name} = {level.label}" for name, level in point.items())
        raise type(error)(f"study{f' at {where}' if where else ''}: {error}") from error
    if robot is None:
        raise OptionError(f"level {[level.label for level in point.values()]} has no robot")
    return robot, study


def _set_key(content: dict[str, Any], key: str, value: Any, factor: str) -> None:
    *sections, last = key.split(".")
    for name in sections:
        inside = content.setdefault(name, {})
        if not isinstance(inside, dict):
            raise OptionError(f"factor '{factor}': '{key}' is inside a value of the study")
        content = inside
    content[last] = deepcopy(value)


def _split_settings(
    robot: str, study: StudyConfig, plan: CampaignPlan, files: Mapping[str, str]
) -> tuple[Any, Any, Any, Any]:
    """Return the settings of motions, log, rows and estimate, without the seed."""
    settings = study.model_dump(mode="json")
    fit, sensors, control = settings["estimation"], settings["sensors"], settings["control"]
    sections = ("seed", "plugins", "robot", "nominal", "design", "experiment")
    base = {"of": robot, **{name: settings[name] for name in sections}}
    base["joint_parameters"] = fit.pop("joint_parameters")
    base["rows"] = settings["preprocess"]["rows"]
    base["control"] = control if plan.has_loop_metric else None
    if files:
        base["files"] = files
    chosen = fit.pop("chosen")
    estimate = {"estimator": chosen, "options": fit.pop("options").get(chosen)}
    estimate |= {"loop": plan.has_loop_metric, "arrays": sorted(plan.arrays)}
    fit.pop("estimators")
    return base, [settings["preset"], sensors], [settings["preprocess"], fit], estimate


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=os.fspath)  # paths only
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def groups_of(trials: Sequence[StudyTrial]) -> list[Group]:
    """Group the trials by log, in their order."""
    by_log: dict[str, list[StudyTrial]] = defaultdict(list)
    for trial in trials:
        by_log[trial.log_key].append(trial)
    return list(map(tuple, by_log.values()))


@document_attributes
@dataclass(frozen=True, slots=True)
class SharedWork:
    """Numbers of designs, logs and preprocessed logs of trials."""

    trials: int
    designs: int
    """Designs, each with two rollouts in the engine."""
    logs: int
    preprocessed_logs: int
    """Preprocessed logs."""

    @classmethod
    def from_trials(cls, trials: Sequence[StudyTrial]) -> "SharedWork":
        """Count the work of trials."""
        counts = (
            len({getattr(t, name) for t in trials})
            for name in ("motion_key", "log_key", "rows_key")
        )
        return cls(len(trials), *counts)

    def __str__(self) -> str:
        return (
            f"{self.trials} trials share {self.designs} designs with their rollouts, {self.logs} "
            f"logs and {self.preprocessed_logs} preprocessed logs; alone they would need "
            f"{self.trials} of each"
        )


@document_attributes
@dataclass(frozen=True, slots=True)
class Effort:
    """Expected cost of trials, within a factor of two or three."""

    seconds: float
    """Time of one core [s]."""
    megabytes: float
    """Disk space [MB]."""

    @classmethod
    def from_trials(
        cls, trials: Sequence[StudyTrial], plan: CampaignPlan, recorded: Sequence[float] = ()
    ) -> Self:
        """Estimate the effort of trials.

        With `recorded` times of trials of the plan [s], their mean is used.
        """
        seconds, megabytes = 0.0, ROW_SIZE * len(trials)
        sizes = {}
        for trial in {trial.motion_key: trial for trial in trials}.values():
            design, experiment = trial.study.design, trial.study.experiment
            # One more period is that of the validation log.
            samples = (design.periods + 1) * design.period * experiment.rate
            sizes[trial.motion_key] = samples * build_robot(trial.robot, trial.study.robot).dof
            seconds += DESIGN_TIME + samples * experiment.substeps * SUBSTEP_TIME
            megabytes += 8e-6 * CHANNEL_COUNT * sizes[trial.motion_key]
        for trial in {trial.rows_key: trial for trial in trials}.values():
            seconds += SAMPLE_TIME * sizes[trial.motion_key]
        if plan.has_loop_metric and trials:
            experiment = trials[0].study.experiment
            seconds += (
                len(trials) * LOOP_TIME * experiment.rate * experiment.substeps * SUBSTEP_TIME
            )
        if recorded:
            seconds = len(trials) * sum(recorded) / len(recorded)
        return cls(seconds, megabytes)


class RobotFiles:
    """SHA-256 digests of robot files; every file is read once.

    With digests by path, as stored by a campaign, no file is read.
    """

    def __init__(self, digests: Mapping[str, str] | None = None) -> None:
        self._stored_digests = digests
        self._digests: dict[str, str | None] = {}
        self._catalog = frozenset(catalog())

    @property
    def digests(self) -> dict[str, str]:
        """Digests by path of all files that exist."""
        return {path: digest for path, digest in self._digests.items() if digest is not None}

    def digest_files(self, robot: str, nominal: Path | None) -> dict[str, str]:
        """Return the digests of robot files by their role, except those of the catalog."""
        by_role: dict[str, str] = {}
        for role, path in (("robot", Path(robot)), ("nominal", nominal)):
            if path is None or str(path) in self._catalog:
                continue
            digest, side_car = self._digest(path), self._digest(path.parent / SIDE_CAR_NAME)
            if digest is not None:
                by_role[role] = digest
                by_role |= {} if side_car is None else {f"{role} settings": side_car}
        return by_role

    def _digest(self, path: Path) -> str | None:
        """Return the digest of a file; None if it cannot be read."""
        name = str(path)
        if name not in self._digests and self._stored_digests is not None:
            self._digests[name] = self._stored_digests.get(name)
        elif name not in self._digests:
            self._digests[name] = None
            # The trial reports why a file cannot be used.
            with suppress(OSError, FileFormatError, UrdfError):
                contents = mjcf_parts(path) if is_mjcf(path) else {path: read_file(path)}
                digest = hashlib.sha256(b"".join(contents.values()))
                self._digests[name] = digest.hexdigest()
        return self._digests[name]
