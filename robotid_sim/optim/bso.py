"""Beetle swarms: particles that feel the slope with two whiskers."""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import repair_points
from robotid_sim.optim.optimizer import EquationForm
from robotid_sim.optim.stability import RandomMap, swarm_map
from robotid_sim.optim.swarm import Swarm, VelocitySwarm


@document_attributes
@dataclass(kw_only=True, eq=False)
class BeetleSwarm(VelocitySwarm):
    r"""Beetle swarm: particles that feel the slope with two whiskers (BSO).

    .. math::

        x_{l,r} &= x \pm v\, d_0 / 2, \qquad d_0 = \delta / 2 \tag{13} \\
        \xi &= -\delta\, v\, \operatorname{sign}\!\big( f(x_l) - f(x_r) \big) \tag{12} \\
        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x) \tag{11} \\
        x &\leftarrow x + \lambda\, v + (1 - \lambda)\, \xi \tag{10}

    with the equation numbers of [1]_. An iteration costs three evaluations per beetle. Whiskers
    count for the result of a search, like all evaluated points, but not for the memories p and g.

    Equation (12) prints :math:`\xi` without the minus sign, which moves a beetle towards its worse
    whisker: the ``literal`` form.

    The printed w = 0.8, c1 = c2 = 2 lie outside the order-2 stability region; the defaults are
    those of the constricted swarm, inside. See `robotid_sim.optim.minimize` for the published
    values.

    References
    ----------
    .. [1] Kou, Guo, Ren (2022), "A new method for identifying kinetic parameters of industrial
       robots", Actuators 11(1), 2, doi:10.3390/act11010002.
    .. [2] Wang, Yang, Li (2018), "Beetle swarm optimization algorithm: theory and application",
       arXiv:1808.00206.
    """

    population: int = 50
    w: float = 0.7298
    """Inertia weight."""
    c1: float = 1.49618
    c2: float = 1.49618
    """Largest pulls to the beetle's own best point and to the best point of all."""
    mix: float = 0.9
    """Share of the swarm's velocity in a step, lambda; the rest is the beetle's own step."""
    step: float = 0.05
    """Length of the beetle's own step, delta, in velocities; whisker distance is half of it."""
    form: EquationForm = "corrected"
    """Interpretation of equation (12)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.require_between("mix", self.mix, 0.0, 1.0)
        checks.positive("step", self.step)
        checks.one_of("form", self.form, EquationForm)

    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w, c1 and c2."""
        del progress
        return self.w, self.c1, self.c2

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; the sign of the beetle's step counts as random."""
        sway = (1.0 - self.mix) * self.step
        return swarm_map(*self.coefficients(progress), gain=self.mix, sway=sway)

    def _first(self) -> Float2D:
        super()._first()
        return self._stack_whiskers()

    def _next(self, f: Float1D) -> Float2D:
        self._move(self._own_steps(f))
        return self._stack_whiskers()

    def _move(self, steps: Float2D) -> None:
        """Move by the swarm's velocity and the beetles' steps xi."""
        swarm = self._swarm
        swarm.set_velocities(self.w * swarm.v + swarm.pulls(self.c1, self.c2, self.rng))  # eq. (11)
        swarm.move(self.mix * swarm.v + (1.0 - self.mix) * steps)  # [1] eq. (10)

    def _stack_whiskers(self) -> Float2D:
        """Return positions, left and right whiskers of all beetles, shape (3 m, d).

        Beetles that rest, at the start, have no whiskers: positions only, shape (m, d).
        """
        swarm = self._swarm
        if not swarm.v.any():
            return swarm.x
        reach = swarm.v * (self.step / 4.0)  # d0 / 2
        X = np.concatenate([swarm.x, swarm.x + reach, swarm.x - reach])  # [1] eq. (13)
        return repair_points(X, swarm.box, swarm.bounds)

    def _own_steps(self, f: Float1D) -> Float2D:
        """Remember the costs f, (3 m,) or (m,); return the steps xi by the whiskers."""
        swarm = self._swarm
        here, *whiskers = f.reshape(-1, len(swarm.x))
        swarm.remember(here)
        if not whiskers:
            return np.zeros_like(swarm.x)
        left_side, right = whiskers
        # The sign is also right for infinite costs.
        worse_left = (left_side > right).astype(float) - (left_side < right)
        forward = -self.step if self.form == "corrected" else self.step
        return forward * worse_left[:, None] * swarm.v  # [1] eq. (12)


@document_attributes
@dataclass(kw_only=True, eq=False)
class AnnealedBeetleSwarm(BeetleSwarm):
    r"""Beetle swarm with a shrinking population and an annealed leader (SEDSABSO).

    The beetles fly as in `BeetleSwarm`. After every move the best point g of all is disturbed q
    times in a row, and a disturbed point is accepted with the probability of Metropolis,

    .. math:: g' = g + s\, (2 r - 1) \circ (u - l), \qquad
        P = \min\{1, e^{-(f' - f)/T}\}, \qquad T \leftarrow \kappa\, T, \tag{14}

    with r uniform in [0, 1] for every coordinate of the box [l, u]. A better one replaces g.
    The number of beetles falls exponentially with the iteration t of :math:`t_\text{max}`,

    .. math:: N_t = \operatorname{round}(N_\text{start}\, e^{\alpha}), \qquad
        \alpha = \ln f_\text{max} - t\,
            \frac{\ln f_\text{max} - \ln f_\text{min}}{t_\text{max}}, \tag{15, 16}

    the beetles with the worst memories first; :math:`t_\text{max}` is the number of iterations
    within the budget.

    Three equations are misprinted [1]_. Equation (12), see `BeetleSwarm`. Equation (14) prints
    :math:`g' = g (1 + r)` with one r, which only inflates, never moves a coordinate that is zero,
    and depends on the origin. Equation (16) prints the opposite sign, with which the population
    grows from 100 to 300 where the paper describes and plots its fall from 81 to 27. The
    ``literal`` form does all three as printed; new beetles start at random points, at rest.

    At the printed initial temperature every disturbed point is accepted until T has fallen to the
    differences of the cost, about half the run for costs near one. w, c1 and c2 default to values
    inside the order-2 stability region; see `robotid_sim.optim.minimize` for the published ones.

    References
    ----------
    .. [1] Kou, Guo, Ren (2022), "A new method for identifying kinetic parameters of industrial
       robots", Actuators 11(1), 2, doi:10.3390/act11010002, eq. (10)-(16).
    """

    population: int = 90
    """Number of beetles to which the schedule is relative, N_start."""
    f_max: float = 0.9
    f_min: float = 0.3
    """Shares of it at the start and at the end of the budget."""
    disturbances: int = 3
    """Disturbances of the best point per iteration, q."""
    disturbance: float = 0.05
    """Largest disturbance, s, as a share of the box; not in the literal form."""
    temperature: float = 1e4
    """Initial temperature, in units of the cost."""
    cooling: float = 0.93
    """Factor of the temperature from one iteration to the next, kappa."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.require_between("f_max", self.f_max, 1.0 / self.population, 1.0)
        checks.require_between("f_min", self.f_min, 1.0 / self.population, self.f_max)
        checks.whole("disturbances", self.disturbances, 0)
        checks.positive("disturbance", self.disturbance)
        checks.positive("temperature", self.temperature)
        checks.require_between("cooling", self.cooling, 0.0, 1.0)

    def population_at(self, share: float) -> int:
        """Return the number of beetles after a share of the iterations, eq. (15)-(16)."""
        alpha = log(self.f_max) - share * log(self.f_max / self.f_min)
        return round(self.population * exp(alpha if self.form == "corrected" else -alpha))

    def population_sizes(self, iterations: int) -> Int1D:
        """Return the number of beetles in every iteration t = 1, 2, ..., shape (iterations,)."""
        return np.array([self.population_at(t / iterations) for t in range(1, iterations + 1)])

    def iterations(self, max_evals: int) -> int:
        """Return the number of iterations within a budget, at least 1."""
        mean = np.mean(self.population_sizes(1000))
        return max(1, round(max_evals / (3.0 * mean + self.disturbances)))

    def _first(self) -> Float2D:
        self._iterations, self._iteration = self.iterations(self.max_evals), 1
        x = self.box.scatter(self.population_at(1.0 / self._iterations), self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        self._disturbed, self._T = 0, self.temperature
        return self._stack_whiskers()

    def _next(self, f: Float1D) -> Float2D:
        if self._disturbed == 0:
            self._own = self._own_steps(f)
            self._current = (self._swarm.leader_x, self._swarm.leader_f)
        else:
            self._judge(float(f[0]))
        if self._disturbed < self.disturbances:
            self._disturbed += 1
            self._candidate = self._disturb(self._current[0])
            return self._candidate[None, :]
        self._disturbed = 0
        self._T *= self.cooling
        swarm = self._swarm
        self._move(self._own)
        self._iteration += 1
        count = self.population_at(min(1.0, self._iteration / self._iterations))
        if count < len(swarm.x):
            swarm.keep(np.sort(np.argsort(swarm.best_f, kind="stable")[:count]))
        elif count > len(swarm.x):
            swarm.add(self.box.scatter(count - len(swarm.x), self.region, self.rng))
        return self._stack_whiskers()

    def _disturb(self, g: Float1D) -> Float1D:
        """Return a point about g, eq. (14)."""
        if self.form == "literal":
            moved = g * (1.0 + self.rng.random())
        else:
            shift = 2.0 * self.rng.random(g.size) - 1.0
            moved = g + self.disturbance * shift * self.box.width
        repair_points(moved[None, :], self.box, self.bounds)
        return moved

    def _judge(self, f: float) -> None:
        """Accept or refuse the candidate of cost f; lead by it if it is the best of all."""
        swarm, candidate = self._swarm, self._candidate
        if f < swarm.leader_f:
            swarm.leader_x, swarm.leader_f = candidate, f
        rise = f - self._current[1] if np.isfinite(f) else np.inf
        # The comparison with 1 minus a random number keeps the logarithm finite.
        if rise <= 0.0 or rise < -self._T * log(1.0 - self.rng.random()):
            self._current = (candidate, f)
