"""Textbook groupings: the printed sums, and that nothing but the grouping changes."""

import re

import numpy as np
import pytest
from robots import ROBOTS, example_path, urdf_path

from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.textbook_base import textbook_base
from robotid_sim.errors import RankDeficientError, ShapeError
from robotid_sim.model import parameters
from robotid_sim.model.geometry import Link
from robotid_sim.model.inertia import pack
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot
from robotid_sim.papers.rocr6.model import TABLE_2, FirstThree

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
    arm = FirstThree()
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
    assert base.no_effect == basis.no_effect
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
    assert base.faint
    assert not exact.faint
    np.testing.assert_array_equal(base.columns, exact.columns)
    np.testing.assert_allclose(base.B, exact.B, atol=1e-4)


def test_default_basis_is_that_of_the_robot(irb140: Robot) -> None:
    one, two = textbook_base(irb140), textbook_base(irb140, base_parameters(irb140))
    np.testing.assert_array_equal(one.B, two.B)


def test_grouping_its_own_columns_changes_nothing(irb140: Robot) -> None:
    basis = base_parameters(irb140)
    same = basis.regrouped(basis.columns, parameters.units(irb140.prismatic))
    np.testing.assert_array_equal(same.B, basis.B)
    assert (same.names, same.units) == (basis.names, basis.units)
    np.testing.assert_array_equal(basis.map_to(same), np.eye(basis.rank))


def test_dependent_columns_cannot_lead(irb140: Robot) -> None:
    basis = base_parameters(irb140)
    units = parameters.units(irb140.prismatic)
    with pytest.raises(RankDeficientError, match="52 independent columns make this base"):
        basis.regrouped(basis.columns[:-1], units)
    mass = [0, *basis.columns[1:]]  # m1 has no effect
    with pytest.raises(RankDeficientError, match=r"m1, .* cannot lead"):
        basis.regrouped(mass, units)


def test_map_to_another_base_is_refused(irb140: Robot) -> None:
    with pytest.raises(ShapeError, match="is no regrouping"):
        base_parameters(irb140).map_to(base_parameters(irb140, ()))
