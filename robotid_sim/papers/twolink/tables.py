"""Tables 1 to 9 of the paper, which are lost, filled with our numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.optim.settings import setting
from robotid_sim.papers.tables import CellColumns, table_of
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.campaign import (
    AVERAGES,
    POPULATION,
    ROUNDING,
    SEARCHES,
    Average,
    ElpidsoResults,
    ElpidsoStudy,
)
from robotid_sim.papers.twolink.criterion import LS_IN_BOX, relative_error
from robotid_sim.papers.twolink.trials import SETTINGS
from robotid_sim.section import Table, number

UNITS = ("kg", "m", "m", "kg m²", "kg", "m", "kg m²", "rad", "m/s²")
SIGNIFICANCE = 0.05


def physical() -> Table:
    """Return Table 1: masses and lengths, and what follows of them."""
    values = [(f.name, getattr(model.ARM, f.name)) for f in fields(model.ARM)]
    rows = [(name, number(value), unit) for (name, value), unit in zip(values, UNITS, strict=True)]
    rows.append(("e1 = m1 l1 lc1 - I1 - m1 lc1²", number(model.ARM.e1), "kg m²"))
    rows.append(("e2 = g / l1", number(model.ARM.e2), "1/s²"))
    for name, ours, printed in zip(model.NAMES, model.TRUE, model.PRINTED, strict=True):
        rows.append((name, f"{number(ours, 5)} (printed: {printed:g})", "kg m²"))
    return Table((), tuple(rows), name="table-1")


def settings(results: ElpidsoResults) -> Table:
    """Return Table 2: settings of the searches."""
    rows = []
    for method in SEARCHES:
        chosen = setting(SETTINGS[method][0])
        options = {k: v for k, v in vars(chosen.build()).items() if k != "population"}
        text = ", ".join(f"{name} {value}" for name, value in options.items())
        evaluations = results.exact.evaluations
        rows.append((method, text, chosen.missing, str(POPULATION), str(evaluations)))
    return Table((), tuple(rows), name="table-2")


def estimates(results: ElpidsoResults, rho: float, place: int, study: ElpidsoStudy) -> Table:
    """Return one of Tables 3 to 7: the estimates on one trajectory, from one kind of data."""
    floor = study.criteria[rho].floor
    rows = [
        ("true", *(number(value, 6) for value in model.TRUE), *["-"] * 7),
        _exact_row("LS", "LS, eq. (29)", study, rho, floor),
    ]
    if study is results.noisy:
        rows.append(_exact_row(LS_IN_BOX, "LS in the search box", study, rho, floor))
    rows += [_search_row(method, study, rho, floor) for method in SEARCHES]
    name = f"table-{place}{'-noise' if study is results.noisy else ''}"
    return Table((), tuple(rows), name=name)


def _exact_row(
    method: str, label: str, study: ElpidsoStudy, rho: float, floor: float
) -> tuple[str, ...]:
    estimate = study.estimate(rho, method)
    cost = _cost(floor + float(study.criteria[rho].excess(estimate[None])[0]))
    p = study.rank_sum(rho, "LS")
    return (
        label,
        *(number(value, 6) for value in estimate),
        *(cost, cost, cost),
        f"{np.abs(estimate - model.TRUE).max():.2g}",
        "0",
        *((f"{p:.2g}", str(int(p < SIGNIFICANCE))) if method == "LS" else ("-", "-")),
    )


def _search_row(method: str, study: ElpidsoStudy, rho: float, floor: float) -> tuple[str, ...]:
    costs = floor + study.excess(rho, method)
    p = study.rank_sum(rho, method)
    parameters = study.grid.values(method, "parameters", rho)
    mean = parameters.mean(axis=0)
    spread = parameters.std(axis=0, ddof=1) if len(parameters) > 1 else np.zeros(4)
    return (
        method,
        *(_with_spread(m, s) for m, s in zip(mean, spread, strict=True)),
        *(_cost(v) for v in (costs.mean(), np.median(costs), costs.min())),
        f"{np.median(study.errors(rho, method)):.2g}",
        str(study.evaluations),
        *(("-", "-") if method == "ELPIDSO" else (f"{p:.2g}", str(int(p < SIGNIFICANCE)))),
    )


def _with_spread(mean: float, spread: float) -> str:
    return f"{mean:.5g} ± {spread:.1g}"


def _cost(value: float) -> str:
    return f"{value:.3g}" if value >= ROUNDING else "rounding"


def final_means(name: str, data: str, study: ElpidsoStudy, methods: Sequence[str]) -> Table:
    """Return Table 8 for one kind of data: means and deviations over the trajectories."""
    rows: list[tuple[str, ...]] = [("true", "-", *(number(v, 6) for v in model.TRUE), "-")]
    for method in methods:
        each = np.array([study.estimate(rho, method) for rho in model.FITTED])
        final = study.final(method)
        cells = (_with_spread(m, s) for m, s in zip(final, each.std(axis=0, ddof=1), strict=True))
        rows.append((method, data, *cells, f"{np.abs(final - model.TRUE).max():.2g}"))
    return Table((), tuple(rows), name=name)


def exact_errors(results: ElpidsoResults, method: str, average: Average = "mean") -> Float1D:
    """Return the relative errors on exact unseen torques: rho by rho, both joints, shape (6,)."""
    final = results.exact.final(method, average)
    return np.concatenate([relative_error(results.driven[rho], final) for rho in model.VALIDATED])


def noisy_errors(results: ElpidsoResults, method: str, average: Average = "mean") -> Float1D:
    """Return the relative errors on noisy unseen torques in the engine, shape (6,)."""
    checked = results.checked[average]
    return np.concatenate([checked[rho][method] for rho in model.VALIDATED])


def validation(results: ElpidsoResults) -> Table:
    """Return Table 9: relative accumulated errors of unseen torques."""
    rows = []
    kinds = (("exact", exact_errors, ("LS",)), ("0.5 % noise", noisy_errors, ("LS", LS_IN_BOX)))
    for torques, errors_of, direct in kinds:
        rows += [(m, torques, *_errors(errors_of(results, m))) for m in direct]
        for average in AVERAGES:
            for m in SEARCHES:
                label = f"{m}, {average}s of the runs"
                rows.append((label, torques, *_errors(errors_of(results, m, average))))
    return Table((), tuple(rows), name="table-9")


def _errors(values: Float1D) -> tuple[str, ...]:
    return tuple(f"{value:.2e}" for value in values)


def engine(results: ElpidsoResults) -> Table:
    """Return how the runs in the engine differ from the analytic ones."""
    runs = results.engine
    columns: CellColumns = {
        "ρ [Hz]": lambda rho: f"{rho:g}",
        "largest motion [rad]": lambda rho: number(runs[rho]["largest_motion"], 3),
        "largest difference in position [rad]": lambda rho: f"{runs[rho]['largest_gap']:.2e}",
        "largest torque error of the true model [N m]": lambda rho: (
            f"{runs[rho]['largest_residual']:.2e}"
        ),
        "largest error of LS [kg m²]": lambda rho: (
            f"{np.abs(np.array(runs[rho]['exact']['least_squares']) - model.TRUE).max():.1e}"
        ),
        "condition number of Y": lambda rho: number(
            float(np.linalg.cond(np.array(runs[rho]["exact"]["factor"]))), 4
        ),
    }
    return table_of("engine", runs, columns, text_columns=0)


def differentiated(results: ElpidsoResults) -> Table:
    """Return what comes out of positions that are differentiated twice."""
    rows = []
    for (rho, noise), draws in results.differentiated.rows.items():
        for method in ("LS", LS_IN_BOX, "ELPIDSO"):
            estimate = np.mean([draw[method] for draw in draws], axis=0)
            excess = np.mean([_excess(draw, method) for draw in draws])
            floor = np.mean([draw["floor"] for draw in draws])
            share = relative_parameter_error(estimate)
            cells = (
                *(number(v) for v in estimate),
                f"{floor + excess:.6e}",
                number(100.0 * share, 3),
            )
            rows.append((f"{noise:g}", f"{rho:g}", method, *cells))
    return Table((), tuple(rows), name="differentiated")


def _excess(draw: Mapping[str, Any], method: str) -> float:
    keys = {LS_IN_BOX: "excess in the box", "ELPIDSO": "excess"}
    return float(draw[keys[method]]) if method in keys else 0.0


def relative_parameter_error(estimate: Float1D) -> float:
    """Return the norm of the error of an estimate over that of the true parameters."""
    return float(np.linalg.norm(np.asarray(estimate) - model.TRUE) / np.linalg.norm(model.TRUE))


def errors_at(results: ElpidsoResults, noise: float, method: str) -> Float1D:
    """Return the relative error of the parameters from noisy, differentiated positions, by rho.

    The median of the draws; draws on one trajectory are no independent trajectories.
    """
    return np.array(
        [
            np.median([relative_parameter_error(draw[method]) for draw in draws])
            for (_, level), draws in results.differentiated.rows.items()
            if level == noise
        ]
    )


def all_runs(results: ElpidsoResults) -> Table:
    """Return every single run, with full precision, for a file."""
    kinds = (("exact", results.exact), ("exact, short", results.short), ("noisy", results.noisy))
    rows = []
    for data, study in kinds:
        for (rho, method), runs in study.grid.rows.items():
            for k, run in enumerate(runs):
                cells = (*map(repr, run["parameters"]), repr(run["excess"]), run["evaluations"])
                rows.append((data, f"{rho:g}", method, str(k), *map(str, cells)))
    return Table((), tuple(rows), name="runs")


def all_tables(results: ElpidsoResults) -> tuple[Table, ...]:
    """Return all tables: those of the page, and every run."""
    exact, noisy = results.exact, results.noisy
    places = list(enumerate(model.FITTED, start=3))
    return (
        physical(),
        settings(results),
        engine(results),
        *(estimates(results, rho, k, exact) for k, rho in places),
        *(estimates(results, rho, k, noisy) for k, rho in places),
        final_means("table-8", "exact", exact, ("LS", *SEARCHES)),
        final_means("table-8-noise", "0.5 % noise", noisy, ("LS", LS_IN_BOX, *SEARCHES)),
        validation(results),
        differentiated(results),
        all_runs(results),
    )
