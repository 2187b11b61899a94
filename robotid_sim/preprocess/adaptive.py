"""The preprocessor that looks at a log before it decides how to treat it.

The low-pass of every joint's rows, from the band in which a model explains its torque.
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
from robotid_sim.preprocess.misfit import RowFit, standard_of
from robotid_sim.preprocess.periods import FourierFit
from robotid_sim.preprocess.preprocessor import Preprocessor, RowPreprocessor, Rows
from robotid_sim.preprocess.rts import RtsSmoother, likelihood_corner
from robotid_sim.registry import INTERNAL_FIELD
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread

SHARED, BY_JOINT = "shared", "by-joint"

METHOD_NAMES = ("errors-in-variables", "fourier-fit", "rts")

MIN_ENCODER_NOISE = 1e-6
"""Encoder noise below which no number of it is told [rad or m]: the log was smoothed before."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class Adaptive(RowPreprocessor):
    r"""Outlier mask and delay compensation where needed, then motion and torque together.

    1. Samples that are lost or far off are found; if there are some, positions are interpolated
       over them and their torques are shut out of the rows, see `find_faults`.
    2. The smoother's corners and the encoder noise follow from the innovation likelihood.
    3. Rows are low-passed as the configuration says, or every joint up to where a model explains
       its torque, see `rows_by_joint`.
    4. The delay of the torque is estimated and, if significant, taken off, see `estimate_delay`.
    5. Motion and parameters of a model are estimated in turn, see `ErrorsInVariables`; the smoother
       gives the motion to start from. A delay that was found is judged again by its rows, see
       `estimate_remaining_delay`. Other methods stop at the smoother, or fit a Fourier series.

    `tune` does all that and says so in `message`. What is decided then stays, except that faults
    are looked for in every log anew.

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
    """Delay of the torque to take off [s], 0 for none; None to estimate it."""
    low_pass: str = SHARED
    """``shared``: the cut-off of the rows is that of all joints; ``by-joint``: that of every joint
    follows from the log."""
    outliers: float = OUTLIER_THRESHOLD
    """Robust standard deviations beyond which a value is an outlier; 0 to look for none."""
    smoother: RtsSmoother = field(default_factory=RtsSmoother)
    """The smoother."""
    series: FourierFit = field(default_factory=FourierFit)
    """The Fourier fit."""
    joint: ErrorsInVariables = field(default_factory=ErrorsInVariables)
    """The estimate of motion and torque together."""
    message: str = field(default="", metadata=INTERNAL_FIELD)
    """What was decided and why, after `tune`."""

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
        """Return the motion of the log as decided."""
        tuned = self.tune(log, robot)
        log, sound = tuned.prepare(log, robot)
        if tuned.method == "errors-in-variables":
            return tuned.joint.motion(log, robot, sound)
        use: Preprocessor = replace(tuned.smoother, rows=tuned.rows)
        if tuned.method == "fourier-fit":
            use = replace(tuned.series, rows=tuned.rows)
        motion = use(log, robot)
        assert motion.row_filter is not None
        return replace(motion, row_filter=add_gate(motion.row_filter, sound))

    def prepare(self, log: Log, robot: Robot) -> tuple[Log, Bool2D]:
        """Return the log that the motion is made from, and which samples were measured.

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
        """Return the preprocessor with all decisions made for `log` and reported in `message`."""
        if self.message:
            return self
        said = []
        faults = _faults(log, self.outliers)
        if faults is not None:
            said.append(f"{faults.message}: masked" if faults.any else "no faulty samples")
        whole, _ = _prepare(log, 0.0, faults)
        smoother, noise = self._smoother(whole)
        said.append(_noise_text(log, noise))
        start = replace(self, smoother=replace(smoother, rows=self.rows))
        if self.low_pass == BY_JOINT:
            rows = rows_by_joint(start.smoother(whole, robot), robot, self.rows)
            start = replace(self, rows=rows, smoother=replace(smoother, rows=rows))
            each = ", ".join(f"{cutoff:g}" for cutoff in rows.cutoffs)
            said.append(f"rows of joints up to {each} Hz")
        tune = partial(_tune_at, start, log, robot, faults, noise)
        if self.delay is not None:
            said.append(f"torque delay given as {self.delay:.3g} s")
            decided = tune(self.delay)
        else:
            found = estimate_delay(whole, start.smoother(whole, robot), robot)
            decided = tune(found.correction)
            if found.correction and self.method == "errors-in-variables":
                prepared, sound = _prepare(log, found.correction, faults)
                rest = estimate_remaining_delay(decided.joint.motion(prepared, robot, sound), robot)
                found = replace(rest, value=found.value + rest.value)
                decided = tune(found.correction)
            said.append(f"torque delay of {found.message} {found.verdict}")
        return replace(decided, message="; ".join([*said, f"method {self.method}"]))

    def _smoother(self, log: Log) -> tuple[RtsSmoother, Float1D]:
        """Return the tuned smoother and the encoder noise of every joint."""
        by_joint = [likelihood_corner(log, j) for j in range(log.dof)]
        noise = np.array([std for _, std in by_joint])
        if self.smoother.corners is not None:
            return self.smoother, noise
        corners = tuple(self.smoother.corner_factor * corner for corner, _ in by_joint)
        return replace(self.smoother, corners=corners), noise


def _faults(log: Log, outliers: float) -> Faults | None:
    """Return the faulty samples of a log; None if none are looked for."""
    return find_faults(log, outliers) if outliers else None


def _prepare(log: Log, delay: float, faults: Faults | None) -> tuple[Log, Bool2D]:
    """Return the log repaired and without its delay, and which samples were measured."""
    if faults is None:
        return remove_delay(log, delay), np.ones(log.q.shape, dtype=bool)
    moved = np.roll(faults.sound, -round(delay / log.dt), axis=0)
    return remove_delay(repair_log(log, faults), delay), moved


def _tune_at(
    start: Adaptive, log: Log, robot: Robot, faults: Faults | None, noise: Float1D, delay: float
) -> Adaptive:
    """Return a preprocessor with a delay [s], its method tuned to the log without that delay."""
    log, sound = _prepare(log, delay, faults)
    decided = replace(start, delay=delay)
    if start.method == "fourier-fit":
        series = replace(start.series, rows=start.rows)
        decided = replace(decided, series=series.tune(log, robot))
    if start.method == "errors-in-variables":
        joint = replace(start.joint, rows=start.rows, smoother=start.smoother)
        decided = replace(decided, joint=joint.tune(log, robot, sound, noise))
    return decided


def _noise_text(log: Log, noise: Float1D) -> str:
    """Return the smallest and the largest noise of the joints, by unit."""
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
    """Return the smoother behind a preprocessor, with its rows; None if it has none."""
    if isinstance(preprocessor, RtsSmoother):
        return preprocessor
    if isinstance(preprocessor, Adaptive | ErrorsInVariables):
        return replace(preprocessor.smoother, rows=preprocessor.rows)
    return None


LOWEST, OCTAVES = 1.25, 5
"""Upper edge of the lowest band [Hz], and how many bands of an octave follow it."""

MIN_EXPLAINED_RATIO = 1.2
"""RMS torque of the model over that of what it leaves from which on a band is explained."""

CUTOFF_RATIO = 2.0
"""Cut-off over the end of the explained bands: a low-pass takes much of the octave below it."""

SPECTRUM_WINDOW = 8.0
"""Length of the pieces whose spectra are averaged [s]."""


def rows_by_joint(motion: Motion, robot: Robot, rows: Rows) -> Rows:
    """Return rows whose low-pass is, for every joint, as wide as what a model explains of it.

    A fit of base parameters by the rows as they are, with weights by joint, tells torque and rest
    at all samples. From the lowest octave on, a joint's band goes up as long as the model explains
    more of it than it leaves; the cut-off lies an octave above. Rows then come as often as the
    fastest joint needs, and their edges are as long as the slowest one rings.

    Of the rows as they are, the rate over the cut-off stays; those returned have `cutoffs`.
    """
    fit = RowFit.from_motion(motion, robot)
    torque = standard_of(motion, robot)
    model = fit.torque(motion, robot, torque)
    ends = find_explained_band(model, torque - model, 1.0 / motion.dt)
    fastest = 1.0 / (2.0 * rows.rate / rows.cutoff * motion.dt)
    cutoffs = tuple(float(min(CUTOFF_RATIO * end, fastest)) for end in ends)
    widest, slowest = max(cutoffs), min(cutoffs)
    return replace(
        rows,
        cutoff=widest,
        rate=rows.rate / rows.cutoff * widest,
        edge=rows.edge * max(1.0, rows.cutoff / slowest),
        cutoffs=cutoffs,
    )


def find_explained_band(model: Float2D, rest: Float2D, rate: float) -> Float1D:
    """Return up to which frequency a model explains more than it leaves, shape (n,) [Hz].

    By the torque of the model and what it leaves, both of shape (N, n), at a sample rate [Hz]. It
    is the upper edge of the last such band; the lowest one counts always.
    """
    length = min(len(model), round(SPECTRUM_WINDOW * rate))
    f, of_model = scipy.signal.welch(model, rate, nperseg=length, axis=0)
    _, of_rest = scipy.signal.welch(rest, rate, nperseg=length, axis=0)
    ends = np.full(model.shape[1], LOWEST)
    for octave in range(1, OCTAVES + 1):
        low, high = LOWEST * 2.0 ** (octave - 1), LOWEST * 2.0**octave
        band = (f >= low) & (f < high)
        power = of_model[band].sum(axis=0), of_rest[band].sum(axis=0)
        ends[(ends == low) & (power[0] > MIN_EXPLAINED_RATIO**2 * power[1])] = high
    return ends
