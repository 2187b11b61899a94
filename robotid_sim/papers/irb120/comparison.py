"""MuPSO among the methods of Table 3: means, minima, levels, and times."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap, ttest_ind

from robotid_sim.arrays import Float1D
from robotid_sim.papers.columns import above_one, lower_end, upper_end
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.campaign import MupsoResults
from robotid_sim.papers.sheet import Measured, measured
from robotid_sim.papers.statistics import Ends, deviation

SIGNIFICANCE = 0.05
TINY = 1e-12
"""Stands for a standard deviation of zero, by which others are divided."""


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


def best_of_six(results: MupsoResults) -> Measured:
    """Measure the mean of MuPSO over the lowest one of the others, and the same of the minima."""
    standings = {"scaling": standing(results, "table-3"), "penalty": standing(results, "penalty")}
    means = "; ".join(
        f"with limits by {handling} {model.METHODS[place.rival]} has the lowest mean of the others "
        f"({place.rival_mean:.3g}), MuPSO {place.mupso_mean:.3g} (Welch: p = {place.p:.1g})"
        for handling, place in standings.items()
    )
    value, interval = results.grid.ratio(
        "mupso", standings["scaling"].rival, "condition", "table-3"
    )
    penalized = results.grid.ratio("mupso", standings["penalty"].rival, "condition", "penalty")
    gain, gain_interval = least_gain(results)
    return measured(
        value,
        interval,
        minimum=lower_end(gain, gain_interval),
        penalty=upper_end(*penalized),
        means=f"{means[0].upper()}{means[1:]}",
    )


def times(results: MupsoResults) -> dict[str, Measured]:
    """Measure MuPSO's place by computing time, and its time beside that of the others."""
    runs = {name: results.grid.values(name, "seconds", "table-3") for name in model.METHODS}
    seconds = {name: float(of.mean()) for name, of in runs.items()}
    mupso, others = runs.pop("mupso"), runs
    value, interval = results.grid.ratio("mupso", "gwo", "seconds", "table-3")
    shown = ", ".join(f"{model.METHODS[n]} {s:.3g} s" for n, s in sorted(seconds.items()))
    clear = [  # of means that differ by more than chance: whether the other is slower
        float(np.sign(of.mean() - mupso.mean()))
        for of in others.values()
        if mupso.size > 1 and ttest_ind(mupso, of, equal_var=False).pvalue < SIGNIFICANCE
    ]
    reductions = {
        name: results.grid.ratio("mupso", name, "seconds", "table-3")
        for name in others
        if name != "gwo"
    }
    least = max(reductions, key=lambda name: reductions[name][0])
    ratio, ends = reductions[least]
    return {
        "second-least-time": measured(
            float(1 + sum(seconds[name] < seconds["mupso"] for name in others)),
            times=shown,
            faster=clear.count(-1.0),
            slower=clear.count(1.0),
            slowest=max(seconds.values()) / min(seconds.values()),
        ),
        "time-against-gwo": measured(100.0 * (value - 1.0), above_one(interval)),
        "time-reduction": measured(
            100.0 * (1.0 - ratio),
            None if ends is None else (100.0 * (1.0 - ends[1]), 100.0 * (1.0 - ends[0])),
            times=shown,
            least=model.METHODS[least],
        ),
    }


def gains_in_minimum(results: MupsoResults) -> dict[str, float]:
    """Return by how much the least of the other methods is above that of MuPSO [%]."""
    best = {name: results.conditions(name).min() for name in model.METHODS}
    return {
        n: 100.0 * (float(least / best["mupso"]) - 1.0) for n, least in best.items() if n != "mupso"
    }


def least_gain(results: MupsoResults) -> tuple[float, Ends]:
    """Return the least of the gains in the minimum [%], and its interval.

    By resampling the runs: a minimum that a single run sets is uncertain by as much as the next
    ones are above it.
    """
    gained = gains_in_minimum(results)
    nearest = min(gained, key=gained.__getitem__)
    samples = results.conditions(nearest), results.conditions("mupso")
    if min(part.size for part in samples) < 2:
        return gained[nearest], None

    def gain(theirs: Float1D, ours: Float1D, axis: int) -> Float1D:
        return np.asarray(100.0 * (theirs.min(axis=axis) / ours.min(axis=axis) - 1.0))

    low, high = bootstrap(
        samples, gain, vectorized=True, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return gained[nearest], (float(low), float(high))


def gains(results: MupsoResults) -> dict[str, Measured]:
    """Measure least and largest gain of MuPSO in the minimum."""
    gained = gains_in_minimum(results)
    nearest, farthest = (pick(gained, key=gained.__getitem__) for pick in (min, max))
    return {
        "gain-in-minimum": measured(
            *least_gain(results),
            most=gained[farthest],
            nearest=model.METHODS[nearest],
            farthest=model.METHODS[farthest],
        ),
        "largest-gain": measured(gained[farthest], farthest=model.METHODS[farthest]),
    }


def largest_spread(results: MupsoResults) -> Measured:
    """Measure how much more than MuPSO's the runs of another method spread."""
    others = [name for name in model.METHODS if name != "mupso"]
    deviations = {name: deviation(results.conditions(name)) for name in others}
    widest = max(deviations, key=deviations.__getitem__)
    ours = deviation(results.conditions("mupso"))
    return measured(
        deviations[widest] / max(ours, TINY),
        widest=model.METHODS[widest],
        spread=deviations[widest],
        ours_spread=ours,
    )
