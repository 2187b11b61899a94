"""How a reader of a page gets the same page."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a reader gets the same page."""

    command: str
    seed: int
    settings: str
    """The configuration where it differs from the defaults, as JSON."""
    versions: Mapping[str, str]
    """Of Python and the packages."""
