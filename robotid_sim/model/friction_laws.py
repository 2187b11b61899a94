"""Friction of the simulated plant where it is not that of its model: laws that any robot can take.

All are cases of the formula in `robotid_sim.model.friction_law`, with numbers relative to the
robot's own Fv and Fc, or have terms beside it, see `robotid_sim.model.term_laws`.
"""

from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import ArrayLike, Float2D, readonly
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.friction_law import (
    COLUMNS,
    POSITIVE_COLUMNS,
    SIGNED_COLUMNS,
    FrictionLaw,
    coefficients_of,
    column,
    require,
)
from robotid_sim.model.robot import Robot
from robotid_sim.registry import Registry

LARGEST_LOAD_SHARE = 0.5
"""Above it, friction that carries its own torque may have no solution, or two."""


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothCoulomb(FrictionLaw):
    r"""The model's own friction, :math:`F_v \dot q + F_c \tanh(\dot q / \epsilon) + F_o`."""

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        return coefficients_of(robot)


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class Stribeck(FrictionLaw):
    r"""Dry friction that falls from a static level to the Coulomb level with rising velocity.

    :math:`[F_c + (F_s - F_c) e^{-|\dot q / v_s|^\delta}] \tanh(\dot q / \epsilon) + F_v \dot q`
    [1]_. The velocity should be some times the robot's eps, or the smooth sign hides the peak.

    References
    ----------
    .. [1] Armstrong-Helouvry, Dupont, Canudas de Wit (1994), "A survey of models, analysis tools
       and compensation methods for the control of machines with friction", Automatica 30(7),
       1083-1138, doi:10.1016/0005-1098(94)90209-7.
    """

    static: float = 1.3
    """Static friction Fs over Fc, at least 1."""
    velocity: float = 0.1
    """Stribeck velocity of revolute joints [rad/s]."""
    prismatic_velocity: float = 0.03
    """Stribeck velocity of prismatic joints [m/s]."""
    shape: float = 2.0
    """Exponent delta: 2 is a Gaussian; 0.5 to 1 fall more slowly."""

    def __post_init__(self) -> None:
        require(self, "static", 1.0, 10.0)
        require(self, "velocity", 1e-6, 1e3)
        require(self, "prismatic_velocity", 1e-6, 1e3)
        require(self, "shape", 0.5, 4.0)

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        Fs = [self.static * joint.friction.Fc for joint in robot.joints]
        velocity = np.where(robot.prismatic, self.prismatic_velocity, self.velocity)
        return coefficients_of(
            robot, Fs_forward=Fs, Fs_backward=Fs, velocity=velocity, shape=self.shape
        )


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class Asymmetric(FrictionLaw):
    r"""Other friction forward than backward: :math:`F^\pm = (1 \pm a) F`.

    Common with gravity on worm and spur gears, and where preload differs; a fit with one Fc puts
    the difference into its offset and into gravity.
    """

    coulomb: float = 0.1
    """Share a by which Fc is larger forward and smaller backward."""
    viscous: float = 0.1
    """Share a of Fv."""

    def __post_init__(self) -> None:
        require(self, "coulomb", -1.0, 1.0)
        require(self, "viscous", -1.0, 1.0)

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        columns: dict[str, ArrayLike] = {}
        for side, sign in (("forward", 1.0), ("backward", -1.0)):
            dry = [(1.0 + sign * self.coulomb) * joint.friction.Fc for joint in robot.joints]
            columns[f"Fc_{side}"] = columns[f"Fs_{side}"] = dry
            columns[f"Fv_{side}"] = [
                (1.0 + sign * self.viscous) * joint.friction.Fv for joint in robot.joints
            ]
        return coefficients_of(robot, **columns)


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDependent(FrictionLaw):
    r"""Coulomb friction that grows with the transmitted torque, :math:`F_c + \mu |l|`.

    The form of [1]_, found by [2]_ on an industrial arm too; l is the torque that the gear passes
    on to the bodies, :math:`M \ddot q + C \dot q + g`, without rotor and friction. Friction and
    acceleration depend on one another and are solved together.

    References
    ----------
    .. [1] Hamon, Gautier, Garrec (2010), "Dynamic identification of robots with a dry friction
       model depending on load and velocity", IEEE/RSJ Int. Conf. on Intelligent Robots and Systems,
       doi:10.1109/IROS.2010.5649189.
    .. [2] Bittencourt, Gunnarsson (2012), "Static friction in a robot joint: modeling and
       identification of load and temperature effects", J. Dynamic Systems, Measurement, and
       Control 134(5), 051013, doi:10.1115/1.4006589.
    """

    share: float = 0.05
    """Friction mu per transmitted torque [N m per N m]; some percent, the loss of a gear."""

    def __post_init__(self) -> None:
        require(self, "share", 0.0, LARGEST_LOAD_SHARE)

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        return coefficients_of(robot, load=self.share)


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class StickSlip(Stribeck):
    r"""True Coulomb friction: a joint sticks until its static friction is overcome.

    :math:`F \in F_v \dot q + F_o + g(\dot q) \,\mathrm{Sgn}(\dot q)` with :math:`\mathrm{Sgn}(0) =
    [-1, 1]` and g as in `Stribeck`, solved implicitly for all joints at once in every sub-step
    (time stepping of Moreau [1]_): a joint that sticks stands still, exactly.

    References
    ----------
    .. [1] Stewart (2000), "Rigid-body dynamics with friction and impact", SIAM Review 42(1), 3-39,
       doi:10.1137/S0036144599360110.
    """

    sticks: ClassVar[bool] = True
    static: float = 1.0
    """Static friction Fs over Fc, at least 1; the velocities count above it."""


FRICTION_LAWS: Registry[FrictionLaw] = Registry(
    "friction law",
    FrictionLaw,
    {
        "asymmetric": "robotid_sim.model.friction_laws:Asymmetric",
        "cogging": "robotid_sim.model.term_laws:Cogging",
        "coupled-joints": "robotid_sim.model.term_laws:CoupledJoints",
        "curved-viscous": "robotid_sim.model.term_laws:CurvedViscous",
        "friction-velocity": "robotid_sim.model.term_laws:FrictionVelocity",
        "load-dependent": "robotid_sim.model.friction_laws:LoadDependent",
        "offset": "robotid_sim.model.term_laws:Offset",
        "position-dependent": "robotid_sim.model.term_laws:PositionDependent",
        "presliding": "robotid_sim.model.term_laws:Presliding",
        "smooth-coulomb": "robotid_sim.model.friction_laws:SmoothCoulomb",
        "spring": "robotid_sim.model.term_laws:SpringLoaded",
        "stick-slip": "robotid_sim.model.friction_laws:StickSlip",
        "stribeck": "robotid_sim.model.friction_laws:Stribeck",
        "warming": "robotid_sim.model.term_laws:Warming",
    },
)


def describe_law(law: FrictionLaw) -> dict[str, Any]:
    """Return name and options of a law, for the provenance of a log."""
    assert is_dataclass(law)
    return {"law": FRICTION_LAWS.name_of(law), **asdict(law)}


def checked_coefficients(law: FrictionLaw, robot: Robot) -> Float2D:
    """Return the coefficients of a law, which may be one of a user, if a joint can have them.

    Parameters
    ----------
    law : FrictionLaw
        The law.
    robot : Robot
        The plant.

    Returns
    -------
    rows : ndarray, shape (n, 11)
        Columns are `robotid_sim.model.friction_law.COLUMNS`; a copy.

    Raises
    ------
    OptionError
        If they have another shape, are not finite, or have a sign that gives energy or that the
        formula is not defined for.
    """
    what = f"friction law '{FRICTION_LAWS.name_of(law)}'"
    shape = (robot.dof, len(COLUMNS))
    try:
        rows = readonly(law.coefficients(robot), shape=shape, name="coefficients").copy()
    except ShapeError as error:
        raise OptionError(
            f"{what}: {error}; coefficients(robot) returns a finite row a joint with the columns "
            f"{', '.join(COLUMNS)}"
        ) from error
    for name in COLUMNS:
        values, least = column(rows, name), "positive" if name in POSITIVE_COLUMNS else "0 or more"
        bad = values <= 0.0 if name in POSITIVE_COLUMNS else values < 0.0
        if name not in SIGNED_COLUMNS and bad.any():
            j = int(np.argmax(bad))
            raise OptionError(
                f"{what}: {name} of joint '{robot.joint_names[j]}' is {values[j]:g}; it must be "
                f"{least}, so correct coefficients(robot)"
            )
    return rows
