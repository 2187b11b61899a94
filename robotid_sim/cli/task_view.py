"""``robotid view --task``: a task of a study with each of its models in the controller."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell, build_comparison
from robotid_sim.pipeline.build_design import build_space
from robotid_sim.pipeline.build_robot import build_nominal
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import NominalConfig
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.progress import Progress
from robotid_sim.streams import Streams
from robotid_sim.validation.comparison import TRUE, UNDISTURBED
from robotid_sim.validation.prediction import rms
from robotid_sim.validation.task_motions import TaskMotions, task_motions

SAME_RUN = 0.01
"""Largest relative difference of RMS errors between a run and its repetition."""

_log = logging.getLogger(__name__)


def require_true_robot(folder: Path | None, result: Path | None) -> None:
    """Raise unless the plant of a task is known; `folder` is a result that stands for the robot."""
    if folder is not None:
        raise OptionError(
            f"--task moves the true robot, which {folder} does not hold; give the ROBOT of the "
            f"study and --result {folder}"
        )
    if result is None:
        raise OptionError("--task acts only with --result; give both or neither")


def task_of_result(
    models: Mapping[str, Robot], folder: Path, task: str, study: StudyConfig, progress: Progress
) -> TaskMotions:
    """Return the motions of a task with the models of a result's folder.

    The gains come from the nominal model in the folder, as in the study.
    """
    plant = models[TRUE]
    section = NominalConfig(file=folder / "nominal.urdf")
    study = study.model_copy(update={"nominal": section})
    nominal = build_nominal(plant, study)
    space = build_space(nominal, study)
    motions = task_motions(
        build_cell(plant, nominal, study),
        nominal,
        models,
        task,
        Streams(study.seed)("control"),
        replace(build_comparison(study.control), space=space),
        progress=progress,
    )
    if not _is_as_recorded(motions, folder / "result.json"):
        _log.warning(
            "%s has other tracking errors on %s, for the study ran with other options; give them "
            "here too, such as its --config",
            folder / "result.json",
            motions.task.name,
        )
    return motions


def _is_as_recorded(motions: TaskMotions, file: Path) -> bool:
    """Return whether motions are those of a result; one without closed loop tells nothing."""
    runs = StudyResult.load(file).control if file.is_file() else []
    if not runs:
        return True
    keys = [(run.controller, run.model, run.scenario, run.task) for run in runs]
    for model, error in motions.errors().items():
        key = (motions.controller, model, UNDISTURBED, motions.task.name)
        if key not in keys:
            return False
        recorded = runs[keys.index(key)].rms_error
        if not np.allclose(rms(error), recorded, rtol=SAME_RUN, atol=0.0):
            return False
    return True
