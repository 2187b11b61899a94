"""What is wrong with the words of a command, and what there is, is said before work is loaded."""

import io
import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from robots import DATA
from threadpoolctl import threadpool_info

from robotid_sim import plugins
from robotid_sim.cli import openblas
from robotid_sim.cli.commands import COMMANDS
from robotid_sim.measurement.log import Log
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.plotting import plot

HEAVY = {
    *("numpy", "scipy", "numba", "pybullet", "mujoco", "matplotlib", "plotly", "pandas", "h5py"),
    *("lxml", "joblib", "cloudpickle", "jinja2", "PIL", "trimesh", "clarabel", "threadpoolctl"),
}
"""Packages that take a while to load."""

WRONG = ["--nope", "nope", "list nope", "run irb140 --nope", "run --seed x"]
WRONG += ["run irb140 --workers foo", "run nope --out out"]
WRONG += ["view irb140 --fps 30", "list --plugin"]
WRONG += [f"{command} --nope" for command in COMMANDS]
WRONG += [command for command in COMMANDS if command != "list"]

RIGHT = ["", "--help", "--version", "list", "list --json"]
RIGHT += [f"{command} --help" for command in COMMANDS]

PLUGIN = """
from dataclasses import dataclass
from robotid_sim.optim.optimizer import OPTIMIZERS

@OPTIMIZERS.register("installed")
@dataclass(kw_only=True)
class Installed(OPTIMIZERS["de"]):
    '''My search.'''
"""

PROGRAM = """
import contextlib, io, json, sys
from robotid_sim.cli.app import main

heavy, lines = map(json.loads, sys.argv[1:])
for line in lines:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(line.split())
    print(json.dumps([line, code, sorted(set(heavy) & set(sys.modules))]))
"""


def codes(lines: list[str]) -> dict[str, int]:
    """Return the exit codes of commands in a process that has loaded no heavy package."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(sorted(HEAVY)), json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result for result in results if result[2]] == []
    return {line: code for line, code, _heavy in results}


def test_wrong_words_are_refused_without_loading_what_would_work_with_them() -> None:
    assert codes(WRONG) == dict.fromkeys(WRONG, 2)


def test_help_and_lists_load_no_part_that_they_describe() -> None:
    assert codes(RIGHT) == dict.fromkeys(RIGHT, 0)


def test_the_list_of_kinds_takes_half_a_second_of_a_processor() -> None:
    program = "import resource, sys; from robotid_sim.cli.app import main; main(sys.argv[1:])"
    program += "; print(resource.getrusage(resource.RUSAGE_SELF).ru_utime, file=sys.stderr)"
    command = [sys.executable, "-c", program, "list"]
    seconds = min(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stderr)
        for _ in range(3)
    )
    assert seconds < 0.5


@pytest.mark.slow
def test_identifying_loads_few_of_our_modules() -> None:
    program = "import json, sys; import robotid_sim as rid; rid.read_logs, rid.identify"
    program += "; print(sum(name.startswith('robotid_sim') for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 180


def test_parts_of_an_installed_plugin_are_listed(robotid, monkeypatch, tmp_path) -> None:
    (tmp_path / "installed_searches.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("searches", "installed_searches", plugins.ENTRY_POINT_GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry])
    for owner, attribute in (
        (plugins, "_loaded"),
        (OPTIMIZERS, "_entries"),
        (OPTIMIZERS, "_origins"),
    ):
        monkeypatch.setattr(owner, attribute, dict(getattr(owner, attribute)))
    listed = robotid("list", "optimizers", "--json").content
    assert [row["summary"] for row in listed if row["name"] == "installed"] == ["My search."]


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


WORK = """
import os
from robotid_sim.cli.openblas import common_kernels
os.environ.update(common_kernels())
import numpy as np, scipy.linalg
A = np.ones((1000, 40))
assert (A.T @ A == 1000.0).all()
assert (scipy.linalg.blas.dgemm(1.0, A, A, trans_a=True) == 1000.0).all()
from threadpoolctl import threadpool_info
print(*{part["architecture"] for part in threadpool_info() if part["internal_api"] == "openblas"})
"""
"""Kernels whose stack is too small for the matrices end this at the first product."""

CONFIGURATION = '"blas": {{"openblas configuration": r"OpenBLAS {} DYNAMIC_ARCH Haswell"}}'


@pytest.fixture
def on_any_processor(monkeypatch) -> None:
    """Let the processor have what is needed, and nobody have chosen."""
    monkeypatch.delenv(openblas.CORETYPE_VARIABLE, raising=False)
    monkeypatch.setattr(openblas, "processor_flags", lambda: openblas.NEEDED_INSTRUCTIONS)


@pytest.fixture
def packages(tmp_path, monkeypatch) -> Path:
    """Let NumPy and SciPy be empty packages of a folder."""
    for name in ("numpy", "scipy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def state_versions(packages: Path, numpy: str, scipy: str) -> None:
    """Write with which OpenBLAS the two were built."""
    for name, version in (("numpy", numpy), ("scipy", scipy)):
        (packages / name / "__config__.py").write_text(CONFIGURATION.format(version))


def test_a_processor_works_with_the_kernels_that_others_have(monkeypatch) -> None:
    monkeypatch.delenv(openblas.CORETYPE_VARIABLE, raising=False)
    words = [sys.executable, "-c", WORK]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    versions = [openblas.openblas_of(package) for package in ("numpy", "scipy")]
    known = all(version is not None and version <= openblas.MAX_VERSION for version in versions)
    if openblas.processor_flags() >= openblas.NEEDED_INSTRUCTIONS and known:
        assert done.stdout.split() == [openblas.KERNELS]
    else:
        assert openblas.common_kernels() == {}


def test_these_tests_work_with_the_kernels_of_the_program() -> None:
    parts = threadpool_info()
    taken = {part["architecture"] for part in parts if part["internal_api"] == "openblas"}
    if openblas.CORETYPE_VARIABLE in os.environ:
        assert taken == {os.environ[openblas.CORETYPE_VARIABLE]}
    else:
        assert openblas.common_kernels() == {}


def test_kernels_that_a_user_chose_stay(on_any_processor, monkeypatch) -> None:
    monkeypatch.setenv(openblas.CORETYPE_VARIABLE, "Nehalem")
    assert openblas.common_kernels() == {}


@pytest.mark.parametrize("flags", [set(), {"avx", "sse4_2"}, {"avx2"}])
def test_a_processor_without_the_instructions_keeps_its_kernels(monkeypatch, flags) -> None:
    monkeypatch.delenv(openblas.CORETYPE_VARIABLE, raising=False)
    monkeypatch.setattr(openblas, "processor_flags", lambda: flags)
    assert openblas.common_kernels() == {}


@pytest.mark.parametrize(
    ("numpy", "scipy", "heeds"),
    [
        ("0.3.27", "0.3.28", True),
        ("0.3.31.188.0", "0.3.31.dev", True),
        ("0.3.33", "0.3.33", True),
        ("0.3.34.237.2", "0.3.31.dev", False),
        ("0.3.31.188.0", "0.3.34", False),
        ("0.4.0", "0.3.31", False),
    ],
)
def test_an_openblas_that_crashes_with_them_keeps_its_kernels(
    on_any_processor, packages, numpy, scipy, heeds
) -> None:
    state_versions(packages, numpy, scipy)
    chosen = {openblas.CORETYPE_VARIABLE: openblas.KERNELS} if heeds else {}
    assert openblas.common_kernels() == chosen


@pytest.mark.parametrize("text", [None, '"blas": {"name": "mkl-sdl", "version": "2025.0"}'])
def test_another_blas_keeps_its_kernels(on_any_processor, packages, text) -> None:
    state_versions(packages, "0.3.31", "0.3.31")
    configuration = packages / "numpy" / "__config__.py"
    if text is None:
        configuration.unlink()
    else:
        configuration.write_text(text)
    assert openblas.common_kernels() == {}


def test_the_version_is_known_without_loading_the_library() -> None:
    for part in threadpool_info():
        for package in ("numpy", "scipy"):
            if f"{package}.libs" in part["filepath"]:
                version = openblas.openblas_of(package)
                assert version is not None
                assert part["version"].startswith(".".join(map(str, version)))


def test_a_package_that_is_not_there_brings_none() -> None:
    assert openblas.openblas_of("no_such_package") is None
