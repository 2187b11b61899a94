"""Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.stats import ttest_ind

from robotid_sim.arrays import ArrayLike, Float, Float1D
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model import parameters
from robotid_sim.papers.irb120 import model, trials
from robotid_sim.papers.irb120.trials import PAPER_NAME
from robotid_sim.papers.paper import PlannedTrial, ReproductionSetup, TrialPaper
from robotid_sim.papers.statistics import ratio_of_means
from robotid_sim.papers.tables import settings_rows
from robotid_sim.papers.trial_table import ResultRow, TrialKey, TrialTable
from robotid_sim.streams import make_stream
from robotid_sim.threads import one_blas_thread

SIGNIFICANCE = 0.05
PRINTED_DIGIT = 1.0
"""Last printed digit of the ideal values of Table 4 [kg, kg mm, kg mm^2]."""
SPEED_TOLERANCE = 1e-9
"""Speed at the start that counts as zero [m/s]."""
CURVE_SAMPLES = 400
"""Samples of a curve over time."""
ROUNDING_TOLERANCE = 1e-12
"""Parameters below this count as zero, in SI units; the smallest printed one is 1e-6."""
START_COUNT = 3
"""Number of gradient descents that together have the budget of a swarm."""
SINGLE_DRAW_NAME = "a single random motion"
"""Row of motions that no search improved."""
DRIVEN_STREAMS = {
    "MuPSO": "mupso",
    "DE": "de",
    "gradient": "gradient",
    "random search": "random",
    SINGLE_DRAW_NAME: "single",
}
"""Searches whose motions the engine drives, and the names of their streams."""
TIMING_ROUNDS = 7
"""Rounds in which swarms of two sizes are timed in turn."""


class MutatingSwarmPaper(TrialPaper):
    """Excitation of an IRB 120 by a mutating particle swarm, 2021."""

    name: ClassVar[str] = PAPER_NAME

    def run(self, lab: ReproductionSetup) -> TrialTable:
        """Run the searches, drive motions in the engine, identify along the best; see `Paper`."""
        effort = {
            name: lab.choose(*sizes) for name, sizes in model.PRINTED_VALUES["effort"].items()
        }
        runs = lab.runs_of(*model.PRINTED_VALUES["runs"])
        # Side studies have fewer runs than the paper, for time.
        effort |= {name: min(runs, n) for name, n in effort.items() if name.endswith("runs")}
        effort = {"runs": runs} | effort
        table = lab.tabulate("search", _plan_searches(lab, effort))
        # The best of three descents, which together need about the evaluations of a swarm.
        descents, rows = table.runs("table 3", "gradient"), []
        for first in range(0, max(1, len(descents) - START_COUNT + 1), START_COUNT):
            group = descents[first : first + START_COUNT]
            spent = {name: sum(run[name] for run in group) for name in ("seconds", "evaluations")}
            rows.append({"condition": min(run["condition"] for run in group), **spent})
        table = table | TrialTable({("table 3", "", "gradient, best of 3 starts"): rows})
        single = lab.plan_trial(
            ("single", "", ""), trials.random_motions, count=effort["engine_runs"]
        )
        table = table | lab.tabulate("single motions", [single])
        # Motions of several searches are driven in the engine; swarms of two sizes are timed.
        sizes = {"rounds": TIMING_ROUNDS, "iterations": effort["timed_iterations"]}
        planned = [lab.plan_trial(("timed", "", ""), trials.swarm_times, **sizes)]
        motions = {
            name: [run["x"] for run in table.runs("table 3", name)] for name in model.SEARCH_NAMES
        }
        motions[SINGLE_DRAW_NAME] = table.runs("single")[0]["motions"]
        for label, kind in DRIVEN_STREAMS.items():
            drivable = filter(trials.is_drivable, motions[label])
            for run, x in enumerate(islice(drivable, effort["engine_runs"])):
                options = {"kind": kind, "run": run, "x": x, "logs": effort["logs"]}
                key = ("engine", "", label)
                planned.append(lab.plan_trial(key, trials.identification, **options))
        table = table | lab.tabulate("engine", planned)
        return table | compute_rows(table, lab.seed, effort)


def _plan_searches(lab: ReproductionSetup, effort: Mapping[str, int]) -> list[PlannedTrial]:
    """Plan all searches, long ones first so that no process waits long at the end."""
    cells: list[PlannedTrial] = []
    runs, side = effort["runs"], effort["side_runs"]
    size = {"population": model.POPULATION_SIZE, "iterations": effort["iterations"]}

    # Every setting is explicit, so that equal searches of two studies run once.
    paper = {"method": "MuPSO", "reading": model.MAIN_READING_NAME, "handling": "scaling", **size}

    def swarms(study: str, row: str, runs: int, **settings: Any) -> None:
        cells.extend(lab.plan_trials((study, "", row), trials.swarm, runs, **paper | settings))

    for particles in reversed(model.SWARM_SIZES):
        settings = {"population": particles, "iterations": effort["study_iterations"]}
        swarms("size", str(particles), effort["study_runs"], **settings)
    for method in model.METHOD_NAMES:
        swarms("table 3", method, runs, method=method)
        swarms("penalty", method, side, method=method, handling="penalty")
    for study, readings in (("reading", model.READINGS), ("unprinted", model.UNPRINTED)):
        for reading in readings:
            swarms(study, reading, side, reading=reading)
    descent = {"draws": effort["draws"], "iterations": effort["descent_iterations"]}
    cells += lab.plan_trials(("table 3", "", "random search"), trials.random_search, side, **size)
    cells += lab.plan_trials(("table 3", "", "gradient"), trials.gradient, runs, **descent)
    return cells


def compute_rows(table: TrialTable, seed: int, effort: Mapping[str, int]) -> TrialTable:
    """Compute rows that need no run, and rows that are not just a statistic of runs."""
    motions = model.evaluate_published_motions()
    followed = [motion for motion in motions.values() if motion["followed"] == "yes"]
    evaluable = any(motion["start_speed"] < SPEED_TOLERANCE for motion in followed)
    best = min(motions.values(), key=lambda motion: float(motion["condition"]))
    rows: dict[TrialKey, ResultRow] = {
        ("published", "", reading): motion for reading, motion in motions.items()
    }
    for joint, printed, used in model.PRINTED_VALUES["limits"]:
        rows["limits", "", joint] = {"printed": printed, "used": used}
    x = np.array(table.best("table 3", "MuPSO", "condition")["x"])
    with one_blas_thread():  # the bits of QR depend on the number of threads
        identified = model.identify(model.problem(), x, make_stream(seed, PAPER_NAME, "noise"))
    rows |= _count_identifiable() | _table_4(identified, table) | _compute_drawn_motions(table)
    values = model.ideal_values()
    changed = [name for name, (ideal, true) in values.items() if abs(ideal - true) >= PRINTED_DIGIT]
    scores = np.abs(identified.scores)
    seconds = [table.values("table 3", name, "seconds").mean() for name in model.METHOD_NAMES]
    return (
        TrialTable.from_results(rows.items())
        | TrialTable.from_printed(
            {name: model.PRINTED_VALUES[name] for name in ("table_3", "figure_2")}
        )
        | settings_rows({method: f"umar-2021-{method.lower()}" for method in model.METHOD_NAMES})
        | TrialTable.from_computed(
            **effort,
            **_compare_methods(table),
            optimum=best["condition"] if evaluable else "not evaluable",
            radii=sum(model.PRINTED_VALUES["optimum"]["a"]),
            speed=best["start_speed"],
            scale=best["scale"],
            condition=best["condition"],
            observation_rank=model.rank_of(values),
            ideal=len(values) - len(changed),
            other_names=", ".join(changed),
            columns=len(values),
            exact_error=identified.exact_error,
            listed_alone=sum(symbol in identified.basis.identifiable_alone for symbol in values),
            within=float((scores <= 3.0).mean()),
            noisy_logs=model.DRAW_COUNT,
            largest_score=float(scores.max()),
            slowest=float(max(seconds) / min(seconds)),
        )
    )


def _count_identifiable() -> dict[TrialKey, ResultRow]:
    """Count the parameters identifiable alone, in combinations, and not at all."""
    kinds, listed = (
        ("alone", "combined", "none"),
        [row[0] for row in model.PRINTED_VALUES["table_4"]],
    )
    claimed = dict(zip(kinds, model.IDENTIFIABLE_PARAMETERS, strict=True))
    total = f"{sum(model.IDENTIFIABLE_PARAMETERS)} parameters"
    rows: dict[TrialKey, ResultRow] = {
        ("ranks", "", "claimed by the paper"): {"rank": total, **claimed, "as_claimed": 0}
    }
    for name, base in model.rank_analysis().items():
        counts = model.counts(base)
        rows["ranks", "", name] = {
            "rank": base.rank,
            **dict(zip(kinds, counts, strict=True)),
            "as_claimed": int(counts == model.IDENTIFIABLE_PARAMETERS),
            "counts": " + ".join(map(str, counts)),
            "names": ", ".join(base.identifiable_alone),
            "without_effect": ", ".join(base.not_identifiable),
            "listed": sum(symbol not in base.not_identifiable for symbol in listed),
            "unseen": ", ".join(symbol for symbol in listed if symbol in base.not_identifiable),
        }
    return rows


def _table_4(identified: model.ExactIdentification, table: TrialTable) -> dict[TrialKey, ResultRow]:
    """List Table 4 as printed, of the base parameters, and from the best driven MuPSO motion."""
    rows: dict[TrialKey, ResultRow] = {}
    basis, ideal, base = identified.basis, model.ideal_values(), trials.base()
    units = dict(zip(basis.symbols, parameters.units((False,) * 3), strict=True))
    exact = dict(zip(basis.names, remove_rounding(identified.beta_exact), strict=True))
    for symbol, printed, estimate in model.PRINTED_VALUES["table_4"]:
        scale = model.MILLIMETER_FACTORS.get(units[symbol], 1.0)
        row: dict[str, Any] = {"unit": units[symbol].replace("kg m", "kg mm").replace("^2", "²")}
        row |= {"status": "no effect" if symbol in basis.not_identifiable else "in combinations"}
        row |= {"ideal": printed, "estimate": estimate}
        row |= {"true": scale * remove_rounding(ideal[symbol][1] / scale)}
        if symbol in basis.identifiable_alone:
            row |= {"status": "alone", "ours": scale * exact[symbol]}
        rows["table 4 as printed", "", symbol] = row
    rows["table 4", "", "base"] = {
        "name": basis.groupings,
        "unit": [unit.replace("^2", "²") for unit in basis.units],
        "true": remove_rounding(identified.beta_true),
        "identified": remove_rounding(identified.beta_exact),
        "error": identified.beta_exact - identified.beta_true,
        "noisy": remove_rounding(identified.beta_noisy[0]),
        "bound": 3.0 * identified.std,
        "within": (np.abs(identified.scores) <= 3.0).mean(axis=0),
    }
    best = table.best("engine", "MuPSO", "condition")
    rows["table 4", "", "engine"] = {
        "name": base.groupings[: base.inertial_rank],
        "unit": [unit.replace("^2", "²") for unit in base.units],
        "true": remove_rounding(best["true"]),
        "identified": remove_rounding(best["estimate"]),
        "bound": 3.0 * np.array(best["std"]),
        "score": best["scores"],
    }
    return rows


def remove_rounding(values: ArrayLike) -> Float:
    """Set parameters below the rounding error to zero, in SI units."""
    return np.where(np.abs(values) > ROUNDING_TOLERANCE, values, 0.0)


def _compute_drawn_motions(table: TrialTable) -> dict[TrialKey, ResultRow]:
    """Compute the best motion of MuPSO, and paths of the wrist center in the base frame [m]."""
    grid = model.problem().space.make_grid(CURVE_SAMPLES)
    gradient, mupso = (
        grid.motion(np.array(table.best("table 3", name, "condition")["x"]))
        for name in ("gradient", "MuPSO")
    )
    t, parts = (
        model.RUN_PERIOD * np.arange(CURVE_SAMPLES) / CURVE_SAMPLES,
        (part.T for part in mupso),
    )
    names = ("position", "velocity", "acceleration")

    def wrist(q: Float1D) -> Float1D:
        last = link_poses(model.arm(), q)[-1]
        return np.asarray(last[:3, :3] @ np.array(model.WRIST_CENTER) + last[:3, 3])

    start = mupso[0][0]
    joints = link_poses(model.arm(), start)[:, :3, 3]
    return {
        ("motion", "", ""): {"t": t, **dict(zip(names, parts, strict=True))},
        ("wrist", "", "arm"): {"path": np.vstack([np.zeros(3), joints, wrist(start)])},
        ("wrist", "", "gradient"): {"path": np.array([wrist(q) for q in gradient[0]])},
        ("wrist", "", "MuPSO"): {"path": np.array([wrist(q) for q in mupso[0]])},
    }


def _compare_methods(table: TrialTable) -> ResultRow:
    """Compare MuPSO with the other methods of the paper, as text."""
    texts, leader = [], ""
    for study, handling in (("penalty", "penalty"), ("table 3", "scaling")):
        runs = {name: table.values(study, name, "condition") for name in model.METHOD_NAMES}
        mupso = runs.pop("MuPSO")
        best_other = min(runs, key=lambda name: float(runs[name].mean()))
        other = runs[best_other]
        p = float(ttest_ind(mupso, other, equal_var=False).pvalue) if mupso.size > 1 else 1.0
        leader = "MuPSO" if mupso.mean() < other.mean() else best_other
        leader += "" if p < SIGNIFICANCE else " (not significant)"
        texts.append(
            f"ith limits by {handling}, {best_other} has the lowest mean of the others "
            f"({other.mean():.3g}), MuPSO {mupso.mean():.3g} (Welch: p = {p:.1g})"
        )
    few, many = (table.values("size", size, "condition") for size in ("50", "70"))
    _, ends = ratio_of_means(many, few)
    is_lower = ends is not None and ends[1] < 1.0
    return {
        "means": f"W{texts[1]}; w{texts[0]}",
        "leader": leader,
        "change": ": a significant but small decrease" if is_lower else ": not significant",
    }
