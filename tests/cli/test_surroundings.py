"""What surrounds the program: closed streams, ASCII, a folder that is gone."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest
from robots import DATA

from robotid_sim.measurement.log import Log
from robotid_sim.plotting import plot

ARM = DATA / "2r.urdf"
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run(script: str, folder, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ``robotid`` by a shell, as `$R`, in a folder."""
    environment = {**os.environ, **more, "R": sys.executable, "ARM": str(ARM)}
    words = ["bash", "-c", script.replace("robotid", '"$R" -m robotid_sim')]
    return subprocess.run(
        words, capture_output=True, text=True, cwd=folder, env=environment, timeout=120, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(tmp_path, closed) -> None:
    done = run(f'robotid export "$ARM" -o arm.xml {closed}', tmp_path)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert (tmp_path / "arm.xml").read_text().startswith("<")


@pytest.mark.slow
def test_a_locale_of_ascii_prints_what_it_can(tmp_path) -> None:
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ARM.read_text().replace("shoulder", "Schulter-µ²"), encoding="utf-8")
    done = run("robotid check arm.urdf", tmp_path, **ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Schulter-??" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ['check "$ARM"', "check arm.urdf", 'run "$ARM" --out out --dry-run']
)
def test_a_working_folder_that_is_gone_is_told(tmp_path, words) -> None:
    done = run(f"mkdir gone && cd gone && rmdir ../gone && robotid {words}", tmp_path)
    assert done.returncode in (0, 2)
    assert "bug" not in done.stderr
    assert done.returncode == 0 or done.stderr.count("\n") == 1


def test_names_with_dollars_are_drawn_as_they_are() -> None:
    t = np.arange(50) / 250.0
    wave = np.sin(np.column_stack([t, 2.0 * t]))
    names = (r"cost $\frac{$", "$$")
    log = Log(t=t, q=wave, tau_meas=wave, joint_names=names, joint_units=("rad", "rad"))
    svg = io.BytesIO()
    plot(log).savefig(svg, format="svg")
    assert svg.getvalue()
