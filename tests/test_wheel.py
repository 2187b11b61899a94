"""What ships: a wheel finds its robots wherever it is installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_wheel_holds_the_catalog_and_finds_it_elsewhere(tmp_path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    check = [sys.executable, "-m", "twine", "check", "--strict", wheel]
    subprocess.run(check, check=True, capture_output=True, timeout=60)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    shipped = {path.relative_to(ROOT / "urdf") for path in (ROOT / "urdf").rglob("*.*")}
    assert shipped
    for path in shipped:
        assert (f"robotid_sim/urdf/{path.as_posix()}" in names) == (path.suffix != ".py")
    assert not any(name.startswith(("tests/", "bench/")) for name in names)
    assert "robotid_sim/py.typed" in names
    tables = {p.relative_to(ROOT).as_posix() for p in (ROOT / "robotid_sim").rglob("*.toml")}
    assert {
        f"robotid_sim/{part}.toml" for part in ("measurement/presets", "optim/settings")
    } < tables
    assert len([name for name in tables if name.endswith("claims.toml")]) == 5
    assert tables <= names
    assets = {f"robotid_sim/report/assets/page.{kind}" for kind in ("html", "css", "js")}
    assert assets <= names
    code = (
        "import robotid_sim, robotid_sim.model.catalog as c; "
        "print(robotid_sim.__file__); print(c.find_urdf('irb140'))"
    )
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    for line in done.stdout.split():
        assert line.startswith(str(tmp_path / "site"))
