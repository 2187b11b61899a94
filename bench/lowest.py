"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path


def main() -> None:
    """Print a constraint a line."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    every = (re.match(r"([\w.-]+)>=([\d.]+)", word) for group in groups for word in group)
    print("\n".join(sorted({f"{bound[1]}=={bound[2]}" for bound in every if bound})))


if __name__ == "__main__":
    main()
