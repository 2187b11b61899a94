"""Put what the first command of all prints into ``docs/start.md`` and, in part, into README.

Run as ``python bench/readme_run.py``; tests compare.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = ["run", "irb140", "--out", "out"]


def put(page: Path, before: str, printed: str) -> None:
    """Replace the block of a page that follows some words."""
    pattern = re.compile(rf"({before}\n\n```\n).*?(\n```)", re.DOTALL)
    text = page.read_text(encoding="utf-8")
    text, count = pattern.subn(lambda m: f"{m[1]}{printed}{m[2]}", text)
    if count != 1:
        sys.exit(f"{page} has {count} printed runs, not one")
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the command, write the pages."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-m", "robotid_sim", *COMMAND],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    lines = "\n".join(line.rstrip() for line in run.stdout.rstrip().splitlines())
    put(ROOT / "docs/start.md", "and prints:", lines)
    fit = re.search(
        r"^\w+ fit, and prediction.*?(?=\n\nEstimators)", lines, re.DOTALL | re.MULTILINE
    )
    verdict = lines[lines.index("\nverdict: ") + 1 :]
    put(ROOT / "README.md", r"that it prints\]\(.*?\)\):", f"...\n{fit[0]}\n...\n{verdict}")


if __name__ == "__main__":
    main()
