"""Reproduction of Kou, Guo, Ren (2022): identification by SEDSABSO on the RS010N."""

from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.optim.sedsabso import AnnealedBeetleSwarm
from robotid_sim.optim.settings import setting
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.rs010n import excitation, figures, model, tables
from robotid_sim.papers.rs010n.campaign import Results, run_campaign
from robotid_sim.papers.rs010n.published_sets import impossible_links, published_sets
from robotid_sim.papers.rs010n.trials import CLAMPED, FREE, PAPER, VARIANTS
from robotid_sim.papers.rs010n.verdicts import Exact, claims
from robotid_sim.section import Section, Table

NOTES = (
    "Table 1 is headed as modified Denavit-Hartenberg. Only standard parameters with alpha = (90°, "
    "0, 90°) and a = (0.35, 1.035, 0) m give eq. (3) and Table 5; these are used.",
    "Table 5: the labels of rows 1, 4, 6 and 9 do not give the printed values; the corrected ones "
    "stand beside them. First moments are the coordinates of Table 2 over 1000, as the values "
    "need; with mass times coordinate five rows would be others.",
    "Units of Table 3 are taken as degrees and seconds; that of Fv as N m s/rad.",
    "Excitation: 5 harmonics, 10 s and 200 samples are ours; every run starts and ends at rest. "
    "Eq. (6) has the wrong sign at the sine terms. The genetic algorithm is our own with its "
    "defaults; the paper names MATLAB's without settings. Limits are kept by scaling instead of "
    "the penalty of 1e8, so that every motion of the search is within Table 3.",
    "cond(W): of the columns of Table 5. The excitation with unit columns is used for all that "
    "follows.",
    "Torques are the theoretical ones of Table 5 without noise, from the analytic model; friction "
    "is Fc sign + Fv times velocity, both zero in the truth.",
    "Box of the search: the paper says small, and prints no size. Ours is ± 0.5 or ± 5 about a "
    "point that lies up to half that from the truth in every parameter, drawn anew for every run "
    "and the same for all methods. A box about the truth itself would give the answer away.",
    "No velocity clamp is printed. Without one points are clipped at the walls of the box and "
    "velocities grow freely; with one velocities end at 20 % of the box and at its walls.",
    "LDWPSO: inertia from 0.9 to 0.4, as usual; the paper prints none.",
    "Eq. (12), (14) and (16) are misprinted. Corrected: beetles go to the better whisker, the best "
    "point is disturbed to all sides by 5 % of the box, the population falls from 81 to 27. "
    "Literal: as printed. Which beetles go when the population falls is not said; here the worst.",
    "At T = 1e4 every disturbed point is accepted until T is near the differences of the fitness.",
    "The sum of eq. (17) is over all samples and joints here; the paper does not say over how many "
    "its 0.95 N m is.",
    f"The paper has 10 runs, here are {model.RUNS}. Times are CPU times of this machine. Seeds are "
    "ours: every run has its own stream.",
    "Engine: links 1 to 3 of the catalog's robot, the nearest bodies to Table 5 that can exist, "
    "with friction; driven by computed torque along the excitation; box of ± 0.5, clamped. There "
    "the box, not the data, bounds the errors of the swarms.",
)


class AnnealedBeetlePaper(Paper):
    """Identification of an RS010N by an annealed beetle swarm, 2022."""

    name: ClassVar[str] = PAPER
    title: ClassVar[str] = "Identification of a Kawasaki RS010N by SEDSABSO"
    citation: ClassVar[str] = (
        "Kou, Guo, Ren (2022), A New Method for Identifying Kinetic Parameters of Industrial "
        "Robots, Actuators 11(1), 2, doi:10.3390/act11010002"
    )
    summary: ClassVar[str] = (
        "Base parameters of three links with friction by SEDSABSO, BSO and LDWPSO from L1 errors"
    )

    def reproduce(self, lab: Lab) -> Reproduction:
        """Find the excitation, run the searches and the engine; see `Paper`."""
        found = run_campaign(lab)
        with threadpool_limits(1):  # the bits of least squares depend on the number of threads
            exact = _exact(found)
            sections = _sections(found, exact)
            judged = claims(found, exact, judged=lab.judged())
        return Reproduction(
            paper=self,
            finding=_finding(found, exact),
            claims=judged,
            sections=sections,
            files=tuple(_files(sections)),
            quick=lab.quick,
        )


def _exact(found: Results) -> Exact:
    motion = excitation.motion(np.array(found.excitation["x"]))
    W = model.regressor(*motion).reshape(-1, len(model.TABLE_5))
    fitness = AbsoluteFitness(W, W @ model.theoretical())
    least_squares = np.linalg.lstsq(W, fitness.y, rcond=None)[0]
    sets = published_sets()
    costs = fitness(np.array([one.beta for one in sets]))
    solutions = {"L1 optimum (LP)": fitness.minimum(), "least squares": least_squares}
    populations = {}
    for form in ("corrected", "literal"):
        optimizer = setting("kou-2022-sedsabso").build(form=form)
        assert isinstance(optimizer, AnnealedBeetleSwarm)
        populations[form] = optimizer.population_sizes(model.ITERATIONS).astype(float)
    return Exact(
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
        costs={one.name: float(cost) for one, cost in zip(sets, costs, strict=True)},
        impossible=impossible_links(),
    )


def _finding(found: Results, exact: Exact) -> str:
    free = {method: found.fitness(FREE, method).mean() for method in model.PRINTED}
    clamped = {method: found.fitness(CLAMPED, method) for method in model.PRINTED}
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


def _sections(found: Results, exact: Exact) -> tuple[Section, ...]:
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
            charts=(figures.trajectories(found),),
            tables=(tables.limits(found), tables.excitations(found)),
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
            charts=(figures.fitness(found),),
            tables=(
                *(tables.table_4(found, variant, exact.direct) for variant in VARIANTS),
                tables.table_5(found, exact.least_squares),
                tables.errors(found),
            ),
        ),
        Section(
            title="In the engine",
            text="The robot of the catalog, not that of Table 5: another truth, with friction. "
            f"The largest deviation from the excitation is {found.engine['tracking']:.1e} rad.",
            tables=(tables.engine(found),),
        ),
        Section(title="What the paper does not say", notes=NOTES),
    )


def _files(sections: tuple[Section, ...]) -> list[tuple[str, Table]]:
    """Return the tables with the stems of their files."""
    stems = (
        "table-5-theoretical",
        "table-5-printed-columns",
        "table-3-limits",
        "excitations",
        "figure-5-population",
        "settings",
        *(f"table-4-{variant.replace(',', '').replace(' ', '-')}" for variant in VARIANTS),
        "table-5",
        "table-5-errors",
        "engine",
    )
    found = [table for section in sections for table in section.tables]
    return list(zip(stems, found, strict=True))
