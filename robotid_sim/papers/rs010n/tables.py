"""The tables of the paper, with our numbers beside the printed ones."""

from collections.abc import Mapping, Sequence

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.optim.settings import setting
from robotid_sim.papers.claims import interval_of_mean
from robotid_sim.papers.rs010n import model
from robotid_sim.papers.rs010n.campaign import Results
from robotid_sim.papers.rs010n.published_sets import PublishedSet
from robotid_sim.papers.rs010n.trials import FREE, METHODS, VARIANTS
from robotid_sim.section import Table, number, percent

ROUNDING = 1e-10
"""Parameters below this are zero, in SI units."""


def limits(found: Results) -> Table:
    """Return Table 3: limits of the joints, and the share that the excitation uses."""
    rows = [(what, *values) for what, values in model.TABLE_3]
    use = percent(float(found.excitation["limit_use"]))
    rows.append(("largest use by our excitation", use, "", ""))
    return Table(
        columns=("limit", "joint 1", "joint 2", "joint 3"),
        rows=tuple(rows),
        title="Table 3: limits of the joints",
    )


def excitations(found: Results) -> Table:
    """Return the condition numbers of the excitations."""
    rows = [
        (
            f"best of {drawn['draws']} random motions",
            number(drawn["unit"]),
            number(drawn["SI"]),
            str(drawn["draws"]),
        )
        for drawn in (found.random, found.many)
    ]
    for columns, runs in found.genetic.items():
        for k, one in enumerate(runs):
            name = f"genetic algorithm, {columns} columns, run {k + 1}"
            cells = (number(one["unit"]), number(one["SI"]), str(one["evaluations"]))
            rows.append((name, *cells))
    return Table(
        columns=("excitation", "cond(W), unit columns", "cond(W), SI columns", "evaluations"),
        rows=tuple(rows),
        title="Excitations; the paper prints no condition number",
    )


def settings() -> Table:
    """Return the settings of the searches, as published."""
    rows = []
    for method in model.PRINTED:
        chosen = setting(METHODS[method].setting)
        options = ", ".join(f"{name} = {value:g}" for name, value in chosen.options.items())
        flags = "; ".join(chosen.flags) or "-"
        rows.append((method, options, chosen.missing, flags, str(chosen.max_evals)))
    return Table(
        columns=("method", "settings", "not printed", "stability", "evaluations"),
        rows=tuple(rows),
        title="Settings of section 5.2",
        text_columns=4,
    )


def table_4(found: Results, variant: str, exact: Mapping[str, tuple[float, float]]) -> Table:
    """Return Table 4 in one variant: fitness, errors, time and evaluations of all searches.

    Parameters
    ----------
    found : Results
        What came out.
    variant : str
        Of `VARIANTS`.
    exact : mapping of str to tuple of float
        Fitness and mean error of what needs no search, by name.
    """
    rows = []
    for method in METHODS:
        one = found.searches[variant, method]
        published = model.TABLE_4.get(method)
        printed = ("-", "-")
        if published is not None:
            printed = (number(published.fitness), number(published.seconds))
        interval = interval_of_mean(one.fitness)
        between = "-" if interval is None else " … ".join(number(end, 3) for end in interval)
        ours = (one.fitness.mean(), np.median(one.fitness), one.errors.mean())
        mean, median, error = (number(float(value), 3) for value in ours)
        seconds, evaluations = number(float(one.seconds.mean()), 2), str(one.evaluations)
        rows.append((method, *printed, mean, between, median, error, seconds, evaluations))
    for label, values in exact.items():
        cost, error = (number(value, 1) for value in values)
        rows.append((label, "-", "-", cost, "-", cost, error, "-", "-"))
    columns = ("method", "mean fitness, paper", "time, paper [s]", "mean fitness", "95 %", "median")
    return Table(
        columns=(*columns, "mean |error|", "CPU time [s]", "evaluations"),
        rows=tuple(rows),
        title=f"Table 4, {variant}: ± {VARIANTS[variant].half_width:g}, {found.runs} runs",
    )


def labels() -> Table:
    """Return the rows of Table 5 with their labels as printed and corrected, and their values."""
    theory = model.theoretical()
    rows = tuple(
        (
            str(k + 1),
            row.printed_label,
            row.label,
            row.unit,
            number(row.theoretical),
            number(theory[k], 5),
        )
        for k, row in enumerate(model.TABLE_5)
    )
    columns = ("row", "label, as printed", "label, corrected", "unit", "theoretical, paper")
    return Table(
        columns=(*columns, "from Table 2"),
        rows=rows,
        title="Table 5: theoretical values",
        text_columns=4,
    )


def table_5(found: Results, least_squares: Float1D) -> Table:
    """Return Table 5: theoretical values, printed estimates, and those of our best runs."""
    theory = model.theoretical()
    ours = {method: found.searches[FREE, method].best for method in model.PRINTED}
    rows = []
    for k, row in enumerate(model.TABLE_5):
        cells = [number(theory[k])]
        for method, column in model.PRINTED.items():
            cells += [number(getattr(row, column)), number(ours[method][k], 3)]
        exact = least_squares[k] if abs(least_squares[k]) > ROUNDING else 0.0
        rows.append((str(k + 1), row.label, row.unit, *cells, number(exact)))
    methods = (name for method in model.PRINTED for name in (f"{method}, paper", f"{method}, ours"))
    return Table(
        columns=("row", "corrected label", "unit", "theoretical", *methods, "least squares"),
        rows=tuple(rows),
        text_columns=3,
        title=f"Table 5: estimates, best runs, {FREE}",
    )


def errors(found: Results) -> Table:
    """Return mean and largest parameter errors, as printed and of ours."""
    rows = []
    for method in model.PRINTED:
        error = np.abs(model.printed(method) - model.printed())
        cells = [number(float(error.mean())), number(float(error.max()))]
        for variant in VARIANTS:
            one = found.searches[variant, method]
            cells += [number(float(one.errors.mean()), 3)]
            cells += [number(float(one.largest_errors.mean()), 3)]
        rows.append((method, *cells))
    names = [f"{what}, {variant}" for variant in VARIANTS for what in ("mean", "largest")]
    return Table(
        columns=("method", "mean, paper", "largest, paper", *names),
        rows=tuple(rows),
        title="Errors of the 21 parameters, means over the runs",
    )


def printed_estimates(sets: Sequence[PublishedSet], costs: Mapping[str, float]) -> Table:
    """Return what the printed columns of Table 5 are worth.

    Parameters
    ----------
    sets : sequence of PublishedSet
        The columns.
    costs : mapping of str to float
        Fitness of each on our data [N m].
    """
    rows = []
    for one in sets:
        estimated = one.name in model.PRINTED
        cells = (one.mean_error, one.largest_error) if estimated else (None, None)
        rows.append(
            (
                one.name,
                *(number(cell) for cell in cells),
                str(one.best_rows) if estimated else "-",
                number(costs[one.name], 3),
                number(one.least_inertia, 3),
                number(one.second_moment, 3),
            )
        )
    columns = ("column of Table 5", "mean |error|", "largest", "best in rows", "fitness here [N m]")
    return Table(
        columns=(*columns, "least eigenvalue of M(q) [kg m²]", "second moment of link 3 [kg m²]"),
        rows=tuple(rows),
        title="The printed columns",
    )


def population(found: Mapping[str, Float1D]) -> Table:
    """Return the number of beetles by eq. (15)-(16) in both forms."""
    rows = []
    for form, sizes in found.items():
        cells = (sizes[0], sizes[-1], sizes.sum())
        rows.append((form, *(f"{cell:.0f}" for cell in cells), number(float(sizes.mean()))))
    fixed = model.N_FIXED
    rows.append(("BSO", str(fixed), str(fixed), str(fixed * model.ITERATIONS), str(fixed)))
    return Table(
        columns=("form", "first", "last", "sum over 600 iterations", "mean"),
        rows=tuple(rows),
        title="Figure 5 in numbers: beetles",
    )


def engine(found: Results) -> Table:
    """Return the identification of the feasible robot from its run in the engine."""
    optimum = float(np.mean(found.engine["fitness"]["L1 optimum (LP)"]))
    rows = []
    for method, costs in found.engine["fitness"].items():
        cost, error = float(np.median(costs)), float(np.median(found.engine["error"][method]))
        rows.append((method, number(cost), number(cost / optimum, 5), number(error, 3)))
    return Table(
        columns=("method", "fitness [N m]", "over the optimum", "mean |error|"),
        rows=tuple(rows),
        title=f"Engine, torque noise of 1 %, {found.engine['samples']} samples",
    )
