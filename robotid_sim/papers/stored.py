"""Stored full reproductions with several seeds, for README and overview."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict

from robotid_sim.papers.claims import Claim
from robotid_sim.section import number

STORED_FILE = Path(__file__).parents[2] / "docs/papers/stored.json"
"""File by ``python bench/papers_table.py FOLDER ... --store``; not in the installed package."""


class StoredClaim(TypedDict):
    """Stored result of a claim."""

    ours: float | str
    verdict: str
    outcome: str | None


StoredRuns = Mapping[str, Mapping[str, Mapping[str, StoredClaim]]]
"""Stored results by seed, paper and claim."""


@cache
def load_stored_runs() -> StoredRuns:
    """Load the stored runs; empty in the installed package."""
    if not STORED_FILE.exists():
        return {}
    runs: StoredRuns = json.loads(STORED_FILE.read_text(encoding="utf-8"))
    return runs


def verdict_over_seeds(verdicts: Iterable[str]) -> str:
    """Combine the verdicts on a claim over the seeds, with shares if they differ."""
    counts = Counter(verdicts)
    if len(counts) == 1:
        return next(iter(counts))
    shares = ", ".join(f"{name} {n} of {counts.total()}" for name, n in counts.most_common())
    return f"depends on the seed: {shares}"


def value_over_seeds(values: Sequence[float | str | None], unit: str) -> str:
    """Format a number, or its range over the seeds, with its unit."""
    numbers = [v for v in dict.fromkeys(values) if isinstance(v, int | float)]
    if len(numbers) < len(set(values)):
        return str(values[0] or "-")
    ends = list(dict.fromkeys(number(end, 3) for end in (min(numbers), max(numbers))))
    return " … ".join(ends) + (f" {unit}" if unit else "")


def load_stored_verdicts(paper: str, runs: StoredRuns | None = None) -> dict[str, str]:
    """Load the verdicts over the seeds by claim; empty for a paper that is not stored."""
    paper_runs = [run[paper] for run in (runs or load_stored_runs()).values() if paper in run]
    names = paper_runs[0] if paper_runs else ()
    return {name: verdict_over_seeds(run[name]["verdict"] for run in paper_runs) for name in names}


def find_differences(paper: str, claims: Sequence[Claim]) -> list[tuple[str, str, str, str]]:
    """List paper, claim, verdict and stored verdict of judged claims that differ."""
    stored = load_stored_verdicts(paper)
    return [
        (paper, claim.name, claim.verdict_text, stored[claim.name])
        for claim in claims
        if claim.judged and stored.get(claim.name, claim.verdict_text) != claim.verdict_text
    ]
