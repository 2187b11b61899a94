"""A result folder is of one run: whole, locked, checked; the user's files stay."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from robotid_sim import result_folder as module
from robotid_sim.errors import FileFormatError, OptionError, RobotIdError
from robotid_sim.result_folder import (
    INCOMPLETE_FOLDER,
    MANIFEST,
    RUN_FILE,
    Run,
    place_of,
    require_complete,
    require_of_run,
    require_usable,
    result_folder,
)

NAMES = ("a.txt", "figures")
STUDY = Run("study", "2r", "robotid run 2r")


def write(folder: Path, text: str, *more: str) -> None:
    with result_folder(folder, NAMES, STUDY) as stage:
        (stage / "a.txt").write_text(text)
        (stage / "figures").mkdir()
        for name in ("fit", *more):
            (stage / "figures" / f"{name}.svg").write_text(text)


def contents(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_a_run_replaces_the_one_before_and_leaves_the_users_files(tmp_path) -> None:
    write(tmp_path, "old", "gone")
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path, "new")
    files = {"a.txt": "new", "figures/fit.svg": "new", "notes.txt": "mine"}
    assert contents(tmp_path) == files
    assert set(require_complete(tmp_path).files or ()) == {"a.txt", "figures/fit.svg"}


def stop_half_way(folder: Path) -> None:
    with result_folder(folder, NAMES, STUDY) as stage:
        assert place_of(stage) == folder
        (stage / "a.txt").write_text("half")
        raise KeyboardInterrupt


def test_a_run_that_fails_leaves_the_one_before_and_what_it_wrote(tmp_path) -> None:
    write(tmp_path, "old")
    with pytest.raises(KeyboardInterrupt):
        stop_half_way(tmp_path)
    assert (tmp_path / "a.txt").read_text() == "old"
    assert (tmp_path / INCOMPLETE_FOLDER / "a.txt").read_text() == "half"
    require_complete(tmp_path)
    write(tmp_path, "new")
    assert not (tmp_path / INCOMPLETE_FOLDER).exists()


def test_a_first_run_that_fails_is_incomplete(tmp_path) -> None:
    with pytest.raises(ZeroDivisionError), result_folder(tmp_path, NAMES, STUDY):
        raise ZeroDivisionError
    with pytest.raises(FileFormatError, match=r"incomplete: .*repeat it: robotid run 2r"):
        require_complete(tmp_path)


STEPS = ("unlink", "replace", "rmdir", "mkdir")


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the move of the files end before its step of that number."""
    count = 0
    for name in STEPS:
        method = getattr(Path, name)

        def stepped(self, *args, method=method, **options):
            nonlocal count
            count += 1
            if count > step:
                raise SystemError("killed")  # nothing catches it
            return method(self, *args, **options)

        monkeypatch.setattr(Path, name, stepped)


@pytest.mark.parametrize("step", range(24))
def test_killed_at_any_step_a_folder_is_old_or_new_or_incomplete(
    tmp_path, monkeypatch, step
) -> None:
    write(tmp_path, "old", "gone")
    with monkeypatch.context() as patch:
        try:
            with result_folder(tmp_path, NAMES, STUDY) as stage:
                (stage / "a.txt").write_text("new")
                (stage / "figures").mkdir()
                (stage / "figures" / "fit.svg").write_text("new")
                killed_at(step, patch)
        except SystemError:
            pass
    if (tmp_path / MANIFEST).exists():
        files = require_complete(tmp_path).files or {}
        assert len({(tmp_path / name).read_text() for name in files}) == 1
    else:
        with pytest.raises(FileFormatError, match="is incomplete"):
            require_complete(tmp_path)
        with pytest.raises(FileFormatError, match="is incomplete"):
            require_of_run(tmp_path / "a.txt")
    write(tmp_path, "again")
    assert contents(tmp_path) == {"a.txt": "again", "figures/fit.svg": "again"}


def test_files_that_no_run_wrote_are_not_replaced(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(OptionError, match=r"a\.txt: it is of no run"):
        write(tmp_path, "new")
    assert contents(tmp_path) == {"a.txt": "mine"}


def test_a_folder_that_stands_where_a_file_goes_is_seen_before_the_run(tmp_path) -> None:
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(OptionError, match=r"cannot write .*a\.txt: it is of no run"):
        require_usable(tmp_path, NAMES, STUDY)
    (tmp_path / "a.txt").rmdir()
    (tmp_path / "figures").mkdir()  # which a run writes into
    require_usable(tmp_path, NAMES, STUDY)


def test_files_of_the_user_in_a_folder_stay_unless_they_are_in_the_way(tmp_path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "mine.svg").write_text("mine")
    write(tmp_path, "new")
    files = {"a.txt": "new", "figures/fit.svg": "new", "figures/mine.svg": "mine"}
    assert contents(tmp_path) == files
    with pytest.raises(OptionError, match=r"mine\.svg is of no run and in the way"):
        write(tmp_path, "newer", "mine")
    stopped = {
        name: text for name, text in contents(tmp_path).items() if INCOMPLETE_FOLDER not in name
    }
    assert stopped == files  # the earlier run, whole
    assert set(require_complete(tmp_path).files or ()) == {"a.txt", "figures/fit.svg"}


def write_a(folder: Path) -> None:
    with result_folder(folder, (), STUDY) as stage:
        (stage / "a.txt").write_text("new")


def test_a_file_that_comes_in_the_way_stays(tmp_path) -> None:
    with result_folder(tmp_path, NAMES, STUDY) as stage:
        (stage / "b.txt").write_text("new")
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(OptionError, match=r"a\.txt is of no run and in the way"):
        write_a(tmp_path)
    assert (tmp_path / "a.txt").read_text() == "mine"


@pytest.mark.parametrize("name", [MANIFEST, INCOMPLETE_FOLDER])
def test_files_of_other_programs_are_left_alone(tmp_path, name) -> None:
    place = tmp_path / name
    if name == INCOMPLETE_FOLDER:
        place.mkdir()
        place = place / "mine"
    place.write_text("{}")
    require_of_run(tmp_path / "a.txt")
    with pytest.raises(OptionError, match=r"it is of no run|is not a folder of a run"):
        write(tmp_path, "new")
    assert place.read_text() == "{}"


def test_results_of_another_robot_are_not_replaced(tmp_path) -> None:
    write(tmp_path, "old")
    other = Run("study", "irb140", "robotid run irb140")
    with (
        pytest.raises(OptionError, match="holds the study of 2r; choose another --out"),
        result_folder(tmp_path, NAMES, other),
    ):
        pass


def test_a_changed_or_missing_file_is_named(tmp_path) -> None:
    write(tmp_path, "old")
    (tmp_path / "a.txt").write_text("changed")
    for check in (lambda: require_complete(tmp_path), lambda: require_of_run(tmp_path / "a.txt")):
        with pytest.raises(FileFormatError, match=r"a\.txt is not as the run"):
            check()
    with pytest.raises(FileFormatError, match=r"a\.txt is not as the run"):
        write(tmp_path, "new")  # it may be the user's work
    (tmp_path / "a.txt").unlink()
    with pytest.raises(FileFormatError, match=r"a\.txt .* is missing"):
        require_complete(tmp_path)
    write(tmp_path, "new")


def test_a_folder_without_results_says_so(tmp_path) -> None:
    with pytest.raises(FileFormatError, match="no complete run"):
        require_complete(tmp_path)
    (tmp_path / MANIFEST).write_text(json.dumps({"schema": "robotid/manifest/1", "files": 3}))
    with pytest.raises(FileFormatError, match="no complete run"):
        require_complete(tmp_path)


HOLDER = """
import sys, time
from robotid_sim.result_folder import Run, result_folder
with result_folder(sys.argv[1], (), Run("study", "2r", "robotid run 2r")):
    print("held", flush=True)
    time.sleep(60.0)
"""


def test_a_second_run_says_who_writes_and_a_killed_one_lets_go(tmp_path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        said = rf"another run writes into .*: process {holder.pid} on .*, robotid run 2r; wait"
        with pytest.raises(OptionError, match=said):
            write(tmp_path, "new")
        holder.kill()
    write(tmp_path, "new")


def test_a_run_that_was_killed_at_its_first_file_is_cleared(tmp_path) -> None:
    stage = tmp_path / INCOMPLETE_FOLDER
    stage.mkdir()
    (stage / f".{RUN_FILE}.x1.json").write_text("{")
    write(tmp_path, "new")
    assert contents(tmp_path).keys() == {"a.txt", "figures/fit.svg"}


def test_too_little_space_is_seen_before_anything_is_written(tmp_path) -> None:
    with (
        pytest.raises(FileFormatError, match=r"MB of free space, and about 10+ MB are needed"),
        result_folder(tmp_path, NAMES, STUDY, space=1e18),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_would_be_refused_for_is_seen_without_it(tmp_path) -> None:
    other = Run("study", "irb140", "robotid run irb140")
    require_usable(tmp_path / "new" / "deep", NAMES, STUDY)
    assert list(tmp_path.iterdir()) == []
    write(tmp_path, "old")
    before = contents(tmp_path)
    require_usable(tmp_path, NAMES, STUDY)
    for path, run, space, words in (
        (tmp_path, other, 0.0, "holds the study of 2r"),
        (tmp_path, STUDY, 1e18, "MB of free space"),
        (tmp_path / "new", STUDY, 1e18, "MB of free space"),
        (tmp_path / "a.txt" / "out", STUDY, 0.0, "Not a directory; choose another --out"),
        ("", STUDY, 0.0, "empty name"),
    ):
        with pytest.raises(RobotIdError, match=words):
            require_usable(path, NAMES, run, space)
    assert contents(tmp_path) == before
    with (
        result_folder(tmp_path, NAMES, STUDY),
        pytest.raises(OptionError, match="another run writes into"),
    ):
        require_usable(tmp_path, NAMES, STUDY)


def test_a_file_system_without_locks_is_no_hindrance(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "fcntl", None)
    write(tmp_path, "new")
    require_complete(tmp_path)


@pytest.mark.parametrize("name", ["../victim.txt", "figures/../../victim.txt", "/{}", ".", ""])
def test_a_manifest_reaches_no_file_outside_of_its_folder(tmp_path, name) -> None:
    """Of a folder that somebody else made; there a run was stopped while its files moved."""
    victim, folder = tmp_path / "victim.txt", tmp_path / "out"
    victim.write_text("mine")
    stage = folder / INCOMPLETE_FOLDER
    stage.mkdir(parents=True)
    STUDY.write(stage / RUN_FILE)
    listed = name.format(str(victim).lstrip("/"))
    replace(STUDY, files={listed: "0"}).write(stage / "replaced.json")
    write(folder, "new")
    assert victim.read_text() == "mine"
    assert contents(folder)["a.txt"] == "new"


def test_nothing_behind_a_link_out_of_the_folder_is_removed(tmp_path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    (outside / "fit.svg").write_text("mine")
    stage = folder / INCOMPLETE_FOLDER
    stage.mkdir(parents=True)
    (folder / "linked").symlink_to(outside)
    STUDY.write(stage / RUN_FILE)
    replace(STUDY, files={"linked/fit.svg": "0"}).write(stage / "replaced.json")
    write(folder, "new")
    assert (outside / "fit.svg").read_text() == "mine"
