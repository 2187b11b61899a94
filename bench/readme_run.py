"""Put what the commands of README print and draw into it and into ``docs/start.md``.

Run as ``python bench/readme_run.py``; tests compare.
"""

import csv
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / ".github/images"
COMMAND = ["run", "irb140", "--out", "out"]
REAL_LOG = ["identify", "ur10", str(ROOT / "tests/data/ur10/ur10.csv.gz"), "-o", "estimate.json"]
REAL_LOG += ["--hold-out", "last:30%", "--report", "page.html"]
VIEW = ["view", "irb140", "--result", "out", "--show", "panel,path", "--time", "8.5"]
"""What draws the picture of the experiment."""
REVERSED = "effort.elbow_joint"
"""Column of the real log whose sign is wrong in the picture of a diagnosis."""


def put(page: Path, before: str, printed: str) -> None:
    """Replace the block of a page that follows some words."""
    pattern = re.compile(rf"({before}\n\n```\n).*?(\n```)", re.DOTALL)
    text = page.read_text(encoding="utf-8")
    text, count = pattern.subn(lambda m: f"{m[1]}{printed}{m[2]}", text)
    if count != 1:
        sys.exit(f"{page} has {count} printed runs, not one")
    page.write_text(text, encoding="utf-8")


def robotid(*arguments: str, folder: Path, codes: tuple[int, ...] = (0,)) -> str:
    """Run a command in a folder; return what it prints, and end at another exit code."""
    command = [sys.executable, "-m", "robotid_sim", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(arguments)} ends with {done.returncode}")
    return done.stdout


def joint_table(printed: str) -> str:
    """Return the table of joints that identify prints."""
    lines = printed.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("joint "))
    return "\n".join(line.rstrip() for line in lines[first : first + 7])


def draw(folder: Path, pictures: Path) -> None:
    """Draw README's pictures from the result of the command in ``folder/out``."""
    shutil.copy(folder / "out/figures/tool-errors.png", pictures / "tool-errors.png")
    view = str(pictures / "view.png")
    robotid(*VIEW, "--size", "960x640", "--record", view, folder=folder)


def draw_diagnosis(folder: Path, picture: Path) -> None:
    """Draw what ``diagnose`` prints of the real log with a wrong sign, as a terminal shows it."""
    with gzip.open(REAL_LOG[2], "rt", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    column = rows[0].index(REVERSED)
    for row in rows[1:]:
        row[column] = str(-float(row[column]))
    with (folder / "log.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    console = Console(record=True, width=82, file=StringIO())
    printed = robotid("diagnose", "ur10", "log.csv", folder=folder, codes=(1,))
    console.print(printed.rstrip(), highlight=False, markup=False)
    console.save_svg(str(picture), title="robotid diagnose ur10 log.csv")


def main() -> None:
    """Run the command, write the pages and pictures."""
    with tempfile.TemporaryDirectory() as folder:
        printed = robotid(*COMMAND, "--figures", folder=Path(folder))
        draw(Path(folder), PICTURES)
        draw_diagnosis(Path(folder), PICTURES / "diagnose.svg")
        of_real_log = robotid(*REAL_LOG, folder=Path(folder))
    lines = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
    put(ROOT / "README.md", r"prints, among others:", joint_table(of_real_log))
    put(ROOT / "docs/start.md", "and prints:", lines)
    put(ROOT / "README.md", "and prints:", lines)


if __name__ == "__main__":
    main()
