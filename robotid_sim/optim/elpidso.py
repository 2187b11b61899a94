"""Particle swarm with a PID controller and elitist learning."""

from dataclasses import dataclass
from math import exp

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import repair_points
from robotid_sim.optim.optimizer import EquationForm, linear
from robotid_sim.optim.stability import RandomMap, pid_map
from robotid_sim.optim.swarm import VelocitySwarm


@document_attributes
@dataclass(kw_only=True, eq=False)
class PidSwarm(VelocitySwarm):
    r"""Particle swarm with a PID controller and elitist learning (ELPIDSO).

    .. math::

        E_t &= c_1 r_1 (p - x_t) + c_2 r_2 (g - x_t) \\
        v_{t+1} &= w\, v_t + k_p E_t + k_i \sum_{j \le t} E_j + k_d (E_t - E_{t-1}), \qquad
            x_{t+1} = x_t + v_{t+1} \tag{21} \\
        w &= 1 / (1 + 1.5\, e^{-2.6 (1 - s)}) \tag{25}

    with the share s of the budget; c1 falls linearly from 2 to 0 and c2 rises from 0 to 2.

    *Elitist learning.* When a particle has not improved for `patience` iterations in a row, every
    coordinate of its exemplar p is, with probability :math:`P_c`, eq. (26), taken from the better
    of two random particles' best points, else from its own; at least one comes from another
    particle.

    *Mutation.* When the best point g of all has improved, one random coordinate of it is replaced
    by that of a random particle's best point, or, if that particle owns g, moved by eq. (27)-(28),

    .. math:: g_j' = g_j + (u_j - l_j)\, \sigma\, \nu, \qquad
        \sigma = \sigma_\text{start} - (\sigma_\text{start} - \sigma_\text{end})\, s

    with :math:`\nu` standard normal, and the result is kept if it is better.

    *Choices.* The particles move at once, not one after the other, so g improves at most once per
    iteration. The gains of eq. (22)-(24) are only available as images; the defaults satisfy the
    Routh-Hurwitz conditions (17)-(18) and, as these are about continuous time, also keep the
    spectral radius of the discrete update below 1: :math:`k_i` and :math:`k_d` from 0.3 upward do
    not. The sum in eq. (21) is clamped to `windup` boxes, as it adds up random terms.

    Line 26 of Algorithm 1 overwrites the particle's best point by the exemplar, so that its cost
    belongs to another point: the ``literal`` form. The ``corrected`` form keeps both, as in [2]_,
    the source of the scheme. Where lines 39-47 of the algorithm and its text differ on the
    mutation, both forms follow the text.

    References
    ----------
    .. [1] Yan, Lu, Levy (2015), "Parameter identification of robot manipulators: a heuristic
       particle swarm search approach", PLoS ONE 10(6), e0129157, doi:10.1371/journal.pone.0129157.
    .. [2] Liang, Qin, Suganthan, Baskar (2006), "Comprehensive learning particle swarm optimizer
       for global optimization of multimodal functions", IEEE Trans. Evolutionary Computation 10(3),
       doi:10.1109/TEVC.2005.857610.
    """

    population: int = 20
    c1_start: float = 2.0
    c1_end: float = 0.0
    """Largest pull to the exemplar at the start and at the end of the budget."""
    c2_start: float = 0.0
    c2_end: float = 2.0
    """Largest pull to the best point of all at the start and at the end of the budget."""
    kp: float = 1.0
    """Proportional gain."""
    ki: float = 0.05
    kd: float = 0.1
    """Integral and derivative gain at the start; they fall linearly to zero."""
    windup: float = 1.0
    """Largest sum of pulls in eq. (21), share of the box."""
    patience: int = 5
    """Iterations without improvement before a particle learns from others."""
    sigma_start: float = 1.0
    sigma_end: float = 0.1
    """Standard deviation of the mutation at the start and at the end, share of the box."""
    form: EquationForm = "corrected"
    """Interpretation of Algorithm 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("form", self.form, EquationForm)
        checks.positive("windup", self.windup)
        checks.whole("patience", self.patience, 1)

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        ki, kd = self.ki * (1.0 - progress), self.kd * (1.0 - progress)
        return pid_map(*self.coefficients(progress), self.kp, ki, kd)

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w, [1] eq. (25), c1 and c2."""
        w = 1.0 / (1.0 + 1.5 * exp(-2.6 * (1.0 - progress)))
        c1 = linear(self.c1_start, self.c1_end, progress)
        return w, c1, linear(self.c2_start, self.c2_end, progress)

    def _first(self) -> Float2D:
        x = super()._first()
        self._sum, self._last = np.zeros_like(x), np.zeros_like(x)
        self._waited = np.zeros(self.population, dtype=int)
        self._teacher = np.tile(np.arange(self.population)[:, None], (1, self.box.dim))
        self._columns = np.arange(self.box.dim)
        self._probability = compute_learning_probability(self.population)[:, None]
        self._mutant: Float1D | None = None
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm, mutant = self._swarm, self._mutant
        if mutant is None:
            before = swarm.leader_f
            better = swarm.remember(f)
            self._waited = np.where(better, 0, self._waited + 1)
            if swarm.leader_f < before:
                self._mutant = self._mutate()
                return self._mutant[None, :]
        elif f[0] < swarm.leader_f:
            swarm.leader_x, swarm.leader_f = mutant, float(f[0])
        self._mutant = None
        self._learn()
        return self._fly()

    def _mutate(self) -> Float1D:
        """Return the best point of all with one changed coordinate."""
        swarm, rng = self._swarm, self.rng
        other, j = int(rng.integers(self.population)), int(rng.integers(self.box.dim))
        mutant: Float1D = swarm.leader_x.copy()
        if other != int(np.argmin(swarm.best_f)):
            mutant[j] = swarm.best_x[other, j]
        else:
            sigma = linear(self.sigma_start, self.sigma_end, self.progress)  # [1] eq. (28)
            mutant[j] += self.box.width[j] * sigma * rng.standard_normal()  # [1] eq. (27)
        repair_points(mutant[None, :], self.box, self.bounds)
        return mutant

    def _learn(self) -> None:
        """Give new teachers, coordinate by coordinate, to particles that do not improve."""
        stuck = np.flatnonzero(self._waited >= self.patience)
        if not stuck.size:
            return
        rng, dim = self.rng, self.box.dim
        first, second = rng.integers(self.population, size=(2, stuck.size, dim))
        f = self._swarm.best_f
        elite = np.where(f[first] < f[second], first, second)
        taught = rng.random((stuck.size, dim)) < self._probability[stuck]
        taught[np.arange(stuck.size), rng.integers(dim, size=stuck.size)] |= ~taught.any(axis=1)
        self._teacher[stuck] = np.where(taught, elite, stuck[:, None])
        self._waited[stuck] = 0

    def _fly(self) -> Float2D:
        swarm, remaining = self._swarm, 1.0 - self.progress
        exemplar = swarm.best_x[self._teacher, self._columns]
        if self.form == "literal":
            swarm.best_x = exemplar  # [1] Algorithm 1, line 26
        w, c1, c2 = self.coefficients(self.progress)
        pull = swarm.pulls(c1, c2, self.rng, exemplar)
        most = self.windup * self.box.width
        self._sum = np.minimum(np.maximum(self._sum + pull, -most), most)
        control = self.kp * pull + remaining * (self.ki * self._sum + self.kd * (pull - self._last))
        self._last = pull
        return swarm.fly(w * swarm.v + control)  # [1] eq. (21)


def compute_learning_probability(population: int) -> Float1D:
    """Return the probability of learning from others, of every particle; [1] eq. (26)."""
    share = np.arange(population) / (population - 1)
    return np.asarray(0.05 + 0.45 * np.expm1(10.0 * share) / np.expm1(10.0))
