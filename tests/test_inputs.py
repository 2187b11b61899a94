"""What others wrote is read as a regular file of bounded size, below the folder of its owner."""

import os
from pathlib import Path

import pytest

import robotid_sim as rid
from robotid_sim.errors import FileFormatError, PluginError, RobotIdError
from robotid_sim.estimation.estimate import load_estimates
from robotid_sim.importing.import_map import load_map
from robotid_sim.importing.reading import read_log
from robotid_sim.inputs import (
    MAX_TOML_SIZE,
    is_reference_allowed,
    open_file,
    read_beside,
    read_file,
    read_toml,
    require_file,
    require_plausible_size,
    require_reference_allowed,
)
from robotid_sim.trajectory.trajectory_files import load_trajectory


@pytest.fixture
def pipe(tmp_path) -> Path:
    """Return a pipe that nobody writes into."""
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path / "pipe.csv"


@pytest.mark.parametrize(
    "read",
    [
        read_file,
        open_file,
        require_file,
        lambda path: read_toml(path, "configuration"),
        rid.load_config,
        load_map,
        rid.load_log,
        rid.load_robot,
        load_trajectory,
        load_estimates,
        lambda path: read_log(path, rid.load_robot("twolink")),
    ],
)
def test_a_pipe_or_device_is_refused_at_once(pipe, read) -> None:
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(RobotIdError, match=r"is a device or a pipe|no robot '"):
            read(path)


def test_a_file_is_read_up_to_a_size(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5) == b"12345"
    with pytest.raises(
        FileFormatError, match=r"a has 5e-06 MB; files of its kind may have at most 4e-06 MB"
    ):
        read_file(tmp_path / "a", 4)
    with pytest.raises(FileFormatError, match="does not end after"):
        read_file("/proc/self/status", 10)  # states no size
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FileFormatError, match=r"holes has 1\.1e\+03 GB, nearly all of it sparse"):
        require_file(tmp_path / "holes")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "x" * MAX_TOML_SIZE, "files of its kind may have at most 1 MB"),
        (".".join("a" * 102) + " = 1", "a line has more than 100 dots"),
        ("a." * 30 + "b = 1", "tables are deeper than 20 levels"),
        ("a = " + "[" * 3000, "cannot read map"),
        ("a = 0x" + "f" * 2000, "a whole number has more than 1000 digits"),
        ("a = 1\na = 2", "cannot read map"),
    ],
)
def test_toml_is_no_larger_or_deeper_than_what_people_write(tmp_path, text, said) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(FileFormatError, match=said):
        read_toml(tmp_path / "a.toml", "map")


def test_rows_of_numbers_and_sentences_are_no_tables(tmp_path) -> None:
    (tmp_path / "a.toml").write_text(f"a = [{'[1.5, -2.5e3], ' * 500}]\nb = '{'So. ' * 90}'\n")
    assert len(read_toml(tmp_path / "a.toml", "map")["a"]) == 500


def test_a_file_names_what_is_below_its_folder(tmp_path, monkeypatch) -> None:
    owner, above = tmp_path / "own" / "a.urdf", tmp_path / "b.stl"
    owner.parent.mkdir()
    for path in (owner, above, owner.parent / "b.stl"):
        path.touch()
    (owner.parent / "out.stl").symlink_to(above)
    (owner.parent / "in.stl").symlink_to(owner.parent / "b.stl")
    names = {"b.stl": True, "in.stl": True, "none.stl": True, "out.stl": False, "../b.stl": False}
    assert {name: is_reference_allowed(owner, owner.parent / name) for name in names} == names
    with pytest.raises(FileFormatError, match=r"the mesh leads out of the folder of .*a\.urdf; "):
        require_reference_allowed(owner, owner.parent / "out.stl", "the mesh")
    linked = tmp_path / "linked.urdf"
    linked.symlink_to(owner)
    assert is_reference_allowed(linked, owner.parent / "b.stl")  # beside the file itself
    assert is_reference_allowed(linked, above)  # beside the link
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path}")
    require_reference_allowed(owner, owner.parent / "out.stl", "the mesh")


def test_what_goes_with_a_file_is_beside_it(tmp_path) -> None:
    owner = tmp_path / "own" / "a.urdf"
    owner.parent.mkdir()
    assert read_beside(owner, "robot.toml") == {}
    (tmp_path / "robot.toml").write_text("a = 1")
    (owner.parent / "robot.toml").symlink_to("../robot.toml")
    with pytest.raises(FileFormatError, match="leads out of the folder"):
        read_beside(owner, "robot.toml")


def test_a_file_holds_what_its_size_warrants(tmp_path) -> None:
    (tmp_path / "a.npz").write_bytes(bytes(10_000_000))
    require_plausible_size(0.9e9, tmp_path / "a.npz")
    with pytest.raises(FileFormatError, match=r"its content claims 2 GB in a file of 10 MB"):
        require_plausible_size(2e9, tmp_path / "a.npz")


def test_a_plugin_that_a_configuration_names_needs_trust(tmp_path) -> None:
    (tmp_path / "part.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path)!r}, 'ran').touch()\n"
    )
    (tmp_path / "study.toml").write_text('plugins = ["part.py"]\n')
    with pytest.raises(PluginError, match=r"study\.toml names the plugin part\.py, which is code"):
        rid.load_config(tmp_path / "study.toml")
    assert not (tmp_path / "ran").exists()
    assert rid.load_config(tmp_path / "study.toml", trust_plugins=True).plugins == ("part.py",)
    (tmp_path / "ran").unlink()  # that shows that it was run
    rid.load_config(tmp_path / "study.toml")  # what is loaded needs no trust
