"""Preprocessors that filter the torque: Kalman filter with a model input, five-point cubic."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
import scipy
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.optim import checks
from robotid_sim.preprocess.misfit import RowFit
from robotid_sim.preprocess.preprocessor import RowPreprocessor
from robotid_sim.preprocess.rts import RtsSmoother

KalmanForm = Literal["compensated", "literal", "smoother"]
TorquePrediction = Literal["nominal", "identified"]


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class KalmanTorque(RowPreprocessor):
    r"""Kalman filter on torque with the torque of the nominal model as predicted input.

    The filter returns :math:`F z + (1 - F) u` with its first-order low-pass F: it biases the data
    toward the nominal model. The ``literal`` form fits this biased torque, as the paper does. The
    ``compensated`` form subtracts :math:`(1 - F) u` and passes the regressor through the same F, so
    that the nominal model cancels exactly. ``smoother`` is the literal form of the
    Rauch-Tung-Striebel smoother.

    The input u comes from motion smoothed at the likelihood corner; at the doubled corner, suitable
    for the regressor, its encoder noise would exceed the torque noise. The reduction of noise
    depends on the accuracy of u: with good sensors, the error of the nominal model exceeds their
    noise, and a first fit predicts better.

    References
    ----------
    .. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316,
       doi:10.3390/machines11020316, eq. 25-31.
    """

    form: KalmanForm = "compensated"
    prediction: TorquePrediction = "nominal"
    """Model that predicts u: ``nominal``, or ``identified``, a first fit to the same log."""
    gains: tuple[float, ...] | None = None
    """Kalman gain of every joint; None: that of maximum innovation likelihood."""
    motion: RtsSmoother = field(default_factory=RtsSmoother)
    """Smoother of the motion behind the regressor."""

    def __post_init__(self) -> None:
        checks.one_of("form", self.form, KalmanForm)
        checks.one_of("prediction", self.prediction, TorquePrediction)
        if any(not 0.0 < gain <= 1.0 for gain in self.gains or ()):
            raise OptionError(f"Kalman gains must lie in (0, 1], got {self.gains}")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the smoothed motion with filtered torque, or with filtered rows (compensated)."""
        tuned = self.tune(log, robot)
        assert tuned.gains is not None
        motion = replace(tuned.motion, rows=self.rows)(log, robot)
        if self.form == "compensated":
            assert motion.row_filter is not None
            shared = replace(motion.row_filter, gains=tuned.gains)
            return replace(motion, row_filter=shared)
        return replace(motion, tau=tuned.filter_torque(log, robot))

    def filter_torque(self, log: Log, robot: Robot) -> Float2D:
        """Filter the torque of every joint; both forms share it.

        Parameters
        ----------
        log : Log
            As recorded.
        robot : Robot
            The nominal model.

        Returns
        -------
        tau : ndarray, shape (N, n)
            Torque [N m or N].
        """
        tuned = self.tune(log, robot)
        assert tuned.gains is not None
        apply = rts_torque if self.form == "smoother" else kalman_torque
        u = self.predict_torque(log, robot)
        columns = zip(log.tau_meas.T, u.T, tuned.gains, strict=True)
        return np.column_stack([apply(z, v, gain) for z, v, gain in columns])

    def tune(self, log: Log, robot: Robot) -> Self:
        """Fix corners and gains to those for `log`."""
        if self.gains is not None and len(self.gains) != log.dof:
            raise OptionError(f"{len(self.gains)} Kalman gains for {log.dof} joints")
        if self.gains is not None and self.motion.corners is not None:
            return self
        gains = self.gains
        if gains is None:
            u = self.predict_torque(log, robot)
            gains = tuple(likelihood_gain(z, v) for z, v in zip(log.tau_meas.T, u.T, strict=True))
        return replace(self, gains=gains, motion=self.motion.tune(log, robot))

    def predict_torque(self, log: Log, robot: Robot) -> Float2D:
        """Compute the torque of the model along the motion at the likelihood corner.

        Parameters
        ----------
        log : Log
            As recorded.
        robot : Robot
            The nominal model.

        Returns
        -------
        tau : ndarray, shape (N, n)
            Torque [N m or N].
        """
        tuned = self.motion.tune(log, robot)
        assert tuned.corners is not None
        corners = tuple(corner / self.motion.corner_factor for corner in tuned.corners)
        smooth = replace(tuned, corners=corners, rows=self.rows)(log, robot)
        if self.prediction == "identified":
            return RowFit.from_motion(smooth, robot).torque(smooth, robot, log.tau_meas)
        return joint_torque(robot, smooth.q, smooth.dq, smooth.ddq)


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class FivePointCubic(RowPreprocessor):
    """Five-point cubic smoothing of the torque, with smoothed motion: the reference of [1]_.

    References
    ----------
    .. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316,
       doi:10.3390/machines11020316, fig. 2.
    """

    motion: RtsSmoother = field(default_factory=RtsSmoother)
    """Smoother of the motion behind the regressor."""

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the smoothed motion with the smoothed torque."""
        motion = replace(self.motion, rows=self.rows)(log, robot)
        return replace(motion, tau=five_point_cubic(log.tau_meas))

    def tune(self, log: Log, robot: Robot) -> Self:
        """Fix the corners to those for `log`."""
        if self.motion.corners is not None:
            return self
        return replace(self, motion=self.motion.tune(log, robot))


GAIN_RANGE = (1e-3, 0.999)
"""Range in which gains are searched."""


def kalman_torque(z: Float1D, u: Float1D, gain: float) -> Float1D:
    r"""Compute the steady-state Kalman estimate of a torque with a predicted input.

    The state is the torque, driven by the increments of the predicted torque u, eq. (25)-(31) of
    the source of `KalmanTorque`; the gain is steady here, because the model is time-invariant:

    .. math:: \hat x_k^- = \hat x_{k-1} + u_k - u_{k-1}, \qquad
        \hat x_k = \hat x_k^- + K (z_k - \hat x_k^-) .

    So ``x - u`` is a first-order low-pass F of ``z - u``, and ``x = F z + (1 - F) u``: the filter
    replaces noise by the model.

    Measured torque z and predicted u have shape (N,), and the gain K is in (0, 1]: a small one
    weights the prediction.
    """
    start = [(1.0 - gain) * (z[0] - u[0])]  # begins at the first measurement
    return np.asarray(u + scipy.signal.lfilter([gain], [1.0, gain - 1.0], z - u, zi=start)[0])


def rts_torque(z: Float1D, u: Float1D, gain: float) -> Float1D:
    """Compute the Rauch-Tung-Striebel estimate for the model of `kalman_torque`."""
    forward = kalman_torque(z, u, gain) - u
    # x_s(k) = x(k) + (1 - K) (x_s(k+1) - x^-(k+1)), and x^-(k+1) = x(k) once u is taken out
    backward = scipy.signal.lfilter(
        [gain], [1.0, gain - 1.0], forward[::-1], zi=[(1.0 - gain) * forward[-1]]
    )[0]
    return np.asarray(u + backward[::-1])


def likelihood_gain(z: Float1D, u: Float1D) -> float:
    """Find the gain of maximum innovation likelihood, which gives Q / R = K^2 / (1 - K).

    In the steady state the innovations have one variance, so that the likelihood is maximal where
    their mean square is minimal.
    """

    def cost(logit: float) -> float:
        gain = 1.0 / (1.0 + np.exp(-logit))
        before = kalman_torque(z, u, gain)[:-1] + np.diff(u)
        return float(((z[1:] - before) ** 2).mean())

    low, high = (float(np.log(g / (1.0 - g))) for g in GAIN_RANGE)
    best = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-2})
    return float(1.0 / (1.0 + np.exp(-best.x)))


def five_point_cubic(z: Float2D) -> Float2D:
    """Smooth a signal by five-point cubics along its first axis.

    A cubic is fitted to five neighbors and evaluated at the middle one; the first and last two
    samples use the first and last five neighbors.
    """
    columns = np.vander(np.arange(-2.0, 3.0), 4)
    fit = columns @ np.linalg.pinv(columns)  # rows: value of the cubic at each of the five samples
    smooth = sum(fit[2, k] * z[k : len(z) - 4 + k] for k in range(5))
    return np.concatenate([fit[:2] @ z[:5], np.asarray(smooth), fit[3:] @ z[-5:]])
