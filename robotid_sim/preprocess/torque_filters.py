"""Filters of a torque channel: Kalman filter and smoother with a model input, five-point cubic."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from robotid_sim.arrays import Float1D, Float2D

GAINS = (1e-3, 0.999)
"""Range in which gains are searched."""


def kalman_torque(z: Float1D, u: Float1D, gain: float) -> Float1D:
    r"""Return the steady-state Kalman estimate of a torque with a predicted input.

    The state is the torque, driven by the increments of the predicted torque u [1]_, eq. (25)-(31):

    .. math:: \hat x_k^- = \hat x_{k-1} + u_k - u_{k-1}, \qquad
        \hat x_k = \hat x_k^- + K (z_k - \hat x_k^-) .

    So ``x - u`` is a first-order low-pass F of ``z - u``, and ``x = F z + (1 - F) u``: what the
    filter takes away from the noise it replaces by the model.

    Parameters
    ----------
    z, u : ndarray, shape (N,)
        Measured and predicted torque [N m].
    gain : float
        Steady Kalman gain K in (0, 1]; small trusts the prediction.

    References
    ----------
    .. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316,
       doi:10.3390/machines11020316. The gain is
       steady here, because the model is time-invariant.
    """
    start = [(1.0 - gain) * (z[0] - u[0])]  # begins at the first measurement
    return np.asarray(u + lfilter([gain], [1.0, gain - 1.0], z - u, zi=start)[0])


def rts_torque(z: Float1D, u: Float1D, gain: float) -> Float1D:
    """Return the Rauch-Tung-Striebel estimate for the same model: forward, then backward."""
    forward = kalman_torque(z, u, gain) - u
    # x_s(k) = x(k) + (1 - K) (x_s(k+1) - x^-(k+1)), and x^-(k+1) = x(k) once u is taken out
    backward = lfilter([gain], [1.0, gain - 1.0], forward[::-1], zi=[(1.0 - gain) * forward[-1]])[0]
    return np.asarray(u + backward[::-1])


def likelihood_gain(z: Float1D, u: Float1D) -> float:
    """Return the gain of largest innovation likelihood, from which Q / R = K^2 / (1 - K).

    In the steady state the innovations have one variance, so that the likelihood is largest where
    their mean square is smallest.
    """

    def cost(logit: float) -> float:
        gain = 1.0 / (1.0 + np.exp(-logit))
        before = kalman_torque(z, u, gain)[:-1] + np.diff(u)
        return float(((z[1:] - before) ** 2).mean())

    low, high = (float(np.log(g / (1.0 - g))) for g in GAINS)
    best = minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-2})
    return float(1.0 / (1.0 + np.exp(-best.x)))


def five_point_cubic(z: Float2D) -> Float2D:
    """Return a signal after five-point cubic smoothing along its first axis.

    A cubic is fitted to five neighbours and taken at the middle one; at the ends it is taken where
    it is.
    """
    columns = np.vander(np.arange(-2.0, 3.0), 4)
    fit = columns @ np.linalg.pinv(columns)  # rows: value of the cubic at each of the five
    smooth = sum(fit[2, k] * z[k : len(z) - 4 + k] for k in range(5))
    return np.concatenate([fit[:2] @ z[:5], np.asarray(smooth), fit[3:] @ z[-5:]])
