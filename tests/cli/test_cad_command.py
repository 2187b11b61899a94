"""``robotid cad``: a robot with the inertia of its geometry, and what it says when it cannot."""

import json

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot


@pytest.mark.slow
def test_catalog_robot_is_written_and_tabulated(robotid, tmp_path) -> None:
    out = tmp_path / "out.urdf"
    done = robotid("cad", "rocr6", "--total-mass", 24, "-o", out)
    assert (done.code, done.err) == (0, "")
    for text in ("base_link (fixed)", "link_6", "principal moments", "uniform density", out.name):
        assert text in done.out.replace("\n", "")
    back = Robot.from_urdf(out)
    assert sum(link.phi[0] for link in back.document.links.values()) == 24.0
    assert robotid("check", out).code == 0


def test_json_is_one_object_and_agrees_with_the_file(robotid, tmp_path) -> None:
    out = tmp_path / "out.urdf"
    done = robotid("cad", "irb120", "--total-mass", 25, "-o", out, "--json")
    assert done.code == 0
    content = json.loads(done.out)
    assert (content["robot"], content["total_mass"], content["file"]) == ("irb120", 25.0, str(out))
    links = content["links"]
    assert [link["movable"] for link in links] == [False] + [True] * 6
    assert sum(link["mass"] for link in links) == 25.0
    robot = Robot.from_urdf(out)
    for link, body in zip(links[1:], robot.links, strict=True):
        assert link["name"] == body.name
        assert link["mass"] == body.phi[0]
        np.testing.assert_allclose(link["com"], body.phi[1:4] / body.phi[0], atol=1e-15)
        low, middle, high = link["principal_moments"]
        assert 0.0 < low <= middle <= high <= low + middle
        assert link["mass"] / link["volume"] == pytest.approx(content["density"])
        assert link["convex_hulls"] == []


def test_meshes_are_found_from_the_new_place_and_friction_stays(robotid, tmp_path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    out = tmp_path / "deep" / "er" / "out.urdf"
    assert robotid("cad", "irb140", "--total-mass", 98, "-o", out).code == 0
    robot, before = Robot.from_urdf(out), load_robot("irb140")
    meshes = [s.mesh for link in robot.links for s in link.shapes]
    assert all(mesh.is_file() for mesh in meshes)
    assert [joint.friction for joint in robot.joints] == [joint.friction for joint in before.joints]
    again = robotid("cad", out, "--total-mass", 98, "-o", tmp_path / "twice.urdf")
    assert again.code == 0
    np.testing.assert_allclose(
        Robot.from_urdf(tmp_path / "twice.urdf").parameters(), robot.parameters(), rtol=1e-12
    )


@pytest.mark.pybullet
def test_open_mesh_is_one_line_with_the_remedy_that_works(robotid, refused, tmp_path) -> None:
    out = tmp_path / "iiwa.urdf"
    said = refused("cad", urdf_path("iiwa"), "--total-mass", 24, "-o", out)
    assert "link_0.obj is not closed" in said
    assert "--convex-hull" in said
    assert not out.exists()
    done = robotid("cad", urdf_path("iiwa"), "--total-mass", 24, "-o", out, "--convex-hull")
    assert done.code == 0
    assert "convex hull taken of link_7.obj" in done.out
    assert sum(link.phi[0] for link in Robot.from_urdf(out).document.links.values()) == 24.0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("irb140", "--total-mass", 0), "must be positive"),
        (("irb140", "--total-mass", "nan"), "must be positive"),
        (("irb140",), "--total-mass"),
        (("irb999", "--total-mass", 1), "no robot 'irb999'"),
    ],
)
def test_bad_input_is_one_line(refused, tmp_path, words, text: str) -> None:
    assert text in refused("cad", *words, "-o", tmp_path / "x.urdf")
    assert not (tmp_path / "x.urdf").exists()


def test_missing_folder_is_told_before_the_work(refused, tmp_path) -> None:
    assert "choose a folder" in refused(
        "cad", "irb140", "--total-mass", 98, "-o", tmp_path / "none" / "x.urdf"
    )
