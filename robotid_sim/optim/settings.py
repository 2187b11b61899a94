"""The configurations that the five papers publish, and what is known to be wrong with them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from robotid_sim.errors import UnknownNameError
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import Moving, stability


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedSetting:
    """A published configuration of an optimizer: the options that are printed, and no others."""

    method: str
    """Name of the optimizer."""
    paper: str
    """Authors, journal, DOI."""
    place: str
    """Where the values stand."""
    max_evals: int
    """The published budget, population by iterations."""
    options: Mapping[str, Any]
    """Printed hyper-parameters."""
    missing: str = "velocity limit, bounds"
    """What the paper does not print; the defaults stand in."""

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """What the spectral radii say about it, in words; see `robotid_sim.optim.stability`."""
        optimizer = self.build()
        return stability(optimizer).flags if isinstance(optimizer, Moving) else ()

    def build(self, **changes: Any) -> Optimizer:
        """Return the optimizer; `changes` override or add options, as in ``form="literal"``."""
        return OPTIMIZERS.build(self.method, **{**self.options, **changes})


def setting(name: str) -> PublishedSetting:
    """Return a published configuration by name.

    Raises `UnknownNameError` if there is none; the text lists them.
    """
    if name not in SETTINGS:
        raise UnknownNameError.of("setting", name, SETTINGS)
    return SETTINGS[name]


def _read() -> Mapping[str, PublishedSetting]:
    tables = tomllib.loads((files(__package__) / "settings.toml").read_text("utf-8"))
    papers = tables["papers"]
    return MappingProxyType(
        {
            name: PublishedSetting(**{**entry, "paper": papers[entry["paper"]]})
            for name, entry in tables["settings"].items()
        }
    )


SETTINGS = _read()
"""The published configurations by name: first author, year, what the paper calls the method."""
