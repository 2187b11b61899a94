"""What is measured for the claims that need the engine, the printed penalty, or beetle parts."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.papers.rs010n import compensation, model
from robotid_sim.papers.rs010n.ablations import ABLATIONS, FIXED, WITHOUT
from robotid_sim.papers.rs010n.campaign import MORE, PENALTY, BeetleResults
from robotid_sim.papers.rs010n.trials import CLAMPED
from robotid_sim.papers.sheet import Measured, measured, measured_mean
from robotid_sim.papers.statistics import ratio_of_means
from robotid_sim.section import number

LS, WLS, LP = compensation.DIRECT
OURS = "SEDSABSO"
STOOD_STILL = 2.0
"""Fitness over the median of all runs beyond which a run stood still."""


def engine_measurements(results: BeetleResults) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    return {
        **_compensation(results),
        **_under_noise(results),
        **_beetles(results),
        "excitation-with-penalty": _penalty(results),
    }


def of_batches(results: BeetleResults, what: str, name: str) -> Float1D:
    """Return a result of a set for every identification in the engine, (R,); joints averaged."""
    rows = [run for batch in results.batches for run in batch["runs"]]
    return np.array([np.mean(row[what][name]) for row in rows])


def set_names(results: BeetleResults) -> Sequence[str]:
    """Return the names of the sets that are compared in the engine."""
    return list(results.batches[0]["runs"][0]["error"])


def tracking_error(results: BeetleResults, name: str) -> float:
    """Return the tracking error with a set fed forward over that without, mean of the joints."""
    errors, without = (
        np.array([batch["tracking"][key] for batch in results.batches])
        for key in (name, compensation.NONE)
    )
    return float((errors / without).mean())


def _compensation(results: BeetleResults) -> dict[str, Measured]:
    left = {name: of_batches(results, "true", name) for name in set_names(results)}
    tracking = {name: tracking_error(results, name) for name in compensation.TRACKED[1:]}
    shown = ", ".join(f"{name} {number(of.mean(), 3)} %" for name, of in left.items())
    value, interval = ratio_of_means(left[OURS], left[compensation.NOMINAL], paired=True)
    over_ls, interval_ls = ratio_of_means(left[OURS], left[LS], paired=True)
    return {
        "compensation": measured(
            value,
            interval,
            left=shown,
            middle=left[compensation.MIDDLE].mean() / left[compensation.NOMINAL].mean(),
            direct=left[LS].mean() / left[compensation.NOMINAL].mean(),
        ),
        "compensation-against-least-squares": measured(
            over_ls,
            interval_ls,
            weighted=left[WLS].mean() / left[LS].mean(),
            program=left[LP].mean() / left[LS].mean(),
            over_weighted=left[OURS].mean() / left[WLS].mean(),
        ),
        "compensation-in-the-loop": measured(
            tracking[OURS] / tracking[compensation.NOMINAL],
            weighted=tracking[WLS] / tracking[compensation.NOMINAL],
            shown=", ".join(f"{name} {100.0 * value:.2g} %" for name, value in tracking.items()),
        ),
    }


def _under_noise(results: BeetleResults) -> dict[str, Measured]:
    names = set_names(results)
    errors = {name: of_batches(results, "error", name) for name in names}
    costs = {name: of_batches(results, "fitness", name) for name in names}
    direct = min((LS, WLS), key=lambda name: float(costs[name].mean()))
    cost, cost_interval = ratio_of_means(costs[OURS], costs[direct], paired=True)
    value, interval = ratio_of_means(errors[OURS], errors[WLS], paired=True)
    searches = [costs[method] for method in model.PRINTED]
    below = np.array(searches) < np.minimum(costs[LS], costs[WLS])
    return {
        "swarm-under-noise": measured(
            value,
            interval,
            errors=", ".join(f"{name} {error.mean():.2g}" for name, error in errors.items()),
            middle=errors[compensation.MIDDLE].mean() / errors[WLS].mean(),
        ),
        "cost-under-noise": measured(
            cost,
            cost_interval,
            program=costs[LP].mean() / costs[direct].mean(),
            costs=", ".join(f"{name} {number(costs[name].mean(), 5)}" for name in names),
            below=int(below.all(axis=0).sum()),
            runs=below.shape[1],
            over_program=costs[OURS].mean() / costs[LP].mean(),
        ),
    }


def _beetles(results: BeetleResults) -> dict[str, Measured]:
    ours, bso = (results.fitness(MORE, name) for name in (OURS, "BSO"))
    parts = {name: results.fitness(MORE, name) for name in ABLATIONS}
    means = ", ".join(f"{name} {of.mean():.3g}" for name, of in parts.items())
    value, interval = ratio_of_means(ours, bso, paired=True)
    still = STOOD_STILL * float(np.median([ours, bso]))
    count = parts[WITHOUT].size
    without, without_interval = ratio_of_means(ours[:count], parts[WITHOUT], paired=True)
    return {
        "beetles-with-clamp": measured(
            value,
            interval,
            runs=ours.size,
            still=int((ours > still).sum()),
            still_bso=int((bso > still).sum()),
            median=float(np.median(ours)),
            median_bso=float(np.median(bso)),
            without=parts[WITHOUT].mean() / bso[:count].mean(),
        ),
        "disturbances": measured(
            without, without_interval, parts=means, fixed=parts[FIXED].mean(), count=count
        ),
    }


def _penalty(results: BeetleResults) -> Measured:
    """Measure in how many boxes the search with the printed penalty ends within the limits."""
    runs = {width: results.grid.runs(width, PENALTY)[0] for width in results.grid.case(PENALTY)}
    shown = "; ".join(
        f"± {width:g}: {run['unit']:.3g} with {100.0 * run['limit_use']:.0f} % of a limit"
        for width, run in runs.items()
    )
    kept = [run["unit"] for run in runs.values() if run["feasible"]]
    return measured(
        float(len(kept)),
        boxes=len(runs),
        shown=shown,
        scaled=results.excitation["unit"],
        best=f"{min(kept):.3g}" if kept else "none",
    )


def fitness_level(results: BeetleResults) -> Measured:
    """Measure the mean fitness of SEDSABSO with velocities clamped, the others' beside it."""
    others = [f"{results.fitness(CLAMPED, m).mean():.3g}" for m in ("BSO", "LDWPSO")]
    return measured_mean(results.fitness(CLAMPED, OURS), others=" and ".join(others))
