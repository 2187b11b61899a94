"""What is measured for the claims on the search, the identified parameters and the network."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from robotid_sim.model.catalog import load_robot
from robotid_sim.papers.irb140.campaign import (
    BOX,
    EQUAL_SHARES,
    EQUAL_STEPS,
    SMALL_BOX,
    QuantumResults,
)
from robotid_sim.papers.irb140.control_measurements import control_measurements
from robotid_sim.papers.irb140.network import NETWORKS, TASK, WIDE_SHARE, region_of
from robotid_sim.papers.irb140.published import ITERATIONS, MAPE, ROBOT, mape, parameter_vector
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.irb140.torque import SEARCHES, visible_directions
from robotid_sim.papers.sheet import Measured, measured
from robotid_sim.papers.statistics import (
    Ends,
    geometric_ratio,
    interval_of_mean,
    interval_of_median,
    lower_end,
)

ERRORS = ("mape_com", "mape_inertia")
"""Errors of centers of mass and of inertia."""
SWARMS = ("pso", "pso-decreasing", "pso-constricted")
"""Particle swarms that converge."""
EQUAL = (QUBIT_CLAMP, QUBIT_CLAMP)
"""The qubits' clamp for both swarms."""


def measurements(results: QuantumResults) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    return {
        **_accuracy(results),
        **_recomputed(results),
        **_fitness(results),
        **_iterations(results),
        **_stagnation(results),
        "time-per-iteration": _time(results),
        **_information(results),
        **_network(results),
        **control_measurements(results),
    }


def pair_ratio(
    results: QuantumResults, pair: tuple[float, float], name: str, *, inverse: bool = False
) -> tuple[float, Ends]:
    """Return a value of PSO over QPSO's at a pair of clamps, or the inverse, with its interval."""
    pso, qubit = (
        results.clamped(swarm, clamp, name)
        for swarm, clamp in zip(("pso", "qubit"), pair, strict=True)
    )
    return geometric_ratio(qubit, pso) if inverse else geometric_ratio(pso, qubit)


def _clamp_facts(results: QuantumResults, name: str, *, inverse: bool = False) -> dict[str, Any]:
    """Return the clamps, and the range of the ratio at equal shares and at equal steps."""

    def span(pairs: Sequence[tuple[float, float]]) -> str:
        values = [pair_ratio(results, pair, name, inverse=inverse)[0] for pair in pairs]
        return f"{min(values):.2f} to {max(values):.2f}"

    clamps = {"pso_clamp": PSO_CLAMP, "qubit_clamp": QUBIT_CLAMP}
    return {**clamps, "equal_shares": span(EQUAL_SHARES), "equal_steps": span(EQUAL_STEPS)}


def _accuracy(results: QuantumResults) -> dict[str, Measured]:
    values = {}
    for name in ERRORS:
        kebab, delta = name.replace("_", "-"), results.search("delta-well", name)
        pso, qubit = results.search("pso", name), results.search("qubit", name)
        values[f"qpso-beats-pso-{kebab}"] = measured(
            *geometric_ratio(pso, qubit),
            **_clamp_facts(results, name),
            qpso=np.mean(qubit),
            pso=np.mean(pso),
            box=100 * BOX,
        )
        equal = pair_ratio(results, EQUAL, name)
        values[f"equal-clamps-{kebab}"] = measured(*equal, clamp=QUBIT_CLAMP)
        ratios = [geometric_ratio(results.search(swarm, name), delta) for swarm in SWARMS]
        least, spread = min(ratios, key=lambda ratio: ratio[0])
        values[f"delta-well-beats-pso-{name.removeprefix('mape_')}"] = measured(
            *geometric_ratio(results.search("pso-decreasing", name), delta),
            least=least,
            least_end=lower_end(least, spread),
        )
    return values


def _recomputed(results: QuantumResults) -> dict[str, Measured]:
    values = {}
    for column, printed in MAPE.items():
        errors = mape(parameter_vector(column), results.reference)
        for error, level, what in zip(errors, printed, ("com", "inertia"), strict=True):
            off = abs(error - level)
            values[f"table-3-{column.lower()}-{what}"] = measured(
                round(error, 4),
                off=off,
                why="Computed from the printed Table 3."
                if off < 0.01
                else "The printed Table 3 gives another number than the text.",
            )
    return values


def _fitness(results: QuantumResults) -> dict[str, Measured]:
    table = {
        name: ((parameter_vector(name) - results.reference) ** 2).sum() for name in ("QPSO", "PSO")
    }
    cost = geometric_ratio(results.search("qubit", "cost"), results.search("pso", "cost"))
    equal = pair_ratio(results, EQUAL, "cost", inverse=True)
    return {
        "final-fitness": measured(
            *cost,
            **_clamp_facts(results, "cost", inverse=True),
            qpso=table["QPSO"],
            pso=table["PSO"],
        ),
        "equal-clamps-final-fitness": measured(*equal, clamp=QUBIT_CLAMP),
    }


def _iterations(results: QuantumResults) -> dict[str, Measured]:
    counts = {m: results.search(m, "converged", box=SMALL_BOX) for m in ("qubit", "pso")}
    values = {
        f"iterations-{label}": measured(
            float(np.median(counts[m])),
            interval_of_median(counts[m]),
            runs=len(counts[m]),
            clamp=QUBIT_CLAMP,
            equal=np.median(results.clamped("pso", QUBIT_CLAMP, "converged")),
        )
        for m, label in (("qubit", "qpso"), ("pso", "pso"))
    }
    values["iterations-ratio"] = measured(
        *geometric_ratio(counts["qubit"], counts["pso"]),
        **_clamp_facts(results, "converged", inverse=True),
    )
    equal = pair_ratio(results, EQUAL, "converged", inverse=True)
    values["equal-clamps-iterations-ratio"] = measured(*equal, clamp=QUBIT_CLAMP)
    return values


def _stagnation(results: QuantumResults) -> dict[str, Measured]:
    last, reach = (results.search("pso-literal", name) for name in ("last_gain", "reach"))
    return {
        "pso-stagnates-early": measured(
            float(np.median(last)), interval_of_median(last), nearest=reach.min()
        ),
        "pso-flies-away": measured(float(np.median(reach)), interval_of_median(reach)),
    }


def _time(results: QuantumResults) -> Measured:
    times = {name: results.search(name, "seconds") for name in ("qubit", "pso")}
    value, interval = geometric_ratio(times["qubit"], times["pso"])
    change = None if interval is None else tuple(100.0 * (end - 1.0) for end in interval)
    each = {name: 1e6 * float(np.median(t)) / ITERATIONS for name, t in times.items()}
    ends = None if change is None else (change[0], change[1])
    return measured(100.0 * (value - 1.0), ends, pso=each["pso"], qpso=each["qubit"])


def _information(results: QuantumResults) -> dict[str, Measured]:
    rank, count = visible_directions()
    ratios = {name: results.torque(name, "criterion_over_optimum") for name in SEARCHES}
    medians = {name: float(np.median(values)) for name, values in ratios.items()}
    best = min(medians, key=lambda name: medians[name])
    interval = interval_of_median(ratios["qubit"])
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
    region = NETWORKS[TASK].region
    single = [name for name in NETWORKS if name.startswith("single")]
    widths = ", ".join(
        f"{results.network('validation', name).mean():.2g} mm in {NETWORKS[name].region}"
        for name in single
    )
    values = {}
    for what, key in (("validation", "validation"), ("training", "train")):
        errors = results.network(key)
        values[f"network-{what}"] = measured(
            float(errors.mean()),
            interval_of_mean(errors),
            region=region,
            trainings=errors.size,
            widths=widths,
        )
    lower, upper = region_of(None, load_robot(ROBOT))
    ranges = ", ".join(f"{width:g}" for width in np.degrees(0.5 * (upper - lower)).round(1))
    values["network-whole-workspace"] = measured(
        float(results.network("validation", "single-wide")[0]),
        share=100 * WIDE_SHARE,
        ranges=ranges,
        deep=results.network("validation", "deep-wide")[0],
    )
    return values
