"""Robots that read well and make no sense, and those that only look like it."""

import random
from collections.abc import Callable, Iterator
from copy import deepcopy

from bad_input import ANY, DOUBTED, BadInput, Study, written
from lxml import etree

Change = Callable[[etree._Element, etree._Element, etree._Element], object]
"""Of the tree, a joint and the link that it moves."""

NO_NUMBERS = ("nan", "inf", "-inf", "1e308", "abc", "", "1e999", "1_0")

NUMBERS = {
    "joint/limit": ("lower", "upper", "velocity", "effort"),
    "joint/dynamics": ("damping", "friction"),
    "joint/axis": ("xyz",),
    "joint/origin": ("xyz", "rpy"),
    "link/inertial/mass": ("value",),
    "link/inertial/inertia": ("ixx", "ixy", "izz"),
    "link/inertial/origin": ("xyz", "rpy"),
}
"""Numbers of a URDF by element."""

OTHERS = {
    "joint/limit velocity": ("0", "-1", "1e-9", "1e-300"),
    "joint/limit effort": ("-1", "1e-12"),
    "joint/dynamics damping": ("-1", "1e9"),
    "joint/dynamics friction": ("-1", "1e9"),
    "joint/axis xyz": ("0 0 0", "1e-300 0 0", "0 0", "0 0 1 0"),
    "joint/origin xyz": ("1e9 0 0", "0", "1 2 3 4"),
    "link/inertial/mass value": ("-1", "1e9"),
    "link/inertial/inertia ixx": ("-1", "1e9", "1e-9"),
    "link/inertial/inertia ixy": ("10", "-10"),
    "link/inertial/inertia izz": ("-1", "10", "0"),
    "link/inertial/origin xyz": ("1e9 0 0", "900 0 0", "1 2"),
}
"""Finite numbers that no arm has, by element and attribute."""

NAMES = {
    "empty": "",
    "tab": "a\tb",
    "line": "a\nb",
    "turned": "a\u202eb",
    "without width": "a\u200bb",
    "next line": "a\x85b",
    "mark": "\ufeffa",
}
"""Names that nobody can read."""


def _number(value: str) -> str:
    """Return a vector with a number in it where vectors stand."""
    return f"{value} 0 0"


def _set(path: str, key: str, value: str) -> Change:
    kind, _, below = path.partition("/")

    def change(_root: etree._Element, joint: etree._Element, link: etree._Element) -> None:
        element = (joint if kind == "joint" else link).find(below)
        assert element is not None
        element.set(key, value)

    return change


def _add(path: str, text: str) -> Change:
    """Add an element to the robot, to the joint or to the link."""

    def change(root: etree._Element, joint: etree._Element, link: etree._Element) -> None:
        holder = {"robot": root, "joint": joint, "link": link}[path]
        holder.append(etree.fromstring(text.replace("JOINT", str(joint.get("name")))))

    return change


def _end(tag: str, link: str) -> Change:
    def change(_root: etree._Element, joint: etree._Element, child: etree._Element) -> None:
        joint.find(tag).set("link", link or child.get("name"))

    return change


def _reverse(_root: etree._Element, joint: etree._Element, _link: etree._Element) -> None:
    limit = joint.find("limit")
    lower, upper = limit.get("lower"), limit.get("upper")
    limit.set("lower", upper)
    limit.set("upper", lower)


def _close(_root: etree._Element, joint: etree._Element, _link: etree._Element) -> None:
    limit = joint.find("limit")
    limit.set("upper", limit.get("lower"))


def _rename(kind: str, name: str) -> Change:
    def change(root: etree._Element, joint: etree._Element, link: etree._Element) -> None:
        element = {"robot": root, "joint": joint, "link": link}[kind]
        before = element.get("name")
        element.set("name", name)
        for end in root.iter("parent", "child"):
            if kind == "link" and end.get("link") == before:
                end.set("link", name)

    return change


def _remove(path: str) -> Change:
    def change(_root: etree._Element, joint: etree._Element, link: etree._Element) -> None:
        kind, _, below = path.partition("/")
        holder = joint if kind == "joint" else link
        element = holder.find(below) if below else holder
        element.getparent().remove(element)

    return change


def _double(kind: str, name: str | None = None) -> Change:
    def change(root: etree._Element, joint: etree._Element, link: etree._Element) -> None:
        copy = deepcopy(joint if kind == "joint" else link)
        copy.set("name", name or copy.get("name"))
        root.append(copy)

    return change


def _type(kind: str, *, all_joints: bool = False) -> Change:
    def change(root: etree._Element, joint: etree._Element, _link: etree._Element) -> None:
        for each in root.findall("joint") if all_joints else [joint]:
            each.set("type", kind)

    return change


def _chain(count: int) -> Change:
    def change(root: etree._Element, joint: etree._Element, link: etree._Element) -> None:
        for each in root.findall("joint"):
            root.remove(each)
        for each in root.findall("link"):
            root.remove(each)
        for k in range(count):
            for source, name in ((link, f"l{k}"), (joint, f"j{k}")):
                copy = deepcopy(source)
                copy.set("name", name)
                root.append(copy)
            copy.find("parent").set("link", f"l{k}")
            copy.find("child").set("link", f"l{k + 1}")
        root.append(etree.fromstring(f'<link name="l{count}"/>'))

    return change


SENSELESS: dict[str, Change] = {
    "limits reversed": _reverse,
    "limits equal": _close,
    "parent none": _end("parent", "nowhere"),
    "child none": _end("child", "nowhere"),
    "parent itself": _end("parent", ""),
    "parent removed": _remove("joint/parent"),
    "child removed": _remove("joint/child"),
    "link removed": _remove("link"),
    "joint removed": _remove("joint"),
    "limit removed": _remove("joint/limit"),
    "mass removed": _remove("link/inertial/mass"),
    "joint twice": _double("joint"),
    "link twice": _double("link"),
    "two parents": _double("joint", "again"),
    "two roots": _double("link", "again"),
    "type none": _type(""),
    "type ball": _type("spherical"),
    "type planar": _type("planar"),
    "nothing moves": _type("fixed", all_joints=True),
    "mimic of itself": _add("joint", '<mimic joint="JOINT"/>'),
    "mimic of nothing": _add("joint", '<mimic joint="nowhere"/>'),
    "mimic of no name": _add("joint", '<mimic joint=""/>'),
    "mimic without joint": _add("joint", '<mimic multiplier="2"/>'),
    "mimic nan": _add("joint", '<mimic joint="OTHER" multiplier="nan"/>'),
    "mimic abc": _add("joint", '<mimic joint="OTHER" offset="abc"/>'),
    "64 and more": _chain(65),
    "300 joints": _chain(300),
    "1100 joints": _chain(1100),
    **{
        f"extension {key} {value}": _add(
            "robot", f'<robotid><joint name="JOINT" {key}="{value}"/></robotid>'
        )
        for key, values in {
            "Ia": ("-1", "nan", "1e308"),
            "eps": ("0", "-1", "inf"),
            "Fo": ("nan", "1e308"),
            "acceleration": ("0", "-1", "1e-9", "1e308", "nan"),
        }.items()
        for value in values
    },
    "extension of none": _add("robot", '<robotid><joint name="nowhere" Ia="1"/></robotid>'),
    "extension tip": _add("robot", '<robotid tip="nowhere"/>'),
    "extension base": _add("robot", '<robotid base="nowhere"/>'),
    "extension term": _add("robot", '<robotid><term kind="none" joint="JOINT"/></robotid>'),
}
"""Robots that no study can be of."""

OTHERWISE: dict[str, Change] = {
    "effort 0": _set("joint/limit", "effort", "0"),
    "effort removed": lambda _root, joint, _: joint.find("limit").attrib.pop("effort"),
    "mass 0": _set("link/inertial/mass", "value", "0"),
    "mass 1e-9": _set("link/inertial/mass", "value", "1e-9"),
    "damping 1e-300": _set("joint/dynamics", "damping", "1e-300"),
    "axis long": _set("joint/axis", "xyz", "0 0 1e30"),
    "range small": _set("joint/limit", "upper", "-2.19999999"),
    "rpy 1e9": _set("joint/origin", "rpy", "1e9 0 0"),
    "inertia removed": _remove("link/inertial/inertia"),
    "inertial removed": _remove("link/inertial"),
    "axis removed": _remove("joint/axis"),
    "origin removed": _remove("joint/origin"),
    "dynamics removed": _remove("joint/dynamics"),
    "type prismatic": _type("prismatic"),
    "type continuous": _type("continuous"),
    "type floating": _type("floating"),  # the chain ends before it
    "an unknown element": _add("joint", "<spring stiffness='nan'/>"),
    "transmission": _add("robot", "<transmission name='a'><joint name='nowhere'/></transmission>"),
}
"""Robots that some study can be of."""


def senseless_robots(study: Study, rng: random.Random) -> Iterator[BadInput]:
    """URDFs whose numbers, names and trees no arm has."""
    changes = [(name, change, DOUBTED) for name, change in SENSELESS.items()]
    changes += [(name, change, ANY) for name, change in OTHERWISE.items()]
    for path, keys in NUMBERS.items():
        for key in keys:
            for value in NO_NUMBERS:
                text = _number(value) if key in ("xyz", "rpy") else value
                unlimited = key in ("velocity", "effort", "upper")  # which is told
                none = unlimited and value == "1e308"
                codes = ANY if none else DOUBTED
                changes.append((f"{path} {key}={value!r}", _set(path, key, text), codes))
            for value in OTHERS.get(f"{path} {key}", ()):
                changes.append((f"{path} {key}={value!r}", _set(path, key, value), DOUBTED))
    for what, name in NAMES.items():
        for kind in ("robot", "joint", "link"):
            codes = ANY if (kind, name) == ("robot", "") else DOUBTED
            changes.append((f"{kind} named {what}", _rename(kind, name), codes))
    for name, change, codes in changes:
        root = etree.fromstring(study.urdf.encode())
        joint = rng.choice(root.findall("joint"))
        link = root.find(f"link[@name='{joint.find('child').get('link')}']")
        change(root, joint, link)
        other = next(j.get("name") for j in root.iter("joint") if j is not joint)
        text = etree.tostring(root, encoding=str).replace("OTHER", other or "")
        yield BadInput(
            f"robot {name}", ("check", "bad.urdf"), written("bad.urdf", text), codes, "bad.urdf"
        )
