"""Tables 1 to 4 of the paper, with our columns beside the printed ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.papers.irb140.campaign import (
    AS_SET,
    EQUAL_SHARES,
    EQUAL_STEPS,
    SEARCH_CASES,
    STEP_KEYS,
    QuantumResults,
)
from robotid_sim.papers.irb140.control import MODELS, SCENARIOS
from robotid_sim.papers.irb140.measurements import pair_ratio
from robotid_sim.papers.irb140.network import NETWORKS
from robotid_sim.papers.irb140.published import (
    COM,
    FITNESS,
    INERTIA,
    LINKS,
    MAPE,
    NAMES,
    NETWORK,
    TRACKING,
    mape,
    parameter_vector,
)
from robotid_sim.papers.irb140.swarms import METHODS
from robotid_sim.papers.irb140.torque import CLASSICAL, SEARCHES
from robotid_sim.papers.tables import CellColumns, table_of
from robotid_sim.section import Table, number

SearchCase = tuple[str, str, float]
"""Swarm, scaling and half width of the box."""


def table_2(results: QuantumResults) -> Table:
    """Return Table 2 beside what uniform density makes of our meshes."""
    rows = []
    reference = results.reference.reshape(len(LINKS), -1)
    masses = (35.0, 25.0, 18.0)
    for k, link in enumerate(LINKS):
        solid = results.cad["links"][link]
        rows.append((f"m{k + 1}", "kg", number(masses[k]), number(solid["mass"])))
        values = (*solid["com"], *solid["inertia"])
        units = ("m",) * 3 + ("kg m²",) * 6
        parts = zip((*COM, *INERTIA), units, reference[k], values, strict=True)
        for name, unit, printed, ours in parts:
            rows.append((f"{name}{k + 1}", unit, number(printed), number(round(ours, 9) + 0.0)))
    return Table((), tuple(rows), name="table-2-cad")


def table_3(results: QuantumResults) -> Table:
    """Return Table 3: reference, printed estimates, and our median runs."""
    columns = {
        "QPSO, printed": parameter_vector("QPSO"),
        "QPSO, ours": results.median_estimate("qubit"),
        "PSO, printed": parameter_vector("PSO"),
        "PSO, ours": results.median_estimate("pso"),
    }
    rows = []
    for k, name in enumerate(NAMES):
        unit = "m" if name[:-1] in COM else "kg m²"
        values = (number(values[k], 5) for values in columns.values())
        rows.append((name, unit, number(results.reference[k], 5), *values))
    for label, k in (("MAPE, centers of mass", 0), ("MAPE, inertia", 1)):
        errors = (number(mape(values, results.reference)[k]) for values in columns.values())
        rows.append((label, "%", "0", *errors))
    return Table((), tuple(rows), name="table-3-parameters")


def search_table(results: QuantumResults) -> Table:
    """Return all readings of the two swarms on both scalings and boxes."""

    def of(case: SearchCase, name: str, average: Callable[[Any], Any], digits: int) -> str:
        return number(float(average(results.search(case[0], name, *case[1:]))), digits)

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
        "processor time an iteration [us]": lambda case: number(
            1e6 * float(np.median(results.search(case[0], "seconds", *case[1:]))) / 150.0, 3
        ),
    }
    table = table_of("searches", SEARCH_CASES, columns, text_columns=3)
    rows = []
    for name, (com, moment) in MAPE.items():
        mean, std = FITNESS[name]
        lead = (f"{name}, printed", "-", "-", number(mean), number(std), number(com))
        rows.append((*lead, number(moment), *("-",) * 5))
    return replace(table, rows=(*table.rows, *rows))


def clamp_table(results: QuantumResults) -> Table:
    """Return both swarms by their clamps, and what PSO's values are over QPSO's."""
    kinds = {"as in all other searches": (AS_SET,), "equal shares of the ranges": EQUAL_SHARES,
             "equal steps in the middle of the box": EQUAL_STEPS}  # fmt: skip
    rows = []
    for kind, pairs in kinds.items():
        for pair in pairs:
            swarms = list(zip(("pso", "qubit"), pair, strict=True))
            cells = [number(clamp, 3) for clamp in pair]
            cells += [number(float(results.clamped(*s, "mape_com").mean()), 3) for s in swarms]
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
    rows = (
        ("closed-form position: largest distance from the URDF's", "mm", compared["position"]),
        ("Jacobian of eq. (4)-(6): largest difference of an entry", "m or rad a rad",
         compared["jacobian"]),
        ("kappa(J): smallest", "-", least),
        ("kappa(J): median", "-", median),
        ("kappa(J): largest", "-", most),
        ("kappa(J): largest relative difference from the URDF's, up to 1000", "-",
         compared["kappa_difference"]),
        ("poses with kappa(J) above 1000", "%", 100.0 * compared["singular"]),
    )  # fmt: skip
    return Table(
        (), tuple((what, unit, number(value, 3)) for what, unit, value in rows), name="kinematics"
    )


def table_4(results: QuantumResults) -> Table:
    """Return Table 4 beside the joint step of our loop."""
    rows = []
    for scenario in SCENARIOS:
        for model in MODELS:
            cells = []
            for k, key in enumerate(STEP_KEYS):
                values = results.step(scenario, model, key)
                reached = values[np.isfinite(values)]
                factor = 100.0 if k >= 2 else 1.0
                ours = number(factor * float(reached.mean()), 3) if reached.size else "never"
                cells += [number(TRACKING[scenario, model][k]), ours]
            rows.append((scenario, model, *cells))
    return Table((), tuple(rows), name="table-4-tracking")


def loop_table(results: QuantumResults) -> Table:
    """Return torque and energy of the circle by model, means over the runs."""
    rows = []
    for scenario in SCENARIOS:
        for model in MODELS:
            apart = [
                results.loop(scenario, model, key).mean(axis=0)[:3]
                for key in ("torque_difference", "torque_difference_settled")
            ]
            energy = results.loop(scenario, model, "energy").mean(axis=0)[1]
            signed = results.loop(scenario, model, "energy_signed").mean(axis=0)[1]
            rate = results.loop(scenario, model, "torque_rate").mean(axis=0)[1]
            error = 1e3 * results.loop(scenario, model, "rms_error").mean(axis=0)[:3]
            rows.append(
                (
                    scenario,
                    model,
                    *(number(1e3 * float(v), 3) for v in np.concatenate(apart)),
                    number(float(energy), 6),
                    number(float(signed), 4),
                    number(float(rate), 5),
                    *(number(float(v), 3) for v in error),
                )
            )
    return Table((), tuple(rows), name="closed-loop")


def network_table(results: QuantumResults) -> Table:
    """Return the errors of all networks."""
    rows = [("printed", "-", "-", *(number(v) for v in NETWORK), "-", "-", "40000", "1")]
    for name, network in NETWORKS.items():
        first = results.grid.runs(name, "network")[0]
        errors = [results.network(key, name) for key in ("train", "validation", "worst")]
        rows.append(
            (
                network.label,
                network.region,
                f"{first['curve'][-1][0]:.0f}",
                *(number(float(error.mean()), 3) for error in errors),
                f"{100.0 * first['excluded']:.2g} %",
                str(first["samples"]),
                str(errors[0].size),
            )
        )
    return Table((), tuple(rows), name="network")


def torque_table(results: QuantumResults) -> Table:
    """Return classical estimators and swarms on torque data."""
    rows = []
    for name in (*CLASSICAL, *SEARCHES):
        label = METHODS[name].label if name in METHODS else name
        ratio = results.torque(name, "criterion_over_optimum")
        rows.append(
            (
                label,
                number(float(np.median(ratio)), 5) if np.isfinite(ratio).all() else "-",
                number(float(np.median(results.torque(name, "error"))), 3),
                *(number(float(v), 4) for v in np.median(results.torque(name, "residual"), axis=0)),
                number(float(np.median(results.torque(name, "nfev"))), 6),
                number(1e3 * float(np.median(results.torque(name, "seconds"))), 3),
            )
        )
    return Table((), tuple(rows), name="torque-data")


def all_tables(results: QuantumResults) -> tuple[Table, ...]:
    """Return all tables of the page."""
    builders = (table_2, table_3, table_4, search_table, clamp_table, kinematics_table, loop_table,
                network_table, torque_table)  # fmt: skip
    return tuple(table(results) for table in builders)
