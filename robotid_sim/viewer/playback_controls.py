"""Time, speed and layers of the window: sliders and a button of PyBullet's GUI."""

from collections.abc import Iterable

from robotid_sim.engine.client import EngineClient
from robotid_sim.viewer.choices import WINDOW_LAYERS

FASTEST = 4.0
"""Right end of the slider of the speed [seconds of motion per second]."""


class PlaybackControls:
    """Where the window is in a motion, and what it shows.

    The motion takes the times from `start` to `end` [s] and begins again at its end; `layers` are
    those shown at first, `speed` is in seconds of motion per second. PyBullet lets nobody but the
    user move a slider, so that the slider of the time says where to go, not where the motion is.
    """

    def __init__(
        self, client: EngineClient, start: float, end: float, layers: Iterable[str], speed: float
    ) -> None:
        self._client, self._start, self._end = client, start, end
        self.time, self.playing = start, True
        # PyBullet cuts the first letter; a larger lower end makes a button of a slider.
        add, shown = client.addUserDebugParameter, set(layers)
        self._time = add(" time [s]", start, end, start)
        self._speed = add(" speed", 0.0, max(FASTEST, speed), speed)
        self._button = add(" play / pause", 1, 0, 0)
        self._switches = {name: add(f" {name}", 0, 1, int(name in shown)) for name in WINDOW_LAYERS}
        self._last = self._read()

    @property
    def layers(self) -> set[str]:
        """Layers whose slider is in its right half."""
        read = self._client.readUserDebugParameter
        return {name for name, slider in self._switches.items() if read(slider) > 0.5}

    def advance(self, seconds: float) -> None:
        """Follow sliders and button, and let time pass on the clock on the wall [s].

        Moving the slider of the time goes there and pauses.
        """
        (time, presses), (last_time, last_presses) = self._read(), self._last
        self._last = (time, presses)
        if time != last_time:
            self.time, self.playing = time, False
        elif presses != last_presses:
            self.playing = not self.playing
        if self.playing:
            speed = self._client.readUserDebugParameter(self._speed)
            passed = self.time + seconds * speed - self._start
            self.time = self._start + passed % (self._end - self._start)

    def _read(self) -> tuple[float, float]:
        """Return the time that the slider shows [s], and how often the button was pressed."""
        read = self._client.readUserDebugParameter
        return read(self._time), read(self._button)
