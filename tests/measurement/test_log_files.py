"""Logs and their HDF5 and CSV forms: nothing lost, damage is refused, noise of a loop is told."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from robotid_sim.errors import FileFormatError, LogError, ShapeError
from robotid_sim.measurement.files import SCHEMA_VERSION, load_log, save_log
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.loop_noise import MIN_NOISE_SAMPLES, loop_noise
from robotid_sim.measurement.sensors import PRESETS, measure
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.config import load_config

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


@pytest.mark.parametrize(
    ("name", "error"),
    [
        *((name, (FileFormatError, LogError)) for name in ("t", "q", "tau_meas", "truth/tau")),
        *((name, FileFormatError) for name in ("joint_names", "joint_units", "schema")),
    ],
)
def test_an_hdf5_without_a_needed_dataset_or_attribute_is_refused(tmp_path, log, name, error):
    path = tmp_path / "log.h5"
    save_log(log, path)
    with h5py.File(path, "a") as file:
        del (file if name in file else file.attrs)[name]
    assert name.split("/")[-1] in refused(path, error)


def test_newer_and_other_schemas_are_refused(tmp_path, log):
    path = tmp_path / "log.h5"
    save_log(log, path)
    for tag, message in (
        (f"robotid/log/{SCHEMA_VERSION + 1}", "newer"),
        ("robotid/robot/1", "not a robotid log file"),
    ):
        with h5py.File(path, "a") as file:
            file.attrs["schema"] = tag
        assert message in refused(path, FileFormatError)


def test_newer_csv_is_refused(tmp_path, log):
    path = edited_csv(tmp_path, log, "robotid/log/2", f"robotid/log/{SCHEMA_VERSION + 1}")
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


@pytest.mark.parametrize(
    ("sample", "column", "cell", "message"),
    [
        (190, 1, "nan", "q is not finite at index (190, 0)"),
        (2, 0, "abc", "row 3, column 't': 'abc' is not a number; correct it"),
    ],
)
def test_a_bad_cell_of_a_csv_is_named_by_its_place(tmp_path, log, sample, column, cell, message):
    path = tmp_path / "log.csv"
    save_log(log, path)
    lines = path.read_text().splitlines()
    row = next(k for k, line in enumerate(lines) if line.startswith("t,")) + 1 + sample
    cells = lines[row].split(",")
    cells[column] = cell
    lines[row] = ",".join(cells)
    path.write_text("\n".join(lines))
    assert message in refused(path, LogError)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tau.arm", "torque.arm", "column 'tau.arm' is missing"),
        ("q.arm", "position.arm", "2 joints have 3 units"),
        ("dq.arm", "velocity.arm", "column 'dq.arm' is missing"),
        ("\nt,", "\ntime,", "needs 't'"),
        ("# joint_units: rad rad m", "# joint_units: rad rad", "3 joints have 2 units"),
        ("# period: 0.1", "# period: about 0.1", "is not a number"),
        ("# torque_time_offset: 0", "# torque_time_offset: late 0", "is not a number"),
    ],
)
def test_an_unusable_csv_is_refused_by_name(tmp_path, log, old, new, message):
    assert message in refused(edited_csv(tmp_path, log, old, new), LogError)


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
    assert "'torque_times' must be within 0.2 s of 't'" in refused(tmp_path / file, LogError)


def test_torques_before_resampling_keep_every_bit_in_hdf5(tmp_path, log):
    times = np.append(np.delete(log.t, [3, 9]), log.t[-1] + 0.01)
    torques = np.repeat(log.tau_meas[:1], times.size, axis=0)
    resampled = replace(log, recorded_times=times, recorded_torques=torques)
    save_log(resampled, tmp_path / "log.h5")
    loaded = load_log(tmp_path / "log.h5")
    assert loaded.recorded_times.tobytes() == times.tobytes()
    assert loaded.recorded_torques.tobytes() == torques.tobytes()
    with pytest.raises(LogError, match="recorded_torques"):
        replace(log, recorded_torques=torques)


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
    log = load_log(path)
    assert log.is_in_amperes
    np.testing.assert_array_equal(log.tau_meas, log.current)
    path.write_text("\n".join(["t,q.a", *(row.rpartition(",")[0] for row in rows)]))
    assert "tau.<joint>" in refused(path, LogError)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("# torque_constant: 1.0 2.0\n", "2 numbers for 3 joints"),
        ("# torque_constant: 1.0 2.0 much\n", "not a list of numbers"),
        ("", "give both"),
    ],
)
def test_torque_constants_of_a_csv_are_one_per_joint(tmp_path, driven, new, message):
    save_log(driven, tmp_path / "log.csv")
    old = next(x for x in (tmp_path / "log.csv").read_text().splitlines() if "torque_con" in x)
    assert message in refused(edited_csv(tmp_path, driven, old + "\n", new), LogError)


def test_a_log_that_is_no_hdf5_file_says_so(tmp_path):
    path = tmp_path / "log.h5"
    path.write_text("t,q.a\n0,0\n")
    assert "log.h5 is not a complete HDF5 file" in refused(path, FileFormatError)


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


def one_bad(values, channel, index, value):
    array = values[channel].copy()
    array[index] = value
    return {**values, channel: array}


def refused_log(values):
    with pytest.raises(LogError) as caught:
        Log(**values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("channel", ["q", "tau_meas", "dq", "tau_cmd"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_by_channel_and_index(log_values, channel, value):
    message = refused_log(one_bad(log_values, channel, (17, 2), value))
    assert f"{channel} is not finite at index (17, 2)" in message


def test_time_that_is_not_finite_is_named(log_values):
    assert "t is not finite at index (5,)" in refused_log(one_bad(log_values, "t", 5, np.nan))


def test_a_gap_in_time_is_named_by_its_time(log_values):
    t = log_values["t"].copy()
    t[100:] += 1e-3  # one sample lost after t[99] = 0.049 s
    assert "t = 0.049 s" in refused_log({**log_values, "t": t})


def test_time_may_jitter_by_rounding_but_not_by_more(log_values):
    jitter = np.random.default_rng(0).uniform(-1.0, 1.0, 200) * 1e-3
    Log(**{**log_values, "t": log_values["t"] + 1e-7 * jitter})  # steps within 1e-6 of dt
    assert "uniformly" in refused_log({**log_values, "t": log_values["t"] + 1e-2 * jitter})


@pytest.mark.parametrize("factor", [-1.0, 0.0])
def test_time_must_advance(log_values, factor):
    assert "does not advance" in refused_log({**log_values, "t": factor * log_values["t"]})


def test_nine_samples_are_too_few(log_values):
    channels = ("t", "q", "tau_meas", "dq", "tau_cmd")
    short = {name: log_values[name][:9] for name in channels}
    assert "only 9 samples" in refused_log({**log_values, **short, "truth": None})


@pytest.mark.parametrize("channel", ["q", "tau_meas", "dq", "tau_cmd"])
def test_every_channel_needs_one_column_per_joint_and_one_row_per_sample(log_values, channel):
    for wrong in (log_values[channel][:, :2], log_values[channel][:-1], np.zeros(200)):
        assert f"{channel} has shape" in refused_log({**log_values, channel: wrong})


def test_text_is_no_channel(log_values):
    assert "q is not an array of numbers" in refused_log({**log_values, "q": [["a"] * 3] * 200})


def test_every_joint_needs_a_unit(log_values):
    assert "3 joints have 2 units" in refused_log({**log_values, "joint_units": ("rad", "m")})


def test_optional_channels_may_be_absent(log_values):
    log = Log(**{**log_values, "dq": None, "tau_cmd": None, "truth": None, "period": None})
    assert log.dq is None
    assert log.dof == 3


def test_sample_time_is_the_mean_step(log):
    assert log.dt == pytest.approx(1e-3, rel=1e-12)  # rounding of t


@pytest.mark.parametrize("channel", ["t", "q", "tau_meas", "dq", "tau_cmd"])
def test_channels_are_read_only_copies(log_values, channel):
    log = Log(**log_values)
    before = log_values[channel].copy()
    log_values[channel][0] = 99.0
    np.testing.assert_array_equal(getattr(log, channel), before)
    with pytest.raises(ValueError, match="read-only"):
        getattr(log, channel)[0] = 0.0


@pytest.mark.parametrize("channel", ["q", "dq", "ddq", "tau"])
def test_truth_is_read_only(log, channel):
    with pytest.raises(ValueError, match="read-only"):
        getattr(log.truth, channel)[0] = 0.0


def test_a_log_is_of_the_robot_with_its_joints(irb140, iiwa, arm):
    t, q = np.arange(20) * 1e-3, np.zeros((20, 6))
    log = Log(t, q, q, irb140.joint_names, irb140.joint_units)
    assert log.require_robot(irb140) is log
    with pytest.raises(LogError, match="a different robot") as caught:
        log.require_robot(arm)
    assert "shoulder [rad]" in str(caught.value)
    assert f"{irb140.joint_names[0]} [rad]" in str(caught.value)
    with pytest.raises(LogError, match=iiwa.name):
        log.require_robot(iiwa)


def test_a_log_in_other_units_is_of_another_robot(irb140):
    t, q = np.arange(20) * 1e-3, np.zeros((20, 6))
    log = Log(t, q, q, irb140.joint_names, ("rad",) * 5 + ("m",))
    with pytest.raises(LogError, match=r"\[m\]"):
        log.require_robot(irb140)


def test_currents_come_with_a_torque_constant_per_joint(log_values):
    current = log_values["tau_meas"] / 2.0
    both = {**log_values, "current": current, "torque_constant": [2.0, 2.0, 2.0]}
    assert Log(**both).current.shape == (200, 3)
    assert "give both" in refused_log({**both, "torque_constant": None})
    assert "give both" in refused_log({**both, "current": None})
    assert "torque_constant has shape" in refused_log({**both, "torque_constant": [2.0, 2.0]})
    assert "current has shape" in refused_log({**both, "current": current[:-1]})
    assert "current is not finite" in refused_log(one_bad(both, "current", (17, 2), np.nan))


def test_friction_of_the_truth_has_the_shape_of_the_truth(log_values):
    truth = log_values["truth"]
    assert replace(truth, friction=0.1 * truth.tau).friction.shape == (200, 3)
    with pytest.raises(ShapeError, match="truth friction"):
        replace(truth, friction=truth.tau[:-1])


def noisy(log, position, torque, *, gain=0.0, delay=0, seed=0):
    """Return a log with white noise of both channels, and torques that answer that of positions."""
    rng = np.random.default_rng(seed)
    n = position * rng.standard_normal(log.q.shape)
    answer = np.vstack([np.zeros((delay, log.dof)), n[: len(n) - delay]])
    tau = log.tau_meas + torque * rng.standard_normal(log.q.shape) - gain * answer
    return replace(log, q=log.q + n, tau_meas=tau)


@pytest.fixture(scope="module")
def clean(exact, arm) -> Log:
    """Return a log of 5 s at 1 kHz without noise."""
    made = exact(arm, 1000.0, period=5.0)
    q, dq, ddq = made.state
    return Log(
        t=np.arange(len(q)) * made.dt,
        q=q,
        tau_meas=made.tau,
        joint_names=arm.joint_names,
        joint_units=arm.joint_units,
        truth=Truth(q, dq, ddq, made.tau),
    )


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_torques_that_answer_noise_are_found_with_their_joint(clean, delay) -> None:
    gains = np.array([0.0, 2000.0])
    found = loop_noise(noisy(clean, 1e-4, 0.1, gain=gains, delay=delay))
    assert found is not None
    assert found.joint == clean.joint_names[1]
    assert found.correlation == pytest.approx(0.2 / np.hypot(0.2, 0.1), abs=0.05)
    assert found.joint in found.sentence()


def test_the_share_is_that_of_the_torque_noise(clean) -> None:
    found = loop_noise(noisy(clean, 1e-4, 0.1, gain=2000.0))
    size = np.sqrt((clean.tau_meas**2).mean(axis=0))
    assert found is not None
    assert found.share == pytest.approx(np.median(np.hypot(0.1, 0.2) / size), rel=0.05)


def test_independent_noise_is_no_loop(clean) -> None:
    assert not any(loop_noise(noisy(clean, 1e-4, 0.1, seed=seed)) for seed in range(20))


@pytest.mark.parametrize("preset", PRESETS)
def test_sensors_outside_of_the_loop_are_no_loop(clean, preset) -> None:
    sensors = build_sensors(load_config(None, {"preset": preset}))
    for seed in range(5):
        assert loop_noise(measure(clean, sensors, np.random.default_rng(seed))) is None


@pytest.mark.parametrize("step", [1e-6, 1e-4, 1e-2])
def test_quantized_positions_say_nothing(clean, step) -> None:
    assert loop_noise(replace(clean, q=np.round(clean.q / step) * step)) is None


def test_a_short_log_says_nothing(clean) -> None:
    shaken = noisy(clean, 1e-4, 0.1, gain=2000.0)
    assert loop_noise(shaken) is not None
    assert loop_noise(shaken.cut(slice(0, MIN_NOISE_SAMPLES - 1))) is None
