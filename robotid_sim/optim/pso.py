"""Particle swarms that differ by their inertia: constant, decreasing, constricted, random.

Another one restarts when it stagnates.
"""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.optim import checks
from robotid_sim.optim.optimizer import EquationForm, geometric, linear
from robotid_sim.optim.stability import RandomMap, swarm_map
from robotid_sim.optim.swarm import VelocitySwarm


@document_attributes
@dataclass(kw_only=True, eq=False)
class ParticleSwarm(VelocitySwarm):
    r"""Particle swarm with constant inertia.

    .. math::

        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x) \\
        x &\leftarrow x + v

    with the best point p of the particle, the best point g of all, and :math:`r_1, r_2` uniform in
    [0, 1] for every coordinate. The defaults equal the constricted swarm of [3]_; they lie inside
    the order-2 stability region.

    References
    ----------
    .. [1] Shi, Eberhart (1998), "A modified particle swarm optimizer", IEEE Int. Conf. Evolutionary
       Computation, doi:10.1109/ICEC.1998.699146.
    .. [2] Kennedy, Eberhart (1995), "Particle swarm optimization", Proc. IEEE Int. Conf. Neural
       Networks, doi:10.1109/ICNN.1995.488968.
    .. [3] Clerc, Kennedy (2002), "The particle swarm - explosion, stability, and convergence in a
       multidimensional complex space", IEEE Trans. Evolutionary Computation,
       doi:10.1109/4235.985692.
    """

    w: float = 0.7298
    """Inertia weight."""
    c1: float = 1.49618
    c2: float = 1.49618
    """Largest pulls to the particle's own best point and to the best point of all."""
    velocity_limit: float = 0.5

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w, c1 and c2."""
        del progress
        return self.w, self.c1, self.c2


@document_attributes
@dataclass(kw_only=True, eq=False)
class LinearInertiaSwarm(VelocitySwarm):
    r"""Particle swarm whose inertia decreases linearly (LDW-PSO, also called SPSO).

    .. math::

        w &= w_\text{start} - (w_\text{start} - w_\text{end})\, t / t_\text{max} \\
        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x), \qquad x \leftarrow x + v

    with the share of the budget for :math:`t / t_\text{max}`. Early the swarm is outside the
    order-2 stability region and explores, held by the velocity limit; with the defaults it enters
    the region after 80 % of the run and ends close to its edge.

    References
    ----------
    .. [1] Shi, Eberhart (1999), "Empirical study of particle swarm optimization", Congress on
       Evolutionary Computation, doi:10.1109/CEC.1999.785511.
    """

    population: int = 40
    w_start: float = 0.9
    w_end: float = 0.4
    """Inertia weight at the start and at the end of the budget."""
    c1: float = 2.0
    c2: float = 2.0
    """Largest pulls to the particle's own best point and to the best point of all."""

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w, c1 and c2."""
        return linear(self.w_start, self.w_end, progress), self.c1, self.c2


@document_attributes
@dataclass(kw_only=True, eq=False)
class ConstrictionSwarm(VelocitySwarm):
    r"""Particle swarm with the constriction factor of Clerc and Kennedy.

    .. math::

        v &\leftarrow \chi \big( v + c_1 r_1 (p - x) + c_2 r_2 (g - x) \big), \qquad
            x \leftarrow x + v \\
        \chi &= \frac{2 \kappa}{\left| 2 - c - \sqrt{c^2 - 4 c} \right|}, \qquad c = c_1 + c_2 > 4

    The factor makes the deterministic particle converge for every such c [1]_. The random one is
    stable of order 2 for c above 4.07.

    References
    ----------
    .. [1] Clerc, Kennedy (2002), "The particle swarm - explosion, stability, and convergence in a
       multidimensional complex space", IEEE Trans. Evolutionary Computation,
       doi:10.1109/4235.985692.
    .. [2] Eberhart, Shi (2000), "Comparing inertia weights and constriction factors in particle
       swarm optimization", Congress on Evolutionary Computation, doi:10.1109/CEC.2000.870279.
    """

    c1: float = 2.05
    c2: float = 2.05
    """Largest pulls to the particle's own best point and to the best of all, unconstricted."""
    kappa: float = 1.0
    """Speed of convergence, from 0 to 1; 1 is the slowest."""
    velocity_limit: float = 0.5
    """Largest velocity, share of the box per iteration; [2]_ recommends half the box."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.require_between("kappa", self.kappa, 1e-6, 1.0)
        if not self.c1 + self.c2 > 4.0:
            raise OptionError(f"c1 + c2 is {self.c1 + self.c2}; constriction needs more than 4")

    @property
    def chi(self) -> float:
        """The constriction factor."""
        c = self.c1 + self.c2
        return 2.0 * self.kappa / abs(2.0 - c - sqrt(c**2 - 4.0 * c))

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w, c1 and c2."""
        del progress
        return self.chi, self.chi * self.c1, self.chi * self.c2

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        swarm.remember(f)
        return swarm.fly(self.chi * (swarm.v + swarm.pulls(self.c1, self.c2, self.rng)))


@document_attributes
@dataclass(kw_only=True, eq=False)
class RandomWeightSwarm(VelocitySwarm):
    r"""Particle swarm with random inertia (RWPSO).

    .. math::

        \mu &= \mu_\text{min} + (\mu_\text{max} - \mu_\text{min})\, \rho, \qquad
            w = \mu + \sigma\, \nu \\
        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x), \qquad x \leftarrow x + v

    with :math:`\rho` uniform in [0, 1] and :math:`\nu` standard normal, both drawn anew for every
    particle and iteration; eq. (13)-(15) of [1]_.

    Equation (15) prints :math:`\mu_\text{min} + (\mu_\text{max} - \mu_\text{min}) + \rho`: the
    ``literal`` form. Its inertia lies above 1 most of the time, whatever :math:`\mu_\text{min}`.

    The paper gives c1 = 1.5, c2 = 3 and no :math:`\mu` or :math:`\sigma`. With c1 + c2 = 4.5 no
    inertia is stable of order 2, so c2 defaults to 1.5, which can be; see
    `robotid_sim.optim.minimize` for the published values.

    References
    ----------
    .. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316, doi:10.3390/machines11020316.
    """

    population: int = 50
    """Number of particles; the paper has 200."""
    mu_min: float = 0.5
    mu_max: float = 0.9
    """Smallest and largest mean of the inertia weight."""
    sigma: float = 0.2
    """Standard deviation of the inertia weight about its mean."""
    c1: float = 1.5
    c2: float = 1.5
    """Largest pulls to the particle's own best point and to the best point of all."""
    form: EquationForm = "corrected"
    """Interpretation of equation (15)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("form", self.form, EquationForm)
        checks.require_between("mu_min", self.mu_min, 0.0, self.mu_max)
        checks.require_between("sigma", self.sigma, 0.0, 10.0)

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return the mean of w, c1 and c2."""
        del progress
        return self._lowest() + self._spread() / 2.0, self.c1, self.c2

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate, with random inertia."""
        variance = self._spread() ** 2 / 12.0 + self.sigma**2
        return swarm_map(*self.coefficients(progress), w_variance=variance)

    def _lowest(self) -> float:
        return self.mu_max if self.form == "literal" else self.mu_min

    def _spread(self) -> float:
        return 1.0 if self.form == "literal" else self.mu_max - self.mu_min

    def _next(self, f: Float1D) -> Float2D:
        swarm, each = self._swarm, (self.population, 1)
        swarm.remember(f)
        mu = self._lowest() + self._spread() * self.rng.random(each)  # [1] eq. (15)
        w = mu + self.sigma * self.rng.standard_normal(each)
        return swarm.fly(w * swarm.v + swarm.pulls(self.c1, self.c2, self.rng))  # [1] eq. (13)-(14)


@document_attributes
@dataclass(kw_only=True, eq=False)
class MutatingSwarm(VelocitySwarm):
    r"""Particle swarm that restarts when it stagnates (MuPSO).

    The usual update, eq. (1)-(2) of [1]_, with two geometric schedules, eq. (3)-(4),

    .. math:: w_t = w_\text{start}\, n^t, \qquad c_{2,t} = c_{2,\text{start}} / m^t,

    whose n and m follow from the values at the end of the budget. A counter q watches how the best
    cost F of the swarm falls from one iteration to the next, :math:`e_t = F_{t-1} - F_t`, eq. (5):

    .. math:: q \leftarrow \begin{cases} q + 1 & \text{if } |e_{t-1} - e_t| < E \\
        0 & \text{else} \end{cases} \tag{6}

    and at :math:`q \ge Q` the whole swarm is drawn anew, eq. (7)-(8), including its memories: the
    best point of the swarm would only pull the new particles to where the old ones got stuck. The
    point itself is not lost, as `minimize` keeps it. The times of restarts are kept in
    ``mutated_at``, in evaluations. As e needs two costs and its change three, the first time is
    after Q + 2 iterations at the earliest.

    Two equations are misprinted. Equation (6) has no absolute value, so that a fall that gets
    faster counts as stagnation. Equation (7) stops at :math:`F \le E`, mutates at :math:`F >
    10^{-3}`, and says nothing in between; its levels are meaningful only for costs whose minimum is
    zero. The ``corrected`` form takes the absolute value and always mutates at :math:`q \ge Q`; the
    ``literal`` form is as printed, and continues where it should stop, because here the budget ends
    the run.

    The printed schedules, w from 2.1 to 0.6 and c2 from 1.8 to 3.9 beside c1 = 2.24, leave the
    swarm outside the order-2 stability region from the first iteration to the last. The default c1
    and c2 are 0.6 times the printed ones, which ends the run inside; see
    `robotid_sim.optim.minimize` for the published values.

    References
    ----------
    .. [1] Umar, Shi, Khlil, Farouk (2021), "Industrial manipulator dynamic parameter estimation
       using mutating particle swarm optimization (MuPSO)", Nigerian Journal of Technology 40(4),
       doi:10.4314/njt.v40i4.14.
    """

    sphere_cost: ClassVar[float] = 1e-2  # explores with growing velocities for most of a run

    population: int = 50
    w_start: float = 2.1
    w_end: float = 0.6
    """Inertia weight at the start and at the end of the budget."""
    c1: float = 0.6 * 2.24
    """Largest pull to the particle's own best point."""
    c2_start: float = 0.6 * 1.8
    c2_end: float = 0.6 * 3.9
    """Largest pull to the best point of all at the start and at the end of the budget."""
    threshold: float = 1e-8
    """Abandonment threshold E, in units of the cost."""
    patience: int = 10
    """Abandonment limit Q, in iterations."""
    form: EquationForm = "corrected"
    """Interpretation of equations (6) and (7)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("form", self.form, EquationForm)
        for name in ("w_start", "w_end", "c2_start", "c2_end", "threshold"):
            checks.positive(name, getattr(self, name))
        checks.whole("patience", self.patience, 1)

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w, [1] eq. (3), c1, and c2, eq. (4)."""
        w = geometric(self.w_start, self.w_end, progress)
        return w, self.c1, geometric(self.c2_start, self.c2_end, progress)

    def _first(self) -> Float2D:
        if self.evals == 0:
            self.mutated_at: list[int] = []  # number of evaluations at every mutation
        self._last_f, self._last_fall, self._waited = np.inf, np.inf, 0
        return super()._first()

    def _next(self, f: Float1D) -> Float2D:
        if self._is_stagnant(min(self._swarm.leader_f, float(f.min()))):
            self.mutated_at.append(self.evals)
            return self._first()  # [1] eq. (8)
        return super()._next(f)

    def _is_stagnant(self, f: float) -> bool:
        """Return whether the swarm must be redrawn, by its best cost."""
        if not np.isfinite(f):
            return False
        fall = self._last_f - f  # [1] eq. (5); infinite at first
        change = self._last_fall - fall if np.isfinite(self._last_fall) else np.inf
        if self.form == "corrected":
            change = abs(change)
        self._waited = self._waited + 1 if change < self.threshold else 0  # [1] eq. (6)
        self._last_f, self._last_fall = f, fall
        return self._waited >= self.patience and (self.form == "corrected" or f > 1e-3)  # eq. (7)
