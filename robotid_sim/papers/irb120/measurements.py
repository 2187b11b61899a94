"""What is measured for every claim of the paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_ind

from robotid_sim.arrays import Float1D
from robotid_sim.papers.irb120 import identification as lls
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.campaign import MupsoResults
from robotid_sim.papers.irb120.model import PublishedMotion
from robotid_sim.papers.sheet import Measured, measured, measured_mean
from robotid_sim.papers.statistics import above_one, deviation, interval_of_ratio

SIGNIFICANCE = 0.05
AT_REST = 1e-9
"""Speed at the start that counts as none [m/s]."""


def measurements(
    results: MupsoResults, identified: lls.ExactIdentification, motions: Sequence[PublishedMotion]
) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    return {
        **_swarm_size(results),
        **_condition_number(results),
        "mupso-best-of-six": _best_of_six(results),
        "mupso-against-de": measured(
            *results.grid.ratio("mupso", "de", "condition", "table-3"),
            de=results.conditions("de").mean(),
        ),
        "mutation": _mutation(results),
        **_time(results),
        **_gain(results),
        **_levels(results),
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
            runs, si=si, choices=_range(results, np.mean), random=chance.mean()
        ),
        "condition-number-spread": measured(deviation(runs), choices=_range(results, deviation)),
    }


def _range(results: MupsoResults, statistic: Callable[[Float1D], float]) -> str:
    """Return between what values a statistic lies as the unprinted choices vary."""
    levels = {
        name: float(statistic(results.conditions(name, "unprinted"))) for name in model.UNPRINTED
    }
    ends = (pick(levels, key=lambda name: levels[name]) for pick in (min, max))
    return " to ".join(f"{levels[name]:.3g} ({name})" for name in ends)


@dataclass(frozen=True, slots=True)
class Standing:
    """MuPSO among the methods of the paper."""

    rival: str
    """Method of the lowest mean beside MuPSO."""
    rival_mean: float
    mupso_mean: float
    p: float
    """Of Welch's test that both means are alike."""

    @property
    def tied(self) -> bool:
        """Whether the runs do not tell MuPSO and its rival apart."""
        return not self.p < SIGNIFICANCE

    @property
    def leader(self) -> str:
        """Method of the lowest mean."""
        return "mupso" if self.mupso_mean < self.rival_mean else self.rival


def standing(results: MupsoResults, study: str = "table-3") -> Standing:
    """Return where MuPSO stands by the means of the runs."""
    others = {name: results.conditions(name, study) for name in model.METHODS if name != "mupso"}
    rival = min(others, key=lambda name: float(others[name].mean()))
    ours, theirs = results.conditions("mupso", study), others[rival]
    p = float(ttest_ind(ours, theirs, equal_var=False).pvalue) if ours.size > 1 else 1.0
    return Standing(rival, float(theirs.mean()), float(ours.mean()), p)


def _best_of_six(results: MupsoResults) -> Measured:
    standings = {"scaling": standing(results, "table-3"), "penalty": standing(results, "penalty")}
    means = "; ".join(
        f"with limits by {handling} {model.METHODS[place.rival]} has the lowest mean "
        f"({place.rival_mean:.3g}), MuPSO {place.mupso_mean:.3g} (Welch: p = {place.p:.1g})"
        for handling, place in standings.items()
    )
    clear = [place for place in standings.values() if not place.tied]
    value, interval = results.grid.ratio("mupso", "spso", "condition", "table-3")
    return measured(
        value,
        interval,
        behind=sum(place.mupso_mean > place.rival_mean for place in clear),
        clearly_first=sum(place.mupso_mean < place.rival_mean for place in clear),
        means=f"{means[0].upper()}{means[1:]}",
    )


def _time(results: MupsoResults) -> dict[str, Measured]:
    seconds = {name: float(results.grid.mean(name, "seconds", "table-3")) for name in model.METHODS}
    mupso, others = seconds["mupso"], {n: s for n, s in seconds.items() if n != "mupso"}
    value, interval = results.grid.ratio("mupso", "gwo", "seconds", "table-3")
    shown = ", ".join(f"{model.METHODS[n]} {s:.3g} s" for n, s in sorted(seconds.items()))
    return {
        "second-least-time": measured(
            float(1 + sum(other < mupso for other in others.values())),
            times=shown,
            slowest=max(seconds.values()) / min(seconds.values()),
        ),
        "time-against-gwo": measured(100.0 * (value - 1.0), above_one(interval)),
        "time-reduction": measured(
            100.0 * min(1.0 - mupso / s for name, s in others.items() if name != "gwo"), times=shown
        ),
    }


def _gain(results: MupsoResults) -> dict[str, Measured]:
    best = {name: results.conditions(name).min() for name in model.METHODS}
    gains = {n: 100.0 * (least / best["mupso"] - 1.0) for n, least in best.items() if n != "mupso"}
    nearest, farthest = min(gains, key=gains.__getitem__), max(gains, key=gains.__getitem__)
    return {
        "gain-in-minimum": measured(
            float(gains[nearest]),
            nearest=model.METHODS[nearest],
            most=gains[farthest],
            farthest=model.METHODS[farthest],
        )
    }


def _levels(results: MupsoResults) -> dict[str, Measured]:
    return {
        f"level-{name}": measured_mean(
            results.conditions(name), median=np.median(results.conditions(name))
        )
        for name in ("woa", "gwo", "goa")
    }


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
    return {
        "identifiability": measured(
            float(torques.rank),
            same=sum(count == model.IDENTIFIABILITY for count in counts.values()),
            same_by_torques=int(counts[lls.JOINT_TORQUES] == model.IDENTIFIABILITY),
            alone=alone,
            names=", ".join(torques.identifiable_alone),
            combined=combined,
            none=none,
            nearest_rank=ranks[lls.AS_PRINTED].rank,
            nearest=" + ".join(map(str, counts[lls.AS_PRINTED])),
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
    fast, slow = (results.grid.values(size, "seconds", "size").min() for size in (50, 70))
    return {
        "swarm-size-cost": measured(
            float(100.0 * (1.0 - many.mean() / few.mean())),
            ends,
            least=-np.inf if ends is None else ends[0],
            runs=results.effort.study_runs,
            iterations=results.effort.study_iterations,
            few=few.mean(),
            many=many.mean(),
            change=": a fall, but a small one" if clear else ", which may differ by chance",
        ),
        "swarm-size-time": measured(float(slow / fast)),
    }
