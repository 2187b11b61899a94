"""Layout of the full parameter vector.

For a chain of n movable bodies the vector `phi` has 14 n entries: ten inertial parameters of every
link about its link frame (Pinocchio's order), then four friction and drive parameters of every
joint. All other modules use the names and slices of this module.
"""

from collections.abc import Sequence

from robotid_sim.errors import OptionError

INERTIAL_SYMBOLS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Mass [kg], first moments m*c [kg m], inertia about the link origin [kg m^2]."""

JOINT_SYMBOLS = ("Fv", "Fc", "Fo", "Ia")
"""Viscous, Coulomb and offset friction [N m s/rad, N m, N m], reflected rotor inertia [kg m^2]."""

INERTIAL_COUNT = len(INERTIAL_SYMBOLS)
JOINT_COUNT = len(JOINT_SYMBOLS)


def size(dof: int) -> int:
    """Return the number of parameters of a chain with `dof` joints."""
    return dof * (INERTIAL_COUNT + JOINT_COUNT)


def inertial_slice(link: int) -> slice:
    """Return the slice of the ten inertial parameters of movable body `link` (from 0)."""
    return slice(INERTIAL_COUNT * link, INERTIAL_COUNT * (link + 1))


def joint_slice(joint: int, dof: int) -> slice:
    """Return the slice of the four parameters of joint `joint` (from 0)."""
    start = INERTIAL_COUNT * dof + JOINT_COUNT * joint
    return slice(start, start + JOINT_COUNT)


def owners(dof: int) -> tuple[int, ...]:
    """Return the index (from 0) of the body or joint that every parameter belongs to."""
    links = [k for k in range(dof) for _ in INERTIAL_SYMBOLS]
    return tuple(links + [k for k in range(dof) for _ in JOINT_SYMBOLS])


def names(dof: int) -> tuple[str, ...]:
    """Return the symbols in order: ``m1 mx1 … Izz1 m2 …`` then ``Fv1 Fc1 Fo1 Ia1 Fv2 …``."""
    links = [f"{symbol}{k + 1}" for k in range(dof) for symbol in INERTIAL_SYMBOLS]
    joints = [f"{symbol}{k + 1}" for k in range(dof) for symbol in JOINT_SYMBOLS]
    return tuple(links + joints)


def units(prismatic: Sequence[bool]) -> tuple[str, ...]:
    """Return the SI unit of every parameter, in the order of `names`."""
    inertial = ("kg",) + ("kg m",) * 3 + ("kg m^2",) * 6
    rotary = ("N m s/rad", "N m", "N m", "kg m^2")
    linear = ("N s/m", "N", "N", "kg")
    joints = [unit for p in prismatic for unit in (linear if p else rotary)]
    return inertial * len(prismatic) + tuple(joints)


def columns(dof: int, joint_parameters: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of all inertial parameters and of the named joint parameters.

    `joint_parameters` are some of ``Fv, Fc, Fo, Ia``: the joint columns of a fit. Raises
    `OptionError` if a name is unknown.
    """
    for symbol in joint_parameters:
        if symbol not in JOINT_SYMBOLS:
            raise OptionError(
                f"unknown joint parameter '{symbol}'; known: {', '.join(JOINT_SYMBOLS)}"
            )
    chosen = [JOINT_SYMBOLS.index(symbol) for symbol in JOINT_SYMBOLS if symbol in joint_parameters]
    tail = [joint_slice(j, dof).start + k for j in range(dof) for k in chosen]
    return tuple(range(INERTIAL_COUNT * dof)) + tuple(tail)
