"""All searches and runs of the reproduction, and what came out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from robotid_sim.arrays import Float1D
from robotid_sim.campaign.trials import Trial
from robotid_sim.papers.grid import Average, RunGrid
from robotid_sim.papers.paper import Lab
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.criterion import LS_IN_BOX, TorqueCriterion
from robotid_sim.papers.twolink.motion import Driven, integrate
from robotid_sim.papers.twolink.payload import LOADS
from robotid_sim.papers.twolink.variants import VARIANTS

PACKAGE = "robotid_sim.papers.twolink"
FUNCTIONS = f"{PACKAGE}.trials"
SEARCHES = ("GA", "SPSO", "ELPIDSO")
"""The searches of the paper, in the order of its tables."""
VARIANT = "ELPIDSO without I, D"
"""What shows where the gain of ELPIDSO comes from; run with the short budget only."""
RUNS, QUICK_RUNS = 10, 3
GENERATIONS = 15_000
"""Of 20 members each, in the paper."""
SHORT_GENERATIONS = 3_000
"""With all 15,000 the swarms reach rounding on easy trajectories, where a ratio says nothing."""
VARIANT_GENERATIONS = 1_500
"""Of the searches that lack a part: enough to tell them apart, and cheap."""
LOAD_RHO = 0.5
"""rho of the trajectory on which the arm with another payload is identified [Hz]."""
LOAD_RUNS = 6
"""Runs of ELPIDSO with another payload; each has the whole budget of the paper."""
QUICK_SHARE, QUICK_SHORT_SHARE, QUICK_VARIANT_SHARE = 0.1, 0.5, 0.2
"""Shares of the generations in a quick run."""
POPULATION = 20
ROUNDING = 1e-25
"""J below which only rounding differs [N^2 m^2]."""
ENCODERS = (0.0, 1e-6, 1e-5, 1e-4)
"""Noise of positions that are differentiated twice [rad]."""
AVERAGES: tuple[Average, Average] = ("median", "mean")
"""How the runs of a search are averaged: the paper takes means, which one stuck search moves."""
REPEATS, QUICK_REPEATS = 3, 1
"""Draws of that noise."""


Criteria = Mapping[float, TorqueCriterion]
"""What the searches minimize, by rho."""
TrialPlan = list[tuple[tuple[Any, Any], Trial]]
"""Trials with case and method of their results."""


@dataclass(frozen=True, slots=True, eq=False)
class ElpidsoStudy:
    """All methods on the five trajectories of one kind of data."""

    criteria: Criteria
    grid: RunGrid
    """What `trials.search` returns, by rho and method."""

    @property
    def evaluations(self) -> int:
        """Evaluations of J that every search has."""
        return int(next(iter(self.grid.rows.values()))[0]["evaluations"])

    def excess(self, rho: float, method: str) -> Float1D:
        """Return J less that of least squares of every run, shape (R,) [N^2 m^2]."""
        return self.grid.values(method, "excess", rho)

    def errors(self, rho: float, method: str) -> Float1D:
        """Return the largest error of a parameter of every run, shape (R,) [kg m^2]."""
        errors = np.abs(self.grid.values(method, "parameters", rho) - model.TRUE)
        return np.asarray(errors.max(axis=1))

    def final(self, method: str, average: Average = "mean") -> Float1D:
        """Return the mean of the estimates on all trajectories, as in Table 8, shape (4,)."""
        each = [self.estimate(rho, method, average) for rho in model.FITTED]
        return np.asarray(np.mean(each, axis=0))

    def estimate(self, rho: float, method: str, average: Average = "mean") -> Float1D:
        """Return the mean or median parameters of the runs on a trajectory, shape (4,)."""
        if method == "LS":
            return self.criteria[rho].least_squares
        if method == LS_IN_BOX:
            return self.criteria[rho].in_the_box()
        return np.asarray(self.grid.average(average, method, "parameters", rho))

    def median_excess(self, method: str) -> Float1D:
        """Return the median cost above least squares on every trajectory."""
        return np.array([np.median(self.excess(rho, method)) for rho in model.FITTED])

    def median_error(self, method: str) -> Float1D:
        """Return the median largest parameter error on every trajectory [kg m^2]."""
        return np.array([np.median(self.errors(rho, method)) for rho in model.FITTED])

    def rank_sum(self, rho: float, method: str) -> float:
        """Return Wilcoxon's p that ELPIDSO and another method differ in J.

        What is below rounding counts as equal, for its order is chance.
        """
        ours = self.excess(rho, "ELPIDSO")
        other = np.zeros_like(ours) if method == "LS" else self.excess(rho, method)
        ours, other = np.maximum(ours, ROUNDING), np.maximum(other, ROUNDING)
        if np.ptp(np.concatenate([ours, other])) == 0.0:
            return 1.0
        return float(mannwhitneyu(ours, other).pvalue)


@dataclass(frozen=True, slots=True, eq=False)
class ElpidsoResults:
    """Everything that tables, figures and claims are made of."""

    driven: Mapping[float, Driven]
    """The analytic run of every trajectory, by rho."""
    engine: Mapping[float, Mapping[str, Any]]
    """What `trials.engine_run` returns, by rho."""
    exact: ElpidsoStudy
    """Analytic data, the budget of the paper."""
    short: ElpidsoStudy
    """The same data, a fifth of the budget."""
    noisy: ElpidsoStudy
    """Motion in the engine, torques with noise, the budget of the paper."""
    checked: Mapping[Average, Mapping[float, Mapping[str, Sequence[float]]]]
    """Relative errors on unseen noisy torques in the engine: by average of the runs, by rho, by
    method, per joint."""
    costs: Sequence[Mapping[str, Any]]
    """What `trials.costs_in_engine` returns for the searches on noisy torques, by rho."""
    differentiated: RunGrid
    """Draws of `trials.differentiated`, by rho and noise."""
    variants: RunGrid
    """What `variants.observed` returns on exact data, by rho and variant."""
    loads: Mapping[str, Mapping[str, Any]]
    """What `payload.loaded_run` returns, by payload."""
    loaded: RunGrid
    """What `trials.search` returns of ELPIDSO for its data, by payload and method."""
    runs: int
    """Runs of every search."""


def run_campaign(lab: Lab) -> ElpidsoResults:
    """Run what is not finished of all trials and return their results."""
    rhos = (*model.FITTED, *model.VALIDATED)
    driven = dict(zip(rhos, integrate(rhos), strict=True))
    engine = _by_rho(lab, "drive in the engine", "engine_run", "engine", {rho: {} for rho in rhos})
    full = round(GENERATIONS * (QUICK_SHARE if lab.quick else 1.0)) * POPULATION
    short = round(SHORT_GENERATIONS * (QUICK_SHORT_SHARE if lab.quick else 1.0)) * POPULATION
    exact = {rho: TorqueCriterion.of_run(driven[rho]) for rho in model.FITTED}
    noisy = {rho: TorqueCriterion.from_content(engine[rho]["noisy"]) for rho in model.FITTED}
    plans = {
        "exact": _plan(lab, "exact", exact, full),
        "short": _plan(lab, "short", exact, short, (*SEARCHES, VARIANT)),
        "noisy": _plan(lab, "noisy", noisy, full),
        "differentiated": _differentiated_plan(short, lab),
    }
    rows = iter(lab.run("search", [trial for plan in plans.values() for _, trial in plan]))
    grids = {
        data: RunGrid.of([(key, next(rows)) for key, _ in plan]) for data, plan in plans.items()
    }
    noisy_study = ElpidsoStudy(noisy, grids["noisy"])
    loads = _loads(lab)
    return ElpidsoResults(
        driven=driven,
        engine=engine,
        exact=ElpidsoStudy(exact, grids["exact"]),
        short=ElpidsoStudy(exact, grids["short"]),
        noisy=noisy_study,
        checked={average: _checked(lab, noisy_study, average) for average in AVERAGES},
        costs=_costs(lab, noisy_study),
        differentiated=grids["differentiated"],
        variants=_variants(lab, exact),
        loads=loads,
        loaded=_loaded(lab, loads, full),
        runs=lab.runs_of(RUNS, QUICK_RUNS),
    )


def _by_rho(
    lab: Lab, stage: str, function: str, name: str, settings: Mapping[float, Mapping[str, Any]]
) -> dict[float, dict[str, Any]]:
    """Return the results of a trial on every trajectory, by rho, with the settings of each."""
    trials = [
        lab.trial(f"{name}-rho-{rho:g}", f"{FUNCTIONS}:{function}", rho=rho, **more)
        for rho, more in settings.items()
    ]
    return dict(zip(settings, lab.run(stage, trials), strict=True))


def _checked(lab: Lab, noisy: ElpidsoStudy, average: Average) -> dict[float, dict[str, Any]]:
    estimates = {m: noisy.final(m, average).tolist() for m in ("LS", LS_IN_BOX, *SEARCHES)}
    settings = {rho: {"estimates": estimates} for rho in model.VALIDATED}
    return _by_rho(lab, "validate", "check_in_engine", f"check-{average}", settings)


def _costs(lab: Lab, noisy: ElpidsoStudy) -> list[dict[str, Any]]:
    settings = {
        rho: {"estimates": [r["parameters"] for m in SEARCHES for r in noisy.grid.runs(m, rho)]}
        for rho in model.FITTED
    }
    stage = "compare with least squares"
    return list(_by_rho(lab, stage, "costs_in_engine", "costs", settings).values())


def _variants(lab: Lab, criteria: Criteria) -> RunGrid:
    share = QUICK_VARIANT_SHARE if lab.quick else 1.0
    budget = round(VARIANT_GENERATIONS * share) * POPULATION
    plan: TrialPlan = []
    runs = range(lab.runs_of(RUNS, QUICK_RUNS))
    for rho, variant, run in product(model.FITTED, VARIANTS, runs):
        name = f"variant-{variant}-rho-{rho:g}-run-{run}".replace(", ", "-").replace(" ", "-")
        settings = {"criterion": criteria[rho].content(), "max_evals": budget}
        stream = [f"rho {rho}", f"run {run}"]
        function = f"{PACKAGE}.variants:observed"
        trial = lab.trial(name, function, variant=variant, stream=stream, **settings)
        plan.append(((rho, variant), trial))
    return _run_plan(lab, "search without parts", plan)


def _loads(lab: Lab) -> dict[str, dict[str, Any]]:
    trials = [
        lab.trial(f"load-{k}", f"{PACKAGE}.payload:loaded_run", mass=m, below=below, rho=LOAD_RHO)
        for k, (m, below) in enumerate(LOADS.values())
    ]
    return dict(zip(LOADS, lab.run("change the payload", trials), strict=True))


def _loaded(lab: Lab, loads: Mapping[str, Mapping[str, Any]], max_evals: int) -> RunGrid:
    plan: TrialPlan = []
    runs, method = range(lab.runs_of(LOAD_RUNS, QUICK_RUNS)), "ELPIDSO"
    for (k, load), run in product(enumerate(loads), runs):
        settings = {
            "criterion": loads[load]["criterion"],
            "max_evals": max_evals,
            "stream": ["payload", method, load, f"run {run}"],
        }
        name = f"load-{k}-{method}-run-{run}"
        trial = lab.trial(name, f"{FUNCTIONS}:search", method=method, **settings)
        plan.append(((load, method), trial))
    return _run_plan(lab, "identify with a payload", plan)


def _run_plan(lab: Lab, stage: str, plan: TrialPlan) -> RunGrid:
    results = lab.run(stage, [trial for _, trial in plan])
    return RunGrid.of([(key, row) for (key, _), row in zip(plan, results, strict=True)])


def _plan(
    lab: Lab, data: str, criteria: Criteria, max_evals: int, methods: Sequence[str] = SEARCHES
) -> TrialPlan:
    plan: TrialPlan = []
    for rho, method, run in product(criteria, methods, range(lab.runs_of(RUNS, QUICK_RUNS))):
        name = f"{data}-rho-{rho:g}-{method}-run-{run}".replace(", ", "").replace(" ", "-")
        # The budget is no part of the stream: longer searches start as shorter ones do.
        settings = {"stream": [data, method, f"rho {rho}", f"run {run}"], "max_evals": max_evals}
        goal = criteria[rho].content()
        trial = lab.trial(name, f"{FUNCTIONS}:search", method=method, criterion=goal, **settings)
        plan.append(((rho, method), trial))
    return plan


def _differentiated_plan(max_evals: int, lab: Lab) -> TrialPlan:
    plan: TrialPlan = []
    repeats = QUICK_REPEATS if lab.quick else REPEATS
    for noise, rho, draw in product(ENCODERS, model.FITTED, range(repeats)):
        if noise == 0.0 and draw > 0:
            continue  # nothing is drawn
        name = f"differentiated-{noise:g}-rho-{rho:g}-draw-{draw}"
        stream = [f"{noise} rad", f"rho {rho}", f"draw {draw}"]
        settings = {"rho": rho, "noise": noise, "max_evals": max_evals, "stream": stream}
        plan.append(((rho, noise), lab.trial(name, f"{FUNCTIONS}:differentiated", **settings)))
    return plan
