"""The code that decides a result: a hash of a function and all that it reaches in the package."""

import ast
import hashlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from robotid_sim.model.catalog_files import catalog_folder
from robotid_sim.pipeline.result import versions

PACKAGE = "robotid_sim"
CATALOG = "robotid_sim.model.catalog"
"""The module that reads the robots; what imports it depends on their files."""
UNREAD = ("claims.toml",)
"""Data files in the package that no trial reads."""
COMPILED = ("__pycache__", ".py", ".pyc", ".nbi", ".nbc")
"""Ends of the names of sources, and of what is compiled from them."""
LOCAL_DECORATORS = (
    "dataclass",
    "documented",
    "public_value",
    "cache",
    "lru_cache",
    "contextmanager",
)
"""Decorators that change nothing but what they stand at; others may register it."""
SHOWN = "register_paper"
"""What is registered by it shows results, and decides none."""

PLACE = re.compile(r"(robotid_sim[\w.]*):(\w+)")
"""A definition as a text."""

WHOLE = "*"
"""Stands for all names of a module."""


class Source(NamedTuple):
    """The statements of a module: definitions by name, imports, and those that act on others."""

    path: Path
    definitions: Mapping[str, list[ast.stmt]]
    imports: Mapping[str, tuple[str, str]]
    """Module and name, by what they are called here."""
    effects: list[ast.stmt]


@cache
def code_fingerprint(function: str) -> str:
    """Hash the code and data that a function ``module:name`` runs, and versions of packages.

    Covers the definitions that the function reaches, directly or not, in its module and in this
    package, as syntax trees without comments and docstrings; the data files beside their modules;
    and the catalog's files if robots are read. What only draws results is not among them. A module
    alone stands for all of it.
    """
    digest = hashlib.sha256(repr((sys.version, sorted(versions().items()))).encode())
    code = reached_code(function)
    for module, statements in sorted(code.items()):
        texts = sorted(ast.dump(statement) for statement in statements)
        digest.update("\0".join([module, *texts, ""]).encode())
    for path in _data_files(code):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def reached_code(function: str) -> dict[str, list[ast.stmt]]:
    """Collect the statements that a function reaches by names, by module."""
    module, _, name = function.partition(":")
    waiting, seen = [(module, name or WHOLE)], set[tuple[str, str]]()
    code: dict[str, list[ast.stmt]] = defaultdict(list)
    while waiting:
        place = waiting.pop()
        source = None if place in seen else _source(place[0])
        seen.add(place)
        if source is None:
            continue
        module, name = place
        statements = list(source.definitions.get(name, ()))
        if name == WHOLE:
            waiting += [(module, each) for each in (*source.definitions, *source.imports)]
        if module not in code:  # reached for the first time
            statements += source.effects
        if name in source.imports:
            waiting.append(source.imports[name])
        for statement in statements:
            if not any(statement is other for other in code[module]):
                code[module].append(statement)
                waiting += _reached_from(module, statement)
        code.setdefault(module, [])
    return code


def _reached_from(module: str, statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the names that a statement uses, each with the module that it is looked for in."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield module, node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(module, node).values()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if match := PLACE.fullmatch(node.value):  # of a registry, or of a trial
                yield match[1], match[2]


@cache
def _source(module: str) -> Source | None:
    """Parse the statements of a module without docstrings; None of one that has no source."""
    spec = _spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    definitions: dict[str, list[ast.stmt]] = defaultdict(list)
    imports: dict[str, tuple[str, str]] = {}
    effects = []
    tree = ast.parse(Path(spec.origin).read_bytes())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [
                part
                for part in body
                if not isinstance(part, ast.Expr)
                or not isinstance(part.value, ast.Constant)
                or not isinstance(part.value.value, str)
            ]
    for statement in tree.body:
        names = set(_defined(statement))
        for name in names:
            definitions[name].append(statement)
        for node in ast.walk(statement) if not isinstance(statement, _SCOPES) else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports |= _imported(module, node)
        if _acts_on_others(statement):
            effects.append(statement)
    return Source(Path(spec.origin), definitions, imports, effects)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _defined(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module defines."""
    if isinstance(statement, _SCOPES):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, _SCOPES):
            yield node.name


def _acts_on_others(statement: ast.stmt) -> bool:
    """Tell whether a statement may change what others do, though no name leads to it."""
    if isinstance(statement, _SCOPES):
        return not all(_called(each) in LOCAL_DECORATORS for each in statement.decorator_list)
    if isinstance(statement, ast.Expr):
        return _called(statement.value) != SHOWN
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return not all(isinstance(target, ast.Name) for target in targets)
    if isinstance(statement, ast.If):
        test = ast.dump(statement.test)
        return "__name__" not in test and "TYPE_CHECKING" not in test
    return not isinstance(statement, ast.Import | ast.ImportFrom)


def _called(node: ast.expr) -> str:
    """Name the function that is called, or the decorator; empty for another node."""
    function = node.func if isinstance(node, ast.Call) else node
    return function.id if isinstance(function, ast.Name) else ""


def _imported(module: str, node: ast.Import | ast.ImportFrom) -> dict[str, tuple[str, str]]:
    """Resolve what an import takes of this package: module and name, by what it is called."""
    if isinstance(node, ast.Import):
        ours = [alias for alias in node.names if _is_ours(alias.name)]
        return {a.asname or a.name.partition(".")[0]: (a.name, WHOLE) for a in ours}
    parent = module.split(".")[: -node.level] if node.level else []
    base = ".".join([*parent, *([node.module] if node.module else [])])
    names: dict[str, tuple[str, str]] = {}
    for alias in node.names if _is_ours(base) else ():
        inner = f"{base}.{alias.name}"
        place = (inner, WHOLE) if _spec(inner) else (base, alias.name)
        names[alias.asname or alias.name] = place
    return names


@cache
def _spec(module: str) -> ModuleSpec | None:
    try:
        return find_spec(module)
    except (ImportError, ValueError):
        return None


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _data_files(modules: Iterable[str]) -> list[Path]:
    """List the data that modules may read, in a fixed order."""
    ours = [module for module in modules if _is_ours(module)]
    sources = [source for source in map(_source, ours) if source]
    paths = {path for source in sources for path in source.path.parent.iterdir()}
    if CATALOG in ours:
        paths |= set(catalog_folder().rglob("*"))
    return sorted(
        path
        for path in paths
        if path.is_file()
        and path.name not in UNREAD
        and not any(part.endswith(COMPILED) for part in path.parts)
    )
