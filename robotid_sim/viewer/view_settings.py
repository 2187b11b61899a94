"""How an animation is shown: what a recording and the window have in common."""

from dataclasses import dataclass

from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.camera import direction
from robotid_sim.viewer.choices import DEFAULT_LAYERS, LAYERS, RENDERERS

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
    joint: str | None = None
    """Joint whose curves are shown; None for the first."""
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
            raise UnknownNameError.of("layer", name, LAYERS)
        if self.renderer not in RENDERERS:
            raise UnknownNameError.of("renderer", self.renderer, RENDERERS)

    def joint_of(self, robot: Robot) -> int:
        """Return the index of the joint whose curves are shown; raise if there is none such."""
        if self.joint is None:
            return 0
        if self.joint not in robot.joint_names:
            raise UnknownNameError.of("joint", self.joint, robot.joint_names)
        return robot.joint_names.index(self.joint)


def require_speed(speed: float) -> None:
    """Raise `OptionError` if nothing can be seen at a speed [seconds of motion per second]."""
    if not 0.01 <= speed <= 100.0:
        raise OptionError(f"a speed of {speed:g} is not usable; give 0.01 to 100")
