"""What is measured for the claims on accuracy, cost and ranking."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from robotid_sim.arrays import Float1D
from robotid_sim.papers.grid import Average
from robotid_sim.papers.sheet import Measured, measured
from robotid_sim.papers.statistics import interval_of_mean
from robotid_sim.papers.twolink import campaign, model
from robotid_sim.papers.twolink.campaign import ROUNDING, SEARCHES, ElpidsoResults
from robotid_sim.papers.twolink.part_measurements import part_measurements
from robotid_sim.papers.twolink.tables import (
    SIGNIFICANCE,
    absolute_errors,
    errors_at,
    exact_errors,
    noisy_errors,
)
from robotid_sim.papers.twolink.trials import checkpoints

RANKING = ("ELPIDSO", "SPSO", "GA", "LS")
"""Best to worst, in the paper."""
CLEARLY = 1e-3
"""Ratio of costs below which a swarm is clearly better."""
TIE = 1e-12
"""Relative torque errors below this are rounding."""
LEAST_GAIN = 1e-12
"""Relative difference of sums over 2,000 torques that is more than rounding."""
STUCK = 0.01
"""Parameter error of a search that got stuck [kg m^2]."""
CLEARLY_WORSE = 1.1
"""Ratio of parameter errors above which a search is clearly worse than least squares."""
LEVELS = (1e-2, 1e-4, 1e-6, 1e-8)
"""Costs above least squares whose evaluations are counted [N^2 m^2]."""
STATES = 1000
"""Random states of the check of the identity."""


def measurements(results: ElpidsoResults) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    right, printed = identity_errors()
    return {
        "lambda": measured(float(np.abs(model.TRUE - model.PRINTED).max())),
        "y-identity": measured(right, printed=printed),
        "elpidso-better-than-spso": _against_spso(results),
        "spso-better-than-ga": _against_ga(results),
        "wilcoxon": _significance(results, "GA"),
        "wilcoxon-spso": _significance(results, "SPSO"),
        "pid-helps": _gain_of_control(results),
        "elpidso-better-than-ls": _below_least_squares(results),
        "ls-error-exact-data": _least_squares_exact(results),
        "ls-worst-1e-6-rad": _least_squares_worst(results, 1e-6),
        "ls-worst-1e-5-rad": _least_squares_worst(results, 1e-5),
        "ls-bad-on-eta": _eta(results),
        **{f"ranking-by-{average}s": _ranking(results, average) for average in campaign.AVERAGES},
        **_validation(results),
        **part_measurements(results),
        "elpidso-better-than-spso-means": _against_spso_by_means(results),
        "elpidso-best": _best_parameters(results),
        "fitness-ls-worst": _worst_fitness(results),
        "ls-better-on-others": _eta(results, others=True),
        "converges-faster": _evaluations_needed(results),
        "wilcoxon-ls": _significance_against_ls(results),
        "absolute-error": _absolute_error(results),
    }


def identity_errors() -> tuple[float, float]:
    """Return how far H ddq + C dq + G is from Y lambda, with the known torque and without [N m].

    The largest deviations over random states with angles to 3 rad, and rates to 3 rad/s, 3 rad/s^2.
    """
    q, dq, ddq = np.random.default_rng(0).uniform(-3.0, 3.0, (3, STATES, 2))
    printed = model.torque(q, dq, ddq) - model.regressor(q, dq, ddq) @ model.TRUE
    right = printed - model.known_torque(q)
    return float(np.abs(right).max()), float(np.abs(printed).max())


def _ratios(results: ElpidsoResults, method: str) -> Float1D:
    """Return the median costs of ELPIDSO over those of a method, on every trajectory."""
    ours, other = (results.short.median_excess(m) for m in ("ELPIDSO", method))
    return np.asarray(np.maximum(ours, ROUNDING) / np.maximum(other, ROUNDING))


def _against_spso(results: ElpidsoResults) -> Measured:
    costs = zip(model.FITTED, results.exact.median_excess("SPSO"), strict=True)
    ties = [f"{rho:g}" for rho, cost in costs if cost < ROUNDING]
    late = f"With {results.exact.evaluations:,} SPSO too is at rounding at ρ = {', '.join(ties)}. "
    clear = int((_ratios(results, "SPSO") <= CLEARLY).sum())
    return measured(clear, evaluations=results.short.evaluations, late=late if ties else "")


def _against_ga(results: ElpidsoResults) -> Measured:
    spso, ga = (results.exact.median_error(m) for m in ("SPSO", "GA"))
    return measured(int((spso <= ga).sum()), spso=_range(spso), ga=_range(ga))


def _range(values: Float1D) -> str:
    return f"{values.min():.1g} to {values.max():.1g}"


def _significance(results: ElpidsoResults, method: str) -> Measured:
    """Count the trajectories on which the one-sided test says that ELPIDSO ends lower.

    A test of both sides would be met by a search that is significantly worse.
    """
    study = results.exact
    p = np.array(
        [
            _ends_lower(study.excess(rho, "ELPIDSO"), study.excess(rho, method))
            for rho in model.FITTED
        ]
    )
    return measured(int((p < SIGNIFICANCE).sum()), p=float(p.max()), runs=results.runs)


def _ends_lower(ours: Float1D, others: Float1D) -> float:
    """Return Wilcoxon's p that costs are not below others; below rounding they are equal."""
    ours, others = np.maximum(ours, ROUNDING), np.maximum(others, ROUNDING)
    if np.ptp(np.concatenate([ours, others])) == 0.0:
        return 1.0
    return float(mannwhitneyu(ours, others, alternative="less").pvalue)


def _gain_of_control(results: ElpidsoResults) -> Measured:
    ratios = _ratios(results, campaign.VARIANT)
    return measured(
        int((ratios <= CLEARLY).sum()), evaluations=results.short.evaluations, ratios=_range(ratios)
    )


def _below_least_squares(results: ElpidsoResults) -> Measured:
    ratios = [np.array(cost["searches"]) / cost["least_squares"] for cost in results.costs]
    excess = np.concatenate(ratios) - 1.0
    ties, evaluations = int((np.abs(excess) <= LEAST_GAIN).sum()), results.noisy.evaluations
    return measured(
        count_below(excess),
        searches=excess.size,
        ties=ties,
        least=LEAST_GAIN,
        evaluations=evaluations,
    )


def count_below(excess: Float1D) -> int:
    """Return how many of (J - J_LS) / J_LS are below zero by more than rounding."""
    return int((excess < -LEAST_GAIN).sum())


def _least_squares_exact(results: ElpidsoResults) -> Measured:
    estimates = [results.exact.criteria[rho].least_squares for rho in model.FITTED]
    error = float(np.abs(np.array(estimates) - model.TRUE).max())
    ga = results.exact.median_error("GA").max()
    return measured(error, ga=ga, lead=error - ga)


def _least_squares_worst(results: ElpidsoResults, noise: float) -> Measured:
    by_rho = errors_at(results, noise, "LS")
    swarm = 100.0 * float(errors_at(results, noise, "ELPIDSO").mean())
    return measured(100.0 * float(by_rho.mean()), interval_of_mean(100.0 * by_rho), swarm=swarm)


def _eta(results: ElpidsoResults, *, others: bool = False) -> Measured:
    """Return on how many rho both searches beat least squares on eta, or lose on the other three.

    Errors are medians of the runs on noisy torques.
    """
    grid, criteria = results.noisy.grid, results.noisy.criteria
    count = boxed = inside = 0
    walls = {
        m: [float((grid.values(m, "parameters", rho)[:, 3] == 0.0).mean()) for rho in model.FITTED]
        for m in ("GA", "SPSO")
    }
    for rho in model.FITTED:
        of_ls, of_box = (
            np.abs(x - model.TRUE)
            for x in (criteria[rho].least_squares, criteria[rho].in_the_box())
        )
        swarms = [
            np.median(np.abs(grid.values(m, "parameters", rho) - model.TRUE), axis=0)
            for m in ("GA", "SPSO")
        ]
        if others:
            count += all(errors[:3].max() > CLEARLY_WORSE * of_ls[:3].max() for errors in swarms)
        else:
            count += all(errors[3] < of_ls[3] for errors in swarms)
        boxed += bool(of_box[3] < of_ls[3])
        inside += bool(criteria[rho].in_the_box()[3] > 0.0)
    errors = np.array([criteria[rho].least_squares - model.TRUE for rho in model.FITTED])
    worst = np.abs(errors).max(axis=0)
    return measured(
        int(count),
        spso=100.0 * np.mean(walls["SPSO"]),
        ga=100.0 * np.mean(walls["GA"]),
        boxed=boxed,
        inside=inside,
        eta=float(worst[3]),
        rest=float(worst[:3].max()),
    )


def _ranking(results: ElpidsoResults, average: Average) -> Measured:
    errors = {m: exact_errors(results, m, average).mean() for m in ("LS", *SEARCHES)}
    rises = [max(errors[a], TIE) < max(errors[b], TIE) for a, b in pairwise(RANKING)]
    order = sorted(errors, key=lambda method: max(errors[method], TIE))
    counts = {
        m: sum((results.exact.errors(rho, m) > STUCK).sum() for rho in model.FITTED)
        for m in ("SPSO", "ELPIDSO")
    }
    return measured(
        int(sum(rises)),
        steps=", ".join(f"{method} {errors[method]:.1e}" for method in order),
        tie=TIE,
        searches=results.runs * len(model.FITTED),
        stuck_elpidso=counts["ELPIDSO"],
        stuck_spso=counts["SPSO"],
        stuck=STUCK,
    )


def _validation(results: ElpidsoResults) -> dict[str, Measured]:
    errors = {m: exact_errors(results, m, "median").max() for m in ("LS", *SEARCHES)}
    noisy = {m: noisy_errors(results, m, "median").max() for m in ("LS", *SEARCHES)}
    of_noise = noisy["ELPIDSO"] <= 1.05 * noisy["LS"]
    return {
        "validation-exact": measured(
            float(errors["ELPIDSO"]),
            **leads(errors),
            errors=_listed(errors),
            mean=float(exact_errors(results, "ELPIDSO", "mean").max()),
        ),
        "validation-noise": measured(
            100.0 * float(noisy["ELPIDSO"]),
            **leads(noisy),
            errors=_listed(noisy),
            left="What is left is the noise of the measured torque itself. " if of_noise else "",
            mean=float(noisy_errors(results, "ELPIDSO", "mean").max()),
        ),
    }


def leads(errors: Mapping[str, float]) -> dict[str, Any]:
    """Return by how much ELPIDSO's error is below the best search's, and below the best of all."""
    others = {method: error for method, error in errors.items() if method != "ELPIDSO"}
    searches = [error for method, error in others.items() if method != "LS"]
    return {
        "lead_of_searches": min(searches) - errors["ELPIDSO"],
        "lead_of_all": min(others.values()) - errors["ELPIDSO"],
    }


def _listed(errors: Mapping[str, float]) -> str:
    return ", ".join(f"{method} {error:.1e}" for method, error in errors.items())


def _against_spso_by_means(results: ElpidsoResults) -> Measured:
    study = results.exact
    means = {
        m: np.maximum([study.excess(rho, m).mean() for rho in model.FITTED], ROUNDING)
        for m in ("ELPIDSO", "SPSO")
    }
    stuck = sum(int((study.errors(rho, "ELPIDSO") > STUCK).sum()) for rho in model.FITTED)
    return measured(
        int((means["ELPIDSO"] < means["SPSO"]).sum()),
        evaluations=study.evaluations,
        ties=int((means["ELPIDSO"] == means["SPSO"]).sum()),
        behind=int((means["ELPIDSO"] > means["SPSO"]).sum()),
        stuck=stuck,
        searches=results.runs * len(model.FITTED),
    )


def _best_parameters(results: ElpidsoResults) -> Measured:
    study = results.exact
    best = 0
    listed = {}
    for rho in model.FITTED:
        errors = {
            m: max(float(np.abs(study.estimate(rho, m) - model.TRUE).max()), TIE)
            for m in ("LS", *SEARCHES)
        }
        listed[rho] = errors
        others = [error for m, error in errors.items() if m != "ELPIDSO"]
        best += bool(errors["ELPIDSO"] < min(others))
    largest = {m: max(errors[m] for errors in listed.values()) for m in ("LS", *SEARCHES)}
    return measured(best, largest=_listed(largest), tie=TIE)


def _worst_fitness(results: ElpidsoResults) -> Measured:
    worst = 0
    for rho in model.FITTED:  # costs above that of least squares
        means = [results.noisy.excess(rho, m).mean() for m in SEARCHES]
        worst += bool(max(means) < 0.0)
    return measured(worst)


def _evaluations_needed(results: ElpidsoResults) -> Measured:
    """Return at how many levels of the cost ELPIDSO needs fewer evaluations than SPSO.

    Of the median curve on every trajectory; geometric mean over the trajectories.
    """
    study = results.exact
    x = checkpoints(study.evaluations)

    def needed(method: str, level: float) -> float:
        curves = (study.grid.median(method, "curve", rho) for rho in model.FITTED)
        first = [x[np.argmax(c <= level)] if (c <= level).any() else x[-1] for c in curves]
        return float(np.exp(np.mean(np.log(first))))

    ratios = [needed("ELPIDSO", level) / needed("SPSO", level) for level in LEVELS]
    texts = ", ".join(f"{r:.2g} at {lv:g}" for r, lv in zip(ratios, LEVELS, strict=True))
    return measured(sum(r < 1.0 for r in ratios), ratios=texts)


def _significance_against_ls(results: ElpidsoResults) -> Measured:
    """Return on how many rho ELPIDSO is significantly better than least squares, noisy torques."""
    better = worse = 0
    for rho in model.FITTED:
        excess = np.maximum(results.noisy.excess(rho, "ELPIDSO"), -LEAST_GAIN)
        least = np.zeros_like(excess)
        if np.ptp(np.concatenate([excess, least])) > 0.0:
            better += bool(mannwhitneyu(excess, least, alternative="less").pvalue < SIGNIFICANCE)
            worse += bool(mannwhitneyu(least, excess, alternative="less").pvalue < SIGNIFICANCE)
    return measured(better, worse=worse, runs=results.runs)


def _absolute_error(results: ElpidsoResults) -> Measured:
    sums = {m: float(absolute_errors(results, m, "median").max()) for m in ("LS", *SEARCHES)}
    mean = float(absolute_errors(results, "ELPIDSO", "mean").max())
    scale = sum(np.abs(results.driven[rho].tau).sum() for rho in model.VALIDATED)
    relative = {m: value / scale for m, value in sums.items()}
    return measured(sums["ELPIDSO"], **leads(relative), errors=_listed(sums), mean=mean)
