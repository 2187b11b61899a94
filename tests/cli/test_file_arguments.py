"""Files named on the command line: no output destroys an input, no name is empty."""

import os
import socket

import pytest
from results import sealed
from robots import DATA

from robotid_sim.cli.commands import COMMANDS
from robotid_sim.cli.file_roles import OUTPUT_PARAMETERS
from robotid_sim.cli.help import load_command
from robotid_sim.pipeline import study as pipeline_study
from robotid_sim.result_folder import MANIFEST

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
    tables = ("a.csv", "b.csv", "parameters.csv", "new-parameters.csv")
    for name in (*tables, "t.json", "e.json", "arm.toml"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("identify arm.urdf a.csv -o ./a.csv", "a.csv"),
        ("identify arm.urdf a.csv -o new.json --urdf arm.urdf", "arm.urdf"),
        ("identify arm.urdf parameters.csv -o estimate.json", "parameters.csv"),
        ("identify arm.urdf new-parameters.csv -o new.json", "new-parameters.csv"),
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
        ("design arm.urdf --prior t.json -o t.json", "t.json"),
        ("design arm.urdf -o a.json --csv a.csv --prior a.csv", "a.csv"),
        ("design arm.urdf -o a.csv --csv a.csv", "a.csv"),
        ("design arm.urdf --count 2 -o t.json --prior t-2.json", "t-2.json"),
        ("identify arm.urdf a.csv -o new.json --map arm.toml --urdf arm.toml", "arm.toml"),
        ("identify arm.urdf a.csv -o b.csv --hold-out b.csv", "b.csv"),
        ("identify arm.urdf a.csv -o hard.csv", "hard.csv"),
        ("validate arm.urdf e.json --task csv:a.csv -o a.csv", "a.csv"),
        ("simulate arm.urdf --trajectory t.json --config study.toml -o b.csv", "b.csv"),
        ("predict arm.urdf e.json a.csv -o e.json", "e.json"),
        ("import a.csv --robot arm.urdf -o a.csv", "a.csv"),
    ],
)
def test_no_output_is_written_over_an_input(robotid, folder, words, file) -> None:
    (folder / "link.urdf").symlink_to("arm.urdf")
    (folder / "nominal.urdf").write_text(ARM)
    (folder / "t-2.json").write_text("")
    (folder / "hard.csv").hardlink_to(folder / "a.csv")
    (folder / "study.toml").write_text('[control.tasks.csv]\npath = "b.csv"\n')
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused(robotid(*words.split()), "cannot write", file, "another name")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.fixture
def results(folder):
    """Return a folder with the results of one run, made by hand."""
    (folder / "out").mkdir()
    for name in ("estimate.json", "log.h5", "nominal.urdf"):
        (folder / "out" / name).write_text(ARM)
    return sealed(folder / "out")


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_with_the_name_of_no_robot_is_not_what_is_read(robotid, folder, exists) -> None:
    if exists:
        (folder / "nobody").mkdir()
    refused(robotid("run", "nobody", "--out", "nobody"), "no robot", "nobody")


@pytest.mark.parametrize(
    "words",
    [
        "identify arm.urdf a.csv -o out/estimate.json",
        "simulate arm.urdf --trajectory t.json -o out/log.h5",
        "export irb140 -o out/nominal.urdf",
    ],
)
def test_no_output_is_written_over_the_results_of_a_run(robotid, results, words) -> None:
    refused(
        robotid(*words.split()), "cannot write out/", "belongs to the study of 2r", "another name"
    )


def test_a_run_does_not_replace_what_it_reads(robotid, results) -> None:
    done = robotid("run", "arm.urdf", "--nominal", "out/nominal.urdf", "--out", "out")
    refused(done, "out/nominal.urdf is read by this command", "another --out")


@pytest.mark.parametrize(
    "words",
    [
        "validate arm.urdf out/estimate.json",
        "compare out/estimate.json e.json",
        "identify arm.urdf out/log.h5 -o new.json",
        "view arm.urdf --log out/log.h5 --record a.png",
        "simulate arm.urdf --nominal out/nominal.urdf --trajectory t.json -o new.h5",
        "view arm.urdf --result out --record a.png",
        "view out --record a.png",
    ],
)
def test_mixed_results_are_refused(robotid, results, words) -> None:
    for path in results.iterdir():
        if path.name != MANIFEST:
            path.write_text("of another run")
    refused(robotid(*words.split()), "is not as the run in this folder wrote it")


def test_every_path_of_a_command_is_known_to_be_read_or_written() -> None:
    read = {"config", "nominal", "trajectory", "log", "loaded", "estimate", "estimates", "prior"}
    read |= {"mapping", "source", "result"}
    names = {
        parameter.name
        for command in COMMANDS
        for parameter in load_command(command).params
        if any(word in str(parameter.metavar).split() for word in ("FILE", "FOLDER", "DIR"))
    }
    assert names <= read | set(OUTPUT_PARAMETERS)


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

    monkeypatch.setattr(pipeline_study, "StudyStages", stopped)
    done = robotid("run", "arm.urdf", "--out", folder / "out")
    assert done.code == 130
    assert done.err == "robotid: interrupted; files that were written by then are complete\n"


@pytest.fixture
def places(folder):
    """Return the working folder with places that no file may replace."""
    (folder / "there").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "device").symlink_to("/dev/full")
    with socket.socket(socket.AF_UNIX) as own:
        own.bind("socket")  # by its name, for its path may be too long
    return folder


INTO_FILES = (
    "identify arm.urdf a.csv -o {0}",
    "identify arm.urdf a.csv -o new.json --urdf {0}",
    "identify arm.urdf a.csv -o new.json --parameters {0}",
    "identify arm.urdf a.csv -o new.json --report {0}",
    "import a.csv --robot arm.urdf -o new.h5 --write-map {0}",
    "design arm.urdf -o new.json --csv {0}",
    "export arm.urdf --format mjcf -o {0}",
)
INTO_FOLDERS = (
    "run arm.urdf --quick --out {0}",
    "campaign run encoder --out {0}",
    "reproduce twolink-elpidso --quick --out {0}",
    "identify arm.urdf a.csv -o new.json --posterior-samples 2 {0}",
)
SPECIAL = ("pipe", "device", "socket")


@pytest.mark.parametrize(
    ("words", "place"),
    [
        *((words, place) for words in INTO_FILES for place in (*SPECIAL, "there")),
        *((words, place) for words in INTO_FOLDERS for place in SPECIAL),
        *(("view arm.urdf --record {0}", place) for place in SPECIAL),
    ],
)
def test_what_is_no_regular_file_is_no_output(robotid, places, words, place) -> None:
    before = {path.name: path.lstat().st_mode for path in places.iterdir()}
    done = robotid(*words.format(place).split())
    refused(done, f"cannot write {place}")
    assert {path.name: path.lstat().st_mode for path in places.iterdir()} == before


def test_a_link_is_replaced_and_not_what_it_leads_to(ran, folder) -> None:
    (folder / "other.xml").write_text("mine")
    (folder / "new.xml").symlink_to("other.xml")
    ran("export", "arm.urdf", "-o", "new.xml")
    assert (folder / "other.xml").read_text() == "mine"
    assert not (folder / "new.xml").is_symlink()
