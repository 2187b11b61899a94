"""Reproduction of Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from typing import ClassVar

from threadpoolctl import threadpool_limits

from robotid_sim.papers.grid import values_of
from robotid_sim.papers.irb120 import figures, model, tables
from robotid_sim.papers.irb120.campaign import MupsoResults, run_campaign
from robotid_sim.papers.irb120.identification import ExactIdentification, identify
from robotid_sim.papers.irb120.measurements import measurements, standing
from robotid_sim.papers.irb120.optimum import PublishedMotion, published_motions
from robotid_sim.papers.irb120.trials import PAPER
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.section import Section
from robotid_sim.streams import named_stream


class MutatingSwarmPaper(Paper):
    """Excitation of an IRB 120 by a mutating particle swarm, 2021."""

    name: ClassVar[str] = PAPER

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run the searches, identify along the best motion; see `Paper`."""
        results = run_campaign(lab)
        with threadpool_limits(1):  # the bits of QR depend on the number of threads
            rng = named_stream(lab.seed, PAPER, "noise")
            identified = identify(model.problem(), results.best, rng)
            motions = published_motions()
            sections = _sections(results, identified, motions)
            values = measurements(results, identified, motions)
        return self.reproduction(lab, _finding(results, identified), values, sections)


def _finding(results: MupsoResults, identified: ExactIdentification) -> str:
    swarm, spso, gradient = (results.conditions(m) for m in ("mupso", "spso", "gradient"))
    three = values_of(results.runs_of("gradients"), "condition")
    evaluations, budget = (
        results.grid.mean(m, "evaluations", "table-3") for m in ("gradient", "mupso")
    )
    place = standing(results)
    alone = len(identified.basis.identifiable_alone)
    return (
        f"MuPSO ends at condition numbers of {swarm.min():.3g} at best and {swarm.mean():.3g} on "
        "the mean, against the printed 4.73 and 7.16, if the matrix has the 15 base columns, of "
        "unit length. The lowest mean of the six methods is that of "
        f"{model.METHODS[place.leader]}{', by chance' if place.tied else ''}; SPSO is at "
        f"{spso.mean():.3g}. "
        f"Descent by exact gradients from the best of {results.effort.gradient_draws} random "
        f"motions arrives at {gradient.min():.3g} at best and {gradient.mean():.3g} on the mean, "
        f"with {evaluations:.0f} evaluations for {budget:.0f}; the best of three, which take as "
        f"many as a swarm, at {three.mean():.3g} on the mean. Least squares without noise returns "
        f"all 15 base parameters to rounding ({identified.exact_error:.0e}). That 20 parameters "
        f"are identifiable alone does not hold: joint torques of three joints show {alone} alone "
        f"and {identified.basis.rank} in all."
    )


def _sections(
    results: MupsoResults, identified: ExactIdentification, motions: list[PublishedMotion]
) -> tuple[Section, ...]:
    effort = results.effort
    return (
        Section(title="Robot and settings", tables=(tables.limits(), tables.settings())),
        Section(
            title="Swarm size",
            text=f"The paper repeats 30 times; here {effort.study_runs} runs a size, for time.",
            charts=(figures.swarm_size(results),),
            tables=(tables.swarm_sizes(results),),
        ),
        Section(
            title="Excitation",
            text="Rows of the paper, then ours: random search with the same budget, and "
            "sequential quadratic programming with exact gradients from the best of "
            f"{effort.gradient_draws} random motions, whose evaluations of criterion and gradient "
            "are counted. The gradient is not bound to the box of the swarms, only to the limits. "
            "With limits by penalty the resulting motions are not feasible: the table gives the "
            "use of limits.",
            charts=(
                figures.convergence(results),
                figures.cartesian_path(results),
                figures.joint_space(results),
            ),
            tables=(
                tables.table_3(results),
                tables.penalty(results),
                tables.readings(results),
                tables.unprinted(results),
                tables.published_motion(motions),
            ),
        ),
        Section(
            title="Identifiability",
            text="In the paper's frames, those of standard Denavit-Hartenberg. Rank and counts are "
            "computed from the regressor at 500 random states.",
            tables=(tables.identifiability(),),
        ),
        Section(
            title="Identification",
            tables=(tables.table_4_of_base(identified), tables.table_4_as_printed(identified)),
        ),
    )
