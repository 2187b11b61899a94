"""Reproduction of Kou, Guo, Ren (2022): identification by SEDSABSO on the RS010N."""

from typing import Any, ClassVar

import numpy as np

from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.rs010n import figures, model, tables
from robotid_sim.papers.rs010n.campaign import PENALTY, BeetleResults, run_campaign
from robotid_sim.papers.rs010n.compensation import NOMINAL
from robotid_sim.papers.rs010n.direct import DirectSolutions, direct_solutions
from robotid_sim.papers.rs010n.engine_claims import WLS, of_batches
from robotid_sim.papers.rs010n.measurements import averages_of_swarms, measurements
from robotid_sim.papers.rs010n.trials import CLAMPED, FREE, PAPER
from robotid_sim.threads import one_blas_thread


class AnnealedBeetlePaper(Paper):
    """Identification of an RS010N by an annealed beetle swarm, 2022."""

    name: ClassVar[str] = PAPER

    def reproduce(self, lab: Lab) -> Reproduction:
        """Find the excitation, run the searches and the engine; see `Paper`."""
        results = run_campaign(lab)
        with one_blas_thread():  # the bits of least squares depend on the number of threads
            exact = direct_solutions(np.array(results.excitation["x"]))
            return self.reproduction(
                lab,
                measurements(results, exact),
                _facts(results, exact),
                figures.all_charts(results, exact.populations),
                tables.all_tables(results, exact),
            )


def _facts(results: BeetleResults, exact: DirectSolutions) -> dict[str, Any]:
    """Return what fills the texts of the page."""
    penalized = [runs[0] for runs in results.grid.case(PENALTY).values()]
    free = {f"free_{m.lower()}": results.fitness(FREE, m).mean() for m in model.PRINTED}
    return {
        **free,
        "runs": results.runs,
        **{
            f"left_{name}": of_batches(results, "true", parameters).mean()
            for name, parameters in (
                ("sedsabso", "SEDSABSO"),
                ("weighted", WLS),
                ("nominal", NOMINAL),
            )
        },
        "penalty_kept": sum(run["feasible"] for run in penalized),
        "penalty_boxes": len(penalized),
        "identified": sum(len(batch["runs"]) for batch in results.batches),
        "samples": results.engine["samples"],
        "means": averages_of_swarms(results, CLAMPED, "mean", 2),
        "medians": averages_of_swarms(results, CLAMPED, "median", 2),
        "worst": np.abs(model.theoretical() - model.printed()).max(),
        "rank": model.base().rank,
        "beetles": exact.populations["corrected"].sum(),
        "impossible": "; ".join(exact.impossible),
        "tracking": results.engine["tracking"],
    }
