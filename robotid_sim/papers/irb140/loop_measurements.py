"""What is measured for the claims on control: models in the controller, and as arms."""

from itertools import pairwise

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.papers import statistics
from robotid_sim.papers.claims import Measured, measured
from robotid_sim.papers.columns import measured_mean
from robotid_sim.papers.grid import values_of
from robotid_sim.papers.irb140.campaign import QuantumResults
from robotid_sim.papers.irb140.control import MODELS, SCENARIOS, SETTLED, STEP_KEYS
from robotid_sim.papers.statistics import Ends

METRICS = (("rise", "s"), ("settling", "s"), ("overshoot", "%"), ("error", "%"))
"""Of Table 4: name and unit."""
COMPARED = ("PSO", "QPSO")
"""Models that are compared with the reference."""
RANKED = ("PSO", "QPSO", "reference")
"""Models from best to worst, by Table 4."""
SHOWN = ("reference", "QPSO", "PSO")
"""Models in the order in which reasons list them."""


def control_measurements(results: QuantumResults) -> dict[str, Measured]:
    """Return what is measured in the loop, by claim."""
    values: dict[str, Measured] = {}
    for scenario in SCENARIOS:
        values[f"torque-closest-{scenario}"] = _torque(results, scenario, "torque_difference")
        settled = _torque(results, scenario, "torque_difference_settled")
        values[f"torque-settled-{scenario}"] = settled
        values[f"torque-smoother-{scenario}"] = _smoothness(results, scenario)
        values[f"table-4-{scenario}"] = _steps_in_order(results, scenario)
        values[f"tracking-error-{scenario}"] = _tracking(results, scenario)
        values[f"energy-closest-{scenario}"] = _energy(results, scenario)
        values[f"energy-higher-{scenario}"] = _more_energy(
            *(results.loop(scenario, model, "energy") for model in RANKED)
        )
    return {**values, "energy-rises": _rising(results), "resilience": _resilience(results)}


def plant_measurements(results: QuantumResults) -> dict[str, Measured]:
    """Return what is measured with the models as arms, by claim; see `plants`."""
    values: dict[str, Measured] = {}
    for scenario in SCENARIOS:
        energies = [results.plants(scenario, model, "energy") for model in RANKED]
        values |= {
            f"arms-torque-closest-{scenario}": _arm_torque(results, scenario),
            f"arms-energy-closest-{scenario}": _arm_energy(*energies),
            f"arms-energy-higher-{scenario}": _more_energy(*energies),
            f"arms-smoother-{scenario}": _arm_smoothness(results, scenario),
            f"arms-table-4-{scenario}": _steps_in_order(results, ("plants", scenario)),
        }
    return {
        **values,
        "arms-energy-diverges": _divergence(results),
        "circle-followed": measured(tip_error(results)),
        "torque-demand": _demand(results),
    }


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
    signed, total = (
        float(results.loop("nominal", "reference", name)[:, 1].mean())
        for name in ("energy_signed", "energy")
    )
    return measured(signed / total, signed=signed, total=total)


def _more_energy(pso: Float2D, qpso: Float2D, reference: Float2D) -> Measured:
    """Return by how much PSO's model takes more energy at joint 2 than the reference [%]."""
    more = 100.0 * (pso[:, 1] / reference[:, 1] - 1.0)
    return measured_mean(more, qpso=100.0 * float((qpso[:, 1] / reference[:, 1] - 1.0).mean()))


def _resilience(results: QuantumResults) -> Measured:
    """Return how much larger PSO's tracking error is than QPSO's under disturbance [%]."""
    calm, shaken = (
        {m: np.linalg.norm(results.loop(s, m, "rms_error"), axis=1) for m in SHOWN}
        for s in SCENARIOS
    )
    ratio, interval = statistics.geometric_ratio(shaken["PSO"], shaken["QPSO"])
    growth = ", ".join(f"{m} {shaken[m].mean() / calm[m].mean():.3g}" for m in SHOWN)
    return measured(100.0 * (ratio - 1.0), statistics.above_one(interval), growth=growth)


def _arm_torque(results: QuantumResults, scenario: str) -> Measured:
    pso, qpso = (results.plants(scenario, model, "tau") for model in COMPARED)
    joints = [statistics.geometric_ratio(pso[:, j], qpso[:, j]) for j in range(pso.shape[1])]
    value, interval = min(joints, key=lambda joint: joint[0])
    listed = ", ".join(f"{joint[0]:.3g}" for joint in joints)
    means = [float(values[:, 1].mean()) for values in (qpso, pso)]
    return measured(value, interval, joints=listed, qpso=means[0], pso=means[1])


def _arm_energy(pso: Float2D, qpso: Float2D, reference: Float2D) -> Measured:
    apart = [np.abs(model - reference)[:, 1] for model in (pso, qpso)]
    far, near = (100.0 * float((gap / reference[:, 1]).mean()) for gap in apart)
    return measured(*statistics.geometric_ratio(*apart), pso_share=far, qpso_share=near)


def _arm_smoothness(results: QuantumResults, scenario: str) -> Measured:
    """Return by how much PSO's arm has the larger torque rate than QPSO's, largest joint [%]."""
    pso, qpso = (results.plants(scenario, model, "torque_rate") for model in COMPARED)
    joints = [statistics.geometric_ratio(pso[:, j], qpso[:, j]) for j in range(pso.shape[1])]
    ratio, interval = max(joints, key=lambda joint: joint[0])
    rougher = int((qpso.mean(axis=0) >= pso.mean(axis=0)).sum())
    return measured(100.0 * (ratio - 1.0), statistics.above_one(interval), rougher=rougher)


def _steps_in_order(results: QuantumResults, case: str | tuple[str, str]) -> Measured:
    """Count the metrics of Table 4 in which every run has PSO < QPSO < reference."""
    steps = {model: [row["step"] for row in results.grid.runs(model, case)] for model in RANKED}
    ordered = 0
    means = []
    for key, (name, unit) in zip(STEP_KEYS, METRICS, strict=True):
        runs = values_of([row for model in RANKED for row in steps[model]], key)
        runs = runs.reshape(len(RANKED), -1)
        ordered += bool(np.all(np.diff(runs, axis=0) > 0.0))
        factor = 100.0 if unit == "%" else 1.0
        listed = " / ".join(
            "never" if np.isnan(m) else f"{factor * m:.4g}" for m in runs.mean(axis=1)
        )
        means.append(f"{name} {listed} {unit}")
    bandwidth = float(results.loop("nominal", "reference", "step_bandwidth")[0])
    return measured(float(ordered), means=", ".join(means), step_bandwidth=bandwidth)


def _divergence(results: QuantumResults) -> Measured:
    """Return PSO's gap in energy to the reference at the end of the lap [J]."""
    pso, reference = (
        np.array(results.curves[f"plants nominal {model}"]["energy"])[:, 1]
        for model in ("PSO", "reference")
    )
    gap = pso - reference
    return measured(float(gap[-1]), first=float(gap[len(gap) // 10]), lowest=float(gap.min()))


def tip_error(results: QuantumResults) -> float:
    """Return the largest distance of the tool from the circle, all models and scenarios [mm]."""
    curves = [results.curves[f"{s} {m}"] for s in SCENARIOS for m in MODELS]
    apart = [np.subtract(curve["tip"], curve["tip_reference"]) for curve in curves]
    return max(1e3 * float(np.linalg.norm(d, axis=1).max()) for d in apart)


def _demand(results: QuantumResults) -> Measured:
    """Return the RMS torque disturbed over nominal, of the joint and model of least growth."""
    ratios = []
    for model in MODELS:
        calm, shaken = (
            np.sqrt((np.array(results.curves[f"{s} {model}"]["tau"]) ** 2).mean(axis=0))
            for s in SCENARIOS
        )
        ratios.append(shaken / calm)
    return measured(float(np.min(ratios)), most=float(np.max(ratios)))
