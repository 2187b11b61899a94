"""The tables of the paper, with our numbers beside the printed ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.optim.settings import setting
from robotid_sim.papers.rs010n import compensation, model
from robotid_sim.papers.rs010n.ablations import ABLATIONS
from robotid_sim.papers.rs010n.campaign import MORE, MORE_METHODS, PENALTY, BeetleResults
from robotid_sim.papers.rs010n.direct import DirectSolutions, PublishedSet
from robotid_sim.papers.rs010n.engine_claims import of_batches, set_names, tracking_error
from robotid_sim.papers.rs010n.trials import FREE, METHODS, VARIANTS
from robotid_sim.papers.statistics import interval_text
from robotid_sim.papers.tables import (
    CellColumns,
    indexed_columns,
    printed_columns,
    settings_columns,
    summary_columns,
    table_of,
)
from robotid_sim.section import number, percent
from robotid_sim.table import Table

ROUNDING = 1e-10
"""Parameters below this are zero, in SI units."""


def limits(results: BeetleResults) -> Table:
    """Return Table 3: limits of the joints, and the share that the excitation uses."""
    rows = [(what, *values) for what, values in model.PRINTED_TABLES["table_3"]]
    use = percent(float(results.excitation["limit_use"]))
    rows.append(("largest use by our excitation", use, "", ""))
    return Table((), tuple(rows), name="table-3-limits")


def excitations(results: BeetleResults) -> Table:
    """Return the condition numbers of the excitations."""
    drawn = [(f"best of {run['draws']} random motions", run, run["draws"])
             for run in (results.random, results.many)]  # fmt: skip
    evolved = [
        (f"genetic algorithm, {columns} columns, run {k + 1}", run, run["evaluations"])
        for columns, runs in results.grid.case("excitation").items()
        for k, run in enumerate(runs)
    ]
    columns: CellColumns = {
        "excitation": lambda row: row[0],
        "cond(W), unit columns": lambda row: number(row[1]["unit"]),
        "cond(W), SI columns": lambda row: number(row[1]["SI"]),
        "evaluations": lambda row: row[2],
    }
    return table_of("excitations", [*drawn, *evolved], columns)


def settings() -> Table:
    """Return the settings of the searches, as published."""
    chosen = {method: setting(METHODS[method].setting) for method in model.PRINTED}
    columns: CellColumns = {
        "method": str,
        **settings_columns(chosen),
        "evaluations": lambda m: chosen[m].max_evals,
    }
    return table_of("settings", chosen, columns, text_columns=4)


def table_4(
    results: BeetleResults, variant: str, exact: Mapping[str, tuple[float, float]]
) -> Table:
    """Return Table 4 in a variant: fitness, errors, time and evaluations of all searches.

    Below them stand fitness and mean error of what needs no search, by name.
    """
    fitness = {method: results.fitness(variant, method) for method in METHODS}
    printed = {method: tuple(row.values()) for method, row in model.TABLE_4.items()}
    columns: CellColumns = {
        "method": str,
        **printed_columns(("mean fitness, paper", "time, paper [s]"), printed),
        "mean fitness": lambda m: number(fitness[m].mean(), 3),
        "95 %": lambda m: interval_text(fitness[m]),
        "median": lambda m: number(results.grid.median(m, "fitness", variant), 3),
        "mean |error|": lambda m: number(results.errors(variant, m).mean(axis=1).mean(), 3),
        "CPU time [s]": lambda m: number(results.grid.mean(m, "seconds", variant), 2),
        "evaluations": lambda m: results.evaluations(variant, m),
    }
    table = table_of(f"table-4-{variant.replace(',', '').replace(' ', '-')}", METHODS, columns)
    rows = []
    for label, values in exact.items():
        cost, error = (number(value, 1) for value in values)
        rows.append((label, "-", "-", cost, "-", cost, error, "-", "-"))
    return replace(table, rows=(*table.rows, *rows))


def labels() -> Table:
    """Return the rows of Table 5 with their labels as printed and corrected, and their values."""
    rows = model.TABLE_5
    columns: CellColumns = {
        "row": lambda k: k + 1,
        "label, as printed": lambda k: rows[k].printed_label,
        "label, corrected": lambda k: rows[k].label,
        "unit": lambda k: rows[k].unit,
        "theoretical, paper": lambda k: number(rows[k].theoretical),
        "from Table 2": lambda k: number(float(model.theoretical()[k]), 5),
    }
    return table_of("table-5-theoretical", range(len(rows)), columns, text_columns=4)


def table_5(results: BeetleResults, least_squares: Float1D) -> Table:
    """Return Table 5: theoretical values, printed estimates, and those of our best runs."""
    theory = model.theoretical()
    ours = {m: results.grid.best(m, "fitness", FREE)["beta"] for m in model.PRINTED}
    rows = []
    for k, row in enumerate(model.TABLE_5):
        cells = [number(theory[k])]
        for method, column in model.PRINTED.items():
            cells += [number(getattr(row, column)), number(ours[method][k], 3)]
        exact = least_squares[k] if abs(least_squares[k]) > ROUNDING else 0.0
        rows.append((str(k + 1), row.label, row.unit, *cells, number(exact)))
    return Table((), tuple(rows), name="table-5")


def errors(results: BeetleResults) -> Table:
    """Return mean and largest parameter errors, as printed and of ours."""
    rows = []
    for method in model.PRINTED:
        error = np.abs(model.printed(method) - model.printed())
        cells = [number(error.mean()), number(error.max())]
        for variant in VARIANTS:
            ours = results.errors(variant, method)
            cells += [number(of_run.mean(), 3) for of_run in (ours.mean(axis=1), ours.max(axis=1))]
        rows.append((method, *cells))
    return Table((), tuple(rows), name="table-5-errors")


def printed_estimates(sets: Sequence[PublishedSet], costs: Mapping[str, float]) -> Table:
    """Return what the printed columns of Table 5 are worth, with their fitness on our data."""
    errors = {s.name: (s.mean_error, s.largest_error) for s in sets if s.name in model.PRINTED}
    rows = {column.name: column for column in sets}
    columns: CellColumns = {
        "column of Table 5": str,
        **printed_columns(("mean |error|", "largest"), errors),
        "best in rows": lambda name: rows[name].best_rows if name in errors else "-",
        "fitness here [N m]": lambda name: number(costs[name], 3),
        "least eigenvalue of M(q) [kg m²]": lambda name: number(rows[name].least_inertia, 3),
        "second moment of link 3 [kg m²]": lambda name: number(rows[name].second_moment, 3),
    }
    return table_of("table-5-printed-columns", rows, columns)


def population(beetles: Mapping[str, Float1D]) -> Table:
    """Return the number of beetles by eq. (15)-(16) in both forms."""
    rows = []
    for form, sizes in beetles.items():
        cells = (sizes[0], sizes[-1], sizes.sum())
        rows.append((form, *(f"{cell:.0f}" for cell in cells), number(float(sizes.mean()))))
    fixed = model.N_FIXED
    rows.append(("BSO", str(fixed), str(fixed), str(fixed * model.ITERATIONS), str(fixed)))
    return Table((), tuple(rows), name="figure-5-population")


def engine(results: BeetleResults) -> Table:
    """Return the identification of the feasible robot from its run in the engine."""
    costs, errors = (
        {method: float(np.median(values)) for method, values in results.engine[what].items()}
        for what in ("fitness", "error")
    )
    optimum = float(np.mean(results.engine["fitness"]["L1 optimum (LP)"]))
    columns: CellColumns = {
        "method": str,
        "fitness [N m]": lambda m: number(costs[m]),
        "over the optimum": lambda m: number(costs[m] / optimum, 5),
        "mean |error|": lambda m: number(errors[m], 3),
    }
    return table_of("engine", costs, columns)


def penalized(results: BeetleResults) -> Table:
    """Return what the genetic algorithm finds with the printed penalty, by its box."""
    runs = {width: rows[0] for width, rows in results.grid.case(PENALTY).items()}
    columns: CellColumns = {
        "box, in units of the limits": lambda width: f"± {width:g}",
        "cond(W), unit columns": lambda width: number(runs[width]["unit"], 3),
        "largest use of a limit": lambda width: percent(runs[width]["limit_use"]),
        "within Table 3": lambda width: "yes" if runs[width]["feasible"] else "no",
        "random points within Table 3": lambda width: percent(runs[width]["feasible_draws"]),
        "evaluations": lambda width: runs[width]["evaluations"],
    }
    return table_of("excitation-with-penalty", runs, columns)


def beetles(results: BeetleResults) -> Table:
    """Return the fitness of beetles with clamp: more runs, and SEDSABSO without its parts."""
    fitness = {name: results.fitness(MORE, name) for name in MORE_METHODS}
    fitness |= {f"SEDSABSO {name}": results.fitness(MORE, name) for name in ABLATIONS}
    columns: CellColumns = {
        "method": str,
        **summary_columns(fitness.__getitem__),
        "median": lambda name: number(float(np.median(fitness[name])), 3),
        "runs": lambda name: fitness[name].size,
    }
    return table_of("beetles", fitness, columns)


def compensated(results: BeetleResults) -> Table:
    """Return what is left of the torque of an unseen motion, by the set that compensates it."""

    def left(name: str) -> list[str]:
        runs = [run["true"][name] for batch in results.batches for run in batch["runs"]]
        return [number(share, 3) for share in np.mean(runs, axis=0)]

    def tracked(name: str) -> str:
        return percent(tracking_error(results, name)) if name in compensation.TRACKED else "-"

    columns: CellColumns = {
        "parameters": str,
        "measured [%]": lambda m: number(of_batches(results, "measured", m).mean(), 3),
        "true [%]": lambda m: number(of_batches(results, "true", m).mean(), 3),
        **indexed_columns(("joint 1 [%]", "joint 2 [%]", "joint 3 [%]"), left),
        "mean |error|": lambda m: number(of_batches(results, "error", m).mean(), 3),
        "fitness [N m]": lambda m: number(of_batches(results, "fitness", m).mean(), 5),
        "tracking error": tracked,
    }
    return table_of("compensation", set_names(results), columns)


def all_tables(results: BeetleResults, exact: DirectSolutions) -> tuple[Table, ...]:
    """Return all tables of the page."""
    return (
        labels(),
        printed_estimates(exact.sets, exact.costs),
        limits(results),
        excitations(results),
        population(exact.populations),
        settings(),
        *(table_4(results, variant, exact.direct) for variant in VARIANTS),
        table_5(results, exact.least_squares),
        errors(results),
        engine(results),
        penalized(results),
        beetles(results),
        compensated(results),
    )
