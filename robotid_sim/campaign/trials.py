"""Trials that survive being killed: run in parallel, cached one by one, never run twice."""

import ast
import hashlib
import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from joblib import Memory

from robotid_sim.engine.engines import ENGINES, default_engine, using_engine
from robotid_sim.errors import FileFormatError, OptionError, UnknownNameError
from robotid_sim.files import make_folder
from robotid_sim.model.catalog_files import catalog_folder
from robotid_sim.parallel import map_tasks, no_progress
from robotid_sim.progress import Portion
from robotid_sim.signals import ENDING
from robotid_sim.study.study import versions

PACKAGE = "robotid_sim"
CATALOG = "robotid_sim.model.catalog"
"""The module that reads the robots; what imports it depends on their files."""
UNREAD = ("claims.toml", "stored.json")
"""Data files in the package that no trial reads."""
COMPILED = ("__pycache__", ".py", ".pyc", ".nbi", ".nbc")
"""Ends of the names of sources, and of what is compiled from them."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A piece of work: a function by its dotted name, and what it is called with."""

    name: str
    """Unique in its run; used in messages."""
    function: str
    """Such as ``robotid_sim.papers.rs010n.trials:search``; returns what JSON can hold."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments; JSON can hold them."""
    engine: str | None = None
    """What its plants are in; None for the first engine that is installed."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", self.name):
            raise OptionError(f"'{self.name}' is no name of a trial; use letters, digits and . _ -")

    @property
    def key(self) -> tuple[str, str, str]:
        """Everything that decides the result: function, parameters, engine, and the code that runs.

        The first engine is not in it, so that results of the time of one engine count.
        """
        called, engine = dict(self.parameters), self.engine or default_engine()
        if engine != next(iter(ENGINES)):
            called["engine of the plants"] = engine
        parameters = json.dumps(called, sort_keys=True, allow_nan=False)
        return self.function, parameters, code_fingerprint(self.function.partition(":")[0])

    def call(self) -> dict[str, Any]:
        """Run the trial and return its result.

        Raises `UnknownNameError` if there is no such function.
        """
        module, _, name = self.function.partition(":")
        try:
            function: Callable[..., Mapping[str, Any]] = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise UnknownNameError(f"trial '{self.name}': no function '{self.function}'") from error
        with using_engine(self.engine):
            return dict(function(**self.parameters))


class _Evaluation:
    """What joblib caches: a trial's call, known to it by this name and never by its source."""

    __module__ = "trials"
    __name__ = "results"

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __call__(self, function: str, parameters: str, code: str) -> dict[str, Any]:  # noqa: ARG002 - joblib hashes them
        """Run the trial; the arguments are its key."""
        with no_partial_result():
            result = self._trial.call()
        try:  # lists for tuples, whether the result is fresh or read
            return dict(json.loads(json.dumps(result, allow_nan=False)))
        except (TypeError, ValueError) as error:
            message = f"trial '{self._trial.name}': JSON cannot hold its result: {error}"
            raise FileFormatError(message) from error

    def __repr__(self) -> str:
        return "the result of a trial"


def _cached(trial: Trial, folder: Path) -> Any:
    return Memory(folder, verbose=0).cache(_Evaluation(trial))


@dataclass(frozen=True)
class _CachedCall:
    """Runs a trial and caches its result; an object, for it goes to other processes."""

    folder: Path

    def __call__(self, work: tuple[Trial, tuple[str, str, str]]) -> dict[str, Any]:
        trial, key = work
        return dict(_cached(trial, self.folder)(*key))


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    *,
    workers: int = 1,
    progress: Callable[[float], None] = no_progress,
) -> list[dict[str, Any]]:
    """Return the result of every trial, in order; those that the folder holds are not run.

    Every result is cached when its trial ends, so that a run that is killed loses only what was at
    work. A cached result counts for the same function, parameters and code: runs with other
    settings keep theirs beside it.

    Parameters
    ----------
    trials : sequence of Trial
        The work; names are unique.
    folder : Path
        Holds the cache.
    workers : int
        Number of processes.
    progress : callable
        Called with the share of trials done.

    Raises
    ------
    OptionError
        If two trials have the same name.
    FileFormatError
        If JSON cannot hold a result.
    """
    names = [trial.name for trial in trials]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"two trials are named '{twice}'")
    make_folder(folder)
    call = _CachedCall(folder)
    work = [(trial, trial.key) for trial in trials]
    cached = [_cached(trial, folder).check_call_in_cache(*key) for trial, key in work]
    # The same work under two names is done once.
    missing = {key: trial for (trial, key), there in zip(work, cached, strict=True) if not there}
    done = sum(cached)
    if trials:
        progress(Portion(done, len(trials)))
    results = map_tasks(
        call,
        [(trial, key) for key, trial in missing.items()],
        workers,
        lambda fresh: progress(Portion(done + fresh.done, len(trials))),
    )
    fresh = dict(zip(missing, results, strict=True))
    return [fresh[key] if key in fresh else call((trial, key)) for trial, key in work]


@contextmanager
def no_partial_result() -> Iterator[None]:
    """Let a signal end the block even if something in it takes that for the end of its search.

    An optimizer that is interrupted returns the best point so far; as the result of a trial it
    would be cached.
    """
    handlers = {number: signal.getsignal(number) for number in ENDING}
    before = {number: handler for number, handler in handlers.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread() or not before:
        yield  # the main thread, or process, takes the signal
        return
    came = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        came.set()
        before[number](number, frame)

    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came.is_set():
        raise KeyboardInterrupt


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
