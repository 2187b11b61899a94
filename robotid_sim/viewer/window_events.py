"""Keys and mouse of PyBullet's window, passed on to the playback and the camera."""

from collections.abc import Callable

import numpy as np

from robotid_sim.engine.client import EngineClient
from robotid_sim.engine.quiet import captured_output
from robotid_sim.viewer.billboards import look, window_camera
from robotid_sim.viewer.playback_controls import PlaybackControls

with captured_output():  # prints its build time
    import pybullet

HOLD, REPEAT = 0.4, 1.0 / 30.0
"""An arrow key held so long repeats, so often [s]."""

ARROWS = {
    pybullet.B3G_LEFT_ARROW: "left",
    pybullet.B3G_RIGHT_ARROW: "right",
    pybullet.B3G_UP_ARROW: "up",
    pybullet.B3G_DOWN_ARROW: "down",
}
CONTROL = (pybullet.B3G_CONTROL, pybullet.B3G_ALT)
"""Held, the mouse turns the view by PyBullet's own means."""

BUTTON = 2
"""Kind of a mouse event that is not a mere motion."""
LEFT = 0
DEGREES_PER_PIXEL = 0.3
STEEPEST = 89.0  # [deg]


def key_name(code: int) -> str | None:
    """Return the name of a key by PyBullet's code; None for keys without a meaning."""
    if code == ord(" "):
        return "space"
    return ARROWS.get(code) or (chr(code).lower() if ord(" ") < code < 127 else None)


class WindowEvents:
    """Reads the window's events.

    `share_at` gives the share of the motion at a place in the window [pixels], None off the time
    line.
    """

    def __init__(
        self,
        client: EngineClient,
        controls: PlaybackControls,
        share_at: Callable[[float, float], float | None],
    ) -> None:
        self._client, self._controls, self._share_at = client, controls, share_at
        self._held: dict[int, float] = {}
        self._control = False
        self._mouse: tuple[float, float] | None = None
        self._dragging: str | None = None

    def read(self, now: float) -> None:
        """Act on everything that happened since the last time; `now` is in seconds."""
        self.take_keys(self._client.getKeyboardEvents(), now)
        for event in self._client.getMouseEvents():
            self._take_mouse(*event)

    def take_keys(self, events: dict[int, int], now: float) -> None:
        """Pass pressed keys to the playback, held arrows again and again."""
        self._control = any(code in events for code in CONTROL)
        for code in events:
            key = key_name(code)
            if key is None:
                continue
            # A short press may show up as a release only, so whatever is new is a press.
            first = code not in self._held
            if first or (now >= self._held[code] and code in ARROWS):
                self._controls.press(key)
                self._held[code] = now + (HOLD if first else REPEAT)
        down = {code for code, state in events.items() if not state & pybullet.KEY_WAS_RELEASED}
        self._held = {code: due for code, due in self._held.items() if code in down}

    def _take_mouse(self, kind: int, x: float, y: float, button: int, state: int) -> None:
        """Scrub on the time line; elsewhere turn the view with the left button, or shift it."""
        share = self._share_at(x, y)
        if kind == BUTTON and state & pybullet.KEY_WAS_TRIGGERED:
            on_line = button == LEFT and share is not None
            self._dragging = "line" if on_line else "turn" if button == LEFT else "shift"
        if self._dragging == "line" and share is not None:
            self._controls.seek(share)
        elif self._dragging in ("turn", "shift") and self._mouse and not self._control:
            self._drag(x - self._mouse[0], y - self._mouse[1])
        if kind == BUTTON and state & pybullet.KEY_WAS_RELEASED:
            self._dragging = None
        self._mouse = (x, y)

    def _drag(self, dx: float, dy: float) -> None:
        camera = window_camera(self._client)
        if camera is None:
            return
        yaw, pitch, target = camera.yaw, camera.pitch, camera.target
        if self._dragging == "turn":
            yaw -= DEGREES_PER_PIXEL * dx
            pitch = float(np.clip(pitch - DEGREES_PER_PIXEL * dy, -STEEPEST, STEEPEST))
        else:  # the window's field of view is 90 degrees
            step = 2.0 * camera.distance / camera.height
            target = target + camera.axes @ np.array([-dx * step, dy * step, 0.0])
        look(self._client, camera.distance, yaw, pitch, target)
