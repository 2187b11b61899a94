"""Running the command line in process."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from robotid_sim.cli.app import main


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def robotid() -> Callable[..., Done]:
    """Return a function that runs ``robotid`` with words and returns code, stdout and stderr."""

    def run(*words: object) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main([str(word) for word in words])
        return Done(code, out.getvalue(), err.getvalue())

    return run
