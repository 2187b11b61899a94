"""Tang, Yan, An, Wang, Zhang (2023): WLS-RWPSO on the ROCR6."""

from typing import ClassVar

import numpy as np

from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.rocr6 import figures, tables
from robotid_sim.papers.rocr6.campaign import Results, above, run_campaign
from robotid_sim.papers.rocr6.verdicts import claims
from robotid_sim.section import Section, Table

ASSUMPTIONS = (
    "The velocity limit of the swarms and the walls of the box are not printed. Here velocities "
    "reach 0.1 of the box's width and particles are put back on the wall. Of 0.05, 0.1 and 0.2 "
    "this limit gives the generations nearest to the printed ones: it is chosen by them.",
    "μ_min, μ_max and σ of eq. (15) are not printed: 0.5, 0.9 and 0.2. '+ rand' is read as a "
    "factor, or the weight would exceed 1 most of the time.",
    "Convergence is not defined: it is the generation at which 99 % of the improvement is done.",
    "The box is ±10 % of every parameter around its estimate, the start uniform in it; LS-PSO "
    "searches around LS with equal weights, the others around WLS.",
    "Joints 1 to 3: Table 2 is the truth, motion is exact, torques have noise of 0.35, 0.2 and "
    "0.35 N m, and the excitation is the best of 60 random series. The fitness is the RMS of all "
    "residuals.",
    "Six joints: the catalog's ROCR6 in the engine, whose inertia of joints 1 to 3 is the nearest "
    "possible one to Table 2 with the signs of mx2 and mx3 turned, and whose wrist comes from "
    "geometry. Its wrist has rotor inertia, so that 52 parameters are fitted instead of 48.",
    "Limits of position, velocity and torque are not printed: those of the catalog. The series "
    "starts and ends at rest. It is designed with a nominal model that is wrong by some 20 %.",
    "Noise of current and encoders is not printed: torque noise as the last column of Table 3, "
    "2e-5 rad at the encoders. The torque constant is taken as known.",
    "Q and R of the Kalman filter are not printed: one gain a joint, by likelihood, with the "
    "torque of the nominal model as input. Cut-off and order of the Butterworth filter are not "
    "printed: 10 Hz, order 4, forward and backward.",
    "The width of the smoothed sign of Coulomb friction is not printed: 0.03 rad/s.",
    "Eq. (11) is read with W_j in the residual and the inverse covariance as weight; eq. (32) as "
    "measured less predicted torque. Both are misprinted. I_yx2 of Table 2 is Iyz2.",
    "The paper shows one run; here means or medians over several.",
)


class Rocr6WlsRwpso(Paper):
    """Weighted least squares and a swarm with random inertia around it, on six joints."""

    name: ClassVar[str] = "rocr6-wlsrwpso"
    title: ClassVar[str] = "ROCR6: weighted least squares with a random-weight swarm"
    citation: ClassVar[str] = (
        "Tang, Yan, An, Wang, Zhang (2023), Dynamic Parameter Identification of Collaborative "
        "Robot Based on WLS-RWPSO Algorithm, Machines 11(2), 316, doi:10.3390/machines11020316"
    )
    summary: ClassVar[str] = (
        "six joints in the engine, motor currents, Kalman filter; LS-PSO, WLS-PSO, WLS-RWPSO"
    )

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run what is not finished, and return tables, figures and claims."""
        results = run_campaign(lab)
        return Reproduction(
            paper=self,
            finding=finding(results),
            claims=claims(results, judged=lab.judged()),
            sections=sections(results),
            files=files(results),
            quick=lab.quick,
        )


def finding(results: Results) -> str:
    """Return what was found, in a paragraph."""
    fast, slow = (np.median(results.of_search(f"WLS-{m}", "generations")) for m in ("RWPSO", "PSO"))
    gain, behind = (
        float(results.unseen_gains(m).mean()) * sign for m, sign in (("WLS-PSO", 1), ("WLS", -1))
    )
    sane = results.of_search("WLS-PSO, w = 0.7, c = 1.5", "fitness")
    closer = above(sane, results.of_search("WLS", "fitness"))
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


def sections(results: Results) -> tuple[Section, ...]:
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
        Section(title="What the paper does not say", notes=ASSUMPTIONS),
    )


def _identification(results: Results) -> tuple[Section, ...]:
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


def files(results: Results) -> tuple[tuple[str, Table], ...]:
    """Return what is written as CSV."""
    return (
        ("table-1", tables.geometry()),
        ("table-2", tables.parameters(results)),
        ("table-3", tables.residuals(results)),
        ("table-3-true", tables.true_residuals(results)),
        ("gains", tables.gains(results)),
        ("searches", tables.searches(results)),
        ("filters", tables.filters(results)),
        ("six-joints", tables.six_joints(results)),
        ("base-parameters", tables.ranks(results)),
        ("runs", tables.all_runs(results)),
    )
