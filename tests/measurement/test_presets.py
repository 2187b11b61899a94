"""Presets: known sensors, every robot, growing error; the table says what they are."""

import numpy as np
import pytest

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import UnknownNameError
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.sensors import PRESETS, PROVENANCE, describe_presets, measure, preset
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog


def short_log(robot, samples=500):
    """Return the clean log of a smooth motion around home."""
    t = (np.arange(samples) - 50) * 1e-3
    reach = np.minimum(0.3, 0.2 * (robot.limits.upper - robot.limits.lower))
    omega = 2.0 * np.pi * (1.0 + 0.3 * np.arange(robot.dof))
    wave = np.outer(t, omega)
    q = robot.home + reach * np.sin(wave)
    dq, ddq = reach * omega * np.cos(wave), -reach * omega**2 * np.sin(wave)
    tau = joint_torque(robot, q, dq, ddq)
    truth = Truth(q, dq, ddq, tau)
    return Log(t, q, tau, robot.joint_names, robot.joint_units, truth=truth)


def sensors_of(name):
    return tuple(SENSORS.build(sensor, **options) for sensor, options in preset(name).items())


@pytest.mark.parametrize("name", sorted(catalog()))
def test_presets_run_on_every_robot_and_grow_from_nothing_to_harsh(name, tmp_path):
    log = short_log(load_robot(name))
    assert measure(log, sensors_of("ideal"), np.random.default_rng(0)) is log
    position, torque = np.zeros(log.dof), np.zeros(log.dof)
    for level in ("lab", "industrial", "harsh"):
        seen = measure(log, sensors_of(level), np.random.default_rng(0))
        assert seen.truth is log.truth
        assert len(seen.provenance[PROVENANCE]) == len(PRESETS[level])
        worse = np.std(seen.q - log.q, axis=0), np.std(seen.tau_meas - log.tau_meas, axis=0)
        assert (worse[0] > position).all()
        assert (worse[1] > torque).all()
        position, torque = worse
    assert (torque < 0.5 * np.std(log.tau_meas, axis=0) + 0.1).all()  # still a measurement
    save_log(seen, tmp_path / "log.h5")
    loaded = load_log(tmp_path / "log.h5")
    assert loaded.provenance == seen.provenance
    assert loaded.current.tobytes() == seen.current.tobytes()


def test_presets_are_ordered_and_ideal_has_no_sensor():
    assert list(PRESETS) == ["ideal", "lab", "industrial", "harsh"]
    assert not PRESETS["ideal"]
    assert set().union(*PRESETS.values()) == set(SENSORS)  # every sensor is of use somewhere
    for name in PRESETS:
        order = list(PRESETS[name])
        assert order == [sensor for sensor in PRESETS["harsh"] if sensor in order]


def test_the_table_gives_the_numbers_of_the_presets_with_a_reason():
    rows = describe_presets()
    assert len(rows) == sum(len(sensors) for sensors in PRESETS.values())
    for row in rows:
        assert row["options"] == PRESETS[row["preset"]][row["sensor"]]
        assert "assumed" in row["reason"] or "doi:" in row["reason"]


def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(UnknownNameError, match="known: ideal, lab, industrial, harsh"):
        preset("perfect")


def test_a_preset_is_a_copy():
    preset("lab")["torque-noise"]["relative"] = 1.0
    assert PRESETS["lab"]["torque-noise"]["relative"] < 0.1
