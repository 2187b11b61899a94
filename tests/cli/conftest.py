"""Running the command line in process."""

import io
import json
import math
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from robots import DATA
from short_study import SHORT

from robotid_sim import progress_display
from robotid_sim.cli.app import main
from robotid_sim.measurement.files import load_log, save_log


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Stdout, as if no line were wrapped."""
        return " ".join(self.out.split())

    @property
    def content(self) -> Any:
        """Stdout as JSON, which has no NaN."""
        return json.loads(self.out, parse_constant=pytest.fail)


@dataclass(frozen=True)
class Short:
    """Files of a short study of the planar arm, and of a second motion that it has not seen."""

    folder: Path
    config: Path
    path: Path
    log: Path
    estimate: Path
    unseen_path: Path
    unseen: Path
    machine: Path
    """The unseen log, as if of a machine."""


@pytest.fixture(scope="session")
def short(robotid, tmp_path_factory) -> Short:
    """Return the files of a short study, which tests only read."""
    folder = tmp_path_factory.mktemp("short")
    names = ("short.toml", "t.json", "log.h5", "e.json", "u.json", "unseen.h5", "machine.h5")
    short = Short(folder, *(folder / name for name in names))
    short.config.write_text(SHORT)
    arm = DATA / "2r.urdf"
    for words in (
        ("design", arm, "-o", short.path),
        ("simulate", arm, "--trajectory", short.path, "-o", short.log),
        ("identify", arm, short.log, "-o", short.estimate),
        ("design", arm, "-o", short.unseen_path, "--seed", 7),
        ("simulate", arm, "--trajectory", short.unseen_path, "-o", short.unseen, "--seed", 7),
    ):
        assert robotid(*words, "--config", short.config).code == 0
    log = replace(load_log(short.unseen), origin="machine", truth=None, seed=None)
    save_log(log, short.machine)
    return short


@pytest.fixture(scope="session")
def robotid() -> Callable[..., Done]:
    """Return a function that runs ``robotid`` with words and returns code, stdout and stderr."""

    def run(*words: object) -> Done:
        out, err = io.StringIO(), io.StringIO()
        # Lines of progress come after some time, of a busy machine where an idle one has none.
        without = patch.object(progress_display, "MIN_LINE_INTERVAL", math.inf)
        with redirect_stdout(out), redirect_stderr(err), without:
            code = main([str(word) for word in words])
        return Done(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def ran(robotid) -> Callable[..., Done]:
    """Return a function that runs a command that succeeds and says nothing to stderr."""

    def run(*words: object) -> Done:
        done = robotid(*words)
        assert (done.code, done.err) == (0, ""), done
        return done

    return run


@pytest.fixture(scope="session")
def refused(robotid) -> Callable[..., str]:
    """Return a function that gives the one line of a command that is refused with exit code 2."""

    def run(*words: object) -> str:
        done = robotid(*words)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith("robotid: ")
        assert done.err.count("\n") == 1
        return done.err

    return run
