"""The plans of the package."""

from importlib.resources import files
from pathlib import Path


def list_shipped_plans() -> dict[str, Path]:
    """Return the plans of the package by name."""
    folder = Path(str(files(__package__) / "plans"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}
