r"""Stability of the swarm with a PID controller: eq. (16)-(18), and the update as it is.

The paper takes the update for a differential equation. Its characteristic polynomial is

.. math:: (1 + f k_d)\, s^3 + (1 - w + f k_p + f k_d)\, s^2 + f (k_p + k_i)\, s + f k_i = 0 \tag{16}

with the pull f = c1 r1 + c2 r2. The particles move in steps, and eq. (5) with (21) is another map.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from robotid_sim.optim.stability import pid_map, spectral_radius

GAINS = ((1.0, 0.05, 0.1), (1.0, 0.1, 0.1), (0.5, 0.1, 0.1), (1.0, 0.3, 0.3), (1.0, 0.5, 0.5))
"""kp, ki, kd: ours first; those of eq. (22)-(24) are lost."""
WEIGHTS = (0.9, 0.65, 0.4)
"""Inertia weights of eq. (25): at the start, in between, at the end."""
PULLS = tuple(np.linspace(0.05, 2.0, 40).tolist())
"""Values of f, which is at most 2 on average over a run."""
Gains = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class GainStability:
    """What both views say of a set of gains with an inertia weight, at the worst pull."""

    gains: Gains
    w: float
    routh_hurwitz: bool
    """Whether eq. (17)-(18) hold for every pull."""
    real_part: float
    """Largest real part of the roots of eq. (16)."""
    radius: float
    """Largest spectral radius of the update: above 1 it diverges."""


def polynomial(gains: Gains, w: float, f: float) -> tuple[float, float, float, float]:
    """Return the coefficients of eq. (16), the highest power first."""
    kp, ki, kd = gains
    return 1.0 + f * kd, 1.0 - w + f * kp + f * kd, f * (kp + ki), f * ki


def routh_hurwitz(gains: Gains, w: float, f: float) -> bool:
    """Return whether eq. (17), all coefficients positive, and eq. (18) hold."""
    a3, a2, a1, a0 = polynomial(gains, w, f)
    return min(a3, a2, a1, a0) > 0.0 and a2 * a1 > a3 * a0


def largest_real_part(gains: Gains, w: float, f: float) -> float:
    """Return the largest real part of the roots of eq. (16): below 0 where it is stable."""
    return float(np.roots(polynomial(gains, w, f)).real.max())


def radius(gains: Gains, w: float, f: float) -> float:
    """Return the spectral radius of eq. (5) and (21) with a pull that is not random."""
    return spectral_radius(pid_map(w, 2.0 * f, 0.0, *gains).mean())


def all_gains() -> Iterator[GainStability]:
    """Yield every set of gains with every inertia weight."""
    for gains, w in product(GAINS, WEIGHTS):
        yield GainStability(
            gains=gains,
            w=w,
            routh_hurwitz=all(routh_hurwitz(gains, w, f) for f in PULLS),
            real_part=max(largest_real_part(gains, w, f) for f in PULLS),
            radius=max(radius(gains, w, f) for f in PULLS),
        )
