"""README's table of the papers: from the claims of full reproductions with named seeds.

    robotid reproduce all --seed 0 --out out/0        # and so on for other seeds
    python bench/papers_table.py out/0 out/1 --store  # also writes bench/papers.json
    python bench/papers_table.py                      # from what is stored

The seed of a reproduction is the name of its folder. Where verdicts differ between seeds, the
table says so, with the share of every verdict.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from robotid_sim.papers import PAPERS
from robotid_sim.section import number

STORED = Path(__file__).with_name("papers.json")

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
        "torque-smoother-nominal", "tracking-error-nominal", "parameters-visible",
    ),
}  # fmt: skip
"""Claims that the README shows; the pages have all of them."""

Row = Mapping[str, Any]


def read_runs(folders: Iterable[Path]) -> dict[str, dict[str, list[Row]]]:
    """Return the claims of reproductions by seed and paper."""
    runs: dict[str, dict[str, list[Row]]] = {}
    for folder in folders:
        files = {name: folder / name / "claims.json" for name in PAPERS}
        runs[folder.name] = {
            name: [
                {key: claim[key] for key in ("name", "kind", "claim", "published", "ours", "unit",
                                             "verdict", "outcome")}
                for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
            ]
            for name, path in files.items()
        }  # fmt: skip
    return runs


def verdict(rows: list[Row]) -> str:
    """Return the verdict on a claim over the seeds."""
    counts = Counter(row["verdict"] for row in rows)
    if len(counts) == 1:
        return str(rows[0]["verdict"])
    shares = ", ".join(f"{name} {count} of {len(rows)}" for name, count in counts.most_common())
    return f"depends on the seed: {shares}"


def value(rows: list[Row], key: str) -> str:
    """Return a number, or its range over the seeds, with its unit."""
    values = list(dict.fromkeys(row[key] for row in rows))
    if any(not isinstance(v, int | float) for v in values):
        return str(values[0] or "-")
    ends = list(dict.fromkeys(number(end, 3) for end in (min(values), max(values))))
    return " … ".join(ends) + (f" {rows[0]['unit']}" if rows[0]["unit"] else "")


def table(runs: Mapping[str, Mapping[str, list[Row]]]) -> str:
    """Return the table as Markdown."""
    lines = ["| paper | claim | published | ours | verdict |", "|---|---|---|---|---|"]
    for paper, names in HEADLINES.items():
        for name in names:
            rows = [next(c for c in run[paper] if c["name"] == name) for run in runs.values()]
            cells = (rows[0]["claim"].strip(), value(rows, "published"), value(rows, "ours"))
            lines.append(f"| `{paper}` | {' | '.join(cells)} | {verdict(rows)} |")
    return "\n".join(lines)


def counts(runs: Mapping[str, Mapping[str, list[Row]]]) -> str:
    """Return how many claims have which verdict, in a sentence."""
    first = next(iter(runs.values()))
    verdicts: Counter[str] = Counter()
    for paper, claims in first.items():
        for k, claim in enumerate(claims):
            rows = [run[paper][k] for run in runs.values()]
            if claim["kind"] == "claim":
                verdicts[verdict(rows).partition(":")[0]] += 1
    listed = ", ".join(f"{count} {name}" for name, count in verdicts.most_common())
    seeds = ", ".join(runs)
    return f"Of {verdicts.total()} claims, full runs with seed {seeds}: {listed}."


def main() -> None:
    """Print the table, from folders or from what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="outputs of `robotid reproduce all`")
    parser.add_argument("--store", action="store_true", help="write bench/papers.json")
    options = parser.parse_args()
    stored = not options.folders
    runs = json.loads(STORED.read_text()) if stored else read_runs(options.folders)
    if options.store:
        STORED.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{counts(runs)}\n\n{table(runs)}")


if __name__ == "__main__":
    main()
