"""Springs, counterbalances and shared motors in a robot.toml: what is read, what is refused."""

import pytest
from robots import urdf_path

from robotid_sim.errors import OptionError
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.robot import Robot

HEAD = 'schema = "robotid/robot/1"\nurdf = "irb140.urdf"\n'

STATED = """
[joints.joint_2]
Fv = 3.0
spring = { stiffness = 120.0, rest = 0.5 }
[joints.joint_3]
counterbalance = [[-5, 40.0], [0.0, 0], [5.0, -30.0]]
[joints.joint_6]
coupled-joints = { partner = "joint_5", Im = 0.02, side = -1 }
"""


@pytest.fixture
def folder(tmp_path):
    file = urdf_path("irb140")
    (tmp_path / "irb140.urdf").write_bytes(file.read_bytes())
    return tmp_path


def read(folder, toml, **options):
    (folder / "robot.toml").write_text(HEAD + toml)
    return Robot.from_urdf(folder / "irb140.urdf", assume_limits=True, **options)


def test_terms_are_read_beside_numbers(folder):
    robot = read(folder, STATED)
    assert robot.terms == (
        JointTerm("spring", "joint_2", (120.0, -60.0)),
        JointTerm("counterbalance", "joint_3", (-5.0, 40.0, 0.0, 0.0, 5.0, -30.0)),
        JointTerm("coupled-joints", "joint_6", (0.02, 0.0, 0.0), -1.0, "joint_5"),
    )
    assert robot.joints[1].friction.Fv == 3.0


def test_a_shorter_chain_leaves_those_of_other_joints(folder):
    whole = read(folder, STATED)
    short = read(folder, STATED, tip=whole.links[1].name)
    assert [term.kind for term in short.terms] == ["spring"]


def test_they_are_stronger_than_those_of_the_file(folder):
    file = folder / "irb140.urdf"
    more = '<robotid><term kind="spring" joint="joint_2" values="1 2"/></robotid></robot>'
    file.write_text(file.read_text().replace("</robot>", more))
    assert read(folder, "").terms == (JointTerm("spring", "joint_2", (1.0, 2.0)),)
    assert read(folder, STATED).terms == read(folder, STATED).terms
    assert len(read(folder, STATED).terms) == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("spring = 3.0", r"robot.toml: joints.joint_2.spring must be a table, as in spring = \{"),
        ("spring = { rest = 1.0 }", "joints.joint_2.spring lacks stiffness, as in spring ="),
        ("spring = { stifness = 1.0 }", "'stifness' .did you mean 'stiffness'.*known: stiffness"),
        ('spring = { stiffness = "k" }', "joints.joint_2.spring.stiffness = 'k' is not a finite"),
        ("spring = { stiffness = nan }", "is not a finite number"),
        (f"spring = {{ stiffness = 1{400 * '0'} }}", "stiffness = inf is not a finite number"),
        (f"counterbalance = [[0, 1{400 * '0'}]]", "counterbalance = inf is not a finite number"),
        ("counterbalance = 4", "joints.joint_2.counterbalance must be rows of position and torque"),
        ("counterbalance = [[1, 2, 3]]", "must be rows of position and torque, as in"),
        ("counterbalance = [[1.0, true]]", "True is not a finite number"),
        ("counterbalance = [[9, 1.0]]", "joints.joint_2.counterbalance: .*two or more rows"),
        ("counterbalance = [[1, 1], [0, 2]]", "two or more rows .* the positions rising"),
        ("counterbalance = [[0, 1], [0.1, 2]]", "goes from 0 to 0.1, and the joint .*; add rows"),
        ("coupled-joints = { Im = 1.0 }", "coupled-joints lacks partner, as in"),
        ('coupled-joints = { partner = "elbow", Im = 1.0 }', "no joint 'elbow'"),
        ('coupled-joints = { partner = "joint_2", Im = 1.0 }', "partner another joint"),
        ('coupled-joints = { partner = "joint_3", Im = 1.0, side = 2 }', "side must be 1 or -1"),
        ("springs = { stiffness = 1.0 }", "unknown key 'springs' .did you mean 'spring'"),
    ],
)
def test_what_is_not_stated_as_it_should_be_is_refused(folder, line, said):
    with pytest.raises(OptionError, match=said) as error:
        read(folder, f"[joints.joint_2]\n{line}\n")
    assert "\n" not in str(error.value)
