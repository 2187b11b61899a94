"""ABB IRB 140: kinematics, published numbers and what of its parameters torques show."""

import numpy as np
import pytest

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.kinematics.forward import tip_jacobian, tip_pose
from robotid_sim.kinematics.inverse import singularity_index as index_of_urdf
from robotid_sim.model.catalog import load_published_print, load_robot
from robotid_sim.papers.irb140 import kinematics
from robotid_sim.papers.irb140.model import PARAMETER_NAMES, mape, parameter_vector
from robotid_sim.papers.irb140.paper import compute_cad_properties, visible_directions

POSES = np.random.default_rng(0).uniform(-np.pi, np.pi, (50, 6))


@pytest.fixture(scope="module")
def robot():
    return load_robot("irb140")


def test_home_and_zero_pose_are_those_of_the_table() -> None:
    assert kinematics.position(kinematics.HOME_ANGLES) == pytest.approx(
        [0.515, 0.0, 0.712], abs=1e-12
    )
    assert kinematics.position(np.zeros(6)) == pytest.approx([-0.375, 0.0, 0.712], abs=1e-12)


def orientation_entries(q: np.ndarray) -> np.ndarray:
    """Return r13, r33, r31 and r32 of eq. (3) in closed form, shape (4,)."""
    q1, q2, q3, q4, q5, q6 = q
    c1, s1, c4, s4 = np.cos(q1), np.sin(q1), np.cos(q4), np.sin(q4)
    c5, s5, c6, s6 = np.cos(q5), np.sin(q5), np.cos(q6), np.sin(q6)
    c23, s23 = np.cos(q2 + 0.5 * np.pi + q3), np.sin(q2 + 0.5 * np.pi + q3)
    return np.array(
        [
            -c5 * c1 * s23 - s5 * s1 * s4 - s5 * c4 * c1 * c23,
            -c5 * c23 + c4 * s5 * s23,
            -c6 * s5 * c23 - c6 * c4 * c5 * s23 + s4 * s6 * s23,
            c6 * s4 * s23 + s6 * s5 * c23 + s6 * c4 * c5 * s23,
        ]
    )


def singularity_index(q: np.ndarray) -> float:
    """Return kappa(J) at the paper's joint angles."""
    return float(np.linalg.cond(kinematics.jacobian(q[None])[0][0]))


def test_the_closed_form_is_the_product_of_the_transforms() -> None:
    tools = kinematics.dh_frames(POSES)[-1]
    assert np.abs(kinematics.position(POSES) - tools[:, :3, 3]).max() < 2e-15
    entries = np.array([orientation_entries(q) for q in POSES])
    assert np.abs(entries - tools[:, [0, 2, 2, 2], [2, 2, 0, 1]]).max() < 2e-15


def test_the_table_describes_the_urdf(robot) -> None:
    tools = kinematics.dh_frames(POSES + kinematics.HOME_ANGLES)[-1]
    for ours, q in zip(tools, POSES, strict=True):
        assert np.abs(ours - tip_pose(robot, q)).max() < 1e-14


def test_jacobian_and_singularity_index_are_those_of_the_urdf(robot) -> None:
    jacobians, _ = kinematics.jacobian(POSES + kinematics.HOME_ANGLES)
    for ours, q in zip(jacobians, POSES, strict=True):
        assert np.abs(ours - tip_jacobian(robot, q)).max() < 1e-14
        index = singularity_index(q + kinematics.HOME_ANGLES)
        assert index == pytest.approx(index_of_urdf(robot, q), rel=1e-9)


def test_the_comparison_on_the_page_finds_no_difference() -> None:
    found = kinematics.compare_with_urdf(0, 400)
    assert found["position"] < 1e-11  # [mm]
    assert found["jacobian"] < 1e-14
    assert found["kappa_difference"] < 1e-9
    least, median, most = found["kappa"]
    assert 1.0 < least < median < kinematics.MAX_SINGULARITY_INDEX < most
    assert 0.0 < found["singular"] < 0.1


def test_a_straight_wrist_is_singular() -> None:
    q = kinematics.HOME_ANGLES + np.array([0.1, 0.2, 0.3, 0.4, 0.0, 0.5])
    assert singularity_index(q) > 1e12
    q[4] = 0.8
    assert singularity_index(q) < 1000.0


@pytest.mark.parametrize(
    ("column", "com", "inertia"), [("QPSO", 0.4387, 0.7134), ("PSO", 3.5227, 4.4383)]
)
def test_table_3_means_these_errors(column, com, inertia) -> None:
    found = mape(parameter_vector(column), parameter_vector("reference"))
    assert found == pytest.approx((com, inertia), abs=1e-4)


def test_the_parameters_are_the_printed_ones() -> None:
    reference = dict(zip(PARAMETER_NAMES, parameter_vector("reference"), strict=True))
    assert (reference["Xc1"], reference["Iyz1"], reference["Izz3"]) == (0.27787, 5.07, 0.5)
    assert load_published_print("irb140")["link_2"]["mass"] == 25.0


@pytest.mark.parametrize(
    ("tip", "symbols", "rank"),
    [("link_3", (), 15), ("link_3", ("Fv", "Fc"), 21), (None, (), 36), (None, ("Fv", "Fc"), 48)],
)
def test_ranks_of_three_and_six_joints(tip, symbols, rank) -> None:
    assert base_parameters(load_robot("irb140", tip=tip), symbols).rank == rank


def test_torques_show_fifteen_directions_of_the_27_parameters() -> None:
    assert visible_directions() == (15, 27)


def test_the_cad_step_shares_the_mass_by_volume() -> None:
    properties = compute_cad_properties()
    masses = properties["links"][:, 0]
    assert masses == pytest.approx(1e-3 * properties["density"] * properties["volumes"], rel=1e-12)
    assert masses.tolist() == sorted(masses, reverse=True)
    assert masses.sum() < 98.0
