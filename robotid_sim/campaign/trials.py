"""Trials that survive being killed: every finished one is a file of its own."""

import hashlib
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from robotid_sim.campaign.code_state import code_state
from robotid_sim.errors import FileFormatError, OptionError, UnknownNameError
from robotid_sim.files import make_folder, read_json, write_json
from robotid_sim.parallel import map_tasks, no_progress

KIND, SCHEMA = "trial", 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One piece of work: a function by its dotted name, and what it is called with."""

    name: str
    """Unique in its run; the stem of its file."""
    function: str
    """Such as ``robotid_sim.papers.rs010n.search:search``; returns what JSON can hold."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments; JSON can hold them."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", self.name):
            raise OptionError(f"'{self.name}' is no name of a trial; use letters, digits and . _ -")

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the result: function, parameters, sources, packages."""
        content = [self.function, dict(self.parameters), code_state()]
        text = json.dumps(content, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def call(self) -> dict[str, Any]:
        """Run the trial and return its result.

        Raises
        ------
        UnknownNameError
            If there is no such function.
        """
        module, _, name = self.function.partition(":")
        try:
            function: Callable[..., Mapping[str, Any]] = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise UnknownNameError(f"trial '{self.name}': no function '{self.function}'") from error
        return dict(function(**self.parameters))


def run_trials(
    trials: Sequence[Trial],
    folder: Path,
    *,
    workers: int = 1,
    progress: Callable[[float], None] = no_progress,
) -> list[dict[str, Any]]:
    """Return the result of every trial, in order; those with a file in the folder are not run.

    Every trial is written when it ends, so that of a run that is killed only what was at work is
    lost. A file counts only if its fingerprint is the same, which is also in its name: runs with
    other settings, or of another version, keep theirs beside it.

    Parameters
    ----------
    trials : sequence of Trial
        The work; names are unique.
    folder : Path
        Receives a JSON file a trial.
    workers : int
        Number of processes.
    progress : callable
        Called with the share of trials done.

    Raises
    ------
    OptionError
        If two trials have one name.
    FileFormatError
        If a result cannot be written.
    """
    names = [trial.name for trial in trials]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"two trials are named '{twice}'")
    make_folder(folder)
    found = [finished(trial, folder) for trial in trials]
    missing = [trial for trial, result in zip(trials, found, strict=True) if result is None]
    done = len(trials) - len(missing)
    if trials:
        progress(done / len(trials))
    new = map_tasks(
        _Writer(folder),
        missing,
        workers,
        lambda share: progress((done + share * len(missing)) / len(trials)),
    )
    fresh = iter(new)
    return [result if result is not None else next(fresh) for result in found]


def finished(trial: Trial, folder: Path) -> dict[str, Any] | None:
    """Return the result that a folder holds of a trial, or None if it holds none that counts."""
    try:
        content = read_json(trial_path(trial, folder), KIND, SCHEMA)
    except FileFormatError:
        return None  # missing, broken, or of a newer version: it is run again
    result = content.get("result")
    if content.get("fingerprint") != trial.fingerprint or not isinstance(result, dict):
        return None
    return result


def trial_path(trial: Trial, folder: Path) -> Path:
    """Return where a trial's file is."""
    return folder / f"{trial.name}.{trial.fingerprint[:12]}.json"


@contextmanager
def no_partial_result() -> Iterator[None]:
    """Let Ctrl-C end the block even if something in it takes that for the end of its search.

    An optimizer that is interrupted returns the best point so far; as the result of a trial it
    would be kept for good.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is signal.SIG_IGN:
        yield  # the main thread, or process, takes the signal
        return
    came = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        came.set()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came.is_set():
        raise KeyboardInterrupt


@dataclass(frozen=True)
class _Writer:
    """Runs a trial and writes its file; an object, for it goes to other processes."""

    folder: Path

    def __call__(self, trial: Trial) -> dict[str, Any]:
        with no_partial_result():
            result = trial.call()
        content = {
            "name": trial.name,
            "function": trial.function,
            "parameters": dict(trial.parameters),
            "fingerprint": trial.fingerprint,
            "result": result,
        }
        write_json(trial_path(trial, self.folder), KIND, SCHEMA, content)
        # What a later run reads from the file is what this one returns: lists for tuples.
        return dict(json.loads(json.dumps(result, allow_nan=False)))
