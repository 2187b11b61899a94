"""The tables of the paper, with our numbers beside the printed ones."""

from collections.abc import Sequence
from dataclasses import astuple

import numpy as np

from robotid_sim.model import parameters
from robotid_sim.optim.settings import setting
from robotid_sim.papers.claims import interval_of_mean
from robotid_sim.papers.irb120 import identification as lls
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.campaign import Results, Rows, values
from robotid_sim.papers.irb120.optimum import PublishedMotion
from robotid_sim.section import Table, number, percent

LABELS = {
    **model.METHODS,
    "random": "random search",
    "gradient": "gradient, one start",
    "gradients": "gradient, best of 3 starts",
}
"""Methods as the page calls them; the last three are not in the paper."""

ROUNDING = 1e-12
"""Parameters below this are zero, in SI units; the smallest one that is printed is 1e-6."""
MILLIMETERS = {"m": 1.0, "kg m": 1e3, "kg m^2": 1e6}
"""From SI to the units of Table 4."""


def limits() -> Table:
    """Return the joint ranges of Table 1 beside those used."""
    return Table(
        columns=("joint", "printed [deg]", "used [deg]"),
        rows=model.LIMITS,
        title="Table 1: joint ranges",
    )


def settings() -> Table:
    """Return Table 2 with what the stability analysis says of it."""
    rows = []
    for key, name in model.METHODS.items():
        chosen = setting(f"umar-2021-{key}")
        options = ", ".join(f"{k} = {v:g}" for k, v in chosen.options.items())
        rows.append((name, options, chosen.missing, "; ".join(chosen.flags) or "-"))
    columns = ("method", "settings", "not printed", "stability")
    return Table(
        columns=columns, rows=tuple(rows), title="Table 2: settings as published", text_columns=4
    )


def table_3(found: Results) -> Table:
    """Return Table 3: condition numbers of all methods, with time and evaluations."""
    rows = []
    for method, label in LABELS.items():
        runs = found.rows_of(method)
        published = model.TABLE_3.get(method)
        printed: tuple[str, ...] = ("-",) * 4
        if published is not None:
            printed = tuple(number(cell, 6) for cell in astuple(published))
        seconds, evaluations = (values(runs, name).mean() for name in ("seconds", "evaluations"))
        effort = (number(seconds, 3), f"{evaluations:.0f}", str(len(runs)))
        rows.append((label, *printed, *_statistics(runs), *effort))
    ours = ("minimum", "mean", "95 %", "SD", "CPU time a run [s]", "evaluations", "runs")
    printed_columns = ("min, paper", "mean, paper", "SD, paper", "time, paper [s]")
    return Table(
        columns=("method", *printed_columns, *ours),
        rows=tuple(rows),
        title=f"Table 3: condition number after {model.POPULATION} x {found.effort.iterations} "
        "evaluations",
    )


def penalty(found: Results) -> Table:
    """Return Table 3 with the limits by penalty."""
    rows = []
    for method, runs in found.penalty.items():
        use = values(runs, "limit_use").max()
        rows.append((model.METHODS[method], *_statistics(runs), percent(use)))
    return Table(
        columns=("method", "minimum", "mean", "95 %", "SD", "largest use of a limit"),
        rows=tuple(rows),
        title=f"Limits by penalty, {found.effort.side_runs} runs",
    )


def readings(found: Results) -> Table:
    """Return what MuPSO reaches in every reading of trajectory and condition number."""
    rows = []
    for reading, runs in found.readings.items():
        unit, raw = values(runs), values(runs, "condition_si")
        cells = (unit.min(), unit.mean(), raw.min(), raw.mean())
        rows.append((reading, *(number(cell, 3) for cell in cells)))
    columns = ("what is minimized", "unit columns, min", "mean", "SI columns, min", "mean ")
    return Table(
        columns=columns,
        rows=tuple(rows),
        title=f"Condition number by reading, MuPSO, {found.effort.side_runs} runs",
    )


def unprinted(found: Results) -> Table:
    """Return what MuPSO reaches with other values of what the paper does not print."""
    as_used = found.readings[model.MAIN_READING]
    rows = [("as in Table 3", *_statistics(as_used))]
    rows += [(name, *_statistics(runs)) for name, runs in found.unprinted.items()]
    return Table(
        columns=("what is not printed", "minimum", "mean", "95 %", "SD"),
        rows=tuple(rows),
        title=f"Condition number by what is not printed, MuPSO, {found.effort.side_runs} runs",
    )


def swarm_sizes(found: Results) -> Table:
    """Return what is under Figure 2: best cost and time by number of particles."""
    rows = []
    for size in model.SWARM_SIZES:
        runs = found.sizes[size]
        cost, seconds = model.FIGURE_2.get(size, (None, None))
        time = values(runs, "seconds").mean()
        cells = (number(cost), number(seconds, 6), *_statistics(runs), number(time, 3))
        rows.append((str(size), *cells, f"{values(runs, 'evaluations').mean():.0f}"))
    ours = ("minimum", "mean", "95 %", "SD", "CPU time a run [s]", "evaluations")
    return Table(
        columns=("particles", "best, paper", "time, paper [s]", *ours),
        rows=tuple(rows),
        title=f"Figure 2 in numbers: MuPSO, {found.effort.study_iterations} iterations, "
        f"{found.effort.study_runs} runs",
    )


def _statistics(runs: Rows) -> tuple[str, ...]:
    """Return minimum, mean, its interval and standard deviation."""
    found = values(runs)
    interval = interval_of_mean(found)
    between = "-" if interval is None else " … ".join(number(end, 3) for end in interval)
    spread = float(found.std(ddof=1)) if found.size > 1 else None
    return number(found.min(), 3), number(found.mean(), 3), between, number(spread, 3)


def identifiability() -> Table:
    """Return rank and counts for several things to measure, the claim of the paper first."""
    total = sum(model.IDENTIFIABILITY)
    rows = [("claimed by the paper", f"{total} parameters", *map(str, model.IDENTIFIABILITY))]
    for name, base in lls.rank_analysis().items():
        rows.append((name, str(base.rank), *map(str, lls.counts(base))))
    return Table(
        columns=("what is measured", "rank", "alone", "in combinations", "without effect"),
        rows=tuple(rows),
        title="Identifiability of the 30 inertial parameters",
        text_columns=1,
    )


def table_4_as_printed(found: lls.Identification) -> Table:
    """Return the rows of Table 4, with eq. (49) to (53) and what joint torques tell of each."""
    basis = found.basis
    units = dict(zip(basis.symbols, parameters.units((False,) * 3), strict=True))
    phi = np.linalg.solve(lls.paper_frames(), model.arm().parameters()[: len(lls.paper_frames())])
    truth = dict(zip(basis.symbols, phi, strict=False))
    rows = []
    for symbol, ideal, identified in model.TABLE_4:
        scale = MILLIMETERS["m" if units[symbol] == "kg" else units[symbol]]
        if symbol in basis.identifiable_alone:
            status = "alone"
            ours = _value(found.beta_exact[basis.names.index(symbol)], 6, scale)
        else:
            status = "no effect" if symbol in basis.no_effect else "in combinations"
            ours = "-"
        unit = units[symbol].replace("kg m", "kg mm").replace("^2", "²")
        printed = (number(ideal, 6), number(identified, 6))
        rows.append((symbol, unit, status, *printed, _value(truth[symbol], 6, scale), ours))
    columns = ("parameter", "unit", "shows in joint torques", "ideal, paper", "identified, paper")
    return Table(
        columns=(*columns, "eq. (49)-(53)", "identified here"),
        rows=tuple(rows),
        title="Table 4 as printed",
        text_columns=3,
    )


def table_4_of_base(found: lls.Identification) -> Table:
    """Return Table 4 on the true base parameters, without and with noise."""
    columns = [found.beta_true, found.beta_exact, found.beta_noisy[0], 3.0 * found.std]
    within = (np.abs(found.scores) <= 3.0).sum(axis=0)
    rows = []
    for k, grouping in enumerate(found.basis.groupings):
        error = f"{found.beta_exact[k] - found.beta_true[k]:.1e}"
        true, exact, noisy, bound = (_value(column[k], 5) for column in columns)
        share = f"{within[k]}/{lls.DRAWS}"
        cells = (true, exact, error, noisy, f"± {bound}", share)
        rows.append((grouping, found.basis.units[k].replace("^2", "²"), *cells))
    names = ("base parameter", "unit", "true", "identified", "error", "with noise", "3 σ", "in 3 σ")
    return Table(
        columns=names,
        rows=tuple(rows),
        title="Table 4 on the 15 base parameters",
        text_columns=2,
    )


def _value(value: float, digits: int, scale: float = 1.0) -> str:
    """Return an SI value as text in other units; what is mere rounding is zero."""
    return number(scale * value, digits) if abs(value) > ROUNDING else "0"


def published_motion(motions: Sequence[PublishedMotion]) -> Table:
    """Return what the published coefficients give."""
    rows = tuple(
        (
            motion.reading,
            "yes" if motion.followed else "no",
            number(motion.start_speed, 3),
            percent(motion.scale),
            number(motion.condition, 3),
        )
        for motion in motions
    )
    columns = ("reading", "in reach, in meters", "start speed [m/s]", "largest scale in reach")
    return Table(
        columns=(*columns, "condition number there"),
        rows=rows,
        title=f"The published coefficients, {model.PERIOD:g} s a run",
    )
