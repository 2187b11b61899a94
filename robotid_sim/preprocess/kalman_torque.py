"""Preprocessors that filter the torque: Kalman filter with model input, five-point cubic."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.misfit import RowFit
from robotid_sim.preprocess.preprocessor import RowPreprocessor
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.preprocess.torque_filters import (
    five_point_cubic,
    kalman_torque,
    likelihood_gain,
    rts_torque,
)

KalmanForm = Literal["compensated", "literal", "smoother"]
TorquePrediction = Literal["nominal", "identified"]


@dataclass(frozen=True, kw_only=True, eq=False)
class KalmanTorque(RowPreprocessor):
    r"""Kalman filter on torque with the torque of the nominal model as predicted input.

    The filter returns :math:`F z + (1 - F) u` with its first-order low-pass F: it pulls the data to
    the nominal model. The ``literal`` form fits that, as the paper does, and is biased. The
    ``compensated`` form takes :math:`(1 - F) u` off again and passes the regressor through the same
    F, so that the nominal model cancels exactly. ``smoother`` is the literal form of the
    Rauch-Tung-Striebel smoother.

    The input u comes from motion smoothed at the likelihood corner; at the doubled corner, which is
    right for the regressor, it would carry more encoder noise than the torque itself. How far the
    noise goes down depends on how far u can be trusted: where sensors are good, the error of the
    nominal model is larger than their noise, and a first fit predicts better.

    References
    ----------
    .. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316,
       doi:10.3390/machines11020316, eq. 25-31.
    """

    form: KalmanForm = "compensated"
    prediction: TorquePrediction = "nominal"
    """Model behind u: ``nominal``, or ``identified``, a first fit of the log itself."""
    gains: tuple[float, ...] | None = None
    """Kalman gain of every joint, if not by innovation likelihood."""
    motion: RtsSmoother = field(default_factory=RtsSmoother)
    """Smoother of the motion behind the regressor."""

    def __post_init__(self) -> None:
        if self.form not in ("compensated", "literal", "smoother"):
            raise OptionError(f"unknown form '{self.form}'; known: compensated, literal, smoother")
        if self.prediction not in ("nominal", "identified"):
            raise OptionError(f"unknown prediction '{self.prediction}'; known: nominal, identified")
        if any(not 0.0 < gain <= 1.0 for gain in self.gains or ()):
            raise OptionError(f"Kalman gains must lie in (0, 1], got {self.gains}")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the smoothed motion with the filtered torque, or with the shared filter."""
        tuned = self.tuned(log, robot)
        assert tuned.gains is not None
        motion = replace(tuned.motion, rows=self.rows)(log, robot)
        if self.form == "compensated":
            assert motion.row_filter is not None
            shared = replace(motion.row_filter, gains=tuned.gains)
            return replace(motion, row_filter=shared)
        return replace(motion, tau=tuned.filtered(log, robot))

    def filtered(self, log: Log, robot: Robot) -> Float2D:
        """Return the filtered torque of every joint, shape (N, n); both forms share it."""
        tuned = self.tuned(log, robot)
        assert tuned.gains is not None
        apply = rts_torque if self.form == "smoother" else kalman_torque
        u = self.predicted(log, robot)
        columns = zip(log.tau_meas.T, u.T, tuned.gains, strict=True)
        return np.column_stack([apply(z, v, gain) for z, v, gain in columns])

    def tuned(self, log: Log, robot: Robot) -> Self:
        """Return the filter with corners and gains fixed to those it chooses for `log`."""
        if self.gains is not None and len(self.gains) != log.dof:
            raise OptionError(f"{len(self.gains)} Kalman gains for {log.dof} joints")
        if self.gains is not None and self.motion.corners is not None:
            return self
        gains = self.gains
        if gains is None:
            u = self.predicted(log, robot)
            gains = tuple(likelihood_gain(z, v) for z, v in zip(log.tau_meas.T, u.T, strict=True))
        return replace(self, gains=gains, motion=self.motion.tuned(log, robot))

    def predicted(self, log: Log, robot: Robot) -> Float2D:
        """Return the torque of the model on motion at the likelihood corner, shape (N, n)."""
        tuned = self.motion.tuned(log, robot)
        assert tuned.corners is not None
        corners = tuple(corner / self.motion.corner_factor for corner in tuned.corners)
        smooth = replace(tuned, corners=corners, rows=self.rows)(log, robot)
        if self.prediction == "identified":
            return RowFit.of(smooth, robot).torque(smooth, robot, log.tau_meas)
        return joint_torque(robot, smooth.q, smooth.dq, smooth.ddq)


@dataclass(frozen=True, kw_only=True, eq=False)
class FivePointCubic(RowPreprocessor):
    """Five-point cubic smoothing of the torque, beside smoothed motion: what [1]_ compares with.

    References
    ----------
    .. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316,
       doi:10.3390/machines11020316, fig. 2.
    """

    motion: RtsSmoother = field(default_factory=RtsSmoother)
    """Smoother of the motion behind the regressor."""

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the smoothed motion with the smoothed torque."""
        motion = replace(self.motion, rows=self.rows)(log, robot)
        return replace(motion, tau=five_point_cubic(log.tau_meas))

    def tuned(self, log: Log, robot: Robot) -> Self:
        """Return the preprocessor with its corners fixed to those it chooses for `log`."""
        if self.motion.corners is not None:
            return self
        return replace(self, motion=self.motion.tuned(log, robot))
