"""``robotid view``: a motion in a window, or recorded to a file."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from robotid_sim.cli import options, output
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.measurement.files import load_log
from robotid_sim.model.robot import Robot
from robotid_sim.progress import Progress as ProgressCallback
from robotid_sim.streams import Streams
from robotid_sim.study.build import build_cell, build_nominal, build_robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.result import robot_of_result
from robotid_sim.study.stages import simulate
from robotid_sim.trajectory.trajectory_files import load_trajectory
from robotid_sim.viewer import viewer
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.camera import DIRECTIONS
from robotid_sim.viewer.display import require_display
from robotid_sim.viewer.view_settings import DEFAULT_LAYERS, LAYERS, RENDERERS, ViewSettings

WINDOW, PICTURE = "1280x800", "640x480"

TrajectoryFile = Annotated[
    Path | None, typer.Option("--trajectory", help="Simulate and show this trajectory.")
]
LogFiles = Annotated[
    list[Path] | None, typer.Option("--log", help="Show this log; a second --log as a ghost.")
]
ResultFolder = Annotated[
    Path | None,
    typer.Option(help="Show the log in this folder of `robotid run`, and its models' masses."),
]
RecordFile = Annotated[
    Path | None,
    typer.Option(help="Write .png, .gif or .mp4 instead; needs no display.", metavar="FILE"),
]
Time = Annotated[float | None, typer.Option(help="Time of a .png [s].  [default: the middle]")]
Size = Annotated[
    str | None,
    typer.Option(metavar="WxH", help=f"Pixels.  [default: {PICTURE}, the window's {WINDOW}]"),
]
Fps = Annotated[float, typer.Option(help="Frames per second of a film.")]
Speed = Annotated[float, typer.Option(help="Seconds of motion per second.")]
CameraName = Annotated[str, typer.Option(help=f"{', '.join(DIRECTIONS)}.")]
Layers = Annotated[
    str | None,
    typer.Option(
        metavar="LAYER,…",
        help=f"{', '.join(LAYERS)}, or none.  [default: panel,path; of a result inertia too]",
    ),
]
RendererName = Annotated[str, typer.Option(help=f"{', '.join(RENDERERS)}.")]


@options.for_study("seed", "plugin", "nominal", "preset", "plant_friction")
def view(
    robot: options.RobotArg,
    trajectory: TrajectoryFile = None,
    log: LogFiles = None,
    result: ResultFolder = None,
    record: RecordFile = None,
    time: Time = None,
    size: Size = None,
    fps: Fps = 30.0,
    speed: Speed = 1.0,
    camera: CameraName = "iso",
    show: Layers = None,
    renderer: RendererName = "auto",
    json: options.Json = False,
    *,
    study: StudyConfig,
) -> int:
    """Show a motion of ROBOT: a trajectory, a log, a result, or a sweep through every joint.

    The window plays, pauses and scrubs; its keys are shown in it.
    """
    width, height = _size(size, windowed=record is None)
    layers = _layers(show, masses=result is not None)
    settings = ViewSettings(
        width=width, height=height, camera=camera, layers=layers, renderer=renderer
    )
    if sum(source is not None for source in (trajectory, log or None, result)) > 1:
        raise OptionError("give one of --trajectory, --log and --result")
    if record is not None:
        recorder().require_recordable(record, settings, fps, speed)
    elif trajectory is not None:
        require_display()  # before the simulation
    plant = build_robot(robot, study.robot)
    models = {} if result is None else read_models(plant, result, study)
    with output.progress_bar(enabled=not json) as progress:
        if trajectory is not None:
            animations = [simulated(plant, trajectory, study, progress)]
        elif log or result is not None:
            animations = read_logs(plant, log or [Path(str(result)) / "log.h5"])
        else:
            animations = [Animation.sweep(plant)]
        if record is not None:
            film = {"fps": fps, "speed": speed, "time": time, "progress": progress}
            recording = recorder().record(animations, record, settings, models=models, **film)
    summary: dict[str, Any] = {
        "robot": plant.name,
        "shown": [animation.name for animation in animations],
        "duration_s": animations[0].end - animations[0].start,
    }
    if record is None:
        viewer.show(animations, settings, models=models, speed=speed)
    else:
        frames, drawn_by = recording.frames, recording.renderer
        summary |= {"file": str(record), "frames": frames, "renderer": drawn_by}
    if json:
        output.print_json(summary)
    elif record is not None:
        count = "1 frame" if frames == 1 else f"{frames} frames"
        output.print_line(f"{plant.name}: {count} in {record}, {drawn_by} renderer")
    return 0


def recorder() -> ModuleType:
    """Return the module that records; it loads Pillow, which no other command needs."""
    return importlib.import_module("robotid_sim.viewer.recorder")


def show_motion(
    animations: Animation | Sequence[Animation], *, models: Mapping[str, Robot] | None = None
) -> None:
    """Show a motion in a window until it is closed; with models also their masses.

    For the commands with ``--view``, which ask `require_display` before their work.
    """
    layers = DEFAULT_LAYERS | ({"inertia"} if models else set())
    width, height = _size(None, windowed=True)
    viewer.show(animations, ViewSettings(width=width, height=height, layers=layers), models=models)


def simulated(
    plant: Robot, trajectory: Path, study: StudyConfig, progress: ProgressCallback
) -> Animation:
    """Return the virtual experiment on a trajectory file."""
    path = load_trajectory(trajectory, plant)
    cell = build_cell(plant, build_nominal(plant, study), study)
    log = simulate(cell, path, Streams(study.seed)("measure"), progress=progress)
    return Animation.of_log(plant, log, trajectory.stem)


def read_logs(plant: Robot, paths: Sequence[Path]) -> list[Animation]:
    """Return one or two logs to be shown."""
    if len(paths) > 2:
        raise OptionError(f"at most two logs can be shown, got {len(paths)}")
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    pairs = zip(paths, names, strict=True)
    return [Animation.of_log(plant, load_log(path), name) for path, name in pairs]


def read_models(plant: Robot, folder: Path, study: StudyConfig) -> dict[str, Robot]:
    """Return the true robot and the models in a result's folder.

    A fit may have failed; then there is no identified robot.
    """
    _require_result_of(plant, folder / "result.json")
    config = study.robot.model_copy(update={"joints": {}, "payload": None})
    models = {"true": plant}
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


def _layers(text: str | None, *, masses: bool) -> frozenset[str]:
    if text is None:
        return DEFAULT_LAYERS | ({"inertia"} if masses else set())
    words = {word.strip() for word in text.split(",")}
    return frozenset(words - {"", "none"})


def _size(text: str | None, *, windowed: bool) -> tuple[int, int]:
    sides = (text or (WINDOW if windowed else PICTURE)).lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
        raise OptionError(f"--size '{text}' is not of the form 640x480")
    return int(sides[0]), int(sides[1])
