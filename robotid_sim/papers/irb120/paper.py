"""Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.stats import ttest_ind

from robotid_sim.arrays import Float1D
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model import parameters
from robotid_sim.papers.irb120 import model, trials
from robotid_sim.papers.irb120.trials import PAPER
from robotid_sim.papers.paper import Lab, PlannedTrial, TrialPaper
from robotid_sim.papers.statistics import deviation, ratio_of_means
from robotid_sim.papers.tables import settings_rows
from robotid_sim.papers.trial_table import ResultRow, TrialKey, TrialTable
from robotid_sim.section import number
from robotid_sim.streams import named_stream
from robotid_sim.threads import one_blas_thread

OTHERS = tuple(name for name in model.METHODS if name != "mupso")
SIGNIFICANCE = 0.05
PRINTED_DIGIT = 1.0
"""Last digit of the ideal values of Table 4, which may be cut off [kg, kg mm, kg mm^2]."""
AT_REST = 1e-9
"""Speed at the start that counts as none [m/s]."""
SAMPLES = 400
"""Samples of a curve over time."""
ROUNDING = 1e-12
"""Parameters below this are zero, in SI units; the smallest one that is printed is 1e-6."""


def compute_rows(table: TrialTable, seed: int, effort: Mapping[str, int]) -> TrialTable:
    """Compute what needs no run, and what is more than a statistic of runs."""
    motions = model.published_motions()
    each = motions.values()
    evaluable = any(of["followed"] == "yes" and of["start_speed"] < AT_REST for of in each)
    best = min(each, key=lambda motion: float(motion["condition"]))
    rows: dict[TrialKey, list[ResultRow]] = {
        ("published", "", reading): [motion] for reading, motion in motions.items()
    }
    for joint, printed, used in model.PRINTED["limits"]:
        rows["limits", "", joint] = [{"printed": printed, "used": used}]
    total = sum(model.IDENTIFIABILITY)
    ranks = {"claimed by the paper": (f"{total} parameters", model.IDENTIFIABILITY)}
    for name, base in model.rank_analysis().items():
        ranks[name] = str(base.rank), model.counts(base)
    for name, (rank, counts) in ranks.items():
        named = dict(zip(("alone", "combined", "none"), counts, strict=True))
        rows["ranks", "", name] = [{"rank": rank, **named}]
    with one_blas_thread():  # the bits of QR depend on the number of threads
        rng = named_stream(seed, PAPER, "noise")
        identified = model.identify(model.problem(), np.array(best_motion(table, "mupso")), rng)
    rows["table 4", "", "base"] = [_table_4_of_base(identified)]
    rows["table 4", "", "printed"] = [_table_4_as_printed(identified)]
    rows["table 4", "", "engine"] = [_driven_parameters(table)]
    rows |= _drawn_motions(table)
    settings = {method: f"umar-2021-{method}" for method in model.METHODS}
    mupso = table.runs("table 3", "mupso")
    mutated = [row for row in mupso if row["mutations"]]
    return (
        TrialTable(rows)
        | TrialTable.printed({name: model.PRINTED[name] for name in ("table_3", "figure_2")})
        | settings_rows(settings)
        | TrialTable.computed(
            **effort,
            optimum=best["condition"] if evaluable else "not evaluable",
            radii=sum(model.PRINTED["optimum"]["a"]),
            speed=best["start_speed"],
            scale=best["scale"],
            condition=best["condition"],
            **_identifiability(),
            **_identified(identified),
            **_comparison(table),
            **_times(table),
            mutations=max(len(row["mutations"]) for row in mupso),
            mutated=len(mutated),
            at_ten=sum(10 in row["mutations"] for row in mutated),
            helped=sum(row["best_at"] > row["mutations"][0] for row in mutated),
        )
    )


def conditions(table: TrialTable, method: str, study: str = "table 3") -> Float1D:
    """Read the condition number of every run, shape (R,)."""
    return table.values(study, method, "condition")


def best_motion(table: TrialTable, method: str) -> Sequence[float]:
    """Find the coordinates of the best motion of a method."""
    return list(table.best("table 3", method, "condition")["x"])


def _drawn_motions(table: TrialTable) -> dict[TrialKey, list[ResultRow]]:
    """Compute the best motion of MuPSO, and paths of the wrist center in the base frame [m]."""
    grid = model.problem().space.on_grid(SAMPLES)
    gradient, mupso = (
        grid.motion(np.array(best_motion(table, name))) for name in ("gradient", "mupso")
    )
    t, parts = model.PERIOD * np.arange(SAMPLES) / SAMPLES, (part.T for part in mupso)
    names = ("position", "velocity", "acceleration")
    motion = {"t": t, **dict(zip(names, parts, strict=True))}

    def wrist(q: Float1D) -> Float1D:
        last = link_poses(model.arm(), q)[-1]
        return np.asarray(last[:3, :3] @ np.array(model.WRIST) + last[:3, 3])

    start = mupso[0][0]
    joints = link_poses(model.arm(), start)[:, :3, 3]
    return {
        ("motion", "", ""): [motion],
        ("wrist", "", "arm"): [{"path": np.vstack([np.zeros(3), joints, wrist(start)])}],
        ("wrist", "", "gradient"): [{"path": np.array([wrist(q) for q in gradient[0]])}],
        ("wrist", "", "mupso"): [{"path": np.array([wrist(q) for q in mupso[0]])}],
    }


def _comparison(table: TrialTable) -> ResultRow:
    """Say in words where MuPSO stands among the methods of the paper."""
    standings = {study: _standing(table, study) for study in ("table 3", "penalty")}
    handlings = {"table 3": "scaling", "penalty": "penalty"}
    means = "; ".join(
        f"with limits by {handlings[study]} {model.METHODS[rival]} has the lowest mean of the "
        f"others ({theirs:.3g}), MuPSO {ours:.3g} (Welch: p = {p:.1g})"
        for study, (rival, theirs, ours, p) in standings.items()
    )
    rival, theirs, ours, p = standings["table 3"]
    leader = model.METHODS["mupso" if ours < theirs else rival]
    least = {name: conditions(table, name).min() for name in OTHERS}
    spread = {name: deviation(conditions(table, name)) for name in OTHERS}
    few, many = (conditions(table, size, "size") for size in ("50", "70"))
    _, ends = ratio_of_means(many, few)
    clear = ends is not None and ends[1] < 1.0
    return {
        "means": f"{means[0].upper()}{means[1:]}",
        "leader": leader if p < SIGNIFICANCE else f"{leader}, by chance",
        "nearest": model.METHODS[min(least, key=least.__getitem__)],
        "farthest": model.METHODS[max(least, key=least.__getitem__)],
        "widest": model.METHODS[max(spread, key=spread.__getitem__)],
        "change": ": a fall, but a small one" if clear else ", which may differ by chance",
        "choices_mean": _range(table, np.mean),
        "choices_deviation": _range(table, deviation),
    }


def _standing(table: TrialTable, study: str) -> tuple[str, float, float, float]:
    """Find the method of the lowest mean beside MuPSO, both means, and p of Welch's test."""
    others = {name: conditions(table, name, study) for name in OTHERS}
    rival = min(others, key=lambda name: float(others[name].mean()))
    ours, theirs = conditions(table, "mupso", study), others[rival]
    p = float(ttest_ind(ours, theirs, equal_var=False).pvalue) if ours.size > 1 else 1.0
    return rival, float(theirs.mean()), float(ours.mean()), p


def _range(table: TrialTable, statistic: Callable[[Float1D], Any]) -> str:
    """Say between what values a statistic lies as the unprinted choices vary."""
    levels = {n: float(statistic(conditions(table, n, "unprinted"))) for n in model.UNPRINTED}
    ends = (pick(levels, key=levels.__getitem__) for pick in (min, max))
    return " to ".join(f"{levels[name]:.3g} ({name})" for name in ends)


def _times(table: TrialTable) -> ResultRow:
    """Compare the computing times of the methods of the paper."""
    runs = {name: table.values("table 3", name, "seconds") for name in model.METHODS}
    seconds = {name: float(of.mean()) for name, of in runs.items()}
    mupso = runs.pop("mupso")
    clear = [  # of means that differ by more than chance: whether the other is slower
        of.mean() > mupso.mean()
        for of in runs.values()
        if mupso.size > 1 and ttest_ind(mupso, of, equal_var=False).pvalue < SIGNIFICANCE
    ]
    least = min((name for name in OTHERS if name != "gwo"), key=seconds.__getitem__)
    shown = (f"{model.METHODS[n]} {s:.3g} s" for n, s in sorted(seconds.items()))
    return {
        "times": ", ".join(shown),
        "faster": clear.count(False),
        "slower": clear.count(True),
        "slowest": max(seconds.values()) / min(seconds.values()),
        "least": model.METHODS[least],
    }


def _identifiability() -> ResultRow:
    ranks = model.rank_analysis()
    counts = {name: model.counts(base) for name, base in ranks.items()}
    torques, nearest, wrenches = (
        ranks[name] for name in (model.JOINT_TORQUES, model.AS_PRINTED, model.WRENCHES)
    )
    shown = (*nearest.identifiable_alone, *nearest.in_combination)
    listed = [row[0] for row in model.PRINTED["table_4"]]
    values = model.ideal_values()
    other = [name for name, (ideal, true) in values.items() if abs(ideal - true) >= PRINTED_DIGIT]
    kinds = ("alone", "combined", "none")
    return {
        "rank": torques.rank,
        "same": sum(count == model.IDENTIFIABILITY for count in counts.values()),
        "same_by_torques": int(counts[model.JOINT_TORQUES] == model.IDENTIFIABILITY),
        **dict(zip(kinds, counts[model.JOINT_TORQUES], strict=True)),
        "names": ", ".join(torques.identifiable_alone),
        "nearest_rank": nearest.rank,
        "nearest_counts": " + ".join(map(str, counts[model.AS_PRINTED])),
        "listed": sum(symbol in shown for symbol in listed),
        "unseen": ", ".join(symbol for symbol in listed if symbol in nearest.no_effect),
        "observation_rank": model.rank_of(listed),
        "columns": len(listed),
        "ideal": len(values) - len(other),
        "other_names": ", ".join(other),
        "rows": len(values),
        "wrench_rank": wrenches.rank,
        **{f"wrench_{k}": n for k, n in zip(kinds, counts[model.WRENCHES], strict=True)},
        "wrench_names": ", ".join(wrenches.no_effect),
    }


def _identified(identified: model.ExactIdentification) -> ResultRow:
    scores = np.abs(identified.scores)
    listed = [symbol for symbol, _, _ in model.PRINTED["table_4"]]
    return {
        "exact_error": identified.exact_error,
        "listed_alone": sum(symbol in identified.basis.identifiable_alone for symbol in listed),
        "within": float((scores <= 3.0).mean()),
        "noisy_logs": model.DRAWS,
        "largest_score": float(scores.max()),
    }


def _table_4_as_printed(identified: model.ExactIdentification) -> ResultRow:
    """List the rows of Table 4, with eq. (49) to (53) and what joint torques tell of each."""
    basis, values = identified.basis, model.ideal_values()
    units = dict(zip(basis.symbols, parameters.units((False,) * 3), strict=True))
    rows = []
    for symbol, ideal, estimate in model.PRINTED["table_4"]:
        scale = model.MILLIMETERS.get(units[symbol], 1.0)
        status, ours = "no effect" if symbol in basis.no_effect else "in combinations", "-"
        if symbol in basis.identifiable_alone:
            estimated = identified.beta_exact[basis.names.index(symbol)]
            status, ours = "alone", _value(estimated, 6, scale)
        unit = units[symbol].replace("kg m", "kg mm").replace("^2", "²")
        true = _value(values[symbol][1] / scale, 6, scale)
        rows.append((symbol, unit, status, number(ideal, 6), number(estimate, 6), true, ours))
    names = ("symbol", "unit", "status", "ideal", "estimate", "true", "ours")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _table_4_of_base(identified: model.ExactIdentification) -> ResultRow:
    """List the true base parameters, and what is identified without and with noise."""
    basis, true, exact = identified.basis, identified.beta_true, identified.beta_exact
    within = (np.abs(identified.scores) <= 3.0).sum(axis=0)
    return {
        "name": list(basis.groupings),
        "unit": [unit.replace("^2", "²") for unit in basis.units],
        "true": [_value(value, 5) for value in true],
        "identified": [_value(value, 5) for value in exact],
        "error": [f"{found - value:.1e}" for found, value in zip(exact, true, strict=True)],
        "noisy": [_value(value, 5) for value in identified.beta_noisy[0]],
        "bound": [f"± {_value(3.0 * std, 5)}" for std in identified.std],
        "within": [f"{count}/{model.DRAWS}" for count in within],
    }


def _driven_parameters(table: TrialTable) -> ResultRow:
    """List the parameters that one noisy log of MuPSO's best driven motion gives."""
    best, base = table.best("engine", "MuPSO", "condition"), trials.base()
    return {
        "name": list(base.groupings[: base.inertial_rank]),
        "unit": [unit.replace("^2", "²") for unit in base.units[: base.inertial_rank]],
        "true": [_value(value, 5) for value in best["true"]],
        "identified": [_value(value, 5) for value in best["estimate"]],
        "bound": [f"± {_value(3.0 * std, 2)}" for std in best["std"]],
        "score": [number(score, 2) for score in best["scores"]],
    }


def _value(value: float, digits: int, scale: float = 1.0) -> str:
    """Write an SI value in other units; what is mere rounding is zero."""
    return number(scale * value, digits) if abs(value) > ROUNDING else "0"


TRIALS = f"{__package__}.trials"
STARTS = 3
"""Descents that share the budget of a swarm."""
SINGLE = "single"
"""A random motion, not the best of many."""
DRIVEN = {
    "mupso": "MuPSO",
    "de": "DE",
    "gradient": "gradient",
    "random": "random search",
    SINGLE: "a single random motion",
}
"""Whose motions are driven in the engine, and what the page calls them."""
ROUNDS = 7
"""Rounds in which swarms of two sizes are timed in turn."""


class MutatingSwarmPaper(TrialPaper):
    """Excitation of an IRB 120 by a mutating particle swarm, 2021."""

    name: ClassVar[str] = PAPER

    def run(self, lab: Lab) -> TrialTable:
        """Run the searches, drive motions in the engine, identify along the best; see `Paper`."""
        effort = {name: lab.choose(*sizes) for name, sizes in model.PRINTED["effort"].items()}
        runs = lab.runs_of(*model.PRINTED["runs"])
        # Side studies have fewer runs than the paper, for time.
        effort |= {name: min(runs, n) for name, n in effort.items() if name.endswith("runs")}
        effort = {"runs": runs} | effort
        table = lab.tabulate("search", _searches(lab, effort))
        # The best of three descents each, which need about as many evaluations as a swarm.
        descents, rows = table.runs("table 3", "gradient"), []
        for first in range(0, max(1, len(descents) - STARTS + 1), STARTS):
            group = descents[first : first + STARTS]
            spent = {name: sum(run[name] for run in group) for name in ("seconds", "evaluations")}
            rows.append({"condition": min(run["condition"] for run in group), **spent})
        table = table | TrialTable({("table 3", "", "gradients"): rows})
        table = table | _driven(lab, effort, table)
        return table | compute_rows(table, lab.seed, effort)


def _searches(lab: Lab, effort: Mapping[str, int]) -> list[PlannedTrial]:
    """Plan all searches, long ones first so that no process waits long at the end."""
    cells: list[PlannedTrial] = []
    runs, side = effort["runs"], effort["side_runs"]
    size = {"population": model.POPULATION, "iterations": effort["iterations"]}
    paper = {"method": "mupso", "reading": model.MAIN_READING, "handling": "scaling"}

    def swarms(study: str, row: str, runs: int, **settings: Any) -> None:
        options = {**size, **paper, **settings}
        cells.extend(lab.cells((study, "", row), f"{TRIALS}:swarm", runs, **options))

    for particles in reversed(model.SWARM_SIZES):
        settings = {"population": particles, "iterations": effort["study_iterations"]}
        swarms("size", str(particles), effort["study_runs"], **settings)
    for method in model.METHODS:
        swarms("table 3", method, runs, method=method)
        swarms("penalty", method, side, method=method, handling="penalty")
    for study, readings in (("reading", model.READINGS), ("unprinted", model.UNPRINTED)):
        for reading in readings:
            swarms(study, reading, side, reading=reading)
    descent = {"draws": effort["draws"], "iterations": effort["descent_iterations"]}
    cells += lab.cells(("table 3", "", "random"), f"{TRIALS}:random_search", side, **size)
    cells += lab.cells(("table 3", "", "gradient"), f"{TRIALS}:gradient", runs, **descent)
    return cells


def _driven(lab: Lab, effort: Mapping[str, int], table: TrialTable) -> TrialTable:
    """Drive motions of several searches in the engine, and time swarms of two sizes."""
    runs, logs = effort["engine_runs"], effort["logs"]
    single = lab.cell(("single", "", ""), f"{TRIALS}:random_motions", count=runs)
    drawn = lab.tabulate("single motions", [single]).runs("single")[0]["motions"]
    sizes = {"rounds": ROUNDS, "iterations": effort["timed_iterations"]}
    cells = [lab.cell(("timed", "", ""), f"{TRIALS}:swarm_times", **sizes)]
    for kind, label in DRIVEN.items():
        of_kind = drawn if kind == SINGLE else [r["x"] for r in table.runs("table 3", kind)]
        for run, x in enumerate(islice(filter(trials.drivable, of_kind), runs)):
            given = {"kind": kind, "run": run, "x": x, "logs": logs}
            cells.append(lab.cell(("engine", "", label), f"{TRIALS}:identification", **given))
    return lab.tabulate("engine", cells)
