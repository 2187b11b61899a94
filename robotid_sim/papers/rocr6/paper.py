"""Tang, Yan, An, Wang, Zhang (2023): WLS-RWPSO on the ROCR6."""

from typing import ClassVar

from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.rocr6 import figures, tables
from robotid_sim.papers.rocr6.campaign import THREE, RwpsoResults, run_campaign
from robotid_sim.papers.rocr6.measurements import STABLE, measurements
from robotid_sim.section import Section


class Rocr6WlsRwpso(Paper):
    """Weighted least squares and a swarm with random inertia around it, on six joints."""

    name: ClassVar[str] = "rocr6-wlsrwpso"

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run what is not finished, and return tables, figures and claims."""
        results = run_campaign(lab)
        values = measurements(results)
        runs = (tables.all_runs(results),)
        return self.reproduction(lab, finding(results), values, sections(results), runs)


def finding(results: RwpsoResults) -> str:
    """Return what was found, in a paragraph."""
    fast, slow = (results.grid.median(f"WLS-{m}", "generations", THREE) for m in ("RWPSO", "PSO"))
    gain, behind = (
        float(results.gains(m, "unseen_rms", THREE).mean()) * sign
        for m, sign in (("WLS-PSO", 1), ("WLS", -1))
    )
    closer = results.above(STABLE, "WLS")
    measured = results.gains("WLS").mean(axis=0)
    return (
        f"RWPSO converges after {fast:g} generations and PSO with w = 1.3 after {slow:g} "
        "(paper: 20 and 83), with a velocity limit that the paper does not print and that is "
        f"chosen by these numbers. On unseen motion RWPSO's noise-free error is {gain:.0f} % below "
        f"that of the PSO, and {behind:.0f} % above that of plain weighted least squares, around "
        "which it searches. The gain is over a PSO that is unstable by its setting: with w = 0.7 "
        f"and c = 1.5 it ends within {abs(closer):.2g} % of WLS in training RMS. On six joints in "
        "the engine WLS-RWPSO's validation RMS is worse than that of WLS on "
        f"{int((measured < 0.0).sum())} of 6 joints. Table 2 has 15 + 6 parameters as the model "
        "must, but no body can have those of link 3."
    )


def sections(results: RwpsoResults) -> tuple[Section, ...]:
    """Return tables and figures in the order of the paper."""
    conditions = {n: design["condition"] for n, design in results.designs.items()}
    best = results.designs[6]["condition_of_best_draw"]
    return (
        Section(
            title="Model (Table 1, eq. (1)-(10))",
            text="Modified DH parameters as printed, and the numbers of base parameters.",
            tables=(tables.geometry(), tables.ranks(results)),
        ),
        Section(
            title="Excitation (Figure 5, eq. (21)-(24))",
            text=f"Condition number of the six-joint observation matrix: {conditions[6]:.1f} after "
            f"sequential quadratic programming, {best:.1f} for the best random series; "
            f"{conditions[3]:.1f} for joints 1 to 3.",
            charts=(figures.trajectories(results),),
        ),
        Section(
            title="Preprocessing (Figure 2)",
            text="Motor current times the torque constant, then the filters; the truth is known "
            "here, so that both can be judged.",
            charts=(figures.filtered_torque(results), figures.filter_errors(results)),
            tables=(tables.filters(results),),
        ),
        *_identification(results),
    )


def _identification(results: RwpsoResults) -> tuple[Section, ...]:
    """Return the sections of searches, parameters and torques."""
    return (
        Section(
            title="Search (Figure 4)",
            text="Joints 1 to 3 with the truth of Table 2, 200 particles, 200 generations. Least "
            "squares needs no evaluation; 'knows WLS' has the WLS estimate among its particles.",
            charts=(figures.fitness(results),),
            tables=(tables.searches(results),),
        ),
        Section(
            title="Parameters (Table 2)",
            text="The truth is what the paper prints, so that errors can be seen.",
            tables=(tables.parameters(results),),
        ),
        Section(
            title="Torques (Figure 6, Figure 8, Table 3)",
            text=f"Six joints in the engine, mean over {len(results.cell)} runs. LS, WLS and the "
            "consistent fit are not in the paper.",
            charts=(
                figures.torques(results, "excitation", 6),
                figures.torques(results, "verification", 8),
                figures.residuals(results),
            ),
            tables=(
                tables.residuals(results),
                tables.gains(results),
                tables.true_residuals(results),
                tables.six_joints(results),
            ),
        ),
    )
