"""``robotid view``: a motion in a window, or recorded to a file."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from robotid_sim.cli import options, output
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.measurement import load_log
from robotid_sim.model.robot import Robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.result import robot_of_result
from robotid_sim.study.robots import read_robot
from robotid_sim.study.stages import Progress as ProgressCallback
from robotid_sim.study.stages import simulate
from robotid_sim.trajectory import load_trajectory
from robotid_sim.viewer import viewer
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.camera import DIRECTIONS
from robotid_sim.viewer.display import require_display
from robotid_sim.viewer.view_settings import DEFAULT_LAYERS, LAYERS, RENDERERS, ViewSettings

WINDOW, PICTURE = "1280x800", "640x480"

Models = Mapping[str, Robot]


@options.for_study
def view(
    robot: options.RobotArg,
    trajectory: Annotated[
        Path | None, typer.Option("--trajectory", help="Simulate and show this trajectory.")
    ] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option("--log", help="Show this log; a second --log as a ghost."),
    ] = None,
    result: Annotated[
        Path | None,
        typer.Option(help="Show the log in this folder of `robotid run`, and its models' masses."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Write .png, .gif or .mp4 instead; needs no display.", metavar="FILE"),
    ] = None,
    time: Annotated[
        float | None, typer.Option(help="Time of a .png [s].  [default: the middle]")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="WxH", help=f"Pixels.  [default: {PICTURE}, the window's {WINDOW}]"),
    ] = None,
    fps: Annotated[float, typer.Option(help="Frames per second of a film.")] = 30.0,
    speed: Annotated[float, typer.Option(help="Seconds of motion per second.")] = 1.0,
    camera: Annotated[str, typer.Option(help=f"{', '.join(DIRECTIONS)}.")] = "iso",
    show: Annotated[
        str | None,
        typer.Option(
            metavar="LAYER,…",
            help=f"{', '.join(LAYERS)}, or none.  [default: panel,path; of a result inertia too]",
        ),
    ] = None,
    renderer: Annotated[str, typer.Option(help=f"{', '.join(RENDERERS)}.")] = "auto",
    json: options.Json = False,
    *,
    study: StudyConfig,
) -> int:
    """Show a motion of ROBOT: a trajectory, a log, a result, or a sweep through every joint.

    The window plays, pauses and scrubs; its keys are shown in it.
    """
    chosen = ViewSettings(
        **dict(zip(("width", "height"), _size(size, windowed=record is None), strict=True)),
        camera=camera,
        layers=_layers(show, masses=result is not None),
        renderer=renderer,
    )
    if sum(given is not None for given in (trajectory, log or None, result)) > 1:
        raise OptionError("give one of --trajectory, --log and --result")
    if record is not None:
        recorder().require_recordable(record, chosen, fps, speed)
    elif trajectory is not None:
        require_display()  # before the simulation
    plant = read_robot(robot, study.robot)
    models = {} if result is None else read_models(plant, result, study)
    with output.progress_bar(enabled=not json) as progress:
        if trajectory is not None:
            playbacks = [simulated(plant, trajectory, study, progress)]
        elif log or result is not None:
            playbacks = read_logs(plant, log or [Path(str(result)) / "log.h5"])
        else:
            playbacks = [Animation.sweep(plant)]
        found: dict[str, Any] = {
            "robot": plant.name,
            "shown": [playback.name for playback in playbacks],
            "duration_s": playbacks[0].end - playbacks[0].start,
        }
        if record is not None:
            film = {"fps": fps, "speed": speed, "time": time, "progress": progress}
            made = recorder().record(playbacks, record, chosen, models=models, **film)
            found |= {"file": str(record), "frames": made.frames, "renderer": made.renderer}
    if record is None:
        viewer.show(playbacks, chosen, models=models, speed=speed)
    if json:
        output.print_json(found)
    elif record is not None:
        count = "1 frame" if found["frames"] == 1 else f"{found['frames']} frames"
        output.print_line(f"{plant.name}: {count} in {record}, {found['renderer']} renderer")
    return 0


def recorder() -> ModuleType:
    """Return the module that records; it loads Pillow, which no other command needs."""
    return importlib.import_module("robotid_sim.viewer.recorder")


def show_motion(
    playbacks: Animation | Sequence[Animation], *, models: Models | None = None
) -> None:
    """Show a motion in a window until it is closed; with models also their masses.

    For the commands with ``--view``, which ask `require_display` before their work.
    """
    layers = DEFAULT_LAYERS | ({"inertia"} if models else set())
    width, height = _size(None, windowed=True)
    viewer.show(playbacks, ViewSettings(width=width, height=height, layers=layers), models=models)


def simulated(
    plant: Robot, trajectory: Path, study: StudyConfig, progress: ProgressCallback
) -> Animation:
    """Return the virtual experiment on a trajectory file."""
    path = load_trajectory(trajectory, plant)
    return Animation.of_log(plant, simulate(plant, path, study, progress=progress), trajectory.stem)


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
            models[name] = read_robot(file, config)
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
