"""Files named on the command line: no output destroys an input, no name is empty."""

import pytest
from robots import DATA

from robotid_sim.cli import run as run_command

ARM = (DATA / "2r.urdf").read_text()


def refused(done, *words: str) -> None:
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("robotid: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder, with files that commands may read."""
    (tmp_path / "arm.urdf").write_text(ARM)
    for name in ("a.csv", "b.csv", "parameters.csv", "t.json", "e.json", "arm.toml"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("identify arm.urdf a.csv -o ./a.csv", "a.csv"),
        ("identify arm.urdf a.csv -o new.json --urdf arm.urdf", "arm.urdf"),
        ("identify arm.urdf parameters.csv -o new.json", "parameters.csv"),
        ("identify arm.urdf a.csv -o new.json --parameters a.csv", "a.csv"),
        ("identify arm.urdf a.csv -o new.json --report new.json", "new.json"),
        ("simulate arm.urdf --trajectory t.json -o t.json", "t.json"),
        ("simulate arm.urdf --trajectory t.json --config arm.toml -o arm.toml", "arm.toml"),
        ("design arm.urdf -o arm.urdf", "arm.urdf"),
        ("export arm.urdf -o link.urdf", "link.urdf"),
        ("export irb140 --config arm.toml -o arm.urdf", "arm.toml"),
        ("check arm.urdf --repair -o arm.urdf", "arm.urdf"),
        ("payload arm.urdf a.csv b.csv -o b.csv", "b.csv"),
        ("validate arm.urdf e.json -o e.json", "e.json"),
        ("compare a.json e.json -o e.json", "e.json"),
        ("validate arm.urdf e.json --log a.csv --report a.csv", "a.csv"),
        ("view arm.urdf --log a.csv --record a.csv", "a.csv"),
        ("cad arm.urdf --total-mass 3 -o arm.urdf", "arm.urdf"),
        ("run arm.urdf --out . --nominal nominal.urdf", "nominal.urdf"),
    ],
)
def test_no_output_is_written_over_an_input(robotid, folder, words, file) -> None:
    (folder / "link.urdf").symlink_to("arm.urdf")
    (folder / "nominal.urdf").write_text(ARM)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused(robotid(*words.split()), "cannot write", file, "another name")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("run", "irb140", "--out", ""), "--out ''"),
        (("run", "irb140", "--out="), "--out="),
        (("check", ""), "''"),
    ],
)
def test_an_empty_name_is_refused(robotid, folder, words, shown) -> None:
    before = sorted(folder.iterdir())
    refused(robotid(*words), f"an empty value: {shown}; ")
    assert sorted(folder.iterdir()) == before


def test_ctrl_c_says_so_in_one_line(robotid, folder, monkeypatch) -> None:
    def stopped(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_command, "run_study", stopped)
    done = robotid("run", "arm.urdf", "--out", folder / "out")
    assert done.code == 130
    assert done.err == "robotid: interrupted; files that were written by then are complete\n"
