"""Identify the dynamic parameters of a URDF robot in simulation, and from real logs."""

from importlib import import_module
from pathlib import Path

_LINES = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8").splitlines()

_PLACES = {line.split()[3]: line.split()[1] for line in _LINES if line.startswith("from .")}

__all__ = list(_PLACES)


def __getattr__(name):
    """Import an object that the stub file of this module names, at its first use."""
    from robotid_sim.renamed import RENAMED_FUNCTIONS, warn_of_name

    if name in RENAMED_FUNCTIONS:
        warn_of_name(name, RENAMED_FUNCTIONS[name])
        return __getattr__(RENAMED_FUNCTIONS[name])
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_PLACES[name], __name__), name)
    return value


def __dir__():
    return __all__
