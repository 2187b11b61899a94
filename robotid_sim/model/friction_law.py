r"""Friction laws of a simulated plant, which may differ from the friction of its model.

Every law is a case of one formula, per joint, with numbers relative to the robot's own Fv and Fc,
so that an option means the same for a large and for a small joint:

.. math::
    F(\dot q, l) = F_v^\pm \dot q + F_o + \left[ F_c^\pm + (F_s^\pm - F_c^\pm)\,
        e^{-|\dot q / v_s|^\delta} + \mu |l| \right] \sigma(\dot q)

with coefficients that depend on the direction, the Stribeck velocity :math:`v_s`, its shape
:math:`\delta`, the share :math:`\mu` of the transmitted torque l, and for sigma either the smooth
sign :math:`\tanh(\dot q / \epsilon)` or the set-valued sign, which lets a joint stick [1]_.
Laws with further terms are in `robotid_sim.model.term_laws`.

A fit uses the friction model of its Robot: the difference from the law is model error.

References
----------
.. [1] Armstrong-Helouvry, Dupont, Canudas de Wit (1994), "A survey of models, analysis tools and
   compensation methods for the control of machines with friction", Automatica 30(7), 1083-1138,
   doi:10.1016/0005-1098(94)90209-7.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D, readonly
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.robot import Robot
from robotid_sim.registry import Alias, Registry
from robotid_sim.renamed import RENAMED_KINDS, upgrade_word

COLUMNS = (
    "Fv_forward",
    "Fv_backward",
    "Fc_forward",
    "Fc_backward",
    "Fs_forward",
    "Fs_backward",
    "velocity",
    "shape",
    "load",
    "Fo",
    "eps",
)
"""Coefficients of the formula above for a joint, by direction."""

POSITIVE_COLUMNS = ("velocity", "shape", "eps")
"""Coefficients that must be positive."""

SIGNED_COLUMNS = ("Fo",)
"""Coefficients of either sign; all others are 0 or more, for friction dissipates energy."""


class FrictionLaw(ABC):
    """The friction of a plant; a frozen dataclass of options relative to the robot's Fv and Fc."""

    sticks: ClassVar[bool] = False
    """Whether the sign is set-valued, so that joints can stand still under torque."""

    @abstractmethod
    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients of every joint in the order of `COLUMNS`, shape (n, 11).

        All are finite and 0 or more, those of `POSITIVE_COLUMNS` above 0; `Fo` has either sign. See
        `robotid_sim.model.friction_law.evaluate_coefficients`.
        """

    def terms(self, robot: Robot) -> tuple[JointTerm, ...]:
        """Return further joint terms of the plant."""
        del robot
        return ()

    @property
    def duration(self) -> float:
        """Time after which the joints have warmed up [s]."""
        return np.inf


def coefficients_of(robot: Robot, **columns: ArrayLike) -> Float2D:
    """Return the coefficients of the robot's own friction with some columns replaced.

    Parameters
    ----------
    robot : Robot
        The robot.
    **columns : array_like
        New values by name of the column, one per joint or one for all.

    Returns
    -------
    rows : ndarray, shape (n, 11)
        Columns are `COLUMNS`.
    """
    rows = np.empty((robot.dof, len(COLUMNS)))
    for j, joint in enumerate(robot.joints):
        law = joint.friction
        rows[j] = (law.Fv, law.Fv, *(4 * (law.Fc,)), 1.0, 1.0, 0.0, law.Fo, law.eps)
    for name, values in columns.items():
        rows[:, COLUMNS.index(name)] = values
    return rows


def column(coefficients: Float2D, name: str) -> Float1D:
    """Return one column of coefficients by name.

    Parameters
    ----------
    coefficients : ndarray, shape (n, 11)
        Result of `coefficients_of`.
    name : str
        One of `COLUMNS`.

    Returns
    -------
    values : ndarray, shape (n,)
        One per joint.
    """
    return np.asarray(coefficients[:, COLUMNS.index(name)])


def require(law: FrictionLaw, name: str, low: float, high: float) -> None:
    """Require an option of a law within its bounds.

    Parameters
    ----------
    law : FrictionLaw
        A dataclass.
    name : str
        Name of a field of `law`.
    low, high : float
        Bounds, both included.

    Raises
    ------
    OptionError
        If the option lies outside the bounds, or is not a number.
    """
    value = getattr(law, name)
    if not low <= value <= high:  # also refuses nan
        raise OptionError(
            f"friction law {type(law).__name__}: {name} must lie in [{low:g}, {high:g}], got "
            f"{value}"
        )


MAX_LOAD_SHARE = 0.5
"""Maximum load share: above it, the friction torque may have no solution, or two."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothCoulomb(FrictionLaw):
    r"""The model's own friction, :math:`F_v \dot q + F_c \tanh(\dot q / \epsilon) + F_o`."""

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        return coefficients_of(robot)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Stribeck(FrictionLaw):
    r"""Stribeck friction: it decreases from the static to the Coulomb level with velocity.

    :math:`[F_c + (F_s - F_c) e^{-|\dot q / v_s|^\delta}] \tanh(\dot q / \epsilon) + F_v \dot q`
    [1]_. The velocity should be several times the robot's eps; else the smooth sign hides the peak.

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
    """Exponent delta: 2 is a Gaussian; 0.5 to 1 decrease more slowly."""

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


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Asymmetric(FrictionLaw):
    r"""Direction-dependent friction: :math:`F^\pm = (1 \pm a) F`.

    Common with gravity on worm and spur gears, and where preload differs; a fit with one Fc puts
    the difference into its offset and into gravity.
    """

    coulomb: float = 0.1
    """Relative difference a of Fc: larger forward, smaller backward."""
    viscous: float = 0.1
    """Relative difference a of Fv."""

    def __post_init__(self) -> None:
        require(self, "coulomb", -1.0, 1.0)
        require(self, "viscous", -1.0, 1.0)

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        columns: dict[str, ArrayLike] = {}
        for side, sign in (("forward", 1.0), ("backward", -1.0)):
            Fc = [(1.0 + sign * self.coulomb) * joint.friction.Fc for joint in robot.joints]
            columns[f"Fc_{side}"] = columns[f"Fs_{side}"] = Fc
            columns[f"Fv_{side}"] = [
                (1.0 + sign * self.viscous) * joint.friction.Fv for joint in robot.joints
            ]
        return coefficients_of(robot, **columns)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDependent(FrictionLaw):
    r"""Coulomb friction that increases with the transmitted torque, :math:`F_c + \mu |l|`.

    The form is that of [1]_, found by [2]_ also on an industrial arm; l is the torque that the gear
    passes on to the bodies, :math:`M \ddot q + C \dot q + g`, without rotor and friction. Friction
    and acceleration depend on one another and are solved together.

    References
    ----------
    .. [1] Hamon, Gautier, Garrec (2010), "Dynamic identification of robots with a Coulomb friction
       model depending on load and velocity", IEEE/RSJ Int. Conf. on Intelligent Robots and Systems,
       doi:10.1109/IROS.2010.5649189.
    .. [2] Bittencourt, Gunnarsson (2012), "Static friction in a robot joint: modeling and
       identification of load and temperature effects", J. Dynamic Systems, Measurement, and
       Control 134(5), 051013, doi:10.1115/1.4006589.
    """

    share: float = 0.05
    """Friction mu per transmitted torque [N m per N m]; a few percent, as the loss of a gear."""

    def __post_init__(self) -> None:
        require(self, "share", 0.0, MAX_LOAD_SHARE)

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        return coefficients_of(robot, load=self.share)


@document_attributes
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
    """Static friction Fs over Fc, at least 1; the velocities have an effect only above 1."""


FRICTION_LAWS: Registry[FrictionLaw] = Registry(
    "friction law",
    FrictionLaw,
    {
        "asymmetric": "robotid_sim.model.friction_law:Asymmetric",
        "cogging": "robotid_sim.model.term_laws:Cogging",
        "coupled-joints": "robotid_sim.model.term_laws:CoupledJoints",
        "curved-viscous": "robotid_sim.model.term_laws:CurvedViscous",
        "transition-velocity": "robotid_sim.model.term_laws:TransitionVelocity",
        "load-dependent": "robotid_sim.model.friction_law:LoadDependent",
        "offset": "robotid_sim.model.term_laws:Offset",
        "position-dependent": "robotid_sim.model.term_laws:PositionDependent",
        "presliding": "robotid_sim.model.term_laws:Presliding",
        "smooth-coulomb": "robotid_sim.model.friction_law:SmoothCoulomb",
        "spring": "robotid_sim.model.term_laws:SpringLoaded",
        "stick-slip": "robotid_sim.model.friction_law:StickSlip",
        "stribeck": "robotid_sim.model.friction_law:Stribeck",
        "warming": "robotid_sim.model.term_laws:Warming",
    },
    alias=lambda name: (
        Alias(upgrade_word(name, RENAMED_KINDS), {}) if name in RENAMED_KINDS else None
    ),
)


def describe_law(law: FrictionLaw) -> dict[str, Any]:
    """Return name and options of a law, for the provenance of a log."""
    assert is_dataclass(law)
    return {"law": FRICTION_LAWS.name_of(law), **asdict(law)}


def evaluate_coefficients(law: FrictionLaw, robot: Robot) -> Float2D:
    """Evaluate the coefficients of a law, possibly a user's, and check them.

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
        If the coefficients have a wrong shape, are not finite, or have a sign that adds energy or
        for which the formula is not defined.
    """
    owner = f"friction law '{FRICTION_LAWS.name_of(law)}'"
    shape = (robot.dof, len(COLUMNS))
    try:
        rows = readonly(law.coefficients(robot), shape=shape, name="coefficients").copy()
    except ShapeError as error:
        raise OptionError(
            f"{owner}: {error}; coefficients(robot) must return a finite row per joint, columns "
            f"{', '.join(COLUMNS)}"
        ) from error
    for name in COLUMNS:
        values, sign = column(rows, name), "positive" if name in POSITIVE_COLUMNS else "0 or more"
        is_invalid = values <= 0.0 if name in POSITIVE_COLUMNS else values < 0.0
        if name not in SIGNED_COLUMNS and is_invalid.any():
            j = int(np.argmax(is_invalid))
            raise OptionError(
                f"{owner}: {name} of joint '{robot.joint_names[j]}' is {values[j]:g}; it must be "
                f"{sign}, correct coefficients(robot)"
            )
    return rows
