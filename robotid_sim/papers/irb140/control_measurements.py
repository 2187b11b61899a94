"""What is measured for the claims on sliding-mode control: torques, tracking, energy."""

from itertools import pairwise

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.papers.irb140.campaign import STEP_KEYS, QuantumResults
from robotid_sim.papers.irb140.control import SCENARIOS, SETTLED
from robotid_sim.papers.sheet import Measured, measured
from robotid_sim.papers.statistics import (
    Ends,
    geometric_ratio,
    interval_of_mean,
    interval_of_ratio,
    lower_end,
    upper_end,
)

METRICS = (("rise", "s"), ("settling", "s"), ("overshoot", "%"), ("error", "%"))
"""Of Table 4: name and unit."""
SWARMS = ("PSO", "QPSO")
"""Models that are compared with the reference."""
RANKED = ("PSO", "QPSO", "reference")
"""Best to worst, by Table 4."""
SHOWN = ("reference", "QPSO", "PSO")
"""Models in the order in which reasons list them."""


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
    pso, qpso = (results.loop(scenario, model, name)[:, :3] for model in SWARMS)
    joints = [geometric_ratio(pso[:, j], qpso[:, j]) for j in range(3)]
    value, interval = min(joints, key=lambda joint: joint[0])
    return measured(
        value,
        interval,
        settled=SETTLED,
        joints=", ".join(f"{joint[0]:.2f}" for joint in joints),
        start=_start_share(results, scenario),
    )


def _start_share(results: QuantumResults, scenario: str) -> str:
    """Return how much of the squared torque differences arises at the start [%], in words."""
    whole, later = (
        np.vstack([results.loop(scenario, model, name)[:, :3].mean(axis=0) for model in SWARMS])
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
    order = means[:, joint].argsort(kind="stable")
    most, least = (rates[int(k)][:, joint] for k in (means[:, joint].argmax(), order[0]))
    ends = interval_of_ratio(most, least, paired=True)
    interval = None if ends is None else (100.0 * (ends[0] - 1.0), 100.0 * (ends[1] - 1.0))
    return float(spread[joint]), interval, joint


def _smoothness(results: QuantumResults, scenario: str) -> Measured:
    value, interval, joint = spread_of_rates(results, scenario, "torque_rate")
    pso, qpso = (results.loop(scenario, m, "torque_rate")[:, :3].mean(axis=0) for m in SWARMS)
    return measured(
        value,
        interval,
        rougher=int((qpso >= pso).sum()),
        joint=joint + 1,
        after=spread_of_rates(results, scenario, "torque_rate_settled")[0],
        settled=SETTLED,
    )


def _steps(values: dict[str, Float1D]) -> list[tuple[float, Ends]]:
    """Return the paired differences PSO - QPSO and QPSO - reference, means with intervals."""
    apart = [values[a] - values[b] for a, b in pairwise(RANKED)]
    return [(float(step.mean()), interval_of_mean(step)) for step in apart]


def _table_4(results: QuantumResults, scenario: str, k: int) -> Measured:
    unit = METRICS[k][1]
    factor = 100.0 if unit == "%" else 1.0
    values = {m: factor * results.step(scenario, m, STEP_KEYS[k]) for m in SHOWN}
    if not all(np.isfinite(value).all() for value in values.values()):
        means = "the disturbance does not end"
        return measured("some runs never do", worst_step=np.nan, means=means)
    apart = values["PSO"] - values["reference"]
    return measured(
        float(apart.mean()),
        interval_of_mean(apart),
        worst_step=max(upper_end(*step) for step in _steps(values)),
        means=", ".join(f"{m} {value.mean():.4g} {unit}" for m, value in values.items()),
    )


def _tracking(results: QuantumResults, scenario: str) -> Measured:
    values = {
        m: 1e3 * np.linalg.norm(results.loop(scenario, m, "rms_error"), axis=1) for m in SHOWN
    }
    apart, steps = values["PSO"] - values["reference"], _steps(values)
    turned = all(lower_end(*step) > 0.0 for step in steps)
    return measured(
        float(apart.mean()),
        interval_of_mean(apart),
        worst_step=max(upper_end(*step) for step in steps),
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
    after = geometric_ratio(*(apart(model, "energy_settled") for model in SWARMS))[0]
    value, interval = geometric_ratio(pso, qpso)
    shares = {"qpso_share": 100 * float((qpso / true).mean()),
              "pso_share": 100 * float((pso / true).mean())}  # fmt: skip
    return measured(value, interval, **shares, settled=SETTLED, after=after)


def _rising(results: QuantumResults) -> Measured:
    absolute = np.array(results.curves["nominal reference"]["energy"])[:, 1]
    signed, total = (
        float(results.loop("nominal", "reference", name)[:, 1].mean())
        for name in ("energy_signed", "energy")
    )
    return measured(
        f"{total:.4g} J absolute, {signed:.3g} J signed",
        falls=int((np.diff(absolute) < 0.0).sum()),
        signed_share=signed / total,
    )
