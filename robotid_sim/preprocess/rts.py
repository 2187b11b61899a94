r"""Kalman filter and Rauch-Tung-Striebel smoother on joint positions, tuned by likelihood.

The model of one joint is a random jerk: state :math:`x = (q, \dot q, \ddot q)`, white noise of
intensity :math:`\lambda r` [rad^2/s^5] on the jerk, position measured with variance `r`. In steady
state it is a zero-phase low-pass of Butterworth form with the gain
:math:`1 / (1 + (f / f_c)^6)`, :math:`f_c = (\lambda / h)^{1/6} / 2\pi` for sample time `h`,
so that the corner :math:`f_c` is its only parameter.

Where a log has velocities, they are further measurements, with a delay and a variance that
`velocity_noise` estimates from the log.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.compiled import jit
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.preprocessor import RowPreprocessor

CORNER_RANGE = (0.5, 150.0)
"""Range in which corners are searched [Hz]."""

MASKED_VARIANCE = 1e12
"""Variance of a missing velocity over that of positions [1/s^2]."""

DIFFUSE_VARIANCES = (1e4, 1e10, 1e12)
"""Initial variances of position, velocity, acceleration in units of the measurement variance."""


@jit
def _process_noise(h: float, lam: float) -> Float2D:
    """Compute the process noise Q of a white jerk of intensity lam over a step h."""
    h2, h3, h4, h5 = h * h, h**3, h**4, h**5
    return lam * np.array(
        [[h5 / 20.0, h4 / 8.0, h3 / 6.0], [h4 / 8.0, h3 / 3.0, h2 / 2.0], [h3 / 6.0, h2 / 2.0, h]]
    )


@jit
def kalman_filter(
    z: Float1D,
    h: float,
    lam: float,
    H: Float2D,
    r: Float1D,
    x_pred: Float2D,
    P_pred: Float2D,
    innovations: Float2D,
) -> None:
    """Run the filter over measurements z with variances r, both of shape (N,).

    Measurements come in groups, h [s] apart; `lam` [1/s^5] is the intensity of the white jerk
    over the variance of positions, which is set to 1; H has the measurement rows of a group for
    position, velocity and acceleration. Fills the predictions, shape (N, 3), the upper triangles of
    their covariances by rows, (N, 6), and value and variance of the innovations, (N, 2).
    """
    Q = _process_noise(h, lam)
    x = np.array([z[0], 0.0, 0.0])
    P = np.diag(np.array(DIFFUSE_VARIANCES))
    PH, K = np.empty(3), np.empty(3)
    for k in range(z.shape[0]):
        row = H[k % H.shape[0]]
        x_pred[k] = x
        c = 0
        for i in range(3):
            for j in range(i, 3):
                P_pred[k, c] = P[i, j]
                c += 1
        for i in range(3):
            PH[i] = P[i, 0] * row[0] + P[i, 1] * row[1] + P[i, 2] * row[2]
        S = row[0] * PH[0] + row[1] * PH[1] + row[2] * PH[2] + r[k]
        y = z[k] - row[0] * x[0] - row[1] * x[1] - row[2] * x[2]
        innovations[k, 0], innovations[k, 1] = y, S
        for i in range(3):
            K[i] = PH[i] / S
            x[i] += K[i] * y
        for i in range(3):
            for j in range(3):
                P[i, j] -= K[i] * PH[j]
        if (k + 1) % H.shape[0]:
            continue
        # x <- F x, P <- F P F^T + Q with the unit upper triangular F of a chain of integrators
        x[0] += h * x[1] + 0.5 * h * h * x[2]
        x[1] += h * x[2]
        for j in range(3):
            P[0, j] += h * P[1, j] + 0.5 * h * h * P[2, j]
            P[1, j] += h * P[2, j]
        for i in range(3):
            P[i, 0] += h * P[i, 1] + 0.5 * h * h * P[i, 2]
            P[i, 1] += h * P[i, 2]
        for i in range(3):
            for j in range(i, 3):
                P[i, j] = 0.5 * (P[i, j] + P[j, i]) + Q[i, j]
                P[j, i] = P[i, j]


@jit
def smooth(
    h: float, H: Float2D, x_pred: Float2D, P_pred: Float2D, innovations: Float2D, x: Float2D
) -> None:
    """Run the backward pass of the RTS smoother in the inverse-free form of Bryson and Frazier.

    With the adjoint l, l <- H^T (-y / S) + (1 - K H)^T F^T l and x = x_pred - P_pred l.

    Arguments are those of `kalman_filter`, filled by it; x, shape (N, 3), is filled with the
    smoothed states.
    """
    l = np.zeros(3)
    PH = np.empty(3)
    for k in range(x.shape[0] - 1, -1, -1):
        row = H[k % H.shape[0]]
        p00, p01, p02 = P_pred[k, 0], P_pred[k, 1], P_pred[k, 2]
        p11, p12, p22 = P_pred[k, 3], P_pred[k, 4], P_pred[k, 5]
        PH[0] = p00 * row[0] + p01 * row[1] + p02 * row[2]
        PH[1] = p01 * row[0] + p11 * row[1] + p12 * row[2]
        PH[2] = p02 * row[0] + p12 * row[1] + p22 * row[2]
        y, S = innovations[k, 0], innovations[k, 1]
        gain = (PH[0] * l[0] + PH[1] * l[1] + PH[2] * l[2] + y) / S
        for i in range(3):
            l[i] -= row[i] * gain
        x[k, 0] = x_pred[k, 0] - p00 * l[0] - p01 * l[1] - p02 * l[2]
        x[k, 1] = x_pred[k, 1] - p01 * l[0] - p11 * l[1] - p12 * l[2]
        x[k, 2] = x_pred[k, 2] - p02 * l[0] - p12 * l[1] - p22 * l[2]
        if k % H.shape[0]:
            continue
        l[2] += h * l[1] + 0.5 * h * h * l[0]  # l <- F^T l
        l[1] += h * l[0]


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class RtsSmoother(RowPreprocessor):
    r"""Kalman filter and RTS smoother of positions, with a model of white jerk.

    Per joint the corner maximizes the likelihood of the innovations; that is optimal for the
    *position*, while the torque also needs the acceleration at friction reversals, so the corner is
    then multiplied by `corner_factor`. The state is that at the action of the torque; positions are
    measured earlier: ``H = [1, -o, o^2/2]`` with the `torque_time_offset` `o` of the log.

    References
    ----------
    .. [1] Rauch, Tung, Striebel (1965), "Maximum likelihood estimates of linear dynamic systems",
       AIAA Journal, doi:10.2514/3.3166.
    .. [2] Bierman (1973), "Fixed interval smoothing with discrete measurements", Int. J. Control,
       doi:10.1080/00207177308932526 (modified Bryson-Frazier form).

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> motion = rid.RtsSmoother()(log, nominal)
    >>> motion.ddq.shape == log.q.shape
    True
    """

    corner_factor: float = 2.0
    """Corner of the smoother over that of maximum likelihood."""
    corners: tuple[float, ...] | None = None
    """Corner per joint [Hz]; by default from the log. If given, `corner_factor` has no effect."""

    def __post_init__(self) -> None:
        if not all(c > 0.0 for c in (self.corner_factor, *(self.corners or ()))):
            raise OptionError("smoother corners and their factor must be positive")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the smoothed motion at the torque times."""
        corners = self.tune(log, robot).corners
        assert corners is not None
        x = np.stack([_smooth_joint(log, j, corner) for j, corner in enumerate(corners)], axis=2)
        return self.motion_of(log, x[:, 0], x[:, 1], x[:, 2])

    def tune(self, log: Log, robot: Robot) -> Self:
        """Fix the corners to those that `log` determines."""
        del robot
        if self.corners is not None:
            if len(self.corners) != log.dof:
                raise OptionError(f"{len(self.corners)} corners for {log.dof} joints")
            return self
        chosen = tuple(self.corner_factor * likelihood_corner(log, j)[0] for j in range(log.dof))
        return replace(self, corners=chosen)


OUTLIER_RATIO = 10.0
"""Minimum deviation of an outlier, a position step minus the integral of the velocity, over the
median deviation."""

STEP_SPAN = 0.25
"""Time over which position steps are summed [s]."""

MIN_NOISE_RATIO = 1e-3
"""Minimum noise of a position step that is integrated from velocities, over that of positions."""


def velocity_noise(log: Log, joint: int) -> tuple[float, float, Bool1D] | None:
    r"""Estimate the ratio of velocity to position noise variance [1/s^2], delay [s], sound samples.

    Steps of the position minus the integral of the velocity, by a rule of fourth order, contain no
    motion; a part proportional to the acceleration is the delay of the velocity. With white noise,
    sums of m of the remaining steps, without outliers, have the variance
    :math:`2 \sigma_n^2 + (m - .41) (h \sigma_v)^2`, which is evaluated for one step and for
    `STEP_SPAN`. Other errors of the velocities repeat from step to step, so that no position noise
    remains. Then, and for a log without velocities, the result is None.
    """
    if log.dq is None:
        return None
    dq, h = np.pad(log.dq[:, joint], 1, mode="reflect", reflect_type="odd"), log.dt
    change = np.diff(log.dq[:, joint])
    m = max(2, min(round(STEP_SPAN / h), change.size // 4))
    d = np.diff(log.q[:, joint]) - h / 24.0 * (13.0 * (dq[1:-2] + dq[2:-1]) - dq[:-3] - dq[3:])
    sums = _sums(change, m)
    delay = float(_sums(d, m) @ sums) / max(float(sums @ sums), np.finfo(float).tiny)
    d -= delay * change
    is_outlier = np.abs(d) > OUTLIER_RATIO * np.median(np.abs(d))
    d[is_outlier] = 0.0
    mean_square, sum_square = float((d**2).mean()), float((_sums(d, m) ** 2).mean())
    velocity_part = (sum_square - mean_square) / (m - 1)
    position_part = 0.5 * (mean_square - 0.59 * velocity_part)
    if position_part <= 0.0:
        return None
    is_sound = ~(np.append(is_outlier, False) | np.append(False, is_outlier))
    return max(velocity_part / position_part, MIN_NOISE_RATIO) / h**2, delay, is_sound


def _sums(x: Float1D, count: int) -> Float1D:
    """Sum `count` neighbors."""
    total = np.append(0.0, np.cumsum(x))
    return np.asarray(total[count:] - total[:-count])


class _Measurements(NamedTuple):
    """Measurements of one joint for `kalman_filter`."""

    z: Float1D
    H: Float2D
    r: Float1D

    @classmethod
    def from_log(cls, log: Log, joint: int) -> Self:
        """Interleave positions and, if they are informative, velocities."""
        o, z = log.torque_time_offset, np.ascontiguousarray(log.q[:, joint])
        row, noise = [1.0, -o, 0.5 * o**2], velocity_noise(log, joint)
        if log.dq is None or noise is None:
            return cls(z, np.array([row]), np.ones(z.size))
        variance, delay, is_sound = noise
        r = np.where(is_sound, variance, MASKED_VARIANCE)
        H = np.array([row, [0.0, 1.0, -o - delay]])
        each = (np.stack(x, axis=1).ravel() for x in ((z, log.dq[:, joint]), (np.ones(z.size), r)))
        return cls(next(each), H, next(each))


def likelihood_corner(log: Log, joint: int) -> tuple[float, float]:
    """Find the corner of maximum innovation likelihood [Hz] and the encoder noise [rad or m]."""
    measurements = _Measurements.from_log(log, joint)
    work = _workspace(measurements.z.size)

    def cost(log_corner: float) -> float:
        _run(measurements, log, float(np.exp(log_corner)), work)
        y, S = work[2][:, 0], work[2][:, 1]
        mean = float((y**2 / S).mean())
        return float(0.5 * y.size * np.log(max(mean, 1e-300)) + 0.5 * np.log(S).sum())

    upper = min(CORNER_RANGE[1], 0.25 / log.dt)
    grid = np.linspace(np.log(CORNER_RANGE[0]), np.log(upper), 9)
    values = [cost(point) for point in grid]
    k = int(np.argmin(values))
    bracket = (grid[max(k - 1, 0)], grid[min(k + 1, 8)])
    best = minimize_scalar(cost, bounds=bracket, method="bounded", options={"xatol": 0.02})
    corner = float(np.exp(best.x))
    _run(measurements, log, corner, work)
    positions = work[2][:: len(measurements.H)]  # positions only: velocity noise is approximate
    return corner, float(np.sqrt((positions[:, 0] ** 2 / positions[:, 1]).mean()))


def _workspace(samples: int) -> tuple[Float2D, Float2D, Float2D]:
    return np.empty((samples, 3)), np.empty((samples, 6)), np.empty((samples, 2))


def _run(
    measurements: _Measurements, log: Log, corner: float, work: tuple[Float2D, Float2D, Float2D]
) -> None:
    lam = log.dt * (2.0 * np.pi * corner) ** 6
    kalman_filter(measurements.z, log.dt, lam, measurements.H, measurements.r, *work)


def _smooth_joint(log: Log, joint: int, corner: float) -> Float2D:
    """Smooth position, velocity and acceleration of one joint, shape (N, 3)."""
    measurements = _Measurements.from_log(log, joint)
    work = _workspace(measurements.z.size)
    _run(measurements, log, corner, work)
    x = np.empty((measurements.z.size, 3))
    smooth(log.dt, measurements.H, *work, x)
    return x[:: len(measurements.H)]
