"""Interface of the optimizers.

The module also holds their registry; each optimizer is in a file of its own.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import CallOrderError, OptionError, ShapeError
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import Box, PositionWallRule
from robotid_sim.registry import Registry

EquationForm = Literal["corrected", "literal"]
"""``literal`` is an equation as misprinted, ``corrected`` as intended; docstrings give the
reason."""


class Optimizer(ABC):
    """Method that searches a box for the point of minimum cost by asking for costs of points.

    Hyper-parameters are the fields of the concrete class. `start` resets the state of the search,
    so that one object can be used for many searches::

        optimizer.start(lower, upper, rng, max_evals)
        while ...:
            X = optimizer.ask()          # (m, d): points whose costs are wanted
            optimizer.tell(X, fun(X))    # (m,): their costs

    The number m of points may differ from batch to batch. All points lie in the box, unless the
    hyper-parameter ``bounds`` is ``"none"``. A cost that is not finite counts as infinite.
    Schedules follow the share of the budget that has been told. `minimize` is this loop with
    records.
    """

    sphere_cost: ClassVar[float] = 1e-4
    """Largest cost after 10,000 evaluations of a 5-D sphere function in the test of
    `robotid_sim.testing`; random points cost about 30."""

    box: Box
    """The box that is searched."""
    rng: np.random.Generator
    """The only source of randomness."""
    max_evals: int
    """The budget, in evaluations of single points."""
    evals: int
    """Evaluations told so far."""
    _points: Float2D | None = None
    _asked: bool = False

    def start(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        rng: np.random.Generator,
        max_evals: int,
        first: ArrayLike | None = None,
    ) -> None:
        """Begin a new search.

        Parameters
        ----------
        lower, upper : array_like, shape (d,)
            Bounds of the box, copied.
        rng : numpy.random.Generator
            Source of randomness.
        max_evals : int
            Budget of the search.
        first : array_like, shape (k, d), optional
            Points of the box that belong to the first population; CMA-ES, which has a mean and no
            population, ignores them.

        Raises
        ------
        ShapeError, OptionError
            If the bounds or the first points are invalid, see `Box`, or the budget is not positive.
        """
        # The box converts them to arrays.
        self.box = Box(*(cast(Any, part) for part in (lower, upper, first)))
        checks.whole("the budget of evaluations", max_evals, 1)
        if not isinstance(rng, np.random.Generator):
            raise OptionError(f"rng is a {type(rng).__name__}; give a numpy.random.Generator")
        self.rng, self.max_evals, self.evals = rng, max_evals, 0
        self._points, self._asked = self._first(), False

    def ask(self) -> Float2D:
        """Return the points to evaluate next, shape (m, d); the same until `tell` is called.

        Raises `CallOrderError` if no search was started.
        """
        if self._points is None:
            raise CallOrderError("ask before start; call start(lower, upper, rng, max_evals)")
        self._asked = True
        return self._points.copy()

    def tell(self, X: ArrayLike, f: ArrayLike) -> None:
        """Learn the costs of the points that `ask` returned last.

        Parameters
        ----------
        X : array_like, shape (m, d)
            The points as `ask` returned them.
        f : array_like, shape (m,)
            Their costs.

        Raises
        ------
        CallOrderError
            If `ask` was not called since the last `tell`, or returned other points.
        ShapeError
            Unless there is exactly one cost per point.
        """
        if self._points is None or not self._asked:
            raise CallOrderError("tell before ask; tell the costs of the points that ask returned")
        if not np.array_equal(X, self._points):
            raise CallOrderError("tell got other points than ask returned last")
        costs = finite_costs(f, len(self._points))
        self.evals += costs.size
        self._points, self._asked = self._next(costs), False

    @property
    def progress(self) -> float:
        """Share of the budget that has been told, from 0 to 1."""
        return min(1.0, self.evals / self.max_evals)

    @abstractmethod
    def _first(self) -> Float2D:
        """Make the state of a new search; return the first points to evaluate, shape (m, d)."""

    @abstractmethod
    def _next(self, f: Float1D) -> Float2D:
        """Learn the costs of the last points, which may be infinite; return the next points."""


@document_attributes
@dataclass(kw_only=True, eq=False)
class Population(Optimizer):
    """A method whose members have positions and no velocities."""

    smallest: ClassVar[int] = 2
    """Smallest `population`."""

    population: int = 30
    """Number of members."""
    bounds: PositionWallRule = "clip"
    """Treatment of points at the walls of the box."""
    region: float = 1.0
    """Share of the width of the box, about its center, in which the members start."""

    def __post_init__(self) -> None:
        checks.whole("population", self.population, self.smallest)
        checks.one_of("bounds", self.bounds, PositionWallRule)
        checks.require_between("region", self.region, 1e-12, 1.0)


def linear(start: float, end: float, progress: float) -> float:
    """Return the value on the line from start to end after a share `progress` of the budget."""
    return start + (end - start) * progress


def geometric(start: float, end: float, progress: float) -> float:
    """Return the value on the geometric sequence from start to end; both are positive."""
    return float(start * (end / start) ** progress)


def finite_costs(values: ArrayLike, count: int) -> Float1D:
    """Return the costs of `count` points as float64, with infinity for what is not finite.

    Raises `ShapeError` if they are not `count` real numbers.
    """
    try:
        costs = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ShapeError(f"the costs are not a vector of numbers: {error}") from error
    if costs.dtype.kind not in "fiub":
        raise ShapeError(f"the costs must be real numbers, got {costs.dtype}")
    if costs.shape != (count,):
        raise ShapeError(f"the costs have shape {costs.shape}, expected ({count},), one per point")
    return np.where(np.isfinite(costs), costs, np.inf).astype(np.float64, copy=False)


if TYPE_CHECKING:
    from robotid_sim.optim.optimizer import Optimizer

OPTIMIZERS: "Registry[Optimizer]" = Registry(
    "optimizer",
    "robotid_sim.optim.optimizer:Optimizer",
    {
        "bso": "robotid_sim.optim.bso:BeetleSwarm",
        "cmaes": "robotid_sim.optim.evolution:CmaEs",
        "constriction-pso": "robotid_sim.optim.pso:ConstrictionSwarm",
        "de": "robotid_sim.optim.evolution:DifferentialEvolution",
        "elpidso": "robotid_sim.optim.elpidso:PidSwarm",
        "ga": "robotid_sim.optim.evolution:GeneticAlgorithm",
        "goa": "robotid_sim.optim.animal_swarms:Grasshopper",
        "gwo": "robotid_sim.optim.animal_swarms:GreyWolf",
        "ldw-pso": "robotid_sim.optim.pso:LinearInertiaSwarm",
        "mupso": "robotid_sim.optim.pso:MutatingSwarm",
        "pso": "robotid_sim.optim.pso:ParticleSwarm",
        "qpso-delta": "robotid_sim.optim.qpso:DeltaWellSwarm",
        "qpso-qubit": "robotid_sim.optim.qpso:QubitSwarm",
        "rwpso": "robotid_sim.optim.pso:RandomWeightSwarm",
        "sedsabso": "robotid_sim.optim.bso:AnnealedBeetleSwarm",
        "simulated-annealing": "robotid_sim.optim.evolution:SimulatedAnnealing",
        "woa": "robotid_sim.optim.animal_swarms:WhaleOptimization",
    },
)
