"""What is measured for the claims: search, identified parameters, network, sliding-mode control."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.model.catalog import load_robot
from robotid_sim.papers import statistics
from robotid_sim.papers.irb140 import campaign
from robotid_sim.papers.irb140.campaign import BOX, SMALL_BOX, QuantumResults
from robotid_sim.papers.irb140.control import SCENARIOS, SETTLED, STEP_KEYS
from robotid_sim.papers.irb140.network import NETWORKS, TASK, WIDE_SHARE, region_of
from robotid_sim.papers.irb140.published import ITERATIONS, MAPE, ROBOT, mape, parameter_vector
from robotid_sim.papers.irb140.swarms import PSO_CLAMP, QUBIT_CLAMP
from robotid_sim.papers.irb140.torque import SEARCHES, visible_directions
from robotid_sim.papers.sheet import Measured, measured, measured_mean, measured_median
from robotid_sim.papers.statistics import Ends

ERRORS = ("mape_com", "mape_inertia")
"""Errors of centers of mass and of inertia."""
SWARMS = ("pso", "pso-decreasing", "pso-constricted")
"""Particle swarms that converge."""
EQUAL = (QUBIT_CLAMP, QUBIT_CLAMP)
"""The qubits' clamp for both swarms."""

METRICS = (("rise", "s"), ("settling", "s"), ("overshoot", "%"), ("error", "%"))
"""Of Table 4: name and unit."""
COMPARED = ("PSO", "QPSO")
"""Models that are compared with the reference."""
RANKED = ("PSO", "QPSO", "reference")
"""Models from best to worst, by Table 4."""
SHOWN = ("reference", "QPSO", "PSO")
"""Models in the order in which reasons list them."""


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
    right = "Computed from the printed Table 3."
    wrong = "The printed Table 3 gives another number than the text."
    values = {}
    for column, printed in MAPE.items():
        errors = mape(parameter_vector(column), results.reference)
        for error, level, what in zip(errors, printed, ("com", "inertia"), strict=True):
            off, name = abs(error - level), f"table-3-{column.lower()}-{what}"
            values[name] = measured(round(error, 4), off=off, why=right if off < 0.01 else wrong)
    return values


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


def _iterations(results: QuantumResults) -> dict[str, Measured]:
    counts = {m: results.search(m, "converged", box=SMALL_BOX) for m in ("qubit", "pso")}
    at_equal_clamps = np.median(results.clamped("pso", QUBIT_CLAMP, "converged"))
    values = {
        f"iterations-{label}": measured_median(
            counts[m], runs=len(counts[m]), clamp=QUBIT_CLAMP, equal=at_equal_clamps
        )
        for m, label in (("qubit", "qpso"), ("pso", "pso"))
    }
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


def control_measurements(results: QuantumResults) -> dict[str, Measured]:
    """Return what is measured in the loop, by claim."""
    values = {}
    for scenario in SCENARIOS:
        values[f"torque-closest-{scenario}"] = _torque(results, scenario, "torque_difference")
        settled = _torque(results, scenario, "torque_difference_settled")
        values[f"torque-settled-{scenario}"] = settled
        values[f"torque-smoother-{scenario}"] = _smoothness(results, scenario)
        for k, (name, _) in enumerate(METRICS):
            values[f"table-4-{name}-{scenario}"] = _table_4(results, scenario, k)
        values[f"tracking-error-{scenario}"] = _tracking(results, scenario)
        values[f"energy-closest-{scenario}"] = _energy(results, scenario)
    return {**values, "energy-rises": _rising(results)}


def _torque(results: QuantumResults, scenario: str, name: str) -> Measured:
    pso, qpso = (results.loop(scenario, model, name)[:, :3] for model in COMPARED)
    joints = [statistics.geometric_ratio(pso[:, j], qpso[:, j]) for j in range(3)]
    value, interval = min(joints, key=lambda joint: joint[0])
    listed = ", ".join(f"{joint[0]:.2f}" for joint in joints)
    start = _start_share(results, scenario)
    return measured(value, interval, settled=SETTLED, joints=listed, start=start)


def _start_share(results: QuantumResults, scenario: str) -> str:
    """Return how much of the squared torque differences arises at the start [%], in words."""
    whole, later = (
        np.vstack([results.loop(scenario, model, name)[:, :3].mean(axis=0) for model in COMPARED])
        for name in ("torque_difference", "torque_difference_settled")
    )
    shares = 100.0 * (1.0 - (later / whole) ** 2)  # the start is a hundredth of the lap
    return f"{shares.min():.0f} to {shares.max():.0f}"


def spread_of_rates(results: QuantumResults, scenario: str, name: str) -> tuple[float, Ends, int]:
    """Return the largest difference of torque rates between the models [%], interval and joint."""
    rates = [results.loop(scenario, model, name)[:, :3] for model in SHOWN]
    means = np.array([rate.mean(axis=0) for rate in rates])
    spread = 100.0 * (means.max(axis=0) / means.min(axis=0) - 1.0)
    joint = int(spread.argmax())
    of_joint = means[:, joint]
    most, least = (rates[int(k)][:, joint] for k in (of_joint.argmax(), of_joint.argmin()))
    interval = statistics.interval_of_ratio(most, least, paired=True)
    return float(spread[joint]), statistics.above_one(interval), joint


def _smoothness(results: QuantumResults, scenario: str) -> Measured:
    value, interval, joint = spread_of_rates(results, scenario, "torque_rate")
    pso, qpso = (results.loop(scenario, m, "torque_rate")[:, :3].mean(axis=0) for m in COMPARED)
    after = spread_of_rates(results, scenario, "torque_rate_settled")[0]
    rougher = int((qpso >= pso).sum())
    return measured(value, interval, rougher=rougher, joint=joint + 1, after=after, settled=SETTLED)


def _steps(values: dict[str, Float1D]) -> list[tuple[float, Ends]]:
    """Return the paired differences PSO - QPSO and QPSO - reference, means with intervals."""
    apart = [values[a] - values[b] for a, b in pairwise(RANKED)]
    return [(float(step.mean()), statistics.interval_of_mean(step)) for step in apart]


def _table_4(results: QuantumResults, scenario: str, k: int) -> Measured:
    unit = METRICS[k][1]
    factor = 100.0 if unit == "%" else 1.0
    values = {m: factor * results.step(scenario, m, STEP_KEYS[k]) for m in SHOWN}
    if not all(np.isfinite(value).all() for value in values.values()):
        means = "the disturbance does not end"
        return measured("some runs never do", worst_step=np.nan, means=means)
    return measured_mean(
        values["PSO"] - values["reference"],
        worst_step=max(statistics.upper_end(*step) for step in _steps(values)),
        means=", ".join(f"{m} {value.mean():.4g} {unit}" for m, value in values.items()),
    )


def _tracking(results: QuantumResults, scenario: str) -> Measured:
    errors = {m: results.loop(scenario, m, "rms_error") for m in SHOWN}
    values = {m: 1e3 * np.linalg.norm(error, axis=1) for m, error in errors.items()}
    steps = _steps(values)
    turned = all(statistics.lower_end(*step) > 0.0 for step in steps)
    return measured_mean(
        values["PSO"] - values["reference"],
        worst_step=max(statistics.upper_end(*step) for step in steps),
        means=", ".join(f"{name} {value.mean():.4g} mrad" for name, value in values.items()),
        order="The order is the opposite one: a better model tracks better."
        if turned
        else "Paired differences show no such order.",
    )


def _energy(results: QuantumResults, scenario: str) -> Measured:
    def apart(model: str, name: str) -> Float1D:
        energies = (results.loop(scenario, m, name)[:, 1] for m in (model, "reference"))
        return np.asarray(np.abs(np.subtract(*energies)))

    true = results.loop(scenario, "reference", "energy")[:, 1]
    qpso, pso = (apart(model, "energy") for model in ("QPSO", "PSO"))
    after = statistics.geometric_ratio(*(apart(model, "energy_settled") for model in COMPARED))[0]
    value, interval = statistics.geometric_ratio(pso, qpso)
    shares = {"qpso_share": 100 * (qpso / true).mean(), "pso_share": 100 * (pso / true).mean()}
    return measured(value, interval, **shares, settled=SETTLED, after=after)


def _rising(results: QuantumResults) -> Measured:
    absolute = np.array(results.curves["nominal reference"]["energy"])[:, 1]
    signed, total = (
        float(results.loop("nominal", "reference", name)[:, 1].mean())
        for name in ("energy_signed", "energy")
    )
    falls = int((np.diff(absolute) < 0.0).sum())
    ours = f"{total:.4g} J absolute, {signed:.3g} J signed"
    return measured(ours, falls=falls, signed_share=signed / total)
