"""Caches of compiled kernels: those that call kernels of another module see its edits."""

import subprocess
import sys

import pytest

from robotid_sim import compiled

CALLEE = """
from robotid_sim.compiled import jit

@jit
def answer(x):
    return x + {offset}
"""

CALLER = """
import callee
from robotid_sim.compiled import jit_calling

@jit_calling(callee)
def asked(x):
    return 2.0 * callee.answer(x)

print(asked(1.0), sum(asked.stats.cache_hits.values()))
"""


@pytest.fixture
def asked(tmp_path):
    """Return a function that runs the caller in a process of its own: its answer and cache hits."""
    (tmp_path / "caller.py").write_text(CALLER)

    def run(offset: float) -> list[str]:
        (tmp_path / "callee.py").write_text(CALLEE.format(offset=offset))
        words = [sys.executable, "-B", "caller.py"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.split()

    return run


@pytest.mark.slow
def test_an_edit_of_a_callee_elsewhere_makes_the_cache_stale(asked):
    assert asked(1.0) == ["4.0", "0"]
    assert asked(1.0) == ["4.0", "1"]  # from the disk
    assert asked(5.0) == ["12.0", "0"]
    assert asked(5.0) == ["12.0", "1"]


def test_without_a_stamp_nothing_is_cached(monkeypatch):
    monkeypatch.setattr(compiled, "STAMP_ATTRIBUTE", "nowhere")
    kernel = compiled.jit_calling(pytest)(lambda x: x + 1.0)
    assert kernel(1.0) == 2.0
    assert not kernel.stats.cache_path
