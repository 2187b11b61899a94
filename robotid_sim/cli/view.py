"""``robotid view``: a motion in a window, or recorded to a file."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from robotid_sim.cli import output
from robotid_sim.cli.syntax.view import FPS, PICTURE, WINDOW
from robotid_sim.cli.task_view import require_true_robot, task_of_result
from robotid_sim.cli.web_view import serve, task_motion
from robotid_sim.engine.engines import ENGINES, is_installed
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.measurement.files import load_log
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell
from robotid_sim.pipeline.build_robot import build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.result import robot_of_result
from robotid_sim.pipeline.stages import simulate
from robotid_sim.progress import Progress as ProgressCallback
from robotid_sim.progress_display import progress_line
from robotid_sim.report.replay.motions import Replay, logs_motion
from robotid_sim.result_folder import require_complete
from robotid_sim.streams import Streams
from robotid_sim.trajectory.runnable import require_runnable
from robotid_sim.trajectory.trajectory_files import load_trajectory
from robotid_sim.viewer import viewer
from robotid_sim.viewer.animation import Animation, require_showable
from robotid_sim.viewer.choices import DEFAULT_LAYERS
from robotid_sim.viewer.display import require_display
from robotid_sim.viewer.tracking import tracking_animations
from robotid_sim.viewer.view_settings import ViewSettings, require_speed

PICTURE_SUFFIX = ".png"


def view(
    *,
    robot: str,
    trajectory: Path | None,
    log: list[Path] | None,
    result: Path | None,
    task: str | None,
    magnify: float | None,
    record: Path | None,
    time: float | None,
    size: str | None,
    fps: float | None,
    speed: float | None,
    camera: str,
    show: str | None,
    joint: str | None,
    renderer: str | None,
    web: bool,
    port: int | None,
    no_open: bool,
    json: bool,
    study: StudyConfig,
) -> int:
    """Do ``robotid view``; its words are in `cli.syntax.view`."""
    folder = None if robot in catalog() or not Path(robot).is_dir() else Path(robot)
    if folder is not None and not (trajectory or log):
        result = result or folder
    _require_one_source(trajectory, log, result)
    if task is not None:
        require_true_robot(folder, result)
    settings = _settings(size, camera, show, joint, renderer or "auto", windowed=record is None)
    if record is not None and record.suffix == PICTURE_SUFFIX and (fps or speed):
        raise OptionError(f"--fps and --speed are for a film or a window, not for {record}")
    fps, speed = FPS if fps is None else fps, 1.0 if speed is None else speed
    _require_means(record, settings, fps, speed, web=web, simulates=bool(trajectory or task))
    plant = build_robot(robot if folder is None else model_in(folder), study.robot)
    settings.joint_of(plant)
    models = {} if result is None else read_models(plant, result, study, true=folder is None)
    with progress_line(enabled=not json) as progress:
        motions = None
        if trajectory is not None:
            animations = [simulated(plant, trajectory, study, progress, engine_needed=not web)]
        elif task is not None and result is not None:
            motions = task_of_result(models, result, task, study, progress)
            animations = tracking_animations(plant, motions, magnify)
        else:
            animations = recorded(plant, log, result)
        if record is not None:
            film = {"fps": fps, "speed": speed, "time": time, "progress": progress}
            recording = recorder().record(animations, record, settings, models=models, **film)
    summary = _summary(plant, animations)
    if web:
        shown = logs_motion(animations) if motions is None else task_motion(motions, magnify, plant)
        return serve(Replay(plant, (shown,), camera, speed), summary, port, no_open, as_json=json)
    if record is None:
        viewer.show(animations, settings, models=models, speed=speed)
    else:
        summary |= {"file": str(record), "frames": recording.frames}
        summary["renderer"] = recording.renderer
    _print(summary, record, as_json=json)
    return 0


def _require_means(
    record: Path | None,
    settings: ViewSettings,
    fps: float,
    speed: float,
    *,
    web: bool,
    simulates: bool,
) -> None:
    """Raise if a motion cannot be shown as it is to be, before it is simulated."""
    if record is not None:
        recorder().require_recordable(record, settings, fps, speed)
    elif web:
        require_speed(speed)
    elif simulates:
        require_display()


def _summary(plant: Robot, animations: Sequence[Animation]) -> dict[str, Any]:
    return {
        "robot": plant.name,
        "shown": [animation.name for animation in animations],
        "duration_s": animations[0].end - animations[0].start,
    }


def _print(summary: Mapping[str, Any], record: Path | None, *, as_json: bool) -> None:
    if as_json:
        output.print_json(summary)
    elif record is not None:
        frames = "1 frame" if summary["frames"] == 1 else f"{summary['frames']} frames"
        output.print_line(f"{summary['robot']}: {frames}, {summary['renderer']} renderer")
        output.print_written([record])


def _require_one_source(
    trajectory: Path | None, log: list[Path] | None, result: Path | None
) -> None:
    """Raise if it is not clear what to show."""
    if sum(source is not None for source in (trajectory, log or None, result)) > 1:
        raise OptionError("give one of --trajectory, --log and --result")


def recorded(plant: Robot, log: list[Path] | None, result: Path | None) -> list[Animation]:
    """Return what logs or a result hold; a sweep through every joint if there is neither."""
    if not log and result is None:
        return [Animation.sweep(plant)]
    return read_logs(plant, log or [Path(str(result)) / "log.h5"])


def model_in(folder: Path) -> Path:
    """Return the robot that a folder of results holds, the identified one if there is one."""
    require_complete(folder)
    for name in ("identified.urdf", "nominal.urdf"):
        if (folder / name).is_file():
            return folder / name
    raise FileFormatError(f"{folder} holds no identified.urdf or nominal.urdf; give a URDF")


def recorder() -> ModuleType:
    """Return the module that records; it loads Pillow, which no other command needs."""
    return importlib.import_module("robotid_sim.viewer.recorder")


def show_motion(
    animations: Animation | Sequence[Animation], *, models: Mapping[str, Robot] | None = None
) -> None:
    """Show a motion in a window until it is closed; with models a key shows their masses.

    For the commands with ``--view``, which ask `require_display` before their work.
    """
    width, height = _size(None, windowed=True)
    layers = _layers(None, None, windowed=True)
    settings = ViewSettings(width=width, height=height, layers=layers)
    viewer.show(animations, settings, models=models)


def simulated(
    plant: Robot,
    trajectory: Path,
    study: StudyConfig,
    progress: ProgressCallback,
    *,
    engine_needed: bool,
) -> Animation:
    """Return the virtual experiment on a trajectory file; the trajectory where no engine is."""
    path = load_trajectory(trajectory, plant)
    if not engine_needed and not any(map(is_installed, ENGINES)):
        return Animation.of_trajectory(plant, path, trajectory.stem)
    cell = build_cell(plant, build_nominal(plant, study), study)
    require_runnable(path, plant, cell.rate, str(trajectory))
    log = simulate(cell, path, Streams(study.seed)("measure"), progress=progress)
    return Animation.of_log(plant, log, trajectory.stem)


def read_logs(plant: Robot, paths: Sequence[Path]) -> list[Animation]:
    """Return the logs to be shown, the first one as the motion."""
    require_showable(len(paths))
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    pairs = zip(paths, names, strict=True)
    return [Animation.of_log(plant, load_log(path), name) for path, name in pairs]


def read_models(
    plant: Robot, folder: Path, study: StudyConfig, *, true: bool = True
) -> dict[str, Robot]:
    """Return the models in a result's folder, and `plant` as the true one if it is.

    A fit may have failed; then there is no identified robot.
    """
    require_complete(folder)
    _require_result_of(plant, folder / "result.json")
    config = study.robot.model_copy(update={"joints": {}, "payload": None})
    models = {"true": plant} if true else {}
    for name in ("nominal", "identified"):
        file = folder / f"{name}.urdf"
        if file.is_file():
            models[name] = build_robot(file, config)
            if models[name].joint_names != plant.joint_names:
                raise OptionError(f"{file} is of another robot than '{plant.name}'")
        elif name == "nominal":
            raise FileFormatError(f"{folder} holds no {file.name}; is it of `robotid run`?")
    return models


def _require_result_of(plant: Robot, file: Path) -> None:
    """Raise if a result is of another robot; a study that was stopped has no result yet."""
    if not file.is_file():
        return
    name = robot_of_result(file)
    if name != plant.name:
        raise OptionError(f"{file} is of the robot '{name}', not of '{plant.name}'")


def _settings(
    size: str | None,
    camera: str,
    show: str | None,
    joint: str | None,
    renderer: str,
    *,
    windowed: bool,
) -> ViewSettings:
    width, height = _size(size, windowed=windowed)
    layers = _layers(show, joint, windowed=windowed)
    settings = ViewSettings(width=width, height=height, camera=camera, joint=joint)
    return replace(settings, layers=layers, renderer=renderer)


def _layers(text: str | None, joint: str | None, *, windowed: bool) -> frozenset[str]:
    words = {word.strip() for word in (text or "").split(",")}
    layers = frozenset(words - {"", "none"})
    if text is None:
        layers = DEFAULT_LAYERS | ({"curves"} if windowed else set())
    if joint is not None and not windowed and "curves" not in layers:
        raise OptionError("--joint acts only with the layer curves; name it in --show")
    return layers


def _size(text: str | None, *, windowed: bool) -> tuple[int, int]:
    sides = (text or (WINDOW if windowed else PICTURE)).lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
        raise OptionError(f"--size '{text}' is not of the form 640x480")
    return int(sides[0]), int(sides[1])
