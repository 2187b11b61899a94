"""Base parameters: how many there are, what they are sums of, and that they lose nothing.

Joints with dry friction and next to nothing that they move.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from robots import example_path, urdf_path
from sampling import sampled
from scipy.linalg import null_space

from robotid_sim.dynamics.base_parameters import (
    RATIO,
    BaseParameters,
    base_parameters,
    grouped,
    light_joints,
    random_states,
)
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.model import parameters
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

# Inertial ranks published for these kinematics.
INERTIAL_RANKS = {"ppp": 3, "scara": 8, "rp": 4, "irb140": 36, "iiwa": 43, "panda": 43}


@pytest.fixture(
    scope="module",
    params=sampled(INERTIAL_RANKS, "ppp", "scara", "rp", "irb140", mark=pytest.mark.slow),
)
def named(request: pytest.FixtureRequest) -> tuple[str, Robot, BaseParameters]:
    robot = Robot.from_urdf(urdf_path(request.param))
    return request.param, robot, base_parameters(robot)


def fresh_regressor(robot: Robot, columns: np.ndarray, seed: int = 7) -> np.ndarray:
    """Return W on states that had no part in choosing the base, shape (400 n, c)."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (400, robot.dof))
    dq, ddq = rng.normal(scale=2.0, size=(2, 400, robot.dof))
    W = torque_regressor(robot, q, dq, ddq, columns)
    return W.reshape(-1, len(columns))


def test_inertial_rank_is_the_published_one(named) -> None:
    name, _, base = named
    assert base.inertial_rank == INERTIAL_RANKS[name]


@pytest.mark.parametrize(
    ("joint_parameters", "rank"),
    [((), 36), (("Fv", "Fc"), 48), (("Fv", "Fc", "Ia"), 52), (("Fv", "Fc", "Fo", "Ia"), 58)],
)
def test_irb140_rank_with_friction_and_rotors(irb140, joint_parameters, rank) -> None:
    base = base_parameters(irb140, joint_parameters)
    assert base.rank == rank == len(base.names) == len(base.units) == len(base.groupings)
    assert base.inertial_rank == 36


ROUNDED = {
    "so100": ("so_arm_description/urdf/so100.urdf", 52),
    "so101": ("so_arm_description/urdf/so101.urdf", 52),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", 62),
}
"""Arms of example-robot-data with right angles to four or five digits, and their ranks."""


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_right_angles_give_no_parameter_that_no_signal_shows(name, tmp_path) -> None:
    file, rank = ROUNDED[name]
    urdf = example_path(file)
    rounded = base_parameters(robot := Robot.from_urdf(urdf))
    exact = tmp_path / "exact.urdf"
    right = re.sub(r"(?<![\d.])(1\.570[78]\d*|3\.141[56]\d*)", mended, urdf.read_text("utf-8"))
    exact.write_text(right, "utf-8")
    wanted = base_parameters(Robot.from_urdf(exact))
    assert (rounded.rank, wanted.rank) == (rank, rank)
    assert rounded.faint
    assert not wanted.faint
    joint = rounded.B[rounded.inertial_rank :, : 10 * robot.dof]
    assert not joint.any()  # no friction parameter holds a part of a dropped inertial one
    W = fresh_regressor(robot, rounded.considered)
    left = (
        W
        - W[:, np.searchsorted(rounded.considered, rounded.columns)]
        @ (rounded.B[:, rounded.considered])
    )
    assert np.abs(left).max() < 1e-4 * np.abs(W).max()  # what is left of the dropped directions
    assert np.linalg.cond(fresh_regressor(robot, rounded.columns)) < 200.0


def mended(match: re.Match[str]) -> str:
    return repr(np.pi if match[1].startswith("3") else np.pi / 2.0)


def test_rank_is_that_of_a_fresh_regressor(robot: Robot) -> None:
    base = base_parameters(robot)
    W = fresh_regressor(robot, base.considered)
    assert base.rank == np.linalg.matrix_rank(W / np.abs(W).max(initial=1e-300), tol=1e-8)


def test_base_parameters_give_the_torques_of_the_full_ones(robot: Robot) -> None:
    base = base_parameters(robot)
    W = fresh_regressor(robot, base.considered)
    W_b = fresh_regressor(robot, base.columns)
    for seed in range(3):
        phi = np.zeros(14 * robot.dof)
        phi[base.considered] = np.random.default_rng(seed).normal(size=base.considered.size)
        want = W @ phi[base.considered]
        got = W_b @ base.of(phi)
        # Coefficients below 1e-9 of the largest are dropped, so 1e-8 of the torques may be lost.
        assert np.abs(got - want).max() <= 1e-8 * np.abs(want).max()


def test_base_map_is_the_identity_on_its_columns(named) -> None:
    _, _, base = named
    np.testing.assert_array_equal(base.B[:, base.columns], np.eye(base.rank))


def test_parameters_outside_the_considered_are_left_alone(irb140: Robot) -> None:
    base = base_parameters(irb140, ("Fv",))
    others = [k for k, s in enumerate(base.symbols) if s[:2] in ("Fc", "Fo", "Ia")]
    assert not base.B[:, others].any()
    assert not set(base.considered) & set(others)


def test_plant_and_nominal_have_the_same_base(robot: Robot) -> None:
    nominal = perturb(robot, np.random.default_rng(5))
    one, two = base_parameters(robot), base_parameters(nominal)
    assert one.names == two.names
    assert one.groupings == two.groupings
    np.testing.assert_array_equal(one.B, two.B)


def test_three_classes_partition_the_considered_parameters(named) -> None:
    _, _, base = named
    classes = (base.identifiable_alone, base.no_effect, base.in_combination)
    together = [symbol for group in classes for symbol in group]
    assert sorted(together) == sorted(base.symbols[c] for c in base.considered)
    assert len(together) == len(set(together))


def test_identifiable_alone_is_what_the_row_space_says(named) -> None:
    _, robot, base = named
    W = fresh_regressor(robot, base.considered)
    size = np.linalg.norm(W, axis=0)
    size[size < 1e-9 * size.max()] = 0.0  # rounding, such as a moment along its joint's axis
    kernel = null_space(W / np.where(size > 0.0, size, np.inf), rcond=1e-9)
    # A parameter is determined exactly if no direction of the null space moves it.
    free = np.linalg.norm(kernel, axis=1) if kernel.size else np.zeros(base.considered.size)
    symbols = [base.symbols[c] for c in base.considered]
    alone = {s for s, f in zip(symbols, free, strict=True) if f < 1e-6}
    assert alone == set(base.identifiable_alone)
    without_effect = {s for s, n in zip(symbols, size, strict=True) if n == 0.0}
    assert without_effect == set(base.no_effect)


def test_gantry_knows_only_sums_of_masses() -> None:
    base = base_parameters(Robot.from_urdf(urdf_path("ppp")), ())
    coefficients = {lead: row for lead, row in zip(base.columns, base.B, strict=True)}
    masses = {s: k for k, s in enumerate(base.symbols) if re.fullmatch(r"m\d", s)}
    carried = np.array([row[list(masses.values())] for row in coefficients.values()])
    np.testing.assert_allclose(carried @ np.ones(3) @ np.ones(3), carried.sum(), atol=1e-12)
    assert np.linalg.matrix_rank(carried) == 3
    assert base.identifiable_alone == ("m1", "m2", "m3")
    assert "Ixx1" in base.no_effect


def test_planar_arm_has_the_textbook_groupings() -> None:
    robot = Robot.from_urdf(urdf_path("2r"))
    base = base_parameters(robot, ())
    # Textbook for link length a = 0.5 m: Izz1 + a^2 m2, mx1 + a m2, my1, mx2, my2, Izz2; which
    # symbol leads is the choice of the pivoting.
    assert base.rank == 6
    assert {"my1", "mx2", "my2", "Izz2"} == set(base.identifiable_alone)
    symbols = {s: k for k, s in enumerate(base.symbols)}
    keys = ("Izz1", "mx1", "m2")
    rows = base.B[:, [symbols[k] for k in keys]]
    rows = rows[np.abs(rows).sum(axis=1) > 0]
    textbook = np.array([[1.0, 0.0, 0.25], [0.0, 1.0, 0.5]])
    assert np.linalg.matrix_rank(np.vstack([rows, textbook]), tol=1e-9) == 2
    assert set(base.in_combination) == set(keys)


def test_groupings_of_irb140_spell_out_the_map(irb140: Robot) -> None:
    base = base_parameters(irb140)
    first = next(text for text in base.groupings if text.startswith("Izz1 "))
    assert first.startswith("Izz1 + 0.0049 m2 + Izz2 ")  # axis 2 is 70 mm off axis 1
    assert first.endswith("+ Ia1")
    for name, text, row, lead in zip(base.names, base.groupings, base.B, base.columns, strict=True):
        assert name.removesuffix("R") == base.symbols[lead] == text.split(" ")[0]
        assert name.endswith("R") == (" " in text)
        read = np.zeros(len(base.symbols))
        read[lead] = 1.0
        for sign, factor, symbol in re.findall(r" ([+-]) (?:([\d.e+-]+) )?([A-Za-z]+\d+)", text):
            size = float(factor) if factor else 1.0
            read[base.symbols.index(symbol)] = -size if sign == "-" else size
        np.testing.assert_allclose(read, row, rtol=1e-3, atol=1e-12)  # printed to four digits


def test_base_is_the_same_every_time(irb140: Robot) -> None:
    one, two = base_parameters(irb140), base_parameters(irb140)
    np.testing.assert_array_equal(one.B, two.B)
    with pytest.raises(ValueError, match="read-only"):
        one.B[0, 0] = 2.0


def test_grouping_of_the_torque_regressor_is_the_base(named) -> None:
    _, robot, base = named
    W = torque_regressor(robot, *random_states(robot), base.considered)
    units = parameters.units(robot.prismatic)
    found = grouped(W.reshape(-1, base.considered.size), base.considered, base.symbols, units)
    np.testing.assert_array_equal(found.columns, base.columns)
    np.testing.assert_array_equal(found.B, base.B)
    assert found.units == base.units
    assert found.inertial_rank == base.inertial_rank


def rubbing(robot: Robot, k: int, Fc: float) -> Robot:
    """Return the robot with the dry friction of one joint, and no rotor there."""
    joints = list(robot.joints)
    law = replace(joints[k].friction, Fc=Fc)
    joints[k] = replace(joints[k], friction=law, rotor_inertia=0.0)
    return replace(robot, joints=tuple(joints))


@pytest.mark.parametrize("name", ["2r", "irb140", "iiwa", "panda"])
def test_common_arms_have_none(name) -> None:
    assert light_joints(Robot.from_urdf(urdf_path(name))) == []


def test_the_joint_is_named_with_its_ratio() -> None:
    arm = Robot.from_urdf(urdf_path("2r"))
    elbow, lower = arm.joints[1], arm.links[1].phi
    least = lower[9]  # the axis is z: its inertia is the same in all configurations
    border = RATIO * least * elbow.acceleration
    assert light_joints(rubbing(arm, 1, 0.99 * border)) == []
    (text,) = light_joints(rubbing(arm, 1, 2.0 * border))
    assert text.startswith(f"{elbow.name}: dry friction alone stops it at {2.0 * RATIO:.3g} times")


def test_links_without_inertia_are_not_told_here() -> None:
    arm = Robot.from_urdf(urdf_path("2r"))
    phi = np.zeros_like(arm.parameters())
    phi[20:].reshape(2, 4)[:, 1] = 5.0
    assert light_joints(arm.with_parameters(phi, formal=True)) == []
