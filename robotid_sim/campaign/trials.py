"""Trials of papers and benches: run in parallel, stored one by one, never repeated."""

import hashlib
import json
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from robotid_sim.campaign.backend import MAX_ATTEMPTS, retry_each
from robotid_sim.campaign.store import RowStore
from robotid_sim.engine.engines import ENGINES, default_engine, use_engine
from robotid_sim.errors import FileFormatError, OptionError, RobotIdError, UnknownNameError
from robotid_sim.files import make_folder
from robotid_sim.model.catalog_files import catalog_folder
from robotid_sim.parallel import no_progress
from robotid_sim.pipeline.result import versions
from robotid_sim.progress import Portion
from robotid_sim.signals import ENDING_SIGNALS

PACKAGE_FOLDER = Path(__file__).parents[1]
RESULT_FREE_FOLDERS = ("cli", "report", "viewer", "claims.toml", "__pycache__")
"""Files and folders of the package that do not affect results."""

FILE_NAME = "trials.sqlite"
SCHEMA_VERSION = 1

_COLUMNS = {
    "key": "TEXT",
    "name": "TEXT",
    "function": "TEXT",
    "parameters": "TEXT",
    "code": "TEXT",
    "seconds": "REAL",
    "result": "TEXT",
}


@cache
def code_fingerprint(module: str) -> str:
    """Hash the code that affects the results of the functions of a module.

    Hashed are the source of the module, the sources and data of this package except commands,
    reports and viewers, and the versions of Python and packages.
    """
    digest = hashlib.sha256(repr((sys.version, sorted(versions().items()))).encode())
    files = [
        f
        for f in PACKAGE_FOLDER.rglob("*")
        if not {*f.relative_to(PACKAGE_FOLDER).parts} & {*RESULT_FREE_FOLDERS}
    ]
    with suppress(ImportError, ValueError):  # the trial reports a missing module
        spec = find_spec(module)
        files += [] if spec is None or spec.origin is None else [Path(spec.origin)]
    for path in sorted({*files, *catalog_folder().rglob("*")}):
        if path.is_file():
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Trial:
    """A piece of work of a paper or bench: the dotted name of a function, and its arguments."""

    name: str
    """Name, unique in its run; used in messages."""
    function: str
    """Dotted name, such as ``robotid_sim.papers.rs010n.engine:search``; returns JSON values."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments as JSON values."""
    engine: str | None = None
    """Engine of the plants; None for the first that is installed."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", self.name):
            raise OptionError(f"invalid name '{self.name}' of a trial; use letters, digits, . _ -")

    @property
    def key_parts(self) -> tuple[str, str, str]:
        """Everything that affects the result: function, parameters with engine, hash of the code.

        The first engine of `ENGINES` is not included, so that results that were stored when there
        was only this engine remain valid.
        """
        arguments, engine = dict(self.parameters), self.engine or default_engine()
        if engine != next(iter(ENGINES)):
            arguments["engine of the plants"] = engine
        parameters = json.dumps(arguments, sort_keys=True, allow_nan=False)
        return self.function, parameters, code_fingerprint(self.function.partition(":")[0])

    @property
    def key(self) -> str:
        """Hash of everything that affects the result."""
        return hashlib.sha256(json.dumps(self.key_parts).encode()).hexdigest()

    def call(self) -> dict[str, Any]:
        """Run the trial and return its result.

        Raises `UnknownNameError` if the function is unknown.
        """
        module, _, name = self.function.partition(":")
        try:
            function: Callable[..., Mapping[str, Any]] = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise UnknownNameError(f"trial '{self.name}': no function '{self.function}'") from error
        with use_engine(self.engine):
            return dict(function(**self.parameters))


def _run_timed(trial: Trial) -> tuple[str, float]:
    """Run a trial; return its result as JSON, and its seconds."""
    began = time.perf_counter()
    with no_partial_result():
        result = trial.call()
    try:
        return json.dumps(result, allow_nan=False), time.perf_counter() - began
    except (TypeError, ValueError) as error:
        message = f"trial '{trial.name}': its result is not valid JSON: {error}"
        raise FileFormatError(message) from error


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    *,
    workers: int = 1,
    progress: Callable[[float], None] = no_progress,
) -> list[dict[str, Any]]:
    """Run all trials and return the results in order; stored results of the folder are reused.

    Every result is stored when its trial ends, so that a killed run loses only the current work. A
    stored result is valid for the same function, parameters and code; results for other settings
    are stored in addition. Names of trials are unique; `progress` is called with the share done.
    Raises `OptionError` if two trials have the same name; `FileFormatError` if a result is not
    valid JSON, or the store cannot be read or written; `RobotIdError` if the process of a trial
    dies repeatedly; and the errors of trials.
    """
    names = [trial.name for trial in trials]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"two trials are named '{duplicate}'")
    make_folder(folder)
    keys = [trial.key for trial in trials]
    with RowStore(folder / FILE_NAME, _COLUMNS, SCHEMA_VERSION, write=True) as rows:
        key_set = set(keys)
        texts = {key: text for key, text in rows.select("key, result") if key in key_set}
        # Trials that differ in name only are run once.
        new_trials = {key: t for key, t in zip(keys, trials, strict=True) if key not in texts}

        def report_progress() -> None:
            progress(Portion(sum(key in texts for key in keys), len(keys)))

        def store(trial: Trial, result: tuple[str, float] | None) -> None:
            if result is None:
                raise RobotIdError(f"trial '{trial.name}': its process died {MAX_ATTEMPTS} times")
            texts[trial.key], seconds = result
            rows.insert([(trial.key, trial.name, *trial.key_parts, seconds, texts[trial.key])])
            report_progress()

        if trials:
            report_progress()
        retry_each(_run_timed, list(new_trials.values()), workers, store)
    return [dict(json.loads(texts[key])) for key in keys]


@contextmanager
def no_partial_result() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at the end after a signal, even if code in the context handled it.

    An interrupted optimizer returns its best point, which would be stored as the result of a trial.
    """
    handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    old_handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread() or not old_handlers:
        yield  # the main thread or process handles the signal
        return
    event = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        event.set()
        old_handlers[number](number, frame)

    for number in old_handlers:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
    if event.is_set():
        raise KeyboardInterrupt
