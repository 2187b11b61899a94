"""Motions to show: a trajectory, logs, the result of a study, or one of its tasks.

Tracking errors are made visible by motions with magnified errors next to the reference.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float2D, rms
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.engines import ENGINES, is_installed
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell, build_comparison
from robotid_sim.pipeline.build_design import build_space
from robotid_sim.pipeline.build_robot import build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import NominalConfig
from robotid_sim.pipeline.result import StudyResult, robot_of_result
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.progress import Progress
from robotid_sim.result_folder import require_complete
from robotid_sim.streams import Streams
from robotid_sim.trajectory.reference import Excitation, require_runnable
from robotid_sim.trajectory.trajectory_files import load_trajectory
from robotid_sim.validation.closed_loop import TaskMotions, task_motions
from robotid_sim.validation.comparison import TRUE, UNDISTURBED_NAME
from robotid_sim.viewer import viewer
from robotid_sim.viewer.animation import Animation, interpolate, reduce_times, require_showable
from robotid_sim.viewer.colors import model_color
from robotid_sim.viewer.view_settings import WINDOW, ViewSettings

RMS_TOLERANCE = 0.01
"""Largest relative difference of RMS errors between a run and its repetition."""

_log = logging.getLogger(__name__)


def show_motion(
    robot: Robot,
    motion: Log | Excitation,
    name: str = "log",
    *,
    models: Mapping[str, Robot] | None = None,
) -> None:
    """Show a log or a trajectory in a window until it is closed.

    With models, a slider shows their inertia ellipsoids. Call `require_display` before long work.
    """
    width, height = map(int, WINDOW.split("x"))
    settings = ViewSettings(width=width, height=height)
    if isinstance(motion, Log):
        animation = Animation.from_log(robot, motion, name)
    else:
        animation = Animation.from_trajectory(robot, motion, name)
    viewer.show(animation, settings, models=models)


@dataclass(frozen=True)
class ViewerMotions:
    """Motions of a robot, and models whose inertia a window can show."""

    plant: Robot
    animations: list[Animation]
    task: TaskMotions | None
    """The motions of a task; None for other motions."""
    models: Mapping[str, Robot]

    @classmethod
    def from_inputs(
        cls,
        plant: Robot,
        study: StudyConfig,
        trajectory: Path | None,
        log: list[Path] | None,
        result: Path | None,
        task: str | None,
        magnification: float | None,
        progress: Progress,
        *,
        true: bool,
        engine_needed: bool,
    ) -> "ViewerMotions":
        """Load the motions of a trajectory, a task, logs or a result."""
        models = {} if result is None else read_models(plant, result, study, true=true)
        motions = None
        if trajectory is not None:
            animations = [
                simulate_animation(plant, trajectory, study, progress, engine_needed=engine_needed)
            ]
        elif task is not None and result is not None:
            motions = task_of_result(models, result, task, study, progress)
            animations = make_tracking_animations(plant, motions, magnification)
        else:
            logs = log or ([] if result is None else [result / "log.h5"])
            animations = load_animations(plant, logs)
        return cls(plant, animations, motions, models)

    def show(self, settings: ViewSettings, speed: float) -> None:
        """Show the motions in a window until it is closed."""
        viewer.show(self.animations, settings, models=self.models, speed=speed)

    def record(
        self,
        path: Path,
        settings: ViewSettings,
        fps: float,
        speed: float,
        time: float | None,
        progress: Progress,
    ) -> dict[str, Any]:
        """Write the motions to a picture or film; return its description as JSON values."""
        from robotid_sim.viewer import recorder  # loads Pillow

        rates: dict[str, Any] = {"fps": fps, "speed": speed, "time": time, "progress": progress}
        recording = recorder.record(self.animations, path, settings, models=self.models, **rates)
        output = {"file": str(path), "frames": recording.frames, "renderer": recording.renderer}
        return {**self.content(), **output}

    def content(self) -> dict[str, Any]:
        """Describe the shown motions as JSON values."""
        first = self.animations[0]
        names = [animation.name for animation in self.animations]
        return {"robot": self.plant.name, "shown": names, "duration_s": first.end - first.start}


def folders_of(
    robot: str,
    trajectory: Path | None,
    log: list[Path] | None,
    result: Path | None,
    task: str | None,
) -> tuple[Path | None, Path | None]:
    """Find the result folder given as the robot, if any, and the folder of the result.

    Raises `OptionError` for contradictory options, or if the plant of a task is not known.
    """
    folder = None if robot in catalog() or not Path(robot).is_dir() else Path(robot)
    if not (trajectory or log):
        result = result or folder
    if sum(source is not None for source in (trajectory, log or None, result)) > 1:
        raise OptionError("give one of --trajectory, --log and --result")
    if task is not None and folder is not None:
        raise OptionError(
            f"--task moves the true robot, which is not in {folder}; give the ROBOT of the "
            f"study and --result {folder}"
        )
    if task is not None and result is None:
        raise OptionError("--task acts only with --result; give both or neither")
    return folder, result


def load_animations(plant: Robot, paths: Sequence[Path]) -> list[Animation]:
    """Load the motions of logs; without logs a sweep of every joint."""
    if not paths:
        return [Animation.sweep(plant)]
    require_showable(len(paths))
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    pairs = zip(paths, names, strict=True)
    return [Animation.from_log(plant, load_log(path), name) for path, name in pairs]


def model_in(folder: Path) -> Path:
    """Find the file of the identified, else of the nominal robot in a result folder."""
    require_complete(folder)
    for name in ("identified.urdf", "nominal.urdf"):
        if (folder / name).is_file():
            return folder / name
    raise FileFormatError(f"{folder} has no identified.urdf or nominal.urdf; give a URDF")


def simulate_animation(
    plant: Robot, trajectory: Path, study: StudyConfig, progress: Progress, *, engine_needed: bool
) -> Animation:
    """Run the virtual experiment on a trajectory file; without an engine show the trajectory."""
    path = load_trajectory(trajectory, plant)
    if not engine_needed and not any(map(is_installed, ENGINES)):
        return Animation.from_trajectory(plant, path, trajectory.stem)
    cell = build_cell(plant, build_nominal(plant, study), study)
    require_runnable(path, plant, cell.rate, str(trajectory))
    log = run_experiment(cell, path, Streams(study.seed)("measure"), progress=progress)
    return Animation.from_log(plant, log, trajectory.stem)


def read_models(
    plant: Robot, folder: Path, study: StudyConfig, *, true: bool = True
) -> dict[str, Robot]:
    """Read the models in a result folder; with `true`, add `plant` as the true model.

    After a failed fit there is no identified robot.
    """
    require_complete(folder)
    file = folder / "result.json"  # a stopped study has no result
    if file.is_file() and (name := robot_of_result(file)) != plant.name:
        raise OptionError(f"{file} is for robot '{name}', not for '{plant.name}'")
    config = study.robot.model_copy(update={"joints": {}, "payload": None})
    models = {"true": plant} if true else {}
    for name in ("nominal", "identified"):
        file = folder / f"{name}.urdf"
        if file.is_file():
            models[name] = build_robot(file, config)
            if models[name].joint_names != plant.joint_names:
                raise OptionError(f"{file} is for another robot than '{plant.name}'")
        elif name == "nominal":
            raise FileFormatError(f"{folder} has no {file.name}; give a folder of `robotid run`")
    return models


def task_of_result(
    models: Mapping[str, Robot], folder: Path, task: str, study: StudyConfig, progress: Progress
) -> TaskMotions:
    """Simulate the motions of a task with the models of a result's folder.

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
            "%s has other tracking errors on %s because the study had other options; give them, "
            "such as its --config",
            folder / "result.json",
            motions.task.name,
        )
    return motions


def _is_as_recorded(motions: TaskMotions, file: Path) -> bool:
    """Check whether motions agree with a result; true for a result without closed loop."""
    runs = StudyResult.load(file).control if file.is_file() else []
    if not runs:
        return True
    recorded = {  # the first run of each model
        run.model: run.rms_error
        for run in reversed(runs)
        if (run.controller, run.scenario) == (motions.controller, UNDISTURBED_NAME)
        and run.task == motions.task.name
    }
    return all(
        model in recorded and np.allclose(rms(error), recorded[model], rtol=RMS_TOLERANCE, atol=0.0)
        for model, error in motions.errors().items()
    )


MAX_DISPLAYED_ERROR = 0.2
"""Largest magnified error of a revolute joint [rad]."""

MAX_DISPLAYED_SHARE = MAX_DISPLAYED_ERROR / (2.0 * np.pi)
"""Largest magnified error of a prismatic joint over its range; a share of a full turn."""

MAGNIFICATIONS = tuple(digit * 10.0**k for k in range(6) for digit in (1.0, 2.0, 5.0))
"""Magnifications to choose from; smaller errors are rounding."""

ERROR_TOLERANCE = 1e-9


def make_tracking_animations(
    robot: Robot, motions: TaskMotions, magnification: float | None = None
) -> list[Animation]:
    r"""Make the reference of a task and its motions by model, with magnified errors.

    The motion shown is :math:`q_{ref} + K (q - q_{ref})` with the magnification K, by default that
    of `visible_magnification`, each in the color of its model; the torques of the reference are
    those of `robot`. Raises `OptionError` if K is not positive and finite, or there are too many
    models; `LogError` if the runs are of another robot.
    """
    for log in motions.logs.values():
        log.require_robot(robot)
    require_showable(1 + len(motions.logs))
    errors = motions.errors()
    K = magnification
    if K is None:
        K = visible_magnification(robot, errors.values())
    if not 0.0 < K < np.inf:
        raise OptionError(f"a magnification of {K:g} is not usable; give a number above zero")
    t = reduce_times(next(iter(motions.logs.values())).t)
    reference = motions.task.trajectory(t)
    tau = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    name = f"{motions.task.name} reference"
    animations = [Animation(name, robot, t, reference.q, reference.dq, tau)]
    for index, (model, log) in enumerate(motions.logs.items()):
        # Interpolate the error, because K would magnify the interpolation error of the motion.
        error = interpolate(t, log.t, errors[model])
        title = model if K == 1.0 else f"{model}, error x {K:g}"
        q = reference.q + K * error
        dq = reference.dq + K * np.gradient(error, t, axis=0)
        color = model_color(model, index)
        animations.append(Animation(title, robot, t, q, dq, error=error, color=color))
    return animations


def visible_magnification(robot: Robot, errors: Iterable[Float2D]) -> float:
    """Choose the largest magnification of 1, 2, 5, 10, ... that keeps errors in bounds.

    Revolute joints are then at most `MAX_DISPLAYED_ERROR` from their reference, prismatic ones
    `MAX_DISPLAYED_SHARE` of their range; `errors` have the shape (N, n) each.
    """
    allowed = np.full(robot.dof, MAX_DISPLAYED_ERROR)
    is_prismatic = np.array(robot.prismatic)
    allowed[is_prismatic] = MAX_DISPLAYED_SHARE * 2.0 * robot.limits.half_range[is_prismatic]
    largest = max(float((np.abs(e) / allowed).max()) for e in errors)
    return max(K for K in MAGNIFICATIONS if K == 1.0 or K * largest <= 1.0 + ERROR_TOLERANCE)
