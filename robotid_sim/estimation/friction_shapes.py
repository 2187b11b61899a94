r"""Friction that is linear in some parameters and not in others, joint by joint.

The nonlinear parameters enter as logarithms: they are positive, known to a factor rather than to a
difference, and a step of a search then means the same on every joint.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot


class FrictionShape(ABC):
    """The dry friction of every joint, ``sum_m a_m c_m(dq; x)`` with nonlinear parameters x."""

    linear: ClassVar[tuple[str, ...]]
    """Linear parameters a of a joint [N m]; the first is Fc, the others are new."""
    nonlinear: ClassVar[tuple[str, ...]]
    """Nonlinear parameters of a joint; the first decides whether a joint shows its shape."""
    bounds: ClassVar[tuple[tuple[float, float], ...]]
    """Range of every nonlinear parameter; a speed is relative to `scale`."""
    tried: ClassVar[int] = 0
    """Values of the first nonlinear parameter, over its range, from whose best a search starts."""

    @abstractmethod
    def scale(self, nominal: Robot) -> Float2D:
        """Return the unit of every nonlinear parameter and joint, shape (k, n)."""

    @abstractmethod
    def start(self, nominal: Robot) -> Float2D:
        """Return nonlinear parameters to start from, shape (k, n)."""

    @abstractmethod
    def columns(self, dq: Float2D, values: Float2D, eps: Float1D) -> Float:
        """Return torque per unit of every linear parameter, shape (m, N, n).

        It is that at velocities dq, shape (N, n), with nonlinear parameters `values`, shape (k, n);
        eps, shape (n,), is the velocity of the smooth sign in the nominal model.
        """

    @abstractmethod
    def derivatives(self, dq: Float2D, values: Float2D, eps: Float1D) -> Float:
        """Return what `columns` change by the logarithms of `values`, shape (k, m, N, n)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothSign(FrictionShape):
    r"""The model's own dry friction :math:`F_c \tanh(\dot q / \epsilon)` with epsilon unknown.

    It is searched over four decades: what a file says of it may be any guess, and a search that
    starts where the sign is a ramp, or a step, sees no slope.
    """

    linear = ("Fc",)
    nonlinear = ("eps",)
    bounds = ((1e-3, 10.0),)
    tried = 17

    def scale(self, nominal: Robot) -> Float2D:
        """Return the nominal eps; see `FrictionShape`."""
        return nominal.eps[None]

    start = scale

    def columns(self, dq: Float2D, values: Float2D, eps: Float1D) -> Float:
        """Return the smooth sign; see `FrictionShape`."""
        del eps
        return np.asarray(np.tanh(dq / values[0])[None])

    def derivatives(self, dq: Float2D, values: Float2D, eps: Float1D) -> Float:
        """Return its derivative; see `FrictionShape`."""
        del eps
        ratio = dq / values[0]
        return np.asarray((-ratio * (1.0 - np.tanh(ratio) ** 2))[None, None])


@dataclass(frozen=True, slots=True, kw_only=True)
class StribeckShape(FrictionShape):
    r"""Dry friction :math:`[F_c + F_p e^{-|\dot q / v_s|^\delta}] \tanh(\dot q / \epsilon)`.

    The peak :math:`F_p = F_s - F_c` is what static friction exceeds the Coulomb level by [1]_; the
    velocity is searched in a wide range, and epsilon is that of the nominal model.

    References
    ----------
    .. [1] Armstrong-Helouvry, Dupont, Canudas de Wit (1994), "A survey of models, analysis tools
       and compensation methods for the control of machines with friction", Automatica 30(7),
       1083-1138, doi:10.1016/0005-1098(94)90209-7.
    """

    linear = ("Fc", "Fp")
    nonlinear = ("vs", "delta")
    bounds = ((1.0, 30.0), (0.5, 4.0))

    def scale(self, nominal: Robot) -> Float2D:
        """Return eps and 1; a peak narrower than the smooth sign is hidden by it."""
        return np.array([nominal.eps, np.ones(nominal.dof)])

    def start(self, nominal: Robot) -> Float2D:
        """Return four times eps and a half-way exponent; see `FrictionShape`."""
        return np.array([4.0 * nominal.eps, np.full(nominal.dof, 1.5)])

    def columns(self, dq: Float2D, values: Float2D, eps: Float1D) -> Float:
        """Return the smooth sign and the peak; see `FrictionShape`."""
        sign = np.tanh(dq / eps)
        return np.array([sign, np.exp(-((np.abs(dq) / values[0]) ** values[1])) * sign])

    def derivatives(self, dq: Float2D, values: Float2D, eps: Float1D) -> Float:
        """Return the derivative of the peak; see `FrictionShape`."""
        ratio = np.maximum(np.abs(dq) / values[0], np.finfo(float).tiny)  # log 0 has no derivative
        power = ratio ** values[1]
        slope = np.exp(-power) * power * values[1] * np.tanh(dq / eps)
        zero = np.zeros_like(slope)
        return np.array([[zero, slope], [zero, -slope * np.log(ratio)]])


def checked_start(
    shape: FrictionShape, nominal: Robot, start: Float2D | Sequence[Sequence[float]] | None
) -> Float2D:
    """Return nonlinear parameters to start from, one row a parameter and one column a joint.

    Raises `OptionError` if a given start has another shape or lies outside the bounds.
    """
    if start is None:
        return shape.start(nominal)
    values = np.asarray(start, dtype=float)
    size = (len(shape.nonlinear), nominal.dof)
    lower, upper = limits(shape, nominal)
    if values.shape != size or not ((lower <= values) & (values <= upper)).all():
        names = ", ".join(shape.nonlinear)
        raise OptionError(
            f"a start has {size[0]} rows ({names}) of {size[1]} joints, each within its bounds"
        )
    return values


def limits(shape: FrictionShape, nominal: Robot) -> tuple[Float2D, Float2D]:
    """Return the bounds of the nonlinear parameters, both of shape (k, n)."""
    low, high = np.array(shape.bounds).T[:, :, None] * shape.scale(nominal)
    return low, high
