"""Tang, Yan, An, Wang, Zhang (2023): WLS-RWPSO on the ROCR6."""

from typing import Any, ClassVar

from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.rocr6 import figures, tables
from robotid_sim.papers.rocr6.campaign import THREE, RwpsoResults, run_campaign
from robotid_sim.papers.rocr6.control import TRACKED
from robotid_sim.papers.rocr6.measurements import STABLE, measurements


class Rocr6WlsRwpso(Paper):
    """Weighted least squares and a swarm with random inertia around it, on six joints."""

    name: ClassVar[str] = "rocr6-wlsrwpso"

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run what is not finished, and return tables, figures and claims."""
        results = run_campaign(lab)
        shown = figures.all_charts(results), tables.all_tables(results)
        return self.reproduction(lab, measurements(results), _facts(results), *shown)


def _facts(results: RwpsoResults) -> dict[str, Any]:
    """Return what fills the texts of the page."""
    designs = results.designs
    nominal = results.tracking_errors("nominal").mean()
    return {
        "tracking": results.tracking_errors("WLS-RWPSO").mean() / nominal,
        "tracking_wls": results.tracking_errors("WLS").mean() / nominal,
        "fast": results.grid.median("WLS-RWPSO", "generations", THREE),
        "slow": results.grid.median("WLS-PSO", "generations", THREE),
        "gain": results.gains("WLS-PSO", "unseen_rms", THREE).mean(),
        "behind": -results.gains("WLS", "unseen_rms", THREE).mean(),
        "closer": abs(results.above(STABLE, "WLS")),
        "worse": int((results.gains("WLS").mean(axis=0) < 0.0).sum()),
        "three": designs[3]["condition"],
        "six": designs[6]["condition"],
        "best_draw": designs[6]["condition_of_best_draw"],
        "runs": len(results.cell),
        "search_runs": len(results.deviations),
        "draws": len(results.weight_errors("WLS")),
        "tracked": TRACKED,
    }
