"""What cannot be imported is refused in one line that names it and the remedy."""

import sys

import numpy as np
import pytest
from foreign_forms import Form, arm, original, text, write, write_bag2
from rosbags.rosbag2 import StoragePlugin

from robotid_sim.errors import MissingExtraError, RobotIdError
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.importer import import_log


def changed(tmp_path, **columns):
    """Return a file whose columns are changed; None leaves one out."""
    own = Form.of(original(arm()), names=("t", "q.{joint}", "", "tau.{joint}")).columns()
    own |= columns
    kept = {name: column for name, column in own.items() if column is not None}
    return write(tmp_path / "a.csv", text(kept))


def backwards(tmp_path):
    t = np.arange(400) / 200.0
    t[200:] -= 0.5
    return changed(tmp_path, t=t)


def without_header(tmp_path):
    columns = Form.of(original(arm())).columns()
    return write(tmp_path / "a.csv", text(columns, names=False))


def bad_cell(tmp_path):
    path = changed(tmp_path)
    lines = path.read_text().splitlines()
    lines[30] = lines[30].replace(",", ",x", 1)
    return write(path, "\n".join(lines))


def damaged_number(tmp_path):
    q = original(arm()).q[:, 1].copy()
    q[30] = -1e308
    return changed(tmp_path, **{"q.elbow": q})


def cut_short(tmp_path):
    path = write_bag2(tmp_path / "bag", original(arm()), StoragePlugin.SQLITE3)
    storage = next(path.glob("*.db3"))
    storage.write_bytes(storage.read_bytes()[:5000])
    return path


def two_topics(tmp_path):
    topics = ("/arm/joint_states", "/hand/joint_states")
    return write_bag2(tmp_path / "bag", original(arm()), StoragePlugin.MCAP, topics=topics)


REFUSED = {
    "no-file": (lambda p: p / "none.csv", "none.csv: No such file"),
    "no-bag": (lambda p: p, "cannot read bag"),
    "damaged-number": (damaged_number, "position of elbow: a sample is 1e+308 in SI units"),
    "no-time": (lambda p: changed(p, t=None), "no column is the time; name it in a map as time ="),
    "no-torque": (
        lambda p: changed(p, **{"tau.elbow": None, "tau.shoulder": None}),
        "no columns are the torques of the joints shoulder, elbow; name them in a map",
    ),
    "no-position": (lambda p: changed(p, **{"q.elbow": None}), "no columns are the positions"),
    "only-current": (
        lambda p: changed(
            p,
            **{"tau.elbow": None, "tau.shoulder": None},
            **{f"actual_current_{k}": np.ones(400) for k in range(2)},
        ),
        "give torque_constant [N m/A] for every joint",
    ),
    "backwards": (backwards, "time goes back at sample 201, from 0.995 to 0.5 s"),
    "one-time": (lambda p: changed(p, t=np.ones(400)), "the time is the same in all samples"),
    "all-missing": (
        lambda p: changed(p, **{"q.elbow": np.full(400, np.nan)}),
        "only 0 of 400 samples have all of time, position and torque",
    ),
    "no-header": (without_header, "there is no header line: columns are numbered"),
    "no-number": (bad_cell, "column 'q.shoulder', sample 30"),
    "binary": (lambda p: _written(p / "a.bin", b"\0\1\2\3" * 100), "is of no form that can be"),
    "empty": (lambda p: _written(p / "a.csv", b""), "a.csv is empty"),
    "names-alone": (lambda p: _written(p / "a.csv", b"t,q.a,tau.a\n"), "no table of numbers"),
    "broken-npz": (lambda p: _written(p / "a.npz", b"PK\3\4abc"), "cannot read"),
    "broken-mat": (lambda p: _written(p / "a.mat", b"MATLAB 5.0 MAT-file"), "cannot read"),
    "broken-parquet": (lambda p: _written(p / "a.pq", b"PAR1abc"), "cannot read"),
    "broken-gzip": (lambda p: _written(p / "a.gz", b"\x1f\x8babc"), "cannot read"),
    "broken-ros1": (lambda p: _written(p / "a.bag", b"#ROSBAG V2.0\n"), "cannot read bag"),
    "broken-mcap": (lambda p: _written(p / "a.mcap", b"\x89MCAP0\r\nabc"), "cannot read bag"),
    "broken-db3": (cut_short, "cannot read bag"),
    "two-topics": (two_topics, "choose a --topic: /arm/joint_states, /hand/joint_states"),
    "no-effort": (
        lambda p: write_bag2(p / "b", original(arm()), StoragePlugin.MCAP, effort=False),
        "no columns are the torques",
    ),
    "wrong-unit": (
        lambda p: changed(p, **{"q.elbow": None, "q.elbow [mm]": np.ones(400)}),
        "joint 'elbow' is revolute, and 'mm' is no unit of its position",
    ),
}


def _written(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_imported_is_said_in_one_line(tmp_path, case) -> None:
    make, said = REFUSED[case]
    path = make(tmp_path)
    with pytest.raises(RobotIdError) as caught:
        import_log([path], arm())
    text_of_error = str(caught.value)
    assert said in text_of_error
    assert "\n" not in text_of_error


@pytest.mark.parametrize(
    ("package", "content"), [("rosbags", b"#ROSBAG V2.0\n"), ("pyarrow", b"PAR1")]
)
def test_a_missing_reader_is_said_with_how_to_install_it(
    tmp_path, monkeypatch, package, content
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(MissingExtraError, match=rf"{package}: pip install -e '.\[logs\]'"):
        import_log([_written(tmp_path / "a", content)], arm())


def test_one_of_several_topics_is_read(tmp_path) -> None:
    imported = import_log([two_topics(tmp_path)], arm(), topic="/arm/joint_states")
    assert np.array_equal(imported.log.q, original(arm()).q)
    with pytest.raises(RobotIdError, match="unknown topic of joint states"):
        import_log([tmp_path / "bag"], arm(), topic="/leg/joint_states")


def test_files_of_other_lengths_are_no_columns_of_one_log(tmp_path) -> None:
    for name, samples in (("motor_position", 400), ("motor_torque", 300)):
        write(tmp_path / f"{name}.csv", text({f"J{k}": np.arange(samples) for k in range(2)}))
    files = sorted(tmp_path.glob("*.csv"))
    with pytest.raises(RobotIdError, match="motor_position 400, motor_torque 300"):
        import_log(files, arm(), ImportMap(rate=200.0))
