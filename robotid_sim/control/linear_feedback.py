"""Laws with linear feedback: computed torque, PD with gravity compensation, PID.

It also has the bandwidth of the loop that follows an excitation.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.control.controller import ModelController, Setpoint
from robotid_sim.control.gains import LoopGains, check_gains, require_size
from robotid_sim.control.sliding_mode import limit_windup
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import effective_inertia, gravity_torque, mass_matrix
from robotid_sim.dynamics.running_terms import RunningTerms
from robotid_sim.errors import OptionError
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, eq=False)
class ComputedTorque(ModelController):
    r"""Computed torque with friction feedforward.

    .. math:: \tau = \hat M (\ddot q_d + k_d \dot e + k_p e) + I (k_d \dot e + k_p e)
        + \hat C \dot q + \hat g + \hat f(\dot q_d), \qquad e = q_d - q .

    Friction is taken at the reference velocity, which has no noise and no chatter around zero. I is
    zero unless given.
    With :math:`k_d = 2 \sqrt{k_p}` the error is critically damped at :math:`\sqrt{k_p}` [rad/s].

    References
    ----------
    .. [1] Siciliano, Sciavicco, Villani, Oriolo (2009), "Robotics: Modelling, Planning and
       Control", Springer, sec. 8.5.2.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> with rid.Plant(setup.cell.plant) as engine:
    ...     log = rid.rollout(engine, rid.ComputedTorque(nominal), path)
    >>> error = log.q - path(log.t).q
    >>> bool(np.abs(error).max() < 0.1)
    True
    """

    model: Robot
    """Model of the robot."""
    kp: float = 2500.0
    """Position gain [1/s^2]."""
    kd: float = 100.0
    """Velocity gain [1/s]."""
    feedback_inertia: Float1D | None = None
    """Inertia I added to the model's in the feedback [kg m^2 or kg], shape (n,)."""
    _phi: Float1D = field(init=False, repr=False)
    _drive: Float2D = field(init=False, repr=False)
    """Rows Fv, Fc, Fo, Ia of the model."""
    _terms: RunningTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (self.kp >= 0.0 and self.kd >= 0.0):
            raise OptionError(f"gains must not be negative: kp = {self.kp:g}, kd = {self.kd:g}")
        freeze(self, (self.model.dof,), "feedback_inertia", optional=True)
        phi = self.model.parameters()
        drive = phi[parameters.INERTIAL_COUNT * self.model.dof :].reshape(self.model.dof, -1).T
        object.__setattr__(self, "_phi", phi)
        object.__setattr__(self, "_drive", drive)
        object.__setattr__(self, "_terms", RunningTerms(self.model, self.model.terms))

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with both poles of the error at the bandwidth."""
        require_size(gains, model)
        return cls(model, gains.bandwidth**2, 2.0 * gains.bandwidth)

    def reset(self) -> None:
        """Reset the state of presliding friction."""
        self._terms.reset()

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; see `Controller`."""
        command = setpoint.ddq + self.kd * (setpoint.dq - dq) + self.kp * (setpoint.q - q)
        model = (self.model.geometry, self.model.gravity, self._phi)
        rigid = kernels.inverse_dynamics(*model, q[None], dq[None], command[None])[0]
        Fv, Fc, Fo, Ia = self._drive
        friction = Fv * setpoint.dq + Fc * np.tanh(setpoint.dq / self.model.eps) + Fo
        if self._terms:
            friction += self._terms(q, setpoint.dq, command, t)
        if self.feedback_inertia is not None:
            friction += self.feedback_inertia * (command - setpoint.ddq)
        return np.asarray(rigid + Ia * command + friction)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class GravityPd(ModelController):
    r"""Proportional-derivative control with gravity compensation.

    .. math:: \tau = \hat g(q) + K_p (q_d - q) + K_d (\dot q_d - \dot q)

    Stable for setpoints with any positive gains [1]_; on a moving reference it lags.

    References
    ----------
    .. [1] Takegaki, Arimoto (1981), "A new feedback method for dynamic control of manipulators",
       J. Dynamic Systems, Measurement, and Control, doi:10.1115/1.3139651.
    """

    uses_feedforward: ClassVar[bool] = False

    model: Robot
    kp: Float1D
    """Position gains [N m/rad or N/m], shape (n,)."""
    kd: Float1D
    """Velocity gains [N m s/rad or N s/m], shape (n,)."""

    def __post_init__(self) -> None:
        check_gains(self, zero=True)

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with both poles of a joint alone at the bandwidth."""
        require_size(gains, model)
        stiffness = gains.inertia * gains.bandwidth**2
        return cls(model, stiffness, 2.0 * gains.inertia * gains.bandwidth)

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque; `t` is not used."""
        del t
        gravity = gravity_torque(self.model, q)
        return np.asarray(gravity + self.kp * (setpoint.q - q) + self.kd * (setpoint.dq - dq))


@document_attributes
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pid(ModelController):
    r"""Independent-joint PID control with anti-windup.

    .. math:: \tau = K_p e + K_i \int e\, dt + K_d \dot e, \qquad e = q_d - q

    Gravity, friction and the other joints are disturbances to it, and steady ones leave no error.
    A joint alone, of inertia I, is stable if :math:`K_i I < K_p K_d` (Routh). `from_gains` puts
    the three poles of such a joint at one rate :math:`\beta`: :math:`K_p = 3 I \beta^2`,
    :math:`K_i = I \beta^3`, :math:`K_d = 3 I \beta`, nine times below this limit. Coupled joints
    with I on the diagonal of their mass matrix have at most n times I, so that up to eight joints
    are stable. The
    rate is the bandwidth, or less where the damping :math:`3 \beta` is more than the control rate
    admits. While a drive is at its limit, the integral of its joint stands still [1]_: see
    `limit_windup`.

    References
    ----------
    .. [1] Astrom, Hagglund (1995), "PID Controllers: Theory, Design, and Tuning", 2nd ed.,
       Instrument Society of America, ch. 3.
    """

    uses_feedforward: ClassVar[bool] = False

    model: Robot
    """The robot; only its number of joints and its torque limits are used."""
    kp: Float1D
    """Position gains [N m/rad or N/m], shape (n,)."""
    ki: Float1D
    """Integral gains [N m/(rad s) or N/(m s)], shape (n,)."""
    kd: Float1D
    """Velocity gains [N m s/rad or N s/m], shape (n,)."""
    rate: float
    """Control rate [Hz]."""
    _integral: Float1D = field(init=False, repr=False)
    """Torque of the integral [N m]."""

    def __post_init__(self) -> None:
        check_gains(self, zero=True)
        object.__setattr__(self, "_integral", np.zeros(self.model.dof))

    @classmethod
    def from_gains(cls, model: Robot, gains: LoopGains) -> Self:
        """Return the law with the three poles of a joint alone at the bandwidth."""
        require_size(gains, model)
        pole = min(gains.bandwidth, gains.max_decay_rate / 3.0)
        return cls(
            model=model,
            kp=3.0 * gains.inertia * pole**2,
            ki=gains.inertia * pole**3,
            kd=3.0 * gains.inertia * pole,
            rate=gains.rate,
        )

    def reset(self) -> None:
        """Forget the integral."""
        self._integral[:] = 0.0

    def __call__(self, t: float, q: Float1D, dq: Float1D, setpoint: Setpoint) -> Float1D:
        """Return the torque, and integrate over one control step; `t` is not used."""
        del t
        e = setpoint.q - q
        tau = self._integral + self.kp * e + self.kd * (setpoint.dq - dq)
        step = limit_windup(self.ki / self.rate * e, tau, self.model.limits.effort)
        self._integral[:] += step
        return np.asarray(tau)


MIN_BANDWIDTH = 50.0
"""Minimum bandwidth, enough with heavy rotors or links [rad/s]."""

MAX_BANDWIDTH_RATIO = 0.125
"""Largest bandwidth over the control rate [rad]."""

NOMINAL_ERROR_SHARE = 0.2
"""Relative error of gravity and Coulomb friction of a nominal model."""

VELOCITY_SHARE = 0.05
"""Velocity error over the velocity limit; designs leave a tenth unused."""

POSE_COUNT = 200


def excitation_bandwidth(nominal: Robot, rate: float) -> float:
    r"""Return the bandwidth of computed torque for an excitation [rad/s].

    If the acceleration of a model is suddenly wrong by a, a critically damped loop
    of bandwidth :math:`\omega` is off in velocity by at most :math:`a / (e\, \omega)`. Light links
    without rotors have a large a: a fifth of :math:`M^{-1} g` at the worst of random poses, or of
    the effect of Coulomb friction on the joint alone, which reverses with the joint.

    The control rate is in Hz.
    """
    q = _poses(nominal)
    gravity_acceleration = np.linalg.solve(
        mass_matrix(nominal, q), gravity_torque(nominal, q)[..., None]
    )
    friction = np.array([joint.friction.Fc for joint in nominal.joints])
    friction_acceleration = friction / (_min_inertia(nominal, q) + friction_inertia(nominal, rate))
    acceleration_error = NOMINAL_ERROR_SHARE * np.maximum(
        np.abs(gravity_acceleration[..., 0]).max(axis=0), friction_acceleration
    )
    needed = float((acceleration_error / (np.e * VELOCITY_SHARE * nominal.limits.velocity)).max())
    return max(MIN_BANDWIDTH, min(needed, MAX_BANDWIDTH_RATIO * rate))


def friction_inertia(nominal: Robot, rate: float) -> Float1D:
    r"""Compute the missing inertia of joints with friction and without rotor [kg m^2 or kg].

    Over a control step h viscous friction is like an inertia :math:`h F_v`. If a joint has less
    inertia, gains in proportion to it are negligible beside its friction, whose model errors then
    move the joint; the control rate admits gains for a total inertia of h :math:`F_v`.

    The control rate is in Hz. The inertia, shape (n,), is added to that of the model; zero for
    other joints.
    """
    viscous = np.array([joint.friction.Fv for joint in nominal.joints])
    missing = viscous / rate - _min_inertia(nominal, _poses(nominal))
    return np.asarray(np.maximum(missing, 0.0))


def _poses(nominal: Robot) -> Float2D:
    return random_states(nominal)[0][:POSE_COUNT]


def _min_inertia(nominal: Robot, q: Float2D) -> Float1D:
    return np.asarray(effective_inertia(nominal, q).min(axis=0))
