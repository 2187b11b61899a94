"""How an animation is shown: what a recording and the window have in common."""

from dataclasses import dataclass

from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.viewer.camera import direction

LAYERS = ("panel", "path", "frames", "inertia", "torque")
"""What can be shown beside the robot."""

DEFAULT_LAYERS = frozenset({"panel", "path"})

RENDERERS = ("auto", "egl", "software")

SMALLEST, LARGEST = 16, 4096  # [pixels]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSettings:
    """How an animation is shown."""

    width: int = 640
    """[pixels]"""
    height: int = 480
    """[pixels]"""
    camera: str = "iso"
    """A key of `camera.DIRECTIONS`."""
    layers: frozenset[str] = DEFAULT_LAYERS
    """Keys of LAYERS."""
    renderer: str = "auto"
    """One of RENDERERS; ``auto`` takes EGL where a graphics card draws for it."""

    def __post_init__(self) -> None:
        if not all(SMALLEST <= side <= LARGEST for side in (self.width, self.height)):
            raise OptionError(
                f"a size of {self.width}x{self.height} is not usable; width and height must lie in "
                f"{SMALLEST} to {LARGEST} pixels"
            )
        direction(self.camera)
        for name in sorted(self.layers - set(LAYERS)):
            raise UnknownNameError(f"unknown layer '{name}'; known: {', '.join(LAYERS)}")
        if self.renderer not in RENDERERS:
            names = ", ".join(RENDERERS)
            raise UnknownNameError(f"unknown renderer '{self.renderer}'; known: {names}")
