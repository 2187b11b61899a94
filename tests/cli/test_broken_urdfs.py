"""URDFs that no study can use: `check` refuses what `run` does, with the place and a remedy."""

import re

import pytest
from robots import DATA

TEXT = (DATA / "2r.urdf").read_text()
SHAPE = "<collision><geometry>{}</geometry></collision></link>"


def doubled(tag: str) -> str:
    """Return the arm with the first element of a tag twice."""
    return re.sub(rf"<{tag} [^>]*/>|<{tag}>.*?</{tag}>", r"\g<0>\g<0>", TEXT, count=1, flags=re.S)


def changed(tag: str, **values: str) -> str:
    """Return the arm with other attributes of the first element of a tag."""
    element = re.search(rf"<{tag} [^>]*>", TEXT).group(0)
    new = element
    for key, value in values.items():
        new = re.sub(rf'{key}="[^"]*"', f'{key}="{value}"', new)
    assert new != element
    return TEXT.replace(element, new, 1)


def shaped(shape: str) -> str:
    """Return the arm with a collision shape at its last link."""
    head, _, tail = TEXT.rpartition("</link>")
    return head + SHAPE.format(shape) + tail


def without_inertia() -> str:
    """Return the arm with a last link of which only the shape is given."""
    head, element, tail = TEXT.rpartition("<inertial>")
    return head + (element + tail).split("</inertial>", 1)[1]


BROKEN = {
    **{
        f"two {tag}": (doubled(tag), f"<{tag}> stands 2 times; keep one of them")
        for tag in ("inertial", "mass", "inertia", "limit", "dynamics", "axis", "parent", "child")
    },
    "damping": (changed("dynamics", damping="-1"), "Fv = -1 is negative"),
    "friction": (changed("dynamics", friction="-1"), "Fc = -1 is negative"),
    "much damping": (changed("dynamics", damping="1e12"), "is it in another unit?"),
    "180": (changed("limit", lower="-180", upper="180"), "a range of 360 rad is no arm's; if"),
    "90": (changed("limit", lower="-90", upper="90"), "degrees, convert them; else state them"),
    "180/s": (changed("limit", velocity="180"), "a velocity limit of 180 rad/s is no arm's"),
    "swapped": (changed("limit", lower="2", upper="-2"), "is not below upper limit"),
    "nan": (changed("limit", lower="nan"), "limit lower='nan' is not finite"),
    "weak": (changed("limit", effort="1e-9"), "correct its effort limit or the masses"),
    "effort": (changed("limit", effort="-5"), "negative effort limit"),
    "mass": (changed("mass", value="1e12"), "mass value='1e12' is more than 100000 kg"),
    "no mass": (changed("mass", value="0"), "the mass is zero but moments are not"),
    "minus": (changed("mass", value="-1"), "the mass is negative"),
    "tensor": (changed("inertia", ixx="-1"), "negative principal moment"),
    "heavy": (changed("inertia", ixx="1e9"), "inertia ixx='1e9' is more than 1e+06 kg m^2"),
    "far": (changed("origin", xyz="900 0 0"), "origin xyz='900 0 0' is more than 100 m: is it in"),
    "axis": (changed("axis", xyz="0 0 0"), "the axis is zero"),
    "sphere": (shaped('<sphere radius="-1"/>'), "link 'lower': the size of the sphere is negative"),
    "box": (shaped('<box size="1e6 1 1"/>'), "box size='1e6 1 1' is more than 1000 m"),
    "ball": (TEXT.replace("revolute", "ball", 1), "unknown type 'ball'"),
    "no inertia": (without_inertia(), "joint 'elbow' moves no inertia; give link 'lower' or one"),
    "text": (TEXT[: len(TEXT) // 2], "not well-formed XML"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_study_refuses_the_check_does_and_names_it(robotid, tmp_path, name) -> None:
    text, words = BROKEN[name]
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    checked = robotid("check", path)
    run = robotid("run", path, "--out", tmp_path / "out", "--dry-run")
    assert (run.code, checked.code) in ((2, 2), (2, 1), (1, 1))
    assert (run.out, run.err.count("\n")) == ("", 1)
    assert words in run.err
    assert words in " ".join((checked.err + checked.out).split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            changed("limit", velocity="1000"),
            "velocity limit of 1000 rad/s taken for none, 3.14 rad/s assumed",
        ),
        (shaped('<box size="0 0 0"/>'), "shapes without a volume are left out: lower"),
        pytest.param(
            TEXT.replace("<inertia ", "<other "),
            "missing <inertia> taken as zero: upper, lower",
            marks=pytest.mark.pybullet,  # MuJoCo takes no body without inertia
        ),
        (
            TEXT.replace("</joint>\n</robot>", '<mimic joint="shoulder"/></joint></robot>'),
            "mimic joints, which do not follow but stay at zero: elbow",
        ),
    ],
)
def test_what_is_taken_for_granted_is_told(robotid, tmp_path, text, words) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    done = robotid("check", path)
    assert done.code == 0
    assert f"assumed: {words}" in " ".join(done.out.split())


def test_limits_that_are_stated_are_taken(robotid, tmp_path) -> None:
    path, config = tmp_path / "arm.urdf", tmp_path / "c.toml"
    path.write_text(changed("limit", velocity="180"))
    config.write_text("[robot.joints.shoulder]\nvelocity = 3.0\n")
    assert robotid("check", path, "--config", config).code == 0
