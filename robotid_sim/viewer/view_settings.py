"""Settings of a view: the possible options, and the chosen ones."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from robotid_sim.errors import OptionError, UnknownNameError

if TYPE_CHECKING:
    from robotid_sim.model.robot import Robot

MIN_PICTURE_SIZE, MAX_PICTURE_SIZE = 16, 4096  # [pixels]

VIEW_ANGLES = {
    "front": (90.0, -8.0),
    "side": (0.0, -8.0),
    "top": (90.0, -89.0),
    "iso": (52.0, -22.0),
}
"""Yaw and pitch [deg] of PyBullet: yaw 0 looks along +y, 90 along -x, at the front."""

LAYERS = {
    "panel": "position, velocity and torque of all joints, over their limits",
    "curves": "position, velocity and torque of one joint over time",
    "path": "path of the tool",
    "contacts": "links that touch one another or the floor, in red",
    "frames": "coordinate frames of the joints",
    "inertia": "ellipsoids of uniform density with the inertia of the links",
    "torque": "links colored by torque over its limit",
}
"""Layers of the view and their meanings."""

DEFAULT_LAYERS = frozenset({"panel", "path", "contacts"})

WINDOW_LAYERS = ("path", "contacts", "frames", "inertia", "torque")
"""Layers of PyBullet's window; numbers and curves are for pictures and the page."""

RENDERER_NAMES = ("auto", "egl", "software")

FRAME_RATE = 30.0
"""Frames per second of a film."""

WINDOW, PICTURE = "1280x800", "640x480"
"""Pixels of a window and of a picture."""


def direction(name: str) -> tuple[float, float]:
    """Look up yaw and pitch [deg] of a view direction by name."""
    if name not in VIEW_ANGLES:
        raise UnknownNameError.from_names("camera", name, VIEW_ANGLES)
    return VIEW_ANGLES[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSettings:
    """Settings of the view of an animation."""

    width: int = 640
    """Width of the picture [pixels]."""
    height: int = 480
    """Height of the picture [pixels]."""
    camera: str = "iso"
    """A key of `VIEW_ANGLES`."""
    layers: frozenset[str] = DEFAULT_LAYERS
    """Keys of `LAYERS`."""
    joint: str | None = None
    """Joint whose curves are shown; None for the first."""
    renderer: str = "auto"
    """One of `RENDERER_NAMES`; ``auto`` is EGL if there is a graphics card."""

    def __post_init__(self) -> None:
        if not all(
            MIN_PICTURE_SIZE <= side <= MAX_PICTURE_SIZE for side in (self.width, self.height)
        ):
            raise OptionError(
                f"a size of {self.width}x{self.height} is not usable; width and height must lie in "
                f"{MIN_PICTURE_SIZE} to {MAX_PICTURE_SIZE} pixels"
            )
        direction(self.camera)
        for name in sorted(self.layers - set(LAYERS)):
            raise UnknownNameError.from_names("layer", name, LAYERS)
        if self.renderer not in RENDERER_NAMES:
            raise UnknownNameError.from_names("renderer", self.renderer, RENDERER_NAMES)

    def joint_of(self, robot: "Robot") -> int:
        """Find the index of the joint with curves; raise for an unknown name."""
        if self.joint is None:
            return 0
        if self.joint not in robot.joint_names:
            raise UnknownNameError.from_names("joint", self.joint, robot.joint_names)
        return robot.joint_names.index(self.joint)


def require_speed(speed: float) -> None:
    """Raise `OptionError` for an unusable speed [seconds of motion per second]."""
    if not 0.01 <= speed <= 100.0:
        raise OptionError(f"a speed of {speed:g} is not usable; give 0.01 to 100")
