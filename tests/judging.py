"""Claims of a paper, judged as with enough runs."""

from collections.abc import Mapping

from robotid_sim.papers import find_paper
from robotid_sim.papers.claims import Claim, Measured, judge

ALL_JUDGED = {"any": True, "full": True, "runs": True}


def judged_claims(paper: str, measurements: Mapping[str, Measured]) -> dict[str, Claim]:
    """Return the claims by name."""
    claims = judge(find_paper(paper).sheet.claim, measurements, ALL_JUDGED)
    return {claim.name: claim for claim in claims}


def verdicts_of(paper: str, measurements: Mapping[str, Measured]) -> dict[str, str]:
    """Return the verdicts by claim."""
    return {name: claim.verdict for name, claim in judged_claims(paper, measurements).items()}
