"""Recordings of an animation as a picture or a film, without a display."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from robotid_sim.engine.engines import engine_named
from robotid_sim.errors import OptionError, require_extra
from robotid_sim.files import atomic_path, require_writable
from robotid_sim.model.robot import Robot
from robotid_sim.progress import Progress, silent
from robotid_sim.viewer.animation import Animation, require_showable
from robotid_sim.viewer.compositor import Compositor
from robotid_sim.viewer.view_settings import ViewSettings, require_speed

FILE_SUFFIXES = (".png", ".gif", ".mp4")

MAX_GIF_RATE = 50.0
"""Largest frame rate of a GIF [1/s]; viewers slow down frames of less than 20 ms."""

PICTURE_OVERSAMPLING, FILM_OVERSAMPLING = 3.0, 1.5
"""Oversampling of a single picture, and of the frames of a film."""

PALETTE_FRAME_COUNT = 6
"""Number of frames from which the colors of a GIF are chosen."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Description of a recorded file."""

    path: Path
    frames: int
    renderer: str
    """Kind of the renderer, such as ``software`` or ``egl``."""


def require_recordable(
    path: str | Path, settings: ViewSettings, fps: float = 30.0, speed: float = 1.0
) -> None:
    """Raise unless a recording to `path` is possible; to be called before long work.

    Raises `OptionError` if the format, the size, the frame rate or the speed is not usable,
    `MissingExtraError` if the format needs a package that is not installed or there is no engine to
    draw, `FileFormatError` if the folder does not exist or cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FILE_SUFFIXES:
        names = ", ".join(FILE_SUFFIXES)
        raise OptionError(f"cannot record to {path}: unknown format '{suffix}'; formats: {names}")
    require_speed(speed)
    width, height = settings.width, settings.height
    if not 0.1 <= fps <= 240.0:
        raise OptionError(f"{fps:g} frames per second are not usable; give 0.1 to 240")
    if suffix == ".gif" and fps > MAX_GIF_RATE:
        raise OptionError(f"a GIF shows at most {MAX_GIF_RATE:g} frames per second, not {fps:g}")
    if suffix == ".mp4" and (width % 2 or height % 2):
        raise OptionError(f"an MP4 needs even width and height, not {width}x{height}")
    if suffix == ".mp4":
        _load_imageio()
    engine_named(None)  # raises if there is none
    require_writable(path)


def record(
    animations: Animation | Sequence[Animation],
    path: str | Path,
    settings: ViewSettings | None = None,
    *,
    models: Mapping[str, Robot] | None = None,
    fps: float = 30.0,
    speed: float = 1.0,
    time: float | None = None,
    progress: Progress = silent,
) -> Recording:
    """Render an animation to a file: ``.png`` one picture, ``.gif`` or ``.mp4`` a film.

    Animations after the first are shown as ghosts, at most four; the layer ``inertia`` shows the
    inertia of `models`. A film has `fps` frames per second, each `speed` / `fps` [s] of motion
    after the previous one; a picture is taken at `time` [s], by default in the middle. Raises the
    errors of `require_recordable`, before any work, and `OptionError` if the time lies outside the
    motion, or there are too many motions.
    """
    settings = settings or ViewSettings()
    motions = [animations] if isinstance(animations, Animation) else list(animations)
    require_showable(len(motions))
    require_recordable(path, settings, fps, speed)
    start, end = motions[0].start, motions[0].end
    suffix = Path(path).suffix.lower()
    if time is not None and suffix != ".png":
        raise OptionError(f"a time is for a picture (.png), not for the film {path}")
    if time is not None and not start <= time <= end:
        raise OptionError(
            f"time {time:g} s is not in the motion, which takes {start:g} to {end:g} s"
        )
    if suffix == ".png" and settings.renderer == "auto":
        settings = replace(settings, renderer="software")  # a test of EGL would take longer
    count = 1 if suffix == ".png" else max(1, round((end - start) / speed * fps))
    with Compositor(motions, settings, models) as compositor, atomic_path(path) as temporary:
        if suffix == ".png":
            picture_time = 0.5 * (start + end) if time is None else time
            compositor.frame(picture_time, PICTURE_OVERSAMPLING).save(temporary, optimize=True)
        else:
            times = start + np.arange(count) * speed / fps
            frames = (
                compositor.frame(t, FILM_OVERSAMPLING) for t in _count_frames(times, progress)
            )
            if suffix == ".gif":
                sample_times = times[:: max(1, count // PALETTE_FRAME_COUNT)]
                samples = [compositor.frame(t, 1.0) for t in sample_times]
                _write_gif(frames, count, samples, temporary, fps)
            else:
                _write_mp4(frames, temporary, fps)
        return Recording(Path(path), count, compositor.renderer)


def _count_frames(times: np.ndarray[Any, Any], progress: Progress) -> Iterator[float]:
    for k, time in enumerate(times):
        progress("record", k / times.size)
        yield float(time)
    progress("record", 1.0)


def _write_gif(
    frames: Iterator[Image.Image], count: int, samples: list[Image.Image], path: Path, fps: float
) -> None:
    """Write an animated GIF with one palette for all frames."""
    sheet = Image.fromarray(np.vstack([np.asarray(sample) for sample in samples]))
    colors = sheet.quantize(255, method=Image.Quantize.MEDIANCUT)
    reduced = (f.quantize(palette=colors, dither=Image.Dither.NONE) for f in frames)
    # GIF counts in hundredths of a second: unequal durations keep the average exact.
    clock = np.round(np.arange(count + 1) * 100.0 / fps) * 10.0
    durations = np.diff(clock).astype(int).tolist()
    # Unchanged pixels become transparent, which reduces the size to a quarter.
    options = {"duration": durations, "loop": 0, "disposal": 1, "optimize": True}
    with path.open("wb") as file:  # Pillow does not close the file when interrupted
        next(reduced).save(file, format="GIF", save_all=True, append_images=reduced, **options)


def _write_mp4(frames: Iterator[Image.Image], path: Path, fps: float) -> None:
    """Write an H.264 film, which all browsers play."""
    codec = {"codec": "libx264", "quality": None, "pixelformat": "yuv420p", "macro_block_size": 2}
    flags = ["-crf", "20", "-preset", "fast", "-movflags", "+faststart"]
    options = {**codec, "fps": fps, "ffmpeg_log_level": "error", "output_params": flags}
    with _load_imageio().get_writer(path, format="FFMPEG", mode="I", **options) as writer:
        for frame in frames:
            writer.append_data(np.asarray(frame))


def _load_imageio() -> Any:
    """Import imageio with its encoder, or raise with the install command."""
    with require_extra("an MP4, unlike a .gif or .png, needs imageio and its encoder", "video"):
        importlib.import_module("imageio_ffmpeg")
        return importlib.import_module("imageio.v2")
