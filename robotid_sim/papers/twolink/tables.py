"""Tables 1 to 9 of the paper, which are lost, filled with our numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim.settings import setting
from robotid_sim.papers.columns import CellColumns, table_of
from robotid_sim.papers.grid import Average
from robotid_sim.papers.statistics import geometric_ratio
from robotid_sim.papers.twolink import campaign, model, stability
from robotid_sim.papers.twolink.campaign import SEARCHES, ElpidsoResults, ElpidsoStudy
from robotid_sim.papers.twolink.criterion import LS_IN_BOX, TorqueCriterion, relative_error
from robotid_sim.papers.twolink.motion import Driven
from robotid_sim.papers.twolink.trials import SETTINGS
from robotid_sim.papers.twolink.variants import VARIANTS
from robotid_sim.section import number
from robotid_sim.table import Table

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
        sizes = map(str, (campaign.POPULATION, results.exact.evaluations))
        rows.append((method, text, chosen.missing, *sizes))
    return Table((), tuple(rows), name="table-2")


def estimates(results: ElpidsoResults, rho: float, place: int, study: ElpidsoStudy) -> Table:
    """Return one of Tables 3 to 7: the estimates on one trajectory, from one kind of data."""
    rows = [
        ("true", *(number(value, 6) for value in model.TRUE), *["-"] * 7),
        _exact_row("LS", "LS, eq. (29)", study, rho),
    ]
    if study is results.noisy:
        rows.append(_exact_row(LS_IN_BOX, "LS in the search box", study, rho))
    rows += [_search_row(method, study, rho) for method in SEARCHES]
    name = f"table-{place}{'-noise' if study is results.noisy else ''}"
    return Table((), tuple(rows), name=name)


def _exact_row(method: str, label: str, study: ElpidsoStudy, rho: float) -> tuple[str, ...]:
    criterion, estimate = study.criteria[rho], study.estimate(rho, method)
    cost = _cost(criterion.floor + float(criterion.excess(estimate[None])[0]))
    error = f"{np.abs(estimate - model.TRUE).max():.2g}"
    significance = _significance(study.rank_sum(rho, "LS")) if method == "LS" else ("-", "-")
    parameters = (number(value, 6) for value in estimate)
    return label, *parameters, cost, cost, cost, error, "0", *significance


def _search_row(method: str, study: ElpidsoStudy, rho: float) -> tuple[str, ...]:
    costs = study.criteria[rho].floor + study.excess(rho, method)
    p = study.rank_sum(rho, method)
    return (
        method,
        *_with_spread(study.grid.values(method, "parameters", rho)),
        *(_cost(v) for v in (costs.mean(), np.median(costs), costs.min())),
        f"{np.median(study.errors(rho, method)):.2g}",
        str(study.evaluations),
        *(("-", "-") if method == "ELPIDSO" else _significance(p)),
    )


def _significance(p: float) -> tuple[str, str]:
    """Return the p of a test, and whether it is significant (1) or not (0)."""
    return f"{p:.2g}", str(int(p < SIGNIFICANCE))


def _with_spread(estimates: Float2D) -> list[str]:
    """Return mean and standard deviation of every parameter over the rows of estimates."""
    deviations = estimates.std(axis=0, ddof=1) if len(estimates) > 1 else np.zeros(4)
    means = estimates.mean(axis=0)
    return [f"{m:.5g} ± {spread:.1g}" for m, spread in zip(means, deviations, strict=True)]


def _cost(value: float) -> str:
    return f"{value:.3g}" if value >= campaign.ROUNDING else "rounding"


def final_means(name: str, data: str, study: ElpidsoStudy, methods: Sequence[str]) -> Table:
    """Return Table 8 for one kind of data: means and deviations over the trajectories."""
    rows: list[tuple[str, ...]] = [("true", "-", *(number(v, 6) for v in model.TRUE), "-")]
    for method in methods:
        each = np.array([study.estimate(rho, method) for rho in model.FITTED])
        final = study.final(method)
        error = f"{np.abs(final - model.TRUE).max():.2g}"
        rows.append((method, data, *_with_spread(each), error))
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
        errors = {method: errors_of(results, method) for method in direct}
        for average, m in product(campaign.AVERAGES, SEARCHES):
            errors[f"{m}, {average}s of the runs"] = errors_of(results, m, average)
        rows += [(label, torques, *(f"{v:.2e}" for v in e)) for label, e in errors.items()]
    return Table((), tuple(rows), name="table-9")


def absolute_errors(results: ElpidsoResults, method: str, average: Average = "mean") -> Float2D:
    """Return E_a of eq. (30) on exact unseen torques [N m], shape (3, 2): rho by joint.

    The print of eq. (30) is lost; by its words it is the sum of the absolute errors of a torque.
    """
    final = results.exact.final(method, average)
    return np.array([accumulated_error(results.driven[rho], final) for rho in model.VALIDATED])


def accumulated_error(run: Driven, parameters: Float1D) -> Float1D:
    """Return the sum of absolute torque errors over the samples, by joint, shape (2,) [N m]."""
    return np.asarray(np.abs(_torque_errors(run, parameters)).sum(axis=0))


def _torque_errors(run: Driven, parameters: Float1D) -> Float2D:
    return np.asarray((run.target() - run.regressor() @ parameters).reshape(-1, 2))


def absolute(results: ElpidsoResults) -> Table:
    """Return E_a of eq. (30), and the mean predicted torque by which eq. (31) would divide."""
    rows = []
    methods = ("LS", *SEARCHES)
    errors = {m: absolute_errors(results, m) for m in methods}
    for (k, rho), j in product(enumerate(model.VALIDATED), (0, 1)):
        run = results.driven[rho]
        final = results.exact.final("ELPIDSO")
        mean = float((run.tau - _torque_errors(run, final))[:, j].mean())
        cells = [f"{errors[m][k, j]:.2e}" for m in methods]
        literal = errors["ELPIDSO"][k, j] / (run.t.size * abs(mean))
        rows.append((f"{rho:g}", str(j + 1), *cells, f"{mean:.1e}", f"{literal:.1e}"))
    return Table((), tuple(rows), name="absolute")


def costs_of(results: ElpidsoResults, variant: str) -> Float1D:
    """Return J less that of least squares of all runs of a variant, rho by rho; at least 1e-25."""
    runs = [results.variants.values(variant, "excess", rho) for rho in model.FITTED]
    return np.asarray(np.maximum(np.concatenate(runs), campaign.ROUNDING))


def diversity_of(results: ElpidsoResults, variant: str) -> Float1D:
    """Return the diversity of the swarm of all runs, mean over the search, rho by rho [boxes]."""
    runs = [results.variants.values(variant, "diversity", rho) for rho in model.FITTED]
    return np.concatenate([values.mean(axis=1) for values in runs])


def variants(results: ElpidsoResults) -> Table:
    """Return what every part of ELPIDSO does to the cost and to the diversity of the swarm."""
    rows = []
    ours = costs_of(results, "ELPIDSO")
    for variant in VARIANTS:
        medians = [results.variants.median(variant, "excess", rho) for rho in model.FITTED]
        ratio, interval = geometric_ratio(costs_of(results, variant), ours)
        ends = "-" if interval is None else " … ".join(f"{end:.1g}" for end in interval)
        spread = diversity_of(results, variant).mean()
        cells = (*map(_cost, medians), f"{ratio:.2g}", ends if variant != "ELPIDSO" else "-")
        rows.append((variant, *cells, f"{spread:.3f}"))
    return Table((), tuple(rows), name="variants")


def gains() -> Table:
    """Return what Routh-Hurwitz and the update itself say of gains."""
    columns: CellColumns = {
        "kp, ki, kd": lambda s: ", ".join(f"{gain:g}" for gain in s.gains),
        "w": lambda s: f"{s.w:g}",
        "eq. (17)-(18)": lambda s: "hold" if s.routh_hurwitz else "do not hold",
        "largest real part, eq. (16)": lambda s: f"{s.real_part:.3f}",
        "spectral radius of the update": lambda s: f"{s.radius:.3f}",
        "the swarm": lambda s: "settles" if s.radius < 1.0 else "diverges",
    }
    return table_of("gains", tuple(stability.all_gains()), columns, text_columns=3)


def payload_errors(results: ElpidsoResults, load: str) -> dict[str, Float1D]:
    """Return relative errors of lambda with a payload: before the change, by LS, by ELPIDSO."""
    content = results.loads[load]
    true = np.array(content["true"])
    criterion = TorqueCriterion.from_content(content["criterion"])
    estimates = {
        "before": model.TRUE[None],
        "LS": criterion.least_squares[None],
        "ELPIDSO": results.loaded.values("ELPIDSO", "parameters", load),
    }
    return {
        m: np.linalg.norm(x - true, axis=1) / np.linalg.norm(true) for m, x in estimates.items()
    }


def payloads(results: ElpidsoResults) -> Table:
    """Return the arm with another payload: truth, and estimates from noisy torques."""
    rows = []
    for load, content in results.loads.items():
        criterion = TorqueCriterion.from_content(content["criterion"])
        errors = payload_errors(results, load)
        found = np.median(results.loaded.values("ELPIDSO", "parameters", load), axis=0)
        listed = {
            "true": (np.array(content["true"]), None),
            "before the change": (model.TRUE, errors["before"]),
            "LS": (criterion.least_squares, errors["LS"]),
            "ELPIDSO, median": (found, errors["ELPIDSO"]),
        }
        for method, (values, error) in listed.items():
            share = "-" if error is None else number(100.0 * float(np.median(error)), 3)
            rows.append((load, method, *(number(float(v), 5) for v in values), share))
    return Table((), tuple(rows), name="payload")


def engine(results: ElpidsoResults) -> Table:
    """Return how the runs in the engine differ from the analytic ones."""
    runs = results.engine
    exact = {rho: TorqueCriterion.from_content(run["exact"]) for rho, run in runs.items()}
    columns: CellColumns = {
        "ρ [Hz]": lambda rho: f"{rho:g}",
        "largest motion [rad]": lambda rho: number(runs[rho]["largest_motion"], 3),
        "largest difference in position [rad]": lambda rho: f"{runs[rho]['largest_gap']:.2e}",
        "largest torque error of the true model [N m]": lambda rho: (
            f"{runs[rho]['largest_residual']:.2e}"
        ),
        "largest error of LS [kg m²]": lambda rho: (
            f"{np.abs(exact[rho].least_squares - model.TRUE).max():.1e}"
        ),
        "condition number of Y": lambda rho: number(float(np.linalg.cond(exact[rho].factor)), 4),
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
            share = number(100.0 * relative_parameter_error(estimate), 3)
            cells = (*map(number, estimate), f"{floor + excess:.6e}", share)
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
        absolute(results),
        variants(results),
        gains(),
        payloads(results),
        differentiated(results),
        all_runs(results),
    )
