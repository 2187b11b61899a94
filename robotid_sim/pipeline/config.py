"""The configuration of a study: one section per stage; an unknown key is an error."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from robotid_sim.config_section import ConfigSection
from robotid_sim.errors import OptionError, suggestion
from robotid_sim.inputs import read_toml, real_path
from robotid_sim.measurement.sensors import preset
from robotid_sim.model.joint_terms import select_kinds
from robotid_sim.pipeline.config_tables import (
    ControlConfig,
    DesignConfig,
    ExperimentConfig,
    NominalConfig,
    RobotConfig,
    VerdictLimits,
    first_error,
    format_location,
    list_keys,
    validate,
)
from robotid_sim.pipeline.fit_plan import EstimationConfig, PreprocessConfig
from robotid_sim.plugins import load_plugins, require_trusted
from robotid_sim.renamed import RENAMED_STUDY_KEYS, upgrade_keys
from robotid_sim.tasks.task import RunPlan

_DEFAULT_SENSORS: dict[str, dict[str, Any]] = {"encoder-noise": {}, "torque-noise": {}}


BASELINE_CONTROLLERS = ("computed-torque", "gravity-pd")
"""Additional controllers of a full study."""


class StudyConfig(ConfigSection):
    """All stages of a study.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> config = rid.StudyConfig()
    >>> config.design.criterion
    'd-optimality'
    >>> config.quick().design.periods
    2
    """

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed of all randomness."""
    plugins: tuple[str, ...] = ()
    """Modules or Python files that register user-defined parts; run only if trusted."""
    robot: RobotConfig = RobotConfig()
    nominal: NominalConfig = NominalConfig()
    design: DesignConfig = DesignConfig()
    experiment: ExperimentConfig = ExperimentConfig()
    preset: str | None = None
    """Sensors of a typical cell, by a name of `robotid list presets`."""
    sensors: dict[str, dict[str, Any]] = Field(default_factory=lambda: dict(_DEFAULT_SENSORS))
    """Sensors by name with their options, applied in this order; they replace the default set, and
    extend or change a preset."""
    preprocess: PreprocessConfig = PreprocessConfig()
    estimation: EstimationConfig = EstimationConfig()
    control: ControlConfig = ControlConfig()
    validation: VerdictLimits = VerdictLimits()

    def list_sensors(self) -> dict[str, dict[str, Any]]:
        """Return all sensors with their options, those of the preset first."""
        if self.preset is None:
            return self.sensors
        chosen = self.sensors if "sensors" in self.model_fields_set else {}
        return {**preset(self.preset), **chosen}

    def changes(self) -> str:
        """Return the settings that differ from the defaults, as JSON."""
        return self.model_dump_json(indent=1, exclude_defaults=True)

    def with_estimators(self, names: Sequence[str]) -> "StudyConfig":
        """Return the same study with additional estimators."""
        before = self.estimation.estimators
        added = tuple(name for name in dict.fromkeys(names) if name not in before)
        estimation = self.estimation.model_copy(update={"estimators": before + added})
        return self.model_copy(update={"estimation": estimation})

    def with_seed(self, seed: int | None) -> "StudyConfig":
        """Return the same study with another seed; None keeps the seed."""
        return self if seed is None else self.model_copy(update={"seed": seed})

    def with_estimation(
        self,
        estimators: Sequence[str] | None = None,
        drive_gain_std: float | None = None,
        terms: Sequence[str] | None = None,
    ) -> "StudyConfig":
        """Return the same study with other choices for its fit; None keeps a choice.

        Parameters
        ----------
        estimators : sequence of str, optional
            Names of estimators; the last one is chosen.
        drive_gain_std : float, optional
            Relative standard deviation of the drive gains.
        terms : sequence of str, optional
            Kinds of joint terms that the fit may select.

        Returns
        -------
        config : StudyConfig
            The study.

        Raises
        ------
        UnknownNameError
            If a kind of terms is unknown.
        """
        chosen: dict[str, Any] = {}
        if estimators:
            chosen |= {"estimators": tuple(estimators), "chosen": estimators[-1]}
        if drive_gain_std is not None:
            chosen["drive_gain_std"] = drive_gain_std
        if terms:
            chosen["joint_terms"] = select_kinds(terms)
        return self.model_copy(update={"estimation": self.estimation.model_copy(update=chosen)})

    def with_design(
        self, design: Mapping[str, Any], constraints: Mapping[str, Any]
    ) -> "StudyConfig":
        """Return the same study with other values in its design; None keeps a value.

        Parameters
        ----------
        design : mapping of str to Any
            Keys of the section ``design``.
        constraints : mapping of str to Any
            Keys of the section ``design.constraints``.

        Returns
        -------
        config : StudyConfig
            The validated study.
        """
        changed_constraints = {k: value for k, value in constraints.items() if value is not None}
        update = {name: value for name, value in design.items() if value is not None}
        update["constraints"] = {**self.design.constraints.model_dump(), **changed_constraints}
        section = validate(DesignConfig, {**self.design.model_dump(), **update}, "design")
        return self.model_copy(update={"design": section})

    def quick(self) -> "StudyConfig":
        """Return a smaller study of the same kind, with twice the accuracy limits.

        It has fewer candidates, starts, periods and replicates of the noise.
        """
        design = self.design.model_copy(
            update={
                "candidates": min(self.design.candidates, 40),
                "starts": 1,
                "iterations": min(self.design.iterations, 25),
                "periods": min(self.design.periods, 2),
            }
        )
        limits = self.validation
        doubled = {"model_error": 2.0 * limits.model_error, "gap": 2.0 * limits.gap}
        validation = limits.model_copy(update={"replicates": 5, **doubled})
        return self.model_copy(update={"design": design, "validation": validation})

    def full(self) -> "StudyConfig":
        """Return the study with additional estimators, torque filters, controllers and tasks."""
        estimators = tuple(dict.fromkeys(("ols", *self.estimation.estimators)))
        control = self.control
        loops = {
            "baselines": tuple(dict.fromkeys((*control.baselines, *BASELINE_CONTROLLERS))),
            "tasks": control.tasks | {"joint-step": control.tasks.get("joint-step", {})},
            "slow_lap": control.slow_lap or RunPlan.slow_lap,
        }
        return self.model_copy(
            update={
                "preprocess": self.preprocess.model_copy(update={"compare": True}),
                "estimation": self.estimation.model_copy(update={"estimators": estimators}),
                "control": control.model_copy(update=loops),
            }
        )


def load_config(
    path: str | Path | None,
    overrides: Mapping[str, Any] | None = None,
    *,
    trust_plugins: bool = False,
) -> StudyConfig:
    """Load the configuration of a TOML file with overrides.

    Parameters
    ----------
    path : str or Path, optional
        The file; None for the defaults.
    overrides : mapping, optional
        Overrides, nested like the file; for example options of the command line.
    trust_plugins : bool
        Run the plugins of the file, which are code. Otherwise they must have been loaded by
        `load_plugins`.

    Returns
    -------
    config : StudyConfig
        All keys, with defaults for missing ones.

    Raises
    ------
    FileFormatError
        If the file cannot be read or is not TOML.
    OptionError
        If a key is unknown or a value is invalid.
    PluginError
        If a plugin is not trusted or cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> rid.load_config(None, {"design": {"periods": 2}}).design.periods
    2
    """
    content: dict[str, Any] = {}
    if path is not None:
        content = read_toml(path, "configuration")
    for section, value in (overrides or {}).items():
        if isinstance(value, Mapping):
            before = content.get(section, {})
            content[section] = {**before, **value} if isinstance(before, Mapping) else before
        else:
            content[section] = value
    if isinstance(content.get("estimation"), Mapping):
        content["estimation"] = upgrade_keys(content["estimation"], RENAMED_STUDY_KEYS)
    try:
        config = StudyConfig.model_validate(content)
    except ValidationError as error:
        key, reason = first_error(error)
        where = f"{path}: " if path else ""
        unknown = [e["loc"] for e in error.errors() if e["type"] == "extra_forbidden"]
        if unknown:  # a missing key may be a misspelt one
            *inside, name = unknown[0]
            keys = list_keys(StudyConfig, inside)
            raise OptionError(
                f"{where}unknown key '{format_location(unknown[0])}'{suggestion(str(name), keys)}; "
                f"known: {', '.join(keys)}"
            ) from error
        raise OptionError(f"{where}'{key}': {reason}") from error
    folder = None if path is None else real_path(Path(path)).parent
    if not trust_plugins:
        require_trusted(config.plugins, str(path or "the configuration"), folder)
    load_plugins(config.plugins, folder)
    return config
