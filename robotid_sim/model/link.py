"""A movable body of the chain."""

from dataclasses import dataclass

from robotid_sim.arrays import Float1D, freeze
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A movable body: its inertial parameters about the frame of its URDF link."""

    name: str
    phi: Float1D
    """``m mx my mz Ixx Ixy Iyy Ixz Iyz Izz`` about the link frame, shape (10,)."""
    fixed: tuple[str, ...] = ()
    """URDF links fused to it through fixed joints."""
    locked: tuple[str, ...] = ()
    """URDF links fused to it behind joints locked at zero."""
    shapes: tuple[GeometryShape, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, (10,), "phi", what=f"link '{self.name}': ")
