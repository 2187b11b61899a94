"""Yan, Lu, Levy (2015): ELPIDSO on the two-link arm."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim.minimize import setting
from robotid_sim.papers.paper import Lab, TrialPaper
from robotid_sim.papers.statistics import BESIDE, deviation, geometric_ratio
from robotid_sim.papers.trial_table import TrialTable
from robotid_sim.papers.twolink import model, trials
from robotid_sim.papers.twolink.model import integrate
from robotid_sim.papers.twolink.study import (
    ENCODERS,
    METHODS,
    POPULATION,
    RHOS,
    ROUNDING,
    SEARCHES,
    SIGNIFICANCE,
    UNSEEN,
    estimate,
    final,
    run_all,
)
from robotid_sim.papers.twolink.trials import LS_IN_BOX
from robotid_sim.section import number
from robotid_sim.table import Table

UNITS = ("kg", "m", "m", "kg m²", "kg", "m", "kg m²", "rad", "m/s²")


class TwoLinkElpidso(TrialPaper):
    """LS, GA, SPSO and ELPIDSO estimate four parameters of an arm driven by torques."""

    name: ClassVar[str] = "twolink-elpidso"

    def run(self, lab: Lab) -> TrialTable:
        """Run what is not finished of all trials; see `Paper`."""
        return run_all(lab)

    def tables(self, table: TrialTable) -> Iterator[Table]:
        """Fill the tables of the paper, which are lost, as far as they are more than statistics."""
        values = asdict(model.ARM).items()
        rows = [(name, number(v), unit) for (name, v), unit in zip(values, UNITS, strict=True)]
        rows.append(("e1 = m1 l1 lc1 - I1 - m1 lc1²", number(model.ARM.e1), "kg m²"))
        rows.append(("e2 = g / l1", number(model.ARM.e2), "1/s²"))
        for name, ours, printed in zip(model.NAMES, model.TRUE, model.PRINTED, strict=True):
            rows.append((name, f"{number(ours, 5)} (printed: {printed:g})", "kg m²"))
        yield Table((), tuple(rows), name="table-1")
        yield _settings(table)
        for (place, rho), study in product(enumerate(RHOS, start=3), ("exact", "noisy")):
            yield _estimates(table, study, rho, place)
        yield _final_means(table, "table-8", "exact", METHODS)
        yield _final_means(table, "table-8-noise", "noisy", ("LS", LS_IN_BOX, *SEARCHES))
        yield _absolute(table)
        yield _variants(table)
        yield _differentiated(table)


def _settings(table: TrialTable) -> Table:
    """List the settings of the searches: Table 2."""
    rows = []
    for method in SEARCHES:
        chosen = setting(model.SETTINGS["searches"][method]["name"])
        options = {k: v for k, v in vars(chosen.build()).items() if k != "population"}
        text = ", ".join(f"{name} {value}" for name, value in options.items())
        evaluations = table.runs("exact", method)[0]["evaluations"]
        rows.append((method, text, chosen.missing, str(POPULATION), str(evaluations)))
    return Table((), tuple(rows), name="table-2")


def _estimates(table: TrialTable, study: str, rho: str, place: int) -> Table:
    """Fill one of Tables 3 to 7: the estimates on one trajectory, from one kind of data."""
    floor, noisy = table.runs("goal", study, rho)[0]["floor"], study == "noisy"
    rows = [("true", *(number(value, 6) for value in model.TRUE), *["-"] * 7)]
    labels = {"LS": "LS, eq. (29)"} | ({LS_IN_BOX: "LS in the search box"} if noisy else {})
    for method in (*labels, *SEARCHES):
        runs, excess = table.runs(study, method, rho), table.values(study, method, "excess", rho)
        parameters = table.values(study, method, "parameters", rho)
        costs = (_cost(float(how(floor + excess))) for how in (np.mean, np.median, np.min))
        p = rank_sum(table.values(study, "ELPIDSO", "excess", rho), excess)
        tested = method not in (LS_IN_BOX, "ELPIDSO")
        rows.append(
            (
                labels.get(method, method),
                *(
                    [number(v, 6) for v in parameters[0]]
                    if method in labels
                    else _with_spread(parameters)
                ),
                *costs,
                f"{np.median(table.values(study, method, 'error', rho)):.2g}",
                str(runs[0].get("evaluations", 0)),
                *((f"{p:.2g}", str(int(p < SIGNIFICANCE))) if tested else ("-", "-")),
            )
        )
    return Table((), tuple(rows), name=f"table-{place}{'-noise' if noisy else ''}")


def rank_sum(ours: Float1D, others: Float1D) -> float:
    """Compute Wilcoxon's p that costs differ; below rounding they are equal."""
    floored = np.maximum(ours, ROUNDING), np.maximum(others, ROUNDING)
    return BESIDE["two-sided rank test"](*floored)[0]


def _with_spread(estimates: Float2D) -> list[str]:
    """Write mean and standard deviation of every parameter over the rows of estimates."""
    return [f"{column.mean():.5g} ± {deviation(column):.1g}" for column in estimates.T]


def _cost(value: float) -> str:
    return f"{value:.3g}" if value >= ROUNDING else "rounding"


def _final_means(table: TrialTable, name: str, study: str, methods: tuple[str, ...]) -> Table:
    """Fill Table 8 for one kind of data: means and deviations over the trajectories."""
    data = "exact" if study == "exact" else "0.5 % noise"
    rows: list[tuple[str, ...]] = [("true", "-", *(number(v, 6) for v in model.TRUE), "-")]
    for method in methods:
        each = np.array([estimate(table, study, rho, method) for rho in RHOS])
        error = f"{np.abs(final(table, study, method, 'means') - model.TRUE).max():.2g}"
        rows.append((method, data, *_with_spread(each), error))
    return Table((), tuple(rows), name=name)


def _absolute(table: TrialTable) -> Table:
    """List E_a of eq. (30), and the mean predicted torque by which eq. (31) would divide."""
    rows, found = [], final(table, "exact", "ELPIDSO", "means")
    errors = {m: table.runs("unseen sums", m, "means")[0]["errors"] for m in METHODS}
    for (k, run), j in product(enumerate(integrate(model.VALIDATED)), (0, 1)):
        mean = float((run.tau - trials.torque_errors(run, found))[:, j].mean())
        cells = [f"{errors[m][2 * k + j]:.2e}" for m in METHODS]
        literal = errors["ELPIDSO"][2 * k + j] / (run.t.size * abs(mean))
        rows.append((UNSEEN[k], str(j + 1), *cells, f"{mean:.1e}", f"{literal:.1e}"))
    return Table((), tuple(rows), name="absolute")


def _variants(table: TrialTable) -> Table:
    """List what every part of ELPIDSO does to the cost and to the diversity of the swarm."""
    rows = []
    costs = {
        v: np.maximum(table.values("variants", v, "excess"), ROUNDING) for v in trials.VARIANTS
    }
    for variant, cost in costs.items():
        medians = [
            float(np.median(table.values("variants", variant, "excess", rho))) for rho in RHOS
        ]
        ratio, interval = geometric_ratio(cost, costs["ELPIDSO"])
        ends = "-" if interval is None else " … ".join(f"{end:.1g}" for end in interval)
        spread = table.values("variants", variant, "diversity").mean()
        cells = (*map(_cost, medians), f"{ratio:.2g}", ends if variant != "ELPIDSO" else "-")
        rows.append((variant, *cells, f"{spread:.3f}"))
    return Table((), tuple(rows), name="variants")


def _differentiated(table: TrialTable) -> Table:
    """List what comes out of positions that are differentiated twice: means of the draws."""
    rows = []
    for noise, rho, method in product(ENCODERS, RHOS, ("LS", LS_IN_BOX, "ELPIDSO")):
        place = f"differentiated {noise:g}", method
        found = table.values(*place, "parameters", rho).mean(axis=0)
        excess, floor = (table.values(*place, name, rho).mean() for name in ("excess", "floor"))
        share = number(100.0 * trials.relative_parameter_error(found), 3)
        cells = (*map(number, found), f"{floor + excess:.6e}", share)
        rows.append((f"{noise:g}", rho, method, *cells))
    return Table((), tuple(rows), name="differentiated")
