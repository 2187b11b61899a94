"""Base parameters: how many there are, what they are sums of, and that they lose nothing.

Joints with dry friction and next to nothing that they move."""

import re
from dataclasses import replace

import numpy as np
import pytest
from robots import ROBOTS, example_path, urdf_path
from sampling import sampled
from scipy.linalg import null_space

from robotid_sim.dynamics.base_parameters import (
    MAX_DECELERATION_RATIO,
    BaseParameters,
    base_parameters,
    group_columns,
    light_joints,
    random_states,
)
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.textbook_base import textbook_base
from robotid_sim.errors import RankDeficientError, ShapeError
from robotid_sim.model import parameters
from robotid_sim.model.geometry import Link
from robotid_sim.model.inertia import pack
from robotid_sim.model.joint import Joint
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.papers.rocr6.model import TABLE_2, FirstThreeJoints

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
    assert rounded.negligible
    assert not wanted.negligible
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
        got = W_b @ base.project(phi)
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
    classes = (base.identifiable_alone, base.not_identifiable, base.in_combination)
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
    assert without_effect == set(base.not_identifiable)


def test_gantry_knows_only_sums_of_masses() -> None:
    base = base_parameters(Robot.from_urdf(urdf_path("ppp")), ())
    coefficients = {lead: row for lead, row in zip(base.columns, base.B, strict=True)}
    masses = {s: k for k, s in enumerate(base.symbols) if re.fullmatch(r"m\d", s)}
    carried = np.array([row[list(masses.values())] for row in coefficients.values()])
    np.testing.assert_allclose(carried @ np.ones(3) @ np.ones(3), carried.sum(), atol=1e-12)
    assert np.linalg.matrix_rank(carried) == 3
    assert base.identifiable_alone == ("m1", "m2", "m3")
    assert "Ixx1" in base.not_identifiable


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
    found = group_columns(W.reshape(-1, base.considered.size), base.considered, base.symbols, units)
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
    border = MAX_DECELERATION_RATIO * least * elbow.acceleration
    assert light_joints(rubbing(arm, 1, 0.99 * border)) == []
    (text,) = light_joints(rubbing(arm, 1, 2.0 * border))
    assert text.startswith(
        f"{elbow.name}: Coulomb friction alone stops it at {2.0 * MAX_DECELERATION_RATIO:.3g} times"
    )


def test_links_without_inertia_are_not_told_here() -> None:
    arm = Robot.from_urdf(urdf_path("2r"))
    phi = np.zeros_like(arm.parameters())
    phi[20:].reshape(2, 4)[:, 1] = 5.0
    assert light_joints(arm.with_parameters(phi, formal=True)) == []


D3, RL4 = 0.45, 0.57  # [m]
RX90 = (  # alpha, d, r of the modified Denavit-Hartenberg frames
    (0.0, 0.0, 0.0),
    (np.pi / 2.0, 0.0, 0.0),
    (0.0, D3, 0.0),
    (-np.pi / 2.0, 0.0, RL4),
    (np.pi / 2.0, 0.0, 0.0),
    (-np.pi / 2.0, 0.0, 0.0),
)

OUTER = {f"m{k}": 1.0 for k in (3, 4, 5, 6)}
WRIST = {f"m{k}": 1.0 for k in (4, 5, 6)}


def times(factor: float, row: dict[str, float]) -> dict[str, float]:
    return {symbol: factor * value for symbol, value in row.items()}


FOREARM = {"Iyy4": 1.0, "mz4": 2.0 * RL4, **times(RL4**2, WRIST)}
PRINTED = {
    "Izz1": {"Ia1": 1.0, "Iyy2": 1.0, "Iyy3": 1.0, **times(D3**2, OUTER)},
    "Ixx2": {"Iyy2": -1.0, **times(-(D3**2), OUTER)},
    "Ixz2": {"mz3": -D3},
    "Izz2": {"Ia2": 1.0, **times(D3**2, OUTER)},
    "mx2": times(D3, OUTER),
    "Ixx3": {"Iyy3": -1.0, **FOREARM},
    "Izz3": FOREARM,
    "my3": {"mz4": 1.0, **times(RL4, WRIST)},
    "Ixx4": {"Iyy4": -1.0, "Iyy5": 1.0},
    "Izz4": {"Iyy5": 1.0},
    "my4": {"mz5": -1.0},
    "Ixx5": {"Iyy5": -1.0, "Iyy6": 1.0},
    "Izz5": {"Iyy6": 1.0},
    "my5": {"mz6": 1.0},
    "Ixx6": {"Iyy6": -1.0},
}
"""What stands with the leading parameter in the table of Khalil and Dombre."""

ALONE = (
    "Ixy2 Iyz2 my2 Ixy3 Ixz3 Iyz3 mx3 Ia3 Ixy4 Ixz4 Iyz4 mx4 Ia4 Ixy5 Ixz5 Iyz5 mx5 Ia5 "
    "Ixy6 Ixz6 Iyz6 Izz6 mx6 my6 Ia6"
).split()
"""The others of the 40 of that table."""


def chain(axes, placements, prismatic=None) -> Robot:
    """Return a robot of bodies with joints about `axes`, at `placements` (4, 4)."""
    limits = {"lower": -3.0, "upper": 3.0, "velocity": 3.0, "acceleration": 30.0}
    flags = prismatic or [False] * len(axes)
    joints = tuple(
        Joint(f"j{k}", T, np.asarray(axis, dtype=float), prismatic=flag, **limits)
        for k, (axis, T, flag) in enumerate(zip(axes, placements, flags, strict=True))
    )
    body = pack(2.0, np.array([0.1, 0.05, -0.08]), np.diag([0.03, 0.04, 0.05]))
    return Robot("chain", tuple(Link(f"l{k}", body) for k in range(len(axes))), joints)


def modified_dh(alpha: float, d: float, r: float) -> np.ndarray:
    """Return Rot_x(alpha) Trans_x(d) Trans_z(r), what stands before Rot_z of the joint."""
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array([[1, 0, 0, d], [0, c, -s, -s * r], [0, s, c, c * r], [0, 0, 0, 1]])


def regressor(robot: Robot, columns: np.ndarray) -> np.ndarray:
    """Return W on states that had no part in any base, shape (100 n, c)."""
    q, dq, ddq = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 100, robot.dof))
    return torque_regressor(robot, q, dq, ddq, columns).reshape(-1, len(columns))


def assert_rows(base: BaseParameters, expected: dict[str, dict[str, float]]) -> None:
    """Assert the sums of the base parameters that are led by the keys."""
    rows = {base.symbols[c]: row for c, row in zip(base.columns, base.B, strict=True)}
    for lead, others in expected.items():
        wanted = np.zeros(len(base.symbols))
        for symbol, factor in {lead: 1.0, **others}.items():
            wanted[base.symbols.index(symbol)] = factor
        np.testing.assert_allclose(rows[lead], wanted, atol=1e-9, err_msg=lead)


def test_rx90_has_the_table_of_khalil_and_dombre() -> None:
    robot = chain([(0.0, 0.0, 1.0)] * 6, [modified_dh(*row) for row in RX90])
    base = textbook_base(robot, base_parameters(robot, ("Ia",)))
    leads = {base.symbols[c] for c in base.columns}
    assert base.rank == 40
    assert leads == {*PRINTED, *ALONE}
    assert_rows(base, PRINTED | {symbol: {} for symbol in ALONE})
    assert {name for name in base.names if name.endswith("R")} == {f"{lead}R" for lead in PRINTED}


def test_table_of_the_rocr6_has_these_leads() -> None:
    """Its frames have their axes along z, those of the URDF along y: the roles are permuted."""
    arm = FirstThreeJoints()
    frames = [T[:3, :3] for T in arm.published.frames]
    axes = [R.T @ joint.axis for R, joint in zip(frames, arm.robot.joints, strict=True)]
    np.testing.assert_allclose(np.abs(axes), [[0.0, 0.0, 1.0]] * 3, atol=1e-9)
    turned = chain(axes, [joint.T_parent_joint for joint in arm.robot.joints])
    base = textbook_base(turned, arm.basis)
    assert {base.symbols[c] for c in base.columns} == set(TABLE_2)
    order = [base.columns.tolist().index(c) for c in arm.basis.columns]
    np.testing.assert_allclose(base.B[order], arm.basis.B, atol=1e-12)


def test_planar_arm_has_the_textbook_sums() -> None:
    base = textbook_base(Robot.from_urdf(urdf_path("2r")))
    inertial = [*base.groupings[:6]]
    assert inertial == [
        "mx1 + 0.5 m2", "my1", "Izz1 + 0.25 m2 + Ia1", "mx2", "my2", "Izz2",
    ]  # fmt: skip


def test_scara_leads_are_those_of_parallel_axes() -> None:
    base = textbook_base(Robot.from_urdf(urdf_path("scara")))
    assert base.groupings[:8] == (
        "Izz1 + 0.1225 m2 + Ia1",
        "mx2 + mx3",
        "my2 + my3",
        "Izz2 + 0.6 mx3 + Izz3",
        "m3 + m4",
        "mx4",
        "my4",
        "Izz4",
    )


@pytest.mark.parametrize(
    ("axis", "kept", "left_over"),
    [
        ((0, 0, 1), {"Ixx2", "Ixy2", "Ixz2", "Iyz2", "Izz2", "mx2", "my2"}, "Iyy2"),
        ((0, -1, 0), {"Ixx2", "Ixy2", "Ixz2", "Iyz2", "Iyy2", "mx2", "mz2"}, "Izz2"),
        ((1, 0, 0), {"Ixx2", "Ixy2", "Ixz2", "Iyz2", "Iyy2", "my2", "mz2"}, "Izz2"),
        ((0.6, 0, 0.8), {"Ixx2", "Ixy2", "Ixz2", "Iyz2", "Izz2", "mx2", "my2"}, "Iyy2"),
    ],
)
def test_roles_follow_the_axis_in_the_link_frame(axis, kept, left_over) -> None:
    first = (0.0, 1.0, 0.0) if axis[1] == 0 else (1.0, 0.0, 0.0)
    robot = chain([first, axis], [np.eye(4), np.eye(4)])
    base = textbook_base(robot, base_parameters(robot, ()))
    leads = {base.symbols[c] for c in base.columns}
    assert {lead for lead in leads if lead.endswith("2")} == kept
    assert left_over in base.in_combination


def test_prismatic_joint_gives_its_moments_of_inertia_to_the_link_before() -> None:
    placement = modified_dh(np.pi / 2.0, 0.2, 0.0)
    axes, flags = [(0.0, 0.0, 1.0)] * 3, [False, False, True]
    robot = chain(axes, [np.eye(4), placement, placement], flags)
    base = textbook_base(robot, base_parameters(robot, ()))
    leads = [base.symbols[c] for c in base.columns]
    assert [lead for lead in leads if lead.endswith("3")] == ["m3", "mx3", "my3", "mz3"]
    moments = {f"{symbol}3" for symbol in ("Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")}
    assert moments <= set(base.in_combination)


@pytest.mark.parametrize("name", ROBOTS)
def test_torques_estimates_and_covariances_survive(name) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    basis = base_parameters(robot)
    base = textbook_base(robot, basis)
    assert (base.rank, base.inertial_rank) == (basis.rank, basis.inertial_rank)
    assert sorted(base.columns) == base.columns.tolist()
    units = parameters.units(robot.prismatic)
    assert base.units == tuple(units[c] for c in base.columns)
    assert base.not_identifiable == basis.not_identifiable
    assert base.identifiable_alone == basis.identifiable_alone  # no matter of grouping
    rng = np.random.default_rng(1)
    beta, L = rng.normal(size=basis.rank), rng.normal(size=(basis.rank, basis.rank))
    T = basis.map_to(base)
    Y, Y_new = regressor(robot, basis.columns), regressor(robot, base.columns)
    size = np.abs(Y @ beta).max()
    np.testing.assert_allclose(Y_new @ (T @ beta), Y @ beta, atol=1e-9 * size)
    spread = Y @ (L @ L.T) @ Y.T
    np.testing.assert_allclose(
        Y_new @ (T @ L @ L.T @ T.T) @ Y_new.T, spread, atol=1e-9 * np.abs(spread).max()
    )
    np.testing.assert_allclose(base.map_to(basis) @ T, np.eye(basis.rank), atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_random_robots_keep_their_rank(seed) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    axes = rng.normal(size=(n, 3))
    if seed % 2:  # axes of the frames, in either sense
        axes = np.eye(3)[rng.integers(3, size=n)] * rng.choice([-1.0, 1.0], size=(n, 1))
    placements = []
    for _ in range(n):
        turned = modified_dh(rng.choice([0.0, np.pi / 2.0, rng.normal()]), *rng.normal(size=2))
        placements.append(turned)
    flags = (rng.uniform(size=n) < 0.3).tolist()
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    robot = chain(axes, placements, flags)
    basis = base_parameters(robot)
    base = textbook_base(robot, basis)
    assert base.rank == basis.rank
    W, W_b = regressor(robot, base.considered), regressor(robot, base.columns)
    left = W - W_b @ base.B[:, base.considered]
    assert np.abs(left).max() < 1e-8 * np.abs(W).max()


@pytest.mark.parametrize(
    "name", ["so_arm_description/urdf/so100.urdf", "xarm_description/urdf/xarm7.urdf"]
)
def test_rounded_right_angles_change_no_leads(name, tmp_path) -> None:
    robot = Robot.from_urdf(example_path(name))
    text = example_path(name).read_text("utf-8")
    for rounded, right in ((r"1\.570[78]\d*", np.pi / 2.0), (r"3\.141[56]\d*", np.pi)):
        text = re.sub(rf"(?<![\d.]){rounded}", repr(right), text)
    path = tmp_path / "exact.urdf"
    path.write_text(text, "utf-8")
    exact = textbook_base(Robot.from_urdf(path))
    base = textbook_base(robot)
    assert base.negligible
    assert not exact.negligible
    np.testing.assert_array_equal(base.columns, exact.columns)
    np.testing.assert_allclose(base.B, exact.B, atol=1e-4)


def test_default_basis_is_that_of_the_robot(irb140: Robot) -> None:
    one, two = textbook_base(irb140), textbook_base(irb140, base_parameters(irb140))
    np.testing.assert_array_equal(one.B, two.B)


def test_grouping_its_own_columns_changes_nothing(irb140: Robot) -> None:
    basis = base_parameters(irb140)
    same = basis.change_leads(basis.columns, parameters.units(irb140.prismatic))
    np.testing.assert_array_equal(same.B, basis.B)
    assert (same.names, same.units) == (basis.names, basis.units)
    np.testing.assert_array_equal(basis.map_to(same), np.eye(basis.rank))


def test_dependent_columns_cannot_lead(irb140: Robot) -> None:
    basis = base_parameters(irb140)
    units = parameters.units(irb140.prismatic)
    with pytest.raises(RankDeficientError, match="52 independent columns make this base"):
        basis.change_leads(basis.columns[:-1], units)
    mass = [0, *basis.columns[1:]]  # m1 has no effect
    with pytest.raises(RankDeficientError, match=r"m1, .* cannot lead"):
        basis.change_leads(mass, units)


def test_map_to_another_base_is_refused(irb140: Robot) -> None:
    with pytest.raises(ShapeError, match="is not a regrouping"):
        base_parameters(irb140).map_to(base_parameters(irb140, ()))
