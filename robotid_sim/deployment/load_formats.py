"""A load in the form in which controllers take it: mass, center of mass, inertia."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.errors import OptionError


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A rigid load at the tip."""

    mass: float
    """Mass [kg]."""
    com: Float1D
    """Center of mass in the tip frame [m], shape (3,)."""
    inertia: Float2D
    """Inertia about the center of mass in the axes of the tip [kg m^2], shape (3, 3)."""

    def __post_init__(self) -> None:
        freeze(self, (3,), "com")
        freeze(self, (3, 3), "inertia")
        if not self.mass > 0.0:
            raise OptionError(f"a load for a controller has a positive mass, not {self.mass:g} kg")


def _round(values: Float1D, digits: int = 6) -> list[float]:
    return [float(f"{value:.{digits}g}") + 0.0 for value in np.ravel(values)]


def _write_urscript(load: Load) -> str:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = load.inertia
    tensor = np.array([xx, yy, zz, xy, xz, yz])
    return (
        f"set_target_payload({load.mass:.6g}, {_round(load.com)}, {_round(tensor)})\n"
        "# before 5.10: "
        f"set_payload({load.mass:.6g}, {_round(load.com)})\n"
    )


def _write_franka(load: Load) -> str:
    """Write the end effector of Franka's Desk; matrices are column by column."""
    content = {
        "mass": load.mass,
        "centerOfMass": _round(load.com),
        "inertia": _round(load.inertia.T),
        "transformation": np.eye(4).ravel().tolist(),
    }
    return json.dumps(content, indent=1) + "\n"


def _write_kuka(load: Load) -> str:
    """Write the load data of KRL: [kg], [mm], principal axes as A, B, C [deg], [kg m^2]."""
    moments, axes = np.linalg.eigh(load.inertia)
    axes[:, 2] *= np.linalg.det(axes)  # a right-handed frame
    angles = Rotation.from_matrix(axes).as_euler("ZYX", degrees=True)
    x, y, z = _round(1e3 * load.com)
    a, b, c = _round(angles)
    jx, jy, jz = _round(moments)
    return (
        f"LOAD_DATA[1] = {{M {load.mass:.6g}, CM {{X {x}, Y {y}, Z {z}, A {a}, B {b}, C {c}}}, "
        f"J {{X {jx}, Y {jy}, Z {jz}}}}}\n"
    )


def _write_inertial(load: Load) -> str:
    """Write the inertial element of a link in the tip frame."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = load.inertia
    origin = " ".join(map(repr, _round(load.com)))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    cells = zip(names, _round(np.array([xx, xy, xz, yy, yz, zz])), strict=True)
    tensor = " ".join(f'{name}="{value!r}"' for name, value in cells)
    return (
        f'<inertial>\n  <origin xyz="{origin}" rpy="0 0 0"/>\n  <mass value="{load.mass:.6g}"/>\n'
        f"  <inertia {tensor}/>\n</inertial>\n"
    )


LOAD_FORMATS: Mapping[str, Callable[[Load], str]] = {
    "franka-endeffector": _write_franka,
    "kuka-load": _write_kuka,
    "ros2-inertia": _write_inertial,
    "ur-payload": _write_urscript,
}
"""Writers of a load by the name of the format."""
