"""The common driver of all optimizers.

The module also lists published configurations of the five papers, and their known errors.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.optim.optimizer import OPTIMIZERS, Optimizer, finite_costs
from robotid_sim.optim.stability import MovingOptimizer, stability
from robotid_sim.threads import one_blas_thread

Cost = Callable[[Float2D], ArrayLike]
"""Costs of points, (m, d) to (m,)."""


@dataclass(frozen=True, slots=True, eq=False)
class OptimResult:
    """Result of a search, with scipy's names."""

    x: Float1D
    """Best evaluated point, shape (d,); the first one if no cost was finite."""
    fun: float
    """Its cost; infinite if no cost was finite."""
    nfev: int
    """Number of points evaluated."""
    nit: int
    """Number of batches evaluated."""
    success: bool
    """Whether the search ended by itself, with a finite cost."""
    message: str
    """Reason for the end."""
    history: Float2D
    """Points evaluated and best cost after every batch, shape (nit, 2)."""


@one_blas_thread()
def minimize(
    fun: Cost,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    method: str | Optimizer = "pso",
    max_evals: int = 10_000,
    rng: int | np.random.Generator = 0,
    target: float = -np.inf,
    first: ArrayLike | None = None,
    callback: Callable[[int, float], None] | None = None,
    **options: Any,
) -> OptimResult:
    """Return the best point of a box that a method finds within a number of evaluations.

    The budget is kept exactly: if a batch would exceed it, only its first points are evaluated, and
    the optimizer is not told. Costs that are not finite count as infinite. At Ctrl-C the best point
    so far is returned. The same seed gives the same bits.

    Parameters
    ----------
    fun : callable
        Takes points, shape (m, d), and returns their costs, shape (m,). It gets a copy, so that it
        may work in place.
    lower, upper : array_like, shape (d,)
        Bounds.
    method : str or Optimizer
        A name in `OPTIMIZERS`, or an optimizer, whose state is overwritten.
    max_evals : int
        Number of points to evaluate, at most.
    rng : int or numpy.random.Generator
        Seed, or source, of randomness.
    target : float
        Cost at which to stop.
    first : array_like, shape (k, d), optional
        Points of the box that are known before the search; see `Optimizer.start`.
    callback : callable, optional
        Called after every batch with the number of evaluations and the best cost.
    **options
        Hyper-parameters of the method, if it is a name.

    Returns
    -------
    result : OptimResult
        The best point, its cost, and the course of the search.

    Raises
    ------
    UnknownNameError
        If no method has this name.
    OptionError
        If an option, a bound or the budget is invalid.
    ShapeError
        If bounds or costs have the wrong shape or are not numbers. Errors of `fun` pass through,
        with a note that states the evaluation.
    """
    optimizer = _build_optimizer(method, options)
    stream = np.random.default_rng(rng) if isinstance(rng, int) else rng
    optimizer.start(lower, upper, stream, max_evals, first)
    search = _Search(fun)
    message = "the target is reached"
    try:
        while search.x is None or search.best > target:
            budget_left = max_evals - search.nfev
            if budget_left == 0:
                message = "the budget is spent"
                break
            X = optimizer.ask()
            costs = search.evaluate(X[:budget_left])
            if len(costs) == len(X):
                optimizer.tell(X, costs)
            if callback is not None:
                callback(search.nfev, search.best)
    except KeyboardInterrupt:
        if search.x is None:
            raise
        return search.result("interrupted; this is the best point so far", ended=False)
    return search.result(message, ended=True)


def _build_optimizer(method: str | Optimizer, options: dict[str, Any]) -> Optimizer:
    if isinstance(method, str):
        return OPTIMIZERS.build(method, **options)
    if not isinstance(method, Optimizer):
        raise OptionError(f"method is a {type(method).__name__}; give a name or an optimizer")
    if options:
        name = next(iter(options))
        raise OptionError(f"option '{name}' beside a ready optimizer; give it to its constructor")
    return method


@dataclass(eq=False)
class _Search:
    """Records of a search."""

    fun: Cost
    x: Float1D | None = None
    best: float = np.inf
    nfev: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)

    def evaluate(self, X: Float2D) -> Float1D:
        """Return the costs of a batch, and record it."""
        try:
            values = self.fun(X.copy())
        except Exception as error:  # errors of the caller's function are re-raised with a note
            error.add_note(
                f"(the cost function, at {len(X)} points, after {self.nfev} evaluations)"
            )
            raise
        costs = finite_costs(values, len(X))
        first = int(np.argmin(costs))
        if self.x is None or costs[first] < self.best:
            self.x, self.best = X[first].copy(), float(costs[first])
        self.nfev += len(X)
        self.history.append((self.nfev, self.best))
        return costs

    def result(self, message: str, *, ended: bool) -> OptimResult:
        assert self.x is not None
        if not np.isfinite(self.best):
            message = f"no cost was finite in {self.nfev} evaluations; {message}"
        history = np.array(self.history, dtype=float)
        for array in (self.x, history):
            array.setflags(write=False)
        return OptimResult(
            x=self.x,
            fun=self.best,
            nfev=self.nfev,
            nit=len(history),
            success=ended and bool(np.isfinite(self.best)),
            message=message,
            history=history,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedSetting:
    """A published configuration of an optimizer: the options that are printed, without others."""

    method: str
    """Name of the optimizer."""
    paper: str
    """Authors, journal, DOI."""
    place: str
    """Place of the values in the paper."""
    max_evals: int
    """The published budget, population by iterations."""
    options: Mapping[str, Any]
    """Printed hyper-parameters."""
    missing: str = "velocity limit, bounds"
    """Parameters that the paper does not print; the defaults are used."""

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Assessment by the spectral radii, as text; see `robotid_sim.optim.stability`."""
        optimizer = self.build()
        return stability(optimizer).flags if isinstance(optimizer, MovingOptimizer) else ()

    def build(self, **changes: Any) -> Optimizer:
        """Return the optimizer; `changes` override or add options, as in ``form="literal"``."""
        return OPTIMIZERS.build(self.method, **{**self.options, **changes})


def load_setting(name: str) -> PublishedSetting:
    """Return a published configuration by name.

    Raises `UnknownNameError` if there is none; the text lists them.
    """
    if name not in PUBLISHED_SETTINGS:
        raise UnknownNameError.from_names("setting", name, PUBLISHED_SETTINGS)
    return PUBLISHED_SETTINGS[name]


def _read() -> Mapping[str, PublishedSetting]:
    tables = tomllib.loads((files(__package__) / "settings.toml").read_text("utf-8"))
    papers = tables["papers"]
    return MappingProxyType(
        {
            name: PublishedSetting(**{**entry, "paper": papers[entry["paper"]]})
            for name, entry in tables["settings"].items()
        }
    )


PUBLISHED_SETTINGS = _read()
"""Published configurations by name: first author, year, the paper's name of the method."""
