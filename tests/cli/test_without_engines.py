"""Where no engine is installed: what needs none works, the rest says in a line what to install."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from robots import DATA

import robotid_sim
from robotid_sim.engine.engines import is_pybullet_available

ROOT = Path(robotid_sim.__file__).parents[1]

ARM = str(DATA / "2r.urdf")

pytestmark = pytest.mark.slow

REMEDY = f"pip install {'pybullet' if is_pybullet_available() else 'mujoco'}"

HIDING = """
import sys
for name in ("pybullet", "pybullet_data", "pybullet_utils", "mujoco"):
    sys.modules[name] = None  # import and find_spec take it for one that is not installed
"""
"""What Python runs first, in worker processes too, as the module sitecustomize."""

SCRIPT = """
import contextlib, io, json, sys
from robotid_sim.cli.app import main
done = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as stop:
            code = stop.code
    done.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""

WORKS = {
    "help": ["--help"],
    "list": ["list"],
    "list engines": ["list", "engines"],
    "check": ["check", ARM],
    "design": ["design", ARM, "--quick", "--no-clearance", "-o", "{folder}/designed.json"],
    "design report": [
        *("design", ARM, "--quick", "--no-clearance", "-o", "{folder}/again.json"),
        *("--report", "{folder}/design.html"),
    ],
    "identify": ["identify", ARM, "{folder}/log.h5", "-o", "{folder}/identified.json"],
    "predict": ["predict", ARM, "{folder}/e.json", "{folder}/log.h5"],
    "diagnose": ["diagnose", ARM, "{folder}/log.h5"],
    "export": ["export", ARM, "--format", "mjcf", "-o", "{folder}/arm.xml"],
    "cad": ["cad", "twolink", "--total-mass", "20", "-o", "{folder}/cad.urdf"],
}

NEEDS = {
    "run": ["run", ARM, "--quick", "--out", "{folder}/out"],
    "run in contact": ["run", ARM, "--quick", "--no-clearance", "--out", "{folder}/out"],
    "design apart": ["design", ARM, "--quick", "-o", "{folder}/apart.json"],
    "simulate": ["simulate", ARM, "--trajectory", "{folder}/t.json", "-o", "{folder}/x.h5"],
    "validate": ["validate", ARM, "{folder}/e.json"],
    "picture": ["view", ARM, "--record", "{folder}/arm.png"],
    "film": ["view", ARM, "--record", "{folder}/arm.gif"],
    "reproduce": ["reproduce", "twolink-elpidso", "--quick", "--out", "{folder}/paper"],
}


@pytest.fixture(scope="module")
def folder(short, tmp_path_factory) -> Path:
    """Return a folder with what the stages of a study made where there was an engine."""
    made = tmp_path_factory.mktemp("study")
    for file in (short.path, short.log, short.estimate):
        shutil.copy(file, made)
    return made


@pytest.fixture(scope="module")
def done(folder) -> dict[str, tuple[int, str, str]]:
    """Return code, stdout and stderr of every command, all of one process without engines."""
    commands = [
        [word.format(folder=folder) for word in words] for words in (WORKS | NEEDS).values()
    ]
    (folder / "hiding").mkdir()
    (folder / "hiding" / "sitecustomize.py").write_text(HIDING)
    paths = [str(folder / "hiding"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    child = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=True,
    )
    return dict(zip(WORKS | NEEDS, json.loads(child.stdout), strict=True))


@pytest.mark.parametrize("name", WORKS)
def test_commands_that_need_no_engine_work(done, name) -> None:
    code, _, err = done[name]
    assert code == 0, err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", NEEDS)
def test_other_commands_say_in_one_line_what_to_install(done, name) -> None:
    code, _, err = done[name]
    assert code == 2
    assert err == f"robotid: no physics engine is installed: {REMEDY}\n"


def test_what_is_missing_is_said_where_it_matters(done) -> None:
    assert f"a study cannot run here: no physics engine is installed: {REMEDY}" in done["check"][1]
    assert done["list engines"][1].count("not installed") == 2
    assert "contacts are not checked: no physics engine" in done["design"][2]
