"""Reproduction of Kou, Guo, Ren (2022): identification by SEDSABSO on the RS010N."""

from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.optim.sedsabso import AnnealedBeetleSwarm
from robotid_sim.optim.settings import setting
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.rs010n import excitation, figures, model, tables
from robotid_sim.papers.rs010n.campaign import BeetleResults, run_campaign
from robotid_sim.papers.rs010n.measurements import DirectSolutions, measurements
from robotid_sim.papers.rs010n.published_sets import impossible_links, published_sets
from robotid_sim.papers.rs010n.trials import CLAMPED, FREE, PAPER, VARIANTS
from robotid_sim.section import Section


class AnnealedBeetlePaper(Paper):
    """Identification of an RS010N by an annealed beetle swarm, 2022."""

    name: ClassVar[str] = PAPER

    def reproduce(self, lab: Lab) -> Reproduction:
        """Find the excitation, run the searches and the engine; see `Paper`."""
        results = run_campaign(lab)
        with threadpool_limits(1):  # the bits of least squares depend on the number of threads
            exact = _exact(results)
            sections = _sections(results, exact)
            values = measurements(results, exact)
        return self.reproduction(lab, _finding(results, exact), values, sections)


def _exact(results: BeetleResults) -> DirectSolutions:
    motion = excitation.motion(np.array(results.excitation["x"]))
    W = model.regressor(*motion).reshape(-1, len(model.TABLE_5))
    fitness = AbsoluteFitness(W, W @ model.theoretical())
    least_squares = np.linalg.lstsq(W, fitness.y, rcond=None)[0]
    sets = published_sets()
    costs = fitness(np.array([column.beta for column in sets]))
    solutions = {"L1 optimum (LP)": fitness.minimum(), "least squares": least_squares}
    populations = {}
    for form in ("corrected", "literal"):
        optimizer = setting("kou-2022-sedsabso").build(form=form)
        assert isinstance(optimizer, AnnealedBeetleSwarm)
        populations[form] = optimizer.population_sizes(model.ITERATIONS).astype(float)
    return DirectSolutions(
        least_squares=least_squares,
        direct={
            name: (
                float(fitness(beta[None])[0]),
                float(np.abs(beta - model.theoretical()).mean()),
            )
            for name, beta in solutions.items()
        },
        populations=populations,
        sets=sets,
        costs={column.name: float(cost) for column, cost in zip(sets, costs, strict=True)},
        impossible=impossible_links(),
    )


def _finding(results: BeetleResults, exact: DirectSolutions) -> str:
    free = {method: results.fitness(FREE, method).mean() for method in model.PRINTED}
    clamped = {method: results.fitness(CLAMPED, method) for method in model.PRINTED}
    means, medians = (
        ", ".join(f"{method} {average(values):.2g}" for method, values in clamped.items())
        for average in (np.mean, np.median)
    )
    total = exact.populations["corrected"].sum()
    worst = np.abs(model.theoretical() - model.printed()).max()
    return (
        f"The theoretical values of Table 5 follow from Table 2 to {worst:.1g}, once four labels "
        f"are corrected, and the {model.base().rank} base parameters are right. Links "
        "2 and 3 of Table 2 cannot exist. Without a clamp of velocities SEDSABSO ends at "
        f"{free['SEDSABSO']:.3g} N m on the mean, BSO at {free['BSO']:.3g} and LDWPSO at "
        f"{free['LDWPSO']:.3g}. With one the means are {means} N m, the medians {medians}, "
        "LDWPSO's with a third of the evaluations. The population sums to "
        f"{total:.0f} beetles with the sign of eq. (16) corrected. Least squares returns all "
        "parameters to rounding from the same data."
    )


def _sections(results: BeetleResults, exact: DirectSolutions) -> tuple[Section, ...]:
    return (
        Section(
            title="Base parameters",
            text="The least eigenvalue of the mass matrix is over random poses; a negative one, or "
            "a negative second moment, is of no robot. Fitness is on our excitation.",
            tables=(tables.labels(), tables.printed_estimates(exact.sets, exact.costs)),
            notes=tuple(exact.impossible),
        ),
        Section(
            title="Excitation",
            charts=(figures.trajectories(results),),
            tables=(tables.limits(results), tables.excitations(results)),
        ),
        Section(
            title="Population",
            charts=(figures.population(exact.populations),),
            tables=(tables.population(exact.populations), tables.settings()),
        ),
        Section(
            title="Identification",
            text="Fitness is the sum of absolute torque errors, eq. (17), over 200 samples and "
            "three joints. The last two rows need no search: without noise, weights change nothing."
            " Evaluations of beetles count whiskers and disturbances.",
            charts=(figures.fitness(results),),
            tables=(
                *(tables.table_4(results, variant, exact.direct) for variant in VARIANTS),
                tables.table_5(results, exact.least_squares),
                tables.errors(results),
            ),
        ),
        Section(
            title="In the engine",
            text="The robot of the catalog, not that of Table 5: another truth, with friction. "
            f"The largest deviation from the excitation is {results.engine['tracking']:.1e} rad.",
            tables=(tables.engine(results),),
        ),
    )
