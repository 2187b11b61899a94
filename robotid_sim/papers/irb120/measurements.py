"""What is measured for every claim of the paper."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import bootstrap

from robotid_sim.arrays import Float1D
from robotid_sim.papers.columns import measured_mean
from robotid_sim.papers.irb120 import identification as lls
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.campaign import MupsoResults
from robotid_sim.papers.irb120.comparison import best_of_six, gains, largest_spread, times
from robotid_sim.papers.irb120.engine_claims import engine_measurements
from robotid_sim.papers.irb120.model import PublishedMotion
from robotid_sim.papers.sheet import Measured, measured
from robotid_sim.papers.statistics import Ends, deviation, interval_of_ratio

MUTATED_AT = 10
"""Iteration at which the swarm is said to mutate."""
PRINTED_DIGIT = 1.0
"""Last digit of the ideal values of Table 4, which may be cut off [kg, kg mm, kg mm^2]."""
AT_REST = 1e-9
"""Speed at the start that counts as none [m/s]."""


def measurements(
    results: MupsoResults, identified: lls.ExactIdentification, motions: Sequence[PublishedMotion]
) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    return {
        **_swarm_size(results),
        **_condition_number(results),
        "mupso-best-of-six": best_of_six(results),
        "mupso-against-de": measured(
            *results.grid.ratio("mupso", "de", "condition", "table-3"),
            de=results.conditions("de").mean(),
        ),
        "mutation": _mutation(results),
        "early-best": _early_best(results),
        **times(results),
        **gains(results),
        "largest-spread": largest_spread(results),
        **engine_measurements(results),
        "published-optimum": _published_optimum(motions),
        **_identifiability(),
        **_identification(identified),
    }


def _condition_number(results: MupsoResults) -> dict[str, Measured]:
    runs, chance = results.conditions("mupso"), results.conditions("random")
    si = results.grid.mean("Cartesian path, SI columns", "condition_si", "reading")
    return {
        "condition-number-minimum": measured(float(runs.min()), si=si, random=chance.min()),
        "condition-number-mean": measured_mean(
            runs,
            si=si,
            choices=_range(results, np.mean),
            random=chance.mean(),
            penalty=results.conditions("mupso", "penalty").mean(),
            percent=100.0 * results.grid.values("mupso", "limit_use", "penalty").max(),
        ),
        "condition-number-spread": measured(
            deviation(runs), _interval_of_deviation(runs), choices=_range(results, deviation)
        ),
    }


def _interval_of_deviation(runs: Float1D) -> Ends:
    """Return the bootstrap interval of the standard deviation; None for fewer than four runs."""
    if runs.size < 4:
        return None
    low, high = bootstrap(
        (runs,),
        lambda x, axis: np.std(x, axis=axis, ddof=1),
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(low), float(high)


def _range(results: MupsoResults, statistic: Callable[[Float1D], float]) -> str:
    """Return between what values a statistic lies as the unprinted choices vary."""
    levels = {
        name: float(statistic(results.conditions(name, "unprinted"))) for name in model.UNPRINTED
    }
    ends = (pick(levels, key=lambda name: levels[name]) for pick in (min, max))
    return " to ".join(f"{levels[name]:.3g} ({name})" for name in ends)


def _mutation(results: MupsoResults) -> Measured:
    rows = results.grid.runs("mupso", "table-3")
    mutated = [row for row in rows if row["mutations"]]
    return measured(
        float(max(len(row["mutations"]) for row in rows)),
        mutated=len(mutated),
        at_ten=sum(10 in row["mutations"] for row in mutated),
        runs=len(rows),
        helped=sum(row["best_at"] > row["mutations"][0] for row in mutated),
    )


def _early_best(results: MupsoResults) -> Measured:
    """Measure at which iteration MuPSO finds its best point, mean of the runs."""
    found = results.grid.values("mupso", "best_at", "table-3")
    return measured_mean(
        found,
        early=int((found <= MUTATED_AT).sum()),
        runs=found.size,
        last=results.effort.iterations,
    )


def _published_optimum(motions: Sequence[PublishedMotion]) -> Measured:
    evaluable = any(motion.followed and motion.start_speed < AT_REST for motion in motions)
    best = min(motions, key=lambda motion: motion.condition)
    return measured(
        best.condition if evaluable else "not evaluable",
        radii=sum(model.PRINTED["optimum"]["a"]),
        speed=best.start_speed,
        scale=best.scale,
        condition=best.condition,
    )


def _identifiability() -> dict[str, Measured]:
    ranks = lls.rank_analysis()
    counts = {name: lls.counts(base) for name, base in ranks.items()}
    torques, wrenches = ranks[lls.JOINT_TORQUES], ranks[lls.WRENCHES]
    alone, combined, none = counts[lls.JOINT_TORQUES]
    all_alone, all_combined, all_none = counts[lls.WRENCHES]
    nearest = ranks[lls.AS_PRINTED]
    shown, listed = nearest.identifiable_alone, [row[0] for row in model.PRINTED["table_4"]]
    values = lls.ideal_values()
    other = [name for name, (ideal, true) in values.items() if abs(ideal - true) >= PRINTED_DIGIT]
    return {
        "identifiability": measured(
            float(torques.rank),
            same=sum(count == model.IDENTIFIABILITY for count in counts.values()),
            same_by_torques=int(counts[lls.JOINT_TORQUES] == model.IDENTIFIABILITY),
            alone=alone,
            names=", ".join(torques.identifiable_alone),
            combined=combined,
            none=none,
            nearest_rank=nearest.rank,
            nearest=" + ".join(map(str, counts[lls.AS_PRINTED])),
            listed=sum(symbol in (*shown, *nearest.in_combination) for symbol in listed),
            unseen=", ".join(symbol for symbol in listed if symbol in nearest.no_effect),
        ),
        "observation-matrix": measured(float(lls.rank_of(listed)), columns=len(listed)),
        "ideal-values": measured(
            float(len(values) - len(other)), names=", ".join(other), rows=len(values)
        ),
        "identifiability-by-wrench": measured(
            float(wrenches.rank),
            alone=all_alone,
            combined=all_combined,
            none=all_none,
            names=", ".join(wrenches.no_effect),
        ),
    }


def _identification(identified: lls.ExactIdentification) -> dict[str, Measured]:
    scores = np.abs(identified.scores)
    listed = [symbol for symbol, _, _ in model.PRINTED["table_4"]]
    alone = sum(symbol in identified.basis.identifiable_alone for symbol in listed)
    return {
        "identified-equals-ideal": measured(identified.exact_error, alone=alone),
        "identified-with-noise": measured(
            float((scores <= 3.0).mean()), logs=lls.DRAWS, largest=scores.max()
        ),
    }


def _swarm_size(results: MupsoResults) -> dict[str, Measured]:
    few, many = (results.conditions(size, "size") for size in (50, 70))
    left = interval_of_ratio(many, few)
    ends = None if left is None else (100.0 * (1.0 - left[1]), 100.0 * (1.0 - left[0]))
    clear = ends is not None and ends[0] > 0.0
    fast, slow = (sum(results.seconds[size]) for size in ("50", "70"))
    best = {size: results.conditions(size, "size").min() for size in (50, 70)}
    return {
        "swarm-size-cost": measured(
            float(100.0 * (1.0 - many.mean() / few.mean())),
            ends,
            runs=results.effort.study_runs,
            iterations=results.effort.study_iterations,
            few=few.mean(),
            many=many.mean(),
            change=": a fall, but a small one" if clear else ", which may differ by chance",
        ),
        "swarm-size-time": measured(float(slow / fast)),
        **{f"swarm-size-{size}": measured(float(least)) for size, least in best.items()},
    }
