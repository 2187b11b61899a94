"""Tables 1 to 4 of the paper, with our columns beside the printed ones."""

from collections.abc import Iterator

import numpy as np

from robotid_sim.papers.irb140.control import MODELS, SCENARIOS, SETTLED
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
from robotid_sim.papers.irb140.results import (
    AS_SET,
    BOX,
    CASES,
    EQUAL_SHARES,
    EQUAL_STEPS,
    STEP_KEYS,
    Results,
)
from robotid_sim.papers.irb140.search_verdicts import pair_ratio
from robotid_sim.papers.irb140.swarms import METHODS
from robotid_sim.papers.irb140.torque import CLASSICAL, SEARCHES
from robotid_sim.section import Table, number


def table_2(results: Results) -> Table:
    """Return Table 2 beside what uniform density makes of our meshes."""
    rows = []
    reference = results.reference.reshape(len(LINKS), -1)
    masses = (35.0, 25.0, 18.0)
    for k, link in enumerate(LINKS):
        ours = results.cad["links"][link]
        rows.append((f"m{k + 1}", "kg", number(masses[k]), number(ours["mass"])))
        values = (*ours["com"], *ours["inertia"])
        units = ("m",) * 3 + ("kg m²",) * 6
        parts = zip((*COM, *INERTIA), units, reference[k], values, strict=True)
        for name, unit, printed, own in parts:
            rows.append((f"{name}{k + 1}", unit, number(printed), number(round(own, 9) + 0.0)))
    return Table(
        columns=("parameter", "unit", "Table 2", "our meshes, uniform density"),
        rows=tuple(rows),
        title="Table 2: CAD mass properties",
        text_columns=2,
    )


def table_3(results: Results) -> Table:
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
    return Table(
        columns=("parameter", "unit", "reference", *columns),
        rows=tuple(rows),
        title="Table 3: reference and estimates; of ours, the run with the median cost",
        text_columns=2,
    )


def search_table(results: Results) -> Table:
    """Return all readings of the two swarms on both scalings and boxes."""
    rows = []
    for method, scaling, box in CASES:
        found = results.search(method, scaling, box)
        rows.append(
            (
                METHODS[method].label,
                scaling,
                f"± {100.0 * box:g} %",
                number(float(np.mean(found["cost"])), 3),
                number(float(np.std(found["cost"])), 2),
                number(float(np.mean(found["mape_com"])), 3),
                number(float(np.mean(found["mape_inertia"])), 3),
                number(float(np.median(found["converged"])), 3),
                number(float(np.median(found["last_gain"])), 3),
                number(float(np.max(found["reach"])), 2),
                str(found["evaluations"]),
                number(1e6 * float(np.median(found["seconds"])) / 150.0, 3),
            )
        )
    for name, (com, moment) in MAPE.items():
        mean, std = FITNESS[name]
        lead = (f"{name}, printed", "-", "-", number(mean), number(std), number(com))
        rows.append((*lead, number(moment), *("-",) * 5))
    columns = ("swarm", "p over reference or raw", "box", "mean cost", "std")
    errors = ("MAPE of centers of mass [%]", "MAPE of inertia [%]", "iterations to 1 %")
    more = (
        "last gain at",
        "farthest from the middle [boxes]",
        "evaluations",
        "processor time an iteration [us]",
    )
    return Table(
        columns=(*columns, *errors, *more),
        rows=tuple(rows),
        title="The search of eq. (20), all readings",
        text_columns=3,
    )


def clamp_table(results: Results) -> Table:
    """Return both swarms by their clamps, and what PSO's values are over QPSO's."""
    kinds = {"as in all other searches": (AS_SET,), "equal shares of the ranges": EQUAL_SHARES,
             "equal steps in the middle of the box": EQUAL_STEPS}  # fmt: skip
    rows = []
    for kind, pairs in kinds.items():
        for pair in pairs:
            found = [results.clamps[m, c] for m, c in zip(("pso", "qubit"), pair, strict=True)]
            cells = [number(clamp, 3) for clamp in pair]
            cells += [number(float(np.mean(one["mape_com"])), 3) for one in found]
            for key in ("mape_com", "mape_inertia", "cost", "converged"):
                value, interval = pair_ratio(results, pair, key)
                spread = "" if interval is None else f" ({interval[0]:.2f} … {interval[1]:.2f})"
                cells.append(f"{value:.2f}{spread}")
            cells += [number(float(np.median(one["converged"])), 3) for one in found]
            rows.append((kind, *cells))
    swarms = ("PSO", "QPSO")
    ratios = ("MAPE", "MAPE of inertia", "cost", "iterations")
    return Table(
        columns=(
            "clamps",
            *(f"{swarm}'s clamp" for swarm in swarms),
            *(f"{swarm}'s MAPE [%]" for swarm in swarms),
            *(f"ratio: {what} (95 %)" for what in ratios),
            *(f"{swarm}'s iterations" for swarm in swarms),
        ),
        rows=tuple(rows),
        title=f"Clamps as shares of the ranges, w = .99, box of ± {100.0 * BOX:g} %; MAPE of the "
        "centers of mass; ratios: PSO's over QPSO's",
    )


def kinematics_table(results: Results) -> Table:
    """Return how far the paper's kinematics are from the URDF's."""
    found = results.kinematics
    least, median, most = found["kappa"]
    rows = (
        ("closed-form position: largest distance from the URDF's", "mm", found["position"]),
        ("Jacobian of eq. (4)-(6): largest difference of an entry", "m or rad a rad",
         found["jacobian"]),
        ("kappa(J): smallest", "-", least),
        ("kappa(J): median", "-", median),
        ("kappa(J): largest", "-", most),
        ("kappa(J): largest relative difference from the URDF's, up to 1000", "-",
         found["kappa_difference"]),
        ("poses with kappa(J) above 1000", "%", 100.0 * found["singular"]),
    )  # fmt: skip
    return Table(
        columns=("what", "unit", "value"),
        rows=tuple((what, unit, number(value, 3)) for what, unit, value in rows),
        title=f"The paper's kinematics against the URDF's, {found['poses']} random poses",
        text_columns=2,
    )


def table_4(results: Results) -> Table:
    """Return Table 4 beside the joint step of our loop."""
    rows = []
    for scenario in SCENARIOS:
        for model in MODELS:
            cells = []
            for k, key in enumerate(STEP_KEYS):
                values = results.step(scenario, model, key)
                known = values[np.isfinite(values)]
                factor = 100.0 if k >= 2 else 1.0
                own = number(factor * float(known.mean()), 3) if known.size else "never"
                cells += [number(TRACKING[scenario, model][k]), own]
            rows.append((scenario, model, *cells))
    names = ("rise time [s]", "settling time [s]", "overshoot [%]", "steady-state error [%]")
    columns = [f"{name}, {who}" for name in names for who in ("printed", "ours")]
    return Table(
        columns=("scenario", "model", *columns),
        rows=tuple(rows),
        title="Table 4: step-like start (ours: a joint step; the paper does not define it)",
        text_columns=2,
    )


def loop_table(results: Results) -> Table:
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
    joints = ("joint 1", "joint 2", "joint 3")
    torque = (
        f"torque difference to the reference's, {when}, {j} [mN m]"
        for when in ("whole lap", f"after {SETTLED:g} s")
        for j in joints
    )
    error = (f"RMS error, {j} [mrad]" for j in joints)
    columns = ("energy of joint 2, absolute [J]", "signed [J]", "torque rate of joint 2 [N m/s]")
    return Table(
        columns=("scenario", "model", *torque, *columns, *error),
        rows=tuple(rows),
        title=f"The circle of {results.lap:.0f} s under sliding-mode control, means over the runs "
        "(nominal: one)",
        text_columns=2,
    )


def network_table(results: Results) -> Table:
    """Return the errors of all networks."""
    rows = [("printed", "-", "-", *(number(v) for v in NETWORK), "-", "-", "40000", "1")]
    for name, runs in results.networks.items():
        own, found = NETWORKS[name], runs[0]
        cells = (np.mean([run[key] for run in runs]) for key in ("train", "validation", "worst"))
        rows.append(
            (
                own.label,
                own.region,
                f"{found['curve'][-1][0]:.0f}",
                *(number(float(v), 3) for v in cells),
                f"{100.0 * found['excluded']:.2g} %",
                str(found["samples"]),
                str(len(runs)),
            )
        )
    columns = ("network", "region", "iterations or epochs", "training [mm]", "validation [mm]")
    return Table(
        columns=(*columns, "worst [mm]", "poses left out", "samples", "runs"),
        rows=tuple(rows),
        title="Position error of the network (mean distance; means over the runs)",
        text_columns=2,
    )


def torque_table(results: Results) -> Table:
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
    joints = (f"residual {name} [N m]" for name in results.torques[0]["joints"])
    columns = ("method", "cost over its minimum", "parameter error / std of WLS")
    return Table(
        columns=(*columns, *joints, "evaluations", "time [ms]"),
        rows=tuple(rows),
        title="The same swarms on torques from the engine, medians over the logs",
    )


def csv_tables(results: Results) -> Iterator[tuple[str, Table]]:
    """Yield the stem of a file and its table."""
    yield "table-2-cad", table_2(results)
    yield "table-3-parameters", table_3(results)
    yield "searches", search_table(results)
    yield "clamps", clamp_table(results)
    yield "kinematics", kinematics_table(results)
    yield "table-4-tracking", table_4(results)
    yield "closed-loop", loop_table(results)
    yield "network", network_table(results)
    yield "torque-data", torque_table(results)
