"""Beetle swarm with a shrinking population and an annealed leader."""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import WallRule, put_inside
from robotid_sim.optim.bso import beetle_map, check_beetles, own_steps, with_whiskers
from robotid_sim.optim.forms import EquationForm
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import RandomMap
from robotid_sim.optim.swarm import Swarm, check_swarm


@dataclass(kw_only=True, eq=False)
class AnnealedBeetleSwarm(Optimizer):
    r"""Beetle swarm with a shrinking population and an annealed leader (SEDSABSO).

    The beetles fly as in `robotid_sim.optim.bso.BeetleSwarm`. After every move the best point g of
    all is disturbed q times in a row, and a disturbed point is accepted with the probability of
    Metropolis,

    .. math:: g' = g + s\, (2 r - 1) \circ (u - l), \qquad
        P = \min\{1, e^{-(f' - f)/T}\}, \qquad T \leftarrow \kappa\, T, \tag{14}

    with r uniform in [0, 1] for every coordinate of the box [l, u]. A better one replaces g.
    The number of beetles falls exponentially with the iteration t of :math:`t_\text{max}`,

    .. math:: N_t = \operatorname{round}(N_\text{start}\, e^{\alpha}), \qquad
        \alpha = \ln f_\text{max} - t\,
            \frac{\ln f_\text{max} - \ln f_\text{min}}{t_\text{max}}, \tag{15, 16}

    the beetles with the worst memories first; :math:`t_\text{max}` is what the budget pays for.

    Three equations are misprinted [1]_. Equation (12), see `BeetleSwarm`. Equation (14) prints
    :math:`g' = g (1 + r)` with one r, which only inflates, never moves a coordinate that is zero,
    and depends on the origin. Equation (16) prints the opposite sign, with which the population
    grows from 100 to 300 where the paper describes and plots its fall from 81 to 27. The
    ``literal`` form does all three as printed; beetles that are born start anywhere, at rest.

    At the printed initial temperature every disturbed point is accepted until T has fallen to the
    differences of the cost, about half the run for costs near one. w, c1 and c2 default to values
    inside the order-2 stability region; see `robotid_sim.optim.settings` for the published ones.

    References
    ----------
    .. [1] Kou, Guo, Ren (2022), "A new method for identifying kinetic parameters of industrial
       robots", Actuators 11(1), 2, doi:10.3390/act11010002, eq. (10)-(16).
    """

    population: int = 90
    """Number of beetles that the schedule is relative to, N_start."""
    f_max: float = 0.9
    """Share of it at the start."""
    f_min: float = 0.3
    """Share of it at the end of the budget."""
    w: float = 0.7298
    """Inertia weight."""
    c1: float = 1.49618
    """Largest pull to the beetle's own best point."""
    c2: float = 1.49618
    """Largest pull to the best point of all."""
    mix: float = 0.9
    """Share of the swarm's velocity in a step, lambda; the rest is the beetle's own step."""
    step: float = 0.05
    """Length of the beetle's own step, delta, in velocities; whiskers are half of it apart."""
    disturbances: int = 3
    """Disturbances of the best point per iteration, q."""
    disturbance: float = 0.05
    """Largest disturbance, s, as a share of the box; not in the literal form."""
    temperature: float = 1e4
    """Initial temperature, in units of the cost."""
    cooling: float = 0.93
    """Factor of the temperature from one iteration to the next, kappa."""
    form: EquationForm = "corrected"
    """How equations (12), (14) and (16) are read."""
    velocity_limit: float = 0.2
    """Largest velocity, share of the box per iteration; not in the paper."""
    bounds: WallRule = "absorb"
    """What happens at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, that the beetles start in; the paper's is small."""

    def __post_init__(self) -> None:
        check_swarm(self.population, self.velocity_limit, self.bounds, self.region)
        check_beetles(self.mix, self.step, self.form)
        checks.between("f_max", self.f_max, 1.0 / self.population, 1.0)
        checks.between("f_min", self.f_min, 1.0 / self.population, self.f_max)
        checks.whole("disturbances", self.disturbances, 0)
        checks.positive("disturbance", self.disturbance)
        checks.positive("temperature", self.temperature)
        checks.between("cooling", self.cooling, 0.0, 1.0)

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        del progress
        return beetle_map(self.w, self.c1, self.c2, self.mix, self.step)

    def population_at(self, share: float) -> int:
        """Return the number of beetles after a share of the iterations, eq. (15)-(16)."""
        alpha = log(self.f_max) - share * log(self.f_max / self.f_min)
        return round(self.population * exp(alpha if self.form == "corrected" else -alpha))

    def population_sizes(self, iterations: int) -> Int1D:
        """Return the number of beetles in every iteration t = 1, 2, ..., shape (iterations,)."""
        return np.array([self.population_at(t / iterations) for t in range(1, iterations + 1)])

    def iterations(self, max_evals: int) -> int:
        """Return how many iterations a budget pays for, at least 1."""
        mean = np.mean(self.population_sizes(1000))
        return max(1, round(max_evals / (3.0 * mean + self.disturbances)))

    def _first(self) -> Float2D:
        self._iterations, self._iteration = self.iterations(self.max_evals), 1
        x = self.box.scatter(self.population_at(1.0 / self._iterations), self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        self._disturbed, self._T = 0, self.temperature
        return with_whiskers(self._swarm, self.step)

    def _next(self, f: Float1D) -> Float2D:
        if self._disturbed == 0:
            self._own = own_steps(self._swarm, f, self.step, self.form)
            self._current = (self._swarm.leader_x, self._swarm.leader_f)
        else:
            self._judge(float(f[0]))
        if self._disturbed < self.disturbances:
            self._disturbed += 1
            self._candidate = self._disturb(self._current[0])
            return self._candidate[None, :]
        self._disturbed = 0
        self._T *= self.cooling
        self._iterate()
        return with_whiskers(self._swarm, self.step)

    def _disturb(self, g: Float1D) -> Float1D:
        """Return a point about g, eq. (14)."""
        if self.form == "literal":
            moved = g * (1.0 + self.rng.random())
        else:
            shift = 2.0 * self.rng.random(g.size) - 1.0
            moved = g + self.disturbance * shift * self.box.width
        put_inside(moved[None, :], self.box, self.bounds)
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

    def _iterate(self) -> None:
        """Move the beetles, then let the worst of them go, or new ones come."""
        swarm = self._swarm
        swarm.accelerate(self.w * swarm.v + swarm.pulls(self.c1, self.c2, self.rng))  # eq. (11)
        swarm.move(self.mix * swarm.v + (1.0 - self.mix) * self._own)  # [1] eq. (10)
        self._iteration += 1
        count = self.population_at(min(1.0, self._iteration / self._iterations))
        if count < len(swarm.x):
            swarm.keep(np.sort(np.argsort(swarm.best_f, kind="stable")[:count]))
        elif count > len(swarm.x):
            swarm.add(self.box.scatter(count - len(swarm.x), self.region, self.rng))
