"""Velocity from encoders: an observer that predicts by a model and corrects by positions."""

from dataclasses import dataclass, field

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.dynamics import not_positive_definite
from robotid_sim.dynamics.running_terms import RunningTerms
from robotid_sim.errors import OptionError, RankDeficientError
from robotid_sim.model.friction_law import coefficients_of
from robotid_sim.model.robot import Robot


@document_attributes
@dataclass(slots=True, eq=False)
class VelocityObserver:
    r"""Extended-state observer of position, velocity and the acceleration missing in the model.

    At every sample the model predicts the state under the torque held since the last sample, and
    the innovation :math:`r = y - \hat q` of the encoder corrects it,

    .. math:: \hat q \leftarrow \hat q + l_1 r, \quad
        \hat{\dot q} \leftarrow \hat{\dot q} + l_2 r, \quad
        \hat d \leftarrow \hat d + l_3 r,

    where d is an acceleration from model error and disturbance, constant between samples [1]_. The
    gains of the critically damped filter place all three poles at :math:`z = e^{-\omega / f}`:
    :math:`l_1 = 1 - z^3`, :math:`l_2 = 1.5 f (1 - z^2)(1 - z)`, :math:`l_3 = f^2 (1 - z)^3` [2]_.
    White position noise of standard deviation sigma causes a velocity noise of about :math:`\sigma
    \omega^{3/2} f^{-1/2}` instead of the :math:`\sqrt 2 \sigma f` of differences. For a lost sample
    there is a prediction without correction.

    References
    ----------
    .. [1] Han (2009), "From PID to active disturbance rejection control", IEEE Trans. Industrial
       Electronics 56(3), doi:10.1109/TIE.2008.2011621.
    .. [2] Brookner (1998), "Tracking and Kalman Filtering Made Easy", Wiley, sec. 1.3: the
       critically damped g-h-k filter.
    """

    model: Robot
    """Model inside the controller."""
    rate: float
    """Sample rate f [Hz]."""
    bandwidth: float
    """Pole omega of the error [rad/s]."""
    _gains: tuple[float, float, float] = field(init=False, repr=False)
    _model_arrays: tuple[Float2D, Float1D, Float1D, Float2D] = field(init=False, repr=False)
    """Arrays of the model for the kernels."""
    _q: Float1D = field(init=False, repr=False)
    _dq: Float1D = field(init=False, repr=False)
    _missed: Float1D = field(init=False, repr=False)
    _ddq: Float1D = field(init=False, repr=False)
    _terms: RunningTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (self.rate > 0.0 and 0.0 < self.bandwidth < np.pi * self.rate):
            raise OptionError(
                f"observer bandwidth {self.bandwidth:g} rad/s must lie in (0, pi times the rate of "
                f"{self.rate:g} Hz)"
            )
        model, f, z = self.model, self.rate, float(np.exp(-self.bandwidth / self.rate))
        self._gains = (1.0 - z**3, 1.5 * f * (1.0 - z**2) * (1.0 - z), f**2 * (1.0 - z) ** 3)
        self._model_arrays = (
            model.geometry,
            model.gravity,
            model.parameters(),
            coefficients_of(model),
        )
        self._terms = RunningTerms(model, model.terms)
        self.reset(model.home, np.zeros(model.dof))

    def reset(self, q: Float1D, dq: Float1D) -> None:
        """Start from a known state."""
        self._terms.reset()
        self._q, self._dq = np.array(q, dtype=float), np.array(dq, dtype=float)
        self._missed, self._ddq = np.zeros(self.model.dof), np.zeros(self.model.dof)

    def correct(self, y: Float1D | None) -> tuple[Float1D, Float1D]:
        """Return the state after the encoder sample `y` [rad or m]; None for a lost sample."""
        if y is not None:
            innovation = y - self._q
            l1, l2, l3 = self._gains
            self._q = self._q + l1 * innovation
            self._dq = self._dq + l2 * innovation
            self._missed = self._missed + l3 * innovation
        return self._q, self._dq

    def predict(self, tau: Float1D) -> None:
        """Predict the next sample under the drive torque `tau` [N m] held until then.

        Raises `RankDeficientError` if the model's mass matrix is not positive definite.
        """
        dt = 1.0 / self.rate
        if self._terms:
            tau = tau - self._terms(self._q, self._dq, self._ddq)
        _, ddq, _, _, sound = kernels.plant_step(*self._model_arrays, self._q, self._dq, tau, dt)
        if not sound:
            raise RankDeficientError(not_positive_definite(self.model))
        self._ddq = ddq
        self._dq = self._dq + dt * (ddq + self._missed)
        self._q = self._q + dt * self._dq
