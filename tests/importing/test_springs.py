"""Known springs: what they carry is added to the torque of the drive."""

import numpy as np
import pytest
from foreign_forms import Form, arm, original, text, write

from robotid_sim.errors import OptionError
from robotid_sim.importing.import_map import ImportMap, JointMap
from robotid_sim.importing.importer import import_log


def carried(q):
    """Return the torque of a counterbalance of the shoulder, by the positions of both joints."""
    return -80.0 * np.sin(q[:, 0]) + 3.0 * q[:, 1]


@pytest.fixture
def machine(tmp_path):
    """Write the log of a machine whose shoulder has a spring."""
    form = Form.of(original(arm()))
    form.tau = form.tau - np.column_stack([carried(form.q), np.zeros(len(form.q))])
    return write(tmp_path / "a.csv", text(form.columns()))


def imported(path, **springs):
    joints = {name: JointMap(spring=spring) for name, spring in springs.items()}
    return import_log([path], arm(), ImportMap(joints=joints))


def test_an_expression_gives_the_torque_without_the_spring(machine):
    found = imported(machine, shoulder="-80 * sin(q) + 3 * q2")
    np.testing.assert_allclose(found.log.tau_meas, original(arm()).tau_meas, atol=1e-9)
    (note,) = [note for note in found.notes if "spring of shoulder" in note]
    assert "N m, which are added to its torque" in note


def test_an_expression_may_have_powers_and_functions_of_two_values(machine):
    plain = imported(machine).log
    found = imported(machine, elbow="maximum(q, -q) ** 0.5 / +2 - (3 + abs(q1))**-1").log
    q1, q2 = plain.q.T
    added = np.sqrt(np.abs(q2)) / 2.0 - 1.0 / (3.0 + np.abs(q1))
    np.testing.assert_allclose(found.tau_meas[:, 1], plain.tau_meas[:, 1] + added)


def test_a_table_does_where_the_torque_is_straight_between_its_rows(machine):
    plain = imported(machine).log
    found = imported(machine, elbow=((-3.0, 30.0), (3.0, -30.0))).log
    np.testing.assert_allclose(found.tau_meas[:, 1], plain.tau_meas[:, 1] - 10.0 * plain.q[:, 1])
    np.testing.assert_array_equal(found.tau_meas[:, 0], plain.tau_meas[:, 0])


@pytest.mark.parametrize(
    ("spring", "said"),
    [
        ("80 * sin(q", "no expression of q, q1, q2"),
        ("80 * sin(q3)", "no expression of q, q1, q2"),
        ("__import__('os')", "no expression of q, q1, q2"),
        ("sin(*(exec('import os') or 0 for x in (1,)))", "cannot be used; write it with numbers"),
        ("q.real", "'q.real' cannot be used"),
        ("q if q else 1", "cannot be used"),
        ("1 << 99999999999", "'1 << 99999999999' cannot be used"),
        ("'a' * 999999999", "cannot be used"),
        ("9**9**9", "'9**9**9' has no exponent of at most 10"),
        ("2**q", "'2**q' has no exponent of at most 10"),
        ("sin(q, q)", "'sin(q, q)' needs 1 argument(s)"),
        ("q + " * 600 + "q", "it has 2401 characters, at most 2000 are read"),
        ("-" * 1900 + "q", "nested deeper than 100 levels"),
        ("(" * 999 + "q" + ")" * 999, "it cannot be parsed"),
        ("9" * 1900, "not finite at positions of the log"),
        ("log(q - 9)", "not finite at positions of the log"),
        (((-0.1, 0.0), (0.1, 1.0)), "given from -0.1 to 0.1, and the log goes from"),
        (((3.0, 0.0), (-3.0, 1.0)), "must rise"),
    ],
)
def test_a_spring_that_cannot_be_is_refused(machine, spring, said):
    with pytest.raises(OptionError, match=r"spring.* of shoulder") as refusal:
        imported(machine, shoulder=spring)
    assert said in str(refusal.value)
