"""The code that decides a result: a hash of a module and of all that it imports of this package."""

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from robotid_sim.model.catalog_files import catalog_folder
from robotid_sim.study.result_parts import versions

PACKAGE = "robotid_sim"
CATALOG = "robotid_sim.model.catalog"
"""The module that reads the robots; what imports it depends on their files."""
UNREAD = ("claims.toml", "stored.json")
"""Data files in the package that no trial reads."""
COMPILED = ("__pycache__", ".py", ".pyc", ".nbi", ".nbc")
"""Ends of the names of sources, and of what is compiled from them."""


@cache
def code_fingerprint(module: str) -> str:
    """Return a hash of the code and data that a module's functions run, and of the packages used.

    Covers the module and all modules of this package that it imports, directly or not, as syntax
    trees without comments and docstrings; the data files beside them; and the catalog's files if
    robots are read. A package's ``__init__`` counts where a name is imported from it.
    """
    digest = hashlib.sha256(repr((sys.version, sorted(versions().items()))).encode())
    sources = imported_sources(module)
    for name, path in sorted(sources.items()):
        digest.update(f"{name}\0{_code(path)}\0".encode())
    for path in _data_files(sources):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def imported_sources(module: str) -> dict[str, Path]:
    """Return the source of a module and of what it imports of this package, by module name."""
    sources: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in sources else _source(name)
        if path is not None:
            sources[name] = path
            waiting += _imports(name, path)
    return sources


def _source(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)


def _imports(module: str, path: Path) -> Iterator[str]:
    """Yield the modules of this package that a source imports, at its top or in functions."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            parent = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            for alias in node.names if _is_ours(base) else ():
                inner = f"{base}.{alias.name}"
                yield inner if _source(inner) else base


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _code(path: Path) -> str:
    """Return the syntax tree of a source without comments and docstrings, as text."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [part for part in body if not _is_text(part)]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _data_files(sources: Mapping[str, Path]) -> list[Path]:
    """Return the data that the sources may read, in a fixed order."""
    folders = {path.parent for name, path in sources.items() if _is_ours(name)}
    paths = {path for folder in folders for path in folder.iterdir()}
    if CATALOG in sources:
        paths |= set(catalog_folder().rglob("*"))
    return sorted(
        path
        for path in paths
        if path.is_file()
        and path.name not in UNREAD
        and not any(part.endswith(COMPILED) for part in path.parts)
    )
