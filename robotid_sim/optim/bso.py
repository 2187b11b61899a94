"""Beetle swarm: particles that feel the slope with two whiskers."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import WallRule, put_inside
from robotid_sim.optim.forms import EquationForm, check_form
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import RandomMap, swarm_map
from robotid_sim.optim.swarm import Swarm, check_swarm


@dataclass(kw_only=True, eq=False)
class BeetleSwarm(Optimizer):
    r"""Beetle swarm: particles that feel the slope with two whiskers (BSO).

    .. math::

        x_{l,r} &= x \pm v\, d_0 / 2, \qquad d_0 = \delta / 2 \tag{13} \\
        \xi &= -\delta\, v\, \operatorname{sign}\!\big( f(x_l) - f(x_r) \big) \tag{12} \\
        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x) \tag{11} \\
        x &\leftarrow x + \lambda\, v + (1 - \lambda)\, \xi \tag{10}

    with the equation numbers of [1]_. An iteration costs three evaluations a beetle. Whiskers count
    for the result of a search, like all that is evaluated, but not for the memories p and g.

    Equation (12) prints :math:`\xi` without the minus sign, which moves a beetle towards its worse
    whisker: the ``literal`` form.

    The printed w = 0.8, c1 = c2 = 2 lie outside the order-2 stability region; the defaults are
    those of the constricted swarm, inside. See `robotid_sim.optim.settings` for the published
    values.

    References
    ----------
    .. [1] Kou, Guo, Ren (2022), "A new method for identifying kinetic parameters of industrial
       robots", Actuators 11(1), 2, doi:10.3390/act11010002.
    .. [2] Wang, Yang, Li (2018), "Beetle swarm optimization algorithm: theory and application",
       arXiv:1808.00206.
    """

    population: int = 50
    """Number of beetles."""
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
    form: EquationForm = "corrected"
    """How equation (12) is read."""
    velocity_limit: float = 0.2
    """Largest velocity, share of the box per iteration; not in the paper."""
    bounds: WallRule = "absorb"
    """What happens at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, that the beetles start in; the paper's is small."""

    def __post_init__(self) -> None:
        check_swarm(self.population, self.velocity_limit, self.bounds, self.region)
        check_beetles(self.mix, self.step, self.form)

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        del progress
        return beetle_map(self.w, self.c1, self.c2, self.mix, self.step)

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        return with_whiskers(self._swarm, self.step)

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        steps = own_steps(swarm, f, self.step, self.form)
        swarm.accelerate(self.w * swarm.v + swarm.pulls(self.c1, self.c2, self.rng))  # eq. (11)
        swarm.move(self.mix * swarm.v + (1.0 - self.mix) * steps)  # [1] eq. (10)
        return with_whiskers(swarm, self.step)


def check_beetles(mix: float, step: float, form: str) -> None:
    """Refuse hyper-parameters that no beetle can have."""
    checks.between("mix", mix, 0.0, 1.0)
    checks.positive("step", step)
    check_form(form)


def beetle_map(w: float, c1: float, c2: float, mix: float, step: float) -> RandomMap:
    """Return the update of one coordinate; the sign of the own step is taken as random."""
    return swarm_map(w, c1, c2, gain=mix, sway=(1.0 - mix) * step)


def with_whiskers(swarm: Swarm, step: float) -> Float2D:
    """Return positions, left and right whiskers of all beetles, shape (3 m, d).

    Beetles that rest, at the start, have no whiskers: positions only, shape (m, d).
    """
    if not swarm.v.any():
        return swarm.x
    reach = swarm.v * (step / 4.0)  # d0 / 2
    X = np.concatenate([swarm.x, swarm.x + reach, swarm.x - reach])  # [1] eq. (13)
    return put_inside(X, swarm.box, swarm.bounds)


def own_steps(swarm: Swarm, f: Float1D, step: float, form: EquationForm) -> Float2D:
    """Let the beetles remember; return the steps xi that their whiskers lead them to.

    Parameters
    ----------
    swarm : Swarm
        The beetles, where `with_whiskers` found them.
    f : ndarray, shape (3 m,) or (m,)
        Costs of the points of `with_whiskers`.
    step : float
        Length of the steps, in velocities.
    form : str
        How eq. (12) is read.
    """
    here, *whiskers = f.reshape(-1, len(swarm.x))
    swarm.remember(here)
    if not whiskers:
        return np.zeros_like(swarm.x)
    left, right = whiskers
    worse_left = (left > right).astype(float) - (left < right)  # a sign that infinity does not harm
    forward = -step if form == "corrected" else step
    return forward * worse_left[:, None] * swarm.v  # [1] eq. (12)
