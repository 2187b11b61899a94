"""The diagnosis of bodies: what is wrong, what the engine would do with it, what a repair moves."""

import time
from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.model import inertia
from robotid_sim.model.diagnosis import (
    ENGINE_BOUNDARY,
    ENGINE_MASSLESS,
    ENGINE_NEGATIVE,
    ENGINE_ZEROED,
    diagnose,
    diagnose_body,
    in_hull,
    repair_report,
    summary,
)
from robotid_sim.model.geometry import GeometryShape, Link, transform

BOX = np.diag([0.01, 0.02, 0.025])
TOO_LONG = np.diag([0.01, 0.02, 0.05])


def body(mass=2.0, com=(0.0, 0.0, 0.1), central=BOX, shapes=()) -> Link:
    return Link("body", inertia.pack(mass, np.array(com), central), shapes=shapes)


def box_shape(x: float) -> GeometryShape:
    """A cube of 0.2 m about (x, 0, 0.1)."""
    return GeometryShape("box", (0.2, 0.2, 0.2), transform(np.eye(3), np.array([x, 0.0, 0.1])))


def test_a_good_body_has_nothing_to_say() -> None:
    found = diagnose_body(body())
    assert (found.reason, found.engine) == (None, None)
    assert found.mass == 2.0
    np.testing.assert_allclose(found.com, [0.0, 0.0, 0.1])
    np.testing.assert_allclose(found.moments, [0.01, 0.02, 0.025])
    assert found.triangle_margin == pytest.approx(0.2)
    assert found.pseudo_inertia[0] > 0.0
    assert found.com_inside is None


@pytest.mark.parametrize(
    ("link", "reason", "engine"),
    [
        (body(central=TOO_LONG), "triangle", ENGINE_ZEROED),
        (body(central=np.diag([-0.01, 0.02, 0.02])), "negative principal", ENGINE_ZEROED),
        (Link("b", -inertia.pack(1.0, np.zeros(3), BOX)), "negative", ENGINE_NEGATIVE),
        (Link("b", np.zeros(10)), None, ENGINE_MASSLESS),
        (body(central=np.diag([0.01, 0.02, 0.03])), None, ENGINE_BOUNDARY),
    ],
)
def test_bad_bodies_say_why_and_what_the_engine_would_do(link, reason, engine) -> None:
    found = diagnose_body(link)
    assert found.engine == engine
    if reason is None:
        assert found.reason is None
    else:
        assert reason in found.reason


def test_impossible_bodies_have_a_negative_eigenvalue() -> None:
    assert diagnose_body(body(central=TOO_LONG)).pseudo_inertia[0] < 0.0


def test_bullet_zeroes_what_the_diagnosis_says_it_zeroes(tmp_path, pybullet) -> None:
    """The engine's silence is a fact about PyBullet; it is asked here, not assumed."""
    urdf = (
        '<robot name="r"><link name="a"><inertial><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.02" izz="{}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link></robot>"
    )
    client = pybullet.connect(pybullet.DIRECT)
    try:
        moments = []
        for izz in (0.025, 0.05):
            path = tmp_path / f"{izz}.urdf"
            path.write_text(urdf.format(izz))
            flags = pybullet.URDF_USE_INERTIA_FROM_FILE
            loaded = pybullet.loadURDF(str(path), flags=flags, physicsClientId=client)
            moments.append(pybullet.getDynamicsInfo(loaded, -1, physicsClientId=client)[2])
    finally:
        pybullet.disconnect(client)
    assert moments[0] == pytest.approx((0.01, 0.02, 0.025))
    assert moments[1] == (0.0, 0.0, 0.0)


def test_com_is_looked_for_in_the_hull_of_all_shapes() -> None:
    assert diagnose_body(body(shapes=(box_shape(0.0),))).com_inside is True
    assert diagnose_body(body(shapes=(box_shape(1.0),))).com_inside is False
    both = (box_shape(1.0), box_shape(-1.0))
    assert diagnose_body(body(shapes=both)).com_inside is True


def test_collision_shapes_decide_where_there_are_some() -> None:
    far = replace(box_shape(1.0), collision=True)
    assert diagnose_body(body(shapes=(box_shape(0.0), far))).com_inside is False


def test_com_on_the_surface_is_inside_and_flat_points_have_no_hull() -> None:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    assert in_hull(corners, np.array([1.0, 0.5, 0.5])) is True
    assert in_hull(corners, np.array([1.001, 0.5, 0.5])) is False
    assert in_hull(corners[:4] * [0.0, 1.0, 1.0], np.zeros(3)) is None


def test_shapes_that_coincide_have_a_hull_at_once() -> None:
    """A triangulation of the points of many round shapes on one another takes minutes."""
    round_shapes = (("sphere", (0.05,)), ("capsule", (0.02, 0.2)), ("cylinder", (0.02, 0.1)))
    shapes = [GeometryShape(kind, size, np.eye(4)) for kind, size in round_shapes] * 4
    began = time.perf_counter()
    assert diagnose_body(body(shapes=tuple(shapes))).com_inside is True
    assert time.perf_counter() - began < 5.0


def test_missing_mesh_leaves_the_hull_unknown(tmp_path) -> None:
    mesh = GeometryShape("mesh", (1.0, 1.0, 1.0), np.eye(4), mesh=tmp_path / "none.stl")
    assert diagnose_body(body(shapes=(mesh,))).com_inside is None


def test_repair_report_names_what_moved(irb140) -> None:
    phi = irb140.parameters().copy()
    phi[9] += 40.0  # Izz of link 1
    broken = irb140.with_parameters(phi, formal=True)
    fixed = broken.repaired()
    change = np.tile([1.0, 0, 0, 0, 0, 0], (4, 1))
    report = repair_report(broken, fixed, change, np.full(6, 2.0))
    assert report.distance[0] > 0.01
    assert not report.distance[1:].any()
    assert {name[-1] for name, _, _ in report.changed} == {"1"}
    assert report.torque.tolist() == [0.5, 0, 0, 0, 0, 0]
    assert "Frobenius" in report.metric
    assert summary(diagnose(broken)) == "1 of 6 bodies cannot exist: link_1"
    assert summary(diagnose(fixed)) == "all 6 bodies can exist"
