"""Signals between their samples."""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D

TAPS = 8
"""Samples that an interpolated value is made of."""


def between_samples(x: Float2D, position: Float1D) -> Float2D:
    r"""Return a signal at fractional sample positions, by Lagrange interpolation of order 7.

    .. math:: x(p) = \sum_{n=0}^{7} x_{i+n} \prod_{k \neq n} \frac{p - i - k}{n - k}

    with the eight samples around p, the fractional-delay filter that is maximally flat at
    frequency zero [1]_, Lagrange interpolation. It is exact at the samples and for polynomials
    of degree 7; half-way between samples a sinusoid of angular frequency w [rad a sample] is
    off by at most :math:`1.1 \cdot 10^{-3} w^8` of its amplitude (the remainder of the
    polynomial): 3e-5 at a tenth of the sample rate, 1e-7 at a twentieth. A step, as of friction
    that turns around, rings by at most a tenth over three samples. At the ends of the signal
    the eight samples lie on one side.

    The signal x has at least eight samples, shape (N, n); positions are counted in samples from the
    first, and outside the first or the last one counts.

    References
    ----------
    .. [1] Laakso, Valimaki, Karjalainen, Laine (1996), "Splitting the unit delay: tools for
       fractional delay filter design", IEEE Signal Processing Magazine 13(1), 30-60,
       doi:10.1109/79.482137.
    """
    position = np.clip(position, 0.0, len(x) - 1.0)
    first = np.clip(np.floor(position).astype(int) - (TAPS // 2 - 1), 0, len(x) - TAPS)
    local = position - first
    value = np.zeros((position.size, x.shape[1]))
    for n in range(TAPS):
        weight = np.ones(position.size)
        for k in range(TAPS):
            if k != n:
                weight *= (local - k) / (n - k)
        value += weight[:, None] * x[first + n]
    return value
