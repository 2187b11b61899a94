"""The modules of the package and their syntax trees, each parsed once."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "robotid_sim"
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of every module."""
    return {path: tree_of(path) for path in MODULES}
