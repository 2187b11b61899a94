"""What is measured for the claims: CAD, search, identified parameters, networks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import bootstrap, iqr

from robotid_sim.arrays import Float1D
from robotid_sim.model import inertia
from robotid_sim.model.catalog import load_robot, published_parameters
from robotid_sim.model.parameters import N_INERTIAL, inertial_slice
from robotid_sim.papers import statistics
from robotid_sim.papers.claims import Measured, measured
from robotid_sim.papers.columns import measured_mean, measured_median
from robotid_sim.papers.irb140 import campaign
from robotid_sim.papers.irb140.campaign import BOX, SMALL_BOX, QuantumResults
from robotid_sim.papers.irb140.inverse_network import TREATMENTS
from robotid_sim.papers.irb140.loop_measurements import control_measurements, plant_measurements
from robotid_sim.papers.irb140.network import NETWORKS, TASK, WIDE_SHARE, region_of
from robotid_sim.papers.irb140.performance import OBJECTIVES
from robotid_sim.papers.irb140.published import (
    FITNESS,
    ITERATIONS,
    LINKS,
    MAPE,
    NAMES,
    ROBOT,
    mape,
    mape_ranges,
    parameter_vector,
    rounding_of,
)
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.irb140.torque import SEARCHES, visible_directions
from robotid_sim.papers.statistics import Ends

ERRORS = ("mape_com", "mape_inertia")
"""Errors of centers of mass and of inertia."""
SWARMS = ("pso", "pso-decreasing", "pso-constricted")
"""Particle swarms that converge."""
EQUAL = (QUBIT_CLAMP, QUBIT_CLAMP)
"""The qubits' clamp for both swarms."""
PRODUCTS, MOMENTS = ("Ixy", "Ixz", "Iyz"), ("Ixx", "Iyy", "Izz")
FEWEST = 12
"""Runs below which a measure of spread has no interval: draws of one run alone would decide it."""
GRADIENT = "sgd-15"
"""The network that is trained as the paper says."""
CONVERGED = {"qpso": 32.0, "pso": 47.0}
"""Printed iterations until convergence."""
TIME, REDUCTION = -7.9, 51.35
"""Printed change of the time an iteration, and reduction of the mean fitness [%]."""


def measurements(results: QuantumResults) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    return {
        **_accuracy(results),
        **_recomputed(results),
        **_fitness(results),
        **_spread(results),
        "off-diagonals": _off_diagonals(results),
        **_iterations(results),
        **_stagnation(results),
        "time-per-iteration": _time(results),
        "total-time": _total_time(results),
        **_information(results),
        **_network(results),
        **_inverse(results),
        **_performance(results),
        **_cad(results),
        **control_measurements(results),
        **plant_measurements(results),
    }


def pair_ratio(
    results: QuantumResults, pair: tuple[float, float], name: str, *, inverse: bool = False
) -> tuple[float, Ends]:
    """Return a value of PSO over QPSO's at a pair of clamps, or the inverse, with its interval."""
    pso, qubit = (
        results.clamped(swarm, clamp, name)
        for swarm, clamp in zip(("pso", "qubit"), pair, strict=True)
    )
    over = (qubit, pso) if inverse else (pso, qubit)
    return statistics.geometric_ratio(*over)


def _clamp_facts(results: QuantumResults, name: str, *, inverse: bool = False) -> dict[str, Any]:
    """Return the clamps, and the range of the ratio at equal shares and at equal steps."""

    def span(pairs: Sequence[tuple[float, float]]) -> str:
        values = [pair_ratio(results, pair, name, inverse=inverse)[0] for pair in pairs]
        return f"{min(values):.2f} to {max(values):.2f}"

    clamps = {"pso_clamp": PSO_CLAMP, "qubit_clamp": QUBIT_CLAMP}
    spans = {"equal_shares": campaign.EQUAL_SHARES, "equal_steps": campaign.EQUAL_STEPS}
    return {**clamps, **{name: span(pairs) for name, pairs in spans.items()}}


def _accuracy(results: QuantumResults) -> dict[str, Measured]:
    values = {}
    for name in ERRORS:
        kebab, delta = name.replace("_", "-"), results.search("delta-well", name)
        pso, qubit = results.search("pso", name), results.search("qubit", name)
        values[f"qpso-beats-pso-{kebab}"] = measured(
            *statistics.geometric_ratio(pso, qubit),
            **_clamp_facts(results, name),
            qpso=np.mean(qubit),
            pso=np.mean(pso),
            box=100 * BOX,
        )
        equal = pair_ratio(results, EQUAL, name)
        values[f"equal-clamps-{kebab}"] = measured(*equal, clamp=QUBIT_CLAMP)
        errors = (results.search(swarm, name) for swarm in SWARMS)
        ratios = [statistics.geometric_ratio(error, delta) for error in errors]
        least, spread = min(ratios, key=lambda ratio: ratio[0])
        values[f"delta-well-beats-pso-{name.removeprefix('mape_')}"] = measured(
            *statistics.geometric_ratio(results.search("pso-decreasing", name), delta),
            least=least,
            least_end=statistics.lower_end(least, spread),
        )
    return values


def _recomputed(results: QuantumResults) -> dict[str, Measured]:
    values = {}
    for column, printed in MAPE.items():
        errors = mape(parameter_vector(column), results.reference)
        rows = zip(errors, mape_ranges(column), printed, ("com", "inertia"), strict=True)
        for error, ends, level, what in rows:
            off = distance_from_print(level, ends)
            why = f"The last printed digits allow {ends[0]:.3g} to {ends[1]:.3g} %."
            values[f"table-3-{column.lower()}-{what}"] = measured(round(error, 4), off=off, why=why)
    return values


def distance_from_print(printed: float, ends: tuple[float, float]) -> float:
    """Measure how far a printed number, to its last digit, is from a range; zero if they meet."""
    half = rounding_of(printed)
    return max(0.0, ends[0] - (printed + half), printed - half - ends[1])


def _fitness(results: QuantumResults) -> dict[str, Measured]:
    qpso, pso = (((parameter_vector(m) - results.reference) ** 2).sum() for m in ("QPSO", "PSO"))
    costs = (results.search(swarm, "cost") for swarm in ("qubit", "pso"))
    equal = pair_ratio(results, EQUAL, "cost", inverse=True)
    return {
        "final-fitness": measured(
            *statistics.geometric_ratio(*costs),
            **_clamp_facts(results, "cost", inverse=True),
            qpso=qpso,
            pso=pso,
        ),
        "equal-clamps-final-fitness": measured(*equal, clamp=QUBIT_CLAMP),
    }


def _spread(results: QuantumResults) -> dict[str, Measured]:
    """Return what figure 9 is about: quartiles, standard deviations and outliers of 30 runs."""
    wide, equal = (
        {
            "pso": results.clamped("pso", pair[0], "cost"),
            "qubit": results.clamped("qubit", pair[1], "cost"),
        }
        for pair in (campaign.AS_SET, EQUAL)
    )
    many = {swarm: _outliers(results.search(swarm, "cost", box=SMALL_BOX)) for swarm in wide}
    more = 100.0 * float(many["pso"].mean() - many["qubit"].mean())
    half = 196.0 * float(np.sqrt(sum(share.var() / share.size for share in many.values())))
    best, worst = sorted(cost[0] for cost in FITNESS.values())
    low, better, high = (
        100.0 * (1.0 - (best + sign * rounding_of(best)) / (worst - sign * rounding_of(worst)))
        for sign in (1.0, 0.0, -1.0)
    )
    return {
        "fitness-quartiles": _ratio_of(
            wide["pso"], wide["qubit"], iqr, equal=iqr(equal["pso"]) / iqr(equal["qubit"])
        ),
        "fitness-deviation": _ratio_of(wide["qubit"], wide["pso"], np.std),
        "fitness-outliers": measured(
            more,
            (more - half, more + half),
            runs=many["pso"].size,
            **{swarm: 100.0 * share.mean() for swarm, share in many.items()},
        ),
        "fitness-reduction": measured(
            better, low=low, high=high, off=distance_from_print(REDUCTION, (low, high))
        ),
    }


def _ratio_of(values: Float1D, others: Float1D, statistic: Any, **facts: Any) -> Measured:
    """Return the ratio of a measure of spread of two samples, with its bootstrap interval."""

    def ratio(above: Float1D, below: Float1D, axis: int = 0) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):  # draws of one run alone
            return statistic(above, axis=axis) / statistic(below, axis=axis)

    interval = None
    if values.size >= FEWEST:
        drawn = bootstrap(
            (values, others), ratio, method="percentile", rng=np.random.default_rng(0)
        )
        interval = float(drawn.confidence_interval.low), float(drawn.confidence_interval.high)
    return measured(float(ratio(values, others)), interval, **facts)


def _outliers(values: Float1D) -> Float1D:
    """Return 1 for what lies more than 1.5 quartile distances outside of the quartiles, else 0."""
    low, high = np.percentile(values, (25.0, 75.0))
    reach = 1.5 * (high - low)
    return np.where((values < low - reach) | (values > high + reach), 1.0, 0.0)


def _off_diagonals(results: QuantumResults) -> Measured:
    """Return QPSO's gain on products of inertia over that on moments of inertia."""
    names = np.array([name[:-1] for name in NAMES])
    products, moments = (np.isin(names, part) for part in (PRODUCTS, MOMENTS))

    def errors(estimates: Any, chosen: Any) -> Any:
        return np.abs(np.asarray(estimates) / results.reference - 1.0)[..., chosen].mean(axis=-1)

    def gains(pso: Any, qpso: Any) -> list[Any]:
        return [errors(pso, chosen) / errors(qpso, chosen) for chosen in (products, moments)]

    printed = gains(*(parameter_vector(column) for column in ("PSO", "QPSO")))
    ours = gains(*(results.search(swarm, "estimate") for swarm in ("pso", "qubit")))
    return measured(
        *statistics.geometric_ratio(*ours),
        products=float(np.mean(ours[0])),
        moments=float(np.mean(ours[1])),
        printed=float(printed[0] / printed[1]),
    )


def _cad(results: QuantumResults) -> dict[str, Measured]:
    """Return how far mass properties of our meshes are from Table 2."""
    links = [results.cad["links"][link] for link in LINKS]
    printed = published_parameters(ROBOT).phi[: len(LINKS) * N_INERTIAL : N_INERTIAL]
    ours = np.concatenate([[*link["com"], *link["inertia"]] for link in links])
    share = 100.0 * np.abs(ours / results.reference - 1.0)
    masses = 100.0 * np.abs(np.array([link["mass"] for link in links]) / printed - 1.0)
    first = NAMES.index("Ixx1")
    return {
        "cad-error": measured(
            float(np.median(share)), ixx=ours[first], printed=results.reference[first]
        ),
        "cad-masses": measured(float(masses.max())),
        "cad-bodies": measured(float(possible_bodies())),
    }


def possible_bodies() -> int:
    """Return how many links of Table 2 a rigid body can have."""
    phi = published_parameters(ROBOT).phi
    bodies = (phi[inertial_slice(k)] for k in range(len(LINKS)))
    return sum(inertia.inconsistency(body) is None for body in bodies)


def _iterations(results: QuantumResults) -> dict[str, Measured]:
    counts = {m: results.search(m, "converged", box=SMALL_BOX) for m in ("qubit", "pso")}
    at_equal_clamps = np.median(results.clamped("pso", QUBIT_CLAMP, "converged"))
    values = {
        f"iterations-{label}": measured_median(
            counts[m], runs=len(counts[m]), clamp=QUBIT_CLAMP, equal=at_equal_clamps
        )
        for m, label in (("qubit", "qpso"), ("pso", "pso"))
    }
    for m, label in (("qubit", "qpso"), ("pso", "pso")):
        values[f"iterations-{label}-spread"] = measured(float(np.std(counts[m])))
    clamps = _clamp_facts(results, "converged", inverse=True)
    values["iterations-ratio"] = measured(
        *statistics.geometric_ratio(counts["qubit"], counts["pso"]), **clamps
    )
    equal = pair_ratio(results, EQUAL, "converged", inverse=True)
    values["equal-clamps-iterations-ratio"] = measured(*equal, clamp=QUBIT_CLAMP)
    return values


def _stagnation(results: QuantumResults) -> dict[str, Measured]:
    last, reach = (results.search("pso-literal", name) for name in ("last_gain", "reach"))
    early = measured_median(last, nearest=reach.min())
    return {"pso-stagnates-early": early, "pso-flies-away": measured_median(reach)}


def _time(results: QuantumResults) -> Measured:
    times = {name: results.search(name, "seconds") for name in ("qubit", "pso")}
    ratio, interval = statistics.geometric_ratio(times["qubit"], times["pso"])
    each = {name: 1e6 * float(np.median(t)) / ITERATIONS for name, t in times.items()}
    more = 100.0 * (ratio - 1.0)
    return measured(more, statistics.above_one(interval), pso=each["pso"], qpso=each["qubit"])


def _total_time(results: QuantumResults) -> Measured:
    """Return by how much more time QPSO takes until it has converged [%]."""
    ratios = []
    for name, box in (("seconds", BOX), ("converged", SMALL_BOX)):
        qubit, pso = (results.search(swarm, name, box=box) for swarm in ("qubit", "pso"))
        ratios.append(np.log(qubit) - np.log(pso))
    middle = sum(float(ratio.mean()) for ratio in ratios)
    half = 1.96 * np.sqrt(sum(float(ratio.var() / ratio.size) for ratio in ratios))
    low, high = (100.0 * (np.exp(middle + side * half) - 1.0) for side in (-1.0, 1.0))
    by_iterations = CONVERGED["qpso"] / CONVERGED["pso"]
    return measured(
        100.0 * (np.exp(middle) - 1.0),
        (low, high),
        alone=100.0 * (by_iterations - 1.0),
        both=100.0 * (by_iterations * (1.0 + 0.01 * TIME) - 1.0),
    )


def _information(results: QuantumResults) -> dict[str, Measured]:
    rank, count = visible_directions()
    ratios = {name: results.torque(name, "criterion_over_optimum") for name in SEARCHES}
    medians = {name: float(np.median(values)) for name, values in ratios.items()}
    best = min(medians, key=lambda name: medians[name])
    interval = statistics.interval_of_median(ratios["qubit"])
    return {
        "parameters-visible": measured(float(rank), rank=rank, count=count),
        "swarms-on-torque-data": measured(
            medians["qubit"],
            interval,
            qubit_end=np.inf if interval is None else interval[1],
            logs=ratios["qubit"].size,
            pso=medians["pso"],
            best=best,
            best_cost=medians[best],
        ),
    }


def _network(results: QuantumResults) -> dict[str, Measured]:
    widths = ", ".join(
        f"{results.network('validation', name).mean():.2g} mm in {network.region}"
        for name, network in NETWORKS.items()
        if name.startswith("single")
    )
    values = {}
    for what, key in (("validation", "validation"), ("training", "train")):
        errors = results.network(key)
        facts = {"region": NETWORKS[TASK].region, "trainings": errors.size, "widths": widths}
        values[f"network-{what}"] = measured_mean(errors, **facts)
    lower, upper = region_of(None, load_robot(ROBOT))
    ranges = ", ".join(f"{width:g}" for width in np.degrees(0.5 * (upper - lower)).round(1))
    values["network-whole-workspace"] = measured(
        float(results.network("validation", "single-wide")[0]),
        share=100 * WIDE_SHARE,
        ranges=ranges,
        deep=results.network("validation", "deep-wide")[0],
    )
    return values


def _inverse(results: QuantumResults) -> dict[str, Measured]:
    singular = {name: 100.0 * results.inverse(name, "singular") for name in TREATMENTS}
    errors = {name: results.inverse(name, "validation").mean() for name in TREATMENTS}
    listed = ", ".join(f"{name} {error:.2g} mm" for name, error in errors.items())
    plain = float(singular["none"].mean())
    return {
        "network-inverse": measured_mean(
            results.inverse("penalty", "validation"),
            logs=singular["none"].size,
            train=results.inverse("penalty", "train").mean(),
        ),
        "singularity-penalty": measured(
            float(singular["penalty"].max()),
            plain=plain,
            errors=listed,
            logged=100.0 * results.inverse("none", "logged").mean(),
        ),
        "network-gradient": measured(
            float(results.network("validation", GRADIENT)[0]),
            lbfgs=results.network("validation").mean(),
        ),
    }


def _performance(results: QuantumResults) -> dict[str, Measured]:
    ratios = {
        where: statistics.geometric_ratio(
            *(results.performance("qubit", objective, where) for objective in OBJECTIVES)
        )
        for where in ("circle", "unseen")
    }
    pso, _ = statistics.geometric_ratio(
        *(results.performance("pso", objective, "circle") for objective in OBJECTIVES)
    )
    values: dict[str, Any] = {
        key: float(np.median(results.performance("qubit", objective, "mape_inertia")))
        for key, objective in zip(("by_parameters", "by_torque"), OBJECTIVES, strict=True)
    }
    unseen = ratios["unseen"]
    return {
        "control-aware-circle": measured(
            *ratios["circle"], unseen_end=statistics.lower_end(*unseen), pso=pso, **values
        ),
        "control-aware-unseen": measured(*unseen, **values),
    }
