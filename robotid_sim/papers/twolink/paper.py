"""Yan, Lu, Levy (2015): ELPIDSO on the two-link arm.

The module plans the searches and runs of the reproduction, and computes values of its claims.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import product
from typing import Any, ClassVar

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.optim.minimize import load_setting
from robotid_sim.papers.paper import PlannedTrial, ReproductionSetup, TrialPaper
from robotid_sim.papers.trial_table import ResultRow, TrialKey, TrialTable
from robotid_sim.papers.twolink import model, trials
from robotid_sim.papers.twolink.model import POPULATION_SIZE, compute_known_torque, integrate
from robotid_sim.papers.twolink.trials import BOX_MINIMUM_NAME
from robotid_sim.section import number

SEARCH_NAMES = ("GA", "SPSO", "ELPIDSO")
"""The searches of the paper, in the order of its tables."""
METHOD_NAMES = ("LS", *SEARCH_NAMES)
NOISE_METHODS = ("LS", BOX_MINIMUM_NAME, *SEARCH_NAMES)
VARIANT_NAME = "ELPIDSO without I, D"
"""Ablation that explains the gain of ELPIDSO, with the short budget only."""
ROW_UNITS = (
    "kg",
    "m",
    "m",
    "kg m²",
    "kg",
    "m",
    "kg m²",
    "rad",
    "m/s²",
    "kg m²",
    "1/s²",
    *["kg m²"] * 4,
)
"""Units of the rows of Table 1."""
RHO_VALUES = tuple(f"{rho:g}" for rho in model.FITTED_RHOS)
UNSEEN_RHOS = tuple(f"{rho:g}" for rho in model.VALIDATED_RHOS)
SEARCH_EFFORT: Mapping[str, tuple[int, int]] = model.SETTINGS["effort"]
COST_TOLERANCE = 1e-25
"""Largest J due to rounding errors [N^2 m^2]."""
ENCODER_NOISES = (0.0, 1e-6, 1e-5, 1e-4)
"""Noise of positions before two differentiations [rad]."""
AVERAGE_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"medians": np.median, "means": np.mean}
"""Averages over the runs of a search; the paper's means are sensitive to stagnated searches."""
TIE_TOLERANCE = 1e-12
"""Tolerance for rounding errors of parameters and relative torques."""
WORSE_RATIO = 1.1
"""Ratio of parameter errors of a search that is clearly worse than least squares."""
COST_LEVELS = (1e-2, 1e-4, 1e-6, 1e-8)
"""Excess costs over least squares at which evaluations are counted [N^2 m^2]."""
UNFAIR, UNFAIR_STUDY = "LS, differentiated", "differentiated 1e-06"
"""Least squares in the unfair comparison, and the study with its noise."""
DISPLAY_TIME = 1.0
"""Displayed time of a validation run [s], which is nearly periodic."""
MIN_DRAWN_ERROR = 1e-17
"""Lower limit of displayed torque errors [N m]."""


class TwoLinkElpidso(TrialPaper):
    """LS, GA, SPSO and ELPIDSO estimate four parameters of an arm driven by torques."""

    name: ClassVar[str] = "twolink-elpidso"

    def run(self, lab: ReproductionSetup) -> TrialTable:
        """Run the unfinished trials; see `Paper`."""
        rates = (*model.FITTED_RHOS, *model.VALIDATED_RHOS)
        planned = [
            lab.plan_trial(("engine", f"{rho:g}", ""), trials.engine_run, rho=rho) for rho in rates
        ]
        engine = lab.tabulate("drive in the engine", planned)
        table = engine | lab.tabulate("search", _plan_searches(lab))
        # Estimates from noisy torques predict other torques, and J is computed again.
        cells = []
        for average, rate in product(AVERAGE_FUNCTIONS, model.VALIDATED_RHOS):
            key = ("checked", f"{rate:g}", average)
            means = {m: final(table, "noisy", m, average).tolist() for m in NOISE_METHODS}
            cells.append(lab.plan_trial(key, trials.check_in_engine, rho=rate, estimates=means))
        for rate in model.FITTED_RHOS:
            key = ("costs", f"{rate:g}", "searches")
            parameters = [
                row["parameters"] for m in SEARCH_NAMES for row in table.runs("noisy", m, key[1])
            ]
            cells.append(
                lab.plan_trial(key, trials.costs_in_engine, rho=rate, estimates=parameters)
            )
        return add_computed(table | lab.tabulate("compare with least squares", cells))


def add_computed(table: TrialTable) -> TrialTable:
    """Compute values without runs, from all results."""
    table = table | _predict_unseen(table) | _compute_figures(table)
    return (table | _compute_tables(table)) | TrialTable.from_computed(
        checkpoints=trials.checkpoints(table.runs("exact", "SPSO")[0]["evaluations"]),
        share=np.linspace(0.0, 1.0, trials.DIVERSITY_POINTS, endpoint=False),
        **_compare_orders(table),
        **_compare_evaluations(table),
        **_count_eta_gains(table),
        **_compute_model_facts(),
    )


def _plan_searches(lab: ReproductionSetup) -> Iterator[PlannedTrial]:
    """Plan all searches and least squares on the five trajectories."""
    runs, repeats = lab.runs_of(*SEARCH_EFFORT["runs"]), lab.choose(*SEARCH_EFFORT["repeats"])
    evals = {
        name: lab.choose(*SEARCH_EFFORT[name]) * POPULATION_SIZE
        for name in ("full", "short", "variants")
    }
    studies: dict[str, tuple[str, Iterable[str]]] = {
        "exact": ("full", SEARCH_NAMES),
        "short": ("short", (*SEARCH_NAMES, VARIANT_NAME)),
        "noisy": ("full", SEARCH_NAMES),
        "variants": ("variants", trials.VARIANT_NAMES),
    }
    for (study, (budget, methods)), rho in product(studies.items(), model.FITTED_RHOS):
        place: dict[str, Any] = {"study": study, "rho": rho}
        if study != "variants":
            yield lab.plan_trial((study, f"{rho:g}", ""), trials.solve_directly, **place)
        for method in methods:
            key, options = (study, f"{rho:g}", method), {"method": method, **place}
            yield from lab.plan_trials(key, trials.search, runs, max_evals=evals[budget], **options)
    for noise, rate in product(ENCODER_NOISES, model.FITTED_RHOS):
        options = {"rho": rate, "noise": noise, "max_evals": evals["short"]}
        draws = repeats if noise else 1  # deterministic without noise
        key = (f"differentiated {noise:g}", f"{rate:g}", "")
        yield from lab.plan_trials(key, trials.fit_positions, draws, **options)
    for load in trials.ADDED_LOADS:
        options = {"runs": lab.runs_of(*SEARCH_EFFORT["load_runs"]), "max_evals": evals["full"]}
        yield lab.plan_trial(("loaded", load, ""), trials.identify_load, load=load, **options)


def final(table: TrialTable, study: str, method: str, average: str) -> Float1D:
    """Average the estimates over the runs, then over the trajectories as in Table 8, shape (4,)."""
    each = [estimate(table, study, rho, method, average) for rho in RHO_VALUES]
    return np.asarray(np.mean(each, axis=0))


def estimate(
    table: TrialTable, study: str, rho: str, method: str, average: str = "means"
) -> Float1D:
    """Average the estimates of the runs on a trajectory, shape (4,)."""
    return np.asarray(
        AVERAGE_FUNCTIONS[average](table.values(study, method, "parameters", rho), axis=0)
    )


def _predict_unseen(table: TrialTable) -> TrialTable:
    """Predict the torques of unseen trajectories: relative errors, and their sums of eq. (30).

    Rows are the three rho with both joints, shape (6,). Eq. (30) is illegible; by the text it is
    the sum of the absolute errors of a torque [N m].
    """
    rows: dict[TrialKey, ResultRow] = {}
    driven = integrate(model.VALIDATED_RHOS)
    scale = sum(np.abs(run.tau).sum() for run in driven)

    def put(kind: str, average: str, method: str, errors: Float1D) -> None:
        largest = float(errors.max())
        row = {"errors": errors.tolist(), "largest": largest, "mean": float(errors.mean())}
        rows[kind, average, method] = {**row, "relative": largest / scale}

    for average, method in product(AVERAGE_FUNCTIONS, ("LS", BOX_MINIMUM_NAME, *SEARCH_NAMES)):
        checked = [table.runs("checked", average, rho)[0][method] for rho in UNSEEN_RHOS]
        put("unseen noisy", average, method, np.concatenate(checked))
        if method != BOX_MINIMUM_NAME:
            averaged = final(table, "exact", method, average)
            relative = [trials.relative_error(run, averaged) for run in driven]
            sums = [trials.sum_torque_errors(run, averaged) for run in driven]
            put("unseen exact", average, method, np.concatenate(relative))
            put("unseen sums", average, method, np.concatenate(sums))
    return TrialTable.from_results(rows.items())


def _compute_figures(table: TrialTable) -> TrialTable:
    """Compute the data of figures: torques of validation runs, and errors over the noise [%]."""
    rows: dict[TrialKey, ResultRow] = {}
    estimates = {m: final(table, "exact", m, "medians") for m in METHOD_NAMES}
    estimates[UNFAIR] = table.values(UNFAIR_STUDY, "LS", "parameters").mean(axis=0)
    for rho, run in zip(UNSEEN_RHOS, integrate(model.VALIDATED_RHOS), strict=True):
        shown = run.t <= DISPLAY_TIME
        t, measured, unscaled = (
            run.t[shown],
            run.tau[shown].T,
            compute_known_torque(run.q)[shown].T,
        )
        rows["validation", rho, "measured"] = {"t": t, "torque": measured}
        Y = run.regressor().reshape(-1, 2, 4)[shown]
        for method, x in estimates.items():
            torque = np.array([Y[:, j] @ x + unscaled[j] for j in (0, 1)])
            error = np.maximum(np.abs(measured - torque), MIN_DRAWN_ERROR)
            rows["validation", rho, method] = {"t": t, "torque": torque, "error": error}
    noises = np.array(ENCODER_NOISES[1:])
    for method in ("LS", "ELPIDSO"):
        medians = [
            [
                np.median(table.values(f"differentiated {n:g}", method, "relative", r))
                for r in RHO_VALUES
            ]
            for n in noises
        ]
        error = 100.0 * np.mean(medians, axis=1)
        rows["differentiation", "", method] = {"noise": noises, "error": error}
    exact = np.full(noises.size, 100.0 * trials.relative_parameter_error(estimates["ELPIDSO"]))
    rows["differentiation", "", "exact"] = {"noise": noises, "error": exact}
    return TrialTable.from_results(rows.items())


def _compute_tables(table: TrialTable) -> TrialTable:
    """Compute the values of tables that are not statistics of runs."""
    rows: dict[TrialKey, ResultRow] = {
        ("true", "", "true"): {"parameters": model.TRUE_PARAMETERS, "data": "-"}
    }
    arm = asdict(model.PRINTED_ARM) | {
        "e1 = m1 l1 lc1 - I1 - m1 lc1²": model.PRINTED_ARM.e1,
        "e2 = g / l1": model.PRINTED_ARM.e2,
    }
    values = {name: number(value) for name, value in arm.items()}
    for name, ours, printed in zip(
        model.PARAMETER_NAMES, model.TRUE_PARAMETERS, model.PRINTED_PARAMETERS, strict=True
    ):
        values[name] = f"{number(ours, 5)} (printed: {printed:g})"
    for (name, value), unit in zip(values.items(), ROW_UNITS, strict=True):
        rows["table 1", "", name] = {"value": value, "unit": unit}
    for method in SEARCH_NAMES:
        options = vars(trials.make_optimizer(method)).items()
        rows["settings", "", method] = {
            "settings": ", ".join(f"{k} {v}" for k, v in options if k != "population"),
            "missing": load_setting(model.SETTINGS["searches"][method]["name"]).missing,
            "population": POPULATION_SIZE,
            "evaluations": table.runs("exact", method)[0]["evaluations"],
        }
    for study, methods in {"exact": METHOD_NAMES, "noisy": NOISE_METHODS}.items():
        for method in methods:
            error = float(
                np.abs(final(table, study, method, "means") - model.TRUE_PARAMETERS).max()
            )
            each = [estimate(table, study, rho, method) for rho in RHO_VALUES]
            averaged = [{"parameters": x, "error": error} for x in each]
            rows["table 8", study, method] = {"runs": averaged}
    parameters = final(table, "exact", "ELPIDSO", "means")
    sums = {m: table.runs("unseen sums", m, "means")[0]["errors"] for m in METHOD_NAMES}
    for (k, run), j in product(enumerate(integrate(model.VALIDATED_RHOS)), (0, 1)):
        mean = float((run.tau - trials.torque_errors(run, parameters))[:, j].mean())
        errors = {m: values[2 * k + j] for m, values in sums.items()}
        literal = errors["ELPIDSO"] / (run.t.size * abs(mean))
        rows["absolute", UNSEEN_RHOS[k], str(j + 1)] = {**errors, "mean": mean, "literal": literal}
    for k, row in enumerate(model.all_gains()):
        gains = ", ".join(f"{gain:g}" for gain in row["gains"])
        texts = {
            "conditions": "hold" if row["routh_hurwitz"] else "do not hold",
            "swarm": "settles" if row["radius"] < 1.0 else "diverges",
        }
        rows["gains", "", str(k)] = {**row, **texts, "gains": gains}
    return TrialTable.from_results(rows.items())


def _compare_orders(table: TrialTable) -> ResultRow:
    """Compute the values of claims on orders that are not statistics of two methods."""
    evaluations = table.runs("exact", "SPSO")[0]["evaluations"]
    medians = {rho: np.median(table.values("exact", "SPSO", "excess", rho)) for rho in RHO_VALUES}
    ties = ", ".join(rho for rho, cost in medians.items() if cost < COST_TOLERANCE)
    # The largest errors of mean estimates; below a tie there is only rounding.
    errors = {
        rho: {
            m: max(
                float(np.abs(estimate(table, "exact", rho, m) - model.TRUE_PARAMETERS).max()),
                TIE_TOLERANCE,
            )
            for m in METHOD_NAMES
        }
        for rho in RHO_VALUES
    }
    largest = {m: max(by_method[m] for by_method in errors.values()) for m in METHOD_NAMES}
    ga = max(np.median(table.values("exact", "GA", "error", rho)) for rho in RHO_VALUES)
    direct = table.values("exact", "LS", "error").max()
    unseen = {m: table.runs("unseen noisy", m, "medians")[0]["largest"] for m in ("ELPIDSO", "LS")}
    is_noise = unseen["ELPIDSO"] <= 1.05 * unseen["LS"]
    return {
        "late": f"With {evaluations:,} SPSO too is at rounding at ρ = {ties}. " if ties else "",
        "best": sum(
            e["ELPIDSO"] < min(v for m, v in e.items() if m != "ELPIDSO") for e in errors.values()
        ),
        "largest_errors": ", ".join(f"{m} {error:.1e}" for m, error in largest.items()),
        "lead_of_ga": float(direct - ga),
        "left": "The residual is the noise of the measured torque. " if is_noise else "",
        "all_below": sum(
            max(table.values("noisy", m, "excess", rho).mean() for m in SEARCH_NAMES) < 0.0
            for rho in RHO_VALUES
        ),
        **{f"steps_{average}": _list_steps(table, average) for average in AVERAGE_FUNCTIONS},
    }


def _list_steps(table: TrialTable, average: str) -> str:
    errors = {m: table.runs("unseen exact", m, average)[0]["mean"] for m in METHOD_NAMES}
    order = sorted(errors, key=lambda method: max(errors[method], TIE_TOLERANCE))
    return ", ".join(f"{method} {errors[method]:.1e}" for method in order)


def _compare_evaluations(table: TrialTable) -> ResultRow:
    """Count the levels of the cost at which ELPIDSO needs fewer evaluations than SPSO.

    Evaluations are read from the median curve of every trajectory and averaged geometrically.
    """
    x = trials.checkpoints(table.runs("exact", "SPSO")[0]["evaluations"])

    def count_evaluations(method: str, level: float) -> float:
        curves = [
            np.median(table.values("exact", method, "curve", rho), axis=0) for rho in RHO_VALUES
        ]
        first = [x[np.argmax(c <= level)] if (c <= level).any() else x[-1] for c in curves]
        return float(np.exp(np.mean(np.log(first))))

    counts = [[count_evaluations(m, level) for m in ("ELPIDSO", "SPSO")] for level in COST_LEVELS]
    ratios = [pid / standard for pid, standard in counts]
    texts = (f"{r:.2g} at {level:g}" for r, level in zip(ratios, COST_LEVELS, strict=True))
    return {"faster_levels": sum(r < 1.0 for r in ratios), "level_ratios": ", ".join(texts)}


def _count_eta_gains(table: TrialTable) -> ResultRow:
    """Count the rho on which both searches are better than LS for eta, or worse for the others.

    Errors are medians of the runs on noisy torques.
    """
    nearer = lost = 0
    for rho in RHO_VALUES:
        least = np.abs(estimate(table, "noisy", rho, "LS") - model.TRUE_PARAMETERS)
        runs = (table.values("noisy", m, "parameters", rho) for m in ("GA", "SPSO"))
        swarms = [np.median(np.abs(x - model.TRUE_PARAMETERS), axis=0) for x in runs]
        nearer += all(errors[3] < least[3] for errors in swarms)
        lost += all(errors[:3].max() > WORSE_RATIO * least[:3].max() for errors in swarms)
    return {"eta_nearer": nearer, "others_lost": lost}


def _compute_model_facts() -> ResultRow:
    """Compute the values that depend on the model and the gains only."""
    corrected, printed = model.identity_errors()
    tested = list(model.all_gains())
    stable = [s for s in tested if s["routh_hurwitz"]]
    cases = product(model.GAIN_SETS, model.INERTIA_WEIGHTS, model.ATTRACTION_VALUES)
    return {
        "lambda": float(np.abs(model.TRUE_PARAMETERS - model.PRINTED_PARAMETERS).max()),
        "identity": corrected,
        "printed_identity": printed,
        "radius": max(s["radius"] for s in stable),
        "stable": len(stable),
        "diverging": sum(s["radius"] >= 1.0 for s in stable),
        "own_radius": max(s["radius"] for s in tested if s["gains"] == model.GAIN_SETS[0]),
        "disagreements": sum(
            model.is_routh_hurwitz_stable(*case) != (model.largest_real_part(*case) < 0.0)
            for case in cases
        ),
    }
