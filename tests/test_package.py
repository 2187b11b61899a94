"""Facts about the package as a whole: what its import costs, and that it explains itself."""

import ast
import subprocess
import sys

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


def test_modules_have_a_docstring_and_are_short_enough_to_read() -> None:
    assert [path for path in MODULES if not ast.get_docstring(tree_of(path))] == []
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    most = {path: 750 if path.name == "kernels.py" else 400 for path in MODULES}  # share one cache
    assert [path for path, lines in sizes.items() if lines > most[path]] == []


def test_types_are_published() -> None:
    assert (PACKAGE / "py.typed").is_file()
