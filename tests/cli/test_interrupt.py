"""Ctrl-C is one line and code 130, whenever it comes, and leaves no process behind."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

AFTER_THE_LOG = ("log.h5", "estimate.json", "parameters.csv", "identified.urdf")
WORDS = ("run", "irb140", "--quick", "--out", "out")


def interrupted(folder, words, delay: float):
    """Return code, stdout and stderr of a study that is stopped `delay` s after its first imports.

    It runs in a process group of its own, of which no process may be left.
    """
    with (folder / "err").open("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "robotid_sim", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        while " typer." not in (folder / "err").read_text():
            assert process.poll() is None
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    lines = (folder / "err").read_text().splitlines()
    return process.returncode, out, [s for s in lines if not re.match(r"import time:|\w+: \d+%", s)]


def test_an_interrupt_is_said_while_the_engine_is_loaded_too() -> None:
    code = """
import os, signal
from robotid_sim.cli.entry import end_at_interrupts
from robotid_sim.engine.quiet import captured_output

signal.signal(signal.SIGINT, signal.default_int_handler)
end_at_interrupts()
with captured_output():
    os.kill(os.getpid(), signal.SIGINT)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = "robotid: interrupted before any work\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", said)


@pytest.mark.parametrize(
    "delay", [0.0, 0.3, 1.0, *(pytest.param(s, marks=pytest.mark.slow) for s in (3.0, 6.0, 9.0))]
)
def test_a_study_ends_in_one_line_and_leaves_no_process(tmp_path, delay) -> None:
    code, out, said = interrupted(tmp_path, WORDS, delay)
    assert (code, out) == (130, "")
    assert len(said) == 1
    assert said[0].startswith("robotid: interrupted")
    written = {path.name for path in (tmp_path / "out").glob("*")}
    assert written <= {"run.log", "nominal.urdf", "meshes", "trajectory.json", *AFTER_THE_LOG}
    if "before any work" in said[0]:
        assert not (tmp_path / "out").exists()
