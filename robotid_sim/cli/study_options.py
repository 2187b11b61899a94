"""Make a configuration from the options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from robotid_sim.cli.options import SharedOptions
from robotid_sim.cli.output import command_line
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.model.catalog_files import find_urdf
from robotid_sim.pipeline.build import require_buildable
from robotid_sim.pipeline.config import StudyConfig, load_config
from robotid_sim.pipeline.config_tables import PayloadConfig, validate
from robotid_sim.pipeline.result import versions
from robotid_sim.plugins import load_plugins

if TYPE_CHECKING:
    from robotid_sim.report.sections import Recipe


def recipe(study: StudyConfig) -> "Recipe":
    """Return the instructions to reproduce the page of the running command."""
    from robotid_sim.report.sections import Recipe

    return Recipe(
        command=command_line(), seed=study.seed, settings=study.changes(), versions=versions()
    )


def study_config(shared: SharedOptions) -> StudyConfig:
    """Return the configuration of the file, overridden by the options of the command line."""
    robot: dict[str, Any] = {"base": shared.base, "tip": shared.tip}
    robot["payload"] = None if shared.payload is None else parse_payload(shared.payload)
    robot["assume_limits"] = shared.assume_limits or None
    robot["repair"] = shared.repair or None
    robot["urdf_friction"] = False if shared.no_urdf_friction else None
    overrides: dict[str, Any] = {
        "robot": {key: value for key, value in robot.items() if value is not None}
    }
    if shared.seed is not None:
        overrides["seed"] = shared.seed
    if shared.nominal is not None:
        overrides["nominal"] = {"file": str(shared.nominal)}
    if shared.preset is not None:
        overrides["preset"] = shared.preset
    overrides["experiment"] = {}
    if shared.plant_friction is not None:
        overrides["experiment"]["friction"] = {"law": shared.plant_friction}
    if shared.plant_drive is not None:
        overrides["experiment"]["drive"] = {"kind": shared.plant_drive}
    if shared.engine is not None:
        overrides["experiment"]["engine"] = shared.engine
    load_plugins(shared.plugin or ())
    study = load_config(shared.config, overrides, trust_plugins=shared.trust_plugins)
    require_buildable(study)
    if study.nominal.file is not None:  # must exist, also for commands that do not use it
        try:
            find_urdf(study.nominal.file)
        except UnknownNameError as error:
            raise UnknownNameError(f"nominal model: {error}") from error
    if shared.no_clearance:
        study = study.with_design({}, {"contact": True})
    if shared.full:
        study = study.full()
    return study.quick() if shared.quick else study


def files_of(study: StudyConfig) -> list[Path]:
    """Return the files that a configuration names."""
    tasks = study.control.tasks.values()
    points = [Path(task["path"]) for task in tasks if isinstance(task.get("path"), str | Path)]
    nominal = [] if study.nominal.file is None else [Path(study.nominal.file)]
    return [*nominal, *map(Path, study.design.prior), *points]


def parse_payload(text: str, flag: str = "--payload") -> dict[str, Any]:
    """Return the payload section for ``M[,X,Y,Z[,IXX,IXY,IYY,IXZ,IYZ,IZZ]]``."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (1, 4, 10):
        raise OptionError(
            f"{flag} '{text}' needs 1, 4 or 10 numbers separated by commas: mass, COM, inertia"
        )
    section: dict[str, Any] = {"mass": values[0]}
    if len(values) >= 4:
        section["com"] = values[1:4]
    if len(values) == 10:
        section["inertia"] = values[4:]
    return section


def parse_load(text: str) -> PayloadConfig:
    """Return a known load from its mass alone, or with center of mass and inertia."""
    load = validate(PayloadConfig, parse_payload(text, "--load"), f"--load '{text}'")
    if not load.mass > 0.0:
        raise OptionError(f"--load '{text}': drive gains need a load with mass; give its mass")
    return load
