"""Reproduction of Umar et al. (2021): excitation by MuPSO, identification by least squares."""

from typing import Any, ClassVar

from robotid_sim.papers.grid import values_of
from robotid_sim.papers.irb120 import figures, model, tables
from robotid_sim.papers.irb120.campaign import SINGLE, MupsoResults, run_campaign
from robotid_sim.papers.irb120.comparison import standing
from robotid_sim.papers.irb120.engine_claims import geometric_mean, rms_error
from robotid_sim.papers.irb120.identification import ExactIdentification, identify
from robotid_sim.papers.irb120.measurements import measurements
from robotid_sim.papers.irb120.trials import PAPER
from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.streams import named_stream
from robotid_sim.threads import one_blas_thread


class MutatingSwarmPaper(Paper):
    """Excitation of an IRB 120 by a mutating particle swarm, 2021."""

    name: ClassVar[str] = PAPER

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run the searches, identify along the best motion; see `Paper`."""
        results = run_campaign(lab)
        with one_blas_thread():  # the bits of QR depend on the number of threads
            rng = named_stream(lab.seed, PAPER, "noise")
            identified = identify(model.problem(), results.best, rng)
            motions = model.published_motions()
            return self.reproduction(
                lab,
                measurements(results, identified, motions),
                _facts(results, identified),
                figures.all_charts(results),
                tables.all_tables(results, identified, motions),
            )


def _facts(results: MupsoResults, identified: ExactIdentification) -> dict[str, Any]:
    """Return what fills the texts of the page."""
    swarm, spso, gradient = (results.conditions(m) for m in ("mupso", "spso", "gradient"))
    place = standing(results)
    return {
        "runs": results.effort.study_runs,
        "side_runs": results.effort.side_runs,
        "iterations": results.effort.iterations,
        "study_iterations": results.effort.study_iterations,
        "draws": results.effort.gradient_draws,
        "best": swarm.min(),
        "mean": swarm.mean(),
        "leader": f"{model.METHODS[place.leader]}{', by chance' if place.tied else ''}",
        "spso": spso.mean(),
        "gradient_best": gradient.min(),
        "gradient": gradient.mean(),
        "gradient_evaluations": results.grid.mean("gradient", "evaluations", "table-3"),
        "evaluations": results.grid.mean("mupso", "evaluations", "table-3"),
        "three": values_of(results.runs_of("gradients"), "condition").mean(),
        "exact_error": identified.exact_error,
        "alone": len(identified.basis.identifiable_alone),
        **{
            f"engine_{name}": geometric_mean(rms_error(results, kind, "relative"))
            for name, kind in (("error", "mupso"), ("random", "random"), ("single", SINGLE))
        },
        "driven": results.effort.engine_runs,
        "logs": len(results.grid.runs("mupso", "engine")[0]["relative"]),
        "rank": identified.basis.rank,
    }
