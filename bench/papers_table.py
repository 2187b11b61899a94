"""The table in ``docs/papers/index.md``: from the claims of full reproductions with named seeds.

    robotid reproduce all --seed 0 --out out/0        # and so on for other seeds
    python bench/papers_table.py out/0 out/1 --store  # also writes stored.json
    python bench/papers_table.py                      # from what is stored

The seed of a reproduction is the name of its folder. Where verdicts differ between seeds, the
table says so, with the share of every verdict.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from robotid_sim.papers import PAPERS
from robotid_sim.papers.claims import PrintedClaim
from robotid_sim.papers.stored import (
    STORED_FILE,
    StoredClaim,
    StoredRuns,
    load_stored_runs,
    load_stored_verdicts,
    value_over_seeds,
)

KEPT = ("ours", "verdict", "outcome")
HEADLINES: dict[str, tuple[str, ...]] = {
    "twolink-elpidso": (
        "elpidso-better-than-spso", "spso-better-than-ga", "elpidso-better-than-ls",
        "ls-worst-1e-6-rad",
    ),
    "irb120-mupso": (
        "condition-number-minimum", "condition-number-mean", "mupso-best-of-six", "identifiability",
    ),
    "rs010n-sedsabso": (
        "theoretical-values", "order-without-clamp", "order-with-clamp", "faster-than-bso",
        "mean-error",
    ),
    "rocr6-wlsrwpso": (
        "generations-rwpso", "generations-pso", "unseen-gain", "better-than-wls",
    ),
    "irb140-qpso": (
        "qpso-beats-pso-mape-com", "equal-clamps-mape-com", "torque-closest-nominal",
        "torque-smoother-nominal", "tracking-error-nominal", "arms-energy-higher-nominal",
        "parameters-visible",
    ),
}  # fmt: skip
"""Claims that the table shows; the pages have all of them."""


def read_runs(folders: Iterable[Path]) -> StoredRuns:
    """Return the claims of reproductions by seed and paper."""
    runs: dict[str, dict[str, dict[str, StoredClaim]]] = {}
    for folder in folders:
        files = {name: folder / name / "claims.json" for name in PAPERS}
        runs[folder.name] = {
            name: {
                claim["name"]: {key: claim[key] for key in KEPT}
                for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
            }
            for name, path in files.items()
        }
    return runs


def printed(paper: str, name: str) -> PrintedClaim:
    """Return a claim as the paper's file has it."""
    return next(claim for claim in PAPERS[paper].sheet.claim if claim.name == name)


def table(runs: StoredRuns) -> str:
    """Return the table as Markdown."""
    lines = ["| paper | claim | published | ours | verdict |", "|---|---|---|---|---|"]
    for paper, names in HEADLINES.items():
        verdicts = load_stored_verdicts(paper, runs)
        for name in names:
            claim = printed(paper, name)
            ours = value_over_seeds([run[paper][name]["ours"] for run in runs.values()], claim.unit)
            cells = claim.claim.strip(), value_over_seeds([claim.published], claim.unit), ours
            lines.append(f"| `{paper}` | {' | '.join(cells)} | {verdicts[name]} |")
    return "\n".join(lines)


def counts(runs: StoredRuns) -> str:
    """Return how many claims have which verdict, in a sentence."""
    verdicts = Counter(
        verdict.partition(":")[0]
        for paper in PAPERS
        for name, verdict in load_stored_verdicts(paper, runs).items()
        if printed(paper, name).kind == "claim"
    )
    listed = ", ".join(f"{count} {name}" for name, count in verdicts.most_common())
    what = f"full runs with seed{'s' * (len(runs) > 1)} {', '.join(runs)}"
    return f"Of {verdicts.total()} claims, {what}: {listed}."


def main() -> None:
    """Print the table, from folders or from what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="outputs of `robotid reproduce all`")
    parser.add_argument("--store", action="store_true", help=f"write {STORED_FILE.name}")
    options = parser.parse_args()
    runs = read_runs(options.folders) if options.folders else load_stored_runs()
    if options.store:
        STORED_FILE.write_text(
            json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    print(f"{counts(runs)}\n\n{table(runs)}")


if __name__ == "__main__":
    main()
