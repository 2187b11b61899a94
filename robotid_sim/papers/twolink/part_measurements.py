"""What is measured for the claims on the parts of ELPIDSO, its stability, and a changed payload."""

from itertools import product
from typing import Any

import numpy as np

from robotid_sim.papers.columns import lower_end, measured_median, upper_end
from robotid_sim.papers.sheet import Measured, measured
from robotid_sim.papers.statistics import geometric_ratio, ratio_of_means
from robotid_sim.papers.twolink import model, stability
from robotid_sim.papers.twolink.campaign import ElpidsoResults
from robotid_sim.papers.twolink.tables import costs_of, diversity_of, payload_errors
from robotid_sim.papers.twolink.variants import VARIANTS

LATE = 30
"""Of forty points of a curve of diversity: where the last quarter begins."""


def part_measurements(results: ElpidsoResults) -> dict[str, Measured]:
    """Return what is measured, by claim."""
    return {
        **_parts(results),
        **_payload(results),
        "routh-hurwitz": _routh_hurwitz(),
        "routh-hurwitz-roots": _roots(),
    }


def _routh_hurwitz() -> Measured:
    """Return the largest growth a step of gains that fulfill eq. (17)-(18) with a weight."""
    tested = list(stability.all_gains())
    stable = [s for s in tested if s.routh_hurwitz]
    ours = max(s.radius for s in tested if s.gains == stability.GAINS[0])
    return measured(
        max(s.radius for s in stable),
        tested=len(stable),
        diverging=sum(s.radius >= 1.0 for s in stable),
        own=ours,
    )


def _roots() -> Measured:
    """Return how often eq. (17)-(18) and the roots of eq. (16) disagree."""
    cases = product(stability.GAINS, stability.WEIGHTS, stability.PULLS)
    return measured(
        sum(
            stability.routh_hurwitz(*case) != (stability.largest_real_part(*case) < 0.0)
            for case in cases
        )
    )


def _parts(results: ElpidsoResults) -> dict[str, Measured]:
    """Return what the parts of ELPIDSO do to its cost, and to the diversity of the swarm."""
    ours = costs_of(results, "ELPIDSO")
    spread = {variant: diversity_of(results, variant) for variant in VARIANTS}

    def cost(variant: str) -> Measured:
        ratio, interval = geometric_ratio(ours, costs_of(results, variant))
        return measured(ratio, interval, **sizes)

    def diversity(variant: str, other: str, **facts: Any) -> Measured:
        ratio = ratio_of_means(spread[variant], spread[other])
        guess = float(spread["random search"].mean() / spread[other].mean())
        return measured(*ratio, **facts, guess=guess, evaluations=sizes["evaluations"])

    drawn, drawn_spso = "drawn velocities", "SPSO, drawn velocities"
    sizes = {
        "evaluations": results.variants.runs("ELPIDSO", model.FITTED[0])[0]["evaluations"],
        "searches": ours.size,
    }
    end = np.mean(
        [
            results.variants.values("ELPIDSO", "diversity", rho)[:, LATE:].mean()
            / results.variants.values("SPSO", "diversity", rho)[:, LATE:].mean()
            for rho in model.FITTED
        ]
    )
    moved, ends = geometric_ratio(costs_of(results, drawn), ours)
    return {
        "els-helps": cost("without ELS"),
        "mutation-helps": cost("without mutation"),
        "initial-velocities": measured(
            *geometric_ratio(costs_of(results, drawn), costs_of(results, drawn_spso)),
            guess=geometric_ratio(
                costs_of(results, "random search"), costs_of(results, drawn_spso)
            )[0],
            moved=moved,
            low=lower_end(moved, ends),
            high=upper_end(moved, ends),
            **sizes,
        ),
        "diversity-from-rest": diversity("ELPIDSO", "SPSO", end=float(end)),
        "diversity-drawn-velocities": diversity(drawn, drawn_spso),
        "diversity-by-pid": diversity("ELPIDSO", "without I, D"),
        "diversity-by-els": diversity("ELPIDSO", "without ELS"),
    }


def _payload(results: ElpidsoResults) -> dict[str, Measured]:
    names = {"1 kg": "payload", "1 kg, 0.3 m below": "payload-offset"}
    measurements = {}
    for load, name in names.items():
        errors = {m: 100.0 * e for m, e in payload_errors(results, load).items()}
        measurements[name] = measured_median(
            errors["ELPIDSO"],
            before=float(errors["before"][0]),
            ls=float(errors["LS"][0]),
            evaluations=results.loaded.runs("ELPIDSO", load)[0]["evaluations"],
            runs=errors["ELPIDSO"].size,
        )
    return measurements
