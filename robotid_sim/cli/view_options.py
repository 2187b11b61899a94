"""Options of ``robotid view``, and the settings that they make."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from robotid_sim.cli import options, output
from robotid_sim.errors import OptionError
from robotid_sim.viewer import view_settings as choices

PICTURE_SUFFIX = ".png"

TrajectoryFile = Annotated[Path | None, options.file("Simulate and show this trajectory.")]
LogFiles = Annotated[list[Path] | None, options.file("Show this log; further --log as ghosts.")]
ResultFolder = Annotated[
    Path | None,
    options.value(
        "FOLDER",
        "Show the log of this folder of `robotid run`; the layer inertia shows its models.",
    ),
]
TaskName = Annotated[
    str | None,
    options.value(
        "NAME",
        "Run this task of the study (circle-fast, joint-step) with the models of --result and "
        "show their motions as ghosts beside the reference.",
    ),
]
Magnification = Annotated[
    float | None,
    options.value(
        "FACTOR",
        "Magnification of the errors that --task shows.  [default: 1, 2, 5, ..., up to 0.2 rad]",
        callback=options.positive,
    ),
]
RecordFile = Annotated[
    Path | None, options.file("Write .png, .gif or .mp4 instead; needs no display.")
]
Time = Annotated[
    float | None,
    options.value(
        "SECONDS",
        "Time at which a .png is taken [s].  [default: the middle of the motion]",
        callback=options.finite,
    ),
]
Size = Annotated[
    str | None,
    options.value("WxH", f"Pixels.  [default: {choices.PICTURE}, the window's {choices.WINDOW}]"),
]
Fps = Annotated[
    float | None,
    options.value(
        "N",
        f"Frames per second of a film.  [default: {choices.FRAME_RATE:g}]",
        callback=options.finite,
    ),
]
Speed = Annotated[
    float | None,
    options.value("FACTOR", "Seconds of motion per second.  [default: 1]", callback=options.finite),
]
CameraName = Annotated[
    str,
    options.value(
        "NAME", f"{', '.join(choices.VIEW_ANGLES)}.", autocompletion=lambda: [*choices.VIEW_ANGLES]
    ),
]
Layers = Annotated[
    str | None,
    options.value(
        "LAYER,...",
        "; ".join(f"{name}: {what}" for name, what in choices.LAYERS.items())
        + f"; none: the robot alone; a window has {', '.join(choices.WINDOW_LAYERS)}.  "
        "[default: panel,path,contacts]",
    ),
]
JointName = Annotated[
    str | None, options.value("NAME", "Joint of the layer curves.  [default: first]")
]
RendererName = Annotated[
    str | None,
    options.value(
        "NAME",
        f"{', '.join(choices.RENDERER_NAMES)}.  [default: auto]",
        autocompletion=lambda: [*choices.RENDERER_NAMES],
    ),
]
Web = Annotated[
    bool,
    options.flag(
        "--web", "Show it in a browser, which needs no display here; Ctrl-C ends the server."
    ),
]
Port = Annotated[
    int | None,
    options.value(
        "N",
        "Port of --web; from elsewhere by `ssh -L N:localhost:N HOST`.  [default: a free one]",
        min=1,
        max=65535,
    ),
]
NoOpen = Annotated[bool, options.flag("--no-open", "Print the address only.")]


def print_recording(recorded: Mapping[str, Any], file: Path, *, as_json: bool) -> None:
    """Print robot, number of frames and renderer of a picture or film."""
    frames = "1 frame" if recorded["frames"] == 1 else f"{recorded['frames']} frames"
    text = [f"{recorded['robot']}: {frames}, {recorded['renderer']} renderer"]
    output.print_result(recorded, text, [file], as_json=as_json)


def is_browser_needed(record: Path | None, size: str | None, show: str | None) -> bool:
    """Check whether a window is requested but PyBullet is not installed.

    Raises `OptionError` if options of the window are given then.
    """
    from robotid_sim.viewer.display import is_pybullet_installed

    if record is not None or is_pybullet_installed():
        return False
    if size is not None or show is not None:
        name = "--size" if show is None else "--show"
        raise OptionError(
            f"{name} has no effect in a browser, which shows the motion where PyBullet is missing"
        )
    return True


def rates(record: Path | None, fps: float | None, speed: float | None) -> tuple[float, float]:
    """Return frames per second and speed; raise `OptionError` if they are given for a picture."""
    if record is not None and record.suffix == PICTURE_SUFFIX and (fps or speed):
        raise OptionError(f"--fps and --speed are for a film or a window, not for {record}")
    return choices.FRAME_RATE if fps is None else fps, 1.0 if speed is None else speed


def settings_of(
    size: str | None,
    camera: str,
    show: str | None,
    joint: str | None,
    renderer: str | None,
    *,
    windowed: bool,
) -> choices.ViewSettings:
    """Return the view settings from size, camera, layers and renderer of the command line."""
    sides = (size or (choices.WINDOW if windowed else choices.PICTURE)).lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
        raise OptionError(f"--size '{size}' is not of the form 640x480")
    words = {word.strip() for word in (show or "").split(",")}
    layers = choices.DEFAULT_LAYERS if show is None else frozenset(words - {"", "none"})
    unsupported = sorted(layers & set(choices.LAYERS) - set(choices.WINDOW_LAYERS))
    if windowed and show is not None and unsupported:
        raise OptionError(
            f"a window has no layer {unsupported[0]}; --record has it in pictures and films, and "
            "--web shows the joints in a browser"
        )
    if joint is not None and "curves" not in layers:
        raise OptionError("--joint acts only with the layer curves; name it in --show")
    settings = choices.ViewSettings(
        width=int(sides[0]), height=int(sides[1]), camera=camera, joint=joint
    )
    return replace(settings, layers=layers, renderer=renderer or "auto")
