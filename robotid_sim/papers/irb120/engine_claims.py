"""What is measured for the claims that need the engine: whether better motions identify better."""

import numpy as np
from scipy.stats import bootstrap, spearmanr, ttest_ind

from robotid_sim.arrays import Float1D
from robotid_sim.papers.irb120.campaign import DRIVEN, SINGLE, MupsoResults
from robotid_sim.papers.sheet import Measured, measured
from robotid_sim.papers.statistics import Ends, interval_of_mean
from robotid_sim.section import number

DESIGNED = tuple(kind for kind in DRIVEN if kind != SINGLE)
"""Motions that come from a search."""
LABEL = {
    "mupso": "MuPSO",
    "de": "DE",
    "gradient": "gradient",
    "random": "random search",
    SINGLE: "a single random motion",
}
"""Motions as the page calls them."""
FEWEST = 4
"""Motions below which a correlation has no interval."""


def engine_measurements(results: MupsoResults) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    every, (designed, _) = (_correlation(results, kinds) for kinds in (DRIVEN, DESIGNED))
    errors = {kind: rms_error(results, kind, "relative") for kind in DRIVEN}
    unseen = {kind: rms_error(results, kind, "unseen") for kind in DRIVEN}
    means = {kind: geometric_mean(of) for kind, of in errors.items()}
    gain, gain_interval = _geometric_ratio(errors["mupso"], errors[SINGLE])
    within = results.grid.values("mupso", "within", "engine")
    every_within = np.concatenate([results.grid.values(k, "within", "engine") for k in DRIVEN])
    logs = np.log(unseen["mupso"])
    interval = interval_of_mean(logs)
    return {
        "low-condition-number": measured(
            *every, motions=sum(of.size for of in errors.values()), designed=designed
        ),
        "excitation-improves-accuracy": measured(
            gain,
            gain_interval,
            random=means["random"] / means[SINGLE],
            errors=", ".join(f"{LABEL[kind]} {number(of, 2)} %" for kind, of in means.items()),
        ),
        "identified-in-engine": measured(
            float(np.exp(logs.mean())),
            None if interval is None else (float(np.exp(interval[0])), float(np.exp(interval[1]))),
            random=geometric_mean(unseen["random"]),
            single=geometric_mean(unseen[SINGLE]),
            parameters=means["mupso"],
            percent=100.0 * within.mean(),
        ),
        "errors-in-engine": measured(float(every_within.mean()), motions=every_within.size),
    }


def rms_error(results: MupsoResults, kind: str, what: str) -> Float1D:
    """Return an error of every motion, RMS over its noisy logs, shape (R,) [%]."""
    return np.asarray(np.sqrt((results.grid.values(kind, what, "engine") ** 2).mean(axis=1)))


def geometric_mean(values: Float1D) -> float:
    """Return the geometric mean; the errors of motions differ by factors."""
    return float(np.exp(np.log(values).mean()))


def _correlation(results: MupsoResults, kinds: tuple[str, ...]) -> tuple[float, Ends]:
    """Return the rank correlation of condition number and error over motions, with its interval."""
    conditions, errors = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (results.grid.values(k, "condition", "engine"), rms_error(results, k, "relative"))
                for k in kinds
            ),
            strict=True,
        )
    )
    value = float(spearmanr(conditions, errors).statistic)
    if conditions.size < FEWEST * len(kinds):
        return value, None
    low, high = bootstrap(
        (conditions, errors),
        lambda x, y: float(spearmanr(x, y).statistic),
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return value, (float(low), float(high))


def _geometric_ratio(values: Float1D, others: Float1D) -> tuple[float, Ends]:
    """Return the ratio of two geometric means of unpaired motions, with its interval by Welch."""
    logs, other_logs = np.log(values), np.log(others)
    ratio = float(np.exp(logs.mean() - other_logs.mean()))
    if min(logs.size, other_logs.size) < FEWEST:
        return ratio, None
    ends = ttest_ind(logs, other_logs, equal_var=False).confidence_interval()
    return ratio, (float(np.exp(ends.low)), float(np.exp(ends.high)))
