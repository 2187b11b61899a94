"""What names of columns say, as vendors and tools write them."""

import pytest

from robotid_sim.importing.units import UNITS, parsed, time_rank, unit_in

JOINTS = ("joint_1", "joint_10", "elbow_joint", "q3")


@pytest.mark.parametrize(
    ("name", "quantity", "joint", "number", "unit"),
    [
        ("q.joint_1", "position", "joint_1", None, None),
        ("joint_10.position", "position", "joint_10", None, None),
        ("effort.elbow_joint", "torque", "elbow_joint", None, None),
        ("elbow_pos_deg", "position", "elbow_joint", None, "deg"),
        ("Joint 1 Velocity (deg/s)", "velocity", "joint_1", None, "deg/s"),
        ("actual_q_5", "position", None, 5, None),
        ("actual_qd_0", "velocity", None, 0, None),
        ("actual_current_2", "current", None, 2, None),
        ("actual_current_as_torque_2", "torque", None, 2, None),
        ("target_moment_4", "command", None, 4, None),
        ("target_q_4", None, None, 4, None),
        ("q_d_4", None, None, 4, None),
        ("tau_J_6", "torque", None, 6, None),
        ("tau_J_d6", "command", None, 6, None),
        ("tau_ext_hat_filtered_0", None, None, 0, None),
        ("dtau_J_0", None, None, 0, None),
        ("ddq_1", None, None, 1, None),
        ("q_deg_1", "position", None, 1, "deg"),
        ("axis2_Torque[mNm]", "torque", None, 2, "mN m"),
        ("tau_Nmm_2", "torque", None, 2, "N mm"),
        ("CurrentPosition_3", "position", None, 3, None),
        ("q_m_1", "position", None, 1, None),
        ("position.q3", "position", "q3", None, None),
        ("speed_rpm_1", "velocity", None, 1, "rpm"),
        ("temperature_1", None, None, 1, None),
        ("q_³", "position", None, None, None),
    ],
)
def test_a_name_says_quantity_joint_and_unit(name, quantity, joint, number, unit) -> None:
    column = parsed(name, JOINTS)
    assert (column.quantity, column.unit) == (quantity, unit)
    if quantity is not None:
        assert (column.joint, column.number) == (joint, number)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("t", None),
        ("Time", None),
        ("%time", None),
        ("__time", None),
        ("timestamp", None),
        ("time_ms", "ms"),
        ("time [us]", "us"),
        ("stamp_ns", "ns"),
        ("Time (s)", "s"),
        ("robot_time", None),
    ],
)
def test_a_name_is_that_of_the_time(name, unit) -> None:
    rank = time_rank(name)
    assert rank is not None
    assert rank[1] == unit


@pytest.mark.parametrize("name", ["tau", "temperature", "q.t", "execution_time", "mode"])
def test_a_name_is_not_that_of_the_time(name) -> None:
    assert time_rank(name) is None


@pytest.mark.parametrize("quantity", UNITS)
def test_every_unit_is_read_as_it_is_written(quantity) -> None:
    for unit in UNITS[quantity]:
        assert unit_in(unit, quantity) == unit
        assert unit_in(unit.replace(" ", ""), quantity) == unit
