"""Options of ``robotid view``, and the settings that they make."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from robotid_sim.cli import output
from robotid_sim.errors import OptionError
from robotid_sim.viewer import view_settings as choices

PICTURE_SUFFIX = ".png"


def print_recording(recorded: Mapping[str, Any], file: Path, *, as_json: bool) -> None:
    """Print what was written into a picture or film."""
    frames = "1 frame" if recorded["frames"] == 1 else f"{recorded['frames']} frames"
    text = [f"{recorded['robot']}: {frames}, {recorded['renderer']} renderer"]
    output.print_result(recorded, text, [file], as_json=as_json)


def needs_browser(record: Path | None, size: str | None, show: str | None) -> bool:
    """Return whether a window is asked for where PyBullet is missing.

    Raises `OptionError` if options of the window are given there.
    """
    from robotid_sim.viewer.display import has_window

    if record is not None or has_window():
        return False
    if size is not None or show is not None:
        name = "--size" if show is None else "--show"
        raise OptionError(
            f"{name} has no effect in a browser, which shows the motion where PyBullet is missing"
        )
    return True


def rates(record: Path | None, fps: float | None, speed: float | None) -> tuple[float, float]:
    """Return frames per second and speed; raise `OptionError` if a picture is given any."""
    if record is not None and record.suffix == PICTURE_SUFFIX and (fps or speed):
        raise OptionError(f"--fps and --speed are for a film or a window, not for {record}")
    return choices.FPS if fps is None else fps, 1.0 if speed is None else speed


def settings_of(
    size: str | None,
    camera: str,
    show: str | None,
    joint: str | None,
    renderer: str | None,
    *,
    windowed: bool,
) -> choices.ViewSettings:
    """Return size, camera, layers and renderer as they are asked for."""
    sides = (size or (choices.WINDOW if windowed else choices.PICTURE)).lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
        raise OptionError(f"--size '{size}' is not of the form 640x480")
    words = {word.strip() for word in (show or "").split(",")}
    layers = choices.DEFAULT_LAYERS if show is None else frozenset(words - {"", "none"})
    beyond = sorted(layers & set(choices.LAYERS) - set(choices.WINDOW_LAYERS))
    if windowed and show is not None and beyond:
        raise OptionError(
            f"a window has no layer {beyond[0]}; --record has it in pictures and films, and --web "
            "shows the joints in a browser"
        )
    if joint is not None and "curves" not in layers:
        raise OptionError("--joint acts only with the layer curves; name it in --show")
    settings = choices.ViewSettings(
        width=int(sides[0]), height=int(sides[1]), camera=camera, joint=joint
    )
    return replace(settings, layers=layers, renderer=renderer or "auto")
