"""Sliding-mode control with a boundary layer, and its gains from a specification."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D, readonly
from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Reference

THINNEST_LAYER = 1e-3
"""Boundary layer of a joint that needs no torque along the path [rad/s or m/s]."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopGains:
    """Gains of a tracking loop, computed once from the nominal model and shared by all models."""

    bandwidth: float
    """Bandwidth of the error dynamics, lambda [rad/s]."""
    inertia: Float1D
    """Mean diagonal of the mass matrix along the path, M_jj [kg m^2], shape (n,)."""
    gain: Float1D
    """Switching gain K [N m], shape (n,)."""
    layer: Float1D
    """Boundary layer Phi [rad/s], shape (n,)."""
    error_bound: Float1D
    """Tracking error under the stated disturbance, D / (M_jj lambda^2) [rad], shape (n,)."""
    limited: tuple[str, ...] = ()
    """Joints whose error bound stays above the one wanted at the largest bandwidth."""

    def __post_init__(self) -> None:
        for name in ("inertia", "gain", "layer", "error_bound"):
            value = readonly(getattr(self, name), shape=(None,), name=name)
            object.__setattr__(self, name, value)

    @classmethod
    def from_specification(
        cls,
        nominal: Robot,
        path: Reference,
        *,
        rate: float,
        disturbance: float = 0.4,
        uncertainty: float = 0.3,
        error: float = 0.01,
        bandwidth: float = 50.0,
    ) -> Self:
        """Return gains for a path, a disturbance bound and a wanted error.

        Inside the layer the law is linear, ``K s / Phi``; with ``Phi = K / (M_jj lambda)`` the
        sliding variable decays at lambda, and a slow disturbance D leaves ``s = D / (M_jj
        lambda)`` and the error ``D / (M_jj lambda^2)``. K outweighs the disturbance and the error
        of the model. The bandwidth is raised from its start until the error bound holds on every
        joint, but not above a twentieth of the sample rate.

        Parameters
        ----------
        nominal : Robot
            The model that the gains come from.
        path : Reference
            Motion that the loop shall track.
        rate : float
            Control rate [Hz].
        disturbance : float
            Disturbance bound over the peak torque of each joint along the path.
        uncertainty : float
            Error of the model over that peak torque.
        error : float
            Wanted tracking error under the disturbance [rad or m].
        bandwidth : float
            Smallest bandwidth [rad/s].
        """
        positive = all(value > 0.0 for value in (rate, error, bandwidth))
        if not (positive and disturbance >= 0.0 and uncertainty >= 0.0):
            raise OptionError("rate, error and bandwidth must be positive, bounds not negative")
        peak = np.abs(joint_torque(nominal, path.q, path.dq, path.ddq)).max(axis=0)
        inertia = np.diagonal(mass_matrix(nominal, path.q), axis1=1, axis2=2).mean(axis=0)
        bound = disturbance * peak
        highest = 2.0 * np.pi * rate / 20.0
        wanted = float(np.sqrt((bound / (inertia * error)).max()))
        chosen = min(max(bandwidth, wanted), highest)
        reached = bound / (inertia * chosen**2)
        gain = 1.2 * (disturbance + uncertainty) * peak
        gain = np.maximum(gain, inertia * chosen * THINNEST_LAYER)
        missed = reached > error * (1.0 + 1e-9)
        return cls(
            bandwidth=chosen,
            inertia=inertia,
            gain=gain,
            layer=gain / (inertia * chosen),
            error_bound=reached,
            limited=tuple(n for n, m in zip(nominal.joint_names, missed, strict=True) if m),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SlidingMode(Controller):
    r"""Sliding-mode control with a boundary layer.

    .. math:: e = q_d - q, \quad s = \dot e + \lambda e, \quad
        \tau = \hat M (\ddot q_d + \lambda \dot e) + \hat C (\dot q_d + \lambda e) + \hat g
        + \hat f(\dot q_d + \lambda e) + K\, \mathrm{sat}(s / \Phi)

    With C of the Christoffel symbols, :math:`V = s^T M s / 2` falls outside the layer as long as K
    outweighs disturbance and model error on every joint [1]_, sec. 9.2. Friction is compensated at
    :math:`\dot q_d + \lambda e = \dot q + s`: friction that grows with velocity then only helps V
    to fall, and holds at standstill too, where compensation at the measured velocity chatters and
    at the reference velocity leaves the joint stuck.

    References
    ----------
    .. [1] Slotine, Li (1991), "Applied Nonlinear Control", Prentice Hall, sec. 7.2 and 9.2.
    """

    model: Robot
    gains: LoopGains
    _phi: Float1D = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.gains.gain.size != self.model.dof:
            raise OptionError(
                f"the gains are for {self.gains.gain.size} joints, '{self.model.name}' has "
                f"{self.model.dof}"
            )
        object.__setattr__(self, "_phi", self.model.parameters())

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        gains, model = self.gains, self.model
        e, de = setpoint.q - q, setpoint.dq - dq
        s = de + gains.bandwidth * e
        a_r = setpoint.ddq + gains.bandwidth * de
        v_r = setpoint.dq + gains.bandwidth * e
        modelled = kernels.reference_torque(
            model.geometry, model.gravity, self._phi, model.eps, q, dq, v_r, a_r
        )
        sat = np.minimum(np.maximum(s / gains.layer, -1.0), 1.0)
        return np.asarray(modelled + gains.gain * sat)
