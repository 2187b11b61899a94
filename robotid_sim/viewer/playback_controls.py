"""The state of a viewer: time, speed, what is shown; driven by keys, knows no window."""

from robotid_sim.errors import OptionError
from robotid_sim.viewer.choices import DIRECTIONS
from robotid_sim.viewer.view_settings import ViewSettings

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

STEP, LEAP = 1.0 / 30.0, 1.0
"""Time of a step at normal speed, and of a larger step [s]."""

SWITCHES = {
    "h": "panel",
    "g": "curves",
    "p": "path",
    "x": "contacts",
    "f": "frames",
    "c": "inertia",
    "t": "torque",
}
"""Key and the layer that it shows or hides."""

VIEWS = dict(zip("1234", DIRECTIONS, strict=True))
"""Key and the camera that it takes."""

KEYS = (
    (
        ("space", "play, pause"),
        ("left", "right", "step"),
        ("down", "up", "1 s"),
        ("-", "+", "speed"),
        ("l", "loop"),
        ("1", "2", "3", "4", "view"),
        ("r", "reset"),
        ("q", "quit"),
    ),
    (
        ("h", "joints"),
        ("g", "curves"),
        ("j", "of the next joint"),
        ("p", "tool path"),
        ("x", "contacts in red"),
        ("f", "joint frames"),
        ("c", "inertia ellipsoids"),
        ("t", "torque over limit"),
    ),
)
"""Rows of groups of keys, each with the words for what they do: what a viewer shows as help."""


class PlaybackControls:
    """Where a viewer is in a motion, and what it shows.

    The motion takes the times from `start` to `end` [s]; `settings` give layers and view at first,
    `speed` is in seconds of motion per second.
    """

    def __init__(
        self,
        start: float,
        end: float,
        *,
        settings: ViewSettings | None = None,
        speed: float = 1.0,
        loop: bool = False,
    ) -> None:
        settings = settings or ViewSettings()
        if not end > start:
            raise OptionError(f"a motion from {start} s to {end} s has no duration")
        if not speed > 0.0:
            raise OptionError(f"speed {speed:g} is not positive")
        self.start, self.end, self.time = start, end, start
        self.layers, self.camera = set(settings.layers), settings.camera
        self.speed, self.loop = speed, loop
        self.playing, self.closed = True, False
        self.joint = 0
        """Joint whose curves are shown, counted on without end."""
        self.new_view = True
        """Whether the view is to be taken anew; the window clears it."""

    @property
    def share(self) -> float:
        """Share of the motion that is over, 0 to 1."""
        return self.share_of(self.time)

    def share_of(self, time: float) -> float:
        """Return the share of the motion that is over at a time [s]."""
        return (time - self.start) / (self.end - self.start)

    @property
    def state(self) -> str:
        """What happens, in a few words."""
        words = ["paused"] * (not self.playing) + ["loop"] * self.loop
        return "  ".join(words + [f"x {self.speed:g}"] * (self.speed != 1.0))

    def advance(self, seconds: float) -> None:
        """Let time pass on the clock on the wall; at the end stop, or start again."""
        if not self.playing or seconds <= 0.0:
            return
        self.time += seconds * self.speed
        if self.time >= self.end and self.loop:
            self.time = self.start + (self.time - self.start) % (self.end - self.start)
        elif self.time >= self.end:
            self.time, self.playing = self.end, False

    def seek(self, share: float) -> None:
        """Go to a share of the motion, and pause there."""
        self._go(self.start + share * (self.end - self.start))

    def press(self, key: str) -> None:
        """Do what a key means; keys are ``space``, the arrows' names, letters, signs, digits."""
        match key:
            case "space":
                if not self.playing and self.time >= self.end:
                    self.time = self.start
                self.playing = not self.playing
            case "left" | "right":
                self._go(self.time + self.speed * (STEP if key == "right" else -STEP))
            case "down" | "up":
                self._go(self.time + (LEAP if key == "up" else -LEAP))
            case "+" | "=" | "]":
                self.speed = next((s for s in SPEEDS if s > self.speed), SPEEDS[-1])
            case "-" | "[":
                self.speed = next((s for s in reversed(SPEEDS) if s < self.speed), SPEEDS[0])
            case "l":
                self.loop = not self.loop
            case "j":
                self.joint += 1
            case "r":
                self.time, self.speed, self.playing = self.start, 1.0, True
                self.new_view = True
            case "q" | "escape":
                self.closed = True
            case _ if key in SWITCHES:
                self.layers ^= {SWITCHES[key]}
            case _ if key in VIEWS:
                self.camera, self.new_view = VIEWS[key], True

    def is_on(self, key: str) -> bool:
        """Return whether what a key switches is on now; for the help."""
        if key == "l":
            return self.loop
        return SWITCHES.get(key) in self.layers or VIEWS.get(key) == self.camera

    def _go(self, time: float) -> None:
        self.time, self.playing = min(max(time, self.start), self.end), False
