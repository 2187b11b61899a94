"""Bodies in other units, a decimal point in a wrong place, masses without extent."""

from dataclasses import replace

import numpy as np
import pytest
from robots import EXAMPLES, urdf_path

from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.model import inertia
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.plausibility import find_implausible
from robotid_sim.model.robot import Robot

BRANCHED = ("tiago", "baxter")


@pytest.mark.parametrize("name", sorted({*catalog(), *EXAMPLES} - {*BRANCHED}))
def test_robots_as_published_are_plausible(name) -> None:
    robot = Robot.from_urdf(urdf_path(name), assume_limits=True, formal=True)
    assert find_implausible(robot) == []


def scaled(robot, *, length=1.0, mass=1.0):
    """Return a robot whose file is in other units of length or mass."""
    links = []
    for link in robot.links:
        m, com, central = inertia.unpack(link.phi)
        links.append(replace(link, phi=inertia.pack(mass * m, length * com, mass * central)))
    joints = []
    for joint in robot.joints:
        T = joint.T_parent_joint.copy()
        T[:3, 3] *= length
        joints.append(replace(joint, T_parent_joint=T))
    return replace(robot, links=tuple(links), joints=tuple(joints))


def test_lengths_in_mm_and_masses_in_g_are_named(irb140) -> None:
    (fault,) = find_implausible(scaled(irb140, length=1000.0))
    assert fault.finding.endswith("m long: lengths look like mm")
    (fault,) = find_implausible(scaled(irb140, mass=1000.0))
    assert fault.finding.endswith("masses look like g")


def test_a_wide_arm_in_kg_mm2_is_not_taken_for_one_in_g_cm2(tmp_path) -> None:
    """Radii of gyration of .1 and .17 m of links of .3 m: a unit that nobody uses is nearer."""
    body = (
        '<link name="{}"><inertial><origin xyz="{}"/><mass value="{}"/><inertia {}/>'
        "</inertial></link>"
    )
    moments = ['ixx="3e4" iyy="3e4" izz="2e4"', 'ixx="1e4" iyy="5e4" izz="5.5e4"']
    links = body.format("l1", "0 .01 .1", 3, moments[0]) + body.format(
        "l2", ".2 .01 0", 2, moments[1]
    )
    joint = (
        '<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="l{0}"/>'
        '<origin xyz=".1 0 .3"/><axis xyz="0 {2} 1"/>'
        '<limit lower="-3" upper="3" velocity="3" effort="100"/></joint>'
    )
    joints = joint.format(1, "base", 0) + joint.format(2, "l1", 1)
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot name="arm"><link name="base"/>{links}{joints}</robot>')
    (fault,) = find_implausible(Robot.from_urdf(path, formal=True))
    assert fault.finding == "inertia of l1, l2 looks like kg mm²; × 1e-06"


def test_one_link_of_another_decade_is_named(irb140) -> None:
    links = list(irb140.links)
    mass, com, central = inertia.unpack(links[2].phi)
    links[2] = replace(links[2], phi=inertia.pack(mass, com, 1000.0 * central))
    (fault,) = find_implausible(replace(irb140, links=tuple(links)))
    name = links[2].name
    assert (
        fault.finding
        == f"inertia of {name} is too large for the arm; a decimal point may be misplaced"
    )
    assert fault.remedy == "multiply it by 0.001, or correct it"


@pytest.mark.parametrize("entry", inertia.TENSOR_ENTRIES)
@pytest.mark.parametrize("factor", [1000.0, 100.0])
def test_a_decimal_point_is_named_with_the_number_that_fits(irb140, entry, factor) -> None:
    mass, com, _ = inertia.unpack(irb140.links[1].phi)
    central = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, 0.015], [0.01, 0.015, 0.5]])
    wrong = central.copy()
    i, k = inertia.TENSOR_ENTRIES[entry]
    wrong[i, k] = wrong[k, i] = factor * central[i, k]
    links = list(irb140.links)
    links[1] = replace(links[1], phi=inertia.pack(mass, com, wrong))
    robot = replace(irb140, links=tuple(links), formal=True)
    _, _, repaired = inertia.unpack(robot.repair().links[1].phi)
    np.testing.assert_allclose(repaired, central, rtol=1e-9)
    with pytest.raises(InconsistentInertiaError, match=f"{entry} = .* the decimal point moved"):
        replace(robot, formal=False)


def test_a_point_mass_is_told_and_written_so_that_mujoco_reads_it(tmp_path) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = urdf_path("2r").read_text()
    begin = text.index("<inertia ")
    bare = f"{text[:begin]}<inertia ixx='0' iyy='0' izz='0' ixy='0' ixz='0' iyz='0'/>"
    (tmp_path / "point.urdf").write_text(bare + text[text.index("/>", begin) + 2 :])
    robot = load_robot(tmp_path / "point.urdf")
    name = robot.links[0].name
    assert any(f"as balls of 1 mm: {name}" in note for note in robot.assumptions)
    notes = write_mjcf(robot, tmp_path / "point.xml")
    assert notes == (f"written with a radius of gyration of 1 mm, for MuJoCo: {name}",)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "point.xml"))
    assert model.body_mass[1] == robot.links[0].phi[0]
