"""The numbers that a paper prints, as they stand in the ``published.toml`` of its package."""

import tomllib
from pathlib import Path
from typing import Any


def read_printed(module: str) -> dict[str, Any]:
    """Return what the ``published.toml`` beside a module's file holds.

    Unlike ``claims.toml`` it counts in the fingerprint of trials: some of them depend on it.
    """
    return tomllib.loads(Path(module).with_name("published.toml").read_text(encoding="utf-8"))
