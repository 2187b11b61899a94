"""The preprocessor that looks at a log before it decides how to treat it."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion, gated
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.delay import estimate_delay, without_delay
from robotid_sim.preprocess.faults import THRESHOLD, find_faults, repaired
from robotid_sim.preprocess.fourier_fit import FourierFit
from robotid_sim.preprocess.misfit import RowFit
from robotid_sim.preprocess.periods import Periods, periods_of, repeats
from robotid_sim.preprocess.preprocessor import Preprocessor, RowPreprocessor
from robotid_sim.preprocess.rts import RtsSmoother, likelihood_corner
from robotid_sim.registry import INTERNAL

METHODS = ("rts", "fourier-fit")


@dataclass(frozen=True, kw_only=True, eq=False)
class Adaptive(RowPreprocessor):
    r"""RTS smoother or Fourier fit, with outlier mask and delay compensation where needed.

    1. Samples that are lost or far off are found; if there are some, positions are interpolated
       over them and their torques are shut out of the rows, see `find_faults`.
    2. The smoother's corners and the encoder noise follow from the innovation likelihood.
    3. The delay of the torque is estimated and, if significant, taken off, see `estimate_delay`.
    4. If the periods repeat up to encoder noise (one after the first cannot show it and gets the
       smoother), smoother and Fourier fit explain the mean torque of the periods by the nominal
       model's regressor, in the same rows. The fit is taken only if its
       :math:`\sum_j \log \hat\sigma_j` is lower by more than `margin`: a motion that is really a
       short series gains by far more, and engine data with friction reversals lose.

    `tuned` does all that and says so in `message`. What is decided then stays, except that faults
    are looked for in every log anew, and that a log without a second period gets the smoother.

    References
    ----------
    .. [1] Rauch, Tung, Striebel (1965), "Maximum likelihood estimates of linear dynamic systems",
       AIAA Journal, doi:10.2514/3.3166 (the smoother).
    .. [2] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234 (the series).
    """

    method: str | None = None
    """``rts`` or ``fourier-fit``; None to decide."""
    delay: float | None = None
    """Delay of the torque to take off [s], 0 for none; None to estimate it."""
    outliers: float = THRESHOLD
    """Robust standard deviations beyond which a value is an outlier; 0 to look for none."""
    margin: float = 1.0
    """By how much the sum of logarithms must be lower for the Fourier fit."""
    smoother: RtsSmoother = field(default_factory=RtsSmoother)
    """The smoother."""
    series: FourierFit = field(default_factory=FourierFit)
    """The Fourier fit."""
    message: str = field(default="", metadata=INTERNAL)
    """What was decided and why, after `tuned`."""

    def __post_init__(self) -> None:
        if self.method not in (None, *METHODS):
            raise OptionError(f"unknown method '{self.method}'; known: {', '.join(METHODS)}")
        sizes = (self.delay or 0.0, self.outliers, self.margin)
        if not np.isfinite(sizes).all() or self.outliers < 0.0:
            raise OptionError(
                "an adaptive preprocessor needs finite numbers and a threshold of outliers of 0 or "
                f"more; got delay {self.delay}, outliers {self.outliers}, margin {self.margin}"
            )

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the motion of the log as decided."""
        tuned = self.tuned(log, robot)
        assert tuned.delay is not None
        smoother, series = replace(tuned.smoother, rows=self.rows), tuned.series
        use: Preprocessor = smoother
        if tuned.method == "fourier-fit" and _periods(log) is not None:
            use = replace(series, rows=self.rows)
        if not self.outliers:
            return use(without_delay(log, tuned.delay), robot)
        faults = find_faults(log, self.outliers)
        motion = use(without_delay(repaired(log, faults), tuned.delay), robot)
        assert motion.row_filter is not None
        moved = np.roll(faults.sound, -round(tuned.delay / log.dt), axis=0)
        return replace(motion, row_filter=gated(motion.row_filter, moved))

    def tuned(self, log: Log, robot: Robot) -> Self:
        """Return the preprocessor with all decisions made for `log` and reported in `message`."""
        if self.message:
            return self
        said = []
        if self.outliers:
            faults = find_faults(log, self.outliers)
            log = repaired(log, faults)
            said.append(f"{faults.message}: masked" if faults.any else "no faulty samples")
        smoother, noise = self._smoother(log)
        said.append(_noise_text(log, noise))
        motion = replace(smoother, rows=self.rows)(log, robot)
        delay, text = self._delay(log, motion, robot)
        said.append(text)
        if delay:
            log = without_delay(log, delay)
            motion = replace(smoother, rows=self.rows)(log, robot)
        method, series, text = self._method(log, motion, noise, robot)
        said.append(text)
        return replace(
            self,
            method=method,
            delay=delay,
            smoother=smoother,
            series=series,
            message="; ".join(said),
        )

    def _smoother(self, log: Log) -> tuple[RtsSmoother, Float1D]:
        """Return the tuned smoother and the encoder noise of every joint."""
        by_joint = [likelihood_corner(z, log) for z in log.q.T]
        noise = np.array([std for _, std in by_joint])
        if self.smoother.corners is not None:
            return self.smoother, noise
        corners = tuple(self.smoother.corner_factor * corner for corner, _ in by_joint)
        return replace(self.smoother, corners=corners), noise

    def _delay(self, log: Log, motion: Motion, robot: Robot) -> tuple[float, str]:
        if self.delay is not None:
            return self.delay, f"torque delay given as {self.delay:g} s"
        estimate = estimate_delay(log, motion, robot)
        if estimate.significant:
            return estimate.value, f"torque delay of {estimate.message} taken off"
        return 0.0, f"torque delay of {estimate.message} is not significant"

    def _method(
        self, log: Log, motion: Motion, noise: Float1D, robot: Robot
    ) -> tuple[str, FourierFit, str]:
        """Return the method, the Fourier fit tuned to the log, and the reason."""
        if self.method == "rts":
            return "rts", self.series, "method rts as given"
        periods = _periods(log)
        if self.method == "fourier-fit":
            return self.method, self.series.tuned(log, robot), "method fourier-fit as given"
        if periods is None:
            return "rts", self.series, "method rts, for the log has no periods after a first one"
        same = repeats(log, periods, noise)
        if not same:
            lack = "one period after the first cannot show that the motion repeats"
            why = lack if same is None else "the periods differ by more than noise"
            return "rts", self.series, f"method rts, for {why}"
        series = self.series.tuned(log, robot)
        gap = self._gap(log, periods, motion, series, robot)
        method = "fourier-fit" if gap > self.margin else "rts"
        return method, series, f"method {method}: {self._reason(gap, series, log.dof)}"

    def _reason(self, gap: float, series: FourierFit, dof: int) -> str:
        """Return what was compared and what would have decided otherwise, in words."""
        orders = " ".join(str(order) for order in series.orders or ())
        left, most = (100.0 * np.expm1(-value / dof) for value in (gap, self.margin))
        change = f"{abs(left):.3g} % {'smaller' if gap > 0.0 else 'larger'}"
        return (
            "the motion repeats, so a Fourier series was tried beside the Kalman smoother (rts), "
            f"of {orders} harmonics joint by joint; with it the torques that the model leaves "
            f"unexplained are {change} (mean over the joints), and it is taken if they are more "
            f"than {-most:.3g} % smaller"
        )

    def _gap(
        self, log: Log, periods: Periods, motion: Motion, series: FourierFit, robot: Robot
    ) -> float:
        """Return by how much the Fourier fit lowers the sum of log residual deviations."""
        mean = periods.mean(log.tau_meas)[periods.phase(log.t.size)]
        sums = []
        for state in (motion, replace(series, rows=self.rows)(log, robot)):
            row_fit = RowFit.of(state, robot)
            sums.append(float(np.log(row_fit.noise(row_fit.rows(mean))).sum()))
        return sums[0] - sums[1]


def _periods(log: Log) -> Periods | None:
    """Return the periods of a log, None where it has none that can be used."""
    try:
        return periods_of(log, "adaptive") if log.period is not None else None
    except LogError:
        return None


def _noise_text(log: Log, noise: Float1D) -> str:
    parts = [f"{std:.1e} {unit}" for std, unit in zip(noise, log.joint_units, strict=True)]
    return "encoder noise " + ", ".join(parts)


def smoother_of(preprocessor: Preprocessor) -> RtsSmoother | None:
    """Return the smoother behind a preprocessor, with its rows; None if it has none."""
    if isinstance(preprocessor, RtsSmoother):
        return preprocessor
    if isinstance(preprocessor, Adaptive):
        return replace(preprocessor.smoother, rows=preprocessor.rows)
    return None
