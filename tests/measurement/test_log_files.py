"""HDF5 and CSV forms of a log: nothing lost, everything damaged refused in one line."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.measurement.files import VERSION, load_log, save_log

CHANNELS = ("t", "q", "tau_meas", "dq", "tau_cmd")
HEADER = ("joint_names", "joint_units", "torque_time_offset", "period", "seed")


def assert_same_channels(loaded, log):
    for name in CHANNELS:
        one, two = getattr(loaded, name), getattr(log, name)
        assert (one is None) == (two is None), name
        if one is not None:
            assert one.tobytes() == two.tobytes(), name
    for name in HEADER:
        assert getattr(loaded, name) == getattr(log, name), name


def refused(path, error=(FileFormatError, LogError)):
    with pytest.raises(error) as caught:
        load_log(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


def test_hdf5_keeps_every_bit(tmp_path, log):
    save_log(log, tmp_path / "log.h5")
    loaded = load_log(tmp_path / "log.h5")
    assert_same_channels(loaded, log)
    assert loaded.provenance == log.provenance
    for name in ("q", "dq", "ddq", "tau"):
        assert getattr(loaded.truth, name).tobytes() == getattr(log.truth, name).tobytes()


@pytest.mark.parametrize("name", ["dq", "tau_cmd", "period", "seed", "truth"])
@pytest.mark.parametrize("file", ["log.h5", "log.csv"])
def test_what_is_absent_stays_absent(tmp_path, log, name, file):
    save_log(replace(log, **{name: None}), tmp_path / file)
    loaded = load_log(tmp_path / file)
    assert getattr(loaded, name) is None
    assert_same_channels(loaded, replace(log, **{name: None}))


def test_csv_keeps_every_bit_of_what_was_measured(tmp_path, log):
    save_log(log, tmp_path / "log.csv")
    loaded = load_log(tmp_path / "log.csv")
    assert_same_channels(loaded, log)
    assert loaded.truth is None
    assert loaded.provenance == {"file": "log.csv"}


def test_joint_names_may_hold_commas_and_blanks(tmp_path, log):
    odd = replace(log, joint_names=("a, b", "joint 2", 'the "third"'))
    for file in ("log.h5", "log.csv"):
        save_log(odd, tmp_path / file)
        assert load_log(tmp_path / file).joint_names == odd.joint_names


def test_hdf5_describes_its_units(tmp_path, log):
    save_log(log, tmp_path / "log.h5")
    with h5py.File(tmp_path / "log.h5") as file:
        assert file.attrs["schema"] == "robotid/log/2"
        assert list(file["q"].attrs["units"]) == ["rad", "rad", "m"]
        assert list(file["tau_meas"].attrs["units"]) == ["N m", "N m", "N"]
        assert list(file["truth"]["ddq"].attrs["units"]) == ["rad/s^2", "rad/s^2", "m/s^2"]


def test_saving_over_a_log_leaves_no_other_file(tmp_path, log):
    for file in ("log.h5", "log.csv"):
        save_log(log, tmp_path / file)
        save_log(log, tmp_path / file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "log.h5"]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_hdf5_is_refused(tmp_path, log, share):
    path = tmp_path / "log.h5"
    save_log(log, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    refused(path, FileFormatError)


def test_a_damaged_hdf5_is_refused(tmp_path, log):
    path = tmp_path / "log.h5"
    save_log(log, path)
    whole = bytearray(path.read_bytes())
    whole[:2000] = bytes(2000)
    path.write_bytes(whole)
    refused(path, FileFormatError)


@pytest.mark.parametrize("name", ["t", "q", "tau_meas", "truth/tau"])
def test_an_hdf5_without_a_needed_dataset_is_refused(tmp_path, log, name):
    path = tmp_path / "log.h5"
    save_log(log, path)
    with h5py.File(path, "a") as file:
        del file[name]
    assert name.split("/")[-1] in refused(path)


@pytest.mark.parametrize("name", ["joint_names", "joint_units", "schema"])
def test_an_hdf5_without_a_needed_attribute_is_refused(tmp_path, log, name):
    path = tmp_path / "log.h5"
    save_log(log, path)
    with h5py.File(path, "a") as file:
        del file.attrs[name]
    assert name in refused(path, FileFormatError)


def test_newer_and_other_schemas_are_refused(tmp_path, log):
    path = tmp_path / "log.h5"
    save_log(log, path)
    for tag, message in (
        (f"robotid/log/{VERSION + 1}", "newer"),
        ("robotid/robot/1", "no log file"),
    ):
        with h5py.File(path, "a") as file:
            file.attrs["schema"] = tag
        assert message in refused(path, FileFormatError)


def test_newer_csv_is_refused(tmp_path, log):
    path = edited_csv(tmp_path, log, "robotid/log/2", f"robotid/log/{VERSION + 1}")
    assert "newer" in refused(path, FileFormatError)


def test_a_missing_file_is_refused(tmp_path):
    assert "no such file" in refused(tmp_path / "absent.h5", FileFormatError)


def edited_csv(folder, log, old, new):
    path = folder / "log.csv"
    save_log(log, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def test_a_csv_cut_within_a_line_is_refused_by_its_sample(tmp_path, log):
    path = tmp_path / "log.csv"
    save_log(log, path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-1], ",".join(lines[-1].split(",")[:5])]))
    message = refused(path, FileFormatError)
    assert "sample 200 has 5 values instead of 13" in message
    assert "truncated" in message


def test_a_csv_with_a_gap_is_refused_by_channel_and_index(tmp_path, log):
    path = tmp_path / "log.csv"
    save_log(log, path)
    lines = path.read_text().splitlines()
    row = len(lines) - 10
    cells = lines[row].split(",")
    lines[row] = ",".join([cells[0], "nan", *cells[2:]])
    path.write_text("\n".join(lines))
    assert "q is not finite at index (190, 0)" in refused(path, LogError)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tau.arm", "torque.arm", "column 'tau.arm' is missing"),
        ("q.arm", "position.arm", "2 joints but 3 units"),
        ("dq.arm", "velocity.arm", "column 'dq.arm' is missing"),
        ("\nt,", "\ntime,", "needs 't'"),
        ("# joint_units: rad rad m", "# joint_units: rad rad", "3 joints but 2 units"),
        ("# period: 0.1", "# period: about 0.1", "is not a number"),
        ("# torque_time_offset: 0", "# torque_time_offset: late 0", "is not a number"),
    ],
)
def test_an_unusable_csv_is_refused_by_name(tmp_path, log, old, new, message):
    assert message in refused(edited_csv(tmp_path, log, old, new), LogError)


def test_text_among_the_samples_is_refused(tmp_path, log):
    path = tmp_path / "log.csv"
    save_log(log, path)
    path.write_text(path.read_text() + ",".join(["x"] * 13) + "\n")
    assert "'x' is no number" in refused(path, LogError)


@pytest.mark.parametrize(
    "content", [b"", b"# schema: robotid/log/1\n", b"t,q.a,tau.a\n", b"\xff\xfe"]
)
def test_a_csv_without_samples_is_refused(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    refused(path, FileFormatError)


def test_a_plain_csv_of_a_machine_is_read(tmp_path):
    path = tmp_path / "machine.csv"
    rows = [f"{0.01 * k:.2f}, {0.1 * k}, {2.0 * k}" for k in range(12)]
    path.write_text("\n".join(["t, q.a, tau.a", *rows]))
    log = load_log(path)
    assert (log.joint_names, log.joint_units) == (("a",), ("rad",))
    assert (log.torque_time_offset, log.period, log.dq) == (0.0, None, None)
    np.testing.assert_array_equal(log.tau_meas[:, 0], 2.0 * np.arange(12))


def test_a_csv_saved_by_a_spreadsheet_is_read(tmp_path, log):
    path = tmp_path / "log.csv"
    save_log(log, path)
    text = path.read_text().replace("\n", "\r\n")
    path.write_bytes(text.encode("utf-8-sig"))  # with the byte order mark that Excel writes
    assert_same_channels(load_log(path), log)


@pytest.fixture
def driven(log):
    """The log of a cell that measures currents and of a plant with friction of its own."""
    constants = np.array([12.5, 1.0 / 3.0, 200.0])
    truth = replace(log.truth, friction=np.tanh(log.truth.dq))
    return replace(log, current=log.tau_meas / constants, torque_constant=constants, truth=truth)


@pytest.mark.parametrize("file", ["log.h5", "log.csv"])
def test_currents_and_torque_constants_keep_every_bit(tmp_path, driven, file):
    save_log(driven, tmp_path / file)
    loaded = load_log(tmp_path / file)
    assert_same_channels(loaded, driven)
    assert loaded.current.tobytes() == driven.current.tobytes()
    assert loaded.torque_constant.tobytes() == driven.torque_constant.tobytes()


@pytest.mark.parametrize("file", ["log.h5", "log.csv"])
def test_torques_keep_their_own_times(tmp_path, log, file):
    late = np.random.default_rng(0).uniform(-0.5, 0.5, log.t.size) * log.dt
    uneven = replace(log, torque_times=log.t + late)
    save_log(uneven, tmp_path / file)
    assert_same_channels(load_log(tmp_path / file), uneven)
    assert load_log(tmp_path / file).torque_times.tobytes() == uneven.torque_times.tobytes()
    save_log(replace(log, torque_times=log.t + 2.0), tmp_path / file)
    assert "'torque_times' are not all within 0.2 s of 't'" in refused(tmp_path / file, LogError)


def test_friction_of_the_truth_keeps_every_bit_and_may_be_absent(tmp_path, log, driven):
    save_log(driven, tmp_path / "log.h5")
    loaded = load_log(tmp_path / "log.h5")
    assert loaded.truth.friction.tobytes() == driven.truth.friction.tobytes()
    with h5py.File(tmp_path / "log.h5") as file:
        assert list(file["truth"]["friction"].attrs["units"]) == ["N m", "N m", "N"]
        assert list(file["torque_constant"].attrs["units"]) == ["N m/A", "N m/A", "N/A"]
        assert list(file["current"].attrs["units"]) == ["A"] * 3
    save_log(log, tmp_path / "log.h5")
    assert load_log(tmp_path / "log.h5").truth.friction is None


def test_a_log_without_the_newer_channels_has_the_form_that_it_always_had(tmp_path, log):
    save_log(log, tmp_path / "log.h5")
    with h5py.File(tmp_path / "log.h5") as file:
        assert set(file) == {"t", "q", "dq", "tau_cmd", "tau_meas", "truth"}
        assert set(file["truth"]) == {"q", "dq", "ddq", "tau"}
        assert file.attrs["schema"] == "robotid/log/2"
    save_log(log, tmp_path / "log.csv")
    assert "torque_constant" not in (tmp_path / "log.csv").read_text()


def test_a_csv_with_currents_needs_no_torque(tmp_path):
    path = tmp_path / "machine.csv"
    rows = [f"{0.01 * k:.2f},{0.1 * k},{2.0 * k}" for k in range(12)]
    path.write_text("\n".join(["# torque_constant: 1.5", "t,q.a,current.a", *rows]))
    log = load_log(path)
    np.testing.assert_array_equal(log.tau_meas[:, 0], 3.0 * np.arange(12))
    path.write_text("\n".join(["t,q.a,current.a", *rows]))
    assert "tau.<joint>" in refused(path, LogError)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("# torque_constant: 1.0 2.0\n", "2 numbers for 3 joints"),
        ("# torque_constant: 1.0 2.0 much\n", "not a list of numbers"),
        ("", "only together"),
    ],
)
def test_torque_constants_of_a_csv_are_one_per_joint(tmp_path, driven, new, message):
    save_log(driven, tmp_path / "log.csv")
    old = next(x for x in (tmp_path / "log.csv").read_text().splitlines() if "torque_con" in x)
    assert message in refused(edited_csv(tmp_path, driven, old + "\n", new), LogError)


def test_a_cell_that_is_no_number_is_named_by_row_and_column(tmp_path, log):
    path = tmp_path / "log.csv"
    save_log(log, path)
    lines = path.read_text().splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("t,"))
    cells = lines[header + 3].split(",")
    lines[header + 3] = ",".join(["abc", *cells[1:]])
    path.write_text("\n".join(lines))
    assert "row 3, column 't': 'abc' is no number; correct it" in refused(path, LogError)


def test_a_log_that_is_no_hdf5_file_says_so(tmp_path):
    path = tmp_path / "log.h5"
    path.write_text("t,q.a\n0,0\n")
    assert "log.h5 is no HDF5 file" in refused(path, FileFormatError)


@pytest.mark.parametrize(("seed", "origin"), [(3, "virtual"), (None, "machine")])
@pytest.mark.parametrize("suffix", [".h5", ".csv"])
def test_origin_of_the_first_schema_follows_from_its_seed(log, tmp_path, seed, origin, suffix):
    path = tmp_path / f"log{suffix}"
    save_log(replace(log, seed=seed, origin="machine"), path)
    if suffix == ".csv":
        lines = path.read_text().replace("robotid/log/2", "robotid/log/1").splitlines()
        path.write_text("\n".join(line for line in lines if "origin" not in line) + "\n")
    else:
        with h5py.File(path, "r+") as file:
            file.attrs["schema"] = "robotid/log/1"
            del file.attrs["origin"]
    assert load_log(path).origin == origin
