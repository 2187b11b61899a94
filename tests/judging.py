"""Claims of a paper, judged as with enough runs."""

from collections.abc import Mapping

from robotid_sim.papers import find_paper
from robotid_sim.papers.claims import Claim, MeasuredValue, judge
from robotid_sim.papers.trial_table import TrialTable

ALL_JUDGED = {"any": True, "full": True, "runs": True}
REPRODUCED, CONDITIONAL, FAILED = "reproduced", "conditional", "not-reproducible"
UNTESTED = "not-testable"


def judged_claims(paper: str, measurements: Mapping[str, MeasuredValue]) -> dict[str, Claim]:
    """Return the claims by name."""
    claims = judge(find_paper(paper).sheet.claim, measurements, ALL_JUDGED)
    return {claim.name: claim for claim in claims}


def verdicts_of(paper: str, table: TrialTable) -> dict[str, str]:
    """Return the verdicts by claim."""
    claims = judged_claims(paper, find_paper(paper).measurements(table))
    return {name: claim.verdict for name, claim in claims.items()}


def printed_claims(paper: str, table: TrialTable, *names: str, **facts: object) -> dict[str, Claim]:
    """Judge some claims by a table that has no more than they need, and facts of the paper."""
    printed = {claim.name: claim for claim in find_paper(paper).sheet.claim}
    measurements = {name: printed[name].measure(table, facts) for name in names}
    return {name: printed[name].judge(value, judged=True) for name, value in measurements.items()}


def by_claim(expected: Mapping[str, str]) -> dict[str, str]:
    """Return verdicts by claim of texts that list the claims of a verdict."""
    return {name: verdict for verdict, names in expected.items() for name in names.split()}
