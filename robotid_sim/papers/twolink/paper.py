"""Yan, Lu, Levy (2015): ELPIDSO on the two-link arm."""

from typing import Any, ClassVar

import numpy as np

from robotid_sim.papers.paper import Lab, Paper, Reproduction
from robotid_sim.papers.twolink import campaign, figures, model, tables
from robotid_sim.papers.twolink.campaign import SEARCHES, ElpidsoResults, run_campaign
from robotid_sim.papers.twolink.measurements import measurements


class TwoLinkElpidso(Paper):
    """LS, GA, SPSO and ELPIDSO estimate four parameters of an arm driven by torques."""

    name: ClassVar[str] = "twolink-elpidso"

    def reproduce(self, lab: Lab) -> Reproduction:
        """Run what is not finished, and return tables, figures and claims."""
        results = run_campaign(lab)
        shown = figures.all_charts(results), tables.all_tables(results)
        values = measurements(results)
        means = values["elpidso-better-than-spso-means"]
        facts = {
            **_facts(results),
            "means": means.ours,
            "els": values["els-helps"].ours,
            "mutation": values["mutation-helps"].ours,
            **{name: means.facts[name] for name in ("stuck", "searches")},
        }
        return self.reproduction(lab, values, facts, *shown)


def _facts(results: ElpidsoResults) -> dict[str, Any]:
    """Return what fills the texts of the page."""
    exact, short = results.exact, results.short
    solutions = np.array([exact.criteria[rho].least_squares for rho in model.FITTED])
    costs = {method: short.median_excess(method) for method in SEARCHES}
    noise = figures.UNFAIR_NOISE
    unfair, fair = (
        100.0 * tables.errors_at(results, noise, method).mean() for method in ("LS", "ELPIDSO")
    )
    return {
        **{method.lower(): exact.median_error(method).max() for method in SEARCHES},
        "ls": np.abs(solutions - model.TRUE).max(),
        "better": int((costs["ELPIDSO"] < costs["SPSO"]).sum()),
        "last": int((costs["SPSO"] < costs["GA"]).sum()),
        "short": short.evaluations,
        "long": exact.evaluations,
        "runs": results.runs,
        "variant_evaluations": results.variants.runs("ELPIDSO", model.FITTED[0])[0]["evaluations"],
        "load_rho": campaign.LOAD_RHO,
        "noise": noise,
        "unfair": unfair,
        "fair": fair,
    }
