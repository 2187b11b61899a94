"""Kou, Guo, Ren (2022): identification of an RS010N by an annealed beetle swarm."""

from collections.abc import Mapping
from itertools import product
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import load_published_parameters
from robotid_sim.optim.bso import AnnealedBeetleSwarm
from robotid_sim.optim.minimize import load_setting
from robotid_sim.papers.paper import PlannedTrial, ReproductionSetup, TrialPaper
from robotid_sim.papers.rs010n import engine, model
from robotid_sim.papers.tables import settings_rows
from robotid_sim.papers.trial_table import ResultRow, TrialKey, TrialTable
from robotid_sim.section import percent
from robotid_sim.threads import one_blas_thread

BOX_WIDTHS = (1.0, 0.3, 0.1)
"""Half widths of the box of the genetic algorithm with the printed penalty."""
POPULATION_SIZE = 50
"""Population of the genetic algorithm."""
ITERATIONS, FIXED_POPULATION = 600, 50
"""Published iterations, and the population of the methods without a schedule."""
GUESS_COUNT = 20_000
"""Random points of a box, as a baseline without a search."""
CURVE_SAMPLES = 400
"""Samples of a curve over time."""
DIRECT_METHODS = ("least squares", "weighted least squares")
STAGNATION_RATIO = 2.0
"""Fitness over the median of all runs above which a run has stagnated."""
ROUNDING_TOLERANCE = 1e-10
"""Parameters below this are zero, in SI units."""


class AnnealedBeetlePaper(TrialPaper):
    """Identification of an RS010N by an annealed beetle swarm, 2022."""

    name: ClassVar[str] = engine.PAPER_NAME

    def run(self, lab: ReproductionSetup) -> TrialTable:
        """Find the excitation, run the searches and the engine; see `Paper`."""
        effort = {name: lab.choose(*sizes) for name, sizes in model.SETTINGS["effort"].items()}
        generations, runs, cells = effort["generations"], effort["genetic_runs"], []
        draws = {"few": effort["draws"], "many": runs * POPULATION_SIZE * generations}
        for name, count in draws.items():
            cells.append(
                lab.plan_trial(("excitation", "", name), engine.random_excitation, draws=count)
            )
        size = {"population": POPULATION_SIZE, "generations": generations}
        for columns in model.CRITERIA_OF_PAPER:
            key, genetic = ("excitation", "", columns), engine.genetic_excitation
            cells += lab.plan_trials(key, genetic, runs, columns=columns, **size)
        size["generations"] = effort["penalty_generations"]
        for width in BOX_WIDTHS:
            key = ("penalty", "", f"± {width:g}")
            cells += lab.plan_trials(key, engine.search_penalized_excitation, width=width, **size)
        table = lab.tabulate("excitation", cells)
        best = table.best("excitation", "unit", "unit")
        results = lab.tabulate("identification", _plan_searches(lab, best["x"]))
        with one_blas_thread():  # the bits of least squares depend on the number of threads
            return table | results | add_computed(table | results, best)


def _plan_searches(lab: ReproductionSetup, x: list[float]) -> list[PlannedTrial]:
    """Plan all trials along the best excitation x.

    The additional runs of SEDSABSO and BSO with clamped velocities continue the numbers of the
    table; their study also has SEDSABSO without single parts.
    """
    effort = model.SETTINGS["effort"]
    runs, count = lab.runs_of(*effort["runs"]), lab.choose(*effort["batch_runs"])
    more = runs if lab.quick or lab.runs else effort["more_runs"][0]
    parts = 2 if lab.quick else min(runs, effort["ablation_runs"][0])
    batches = lab.choose(*effort["batches"])
    cells = [
        lab.plan_trial(("engine", "", ""), engine.identification, runs=runs, x=x),
        *lab.plan_trials(("compensation", "", ""), engine.compensation, batches, count=count, x=x),
    ]

    def search(study: str, case: str, row: str, runs: int, method: str, variant: str) -> None:
        options = {"method": method, "variant": variant, "x": x}
        cells.extend(lab.plan_trials((study, case, row), engine.search, runs, **options))

    for v, m in product(engine.VARIANTS, engine.METHODS):
        search("search", v, m, runs, m, v)
    for m in ("SEDSABSO", "BSO"):
        search("beetles", "", m, more, m, engine.CLAMPED)
    for part in engine.ABLATIONS:
        search("beetles", "", part, parts, engine.ABLATION, part)
    return cells


def add_computed(table: TrialTable, best: ResultRow) -> TrialTable:
    """Compute the rows that need no run, from the data of searches along the best excitation."""
    fitness, truth = engine.make_noise_free_fitness(np.array(best["x"])), model.theoretical()
    least = np.linalg.lstsq(fitness.W, fitness.y, rcond=None)[0]
    estimates = {
        f"{m}, ours": table.best("search", m, "fitness", engine.FREE)["beta"]
        for m in model.PRINTED_METHODS
    }
    table_5 = {
        "row": [str(k) for k in range(1, truth.size + 1)],
        **model.TABLE_5,
        "computed": truth.tolist(),
        "least squares": np.where(np.abs(least) > ROUNDING_TOLERANCE, least, 0.0).tolist(),
        **estimates,
    }
    rows: dict[TrialKey, ResultRow] = {("table 5", "", ""): table_5}
    for name, *limits in model.SETTINGS["table_3"]:
        rows["limits", "", name] = {"limits": limits}
    use = [percent(best["limit_use"]), "", ""]
    rows["limits", "", "largest use by our excitation"] = {"limits": use}
    for name, beta in {"L1 optimum (LP)": fitness.minimum(), "least squares": least}.items():
        # Further digits are rounding.
        costs = {"fitness": fitness(beta[None])[0], "mean_error": np.abs(beta - truth).mean()}
        rows["exact", "", name] = {key: float(f"{value:.1g}") for key, value in costs.items()}
    populations = {"BSO": np.full(ITERATIONS, FIXED_POPULATION)}
    for form in ("literal", "corrected"):
        swarm = load_setting(engine.METHODS["SEDSABSO"]["setting"]).build(form=form)
        assert isinstance(swarm, AnnealedBeetleSwarm)
        populations = {form: swarm.population_sizes(ITERATIONS), **populations}
    for form, sizes in populations.items():
        total = int(sizes.sum())
        counts = {"sizes": sizes.tolist(), "total": total, "mean": total / ITERATIONS}
        rows["population", "", form] = counts
    q, dq, ddq = model.motion(np.array(best["x"]), CURVE_SAMPLES)
    q = q + np.array([0.0, model.Q2_OFFSET, 0.0])
    motion = {"position": q, "velocity": dq, "acceleration": ddq}
    degrees = {name: np.degrees(part).T for name, part in motion.items()}
    rows["motion", "", ""] = {
        "t": model.PERIOD * np.arange(CURVE_SAMPLES) / CURVE_SAMPLES,
        **degrees,
    }
    columns = judge_printed_columns(fitness)
    return (
        TrialTable.from_results(rows.items())
        | TrialTable.from_printed({"table_5": columns, **model.SETTINGS["printed"]})
        | settings_rows({m: engine.METHODS[m]["setting"] for m in model.PRINTED_METHODS})
        | TrialTable.from_computed(
            least_squares=float(np.abs(least - truth).max()),
            limit_use=best["limit_use"],
            si=best["SI"],
            **_compute_print_facts(columns),
            **_compute_run_facts(table),
        )
    )


def _compute_print_facts(columns: Mapping[str, ResultRow]) -> ResultRow:
    """Compute facts of the printed values and the robot, and the errors of random guesses."""
    base, truth, impossible = model.base(), model.theoretical(), impossible_links()
    indefinite = [name for name, column in columns.items() if column["least_inertia"] <= 0.0]
    rng, half = np.random.default_rng(0), engine.VARIANTS[engine.FREE]["half_width"]
    middle = half * rng.uniform(-0.5, 0.5, (GUESS_COUNT, truth.size))
    guess = np.abs(middle + rng.uniform(-half, half, middle.shape))
    stated = model.SETTINGS["printed"]["table_4"]["SEDSABSO"]["fitness"]
    return {
        "rank": base.rank,
        "considered": base.considered.size,
        "inertial": base.inertial_rank,
        "friction": base.rank - base.inertial_rank,
        "difference": float(np.abs(truth - model.read_printed_column("theoretical")).max()),
        "impossible": len(impossible),
        "links": "; ".join(impossible),
        "indefinite": ", ".join(indefinite) or "none",
        "guess": float(guess.mean()),
        "largest_guess": float(guess.max(axis=1).mean()),
        "width": half,
        "motion_samples": model.SAMPLE_COUNT,
        "enough_samples": model.SAMPLE_COUNT * stated / columns["SEDSABSO"]["fitness"],
    }


def _compute_run_facts(table: TrialTable) -> ResultRow:
    """Compute facts of the runs that are no single statistic."""
    boxes = {name: table.runs("penalty", name)[0] for name in table.methods("penalty")}
    shown = (
        f"{name}: {run['unit']:.3g} with {100.0 * run['limit_use']:.0f} % of a limit"
        for name, run in boxes.items()
    )
    feasible = [run["unit"] for run in boxes.values() if run["feasible"] == "yes"]
    beetles = {name: table.values("beetles", name, "fitness") for name in ("SEDSABSO", "BSO")}
    stagnated = STAGNATION_RATIO * float(np.median(list(beetles.values())))
    costs = {name: table.values("compensation", name, "fitness") for name in DIRECT_METHODS}
    results = [table.values("compensation", name, "fitness") for name in model.PRINTED_METHODS]
    below = np.array(results) < np.minimum(*costs.values())
    return {
        "penalties": "; ".join(shown),
        "best_penalized": f"{min(feasible):.3g}" if feasible else "none",
        "still": int((beetles["SEDSABSO"] > stagnated).sum()),
        "still_bso": int((beetles["BSO"] > stagnated).sum()),
        "below": int(below.all(axis=0).sum()),
    }


def judge_printed_columns(fitness: AbsoluteFitness) -> Mapping[str, ResultRow]:
    """Judge the columns of Table 5: errors, fitness to simulated data, physical consistency.

    The least eigenvalue of the mass matrix is over random poses [kg m^2]; the second moment of link
    3 along z is (L3xx + L3yy - L3zz) / 2 [kg m^2], which is never negative for a rigid body.
    """
    names, labels = ("theoretical", *model.PRINTED_METHODS), model.TABLE_5["label"]
    estimates = np.array([model.read_printed_column(name) for name in names])
    errors = np.abs(estimates[1:] - estimates[0])
    columns: dict[str, dict[str, float]] = {}
    for name, beta, cost in zip(names, estimates, fitness(estimates), strict=True):
        difference, yy = (beta[labels.index(label)] for label in ("L3xx - L3zz", "L3yy"))
        second_moment = float(0.5 * (difference + yy))
        columns[name] = {"fitness": float(cost), "second_moment": second_moment}
        columns[name]["least_inertia"] = least_inertia(beta)
    for k, name in enumerate(model.PRINTED_METHODS):
        best = int((np.argmin(errors, axis=0) == k).sum())
        mean, largest = float(errors[k].mean()), float(errors[k].max())
        columns[name] |= {"mean_error": mean, "largest_error": largest, "best_rows": best}
    return columns


def least_inertia(beta: Float1D) -> float:
    """Compute the smallest eigenvalue of the mass matrix with given base parameters [kg m^2].

    The mass matrix depends only on base parameters. Any parameter set with these gives it, even an
    inconsistent one.
    """
    arm = model.arm()
    phi = np.zeros_like(arm.parameters())
    inertial = model.frames() @ np.linalg.pinv(model.combinations()) @ beta[model.inertial_rows()]
    phi[: inertial.size] = inertial
    poses = random_states(arm)[0]
    matrices = mass_matrix(arm.with_parameters(phi, formal=True), poses)
    return float(np.linalg.eigvalsh(matrices)[:, 0].min())


def impossible_links() -> list[str]:
    """Name the physically inconsistent links of Table 2, with the reason."""
    phi = load_published_parameters("rs010n", "table-5").phi
    reasons = (inertia.inconsistency(phi[parameters.inertial_slice(k)]) for k in range(3))
    return [f"link {k + 1}: {reason}" for k, reason in enumerate(reasons) if reason]
