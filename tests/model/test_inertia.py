"""The three forms of inertial parameters, whether a body exists, and bodies that are perturbed."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from robotid_sim.model import inertia
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.geometry import rotation_from_rpy, rpy_from_rotation, transform
from robotid_sim.model.parameters import inertial_slice
from robotid_sim.model.perturb import MAX_MASS_RATIO, MAX_TOTAL_MASS_DIFFERENCE, unlikely_masses

ROUNDING = 1e-13  # a few roundings of numbers of order one


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    axis = rng.normal(size=3)
    return Rotation.from_rotvec(
        rng.uniform(-np.pi, np.pi) * axis / np.linalg.norm(axis)
    ).as_matrix()


def random_body(rng: np.random.Generator) -> np.ndarray:
    """Return the parameters of a cloud of eight point masses, which certainly exists."""
    masses, points = rng.uniform(0.1, 1.0, 8), rng.normal(scale=0.3, size=(8, 3))
    return sum(inertia.pack(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True))


def body_of_moments(moments: tuple[float, float, float], rng: np.random.Generator) -> np.ndarray:
    R = random_rotation(rng)
    return inertia.pack(3.0, rng.normal(size=3), R @ np.diag(moments) @ R.T)


def test_pack_and_unpack_are_inverse() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        phi = random_body(rng)
        np.testing.assert_allclose(inertia.pack(*inertia.unpack(phi)), phi, atol=ROUNDING)


def test_pseudo_inertia_and_back_are_inverse() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        phi = rng.normal(size=10)  # any ten numbers, not only bodies
        back = inertia.from_pseudo_inertia(inertia.pseudo_inertia(phi))
        np.testing.assert_allclose(back, phi, atol=ROUNDING)


def test_pseudo_inertia_is_the_second_moment_of_the_mass() -> None:
    rng = np.random.default_rng(2)
    masses, points = rng.uniform(0.1, 1.0, 5), rng.normal(size=(5, 3))
    phi = sum(inertia.pack(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True))
    lifted = np.column_stack([points, np.ones(5)])
    want = (lifted.T * masses) @ lifted  # sum of m (p, 1) (p, 1)^T
    np.testing.assert_allclose(inertia.pseudo_inertia(phi), want, atol=ROUNDING)


def test_ten_parameters_are_those_of_pinocchio() -> None:
    rng = np.random.default_rng(3)
    phi = random_body(rng)
    mass, com, central = inertia.unpack(phi)
    theirs = pin.Inertia(mass, com, central).toDynamicParameters()
    np.testing.assert_allclose(theirs, phi, atol=ROUNDING)


def test_change_of_frame_agrees_with_pinocchio() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        phi, R, p = random_body(rng), random_rotation(rng), rng.normal(size=3)
        theirs = pin.SE3(R, p).act(pin.Inertia.FromDynamicParameters(phi)).toDynamicParameters()
        ours = inertia.transform(phi, transform(R, p))
        np.testing.assert_allclose(ours, theirs, atol=1e-12)  # offsets of 1 m square the sizes


def test_consistency_agrees_with_the_definiteness_of_the_pseudo_inertia() -> None:
    rng = np.random.default_rng(7)
    verdicts = set()
    for _ in range(300):
        phi = random_body(rng)
        phi[4:] += rng.normal(scale=0.2, size=6)
        exists = bool(np.linalg.eigvalsh(inertia.pseudo_inertia(phi))[0] > 0.0)
        assert (inertia.inconsistency(phi) is None) == exists
        verdicts.add(exists)
    assert verdicts == {True, False}


def test_reasons_are_put_in_terms_of_a_data_sheet() -> None:
    rng = np.random.default_rng(8)
    negative_mass = np.r_[-2.0, np.zeros(9)]
    assert inertia.inconsistency(negative_mass) == "the mass is negative (-2 kg)"
    moment_without_mass = np.r_[np.zeros(4), 1.0, np.zeros(5)]
    assert inertia.inconsistency(moment_without_mass) == "the mass is zero but moments are not"
    reason = inertia.inconsistency(body_of_moments((-0.1, 0.5, 0.5), rng))
    assert reason is not None
    assert "negative principal moment (-0.1)" in reason
    reason = inertia.inconsistency(body_of_moments((0.1, 0.2, 0.4), rng))
    assert reason is not None
    assert "triangle inequality: 0.1 + 0.2 < 0.4" in reason


def test_massless_frame_and_thin_bodies_are_consistent() -> None:
    assert inertia.inconsistency(np.zeros(10)) is None
    point = inertia.pack(2.0, np.array([0.1, 0.2, 0.3]), np.zeros((3, 3)))
    assert inertia.inconsistency(point) is None
    rod = inertia.pack(2.0, np.array([1.0, 0.0, 0.0]), np.diag([0.0, 1.0, 1.0]))
    assert inertia.inconsistency(rod) is None
    disc = inertia.pack(2.0, np.array([1.0, 0.0, 0.0]), np.diag([1.0, 1.0, 2.0]))
    assert inertia.inconsistency(disc) is None


def test_triangle_margin_is_of_the_principal_moments_about_the_com() -> None:
    rng = np.random.default_rng(9)
    assert inertia.triangle_margin(body_of_moments((2.0, 3.0, 4.0), rng)) == pytest.approx(0.25)
    assert inertia.triangle_margin(body_of_moments((1.0, 2.0, 4.0), rng)) == pytest.approx(-0.25)
    point = inertia.pack(2.0, np.array([0.1, 0.2, 0.3]), np.zeros((3, 3)))
    assert abs(inertia.triangle_margin(point)) <= 1.0  # rounding noise of a zero tensor, no NaN


def test_nearest_body_exists_and_keeps_mass_and_com() -> None:
    rng = np.random.default_rng(10)
    for _ in range(100):
        phi = np.r_[rng.uniform(0.5, 5.0), rng.normal(size=9)]
        near = inertia.nearest_consistent(phi)
        assert inertia.inconsistency(near) is None
        assert inertia.triangle_margin(near) > 0.9e-6
        np.testing.assert_allclose(near[:4], phi[:4], atol=ROUNDING)


@pytest.mark.parametrize("mass", [-1.0, -1e-9, 0.0])
def test_nearest_body_without_a_positive_mass_exists_too(mass) -> None:
    rng = np.random.default_rng(13)
    for _ in range(20):
        phi = np.r_[mass, rng.normal(size=9)]
        near = inertia.nearest_consistent(phi)
        assert inertia.inconsistency(near) is None
        assert near[0] > 0.0
    body = random_body(rng)
    outside = body - np.r_[body[0] + 1e-9, np.zeros(9)]  # as a solver may stop
    assert inertia.inconsistency(outside) is not None
    assert inertia.inconsistency(inertia.nearest_consistent(outside)) is None


def test_nearest_body_of_a_consistent_one_is_itself() -> None:
    rng = np.random.default_rng(11)
    phi = random_body(rng)
    np.testing.assert_allclose(inertia.nearest_consistent(phi), phi, atol=1e-12)


@pytest.mark.slow
def test_nearest_body_is_the_nearest_of_all_second_moments() -> None:
    rng = np.random.default_rng(12)
    for moments in ((0.1, 0.2, 0.5), (-0.2, 0.5, 0.6), (0.01, 0.02, 1.0)):
        phi = body_of_moments(moments, rng)
        wanted = inertia.pseudo_inertia(inertia.pack(1.0, np.zeros(3), inertia.unpack(phi)[2]))
        near = inertia.unpack(inertia.nearest_consistent(phi, margin=0.0))[2]
        found = inertia.pseudo_inertia(inertia.pack(1.0, np.zeros(3), near))
        # Brute force over S = L L^T, positive semidefinite by construction.
        lower = np.tril_indices(3)

        def distance(x: np.ndarray, target: np.ndarray = wanted) -> float:
            L = np.zeros((3, 3))
            L[np.tril_indices(3)] = x
            return float(np.linalg.norm(L @ L.T - target[:3, :3]))

        best = min(
            minimize(distance, rng.normal(size=lower[0].size), tol=1e-12, method="Powell").fun
            for _ in range(5)
        )
        ours = float(np.linalg.norm(found - wanted))
        assert ours == pytest.approx(best, rel=1e-4)  # what Powell's method reaches


def test_principal_axes_are_a_rotation_that_diagonalizes() -> None:
    rng = np.random.default_rng(13)
    for _ in range(20):
        central = inertia.unpack(random_body(rng))[2]
        moments, axes = inertia.principal_axes(central)
        np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, central, atol=ROUNDING)
        assert np.linalg.det(axes) == pytest.approx(1.0)


def test_roll_pitch_yaw_round_trip_also_at_the_pole() -> None:
    rng = np.random.default_rng(14)
    angles = [*rng.uniform(-1.5, 1.5, (50, 3)), [0.4, np.pi / 2, -0.3], [0.4, -np.pi / 2, 0.9]]
    for rpy in angles:
        R = rotation_from_rpy(np.array(rpy))
        np.testing.assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, atol=1e-12)


def test_roll_pitch_yaw_follow_the_urdf_convention() -> None:
    rng = np.random.default_rng(15)
    rpy = rng.uniform(-3.0, 3.0, 3)
    np.testing.assert_allclose(rotation_from_rpy(rpy), pin.rpy.rpyToMatrix(*rpy), atol=ROUNDING)


def test_frame_map_changes_the_frame_of_every_body() -> None:
    rng = np.random.default_rng(5)
    frames = []
    for _ in range(2):
        T = np.eye(4)
        T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        T[:3, 3] = rng.normal(size=3)
        frames.append(T)
    phi = rng.normal(size=(2, 10))
    expected = [inertia.transform(p, T) for p, T in zip(phi, frames, strict=True)]
    found = inertia.frame_map(frames) @ phi.ravel()
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)


def scaled(robot, factors):
    """Return the robot with whole bodies scaled, so that they still can exist."""
    phi = robot.parameters()
    for k, factor in factors.items():
        phi[inertial_slice(k)] *= factor
    return robot.with_parameters(phi)


@pytest.fixture(scope="module")
def robot():
    return load_robot("irb140")


def test_a_robot_is_like_itself(robot):
    assert unlikely_masses(robot, robot) == []


@pytest.mark.parametrize("factor", [1.05 * MAX_MASS_RATIO, 0.95 / MAX_MASS_RATIO])
def test_a_light_or_heavy_link_is_named_alone(robot, factor):
    last = robot.dof - 1  # far less than the total allows
    (text,) = unlikely_masses(scaled(robot, {last: factor}), robot)
    assert text.startswith(f"{robot.links[last].name}: a mass of ")
    assert f"{factor:.2g} times the nominal" in text


def test_what_lies_within_is_no_matter(robot):
    rng = np.random.default_rng(0)
    factors = dict(enumerate(rng.uniform(0.8, 1.25, robot.dof)))
    assert unlikely_masses(scaled(robot, factors), robot) == []


@pytest.mark.parametrize(
    "factor", [1.05 + MAX_TOTAL_MASS_DIFFERENCE, 0.95 - MAX_TOTAL_MASS_DIFFERENCE]
)
def test_the_total_counts_too(robot, factor):
    (text,) = unlikely_masses(scaled(robot, dict.fromkeys(range(robot.dof), factor)), robot)
    assert text.startswith("all links together: ")


def test_links_without_a_nominal_mass_are_left_out(robot):
    empty = robot.parameters()
    empty[inertial_slice(robot.dof - 1)] = 0.0
    assert unlikely_masses(robot, robot.with_parameters(empty, formal=True)) == []
