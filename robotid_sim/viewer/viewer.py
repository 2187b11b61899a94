"""Display of an animation in PyBullet's window, which is another process."""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence

from robotid_sim.errors import OptionError, RobotIdError
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.animation import Animation, require_showable
from robotid_sim.viewer.display import is_display_variable_set, no_display_message, require_pybullet
from robotid_sim.viewer.view_settings import ViewSettings

OPENING_TIMEOUT = 120.0
"""Time for the window to open [s]."""


def show(
    animations: Animation | Sequence[Animation],
    settings: ViewSettings | None = None,
    *,
    models: Mapping[str, Robot] | None = None,
    speed: float = 1.0,
) -> None:
    """Show a motion in a window until it is closed.

    The window is another process, whose end does not stop this one. Its sliders set time, speed
    [seconds of motion per second] and the layers of `view_settings.WINDOW_LAYERS`. Animations after
    the first are shown as ghosts, at most four; the window can show the inertia ellipsoids of
    `models`, by default of the robot of the motion. Raises `OptionError` without a display with
    OpenGL, or for too many motions, `MissingExtraError` if PyBullet is not installed,
    `RobotIdError` if the window cannot show the motion.
    """
    motions = (animations,) if isinstance(animations, Animation) else tuple(animations)
    require_showable(len(motions))
    if not speed > 0.0:
        raise OptionError(f"speed {speed:g} is not positive")
    require_pybullet()
    if not is_display_variable_set():
        raise OptionError(no_display_message())
    settings = settings or ViewSettings(width=1280, height=800)
    # Imported here, because only a window needs it.
    from robotid_sim.viewer.window import FAILED, OPENED, WindowInput

    robots = dict(models or {"model": motions[0].robot})
    content = WindowInput(motions, robots, settings, speed)
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        pickle.dump(content, stdin)
        stdin.seek(0)
        command = f"from robotid_sim.viewer.window import main; main({os.getpid()})"
        argv = [sys.executable, "-P", "-c", command]
        child = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr)
        reports = _collect_reports(child)
        stderr.seek(0)
        text = stderr.read().decode(errors="replace").strip()
    failures = [line.removeprefix(FAILED).strip() for line in reports if line.startswith(FAILED)]
    if failures:
        raise RobotIdError(failures[0])
    if "Traceback" in text:
        raise RobotIdError(f"the viewer failed: {text.splitlines()[-1]}")
    if OPENED not in reports:
        raise OptionError(no_display_message())


def _collect_reports(child: "subprocess.Popen[bytes]") -> list[str]:
    """Collect the lines that the window's process reports; end it if it does not open."""
    assert child.stdout is not None
    timeout = threading.Timer(OPENING_TIMEOUT, child.kill)
    timeout.start()
    with child:
        try:
            first = child.stdout.readline()
            timeout.cancel()
            return (first + child.stdout.read()).decode(errors="replace").splitlines()
        finally:
            timeout.cancel()
            child.kill()
