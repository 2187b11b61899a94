"""Words of ``robotid view``."""

from pathlib import Path
from typing import Annotated

import typer

from robotid_sim.cli import options
from robotid_sim.viewer.choices import DIRECTIONS, LAYERS, RENDERERS

FPS = 30.0
"""Frames per second of a film."""
WINDOW, PICTURE = "1280x800", "640x480"
TrajectoryFile = Annotated[
    Path | None,
    typer.Option("--trajectory", metavar="FILE", help="Simulate and show this trajectory."),
]
LogFiles = Annotated[
    list[Path] | None,
    typer.Option("--log", metavar="FILE", help="Show this log; further --log as ghosts."),
]
ResultFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Show the log in this folder of `robotid run`; C shows its models' masses.",
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="NAME",
        help="Run this task of the study (circle-fast, joint-step) with the models of --result and "
        "show their motions as ghosts beside the reference.",
    ),
]
Magnification = Annotated[
    float | None,
    typer.Option(
        "--magnify",
        metavar="FACTOR",
        callback=options.positive,
        help="Factor of the errors that --task shows.  [default: 1, 2, 5, 10, ..., up to 0.2 rad]",
    ),
]
RecordFile = Annotated[
    Path | None,
    typer.Option(help="Write .png, .gif or .mp4 instead; needs no display.", metavar="FILE"),
]
Time = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        callback=options.finite,
        help="Time of a .png [s].  [default: the middle]",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(metavar="WxH", help=f"Pixels.  [default: {PICTURE}, the window's {WINDOW}]"),
]
Fps = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        callback=options.finite,
        help=f"Frames per second of a film.  [default: {FPS:g}]",
    ),
]
Speed = Annotated[
    float | None,
    typer.Option(
        metavar="FACTOR",
        callback=options.finite,
        help="Seconds of motion per second.  [default: 1]",
    ),
]
CameraName = Annotated[
    str,
    typer.Option(
        metavar="NAME", help=f"{', '.join(DIRECTIONS)}.", autocompletion=lambda: [*DIRECTIONS]
    ),
]
Layers = Annotated[
    str | None,
    typer.Option(
        metavar="LAYER,...",
        help="; ".join(f"{name}: {what}" for name, what in LAYERS.items())
        + "; none: the robot alone.  [default: panel,path,contacts; in a window curves too]",
    ),
]
JointName = Annotated[
    str | None,
    typer.Option("--joint", metavar="NAME", help="Joint of the layer curves.  [default: first]"),
]
RendererName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"{', '.join(RENDERERS)}.  [default: auto]",
        autocompletion=lambda: [*RENDERERS],
    ),
]
Web = Annotated[
    bool,
    typer.Option(
        "--web", help="Show it in a browser, which needs no display here; Ctrl-C ends the server."
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=65535,
        help="Port of --web; from elsewhere by `ssh -L N:localhost:N HOST`.  [default: a free one]",
    ),
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Print the address only.")]
OF_SIMULATION = ("seed", "nominal", "preset", "plant_friction", "plant_drive", "engine")
"""Options that act on a motion that is simulated."""


@options.for_study(
    *(*OF_SIMULATION, "no_clearance", "plugin"),
    needs={
        **dict.fromkeys(OF_SIMULATION, "trajectory"),
        **dict.fromkeys(("time", "fps", "renderer"), "record"),
        **dict.fromkeys(("magnify", "no_clearance"), "task"),
        **dict.fromkeys(("port", "no_open"), "web"),
        **dict.fromkeys(("plant_friction", "plant_drive", "engine"), ("trajectory", "task")),
    },
    excludes={
        **dict.fromkeys(("trajectory", "log"), "task"),
        **dict.fromkeys(("record", "size", "show", "joint"), "web"),
    },
)
def view(
    robot: options.RobotArg,
    trajectory: TrajectoryFile = None,
    log: LogFiles = None,
    result: ResultFolder = None,
    task: TaskName = None,
    magnify: Magnification = None,
    record: RecordFile = None,
    time: Time = None,
    size: Size = None,
    fps: Fps = None,
    speed: Speed = None,
    camera: CameraName = "iso",
    show: Layers = None,
    joint: JointName = None,
    renderer: RendererName = None,
    web: Web = False,
    port: Port = None,
    no_open: NoOpen = False,
    json: options.Json = False,
) -> None:
    """Show a motion of ROBOT: a trajectory, a log, a result, a task, or a sweep of every joint.

    ROBOT may be a folder of `robotid run`, wherever it was moved to. The window plays, pauses and
    scrubs; its keys are shown in it. With --web a browser does.
    """
