"""Reproduction of Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from typing import ClassVar

from threadpoolctl import threadpool_limits

from robotid_sim.papers.irb120 import figures, model, tables
from robotid_sim.papers.irb120.campaign import Results, run_campaign, values
from robotid_sim.papers.irb120.identification import Identification, identify
from robotid_sim.papers.irb120.optimum import PublishedMotion, published_motions
from robotid_sim.papers.irb120.trials import PAPER
from robotid_sim.papers.irb120.verdicts import claims, standing
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.section import Section, Table
from robotid_sim.streams import named_stream

NOTES = (
    "The robot is not named. Its link lengths are those of an ABB IRB 120; with the offset "
    "θ2 = q2 - 90°, which Table 1 lacks, the flange at home is where the data sheet has it.",
    "Three of six joint ranges in Table 1 are misprinted; those of the data sheet are used. "
    "Velocity limits are the data sheet's (250°/s), acceleration limits are assumed (10 times as "
    "much per second); torque limits are left out.",
    "Eq. (45)-(48): the center of the path is not printed and is (0.35, 0, 0.45) m here; P is the "
    "quintic from 0 to 2π; the number of harmonics is 3, as the published vectors have three "
    "entries; a run takes 10 s. One table varies these: much depends on the center. The end "
    "conditions of eq. (48) are built into the coordinates: "
    "3 radii and 4 free Fourier coefficients, each within ± 1 in units of the largest circle that "
    "the limits allow (0.21 m).",
    "Eq. (44): the place of the weight y is not readable. y = 0, the condition number, gives the "
    "numbers of Table 3 a meaning; y = 1 is among the readings.",
    "The observation matrix has the 15 columns of the base parameters, of unit length. With 22 "
    "columns, as the paper has it, it would be singular.",
    "How the paper keeps the limits is not said. Here every point of the search stands for the "
    "largest motion toward it that keeps them (scaling); the table with limits by penalty shows "
    "what depends on that. A penalty allows small violations, which its table tells.",
    "No velocity clamp is printed; 20 % of the box is used. With the inertia of 2.1 the swarm "
    "would leave the box at once without one.",
    "Eq. (6) is read with absolute values, and at q ≥ Q the swarm always mutates: a condition "
    "number never comes below the 1e-8 of eq. (7). The cost is the logarithm of the condition "
    "number, which orders points alike.",
    "Seeds are ours: every run has its own stream. Times are CPU times of this machine.",
    "Eq. (49)-(53) are read as kg, first moments in kg mm and inertia about the frame origins in "
    "kg mm²: with any other reading links 2 and 3 could not exist. Two entries lost in print are "
    "taken from Table 4.",
    "Torques without noise are computed from eq. (49)-(53) along the best motion of MuPSO, 100 "
    "samples a second; with noise of 1 % of their RMS for the second column of Table 4.",
)


class MutatingSwarmPaper(Paper):
    """Excitation of an IRB 120 by a mutating particle swarm, 2021."""

    name: ClassVar[str] = PAPER
    title: ClassVar[str] = "Excitation of an ABB IRB 120 by MuPSO"
    citation: ClassVar[str] = (
        "Umar, Shi, Khlil, Farouk (2021), Industrial Manipulator Dynamic Parameter Estimation "
        "Using Mutating Particle Swarm Optimization (MuPSO), Nigerian Journal of Technology 40(4), "
        "doi:10.4314/njt.v40i4.14"
    )
    summary: ClassVar[str] = (
        "Cartesian Fourier excitation by MuPSO against five methods, identification by LLS"
    )

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run the searches, identify along the best motion; see `Paper`."""
        found = run_campaign(lab)
        with threadpool_limits(1):  # the bits of QR depend on the number of threads
            rng = named_stream(lab.seed, PAPER, "noise")
            identified = identify(model.problem(), found.best, rng)
            motions = published_motions()
            sections = _sections(found, identified, motions)
            judged = claims(found, identified, motions, judged=lab.judged())
        return Reproduction(
            paper=self,
            finding=_finding(found, identified),
            claims=judged,
            sections=sections,
            files=tuple(_files(sections)),
            quick=lab.quick,
        )


def _finding(found: Results, identified: Identification) -> str:
    swarm, gradient = values(found.table_3["mupso"]), values(found.table_3["gradient"])
    three = values(found.rows_of("gradients"))
    spso = values(found.table_3["spso"])
    evaluations = values(found.table_3["gradient"], "evaluations").mean()
    budget = values(found.table_3["mupso"], "evaluations").mean()
    first = standing(found.table_3)
    best = "MuPSO" if first.ours < first.lowest else model.METHODS[first.first]
    alone = len(identified.basis.identifiable_alone)
    return (
        f"MuPSO ends at condition numbers of {swarm.min():.3g} at best and {swarm.mean():.3g} on "
        "the mean, against the printed 4.73 and 7.16, if the matrix has the 15 base columns, of "
        f"unit length. The lowest mean of the six methods is that of {best}"
        f"{', by chance' if first.tied else ''}; SPSO is at {spso.mean():.3g}. "
        f"Descent by exact gradients from the best of {found.effort.gradient_draws} random motions "
        f"arrives at {gradient.min():.3g} at best and {gradient.mean():.3g} on the mean, "
        f"with {evaluations:.0f} evaluations for {budget:.0f}; the best of three, which take as "
        f"many as a swarm, at {three.mean():.3g} on the mean. Least squares without noise returns "
        f"all 15 base parameters to rounding ({identified.exact_error:.0e}). That 20 parameters "
        f"are identifiable alone is not so: joint torques of three joints show {alone} alone and "
        f"{identified.basis.rank} in all."
    )


def _sections(
    found: Results, identified: Identification, motions: list[PublishedMotion]
) -> tuple[Section, ...]:
    effort = found.effort
    return (
        Section(title="Robot and settings", tables=(tables.limits(), tables.settings())),
        Section(
            title="Swarm size",
            text=f"The paper repeats 30 times; here {effort.study_runs} runs a size, for time.",
            charts=(figures.swarm_size(found),),
            tables=(tables.swarm_sizes(found),),
        ),
        Section(
            title="Excitation",
            text="Rows of the paper, then ours: random search with the same budget, and "
            "sequential quadratic programming with exact gradients from the best of "
            f"{effort.gradient_draws} random motions, whose evaluations of criterion and gradient "
            "are counted. The gradient is not bound to the box of the swarms, only to the limits. "
            "With limits by penalty the motions found are not feasible: the use of limits tells by "
            "how much.",
            charts=(
                figures.convergence(found),
                figures.cartesian_path(found),
                figures.joint_space(found),
            ),
            tables=(
                tables.table_3(found),
                tables.penalty(found),
                tables.readings(found),
                tables.unprinted(found),
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
        Section(title="What the paper does not say", notes=NOTES),
    )


def _files(sections: tuple[Section, ...]) -> list[tuple[str, Table]]:
    """Return the tables with the stems of their files."""
    stems = (
        "table-1-ranges",
        "table-2-settings",
        "figure-2-swarm-size",
        "table-3",
        "table-3-penalty",
        "readings",
        "unprinted",
        "published-optimum",
        "identifiability",
        "table-4-base",
        "table-4-printed",
    )
    found = [table for section in sections for table in section.tables]
    return list(zip(stems, found, strict=True))
