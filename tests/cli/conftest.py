"""Running the command line in process."""

import io
import math
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

import pytest

from robotid_sim import progress_display
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
        # Lines of progress come after some time, of a busy machine where an idle one has none.
        without = patch.object(progress_display, "PAUSE", math.inf)
        with redirect_stdout(out), redirect_stderr(err), without:
            code = main([str(word) for word in words])
        return Done(code, out.getvalue(), err.getvalue())

    return run
