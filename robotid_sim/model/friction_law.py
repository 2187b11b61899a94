r"""What a law of the friction of a simulated plant is, and the formula that its numbers go into.

Every law is a case of one formula, per joint, with its numbers derived from the robot's own Fv and
Fc, so that the shares below mean the same on a large and on a small joint:

.. math::
    F(\dot q, l) = F_v^\pm \dot q + F_o + \left[ F_c^\pm + (F_s^\pm - F_c^\pm)\,
        e^{-|\dot q / v_s|^\delta} + \mu |l| \right] \sigma(\dot q)

with coefficients that depend on the direction, the Stribeck velocity :math:`v_s`, its shape
:math:`\delta`, the share :math:`\mu` of the transmitted torque l, and for sigma either the smooth
sign :math:`\tanh(\dot q / \epsilon)` or the set-valued one, which lets a joint stick [1]_.

A fit keeps the friction model of its Robot: what a law adds to it is model error.

References
----------
.. [1] Armstrong-Helouvry, Dupont, Canudas de Wit (1994), "A survey of models, analysis tools and
   compensation methods for the control of machines with friction", Automatica 30(7), 1083-1138,
   doi:10.1016/0005-1098(94)90209-7.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.robot import Robot

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
"""Coefficients of a joint, in this order: the formula above, once for each direction."""

POSITIVE_COLUMNS = ("velocity", "shape", "eps")
"""Those that the formula divides by or needs above zero at rest."""

SIGNED_COLUMNS = ("Fo",)
"""Those of either sign; all others are 0 or more, for friction takes energy."""


class FrictionLaw(ABC):
    """The friction of a plant; a frozen dataclass of options relative to the robot's Fv and Fc."""

    sticks: ClassVar[bool] = False
    """Whether the sign is set-valued, so that joints can stand still under torque."""

    @abstractmethod
    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients of every joint in the order of `COLUMNS`, shape (n, 11).

        All are finite and 0 or more, those of `POSITIVE_COLUMNS` above 0; `Fo` has either sign. See
        `robotid_sim.model.friction_laws.checked_coefficients`.
        """

    def terms(self, robot: Robot) -> tuple[JointTerm, ...]:
        """Return what the plant has beside these coefficients."""
        del robot
        return ()

    @property
    def duration(self) -> float:
        """Time after which what warms up has done so [s]."""
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
        As of `coefficients_of`.
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
        A field of it.
    low, high : float
        Bounds, both allowed.

    Raises
    ------
    OptionError
        If the option lies beyond, or is not a number.
    """
    value = getattr(law, name)
    if not low <= value <= high:  # also refuses nan
        raise OptionError(
            f"friction law {type(law).__name__}: {name} must lie in [{low:g}, {high:g}], got "
            f"{value}"
        )
