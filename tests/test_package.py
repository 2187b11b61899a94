"""Facts about the package as a whole: what its import costs, and that it explains itself."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from sources import MODULES, PACKAGE, tree_of

ROOT_IMPORTS = ("pybullet", "matplotlib", "numba", "mujoco", "pinocchio")


def loaded_by(statement: str) -> set[str]:
    """Return which heavy packages a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*(m for m in {ROOT_IMPORTS} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_import_loads_neither_engine_nor_figures() -> None:
    assert not loaded_by("import robotid_sim") & {"pybullet", "matplotlib"}


def test_dynamics_need_no_engine_and_no_oracle() -> None:
    loaded = loaded_by("import robotid_sim.dynamics.dynamics, robotid_sim.model.export")
    assert loaded <= {"numba"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(tree_of(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module_is_short_enough_to_read(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= (750 if path.name == "kernels.py" else 400)  # the kernels share one cache


def test_types_are_published() -> None:
    assert (PACKAGE / "py.typed").is_file()
