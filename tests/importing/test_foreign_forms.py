"""One log in many foreign forms: the import gives its positions and torques again."""

from dataclasses import replace

import numpy as np
import pytest
from foreign_forms import (
    DEGREE,
    Form,
    arm,
    original,
    storage_file,
    text,
    write,
    write_bag1,
    write_bag2,
    write_dynamic,
    write_hdf5,
    write_mat,
    write_parquet,
)
from rosbags.rosbag2 import StoragePlugin

from robotid_sim.errors import RobotIdError
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.importer import import_log
from robotid_sim.measurement.files import save_log
from robotid_sim.model.catalog import load_robot

ROUNDED = 1e-12
"""Of a unit that is no power of two, and back."""

RATIOS = {"shoulder": 100.0, "elbow": -50.0}

GEARS = {"rate": 200.0, "joints": {name: {"gear_ratio": ratio} for name, ratio in RATIOS.items()}}
"""What a map says of `motors`."""


def ours(log, folder):
    save_log(log, folder / "a.h5")
    return folder / "a.h5"


def motors(log, folder):
    """Write motor positions and torques of gears 100 and -50, as two files with equal headers."""
    ratios = np.array(list(RATIOS.values()))
    columns = {"position": log.q * ratios, "torque": log.tau_meas / ratios}
    return [
        write(
            folder / f"motor_{name}.csv.gz", text({f"Joint_{k + 1}": array[:, k] for k in range(2)})
        )
        for name, array in columns.items()
    ]


def named(log, names, **changes):
    return Form.of(log, names=names, **changes).columns()


def npz(log, path):
    np.savez(path, time=log.t, q=log.q, dq=log.dq, tau=log.tau_meas, gains=np.ones(3))
    return path


def vendor(log, folder):
    """Write the currents too, which are no torques."""
    names = ("timestamp", "actual_q_{k}", "actual_qd_{k}", "tau_J_{k}")
    more = {f"target_q_{k}": 0.0 * log.t for k in range(2)}
    more |= {f"tau_ext_hat_filtered_{k}": 0.0 * log.t for k in range(2)}
    more |= {f"actual_current_{k}": 0.0 * log.t + k for k in range(2)}
    return write(folder / "a.csv", text(named(log, names, more=more), delimiter=" "))


def units_below(log, folder):
    columns = named(log, ("Time", "q_{k1}", "dq_{k1}", "tau_{k1}"))
    columns = {k: v / DEGREE if "q_" in k else v for k, v in columns.items()}
    lines = text(columns, delimiter=";").splitlines()
    lines.insert(1, "s;deg;deg;deg/s;deg/s;Nm;Nm")
    return write(folder / "a.csv", "\n".join(lines) + "\n")


def degrees(log, names):
    return Form(log.t, log.q / DEGREE, log.dq / DEGREE, log.tau_meas, log.joint_names, names)


def commented(log, folder):
    """Write the names in a comment line, as `numpy.savetxt` does."""
    columns = named(log, ("%time", "q_{k1}", "", "effort_{k1}"))
    body = text(columns, names=False, delimiter=" ")
    return write(folder / "a.txt", f"# of a machine\n# {' '.join(columns)}\n{body}")


def reordered(log, folder):
    columns = dict(
        reversed(named(log, ("t", "{joint}_pos", "{joint}_vel", "{joint}_torque")).items())
    )
    return write(folder / "a.csv", text(columns))


def printed_by_ros(log, folder):
    """Write joint states as ROS 1 prints them: stamps in ns, names as text, in another order."""
    order = [1, 0]
    joints = [log.joint_names[k] for k in order]
    names = ("%time", "field.position{k}", "field.velocity{k}", "field.effort{k}")
    form = Form(log.t, log.q[:, order], log.dq[:, order], log.tau_meas[:, order], joints, names)
    form.t = np.rint(1e9 * log.t)
    header, *rows = text(form.columns()).splitlines()
    lines = [f"{header},field.name0,field.name1", *(f"{row},{','.join(joints)}" for row in rows)]
    return write(folder / "a.csv", "\n".join(lines) + "\n")


def in_text(names, suffix=".csv", **form):
    return lambda log, folder: write(folder / f"a{suffix}", text(named(log, names), **form))


def in_time(scale, name, **changes):
    def written(log, folder):
        form = Form.of(log, names=(name, "q{k1}", "dq{k1}", "tau{k1}"))
        form.t = np.rint(log.t * scale) + changes.get("start", 0.0)
        return write(folder / "a.csv", text(form.columns()))

    return written


def in_degrees(names):
    return lambda log, folder: write(folder / "a.csv", text(degrees(log, names).columns()))


def with_text(log, folder):
    lines = text(named(log, ("t", "q.{joint}", "", "tau.{joint}"))).splitlines()
    lines = [f"{line},{'mode' if k == 0 else 'RUN'}" for k, line in enumerate(lines)]
    return write(folder / "a.csv", "\n".join(lines) + "\n0.1,0.2\n")


def newton_millimeters(log, folder):
    form = Form.of(log, names=("t", "q.{joint}", "", "tau.{joint} [Nmm]"))
    form.tau = 1e3 * log.tau_meas
    return write(folder / "a.csv", text(form.columns()))


def bag(plugin, suffix=None, **options):
    def written(log, folder):
        path = write_bag2(folder / "bag", log, plugin, **options)
        return storage_file(path, suffix) if suffix else path

    return written


EXACT = {
    "our-own": ours,
    "joint-names": in_text(("t", "q.{joint}", "dq.{joint}", "tau.{joint}")),
    "quantity-behind": in_text(("time", "{joint}.position", "{joint}.velocity", "{joint}.effort")),
    "camel-case": in_text(("Time", "jointPosition{k1}", "jointVelocity{k1}", "jointTorque{k1}")),
    "upper-case": in_text(("TIME", "POS_{joint}", "", "TRQ_{joint}")),
    "numbers-from-1": in_text(("t", "q1_{k1}", "", "tau_J{k1}")),
    "semicolon-comma": in_text(("t", "q.{joint}", "", "tau.{joint}"), delimiter=";", comma=True),
    "tab": in_text(("t", "q_{k}", "dq_{k}", "tau_{k}"), suffix=".tsv", delimiter="\t"),
    "gzip": in_text(("t", "q.{joint}", "", "tau.{joint}"), suffix=".csv.gz"),
    "header-comment": commented,
    "column-order": reordered,
    "text-column": with_text,
    "vendor": vendor,
    "printed-by-ros": printed_by_ros,
    "npz": lambda log, folder: npz(log, folder / "a.npz"),
    "mat": lambda log, folder: write_mat(folder / "a.mat", log),
    "hdf5": lambda log, folder: write_hdf5(folder / "a.h5", log),
    "mat-7.3": lambda log, folder: write_hdf5(folder / "a.mat", log, transposed=True),
    "parquet": lambda log, folder: write_parquet(folder / "a.parquet", Form.of(log).columns()),
    "db3": bag(StoragePlugin.SQLITE3),
    "db3-alone": bag(StoragePlugin.SQLITE3, ".db3"),
    "mcap": bag(StoragePlugin.MCAP),
    "mcap-alone": bag(StoragePlugin.MCAP, ".mcap"),
    "recording-time": bag(StoragePlugin.MCAP, stamped=False),
    "ros1": lambda log, folder: write_bag1(folder / "a.bag", log),
    "dynamic": lambda log, folder: write_dynamic(folder / "bag", log),
    "milliseconds": in_time(1e3, "time_ms"),
    "microseconds-by-size": in_time(1e6, "timestamp"),
    "nanoseconds-of-a-clock": in_time(1e9, "stamp_ns", start=1.7e18),
}
"""Forms that keep every bit of positions and torques."""

CONVERTED = {
    "degrees-by-name": in_degrees(("t", "q_deg.{joint}", "dq.{joint} [deg/s]", "tau.{joint}")),
    "degrees-by-limits": in_degrees(("t", "q.{joint}", "dq.{joint}", "tau.{joint}")),
    "units-below-names": units_below,
    "newton-millimeters": newton_millimeters,
}


def same(imported, log, tolerance):
    for name in ("q", "tau_meas"):
        difference = np.abs(getattr(imported.log, name) - getattr(log, name))
        assert difference.max() <= tolerance, name
    assert np.abs(imported.log.t - log.t).max() < 1e-6
    assert imported.log.origin == "machine"


@pytest.mark.parametrize("form", EXACT)
def test_a_form_keeps_positions_and_torques(tmp_path, form) -> None:
    robot = arm()
    log = original(robot)
    imported = import_log([EXACT[form](log, tmp_path)], robot)
    same(imported, log, 0.0)
    if imported.log.dq is not None:
        assert np.array_equal(imported.log.dq, log.dq)


@pytest.mark.parametrize("form", EXACT)
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path, form) -> None:
    robot, rng = arm(), np.random.default_rng(0)
    path = EXACT[form](original(robot, 40), tmp_path)
    file = path if path.is_file() else max(path.iterdir(), key=lambda f: f.stat().st_size)
    sound, refusals = file.read_bytes(), []
    for k in range(6):
        damaged = bytearray(sound)
        if k % 2:
            damaged = damaged[: rng.integers(1, len(damaged))]
        else:
            for place in rng.integers(len(damaged), size=4):
                damaged[place] = rng.integers(256)
        file.write_bytes(damaged)
        try:
            import_log([path], robot)
        except RobotIdError as error:
            refusals.append(str(error))
    assert not any("\n" in refusal for refusal in refusals)


@pytest.mark.parametrize("form", CONVERTED)
def test_units_are_converted(tmp_path, form) -> None:
    robot = arm()
    log = original(robot)
    imported = import_log([CONVERTED[form](log, tmp_path)], robot)
    same(imported, log, 50.0 * ROUNDED)
    if imported.log.dq is not None:
        assert np.allclose(imported.log.dq, log.dq, atol=ROUNDED)


def test_units_that_are_concluded_are_told(tmp_path) -> None:
    robot = arm()
    path = CONVERTED["degrees-by-limits"](original(robot), tmp_path)
    notes = " | ".join(import_log([path], robot).notes)
    assert "times its limit in rad: taken as deg" in notes
    assert "velocities fit the change of the positions in deg/s" in notes
    assert "time: column 't', taken as s by its usual step of 0.005" in notes


def test_files_of_motors_through_a_map(tmp_path) -> None:
    robot = arm()
    log = original(robot)
    imported = import_log(motors(log, tmp_path), robot, ImportMap.model_validate(GEARS))
    same(imported, log, 50.0 * ROUNDED)
    assert imported.reasons == {"position": "by order", "torque": "by order"}
    assert imported.mapping.joints["elbow"].torque == "motor_torque.Joint_2"
    assert not any("limit" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("turns", "told", "unit"),
    [
        (1.0, "times its limit in rad, behind its gear: taken as deg", "deg"),
        (0.04, "WARNING: positions of elbow reach 1.46 times its limit in rad", "rad"),
    ],
)
def test_degrees_of_motors_are_seen_behind_their_gears(tmp_path, turns, told, unit) -> None:
    robot = arm()
    log = original(robot)
    written = replace(log, q=turns * np.degrees(log.q))
    imported = import_log(motors(written, tmp_path), robot, ImportMap.model_validate(GEARS))
    assert told in " | ".join(imported.notes)
    assert {joint.position_unit for joint in imported.mapping.joints.values()} == {unit}


@pytest.mark.parametrize("jitter", [0.1, 0.3])
def test_jitter_is_resampled_within_the_error_of_interpolation(tmp_path, jitter) -> None:
    robot = arm()
    log = original(robot)
    t = log.t + np.random.default_rng(0).uniform(-jitter, jitter, log.t.size) / 200.0
    q = 1.4 * np.sin(2.0 * t[:, None] + np.arange(2))
    tau = 30.0 * np.cos(3.0 * t[:, None] - np.arange(2))
    path = write(tmp_path / "a.csv", text(Form(t, q, q, tau, log.joint_names).columns()))
    imported = import_log([path], robot).log
    # h^4 / 384 |q''''| of a cubic spline inside, more at its ends; h^2 / 8 |tau''| of lines.
    assert np.abs(imported.q - 1.4 * np.sin(2.0 * imported.t[:, None] + np.arange(2))).max() < 2e-7
    linear = 30.0 * np.cos(3.0 * imported.t[:, None] - np.arange(2))
    assert np.abs(imported.tau_meas - linear).max() < (2.0 * 0.005) ** 2 / 8 * 270.0
    times, torques = imported.cut(slice(50, None)).recording
    np.testing.assert_array_equal(times, t)
    np.testing.assert_array_equal(torques, tau)
    assert replace(imported, tau_meas=-imported.tau_meas).recording is None
    assert imported.t[0] == t[0]
    assert imported.t[-1] == t[-1]
    assert abs(imported.dt - 0.005) < 1e-4


def test_a_catalog_robot_takes_numbers_in_its_joint_order(tmp_path) -> None:
    robot = load_robot("irb140")
    log = original(robot)
    names = ("timestamp", "actual_q_{k}", "actual_qd_{k}", "tau_{k1}")
    imported = import_log([write(tmp_path / "a.csv", text(named(log, names)))], robot)
    same(imported, log, 0.0)
    assert imported.reasons["position"] == "by order"
