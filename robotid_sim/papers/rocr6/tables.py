"""Tables 1 to 3 of the paper beside our numbers, and those behind the verdicts."""

from collections.abc import Callable, Sequence

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.papers.columns import CellColumns, indexed_columns, table_of
from robotid_sim.papers.rocr6.campaign import CONTROLLED, SIX, THREE, RwpsoResults
from robotid_sim.papers.rocr6.cell import METHODS as ESTIMATORS
from robotid_sim.papers.rocr6.cell import TORQUE_NOISE
from robotid_sim.papers.rocr6.model import PRINTED, TABLE_2, TABLE_3
from robotid_sim.papers.rocr6.searches import METHODS
from robotid_sim.papers.rocr6.weighting import WEIGHTED
from robotid_sim.papers.statistics import deviation
from robotid_sim.section import number
from robotid_sim.table import Table

PAPER_METHODS = ("LS-PSO", "WLS-PSO", "WLS-RWPSO")
FILTERS = ("raw", "five-point", "Kalman")


def geometry() -> Table:
    """Return Table 1: the modified DH parameters, which the catalog's robot has."""
    rows = tuple(
        (str(k + 1), alpha, f"{a:g}", f"{d:g}", offset)
        for k, (alpha, a, d, offset) in enumerate(PRINTED["table_1"])
    )
    return Table((), rows, name="table-1")


def parameters(results: RwpsoResults) -> Table:
    """Return Table 2: base parameters of joints 1 to 3; the printed values are the truth here."""
    methods = (*reversed(PAPER_METHODS), "LS", "WLS")
    estimates = {m: results.three(m, "parameters") for m in methods}
    basis = results.arm.basis
    rows = []
    for k, (name, printed) in enumerate(TABLE_2.items()):
        values = (estimates[m][:, k] for m in methods)
        cells = (f"{v.mean():.4g} ± {deviation(v):.1g}" for v in values)
        rows.append((name, basis.groupings[k], basis.units[k], f"{printed:g}", *cells))
    return Table((), tuple(rows), name="table-2")


def searches(results: RwpsoResults) -> Table:
    """Return fitness, generations and errors of every search on joints 1 to 3."""

    def generations(method: str, average: Callable[[Float1D], float]) -> str:
        return f"{average(results.three(method, 'generations')):.0f}" if method in METHODS else "-"

    columns: CellColumns = {
        "method": str,
        "evaluations": lambda m: 40_000 if m in METHODS else 0,
        "fitness: training RMS [N m]": lambda m: number(results.grid.mean(m, "fitness", THREE), 6),
        "above WLS [%]": lambda m: f"{results.above(m, 'WLS'):+.4f}",
        "generations to 99 %, median": lambda m: generations(m, np.median),
        "mean": lambda m: generations(m, np.mean),
        **indexed_columns(
            [f"noise-free RMS, joint {j} [mN m]" for j in (1, 2, 3)],
            lambda m: [f"{v:.3g}" for v in 1e3 * results.three(m, "unseen_rms").mean(axis=0)],
        ),
    }
    return table_of("searches", ("LS", "WLS", *METHODS), columns)


def residuals(results: RwpsoResults) -> Table:
    """Return Table 3: RMS of the validation residuals, published and ours."""
    rows = [(f"{m}, published", *_rounded(TABLE_3[m])) for m in PAPER_METHODS]
    rows += [(m, *_rounded(results.grid.mean(m, "measured_rms", SIX))) for m in ESTIMATORS]
    rows.append(("noise of the torque, given", *_rounded(TORQUE_NOISE)))
    return Table((), tuple(rows), name="table-3")


def true_residuals(results: RwpsoResults) -> Table:
    """Return the same against the true torque, which only a simulation knows."""
    rows = []
    for m in ESTIMATORS:
        evaluations = int(results.six(m, "evaluations")[0]) if "PSO" in m else 0
        errors = _rounded(results.grid.mean(m, "true_rms", SIX))
        rows.append((m, *errors, str(evaluations)))
    return Table((), tuple(rows), name="table-3-true")


def _rounded(values: Sequence[float] | Float2D) -> tuple[str, ...]:
    return tuple(f"{value:.4f}" for value in values)


def gains(results: RwpsoResults) -> Table:
    """Return the gains of WLS-RWPSO in RMS, published and ours."""
    ours = np.array(TABLE_3["WLS-RWPSO"])
    rows = []
    for method in ("LS-PSO", "WLS-PSO"):
        published = 100.0 * (1.0 - ours / np.array(TABLE_3[method]))
        rows.append((f"over {method}, published", *(f"{v:.1f}" for v in published)))
    for method in ("LS-PSO", "WLS-PSO", "LS", "WLS"):
        gain = results.gains(method).mean(axis=0)
        rows.append((f"over {method}", *(f"{v:.1f}" for v in gain)))
    return Table((), tuple(rows), name="gains")


def filters(results: RwpsoResults) -> Table:
    """Return how far the filtered torques are from the true ones."""
    places = {"smooth": "joint moves", "reversals": "about reversals", "all": "all samples"}
    rows = [
        (name, text, *_rounded(results.filter_errors(name, where).mean(axis=0)))
        for where, text in places.items()
        for name in FILTERS
    ]
    return Table((), tuple(rows), name="filters")


def six_joints(results: RwpsoResults) -> Table:
    """Return the base parameters of all joints: truth and estimates of the first run."""
    first = results.cell[0]
    methods = ("WLS", "consistent", "WLS-RWPSO")
    values = (first["true"], *(first["estimates"][m]["parameters"] for m in methods))
    rows = [
        (name, unit, *(number(value, 5) for value in row))
        for name, unit, *row in zip(first["names"], first["units"], *values, strict=True)
    ]
    return Table((), tuple(rows), name="six-joints")


def ranks(results: RwpsoResults) -> Table:
    """Return the numbers of base parameters, and the conditions of the excitations."""
    rows = [(where, str(rank)) for where, rank in results.ranks.items()]
    return Table((), tuple(rows), name="base-parameters")


def weights(results: RwpsoResults) -> Table:
    """Return the errors of joints 1 to 3 by reading of eq. (9)-(12), and one cost for all."""
    rows = []
    for name in results.weights["errors"]:
        errors = np.sqrt(results.weight_errors(name).mean(axis=0))
        torques = 1e3 * np.array(results.weights["torques"][name]).mean(axis=0)
        rows.append((name, *(f"{v:.3f}" for v in errors), *(f"{v:.3g}" for v in torques)))
    for name in WEIGHTED:
        torques = 1e3 * results.weighted.mean(name, "unseen_rms")
        rows.append((name, "-", "-", "-", *(f"{v:.3g}" for v in torques)))
    for name in ("WLS-PSO", "WLS-RWPSO"):
        torques = 1e3 * results.three(name, "unseen_rms").mean(axis=0)
        rows.append((f"{name}, plain", "-", "-", "-", *(f"{v:.3g}" for v in torques)))
    return Table((), tuple(rows), name="weights")


def filtered_estimates(results: RwpsoResults) -> Table:
    """Return the torque errors on unseen motion by filter of the torque that was fitted."""
    rows = []
    for name in results.filtered["errors"]:
        errors = results.filtered_errors(name)
        means = (f"{1e3 * v:.3g}" for v in errors.mean(axis=0))
        rows.append((name, str(len(errors)), *means))
    nominal = (f"{1e3 * v:.3g}" for v in results.filtered["nominal"])
    rows.append(("nominal model, not identified", "1", *nominal))
    return Table((), tuple(rows), name="filtered-estimates")


def tracking(results: RwpsoResults) -> Table:
    """Return the tracking errors with the models in the controller."""
    rows = []
    for name in ("nominal", *CONTROLLED, "true"):
        errors = 1e3 * results.tracking.mean(name, "rms")
        total, runs = results.tracking_errors(name), len(results.tracking.runs(name))
        largest = 1e3 * results.tracking.values(name, "largest").max()
        cells = (*(f"{v:.3g}" for v in errors), f"{1e3 * total.mean():.3g}", f"{largest:.3g}")
        rows.append((name, str(runs), *cells))
    return Table((), tuple(rows), name="tracking")


def all_runs(results: RwpsoResults) -> Table:
    """Return every search and every estimate, with full precision, for a file."""
    rows = []
    for method in ("LS", "WLS", *METHODS):
        for k, run in enumerate(results.grid.runs(method, THREE)):
            errors = map(repr, run["unseen_rms"])
            rows.append((THREE, method, str(k), repr(run["fitness"]), *errors, "", "", ""))
    for method in ESTIMATORS:
        for k, run in enumerate(results.grid.runs(method, SIX)):
            rows.append((SIX, method, str(k), "", *map(repr, run["measured_rms"])))
    return Table((), tuple(rows), name="runs")


def all_tables(results: RwpsoResults) -> tuple[Table, ...]:
    """Return all tables: those of the page, and every run."""
    of_page = (
        ranks,
        filters,
        filtered_estimates,
        weights,
        searches,
        parameters,
        residuals,
        gains,
        true_residuals,
        six_joints,
        tracking,
    )
    return geometry(), *(table(results) for table in (*of_page, all_runs))
