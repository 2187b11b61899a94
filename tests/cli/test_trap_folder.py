"""A folder full of modules that trap whoever imports them: no process of the program does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_plugins_in_processes import CLAIMS, PAPER

pytestmark = pytest.mark.slow

STANDARD = (
    *("abc", "ast", "json", "logging", "multiprocessing", "pickle", "random", "re", "runpy"),
    *("signal", "socket", "subprocess", "tempfile", "threading", "tomllib", "typing", "weakref"),
    *("sitecustomize", "usercustomize"),  # loaded as early as these
)
INSTALLED = (
    *("cloudpickle", "distributed", "h5py", "joblib", "lxml", "matplotlib", "mujoco", "numba"),
    *("numpy", "psutil", "pybullet", "pydantic", "rich", "scipy", "trimesh", "typer", "yaml"),
)

TRAP = "import os\nos.close(os.open(os.path.join({folder!r}, {name!r}), os.O_CREAT))\n"

STUDY = """
[design]
candidates = 5
iterations = 5
period = 4.0
periods = 1
[experiment]
rate = 250.0
"""

PLAN = f"""
robot = "twolink"
seeds = 2
[factors]
estimator = ["ols"]
{STUDY.replace("[", "[study.")}
"""

PROGRAM = str(Path(sys.executable).with_name("robotid"))


@pytest.fixture
def traps(tmp_path) -> Path:
    """Return a folder with traps; who steps into one is in the folder ``caught`` beside it."""
    for name in ("work", "caught", "own"):
        (tmp_path / name).mkdir()
    for name in (*STANDARD, *INSTALLED):
        text = TRAP.format(folder=str(tmp_path / "caught"), name=name)
        (tmp_path / "work" / f"{name}.py").write_text(text)
    (tmp_path / "work" / ".numba_config.yaml").write_text("cache_dir: cache\ndisable_jit: 0\n")
    (tmp_path / "work" / "study.toml").write_text(STUDY)
    (tmp_path / "work" / "plan.toml").write_text(PLAN)
    (tmp_path / "own" / "sixth.py").write_text(
        PAPER.replace('+ ("own-swarm" in OPTIMIZERS)', "+ 1")
    )
    (tmp_path / "own" / "claims.toml").write_text(CLAIMS)
    return tmp_path / "work"


def caught(traps: Path) -> list[str]:
    """Return the names of the traps that someone stepped into."""
    names = [path.name for path in (traps.parent / "caught").iterdir()]
    return names + [path.name for path in traps.glob("cache")]


def begin(traps: Path, *words: str, **more: str) -> subprocess.Popen:
    """Begin the program among the traps, where nobody keeps the path of modules clean."""
    kept = [name for name in os.environ if not name.startswith(("PYTHON", "NUMBA"))]
    return subprocess.Popen(
        words,
        cwd=traps,
        env={name: os.environ[name] for name in kept} | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    "words",
    [
        "campaign run plan.toml --out out --workers 2",
        "reproduce sixth --quick --plugin ../own/sixth.py --out out --workers 2",
        "run twolink --quick --config study.toml --out out --workers 2",
        "campaign run plan.toml --out out --workers 1 --cluster local",
    ],
)
def test_no_process_imports_from_the_working_folder(traps, words) -> None:
    run = begin(traps, PROGRAM, *words.split())
    _, said = run.communicate(timeout=280)
    assert run.returncode in (0, 1), said
    assert caught(traps) == []


@pytest.mark.pybullet
def test_a_window_and_a_page_import_nothing_from_the_working_folder(traps) -> None:
    page = begin(traps, PROGRAM, "view", "twolink", "--web", "--no-open")
    try:
        assert "http://127.0.0.1" in page.stdout.readline()
    finally:
        page.kill()
        page.communicate(timeout=60)
    child = begin(traps, PROGRAM, "view", "twolink", DISPLAY=":177")  # opens no window
    child.communicate(timeout=60)
    assert caught(traps) == []


def test_python_m_leaves_the_working_folder_before_it_loads_the_program(traps) -> None:
    for early in STANDARD:  # Python has them before the package is asked
        (traps / f"{early}.py").unlink()
    done = begin(traps, sys.executable, "-m", "robotid_sim", "check", "twolink")
    _, said = done.communicate(timeout=60)
    assert done.returncode == 0, said
    assert caught(traps) == []
