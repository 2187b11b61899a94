"""The specification that all control laws take their gains from."""

import logging
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.dynamics.dynamics import effective_inertia, joint_torque, mass_matrix
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value
from robotid_sim.trajectory.reference import Reference

_log = logging.getLogger(__name__)

DEFAULT_BANDWIDTH = 50.0
"""Smallest bandwidth of a loop, if none is asked for [rad/s]."""
DEFAULT_TRACKING_ERROR = 0.01
"""Tracking error to keep under the disturbance, if none is asked for [rad or m]."""
DEFAULT_DISTURBANCE = 0.4
"""Disturbance bound over the peak torque of the path, if none is asked for."""

MIN_BOUNDARY_LAYER = 1e-3
"""Boundary layer of a joint that needs no torque along the path [rad/s or m/s]."""

MAX_SHARE_PER_STEP = 1.0
"""Largest share of the sliding variable that one control step removes without overshoot."""

POSE_COUNT = 200
"""Approximate number of poses of a path for the coupling of the joints."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class LoopGains:
    """Gains of a tracking loop, computed once from the nominal model and shared by all models."""

    bandwidth: float
    """Bandwidth of the error dynamics, lambda [rad/s]."""
    inertia: Float1D
    """Mean diagonal of the mass matrix along the path, M_jj [kg m^2], shape (n,).

    Less for joints whose coupling makes them too light, see `admissible_inertia`.
    """
    gain: Float1D
    """Switching gain K [N m], shape (n,)."""
    layer: Float1D
    """Boundary layer Phi [rad/s], shape (n,)."""
    error_bound: Float1D
    """Tracking error under the disturbance bound, D / (M_jj lambda^2) [rad], shape (n,)."""
    disturbance: Float1D
    """Disturbance bound D, including the coupling of other joints [N m], shape (n,)."""
    rate: float
    """Control rate [Hz]."""
    coupling: float = 1.0
    """Largest eigenvalue of M^-1 diag(M_jj) along the path: the decay rate of the fastest motion
    of all joints together over that of a joint alone."""
    limited: tuple[str, ...] = ()
    """Joints whose error bound is above the requested one."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "inertia", "gain", "layer", "error_bound", "disturbance")
        for name in ("bandwidth", "rate", "coupling"):
            require_positive(name, getattr(self, name))

    @property
    def max_decay_rate(self) -> float:
        """Highest decay rate of the sliding variable that the control rate admits [1/s].

        Over a control step no joint alone may lose more than a quarter of s, and the fastest motion
        of all joints no more than half, which tolerates one sample of delay too. It is never less
        than the bandwidth, which is checked on its own.
        """
        return max(self.bandwidth, self.rate * min(0.25, 0.5 / self.coupling))

    @property
    def default_decay_rate(self) -> float:
        """Decay rate of the sliding variable in laws that can choose it [1/s].

        Twice the bandwidth, so that s is gone before the error, if the control rate admits it.
        """
        return min(2.0 * self.bandwidth, self.max_decay_rate)

    @classmethod
    def from_specification(
        cls,
        nominal: Robot,
        path: Reference,
        *,
        rate: float,
        disturbance: float = DEFAULT_DISTURBANCE,
        uncertainty: float = 0.3,
        error: float = DEFAULT_TRACKING_ERROR,
        bandwidth: float = DEFAULT_BANDWIDTH,
        frequency: float = 1.0,
    ) -> Self:
        """Return gains for a path, a disturbance bound and a wanted error.

        Inside the layer the law is linear, ``K s / Phi``; with ``Phi = K / (M_jj lambda)`` the
        sliding variable decays at lambda, and a slow disturbance D leaves ``s = D / (M_jj
        lambda)`` and the error ``D / (M_jj lambda^2)``, where D is what a joint feels of the
        torques on all joints. K outweighs D and the error of the model. The bandwidth is raised
        from its smallest value until the disturbance of each joint alone causes at most the wanted
        error there, but
        not above a twentieth of the sample rate. Joints whose loop would then still
        be too stiff for the rate get less stiffness and a wider error bound.

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
        frequency : float
            Highest frequency of the disturbance [Hz]; decides how much of it passes from joint to
            joint.

        Returns
        -------
        gains : LoopGains
            One per joint.

        Raises
        ------
        OptionError
            If a number is negative, or zero where it must be positive.
        """
        sensible = all(value > 0.0 for value in (rate, error, bandwidth, frequency))
        if not (sensible and disturbance >= 0.0 and uncertainty >= 0.0):
            raise OptionError(
                "rate, error, bandwidth and frequency must be positive, "
                "disturbance and uncertainty not negative"
            )
        peak = np.abs(joint_torque(nominal, path.q, path.dq, path.ddq)).max(axis=0)
        inertia = np.diagonal(mass_matrix(nominal, path.q), axis1=1, axis2=2).mean(axis=0)
        direct = disturbance * peak
        highest = 2.0 * np.pi * rate / 20.0
        needed = float(np.sqrt((direct / (inertia * error)).max()))
        chosen = min(max(bandwidth, needed), highest)
        if bandwidth > highest:
            _log.warning(
                "control.bandwidth of %g rad/s is reduced to %.4g, the maximum at a rate of %g Hz",
                *(bandwidth, highest, rate),
            )
        fastest = MAX_SHARE_PER_STEP * rate / chosen
        inertia, coupling = admissible_inertia(nominal, path.q, inertia, fastest)
        felt = _combine_slow_torques(nominal, path.q, direct, inertia, chosen, frequency)
        bound = np.maximum(direct, felt)
        reached = bound / (inertia * chosen**2)
        gain = np.maximum(1.2 * (bound + uncertainty * peak), inertia * chosen * MIN_BOUNDARY_LAYER)
        missed = reached > error * (1.0 + 1e-9)
        return cls(
            bandwidth=chosen,
            inertia=inertia,
            gain=gain,
            layer=gain / (inertia * chosen),
            error_bound=reached,
            disturbance=bound,
            rate=rate,
            coupling=coupling,
            limited=tuple(n for n, m in zip(nominal.joint_names, missed, strict=True) if m),
        )


def _combine_slow_torques(
    nominal: Robot,
    q: Float2D,
    direct: Float1D,
    inertia: Float1D,
    bandwidth: float,
    frequency: float,
) -> Float1D:
    r"""Return the slow torque on a single joint that is equivalent to those on all joints.

    Inside the layer :math:`M \dot s + I \lambda s = d`: a joint that gives way accelerates the
    others. Of sinusoidal torques of amplitudes d and any phases the largest error of joint i is
    :math:`\sum_j |(\mathrm{i} \omega M + I \lambda)^{-1}|_{ij}\, d_j / |\lambda + \mathrm{i}
    \omega|`.
    """
    omega = 2.0 * np.pi * frequency
    M = mass_matrix(nominal, q[:: max(1, len(q) // POSE_COUNT)])
    response = np.abs(np.linalg.inv(1j * omega * M + np.diag(inertia * bandwidth)))
    error = (response @ direct).max(axis=0) / abs(bandwidth + 1j * omega)
    return np.asarray(error * inertia * bandwidth**2)


def admissible_inertia(
    nominal: Robot, q: Float2D, inertia: Float1D, largest: float
) -> tuple[Float1D, float]:
    r"""Return the inertia for the gains, and its coupling.

    Torques :math:`I \lambda s` with diagonal I let s decay at the eigenvalues of :math:`M^{-1}
    I \lambda`. Where joints move one another, as those of parallel axes without rotors, the
    largest is many times lambda. Then I is cut to a multiple of the inertia that a joint feels
    with the others free, :math:`I_j \le \theta / [M^{-1}]_{jj}`, as large as `largest` admits;
    the trace bounds the eigenvalue, so :math:`\theta` = `largest` / n always does.

    Positions have shape (N, n), along the path. The coupling is the largest eigenvalue of
    :math:`M^{-1} I` along it.
    """
    poses = q[:: max(1, len(q) // POSE_COUNT)]
    M = mass_matrix(nominal, poses)
    lightest = effective_inertia(nominal, poses).min(axis=0)

    def coupling(share: float) -> tuple[Float1D, float]:
        cut = np.minimum(inertia, share * lightest)
        root = np.sqrt(cut)
        return cut, float(1.0 / np.linalg.eigvalsh(M / root[:, None] / root)[:, 0].min())

    rigid = coupling(np.inf)
    if rigid[1] <= largest:
        return rigid
    low, high = largest / inertia.size, float((inertia / lightest).max())
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if coupling(middle)[1] <= largest else (low, middle)
    return coupling(low)


def require_size(gains: LoopGains, model: Robot) -> None:
    """Raise `OptionError` for gains of another number of joints than a model has."""
    if gains.gain.size != model.dof:
        raise OptionError(
            f"the gains are for {gains.gain.size} joints, '{model.name}' has {model.dof}"
        )


def require_positive(name: str, value: float) -> None:
    """Raise `OptionError` for a number, by its name, that is not positive and finite."""
    if not 0.0 < value < np.inf:
        raise OptionError(f"{name} is {value}; give a positive number")


def check_gains(law: Any, *, zero: bool = False) -> None:
    """Check the options of a law: positive numbers, and arrays of one per joint of its model.

    The arrays are frozen. Raises `OptionError` if a gain or a number is not finite, negative, or
    zero unless that is allowed.
    """
    for field in fields(law):
        name = field.name
        if field.type is float:
            require_positive(name, getattr(law, name))
        elif field.init and name != "model":
            freeze(law, (law.model.dof,), name)
            gains = getattr(law, name)
            wrong = gains < 0.0 if zero else gains <= 0.0
            if wrong.any():
                j, allowed = int(wrong.argmax()), "not be negative" if zero else "be positive"
                joint = law.model.joint_names[j]
                raise OptionError(f"gains {name} must {allowed}: {gains[j]:g} for joint '{joint}'")
