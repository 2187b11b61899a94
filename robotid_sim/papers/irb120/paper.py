"""Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.stats import ttest_ind

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import Band, Chart, Curve, Mark, Points, Space, Style
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model import parameters
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import drawing, motion_chart, plotted
from robotid_sim.papers.irb120 import engine, model
from robotid_sim.papers.irb120 import identification as lls
from robotid_sim.papers.irb120.trials import PAPER
from robotid_sim.papers.paper import Cell, Lab, TrialPaper
from robotid_sim.papers.statistics import deviation, ratio_of_means
from robotid_sim.papers.tables import settings_rows
from robotid_sim.papers.trial_table import Row, TrialTable
from robotid_sim.section import number
from robotid_sim.streams import named_stream
from robotid_sim.threads import one_blas_thread

TRIALS = "robotid_sim.papers.irb120.trials"
ENGINE = "robotid_sim.papers.irb120.engine"
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
OTHERS = tuple(name for name in model.METHODS if name != "mupso")
SIGNIFICANCE = 0.05
PRINTED_DIGIT = 1.0
"""Last digit of the ideal values of Table 4, which may be cut off [kg, kg mm, kg mm^2]."""
AT_REST = 1e-9
"""Speed at the start that counts as none [m/s]."""
ROUNDING = 1e-12
"""Parameters below this are zero, in SI units; the smallest one that is printed is 1e-6."""
SAMPLES = 400
"""Samples of a curve over time."""


class MutatingSwarmPaper(TrialPaper):
    """Excitation of an IRB 120 by a mutating particle swarm, 2021."""

    name: ClassVar[str] = PAPER

    def run(self, lab: Lab) -> TrialTable:
        """Run the searches, drive motions in the engine, identify along the best; see `Paper`."""
        effort = effort_of(lab)
        table = lab.tabulate("search", _searches(lab, effort))
        table = table | _descents(table)
        table = table | _driven(lab, effort, table)
        return table | computed(table, lab.seed, effort)

    def charts(self, table: TrialTable) -> Iterator[Chart]:
        """Draw Figures 2 to 5 of the paper, and errors in the engine."""
        yield _swarm_size(table)
        yield _convergence(table)
        yield _cartesian_path(table)
        t, best = model.PERIOD * np.arange(SAMPLES) / SAMPLES, _best(table, "mupso")
        yield motion_chart("figure-5", t, _motion(best), ("rad", "rad/s", "rad/s²"))
        yield _errors(table)


def effort_of(lab: Lab) -> dict[str, int]:
    """Choose runs and budgets; side studies have fewer runs than the paper, for time."""
    effort = {name: lab.choose(*sizes) for name, sizes in model.PRINTED["effort"].items()}
    runs = lab.runs_of(*model.PRINTED["runs"])
    return {"runs": runs} | {
        name: min(runs, size) if name.endswith("runs") else size for name, size in effort.items()
    }


def _searches(lab: Lab, effort: Mapping[str, int]) -> list[Cell]:
    """Plan all searches, long ones first so that no process waits long at the end."""
    cells: list[Cell] = []
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


def _descents(table: TrialTable) -> TrialTable:
    """Take the best of three descents each, which need about as many evaluations as a swarm."""
    runs = table.runs("table 3", "gradient")
    firsts = range(0, max(1, len(runs) - STARTS + 1), STARTS)
    rows = []
    for group in (runs[first : first + STARTS] for first in firsts):
        spent = {name: sum(run[name] for run in group) for name in ("seconds", "evaluations")}
        rows.append({"condition": min(run["condition"] for run in group), **spent})
    return TrialTable({("table 3", "", "gradients"): rows})


def _driven(lab: Lab, effort: Mapping[str, int], table: TrialTable) -> TrialTable:
    """Drive motions of several searches in the engine, and time swarms of two sizes."""
    runs, logs = effort["engine_runs"], effort["logs"]
    single = lab.cell(("single", "", ""), f"{ENGINE}:random_motions", count=runs)
    drawn = lab.tabulate("single motions", [single]).runs("single")[0]["motions"]
    sizes = {"rounds": ROUNDS, "iterations": effort["timed_iterations"]}
    cells = [lab.cell(("timed", "", ""), f"{TRIALS}:swarm_times", **sizes)]
    for kind, label in DRIVEN.items():
        of_kind = drawn if kind == SINGLE else [r["x"] for r in table.runs("table 3", kind)]
        for run, x in enumerate(islice(filter(engine.drivable, of_kind), runs)):
            given = {"kind": kind, "run": run, "x": x, "logs": logs}
            cells.append(lab.cell(("engine", "", label), f"{ENGINE}:identification", **given))
    return lab.tabulate("engine", cells)


def computed(table: TrialTable, seed: int, effort: Mapping[str, int]) -> TrialTable:
    """Compute what needs no run, and what is more than a statistic of runs."""
    motions = model.published_motions()
    rows: dict[tuple[str, str, str], list[Row]] = {
        ("published", "", motion.reading): [
            {
                "followed": "yes" if motion.followed else "no",
                "start_speed": motion.start_speed,
                "scale": motion.scale,
                "condition": motion.condition,
            }
        ]
        for motion in motions
    }
    for joint, printed, used in model.PRINTED["limits"]:
        rows["limits", "", joint] = [{"printed": printed, "used": used}]
    total = sum(model.IDENTIFIABILITY)
    ranks = {"claimed by the paper": (f"{total} parameters", model.IDENTIFIABILITY)}
    for name, base in lls.rank_analysis().items():
        ranks[name] = str(base.rank), lls.counts(base)
    for name, (rank, counts) in ranks.items():
        named = dict(zip(("alone", "combined", "none"), counts, strict=True))
        rows["ranks", "", name] = [{"rank": rank, **named}]
    with one_blas_thread():  # the bits of QR depend on the number of threads
        rng = named_stream(seed, PAPER, "noise")
        identified = lls.identify(model.problem(), np.array(_best(table, "mupso")), rng)
    rows["table 4", "", "base"] = [_table_4_of_base(identified)]
    rows["table 4", "", "printed"] = [_table_4_as_printed(identified)]
    rows["table 4", "", "engine"] = [_driven_parameters(table)]
    settings = {method: f"umar-2021-{method}" for method in model.METHODS}
    return (
        TrialTable(rows)
        | TrialTable.printed({name: model.PRINTED[name] for name in ("table_3", "figure_2")})
        | settings_rows(settings)
        | TrialTable.computed(
            **effort,
            **_published_optimum(motions),
            **_identifiability(),
            **_identified(identified),
            **_comparison(table),
            **_times(table),
            **_mutations(table),
        )
    )


def conditions(table: TrialTable, method: str, study: str = "table 3") -> Float1D:
    """Read the condition number of every run, shape (R,)."""
    return table.values(study, method, "condition")


def _best(table: TrialTable, method: str) -> Sequence[float]:
    return list(table.best("table 3", method, "condition")["x"])


def _comparison(table: TrialTable) -> Row:
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


def _times(table: TrialTable) -> Row:
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


def _mutations(table: TrialTable) -> Row:
    rows = table.runs("table 3", "mupso")
    mutated = [row for row in rows if row["mutations"]]
    return {
        "mutations": max(len(row["mutations"]) for row in rows),
        "mutated": len(mutated),
        "at_ten": sum(10 in row["mutations"] for row in mutated),
        "helped": sum(row["best_at"] > row["mutations"][0] for row in mutated),
    }


def _published_optimum(motions: Sequence[model.PublishedMotion]) -> Row:
    evaluable = any(motion.followed and motion.start_speed < AT_REST for motion in motions)
    best = min(motions, key=lambda motion: motion.condition)
    return {
        "optimum": best.condition if evaluable else "not evaluable",
        "radii": sum(model.PRINTED["optimum"]["a"]),
        "speed": best.start_speed,
        "scale": best.scale,
        "condition": best.condition,
    }


def _identifiability() -> Row:
    ranks = lls.rank_analysis()
    counts = {name: lls.counts(base) for name, base in ranks.items()}
    torques, nearest, wrenches = (
        ranks[name] for name in (lls.JOINT_TORQUES, lls.AS_PRINTED, lls.WRENCHES)
    )
    shown = (*nearest.identifiable_alone, *nearest.in_combination)
    listed = [row[0] for row in model.PRINTED["table_4"]]
    values = lls.ideal_values()
    other = [name for name, (ideal, true) in values.items() if abs(ideal - true) >= PRINTED_DIGIT]
    kinds = ("alone", "combined", "none")
    return {
        "rank": torques.rank,
        "same": sum(count == model.IDENTIFIABILITY for count in counts.values()),
        "same_by_torques": int(counts[lls.JOINT_TORQUES] == model.IDENTIFIABILITY),
        **dict(zip(kinds, counts[lls.JOINT_TORQUES], strict=True)),
        "names": ", ".join(torques.identifiable_alone),
        "nearest_rank": nearest.rank,
        "nearest_counts": " + ".join(map(str, counts[lls.AS_PRINTED])),
        "listed": sum(symbol in shown for symbol in listed),
        "unseen": ", ".join(symbol for symbol in listed if symbol in nearest.no_effect),
        "observation_rank": lls.rank_of(listed),
        "columns": len(listed),
        "ideal": len(values) - len(other),
        "other_names": ", ".join(other),
        "rows": len(values),
        "wrench_rank": wrenches.rank,
        **{f"wrench_{k}": n for k, n in zip(kinds, counts[lls.WRENCHES], strict=True)},
        "wrench_names": ", ".join(wrenches.no_effect),
    }


def _identified(identified: lls.ExactIdentification) -> Row:
    scores = np.abs(identified.scores)
    listed = [symbol for symbol, _, _ in model.PRINTED["table_4"]]
    return {
        "exact_error": identified.exact_error,
        "listed_alone": sum(symbol in identified.basis.identifiable_alone for symbol in listed),
        "within": float((scores <= 3.0).mean()),
        "noisy_logs": lls.DRAWS,
        "largest_score": float(scores.max()),
    }


def _table_4_as_printed(identified: lls.ExactIdentification) -> Row:
    """List the rows of Table 4, with eq. (49) to (53) and what joint torques tell of each."""
    basis, values = identified.basis, lls.ideal_values()
    units = dict(zip(basis.symbols, parameters.units((False,) * 3), strict=True))
    rows = []
    for symbol, ideal, estimate in model.PRINTED["table_4"]:
        scale = lls.MILLIMETERS.get(units[symbol], 1.0)
        status, ours = "no effect" if symbol in basis.no_effect else "in combinations", "-"
        if symbol in basis.identifiable_alone:
            estimated = identified.beta_exact[basis.names.index(symbol)]
            status, ours = "alone", _value(estimated, 6, scale)
        unit = units[symbol].replace("kg m", "kg mm").replace("^2", "²")
        true = _value(values[symbol][1] / scale, 6, scale)
        rows.append((symbol, unit, status, number(ideal, 6), number(estimate, 6), true, ours))
    names = ("symbol", "unit", "status", "ideal", "estimate", "true", "ours")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _table_4_of_base(identified: lls.ExactIdentification) -> Row:
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
        "within": [f"{count}/{lls.DRAWS}" for count in within],
    }


def _driven_parameters(table: TrialTable) -> Row:
    """List the parameters that one noisy log of MuPSO's best driven motion gives."""
    best, base = table.best("engine", DRIVEN["mupso"], "condition"), engine.base()
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


def _swarm_size(table: TrialTable) -> Chart:
    """Draw Figure 2: best cost and time by number of particles."""
    sizes = np.array(model.SWARM_SIZES, dtype=float)
    costs = [conditions(table, str(size), "size") for size in model.SWARM_SIZES]
    times = np.array([table.values("size", f"{s}", "seconds").mean() for s in model.SWARM_SIZES])
    every = np.concatenate([np.full(c.size, s) for s, c in zip(sizes, costs, strict=True)])
    rows = model.PRINTED["figure_2"]
    printed = np.array(list(rows), dtype=float)
    cost, seconds = (np.array([row[k] for row in rows.values()]) for k in ("best", "seconds"))
    reference = model.SWARM_SIZES.index(model.POPULATION)
    costs_of_runs = (
        Points(every, np.concatenate(costs), "a run", "raw"),
        Curve(sizes, np.array([c.mean() for c in costs]), "mean", "identified"),
        Points(printed, cost, "paper", "nominal", size=5.0, symbol="diamond"),
    )
    relative_times = (
        Curve(sizes, times / times[reference], "mean", "identified"),
        Points(printed, seconds / seconds[0], "paper", "nominal", size=5.0, symbol="diamond"),
    )
    labels = {"condition number [-]": costs_of_runs, "time / that of 50 [-]": relative_times}
    panels = (
        plotted(marks, "particles [-]", label, x_range=(25.0, 75.0))
        for label, marks in labels.items()
    )
    return drawing("figure-2", *panels, columns=2, height=1.8)


def _convergence(table: TrialTable) -> Chart:
    """Draw Figure 3: mean convergence of all methods."""
    marks: list[Mark] = []
    for k, (method, label) in enumerate((*model.METHODS.items(), ("random", "random search"))):
        curves = table.values("table 3", method, "curve")
        x, y = curves[0, 0] / model.POPULATION, curves[:, 1]
        if method == "mupso":
            marks.append(Band(x, y.min(axis=0), "MuPSO, all runs", "raw", upper=y.max(axis=0)))
        style: Style = "dashed" if method == "random" else "solid"
        marks.append(Curve(x, y.mean(axis=0), label, joint_role(k), style, 1.3))
    labels = ("iteration, of 50 evaluations [-]", "condition number [-]")
    best = float(conditions(table, "gradient").min())
    return drawing("figure-3", plotted(marks, *labels, levels=(best,)), height=2.8)


def _cartesian_path(table: TrialTable) -> Chart:
    """Draw Figure 4: the path of the wrist center."""
    paths = (
        (label, role, np.array([_wrist(q) for q in _motion(_best(table, method))[0]]))
        for label, role, method in (
            ("gradient", "nominal", "gradient"),
            ("MuPSO", "identified", "mupso"),
        )
    )
    arm = ("arm at the start", "muted", _skeleton(_motion(_best(table, "mupso"))[0][0]))
    return drawing("figure-4", Space(curves=(arm, *paths)), height=4.0)


def _errors(table: TrialTable) -> Chart:
    """Draw errors in the engine over condition numbers, a point a log."""

    def points(label: str, what: str, role: str) -> Points:
        errors = table.values("engine", label, what)
        x = np.repeat(conditions(table, label, "engine"), errors.shape[1])
        return Points(x, errors.ravel(), label, role, size=3.0)

    roles = {label: joint_role(k) for k, label in enumerate(DRIVEN.values())}
    panels = (
        plotted(
            (points(label, what, role) for label, role in roles.items()),
            "condition number [-]",
            y_label,
            x_scale="log",
            y_scale="log",
        )
        for what, y_label in (
            ("relative", "parameter error [%]"),
            ("unseen", "unseen torque error [%]"),
        )
    )
    return drawing("engine", *panels, columns=2, height=2.2)


def _motion(x: Sequence[float]) -> tuple[Float2D, Float2D, Float2D]:
    """Compute position, velocity and acceleration of the joints along a motion."""
    return model.problem().space.on_grid(SAMPLES).motion(np.array(x))


def _wrist(q: Float1D) -> Float1D:
    """Compute the wrist center in the base frame [m], shape (3,)."""
    last = link_poses(model.arm(), q)[-1]
    return np.asarray(last[:3, :3] @ np.array(model.WRIST) + last[:3, 3])


def _skeleton(q: Float1D) -> Float2D:
    """Compute base, joints and wrist center as a chain of points."""
    return np.vstack([np.zeros(3), link_poses(model.arm(), q)[:, :3, 3], _wrist(q)])
