"""The league: every optimizer on the same problems, with the same budget of evaluations.

Standard functions in 10 and 30 dimensions, 2000 evaluations a dimension. A seed decides the
instance of a problem (where its minimum lies, how it is rotated) and the random numbers of a
search, so that the results of two methods at one seed are a pair. For every problem the table shows
the error of the best point (median and quartiles), on how many seeds it reaches the target, after
how many evaluations, and whether it differs from that of the best method: Wilcoxon's signed-rank
test with Holm's correction. Errors below the target count as the target. Fewer than ten seeds are
too few for any difference between so many methods to be significant.

Identification problems stand beside them: linear ones with squared and absolute residuals, and
Stribeck friction. Their cost is over that of the classical method (least squares, linear program,
variable projection), so that the error says how far a search stays behind it; within 0.1 % counts
as solved.

``league.json`` holds all of it, with the errors of every seed and the median convergence, and
``league.html`` shows it.

Run as ``python bench/optimizers.py [--quick] [--seeds 30] [--workers 2] [--out FOLDER]``; all takes
about half an hour on two cores, ``--quick`` two minutes.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from identification_problems import KINDS, identification_problem
from league_page import league_page
from scipy.stats import rankdata, wilcoxon
from standard_functions import FUNCTIONS

from robotid_sim.files import make_folder, write_json
from robotid_sim.optim.minimize import PUBLISHED_SETTINGS, minimize
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.parallel import map_tasks
from robotid_sim.report.page import write_page

EVALUATIONS_PER_DIMENSION = 2000
CHECKPOINTS = 40
"""Points of a convergence curve, evenly spaced in the logarithm of the evaluations."""
SIGNIFICANCE = 0.05
WITHIN = 1e-3
"""Share above the classical answer at which an identification problem counts as solved."""
ROUNDING = 1e-6
"""Share below the classical answer that is more than where its solver has stopped."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One instance of a problem."""

    name: str
    lower: np.ndarray
    upper: np.ndarray
    fun: Callable[[np.ndarray], np.ndarray]
    """Costs of points, (m, d) to (m,)."""
    optimum: float
    """The smallest cost, known or by the best classical method."""
    target: float = 1e-8
    """Distance from the optimum at which the problem counts as solved."""


@dataclass(frozen=True)
class Entry:
    """A kind of problem: what makes its instances, and the budget of a search."""

    family: str
    name: str
    make: Callable[[int], Problem]
    """The instance of a seed; a function of a module, or a partial of one."""
    max_evals: int


@dataclass(frozen=True)
class Run:
    """The outcome of one search."""

    error: float
    """Cost of the best point above the optimum."""
    gap: float
    """The same, not cut off at the target: negative if the search beats the classical method."""
    hit: int | None
    """Evaluations to the target, if it was reached."""
    seconds: float
    curve: tuple[float, ...]
    """Error at the checkpoints."""


@dataclass(frozen=True)
class Row:
    """A method on a problem, over all seeds."""

    method: str
    place: float
    """Rank, 1 the best: by median error, seeds solved, evaluations; methods alike share theirs."""
    median: float
    quartiles: tuple[float, float]
    solved: int
    evaluations: float | None
    """Median evaluations to the target of the seeds that reach it."""
    seconds: float
    """Median time of a search [s]."""
    gap: float
    """Median error, not cut off at the target."""
    beaten: int
    """Seeds on which it is better than the classical answer by more than rounding."""
    p: float | None
    """Holm-corrected p-value of the comparison with the best method; none for that one."""
    errors: tuple[float, ...]
    curve: tuple[float, ...]
    """Median error at the checkpoints."""


def standard(name: str, dim: int, seed: int) -> Problem:
    """Return a standard function as a problem."""
    fun = FUNCTIONS[name](dim, seed)
    return Problem(f"{name} {dim}-D", fun.lower, fun.upper, fun, fun.f_min)


def identification(name: str, seed: int) -> Problem:
    """Return an identification problem; 1 is what the classical method reaches."""
    problem = identification_problem(name, seed)
    return Problem(name, problem.lower, problem.upper, problem.fun, 1.0, WITHIN)


def leagues(dimensions: Sequence[int]) -> list[Entry]:
    """Return all kinds of problems of the league."""
    real = [
        Entry("identification", name, partial(identification, name), kind.max_evals)
        for name, kind in KINDS.items()
    ]
    return real + [
        Entry(
            "standard",
            f"{name} {dim}-D",
            partial(standard, name, dim),
            EVALUATIONS_PER_DIMENSION * dim,
        )
        for dim in dimensions
        for name in FUNCTIONS
    ]


def checkpoints(max_evals: int) -> np.ndarray:
    """Return the evaluations at which convergence is recorded."""
    return np.unique(np.geomspace(100, max_evals, CHECKPOINTS).round().astype(int))


def search(task: tuple[Entry, str, int]) -> Run:
    """Run one method on one instance."""
    entry, method, seed = task
    problem = entry.make(seed)
    began = time.perf_counter()
    result = minimize(
        problem.fun,
        problem.lower,
        problem.upper,
        method=method,
        max_evals=entry.max_evals,
        rng=np.random.default_rng(seed),
    )
    seconds = time.perf_counter() - began
    nfev, best = result.history.T
    errors = np.maximum(best - problem.optimum, problem.target)
    hits = np.flatnonzero(errors <= problem.target)
    at = np.searchsorted(nfev, checkpoints(entry.max_evals), side="right") - 1
    return Run(
        error=float(errors[-1]),
        gap=float(best[-1] - problem.optimum),
        seconds=seconds,
        hit=int(nfev[hits[0]]) if hits.size else None,
        curve=tuple(errors[np.maximum(at, 0)].tolist()),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for the number of comparisons, by Holm's step-down procedure."""
    order = np.argsort(p_values, kind="stable")
    count, corrected, least = len(p_values), np.empty(len(p_values)), 0.0
    for rank, k in enumerate(order):
        least = max(least, min(1.0, (count - rank) * p_values[k]))
        corrected[k] = least
    return corrected.tolist()


def signed_rank(errors: np.ndarray, best: np.ndarray) -> float:
    """Return the p-value of Wilcoxon's signed-rank test on the logarithms of paired errors."""
    difference = np.log(errors) - np.log(best)
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, zero_method="zsplit").pvalue)


def table_of(runs: dict[str, list[Run]]) -> list[Row]:
    """Return one row a method, the best first."""
    errors = {method: np.array([run.error for run in all_]) for method, all_ in runs.items()}
    hits = {m: [run.hit for run in all_ if run.hit is not None] for m, all_ in runs.items()}

    def merit(method: str) -> tuple[float, float, float]:
        evaluations = float(np.median(hits[method])) if hits[method] else np.inf
        return float(np.median(errors[method])), -len(hits[method]), evaluations

    ranking = sorted(runs, key=merit)
    merits = [merit(method) for method in ranking]
    places = rankdata([merits.index(m) for m in merits]).tolist()
    best, others = ranking[0], ranking[1:]
    p = dict(zip(others, holm([signed_rank(errors[m], errors[best]) for m in others]), strict=True))
    return [
        Row(
            method=method,
            place=place,
            median=float(np.median(errors[method])),
            quartiles=tuple(np.quantile(errors[method], [0.25, 0.75]).tolist()),
            solved=len(hits[method]),
            evaluations=float(np.median(hits[method])) if hits[method] else None,
            seconds=float(np.median([run.seconds for run in runs[method]])),
            gap=float(np.median([run.gap for run in runs[method]])),
            beaten=sum(run.gap < -ROUNDING for run in runs[method]),
            p=p.get(method),
            errors=tuple(errors[method].tolist()),
            curve=tuple(np.median([run.curve for run in runs[method]], axis=0).tolist()),
        )
        for method, place in zip(ranking, places, strict=True)
    ]


def show(name: str, rows: Sequence[Row], seeds: int) -> None:
    """Print the table of one problem."""
    print(f"\n{name}")
    print(f"{'method':20} {'median':>8} {'q1':>8} {'q3':>8} {'solved':>7} {'evals':>7} {'p':>8}")
    for row in rows:
        evaluations = "-" if row.evaluations is None else f"{row.evaluations:.0f}"
        p = "best" if row.p is None else f"{row.p:.1e}" if row.p < SIGNIFICANCE else "n.s."
        q1, q3 = row.quartiles
        print(
            f"{row.method:20} {row.median:8.1e} {q1:8.1e} {q3:8.1e} {row.solved:4d}/{seeds:<2d} "
            f"{evaluations:>7} {p:>8}"
        )


def overview(tables: dict[str, list[Row]], seeds: int) -> list[tuple[str, float, float]]:
    """Return every method with its mean place and the share of searches that solve, best first."""
    of_method: dict[str, list[Row]] = {}
    for row in (row for rows in tables.values() for row in rows):
        of_method.setdefault(row.method, []).append(row)
    found = [
        (
            method,
            float(np.mean([row.place for row in rows])),
            sum(row.solved for row in rows) / (seeds * len(rows)),
        )
        for method, rows in of_method.items()
    ]
    return sorted(found, key=lambda entry: entry[1])


def show_overview(tables: dict[str, list[Row]], seeds: int) -> None:
    """Print the mean place of every method and how often it solves a problem."""
    print(f"\nall {len(tables)} problems")
    print(f"{'method':20} {'mean place':>10} {'solved':>7}")
    for method, place, solved in overview(tables, seeds):
        print(f"{method:20} {place:10.1f} {solved:7.0%}")


def play(
    entries: Sequence[Entry], methods: Sequence[str], seeds: int, workers: int
) -> dict[str, list[Row]]:
    """Run every method on every problem and seed; return the table of every problem."""
    tasks = [(e, method, seed) for e in entries for method in methods for seed in range(seeds)]
    # Long and short searches are mixed, so that no process is left with the long ones.
    order = np.random.default_rng(0).permutation(len(tasks))

    def progress(share: float) -> None:
        if sys.stderr.isatty():
            print(f"\r{100.0 * share:5.1f} %", end="", file=sys.stderr)

    shuffled = map_tasks(search, [tasks[k] for k in order], workers, progress)
    runs = dict(zip(order.tolist(), shuffled, strict=True))
    tables, position = {}, 0
    for entry in entries:
        of_method = {}
        for method in methods:
            of_method[method] = [runs[position + seed] for seed in range(seeds)]
            position += seeds
        tables[entry.name] = table_of(of_method)
    return tables


def write(out: Path, entries: Sequence[Entry], tables: dict[str, list[Row]], seeds: int) -> None:
    """Write league.json and league.html."""
    problems = [
        {
            "family": entry.family,
            "name": entry.name,
            "max_evals": entry.max_evals,
            "checkpoints": checkpoints(entry.max_evals).tolist(),
            "rows": [asdict(row) for row in tables[entry.name]],
        }
        for entry in entries
    ]
    flags = {name: list(setting.flags) for name, setting in PUBLISHED_SETTINGS.items()}
    classical = {}
    for name in KINDS:
        answers = [identification_problem(name, seed) for seed in range(min(seeds, 5))]
        seconds = float(np.median([answer.seconds for answer in answers]))
        classical[name] = {"method": answers[0].classical, "seconds": seconds}
    content = {"seeds": seeds, "methods": OPTIMIZERS.describe(), "flags": flags}
    content |= {"classical": classical, "problems": problems}
    content["overview"] = overview(tables, seeds)
    write_json(out / "league.json", "league", 2, content)
    write_page(
        league_page(content, f"python bench/optimizers.py --seeds {seeds}"), out / "league.html"
    )


def main() -> None:
    """Play the league, print its tables, write league.json."""
    parser = argparse.ArgumentParser(description="Compare all optimizers on the same problems.")
    parser.add_argument("--quick", action="store_true", help="10 dimensions and 5 seeds")
    parser.add_argument("--seeds", type=int, help="searches a method and problem (30)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(), help="folder of league.json")
    arguments = parser.parse_args()
    seeds = arguments.seeds or (5 if arguments.quick else 30)
    out = make_folder(arguments.out)
    entries = leagues((10,) if arguments.quick else (10, 30))
    tables = play(entries, list(OPTIMIZERS), seeds, arguments.workers)
    for name, rows in tables.items():
        show(name, rows, seeds)
    show_overview(tables, seeds)
    write(out, entries, tables, seeds)


if __name__ == "__main__":
    main()
