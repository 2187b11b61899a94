"""The preprocessor that chooses its steps by the log.

It also sets the low-pass of every joint's rows to the band that a model explains.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import scipy

from robotid_sim.arrays import Bool2D, Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion, add_gate
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.delay import estimate_delay, estimate_remaining_delay, remove_delay
from robotid_sim.preprocess.errors_in_variables import ErrorsInVariables
from robotid_sim.preprocess.faults import OUTLIER_THRESHOLD, Faults, find_faults, repair_log
from robotid_sim.preprocess.misfit import RowFit, standard_torque_of
from robotid_sim.preprocess.periods import FourierFit
from robotid_sim.preprocess.preprocessor import Preprocessor, RowPreprocessor, Rows
from robotid_sim.preprocess.rts import RtsSmoother, likelihood_corner
from robotid_sim.registry import INTERNAL_FIELD
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread

SHARED, BY_JOINT = "shared", "by-joint"

METHOD_NAMES = ("errors-in-variables", "fourier-fit", "rts")

MIN_ENCODER_NOISE = 1e-6
"""Minimum encoder noise that is reported [rad or m]; below, the log was smoothed before."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class Adaptive(RowPreprocessor):
    r"""Masks outliers and corrects the delay if needed, then estimates motion and torque jointly.

    1. Lost samples and outliers are detected; positions are interpolated over them and their
       torques are excluded from the rows, see `find_faults`.
    2. The smoother's corners and the encoder noise follow from the innovation likelihood.
    3. Rows are low-passed as configured, or per joint in the band that a model explains, see
       `rows_by_joint`.
    4. The torque delay is estimated and, if significant, corrected, see `estimate_delay`.
    5. Motion and parameters of a model are estimated in turn, see `ErrorsInVariables`, starting
       from the smoothed motion. A significant delay is then refined, see
       `estimate_remaining_delay`. Other methods stop at the smoother, or fit a Fourier series.

    `tune` does all this and reports it in `message`. The decisions are then fixed, except that
    faults are detected in every log.

    References
    ----------
    .. [1] Rauch, Tung, Striebel (1965), "Maximum likelihood estimates of linear dynamic systems",
       AIAA Journal, doi:10.2514/3.3166 (the smoother).
    .. [2] Olsen, Swevers, Verdonck (2002), "Maximum likelihood identification of a dynamic robot
       model: implementation issues", Int. J. Robotics Research 21(2),
       doi:10.1177/027836402760475379 (motion and parameters in turn).

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> motion = rid.Adaptive()(log, nominal)
    >>> motion.ddq.shape == log.q.shape
    True
    """

    method: str = "errors-in-variables"
    """``errors-in-variables``, ``fourier-fit`` or ``rts``."""
    delay: float | None = None
    """Torque delay to correct [s], 0 for none; None to estimate it."""
    low_pass: str = SHARED
    """``shared``: all joints have the configured cut-off of the rows; ``by-joint``: the cut-off of
    every joint follows from the log."""
    outliers: float = OUTLIER_THRESHOLD
    """Robust standard deviations beyond which a value is an outlier; 0 for no detection."""
    smoother: RtsSmoother = field(default_factory=RtsSmoother)
    """The smoother."""
    series: FourierFit = field(default_factory=FourierFit)
    """The Fourier fit."""
    errors_in_variables: ErrorsInVariables = field(default_factory=ErrorsInVariables)
    """The estimate of motion and torque together."""
    message: str = field(default="", metadata=INTERNAL_FIELD)
    """Decisions and reasons, after `tune`."""

    def __post_init__(self) -> None:
        if self.method not in METHOD_NAMES:
            raise OptionError(f"unknown method '{self.method}'; known: {', '.join(METHOD_NAMES)}")
        if self.low_pass not in (SHARED, BY_JOINT):
            raise OptionError(
                f"unknown low-pass '{self.low_pass}' of the rows; known: {SHARED}, {BY_JOINT}"
            )
        sizes = (self.delay or 0.0, self.outliers)
        if not np.isfinite(sizes).all() or self.outliers < 0.0:
            raise OptionError(
                "an adaptive preprocessor needs finite numbers and a threshold of outliers of 0 or "
                f"more; got delay {self.delay}, outliers {self.outliers}"
            )

    @one_blas_thread()
    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the motion of the log by the method and options that `tune` chose."""
        tuned = self.tune(log, robot)
        log, measured = tuned.prepare(log, robot)
        if tuned.method == "errors-in-variables":
            return tuned.errors_in_variables.motion(log, robot, measured)
        preprocessor: Preprocessor = replace(tuned.smoother, rows=tuned.rows)
        if tuned.method == "fourier-fit":
            preprocessor = replace(tuned.series, rows=tuned.rows)
        motion = preprocessor(log, robot)
        assert motion.row_filter is not None
        return replace(motion, row_filter=add_gate(motion.row_filter, measured))

    def prepare(self, log: Log, robot: Robot) -> tuple[Log, Bool2D]:
        """Repair the log, and mark the samples that were measured.

        Parameters
        ----------
        log : Log
            As recorded.
        robot : Robot
            The nominal model.

        Returns
        -------
        log : Log
            Without faults and delay.
        measured : ndarray of bool, shape (N, n)
            False for samples that were replaced.
        """
        delay = self.tune(log, robot).delay
        return _prepare(log, delay or 0.0, _faults(log, self.outliers))

    @one_blas_thread()
    def tune(self, log: Log, robot: Robot) -> "Adaptive":
        """Make all decisions for `log` and report them in `message`."""
        if self.message:
            return self
        texts = []
        faults = _faults(log, self.outliers)
        if faults is not None:
            texts.append(f"{faults.message}: masked" if faults.any else "no faulty samples")
        full_log, _ = _prepare(log, 0.0, faults)
        smoother, noise = self._smoother(full_log)
        texts.append(_noise_text(log, noise))
        start = replace(self, smoother=replace(smoother, rows=self.rows))
        if self.low_pass == BY_JOINT:
            rows = rows_by_joint(start.smoother(full_log, robot), robot, self.rows)
            start = replace(self, rows=rows, smoother=replace(smoother, rows=rows))
            each = ", ".join(f"{cutoff:g}" for cutoff in rows.cutoffs)
            texts.append(f"rows of joints up to {each} Hz")
        tune = partial(_tune_at, start, log, robot, faults, noise)
        if self.delay is not None:
            texts.append(f"torque delay given as {self.delay:.3g} s")
            decided = tune(self.delay)
        else:
            delay = estimate_delay(full_log, start.smoother(full_log, robot), robot)
            decided = tune(delay.correction)
            if delay.correction and self.method == "errors-in-variables":
                prepared, sound = _prepare(log, delay.correction, faults)
                update = estimate_remaining_delay(
                    decided.errors_in_variables.motion(prepared, robot, sound), robot
                )
                delay = replace(update, value=delay.value + update.value)
                decided = tune(delay.correction)
            texts.append(f"torque delay of {delay.message} {delay.verdict}")
        return replace(decided, message="; ".join([*texts, f"method {self.method}"]))

    def _smoother(self, log: Log) -> tuple[RtsSmoother, Float1D]:
        """Return the tuned smoother and the encoder noise of every joint."""
        by_joint = [likelihood_corner(log, j) for j in range(log.dof)]
        noise = np.array([std for _, std in by_joint])
        if self.smoother.corners is not None:
            return self.smoother, noise
        corners = tuple(self.smoother.corner_factor * corner for corner, _ in by_joint)
        return replace(self.smoother, corners=corners), noise


def _faults(log: Log, outliers: float) -> Faults | None:
    """Find the faulty samples of a log; None without detection."""
    return find_faults(log, outliers) if outliers else None


def _prepare(log: Log, delay: float, faults: Faults | None) -> tuple[Log, Bool2D]:
    """Repair a log and correct its delay; return it and a mask of its measured samples."""
    if faults is None:
        return remove_delay(log, delay), np.ones(log.q.shape, dtype=bool)
    shifted = np.roll(faults.sound, -round(delay / log.dt), axis=0)
    return remove_delay(repair_log(log, faults), delay), shifted


def _tune_at(
    start: Adaptive, log: Log, robot: Robot, faults: Faults | None, noise: Float1D, delay: float
) -> Adaptive:
    """Tune the method to the log after correction of the torque delay `delay` [s]."""
    log, sound = _prepare(log, delay, faults)
    decided = replace(start, delay=delay)
    if start.method == "fourier-fit":
        series = replace(start.series, rows=start.rows)
        decided = replace(decided, series=series.tune(log, robot))
    if start.method == "errors-in-variables":
        joint = replace(start.errors_in_variables, rows=start.rows, smoother=start.smoother)
        decided = replace(decided, errors_in_variables=joint.tune(log, robot, sound, noise))
    return decided


def _noise_text(log: Log, noise: Float1D) -> str:
    """Format the smallest and the largest noise of the joints, by unit."""
    parts = []
    for unit in dict.fromkeys(log.joint_units):
        alike = noise[[u == unit for u in log.joint_units]]
        ends = [
            f"{1e3 * std:.2g}"
            if std >= MIN_ENCODER_NOISE
            else f"less than {1e3 * MIN_ENCODER_NOISE:g}"
            for std in (alike.min(), alike.max())
        ]
        same = alike.size == 1 or alike.max() < MIN_ENCODER_NOISE
        parts.append(f"{' to '.join(ends[:1] if same else ends)} m{unit}")
    return "encoder noise " + ", ".join(parts)


def smoother_of(preprocessor: Preprocessor) -> RtsSmoother | None:
    """Get the smoother of a preprocessor, with its rows; None if it has none."""
    if isinstance(preprocessor, RtsSmoother):
        return preprocessor
    if isinstance(preprocessor, Adaptive | ErrorsInVariables):
        return replace(preprocessor.smoother, rows=preprocessor.rows)
    return None


LOWEST_EDGE, OCTAVE_COUNT = 1.25, 5
"""Upper edge of the lowest band [Hz], and number of octave bands above it."""

MIN_EXPLAINED_RATIO = 1.2
"""Minimum RMS torque of the model over that of the residual, in an explained band."""

CUTOFF_RATIO = 2.0
"""Cut-off over the upper edge of the explained bands: a low-pass attenuates the octave below."""

SPECTRUM_WINDOW = 8.0
"""Length of the pieces whose spectra are averaged [s]."""


def rows_by_joint(motion: Motion, robot: Robot, rows: Rows) -> Rows:
    """Set the low-pass of the rows of every joint to the band that a model explains.

    A fit of base parameters to `rows`, with weights by joint, gives model torque and residual at
    all samples. The explained band ends at the first octave in which the torque does not exceed
    the residual; the cut-off lies an octave above its end. The rate of the rows follows from the
    highest cut-off, and their edges from the ringing time of the lowest cut-off.

    The ratio of rate to cut-off is kept; the returned rows have `cutoffs`.
    """
    fit = RowFit.from_motion(motion, robot)
    torque = standard_torque_of(motion, robot)
    model = fit.torque(motion, robot, torque)
    ends = find_explained_band(model, torque - model, 1.0 / motion.dt)
    max_cutoff = 1.0 / (2.0 * rows.rate / rows.cutoff * motion.dt)
    cutoffs = tuple(float(min(CUTOFF_RATIO * end, max_cutoff)) for end in ends)
    widest, slowest = max(cutoffs), min(cutoffs)
    return replace(
        rows,
        cutoff=widest,
        rate=rows.rate / rows.cutoff * widest,
        edge=rows.edge * max(1.0, rows.cutoff / slowest),
        cutoffs=cutoffs,
    )


def find_explained_band(model: Float2D, residual: Float2D, rate: float) -> Float1D:
    """Find the frequency below which a model explains more than its residual, shape (n,) [Hz].

    `model` and `residual` are torques, shape (N, n), at the sample rate `rate` [Hz]. The result is
    the upper edge of the last explained band; the lowest band always counts as explained.
    """
    length = min(len(model), round(SPECTRUM_WINDOW * rate))
    f, of_model = scipy.signal.welch(model, rate, nperseg=length, axis=0)
    _, of_rest = scipy.signal.welch(residual, rate, nperseg=length, axis=0)
    ends = np.full(model.shape[1], LOWEST_EDGE)
    for octave in range(1, OCTAVE_COUNT + 1):
        low, high = LOWEST_EDGE * 2.0 ** (octave - 1), LOWEST_EDGE * 2.0**octave
        band = (f >= low) & (f < high)
        power = of_model[band].sum(axis=0), of_rest[band].sum(axis=0)
        ends[(ends == low) & (power[0] > MIN_EXPLAINED_RATIO**2 * power[1])] = high
    return ends
