"""Particle swarm that starts afresh when it stagnates."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.optim import checks
from robotid_sim.optim.optimizer import EquationForm, geometric
from robotid_sim.optim.swarm import VelocitySwarm


@documented
@dataclass(kw_only=True, eq=False)
class MutatingSwarm(VelocitySwarm):
    r"""Particle swarm that starts afresh when it stagnates (MuPSO).

    The usual update, eq. (1)-(2) of [1]_, with two geometric schedules, eq. (3)-(4),

    .. math:: w_t = w_\text{start}\, n^t, \qquad c_{2,t} = c_{2,\text{start}} / m^t,

    whose n and m follow from the values at the end of the budget. A counter q watches how the best
    cost F of the swarm falls from one iteration to the next, :math:`e_t = F_{t-1} - F_t`, eq. (5):

    .. math:: q \leftarrow \begin{cases} q + 1 & \text{if } |e_{t-1} - e_t| < E \\
        0 & \text{else} \end{cases} \tag{6}

    and at :math:`q \ge Q` the whole swarm is drawn anew, eq. (7)-(8), memories and all: the best
    point of the swarm would only pull the new particles to where the old ones got stuck. The point
    itself is not lost, as `minimize` keeps it. When that happens is kept in ``mutated_at``, in
    evaluations. As e needs two costs and its change three, the first time is after Q + 2 iterations
    at the earliest.

    Two equations are misprinted. Equation (6) has no absolute value, so that a fall that gets
    faster counts as stagnation. Equation (7) stops at :math:`F \le E`, mutates at
    :math:`F > 10^{-3}`, and says nothing in between; its levels mean something only for costs whose
    minimum is zero. The ``corrected`` form takes the absolute value and always mutates at
    :math:`q \ge Q`; the ``literal`` form does as printed, and goes on where it should stop, which
    is the budget's affair here.

    The printed schedules, w from 2.1 to 0.6 and c2 from 1.8 to 3.9 beside c1 = 2.24, leave the
    swarm outside the order-2 stability region from the first iteration to the last. The default c1
    and c2 are 0.6 times the printed ones, which ends the run inside; see
    `robotid_sim.optim.settings` for the published values.

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
    """How equations (6) and (7) are read."""

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
            self.mutated_at: list[int] = []  # evaluations told at every mutation
        self._last_f, self._last_fall, self._waited = np.inf, np.inf, 0
        return super()._first()

    def _next(self, f: Float1D) -> Float2D:
        if self._stagnates(min(self._swarm.leader_f, float(f.min()))):
            self.mutated_at.append(self.evals)
            return self._first()  # [1] eq. (8)
        return super()._next(f)

    def _stagnates(self, f: float) -> bool:
        """Return whether the swarm is to be drawn anew, from its best cost."""
        if not np.isfinite(f):
            return False
        fall = self._last_f - f  # [1] eq. (5); infinite at first
        change = self._last_fall - fall if np.isfinite(self._last_fall) else np.inf
        if self.form == "corrected":
            change = abs(change)
        self._waited = self._waited + 1 if change < self.threshold else 0  # [1] eq. (6)
        self._last_f, self._last_fall = f, fall
        return self._waited >= self.patience and (self.form == "corrected" or f > 1e-3)  # eq. (7)
