"""Tables 1 to 4 of the paper, with our columns beside the printed ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.papers.columns import CellColumns, indexed_columns, table_of
from robotid_sim.papers.irb140 import campaign, published
from robotid_sim.papers.irb140.campaign import QuantumResults
from robotid_sim.papers.irb140.control import MODELS, SCENARIOS, STEP_KEYS
from robotid_sim.papers.irb140.inverse_network import TREATMENTS
from robotid_sim.papers.irb140.measurements import pair_ratio
from robotid_sim.papers.irb140.network import NETWORKS
from robotid_sim.papers.irb140.performance import OBJECTIVES, SWARMS
from robotid_sim.papers.irb140.swarms import METHODS
from robotid_sim.papers.irb140.torque import CLASSICAL, SEARCHES
from robotid_sim.section import number
from robotid_sim.table import Table

LOOPS = tuple((scenario, model) for scenario in SCENARIOS for model in MODELS)
"""Scenario and model of every closed loop."""

SearchCase = tuple[str, str, float]
"""Swarm, scaling and half width of the box."""


def table_2(results: QuantumResults) -> Table:
    """Return Table 2 beside what uniform density makes of our meshes."""
    rows = []
    reference = results.reference.reshape(len(published.LINKS), -1)
    masses = (35.0, 25.0, 18.0)
    for k, link in enumerate(published.LINKS):
        solid = results.cad["links"][link]
        rows.append((f"m{k + 1}", "kg", number(masses[k]), number(solid["mass"])))
        values = (*solid["com"], *solid["inertia"])
        units = ("m",) * 3 + ("kg m²",) * 6
        parts = zip((*published.COM, *published.INERTIA), units, reference[k], values, strict=True)
        for name, unit, printed, ours in parts:
            rows.append((f"{name}{k + 1}", unit, number(printed), number(round(ours, 9) + 0.0)))
    return Table((), tuple(rows), name="table-2-cad")


def table_3(results: QuantumResults) -> Table:
    """Return Table 3: reference, printed estimates, and our median runs."""
    columns = {
        "QPSO, printed": published.parameter_vector("QPSO"),
        "QPSO, ours": results.median_estimate("qubit"),
        "PSO, printed": published.parameter_vector("PSO"),
        "PSO, ours": results.median_estimate("pso"),
    }
    rows = []
    for k, name in enumerate(published.NAMES):
        unit = "m" if name[:-1] in published.COM else "kg m²"
        values = (number(values[k], 5) for values in columns.values())
        rows.append((name, unit, number(results.reference[k], 5), *values))
    for label, k in (("MAPE, centers of mass", 0), ("MAPE, inertia", 1)):
        errors = (
            number(published.mape(values, results.reference)[k]) for values in columns.values()
        )
        rows.append((label, "%", "0", *errors))
    return Table((), tuple(rows), name="table-3-parameters")


def search_table(results: QuantumResults) -> Table:
    """Return all readings of the two swarms on both scalings and boxes."""

    def of(case: SearchCase, name: str, average: Callable[[Any], Any], digits: int) -> str:
        return number(float(average(results.search(case[0], name, *case[1:]))), digits)

    def seconds(case: SearchCase) -> float:
        return float(results.grid.median(case[0], "seconds", case[1:])) / published.ITERATIONS

    columns: CellColumns = {
        "swarm": lambda case: METHODS[case[0]].label,
        "p over reference or raw": lambda case: case[1],
        "box": lambda case: f"± {100.0 * case[2]:g} %",
        "mean cost": lambda case: of(case, "cost", np.mean, 3),
        "std": lambda case: of(case, "cost", np.std, 2),
        "MAPE of centers of mass [%]": lambda case: of(case, "mape_com", np.mean, 3),
        "MAPE of inertia [%]": lambda case: of(case, "mape_inertia", np.mean, 3),
        "iterations to 1 %": lambda case: of(case, "converged", np.median, 3),
        "last gain at": lambda case: of(case, "last_gain", np.median, 3),
        "farthest from the middle [boxes]": lambda case: of(case, "reach", np.max, 2),
        "evaluations": lambda case: results.grid.runs(case[0], case[1:])[0]["evaluations"],
        "processor time an iteration [us]": lambda case: number(1e6 * seconds(case), 3),
    }
    table = table_of("searches", campaign.SEARCH_CASES, columns, text_columns=3)
    rows = [
        (f"{name}, printed", "-", "-", *map(number, (*cost, *errors)), *("-",) * 5)
        for (name, errors), cost in zip(
            published.MAPE.items(), published.FITNESS.values(), strict=True
        )
    ]
    return replace(table, rows=(*table.rows, *rows))


def clamp_table(results: QuantumResults) -> Table:
    """Return both swarms by their clamps, and what PSO's values are over QPSO's."""
    kinds = {
        "as in all other searches": (campaign.AS_SET,),
        "equal shares of the ranges": campaign.EQUAL_SHARES,
        "equal steps in the middle of the box": campaign.EQUAL_STEPS,
    }
    rows = []
    for kind, pairs in kinds.items():
        for pair in pairs:
            swarms = list(zip(("pso", "qubit"), pair, strict=True))
            cells = [number(clamp, 3) for clamp in pair]
            cells += [number(results.clamped(*s, "mape_com").mean(), 3) for s in swarms]
            for key in ("mape_com", "mape_inertia", "cost", "converged"):
                value, interval = pair_ratio(results, pair, key)
                spread = "" if interval is None else f" ({interval[0]:.2f} … {interval[1]:.2f})"
                cells.append(f"{value:.2f}{spread}")
            cells += [number(float(np.median(results.clamped(*s, "converged"))), 3) for s in swarms]
            rows.append((kind, *cells))
    return Table((), tuple(rows), name="clamps")


def kinematics_table(results: QuantumResults) -> Table:
    """Return how far the paper's kinematics are from the URDF's."""
    compared = results.kinematics
    least, median, most = compared["kappa"]
    entry = "largest difference of an entry"
    relative = "largest relative difference from the URDF's, up to 1000"
    rows = {
        ("closed-form position: largest distance from the URDF's", "mm"): compared["position"],
        (f"Jacobian of eq. (4)-(6): {entry}", "m or rad a rad"): compared["jacobian"],
        ("kappa(J): smallest", "-"): least,
        ("kappa(J): median", "-"): median,
        ("kappa(J): largest", "-"): most,
        (f"kappa(J): {relative}", "-"): compared["kappa_difference"],
        ("poses with kappa(J) above 1000", "%"): 100.0 * compared["singular"],
    }
    cells = ((what, unit, number(value, 3)) for (what, unit), value in rows.items())
    return Table((), tuple(cells), name="kinematics")


def table_4(results: QuantumResults) -> Table:
    """Return Table 4 beside the joint step of our loop."""
    units = (1.0, 1.0, 100.0, 100.0)
    rows = []
    for scenario, model in LOOPS:
        cells = []
        printed = published.TRACKING[scenario][model]
        for key, unit, value in zip(STEP_KEYS, units, printed, strict=True):
            ours = results.step(scenario, model, key)
            reached = ours[np.isfinite(ours)]
            mean = number(unit * reached.mean(), 3) if reached.size else "never"
            cells += [number(value), mean]
        rows.append((scenario, model, *cells))
    return Table((), tuple(rows), name="table-4-tracking")


def loop_table(results: QuantumResults) -> Table:
    """Return torque and energy of the circle by model, means over the runs."""

    def milli(case: tuple[str, str], name: str) -> list[str]:
        scenario, model = case
        return [number(1e3 * v, 3) for v in results.grid.mean(model, name, scenario)[:3]]

    def second_joint(case: tuple[str, str], name: str, digits: int) -> str:
        scenario, model = case
        return number(results.grid.mean(model, name, scenario)[1], digits)

    rows = [
        (
            *case,
            *milli(case, "torque_difference"),
            *milli(case, "torque_difference_settled"),
            second_joint(case, "energy", 6),
            second_joint(case, "energy_signed", 4),
            second_joint(case, "torque_rate", 5),
            *milli(case, "rms_error"),
        )
        for case in LOOPS
    ]
    return Table((), tuple(rows), name="closed-loop")


def network_table(results: QuantumResults) -> Table:
    """Return the errors of all networks."""
    rows = [("printed", "-", "-", *map(number, published.NETWORK), "-", "-", "40000", "1")]
    for name, network in NETWORKS.items():
        runs = results.grid.runs(name, "network")
        errors = (results.grid.mean(name, k, "network") for k in ("train", "validation", "worst"))
        rows.append(
            (
                network.label,
                network.region,
                f"{runs[0]['curve'][-1][0]:.0f}",
                *(number(error, 3) for error in errors),
                f"{100.0 * runs[0]['excluded']:.2g} %",
                str(runs[0]["samples"]),
                str(len(runs)),
            )
        )
    return Table((), tuple(rows), name="network")


def torque_table(results: QuantumResults) -> Table:
    """Return classical estimators and swarms on torque data, medians over the logs."""

    def median(name: str, key: str) -> Any:
        return results.grid.median(name, key, "torque")

    def over_minimum(name: str) -> float | None:
        reached = np.isfinite(results.torque(name, "criterion_over_optimum")).all()
        return float(median(name, "criterion_over_optimum")) if reached else None

    columns: CellColumns = {
        "method": lambda name: METHODS[name].label if name in METHODS else name,
        "cost over its minimum": lambda name: number(over_minimum(name), 5),
        "parameter error / std of WLS": lambda name: number(median(name, "error"), 3),
        **indexed_columns(
            [f"residual joint_{j} [N m]" for j in (1, 2, 3)],
            lambda name: [number(v, 4) for v in median(name, "residual")],
        ),
        "evaluations": lambda name: number(median(name, "nfev"), 6),
        "time [ms]": lambda name: number(1e3 * median(name, "seconds"), 3),
    }
    return table_of("torque-data", (*CLASSICAL, *SEARCHES), columns)


def arm_table(results: QuantumResults) -> Table:
    """Return torques, energy and steps of the models as arms, means over the runs."""

    def mean(case: tuple[str, str], name: str) -> Any:
        return results.plants(*case, name).mean(axis=0)

    def step(case: tuple[str, str], name: str) -> str:
        scenario, model = case
        values = [row["step"][name] for row in results.grid.runs(model, ("plants", scenario))]
        return number(float(np.mean(values)), 4) if None not in values else "never"

    rows = [
        (
            *case,
            *(number(value, 3) for value in mean(case, "tau")),
            number(mean(case, "energy")[1], 5),
            number(mean(case, "torque_rate")[1], 5),
            *(step(case, name) for name in STEP_KEYS),
        )
        for case in LOOPS
    ]
    return Table((), tuple(rows), name="arms")


def performance_table(results: QuantumResults) -> Table:
    """Return both swarms by what they minimize, medians over the runs."""
    keys = (("mape_com", 1.0), ("mape_inertia", 1.0), ("circle", 100.0), ("unseen", 100.0))
    rows = [
        (
            label,
            METHODS[swarm].label,
            *(
                number(f * float(np.median(results.performance(swarm, name, key))), 3)
                for key, f in keys
            ),
        )
        for name, label in OBJECTIVES.items()
        for swarm in SWARMS
    ]
    return Table((), tuple(rows), name="performance")


def inverse_table(results: QuantumResults) -> Table:
    """Return the inverse networks by what is done about singular poses, means over the logs."""
    rows = []
    for name, label in TREATMENTS.items():
        train, tried, singular, logged = (
            float(results.inverse(name, key).mean())
            for key in ("train", "validation", "singular", "logged")
        )
        median, high = results.inverse(name, "kappa").mean(axis=0)
        cells = (train, tried, 100.0 * logged, 100.0 * singular, median, high)
        rows.append((label, *(number(cell, 3) for cell in cells)))
    return Table((), tuple(rows), name="inverse-network")


def all_tables(results: QuantumResults) -> tuple[Table, ...]:
    """Return all tables of the page."""
    identification = (table_2, table_3, search_table, clamp_table, torque_table)
    control = (kinematics_table, table_4, loop_table, arm_table, network_table, inverse_table)
    return tuple(table(results) for table in (*identification, performance_table, *control))
