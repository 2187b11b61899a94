"""Put what README's first command prints into README; a test compares the two.

Run as ``python bench/readme_run.py``.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"

PRINTED = re.compile(r"(?<=and prints:\n\n```\n).*?(?=\n```)", re.DOTALL)
"""The run in README."""

COMMAND = ["run", "irb140", "--out", "out"]


def main() -> None:
    """Run the command, write README."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-m", "robotid_sim", *COMMAND],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    lines = "\n".join(line.rstrip() for line in run.stdout.rstrip().splitlines())
    text, count = PRINTED.subn(lambda _: lines, README.read_text(encoding="utf-8"))
    if count != 1:
        sys.exit(f"{README} has {count} printed runs, not one")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
