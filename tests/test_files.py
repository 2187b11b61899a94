"""Writing without half-written files, and the schema tag of every file."""

import json
import os
from pathlib import Path

import pytest

from robotid_sim.errors import FileFormatError
from robotid_sim.files import (
    atomic_path,
    check_schema,
    make_folder,
    read_json,
    write_json,
    write_text,
)


def fail_inside(target: Path, error: BaseException) -> None:
    with atomic_path(target) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), OSError(28, "No space")])
def test_failure_leaves_no_file_and_keeps_the_old_one(tmp_path: Path, error) -> None:
    target = tmp_path / "result.json"
    with pytest.raises((type(error), FileFormatError)):
        fail_inside(target, error)
    assert list(tmp_path.iterdir()) == []
    target.write_text("old")
    with pytest.raises((type(error), FileFormatError)):
        fail_inside(target, error)
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    assert target.read_text() == "old"


def test_full_disk_is_one_line_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"cannot write .*out\.txt: No space"):
        fail_inside(tmp_path / "out.txt", OSError(28, "No space left on device"))


def test_success_replaces_the_file_and_keeps_its_suffix(tmp_path: Path) -> None:
    target = tmp_path / "log.h5"
    target.write_text("old")
    with atomic_path(target) as temporary:
        assert temporary.suffix == ".h5"
        assert temporary.parent == tmp_path
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["log.h5"]


def test_written_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write_text(tmp_path / "a.txt", "text")
    finally:
        os.umask(mask)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


def test_text_that_utf8_lacks_is_written_as_an_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "Grüße \ud800 \U0001f916")
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "Grüße \\ud800 \U0001f916"


def test_missing_folder_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as caught:
        write_text(tmp_path / "none" / "a.txt", "text")
    message = str(caught.value)
    assert "cannot write" in message
    assert "No such file or directory" in message
    assert "choose a folder that exists and is writable" in message
    assert "\n" not in message


def test_unwritable_output_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        FileFormatError, match=r"cannot write in folder .*; choose another"
    ) as caught:
        make_folder(tmp_path / "file" / "out")
    assert "\n" not in str(caught.value)
    # /proc takes no files, not even from root.
    with pytest.raises(FileFormatError, match="cannot write in folder /proc/robotid"):
        make_folder("/proc/robotid")


def test_output_folder_is_made_with_its_parents_and_left_empty(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "a" / "b")
    assert folder.is_dir()
    assert list(folder.iterdir()) == []
    assert make_folder(folder) == folder


def test_json_keeps_all_bits_and_puts_the_schema_first(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    content = {"value": 0.1 + 0.2, "list": [1e-300, -0.0], "text": "Grüße", "none": None}
    write_json(path, "toy", 1, content)
    assert read_json(path, "toy", 1) == content
    assert next(iter(json.loads(path.read_text(encoding="utf-8")))) == "schema"


def test_nan_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", "toy", 1, {"value": float("nan")})
    assert list(tmp_path.iterdir()) == []


TAGS = {
    "newer": ("robotid/toy/3", ("robotid/toy/3", "newer", "upgrade robotid_sim")),
    "other kind": (
        "robotid/log/1",
        ("robotid/log/1", "expected 'robotid/toy/2'", "not a robotid toy file"),
    ),
    "other program": ("acme/toy/1", ("acme/toy/1", "expected")),
    "no number": ("robotid/toy/one", ("robotid/toy/one", "expected")),
    "none": (None, ("None", "expected 'robotid/toy/2'")),
    "number": (2, ("'2'", "expected")),
}


@pytest.mark.parametrize("case", TAGS)
def test_schema_of_another_kind_or_newer_is_refused(case: str, tmp_path: Path) -> None:
    tag, words = TAGS[case]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"schema": tag}), encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        read_json(path, "toy", 2)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_older_schema_is_upgraded_step_by_step(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, "toy", 1, {"a": 1})
    upgrades = {
        1: lambda content: {**content, "b": content["a"] + 1},
        2: lambda content: {**content, "c": content["b"] + 1},
    }
    assert read_json(path, "toy", 3, upgrades) == {"a": 1, "b": 2, "c": 3}
    assert check_schema("robotid/toy/1", "toy", 3, path) == 1


NOT_JSON = {
    "empty": b"",
    "truncated": b'{"schema": ',
    "list": b"[1, 2]",
    "binary": b"\x00\x01",
    "no text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("case", NOT_JSON)
def test_file_that_is_no_json_object_is_one_line_with_path_and_kind(
    case: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(NOT_JSON[case])
    with pytest.raises(FileFormatError, match=r"x\.json is not a toy file: ") as caught:
        read_json(path, "toy", 1)
    assert "\n" not in str(caught.value)


def test_missing_file_is_one_line_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"cannot read toy file .*x\.json: No such file"):
        read_json(tmp_path / "x.json", "toy", 1)


def test_a_folder_without_a_name_is_refused() -> None:
    with pytest.raises(FileFormatError, match="the output folder has an empty name"):
        make_folder("")
