r"""Kalman filter and Rauch-Tung-Striebel smoother on joint positions, tuned by likelihood.

The model of one joint is a random jerk: state :math:`x = (q, \dot q, \ddot q)`, white noise of
intensity :math:`\lambda r` [rad^2/s^5] on the jerk, position measured with variance `r`. In steady
state it is a zero-phase low-pass of Butterworth form with the gain
:math:`1 / (1 + (f / f_c)^6)`, :math:`f_c = (\lambda / h)^{1/6} / 2\pi` for sample time `h`, so
that the corner :math:`f_c` is its one parameter.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.compiled import jit
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.preprocessor import RowPreprocessor

CORNERS = (0.5, 150.0)
"""Range in which corners are searched [Hz]."""

DIFFUSE = (1e4, 1e10, 1e12)
"""Initial variances of position, velocity, acceleration in units of the measurement variance."""


@jit
def _process_noise(h: float, lam: float) -> Float2D:
    """Process noise Q of a white jerk of intensity lam over a step h."""
    h2, h3, h4, h5 = h * h, h**3, h**4, h**5
    return lam * np.array(
        [[h5 / 20.0, h4 / 8.0, h3 / 6.0], [h4 / 8.0, h3 / 3.0, h2 / 2.0], [h3 / 6.0, h2 / 2.0, h]]
    )


@jit
def kalman_filter(
    z: Float1D,
    h: float,
    lam: float,
    H: Float1D,
    x_pred: Float2D,
    P_pred: Float2D,
    innovations: Float2D,
) -> None:
    """Run the filter with measurement variance 1 over samples z, shape (N,) [rad or m].

    They are h [s] apart; `lam` is the intensity of the white jerk over the measurement variance
    [1/s^5]; H the measurement row of the state of position, velocity and acceleration. Filled are
    the predictions, shape (N, 3), the upper triangles of their covariances by rows, (N, 6), and
    value and variance of the innovations, (N, 2).
    """
    Q = _process_noise(h, lam)
    x = np.array([z[0], 0.0, 0.0])
    P = np.diag(np.array(DIFFUSE))
    PH, K = np.empty(3), np.empty(3)
    for k in range(z.shape[0]):
        x_pred[k] = x
        c = 0
        for i in range(3):
            for j in range(i, 3):
                P_pred[k, c] = P[i, j]
                c += 1
        for i in range(3):
            PH[i] = P[i, 0] * H[0] + P[i, 1] * H[1] + P[i, 2] * H[2]
        S = H[0] * PH[0] + H[1] * PH[1] + H[2] * PH[2] + 1.0
        y = z[k] - H[0] * x[0] - H[1] * x[1] - H[2] * x[2]
        innovations[k, 0], innovations[k, 1] = y, S
        for i in range(3):
            K[i] = PH[i] / S
            x[i] += K[i] * y
        for i in range(3):
            for j in range(3):
                P[i, j] -= K[i] * PH[j]
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
    h: float, H: Float1D, x_pred: Float2D, P_pred: Float2D, innovations: Float2D, x: Float2D
) -> None:
    """Backward pass of the RTS smoother in the form of Bryson and Frazier, which inverts nothing.

    With the adjoint l, l <- H^T (-y / S) + (1 - K H)^T F^T l and x = x_pred - P_pred l.

    Arguments are those of `kalman_filter`, filled by it; x, shape (N, 3), is filled with the
    smoothed states.
    """
    l = np.zeros(3)
    PH = np.empty(3)
    for k in range(x.shape[0] - 1, -1, -1):
        p00, p01, p02 = P_pred[k, 0], P_pred[k, 1], P_pred[k, 2]
        p11, p12, p22 = P_pred[k, 3], P_pred[k, 4], P_pred[k, 5]
        PH[0] = p00 * H[0] + p01 * H[1] + p02 * H[2]
        PH[1] = p01 * H[0] + p11 * H[1] + p12 * H[2]
        PH[2] = p02 * H[0] + p12 * H[1] + p22 * H[2]
        y, S = innovations[k, 0], innovations[k, 1]
        gain = (PH[0] * l[0] + PH[1] * l[1] + PH[2] * l[2] + y) / S
        for i in range(3):
            l[i] -= H[i] * gain
        x[k, 0] = x_pred[k, 0] - p00 * l[0] - p01 * l[1] - p02 * l[2]
        x[k, 1] = x_pred[k, 1] - p01 * l[0] - p11 * l[1] - p12 * l[2]
        x[k, 2] = x_pred[k, 2] - p02 * l[0] - p12 * l[1] - p22 * l[2]
        l[2] += h * l[1] + 0.5 * h * h * l[0]  # l <- F^T l
        l[1] += h * l[0]


@documented
@dataclass(frozen=True, kw_only=True, eq=False)
class RtsSmoother(RowPreprocessor):
    r"""Constant-jerk Kalman filter and RTS smoother on position, corner by likelihood times two.

    Per joint the corner maximizes the likelihood of the innovations; that balances the error of the
    *position*, while the torque needs the acceleration at friction reversals too, so the corner is
    then raised by `corner_factor`. The state is taken at the time where the torque of each sample
    acts, so the measurement looks back: ``H = [1, -o, o^2/2]`` with the log's torque time `o`.

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
    """Corner of the smoother over the one of largest likelihood."""
    corners: tuple[float, ...] | None = None
    """Corner per joint [Hz], if it is to be fixed; then `corner_factor` has no effect."""

    def __post_init__(self) -> None:
        if not all(c > 0.0 for c in (self.corner_factor, *(self.corners or ()))):
            raise OptionError("smoother corners and their factor must be positive")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Return the smoothed motion at the torque times."""
        corners = self.tuned(log, robot).corners
        assert corners is not None
        joints = zip(log.q.T, corners, strict=True)
        x = np.stack([_smoothed(z, log, corner) for z, corner in joints], axis=2)
        return self.motion_of(log, x[:, 0], x[:, 1], x[:, 2])

    def tuned(self, log: Log, robot: Robot) -> Self:
        """Return the smoother with its corners fixed to those it chooses for `log`."""
        del robot
        if self.corners is not None:
            if len(self.corners) != log.dof:
                raise OptionError(f"{len(self.corners)} corners for {log.dof} joints")
            return self
        chosen = tuple(self.corner_factor * likelihood_corner(z, log)[0] for z in log.q.T)
        return replace(self, corners=chosen)


def likelihood_corner(z: Float1D, log: Log) -> tuple[float, float]:
    """Return the corner [Hz] of largest innovation likelihood, and the encoder noise for it.

    The positions z are of one joint; of the log sample time and torque time count.
    """
    work = _workspace(z.size)

    def cost(log_corner: float) -> float:
        _run(z, log, float(np.exp(log_corner)), work)
        y, S = work[2][:, 0], work[2][:, 1]
        mean = float((y**2 / S).mean())
        return float(0.5 * z.size * np.log(max(mean, 1e-300)) + 0.5 * np.log(S).sum())

    upper = min(CORNERS[1], 0.25 / log.dt)
    grid = np.linspace(np.log(CORNERS[0]), np.log(upper), 9)
    values = [cost(point) for point in grid]
    k = int(np.argmin(values))
    bracket = (grid[max(k - 1, 0)], grid[min(k + 1, 8)])
    best = minimize_scalar(cost, bounds=bracket, method="bounded", options={"xatol": 0.02})
    corner = float(np.exp(best.x))
    _run(z, log, corner, work)
    return corner, float(np.sqrt((work[2][:, 0] ** 2 / work[2][:, 1]).mean()))


def _workspace(samples: int) -> tuple[Float2D, Float2D, Float2D]:
    return np.empty((samples, 3)), np.empty((samples, 6)), np.empty((samples, 2))


def _measurement(log: Log) -> Float1D:
    offset = log.torque_time_offset
    return np.array([1.0, -offset, 0.5 * offset**2])


def _run(z: Float1D, log: Log, corner: float, work: tuple[Float2D, Float2D, Float2D]) -> None:
    lam = log.dt * (2.0 * np.pi * corner) ** 6
    kalman_filter(np.ascontiguousarray(z), log.dt, lam, _measurement(log), *work)


def _smoothed(z: Float1D, log: Log, corner: float) -> Float2D:
    """Return position, velocity and acceleration of one joint, shape (N, 3)."""
    work = _workspace(z.size)
    _run(z, log, corner, work)
    x = np.empty((z.size, 3))
    smooth(log.dt, _measurement(log), *work, x)
    return x
