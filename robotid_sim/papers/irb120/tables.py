"""The tables of the paper, with our numbers beside the printed ones."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robotid_sim.model import parameters
from robotid_sim.optim.settings import setting
from robotid_sim.papers.columns import (
    CellColumns,
    printed_columns,
    settings_columns,
    summary_columns,
    table_of,
)
from robotid_sim.papers.grid import values_of
from robotid_sim.papers.irb120 import engine, model
from robotid_sim.papers.irb120 import identification as lls
from robotid_sim.papers.irb120.campaign import DRIVEN, MupsoResults
from robotid_sim.papers.irb120.engine_claims import LABEL, geometric_mean, rms_error
from robotid_sim.papers.irb120.model import PublishedMotion
from robotid_sim.section import number, percent
from robotid_sim.table import Table

LABELS = {
    **model.METHODS,
    "random": "random search",
    "gradient": "gradient, one start",
    "gradients": "gradient, best of 3 starts",
}
"""Methods as the page calls them; the last three are not in the paper."""

ROUNDING = 1e-12
"""Parameters below this are zero, in SI units; the smallest one that is printed is 1e-6."""


def limits() -> Table:
    """Return the joint ranges of Table 1 beside those used."""
    return Table((), tuple(map(tuple, model.PRINTED["limits"])), name="table-1-ranges")


def settings() -> Table:
    """Return Table 2 with what the stability analysis says of it."""
    chosen = {method: setting(f"umar-2021-{method}") for method in model.METHODS}
    columns: CellColumns = {"method": model.METHODS.get, **settings_columns(chosen)}
    return table_of("table-2-settings", chosen, columns, text_columns=4)


def _effort_columns(mean: Callable[[Any, str], float]) -> CellColumns:
    return {
        "CPU time a run [s]": lambda row: number(mean(row, "seconds"), 3),
        "evaluations": lambda row: f"{mean(row, 'evaluations'):.0f}",
    }


def table_3(results: MupsoResults) -> Table:
    """Return Table 3: condition numbers of all methods, with time and evaluations."""

    def mean(method: str, name: str) -> float:
        return float(values_of(results.runs_of(method), name).mean())

    headings = ("min, paper", "mean, paper", "SD, paper", "time, paper [s]")
    columns: CellColumns = {
        "method": LABELS.get,
        **printed_columns(headings, model.PRINTED["table_3"], digits=6),
        **summary_columns(lambda m: values_of(results.runs_of(m), "condition")),
        **_effort_columns(mean),
        "runs": lambda m: len(results.runs_of(m)),
    }
    return table_of("table-3", LABELS, columns)


def penalty(results: MupsoResults) -> Table:
    """Return Table 3 with the limits by penalty."""
    columns: CellColumns = {
        "method": model.METHODS.get,
        **summary_columns(lambda m: results.conditions(m, "penalty")),
        "largest use of a limit": lambda m: percent(
            results.grid.values(m, "limit_use", "penalty").max()
        ),
    }
    return table_of("table-3-penalty", model.METHODS, columns)


def readings(results: MupsoResults) -> Table:
    """Return what MuPSO reaches in every reading of trajectory and condition number."""
    unit, si = (
        {name: results.grid.values(name, kind, "reading") for name in model.READINGS}
        for kind in ("condition", "condition_si")
    )
    columns: CellColumns = {
        "what is minimized": str,
        "unit columns, min": lambda name: number(unit[name].min(), 3),
        "mean": lambda name: number(unit[name].mean(), 3),
        "SI columns, min": lambda name: number(si[name].min(), 3),
        "mean ": lambda name: number(si[name].mean(), 3),
    }
    return table_of("readings", model.READINGS, columns)


def unprinted(results: MupsoResults) -> Table:
    """Return what MuPSO reaches with other values of what the paper does not print."""
    choices = {"as in Table 3": results.conditions(model.MAIN_READING, "reading")}
    choices |= {name: results.conditions(name, "unprinted") for name in model.UNPRINTED}
    columns: CellColumns = {"what is not printed": str, **summary_columns(choices.__getitem__)}
    return table_of("unprinted", choices, columns)


def swarm_sizes(results: MupsoResults) -> Table:
    """Return what is under Figure 2: best cost and time by number of particles."""
    columns: CellColumns = {
        "particles": str,
        **printed_columns(("best, paper", "time, paper [s]"), model.FIGURE_2, digits=6),
        **summary_columns(lambda size: results.conditions(size, "size")),
        **_effort_columns(lambda size, name: float(results.grid.mean(size, name, "size"))),
    }
    return table_of("figure-2-swarm-size", model.SWARM_SIZES, columns)


def identifiability() -> Table:
    """Return rank and counts for several things to measure, the claim of the paper first."""
    total = sum(model.IDENTIFIABILITY)
    rows = [("claimed by the paper", f"{total} parameters", *map(str, model.IDENTIFIABILITY))]
    for name, base in lls.rank_analysis().items():
        rows.append((name, str(base.rank), *map(str, lls.counts(base))))
    return Table((), tuple(rows), name="identifiability")


def table_4_as_printed(identified: lls.ExactIdentification) -> Table:
    """Return the rows of Table 4, with eq. (49) to (53) and what joint torques tell of each."""
    basis = identified.basis
    units = dict(zip(basis.symbols, parameters.units((False,) * 3), strict=True))
    values = lls.ideal_values()
    rows = []
    for symbol, ideal, estimate in model.PRINTED["table_4"]:
        scale = lls.MILLIMETERS.get(units[symbol], 1.0)
        status, ours = "no effect" if symbol in basis.no_effect else "in combinations", "-"
        if symbol in basis.identifiable_alone:
            estimated = identified.beta_exact[basis.names.index(symbol)]
            status, ours = "alone", _value(estimated, 6, scale)
        unit = units[symbol].replace("kg m", "kg mm").replace("^2", "²")
        printed = (number(ideal, 6), number(estimate, 6))
        rows.append(
            (symbol, unit, status, *printed, _value(values[symbol][1] / scale, 6, scale), ours)
        )
    return Table((), tuple(rows), name="table-4-printed")


def table_4_of_base(identified: lls.ExactIdentification) -> Table:
    """Return Table 4 on the true base parameters, without and with noise."""
    basis, true, exact = identified.basis, identified.beta_true, identified.beta_exact
    within = (np.abs(identified.scores) <= 3.0).sum(axis=0)
    columns: CellColumns = {
        "base parameter": basis.groupings.__getitem__,
        "unit": lambda k: basis.units[k].replace("^2", "²"),
        "true": lambda k: _value(float(true[k]), 5),
        "identified": lambda k: _value(float(exact[k]), 5),
        "error": lambda k: f"{exact[k] - true[k]:.1e}",
        "with noise": lambda k: _value(float(identified.beta_noisy[0, k]), 5),
        "3 σ": lambda k: f"± {_value(3.0 * float(identified.std[k]), 5)}",
        "in 3 σ": lambda k: f"{within[k]}/{lls.DRAWS}",
    }
    return table_of("table-4-base", range(true.size), columns, text_columns=2)


def _value(value: float, digits: int, scale: float = 1.0) -> str:
    """Return an SI value as text in other units; what is mere rounding is zero."""
    return number(scale * value, digits) if abs(value) > ROUNDING else "0"


def published_motion(motions: Sequence[PublishedMotion]) -> Table:
    """Return what the published coefficients give."""
    columns: CellColumns = {
        "reading": lambda motion: motion.reading,
        "in reach, in meters": lambda motion: "yes" if motion.followed else "no",
        "start speed [m/s]": lambda motion: number(motion.start_speed, 3),
        "largest scale in reach": lambda motion: percent(motion.scale),
        "condition number there": lambda motion: number(motion.condition, 3),
    }
    return table_of("published-optimum", motions, columns)


def driven(results: MupsoResults) -> Table:
    """Return what is identified in the engine along motions of several searches."""

    def share(kind: str, what: str) -> str:
        return number(geometric_mean(rms_error(results, kind, what)), 3)

    columns: CellColumns = {
        "motion": LABEL.get,
        "condition number": lambda k: number(results.grid.mean(k, "condition", "engine"), 3),
        "with friction": lambda k: number(results.grid.mean(k, "condition_fitted", "engine"), 3),
        "parameter error [%]": lambda k: share(k, "relative"),
        "unseen torque error [%]": lambda k: share(k, "unseen"),
        "within 3 σ": lambda k: percent(results.grid.mean(k, "within", "engine")),
        "motions": lambda k: len(results.grid.runs(k, "engine")),
    }
    return table_of("engine", DRIVEN, columns)


def driven_parameters(results: MupsoResults) -> Table:
    """Return the parameters that one noisy log of MuPSO's best driven motion gives."""
    best = results.grid.best("mupso", "condition", "engine")
    inertial = range(engine.base().inertial_rank)
    columns: CellColumns = {
        "base parameter": engine.base().groupings.__getitem__,
        "unit": lambda k: engine.base().units[k].replace("^2", "²"),
        "true": lambda k: _value(best["true"][k], 5),
        "identified": lambda k: _value(best["estimate"][k], 5),
        "3 σ": lambda k: f"± {_value(3.0 * best['std'][k], 2)}",
        "error / σ": lambda k: number(best["scores"][k], 2),
    }
    return table_of("engine-parameters", inertial, columns, text_columns=2)


def all_tables(
    results: MupsoResults, identified: lls.ExactIdentification, motions: Sequence[PublishedMotion]
) -> tuple[Table, ...]:
    """Return all tables of the page."""
    builders = (swarm_sizes, table_3, penalty, readings, unprinted)
    return (
        limits(),
        settings(),
        *(table(results) for table in builders),
        published_motion(motions),
        identifiability(),
        table_4_of_base(identified),
        table_4_as_printed(identified),
        driven(results),
        driven_parameters(results),
    )
