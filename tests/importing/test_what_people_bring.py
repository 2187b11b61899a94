"""Logs in forms that people bring, after public reports: read rightly, or refused with a remedy."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from foreign_forms import DEGREE, Form, arm, original, text, write
from robots import example_path, urdf_path
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from robotid_sim.errors import LogError, RobotIdError
from robotid_sim.importing.import_map import ImportMap
from robotid_sim.importing.importer import import_log
from robotid_sim.importing.readers import JOINT_STATE_TYPE
from robotid_sim.model.catalog import load_robot

NAMES = ("t", "q.{joint}", "", "tau.{joint}")


def columns_of(log, **changes):
    return Form.of(log, names=NAMES).columns() | changes


def torques_in(unit, scale):
    def written(log, folder):
        form = Form.of(log, names=("t", "q.{joint}", "", f"tau.{{joint}} [{unit}]"))
        form.tau = log.tau_meas * scale
        return write(folder / "a.csv", text(form.columns()))

    return written


def split_stamps(seconds, beyond, scale):
    def written(log, folder):
        columns = columns_of(log)
        del columns["t"]
        stamps = np.rint(scale * log.t).astype(int) + 1_712_345_678 * scale + 123 * scale // 1000
        form = {seconds: stamps // scale, beyond: stamps % scale}
        lines = text(columns).splitlines()
        head = ",".join([seconds, beyond])
        rows = [f"{a},{b}" for a, b in zip(*form.values(), strict=True)]
        lines = [f"{first},{rest}" for first, rest in zip([head, *rows], lines, strict=True)]
        return write(folder / "a.csv", "\n".join(lines) + "\n")

    return written


def clock(name, pattern):
    """Write stamps as texts of a clock that passes midnight."""

    def written(log, folder):
        lines = text(columns_of(log)).splitlines()
        rows = []
        for t, line in zip(log.t, lines[1:], strict=True):
            ms = round(1000 * t) + 86_399_000
            day, ms = divmod(ms, 86_400_000)
            h, m, s = ms // 3_600_000, ms // 60_000 % 60, ms // 1000 % 60
            stamp = pattern.format(day=5 + day, h=h, m=m, s=s, ms=ms % 1000)
            rows.append(f"{stamp},{line.partition(',')[2]}")
        head = f"{name},{lines[0].partition(',')[2]}"
        return write(folder / "a.csv", "\n".join([head, *rows]) + "\n")

    return written


def wrapped(log, folder):
    """Write the shoulder around half a turn, where its counter begins anew."""
    q = log.q[:, 0]
    turned = np.where(q > 0.3, q - 2.0 * np.pi, q)
    return write(folder / "a.csv", text(columns_of(log, **{"q.shoulder": turned})))


def scope(log, folder):
    """Write what a scope of a PLC exports: metadata, pairs of time and value, decimal commas."""
    names = [f"Achse{j}.{what}" for what in ("ActPos", "ActTorque") for j in (1, 2)]
    units = ["°", "°", "Nm", "Nm"]
    data = np.column_stack([log.q / DEGREE, log.tau_meas])
    head = ["Name\tProject", "File\tC:\\scope", "", "\t".join(f"Name\t{name}" for name in names)]
    head += ["\t".join(["SampleTime[ms]\t5"] * 4), "\t".join(f"VarUnit\t{u}" for u in units), ""]
    rows = [
        "\t".join(f"{1000 * t!r}\t{value!r}" for value in row.tolist())
        for t, row in zip(log.t.tolist(), data, strict=True)
    ]
    return write(folder / "a.csv", "\n".join(head) + "\n" + "\n".join(rows).replace(".", ","))


def twins(log, folder):
    lines = text(columns_of(log, x=log.t, y=log.t + 1.0)).splitlines()
    return write(folder / "a.csv", "\n".join([lines[0].replace(",y", ",x"), *lines[1:]]) + "\n")


def in_words(*names):
    return lambda log, folder: write(
        folder / "a.csv", text(Form.of(log, names=(names[0], names[1], "", names[2])).columns())
    )


def two_publishers(log, folder):
    """Write a bag in which another node publishes zeros for the same joints and one more."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    kinds = store.types
    with Writer(folder / "bag", version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE_TYPE, typestore=store)
        for k, t in enumerate(log.t):
            zeros = np.zeros(3)
            messages = [(list(log.joint_names), log.q[k], log.tau_meas[k])]
            messages += [(["elbow", "finger", "shoulder"], zeros, zeros)] * (k % 7 == 0)
            for names, q, tau in messages:
                stamp = kinds["builtin_interfaces/msg/Time"](sec=0, nanosec=round(1e9 * t))
                header = kinds["std_msgs/msg/Header"](stamp=stamp, frame_id="")
                state = kinds[JOINT_STATE_TYPE](
                    header=header, name=names, position=q, velocity=np.zeros(len(q)), effort=tau
                )
                raw = store.serialize_cdr(state, JOINT_STATE_TYPE)
                writer.write(connection, round(1e9 * t), raw)
    return folder / "bag"


def measurement(log, folder):
    """Write what a measurement program does: a head, and a name more than there are columns."""
    names, *rows = text(columns_of(log), delimiter="\t").splitlines()
    head = ["LabVIEW Measurement", "Separator\tTab", "***End_of_Header***", f"{names}\tComment"]
    return write(folder / "a.lvm", "\n".join([*head, *rows]))


FORMS = {
    "measurement": (measurement, ""),
    "newton centimeters": (torques_in("N.cm", 100.0), ""),
    "kilopond meters": (torques_in("kgf.m", 1.0 / 9.80665), ""),
    "seconds and nanoseconds": (split_stamps("stamp.sec", "stamp.nanosec", 10**9), "are one stamp"),
    "seconds and microseconds": (split_stamps("tv_sec", "tv_usec", 10**6), "are one stamp"),
    "secs, nsecs": (split_stamps("secs", "nsecs", 10**9), "are one stamp"),
    "iso stamps": (
        clock("Time", "2024-03-{day:02d}T{h:02d}:{m:02d}:{s:02d}.{ms:03d}Z"),
        "clock times",
    ),
    "german stamps": (clock("Zeit", "{day:02d}.03.2024 {h:02d}:{m:02d}:{s:02d}.{ms:03d}"), "clock"),
    "clock": (clock("Uhrzeit", "{h:02d}:{m:02d}:{s:02d}.{ms:03d}"), "clock times"),
    "wrapped": (wrapped, "positions of shoulder jump by a turn"),
    "scope": (scope, "decimal commas"),
    "name that stands twice": (twins, "columns whose name stands twice are omitted: 'x'"),
    "angles": (in_words("t", "ang_{k1}", "trq_{k1}"), ""),
    "brackets": (in_words("t", "positions[{k}]", "efforts[{k}]"), ""),
    "german": (in_words("Zeit", "Achse{k1} Winkel", "Achse{k1} Drehmoment"), ""),
    "chinese": (in_words("时间", "关节{k1}角度", "关节{k1}力矩"), ""),
    "axes alone": (in_words("t", "A{k1}", "M_A{k1}"), "profile KUKA axes"),
    "two publishers": (two_publishers, "messages of another publisher are omitted: elbow, finger"),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_people_bring_is_read(tmp_path, form) -> None:
    robot, (make, said) = arm(), FORMS[form]
    log = original(robot)
    mapping = ImportMap()
    if form == "axes alone":  # KUKA's are in degrees
        units = {"position_unit": "rad"}
        mapping = ImportMap.model_validate({"joints": dict.fromkeys(log.joint_names, units)})
    imported = import_log([make(log, tmp_path)], robot, mapping)
    q = imported.log.q - (2.0 * np.pi if form == "wrapped" else 0.0) * (
        imported.log.q - log.q > 3.0
    )
    np.testing.assert_allclose(q[:, 1], log.q[:, 1], atol=1e-9)
    np.testing.assert_allclose(np.diff(q[:, 0]), np.diff(log.q[:, 0]), atol=1e-9)
    np.testing.assert_allclose(imported.log.tau_meas, log.tau_meas, atol=1e-9)
    np.testing.assert_allclose(imported.log.t, log.t, atol=1e-6)
    assert said in "; ".join(imported.notes)


def coarse(log, folder):
    form = Form.of(log, names=NAMES)
    form.t = np.floor(log.t)
    return write(folder / "a.csv", text(form.columns()))


REFUSED = {
    "percent": (torques_in("%", 1.0), "is a share of a rated torque [%]; give rated_torque"),
    "unknown unit": (
        torques_in("pound", 1.0),
        "'pound' is not a known unit of a torque; give torque_",
    ),
    "coarse time": (coarse, "repeat the previous time"),
}


@pytest.mark.parametrize("form", REFUSED)
def test_what_would_be_read_wrongly_is_refused(tmp_path, form) -> None:
    make, said = REFUSED[form]
    log = original(arm())
    if form == "coarse time":
        log = replace(log, t=log.t)
        path = make(log, tmp_path)
        lines = path.read_text().splitlines()
        rows = [
            f"{float(line.partition(',')[0]) // 1},{line.partition(',')[2]}" for line in lines[1:]
        ]
        path.write_text("\n".join([lines[0], *rows]))
    else:
        path = make(log, tmp_path)
    with pytest.raises(RobotIdError) as caught:
        import_log([path], arm())
    assert said in str(caught.value)


def test_a_share_of_a_rated_torque_is_read_with_it(tmp_path) -> None:
    robot, log = arm(), original(arm())
    path = torques_in("permille", 1000.0 / 30.0)(log, tmp_path)
    rated = {"joints": {name: {"rated_torque": 30.0} for name in log.joint_names}}
    imported = import_log([path], robot, ImportMap.model_validate(rated))
    np.testing.assert_allclose(imported.log.tau_meas, log.tau_meas, rtol=1e-12)


def test_a_current_in_a_map_wins_over_what_looks_like_a_torque(tmp_path) -> None:
    log = original(arm())
    path = write(tmp_path / "a.csv", text(columns_of(log)))
    joint = {"torque_constant": 2.0, "current_unit": "A"}
    joints = {name: {**joint, "current": f"tau.{name}"} for name in log.joint_names}
    imported = import_log([path], arm(), ImportMap.model_validate({"joints": joints}))
    np.testing.assert_allclose(imported.log.tau_meas, 2.0 * log.tau_meas)
    wrong = {**joints["elbow"], "current_unit": None}
    write(tmp_path / "b.csv", text(columns_of(log)).replace("tau.elbow", "tau.elbow [Nm]"))
    joints = {"shoulder": joints["shoulder"], "elbow": {**wrong, "current": "tau.elbow [Nm]"}}
    with pytest.raises(LogError, match="'N m' is not a known unit of a current; give current_unit"):
        import_log([tmp_path / "b.csv"], arm(), ImportMap.model_validate({"joints": joints}))


def test_torques_and_positions_have_gears_of_their_own(tmp_path) -> None:
    log = original(arm())
    form = Form.of(log, names=NAMES)
    form.tau = log.tau_meas / 50.0
    path = write(tmp_path / "a.csv", text(form.columns()))
    joints = {name: {"torque_gear_ratio": 50.0} for name in log.joint_names}
    imported = import_log([path], arm(), ImportMap.model_validate({"joints": joints}))
    np.testing.assert_array_equal(imported.log.q, log.q)
    np.testing.assert_allclose(imported.log.tau_meas, log.tau_meas, rtol=1e-12)


def test_stamps_that_files_round_are_the_same(tmp_path) -> None:
    robot, log = arm(), original(arm())
    parts = {"q": log.q, "tau": log.tau_meas}
    paths = []
    for digits, (name, array) in zip((9, 4), parts.items(), strict=True):
        columns = {f"{name}.{j}": array[:, k] for k, j in enumerate(log.joint_names)}
        stamps = np.round(log.t + 1e-5, digits)
        paths.append(write(tmp_path / f"{name}.csv", text({"t": stamps, **columns})))
    imported = import_log(paths, robot)
    np.testing.assert_array_equal(imported.log.q, log.q)


def test_numbers_without_names_take_a_map(tmp_path) -> None:
    robot, log = arm(), original(arm())
    path = write(tmp_path / "a.csv", text(columns_of(log), names=False))
    with pytest.raises(LogError, match="there is no header line: columns are numbered"):
        import_log([path], robot)
    joints = {
        name: {"position": f"column {k + 2}", "torque": f"column {k + 4}"}
        for k, name in enumerate(log.joint_names)
    }
    mapping = ImportMap.model_validate({"time": "column 1", "joints": joints})
    np.testing.assert_array_equal(import_log([path], robot, mapping).log.q, log.q)


def test_a_short_hole_of_a_fast_log_splits_nothing(tmp_path) -> None:
    log = original(arm(), 2000)
    fast = replace(log, t=log.t / 5.0)
    keep = np.ones(2000, dtype=bool)
    keep[1000:1008] = False  # 9 ms
    columns = {name: array[keep] for name, array in columns_of(fast).items()}
    imported = import_log([write(tmp_path / "a.csv", text(columns))], arm())
    assert imported.log.t.size == 2000
    np.testing.assert_allclose(imported.log.q, log.q, atol=1e-6)
    assert not any("segments" in note for note in imported.notes)


BRANCHED = """<robot name="headed"><link name="base"/>{links}
<joint name="j0" type="revolute"><parent link="base"/><child link="turret"/>{rest}</joint>
<joint name="pan" type="revolute"><parent link="turret"/><child link="head"/>{rest}</joint>
<joint name="j1" type="revolute"><parent link="turret"/><child link="upper"/>{rest}</joint>
<joint name="j2" type="revolute"><parent link="upper"/><child link="wrist"/>{rest}</joint>
</robot>"""
LINK = (
    '<link name="{}"><inertial><mass value="2"/><origin xyz=".1 0 0"/>'
    '<inertia ixx=".01" iyy=".02" izz=".02"/></inertial></link>'
)
REST = '<axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="2" effort="80"/>'


def test_joints_that_are_locked_and_move_are_named_with_a_chain_that_holds_them(tmp_path) -> None:
    links = "".join(LINK.format(name) for name in ("turret", "head", "upper", "wrist"))
    urdf = write(tmp_path / "headed.urdf", BRANCHED.format(links=links, rest=REST))
    t = np.arange(400) / 100.0
    names = ("j0", "pan", "j1", "j2")
    q = {f"q.{name}": 0.5 * np.sin(t + k) * (name != "pan") for k, name in enumerate(names)}
    path = write(tmp_path / "a.csv", text({"t": t, **q, **{f"tau.{n}": t for n in names}}))
    for ends in ({}, {"tip": "wrist"}):
        with pytest.raises(LogError, match="choose --base base --tip wrist"):
            import_log([path], load_robot(urdf, **ends))
    follower = urdf.read_text().replace(
        '<child link="wrist"/>', '<child link="wrist"/><mimic joint="j1"/>'
    )
    (tmp_path / "following.urdf").write_text(follower)
    with pytest.raises(LogError, match=r"j2 of 'headed' follow other joints \(mimic\)"):
        import_log([path], load_robot(tmp_path / "following.urdf", base="base", tip="wrist"))
    unseen = {name: column for name, column in q.items() if name != "q.j2"}
    torques = {f"tau.{name}": t for name in ("j0", "pan", "j1")}
    bare = write(tmp_path / "b.csv", text({"t": t, **unseen, **torques}))
    with pytest.raises(LogError, match=r"j2 of 'headed' follow other joints \(mimic\)"):
        import_log([bare], load_robot(tmp_path / "following.urdf", base="base", tip="wrist"))
    whole = load_robot(urdf, base="base", tip="wrist")
    np.testing.assert_array_equal(import_log([path], whole).log.q[:, 2], q["q.j2"])


def vendor_log(robot, rate):
    t = np.arange(400) / rate
    phase = np.arange(robot.dof)
    q = robot.limits.middle + 0.4 * np.sin(2.0 * t[:, None] + phase)
    return t, q, 0.8 * np.cos(2.0 * t[:, None] + phase), 30.0 * np.cos(3.0 * t[:, None] - phase)


def test_a_log_of_rtde_takes_currents_and_says_by_which_constants(tmp_path) -> None:
    robot = load_robot(urdf_path("ur10"))
    t, q, dq, tau = vendor_log(robot, 125.0)
    kinds = {"target_q": q + 0.01, "target_moment": tau, "actual_q": q, "actual_qd": dq}
    kinds |= {"target_current": tau, "actual_current": tau / 10.0}
    columns = {f"{name}_{j}": array[:, j] for name, array in kinds.items() for j in range(6)}
    path = write(tmp_path / "a.csv", text({"timestamp": t + 5.0, **columns}, delimiter=" "))
    imported = import_log([path], robot)
    constants = np.array([10.0, 10.0, 9.0, 9.0, 9.0, 9.0])
    np.testing.assert_allclose(imported.log.tau_meas, tau / 10.0 * constants)
    np.testing.assert_array_equal(imported.log.q, q)
    assert imported.log.tau_cmd is None
    assert any("N m/A ± 30 %" in note for note in imported.notes)


def test_a_log_of_libfranka_is_read(tmp_path) -> None:
    robot = load_robot(example_path("panda_description/urdf/panda.urdf"))
    t, q, dq, tau = vendor_log(robot, 100.0)
    kinds = {"q": q, "q_d": q + 0.1, "dq": dq, "dq_d": dq + 0.1, "tau_J": tau, "tau_J_d": 0.0 * tau}
    kinds |= {"tau_ext_hat_filtered": 0.1 * tau}
    columns = {f"{name}[{j}]": array[:, j] for name, array in kinds.items() for j in range(7)}
    imported = import_log([write(tmp_path / "a.csv", text({"time": 1e3 * t, **columns}))], robot)
    np.testing.assert_array_equal(imported.log.q, q)
    np.testing.assert_array_equal(imported.log.tau_meas, tau)
    assert imported.log.tau_cmd is None


def test_a_dataset_of_lerobot_is_read_by_episodes(tmp_path) -> None:
    robot = load_robot(urdf_path("ur10"))
    t, q, _, tau = vendor_log(robot, 30.0)
    write_json = {"codebase_version": "v2.1", "fps": 30}
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text(json.dumps(write_json))
    folder = tmp_path / "data" / "chunk-000"
    folder.mkdir(parents=True)
    for episode, rows in enumerate((slice(0, 250), slice(250, 400))):
        content = {
            "observation.state": (q[rows] / DEGREE).tolist(),
            "action": (q[rows] / DEGREE + 1.0).tolist(),
            "observation.effort": tau[rows].tolist(),
            "timestamp": t[rows] - t[rows][0],
        }
        pq.write_table(pa.table(content), folder / f"episode_{episode:06d}.parquet")
    imported = import_log([tmp_path], robot)
    np.testing.assert_allclose(imported.log.q, q[:250], atol=1e-9)
    np.testing.assert_array_equal(imported.log.tau_meas, tau[:250])
    second = import_log([tmp_path], robot, segment=2)
    np.testing.assert_array_equal(second.log.tau_meas, tau[250:])


def test_a_force_is_the_torque_of_a_prismatic_joint(tmp_path) -> None:
    robot = load_robot(urdf_path("rp"))
    log = original(robot)
    columns = {"t": log.t}
    for k, joint in enumerate(robot.joints):
        what = "force [N]" if joint.prismatic else "torque [Nm]"
        columns |= {f"{joint.name}_pos": log.q[:, k], f"{joint.name}_{what}": log.tau_meas[:, k]}
    imported = import_log([write(tmp_path / "a.csv", text(columns))], robot)
    np.testing.assert_array_equal(imported.log.tau_meas, log.tau_meas)
    for k, joint in enumerate(robot.joints):  # by number
        columns[f"pos_{k + 1}"] = columns.pop(f"{joint.name}_pos")
        what = "force" if joint.prismatic else "torque"
        unit = "N" if joint.prismatic else "Nm"
        columns[f"{what}_{k + 1} [{unit}]"] = columns.pop(f"{joint.name}_{what} [{unit}]")
    imported = import_log([write(tmp_path / "b.csv", text(columns))], robot)
    np.testing.assert_array_equal(imported.log.tau_meas, log.tau_meas)


ODD_CELLS = ("[deg]", "[%]", "_ms", "", "target_", "时间", "\x01", '"', "1e999", "nan", "[", "sec")


def mutated(lines, rng):
    """Return lines with some of what damages files: words, cells and columns lost or added."""
    lines = list(lines)
    for _ in range(rng.integers(1, 4)):
        k, word = rng.integers(len(lines)), str(rng.choice(ODD_CELLS))
        match rng.integers(7):
            case 0:
                lines[0] = lines[0].replace(rng.choice(list(lines[0] or " ")), word, 1)
            case 1:
                lines[k] = lines[k].replace(str(rng.integers(10)), word, 1)
            case 2:
                del lines[k]
            case 3:
                lines.insert(k, word)
            case 4:
                lines = [f"{line},{word}" for line in lines]
            case 5:
                column = rng.integers(5)
                parts = (line.split(",") for line in lines)
                lines = [",".join([*p[:column], *p[column + 1 :]]) for p in parts]
            case 6:
                lines = lines[: rng.integers(1, len(lines) + 1)]
        lines = lines or [""]
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted({*FORMS, *REFUSED} - {"two publishers"}))
def test_what_is_damaged_is_read_or_refused_in_one_line(tmp_path, form) -> None:
    rng = np.random.default_rng(sum(map(ord, form)))
    make, _ = (FORMS | REFUSED)[form]
    lines = make(original(arm()), tmp_path).read_text().splitlines()
    path, refusals = tmp_path / "damaged.csv", []
    for _ in range(20):
        path.write_text("\n".join(mutated(lines, rng)))
        try:
            import_log([path], arm())
        except RobotIdError as error:
            refusals.append(str(error))
    assert not any("\n" in refusal for refusal in refusals)
