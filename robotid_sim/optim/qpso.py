"""Quantum-inspired particle swarms: in a delta potential well, and on the angles of qubits."""

from dataclasses import dataclass
from math import pi
from typing import Literal

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import Box, WallRule, repair_points
from robotid_sim.optim.optimizer import EquationForm, Population, linear
from robotid_sim.optim.swarm import Swarm, VelocitySwarm

MAX_CONTRACTION = float(np.exp(np.euler_gamma))
"""Contraction coefficient below which particles converge [1]_, about 1.781."""


@document_attributes
@dataclass(kw_only=True, eq=False)
class DeltaWellSwarm(Population):
    r"""Quantum-behaved particle swarm in a delta potential well (QPSO).

    .. math::

        p' &= \varphi\, p + (1 - \varphi)\, g, \qquad \bar p = \tfrac1m \sum_i p_i \\
        x &\leftarrow p' \pm \alpha\, |\bar p - x| \ln (1/u)

    with the best point p of the particle, the best point g of all, the mean :math:`\bar p` of the
    particles' best points, :math:`\varphi` and u uniform in [0, 1], and either sign equally likely,
    all for every coordinate. There are no velocities. The contraction coefficient :math:`\alpha`
    falls linearly; below :math:`e^\gamma \approx 1.781` the logarithm of the distance to
    :math:`p'` decreases on average, and the particle converges [1]_.

    References
    ----------
    .. [1] Sun, Fang, Wu, Palade, Xu (2012), "Quantum-behaved particle swarm optimization: analysis
       of individual particle behavior and parameter selection", Evolutionary Computation 20(3),
       doi:10.1162/EVCO_a_00049.
    .. [2] Sun, Feng, Xu (2004), "Particle swarm optimization with particles having quantum
       behavior", Congress on Evolutionary Computation, doi:10.1109/CEC.2004.1330875.
    """

    population: int = 40
    alpha_start: float = 1.0
    alpha_end: float = 0.5
    """Contraction coefficient at the start and at the end of the budget."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("alpha_start", self.alpha_start)
        checks.positive("alpha_end", self.alpha_end)

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, 1.0, self.bounds)
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        swarm.remember(f)
        alpha = linear(self.alpha_start, self.alpha_end, self.progress)
        share = self.rng.random(swarm.x.shape)
        well = swarm.leader_x + share * (swarm.best_x - swarm.leader_x)
        mean = swarm.best_x.mean(axis=0)
        # A Laplace variable is ln(1/u) with either sign.
        jump = self.rng.laplace(size=swarm.x.shape)
        swarm.x = repair_points(well + alpha * np.abs(mean - swarm.x) * jump, self.box, self.bounds)
        return swarm.x


QUARTER_TURN = pi / 2.0
"""Largest angle of a qubit [rad]."""

QubitReading = Literal["expect", "bits"]


@document_attributes
@dataclass(kw_only=True, eq=False)
class QubitSwarm(VelocitySwarm):
    r"""Particle swarm on the angles of qubits (the QPSO of [1]_).

    The particles are vectors of angles :math:`\theta \in [0, \pi/2]` of qubits
    :math:`\sin\theta\, |0\rangle + \cos\theta\, |1\rangle`, and fly as in Algorithm 2, steps 6-7,

    .. math::

        v &\leftarrow w\, v + c_1 r_1 (\theta_p - \theta) + c_2 r_2 (\theta_g - \theta) \\
        \theta &\leftarrow \theta + v

    with the linearly decreasing inertia of eq. (18). A qubit is measured as 1 with probability
    :math:`\cos^2\theta`, the corrected eq. (28), see below. The paper does not say how a
    measurement becomes a real number:

    - ``expect`` takes the expectation between the bounds,
      :math:`x = l + (u - l) \cos^2\theta`, with one qubit per coordinate. It is deterministic.
    - ``bits`` draws the qubits, `bits` of them per coordinate, and reads them as a binary fraction
      of the box. With one bit per coordinate only corners of the box are reached, as in the paper
      read literally. The memories hold the angles of the best measurements.

    Equation (28) takes :math:`\alpha^2 = \cos^2\theta` for the probability of 0, after the state
    above has defined :math:`\alpha = \sin\theta`: the ``literal`` form. It exchanges 0 and 1, which
    mirrors the angles of a search and changes nothing else.

    "If no improvement for a defined iteration, apply perturbation" (Algorithm 2) has no numbers:
    here, after `patience` iterations without a better point, every velocity gets a normal push.

    The printed c1 = 2.5, c2 = 1.5 with w = 0.99 are unstable; even at the end of the schedule they
    lie outside the region of order-2 stability. The default splits their sum evenly, which lies
    inside. The
    smallest inertia, 0.4, and the velocity limit are not in the paper.

    References
    ----------
    .. [1] Fazilat, Zioui (2025), "Quantum particle swarm optimization (QPSO)-based enhanced dynamic
       model parameters identification for an industrial robotic arm", Mathematics 13(16), 2631,
       doi:10.3390/math13162631.
    """

    population: int = 40
    """Number of particles; the paper has 120."""
    w_start: float = 0.99
    w_end: float = 0.4
    """Inertia weight at the start and at the end of the budget."""
    c1: float = 2.0
    c2: float = 2.0
    """Largest pulls to the particle's own best angles and to the best angles of all."""
    reading: QubitReading = "expect"
    """Conversion of measurements to real numbers."""
    bits: int = 12
    """Qubits per coordinate in the reading ``bits``."""
    form: EquationForm = "corrected"
    """Interpretation of equation (28)."""
    patience: int = 20
    """Iterations without a better point before the swarm is pushed."""
    push: float = 0.02
    """Standard deviation of the push [rad per iteration]."""
    velocity_limit: float = 0.1
    """Largest velocity [rad per iteration]."""
    bounds: WallRule = "absorb"
    """Treatment of angles outside [0, pi/2]; ``none`` is harmless, as the cosine is periodic."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("reading", self.reading, QubitReading)
        checks.one_of("form", self.form, EquationForm)
        checks.require_between("bits", self.bits, 1, 52)
        checks.whole("patience", self.patience, 1)
        checks.require_between("push", self.push, 0.0, QUARTER_TURN)

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w, [1] eq. (18), c1 and c2."""
        return linear(self.w_start, self.w_end, progress), self.c1, self.c2

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        share = (x - self.box.lower) / self.box.width
        if self.reading == "bits":
            share = np.repeat(share, self.bits, axis=1)
        angles = Box(np.zeros(share.shape[1]), np.full(share.shape[1], QUARTER_TURN))
        self._swarm = Swarm(
            angles, self._angle(share), self.velocity_limit / QUARTER_TURN, self.bounds
        )
        self._idle_count = 0
        return self._measure_qubits()

    def _angle(self, probability: Float) -> Float:
        """Return the angle of qubits that are measured as 1 with a probability."""
        root = np.sqrt(np.clip(probability, 0.0, 1.0))
        return np.asarray(np.arcsin(root) if self.form == "literal" else np.arccos(root))

    def _probability(self, angle: Float) -> Float:
        """Return the probability that qubits are measured as 1."""
        amplitude = np.sin(angle) if self.form == "literal" else np.cos(angle)
        return np.asarray(amplitude**2)  # [1] eq. (28)

    def _measure_qubits(self) -> Float2D:
        """Return the points that the angles represent, shape (m, d)."""
        share = self._probability(self._swarm.x)
        if self.reading == "bits":
            ones = self.rng.random(share.shape) < share
            weights = 2.0 ** np.arange(self.bits - 1, -1, -1) / (2.0**self.bits - 1.0)
            share = ones.reshape(self.population, self.box.dim, self.bits) @ weights
        return np.minimum(self.box.lower + share * self.box.width, self.box.upper)

    def _next(self, f: Float1D) -> Float2D:
        swarm, best_before = self._swarm, self._swarm.leader_f
        swarm.remember(f)
        w, c1, c2 = self.coefficients(self.progress)
        v = w * swarm.v + swarm.pulls(c1, c2, self.rng)  # [1] Algorithm 2, step 6
        self._idle_count = 0 if swarm.leader_f < best_before else self._idle_count + 1
        if self._idle_count >= self.patience:
            self._idle_count = 0
            v += self.push * self.rng.standard_normal(v.shape)
        swarm.fly(v)  # [1] Algorithm 2, step 7
        return self._measure_qubits()
