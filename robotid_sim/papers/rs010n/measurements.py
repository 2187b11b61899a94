"""What is measured for every claim of the paper."""

import numpy as np

from robotid_sim.papers.grid import Average
from robotid_sim.papers.rs010n import model
from robotid_sim.papers.rs010n.campaign import BeetleResults
from robotid_sim.papers.rs010n.direct import DirectSolutions
from robotid_sim.papers.rs010n.engine_claims import engine_measurements, fitness_level
from robotid_sim.papers.rs010n.excitation import SAMPLES
from robotid_sim.papers.rs010n.trials import CLAMPED, FREE, VARIANTS
from robotid_sim.papers.sheet import Measured, measured, measured_mean
from robotid_sim.papers.statistics import ratio_of_means

LEFT, GUESSES = 0.01, 20_000
"""Share of the gain that is left of a search that has converged; random points of a box."""
AVERAGES: tuple[Average, Average] = ("mean", "median")


def measurements(results: BeetleResults, exact: DirectSolutions) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    base = model.base()
    inertial = base.inertial_rank
    worst = float(np.abs(model.theoretical() - model.printed()).max())
    error = float(results.engine["exact_error"])
    return {
        "number-of-parameters": measured(
            float(base.rank),
            rank=base.rank,
            considered=base.considered.size,
            inertial=inertial,
            friction=base.rank - inertial,
        ),
        "theoretical-values": measured(worst),
        "bodies": _bodies(exact),
        **_excitation(results),
        "population": _population(exact),
        "order-without-clamp": _order_without_clamp(results),
        "order-with-clamp": _order_with_clamp(results),
        "fitness-of-table-5": _fitness_of_table_5(exact),
        "time": measured(results.grid.ratio("SEDSABSO", "LDWPSO", "seconds", CLAMPED)[0]),
        "faster-than-bso": measured(
            *results.grid.ratio("SEDSABSO", "BSO", "seconds", CLAMPED, paired=True)
        ),
        "converges-faster": _convergence(results),
        **_errors(results, exact),
        "order-of-errors": _order_of_errors(results),
        "fitness-sedsabso": fitness_level(results),
        **engine_measurements(results),
        "engine": measured(error),
    }


def _bodies(exact: DirectSolutions) -> Measured:
    indefinite = [column.name for column in exact.sets if column.least_inertia <= 0.0]
    return measured(
        float(len(exact.impossible)),
        links="; ".join(exact.impossible),
        negative=sum(column.second_moment < 0.0 for column in exact.sets),
        indefinite=", ".join(indefinite) or "none",
    )


def _excitation(results: BeetleResults) -> dict[str, Measured]:
    runs = (results.excitation, results.random, results.many)
    ours, few, many = (float(run["unit"]) for run in runs)
    use = float(results.excitation["limit_use"])
    return {
        "excitation": measured(ours, use=use, percent=100.0 * use, si=results.excitation["SI"]),
        "excitation-against-random": measured(
            ours / few,
            condition=ours,
            few=few,
            many=many,
            draws=results.random["draws"],
            many_draws=results.many["draws"],
            over_many=ours / many,
        ),
    }


def _population(exact: DirectSolutions) -> Measured:
    total = float(exact.populations["corrected"].sum())
    fixed = model.N_FIXED * model.ITERATIONS
    return measured(
        total / model.ITERATIONS,
        total=total,
        fixed=fixed,
        percent=100.0 * (total / fixed - 1.0),
        literal=exact.populations["literal"][-1],
    )


def _ratio(
    results: BeetleResults, variant: str, method: str, other: str, **facts: object
) -> Measured:
    """Return the mean fitness of a method over another's; in every run both have the same box."""
    value, interval = results.grid.ratio(method, other, "fitness", variant, paired=True)
    return measured(value, interval, **facts)


def averages_of_swarms(results: BeetleResults, variant: str, how: Average, digits: int) -> str:
    """Return mean or median fitness of the printed searches, in words."""
    values = {m: results.grid.average(how, m, "fitness", variant) for m in model.PRINTED}
    return ", ".join(f"{m} {value:.{digits}g}" for m, value in values.items())


def _order_without_clamp(results: BeetleResults) -> Measured:
    means = {method: results.fitness(FREE, method).mean() for method in model.PRINTED}
    other = min((m for m in means if m != "SEDSABSO"), key=means.__getitem__)
    literal = results.fitness(FREE, "SEDSABSO, literal").mean()
    return _ratio(
        results,
        FREE,
        "SEDSABSO",
        other,
        means=averages_of_swarms(results, FREE, "mean", 3),
        clamped=results.fitness(CLAMPED, "SEDSABSO").mean(),
        literal=literal,
        literal_bso=results.fitness(FREE, "BSO, literal").mean(),
    )


def _order_with_clamp(results: BeetleResults) -> Measured:
    averages = {how: averages_of_swarms(results, CLAMPED, how, 3) for how in AVERAGES}
    swarms = {"swarm": "LDWPSO", "beetles": "SEDSABSO"}
    budgets = {name: results.evaluations(CLAMPED, method) for name, method in swarms.items()}
    return _ratio(results, CLAMPED, "LDWPSO", "SEDSABSO", **averages, **budgets)


def _fitness_of_table_5(exact: DirectSolutions) -> Measured:
    costs = exact.costs
    printed = {method: row["fitness"] for method, row in model.TABLE_4.items()}
    ratio = costs["LDWPSO"] / costs["SEDSABSO"]
    printed_ratio = round(printed["LDWPSO"] / printed["SEDSABSO"], 3)
    return measured(
        ratio,
        off=abs(ratio / printed_ratio - 1.0),
        costs=", ".join(f"{method} {costs[method]:.3g}" for method in model.PRINTED),
        samples=SAMPLES,
        enough=SAMPLES * printed["SEDSABSO"] / costs["SEDSABSO"],
    )


def _convergence(results: BeetleResults) -> Measured:
    """Measure evaluations until a hundredth of the whole gain is left, medians of the runs."""

    def evaluations(method: str) -> float:
        needed = []
        for run in results.grid.runs(method, CLAMPED):
            costs = np.array(run["costs"])
            left = costs - costs[-1] <= LEFT * (costs[0] - costs[-1])
            needed.append(run["at"][int(left.argmax())])
        return float(np.median(needed))

    needed = {method: evaluations(method) for method in model.PRINTED}
    others = min(value for method, value in needed.items() if method != "SEDSABSO")
    shown = ", ".join(f"{method} {value:.0f}" for method, value in needed.items())
    return measured(needed["SEDSABSO"] / others, needed=shown)


def _guess() -> tuple[float, float]:
    """Return mean and largest parameter error of a random point of the box of a search."""
    rng, half = np.random.default_rng(0), VARIANTS[FREE].half_width
    middle = half * rng.uniform(-0.5, 0.5, (GUESSES, len(model.TABLE_5)))
    errors = np.abs(middle + rng.uniform(-half, half, middle.shape))
    return float(errors.mean()), float(errors.max(axis=1).mean())


def _order_of_errors(results: BeetleResults) -> Measured:
    means = {m: float(results.errors(CLAMPED, m).mean()) for m in model.PRINTED}
    free = {m: float(results.errors(FREE, m).mean()) for m in model.PRINTED}
    others = [value for method, value in means.items() if method != "SEDSABSO"]
    clamped, unclamped = (
        ", ".join(f"{m} {value:.2g}" for m, value in part.items()) for part in (means, free)
    )
    return measured(means["SEDSABSO"] / min(others), clamped=clamped, free=unclamped)


def _errors(results: BeetleResults, exact: DirectSolutions) -> dict[str, Measured]:
    free, clamped = (results.errors(variant, "SEDSABSO") for variant in (FREE, CLAMPED))
    printed = {column.name: column for column in exact.sets}
    means = (f"{name} {column.mean_error:.3g}" for name, column in printed.items())
    guessed_mean, guessed_largest = _guess()
    others = {m: results.errors(FREE, m) for m in ("BSO", "LDWPSO")}
    largest = {m: error.max(axis=1) for m, error in others.items()}
    exactly = float(np.abs(exact.least_squares - model.theoretical()).max())
    return {
        "mean-error": measured_mean(
            free.mean(axis=1),
            width=VARIANTS[FREE].half_width,
            clamped=clamped.mean(axis=1).mean(),
            guessed=guessed_mean,
            others=" and ".join(f"{error.mean():.3g}" for error in others.values()),
        ),
        "largest-error": measured_mean(
            free.max(axis=1), clamped=clamped.max(axis=1).mean(), guessed=guessed_largest
        ),
        "largest-errors": measured(
            *ratio_of_means(largest["LDWPSO"], free.max(axis=1), paired=True),
            bso=largest["BSO"].mean() / free.max(axis=1).mean(),
        ),
        "smallest-errors": measured(
            float(printed["SEDSABSO"].best_rows), means=", ".join(list(means)[1:])
        ),
        "least-squares": measured(exactly),
    }
