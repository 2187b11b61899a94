"""Damaged robots, configurations, trajectories and estimates."""

import json
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from bad_input import ANY, DOUBTED, BadInput, Study, written
from lxml import etree
from pydantic import BaseModel

from robotid_sim.pipeline.config import StudyConfig

NO_NUMBERS = ("", "nan", "inf", "abc", "1e999", "1 2 3 4 5 6 7", "0x10", "--1", "1,5")
"""Texts that are no finite number."""

STRANGE = ("0", "-1", "1e300", "1e-320", "9" * 400, "\u0661", "..", "$\\frac{$", "</script>")
"""Values that some places can have."""

NUMERIC = {
    *("value", "xyz", "rpy", "lower", "upper", "velocity", "effort", "damping", "friction"),
    *("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
}
"""Attributes of a URDF that hold numbers which are read."""

ROBOT_COMMANDS = (
    ("check", "bad.urdf"),
    ("run", "bad.urdf", "--out", "out", "--dry-run"),
    ("export", "bad.urdf", "-o", "new.urdf"),
)


def robots(study: Study, rng: random.Random) -> Iterator[BadInput]:
    """URDFs: every element gone or doubled, every attribute wrong, and files that are none."""
    edits = list(_edits(study.urdf))
    rng.shuffle(edits)
    for k, (name, text, sure) in enumerate(edits[:170]):
        command = ROBOT_COMMANDS[k % 3]
        codes = DOUBTED if sure else ANY
        thing = "bad.urdf" if sure else ""
        yield BadInput(f"urdf {name}", command, written("bad.urdf", text), codes, thing)
    for name, content in _no_robots(study.urdf):
        for command in ROBOT_COMMANDS[:2]:
            yield BadInput(f"urdf {name}", command, written("bad.urdf", content), thing="bad.urdf")


def _edits(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield name, text and whether it is bad for sure, of all edits of one place."""
    count = len(list(etree.fromstring(text.encode()).iter(etree.Element)))
    for k in range(count):
        for kind in ("without", "twice", "renamed"):
            root = etree.fromstring(text.encode())
            element = list(root.iter(etree.Element))[k]
            parent = element.getparent()
            if parent is None:
                continue
            if kind == "without":
                parent.remove(element)
            elif kind == "twice":
                parent.insert(parent.index(element), deepcopy(element))
            else:
                element.tag += "s"
            yield f"{kind} {element.tag} {k}", etree.tostring(root, encoding=str), False
        names = list(list(etree.fromstring(text.encode()).iter(etree.Element))[k].attrib)
        for attribute in names:
            for value in (*NO_NUMBERS, *STRANGE):
                root = etree.fromstring(text.encode())
                element = list(root.iter(etree.Element))[k]
                element.set(attribute, value)
                sure = attribute in NUMERIC and value in NO_NUMBERS
                name = f"{element.tag} {k} {attribute}={value[:12]!r}"
                yield name, etree.tostring(root, encoding=str), sure


def _no_robots(text: str) -> Iterator[tuple[str, str | bytes]]:
    bomb = "".join(
        f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' if k else '<!ENTITY e1 "ha">' for k in range(12)
    )
    yield "empty", ""
    yield "of spaces", " " * 100_000
    yield "binary", bytes(range(256)) * 16
    yield "NUL", text.replace("robot", "ro\0bot")
    yield "entity bomb", f'<!DOCTYPE robot [{bomb}]><robot name="&e9;"/>'
    yield "external entity", '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><r>&x;</r>'
    yield "deep", "<robot name='r'>" + "<link name='a'>" * 20_000
    yield "another format", "<sdf version='1.6'><model name='m'/></sdf>"
    yield "no XML", "robot: 2r"
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        yield f"cut at {share}", text[: int(share * len(text))]


def configurations(_study: Study, rng: random.Random) -> Iterator[BadInput]:
    """Configurations: every key with values of every other kind, and files that are no TOML."""
    dry = ("run", "2r.urdf", "--out", "out", "--dry-run", "--config", "bad.toml")
    keys = list(keys_of(StudyConfig))
    values = (
        *("nan", "inf", "-inf", "-1", "-1e300", "1e400", "true", "'x'", "''", "[]", "{}"),
        *("[nan]", "[[[]]]", "[1, 2, 3, 4]", "99999999999999999999", "1979-05-27", "{ a = { } }"),
    )
    drawn = [(key, value) for key in keys for value in values]
    rng.shuffle(drawn)
    for key, value in drawn[:150]:
        change = written("bad.toml", f"{key} = {value}\n")
        yield BadInput(f"toml {key} = {value}", dry, change, ANY)
    for key in keys:
        change = written("bad.toml", f"{key}.nowhere.to.be = 1\n")
        yield BadInput(
            f"toml below {key}",
            dry,
            change,
            thing=rf"{re.escape(key.rpartition('.')[0] or key)}|nowhere",
        )
    for name, content in (
        ("no TOML", "seed: 1"),
        ("a key twice", "seed = 1\nseed = 2\n"),
        ("cut", "[design\nperiod = 4"),
        ("no UTF-8", b"seed = 1 # \xff\xfe"),
        ("UTF-16", "seed = 1".encode("utf-16")),
        ("NUL", "seed = 1\0"),
        ("deep", "seed = " + "[" * 5000 + "]" * 5000),
        ("long key", "a" * 100_000 + " = 1"),
        ("long number", "seed = " + "9" * 10_000),
    ):
        yield BadInput(f"toml {name}", dry, written("bad.toml", content), thing="bad.toml")


def keys_of(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Yield the dotted keys of a configuration, those of its sections too."""
    for name, info in model.model_fields.items():
        section = next((a for a in _annotations(info.annotation) if _is_model(a)), None)
        if section is None or above.count(".") > 3:
            yield above + name
        else:
            yield from keys_of(section, f"{above}{name}.")


def _annotations(annotation: Any) -> Iterator[Any]:
    yield annotation
    if not any(word in str(annotation) for word in ("tuple", "dict", "list")):
        for part in getattr(annotation, "__args__", ()):
            yield from _annotations(part)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


VALUES = (
    None,
    "x",
    -1,
    1e308,
    True,
    [],
    {},
    [[[]]],
    10**400,
    "nan",
    [None],
    {"a": 1},
    float("nan"),
)
JSON_COMMANDS = {
    "t.json": (
        ("simulate", "2r.urdf", "--trajectory", "bad.json", "-o", "new.h5"),
        ("view", "2r.urdf", "--record", "new.png", "--trajectory", "bad.json"),
    ),
    "e.json": (("predict", "2r.urdf", "bad.json", "l.csv"), ("compare", "bad.json", "e.json")),
}


def json_files(study: Study, rng: random.Random) -> Iterator[BadInput]:
    """Trajectories and estimates: every value of another kind, and files that are no JSON."""
    for source, text in (("t.json", study.trajectory), ("e.json", study.estimate)):
        commands = JSON_COMMANDS[source]
        places = list(_places(json.loads(text)))
        for k in range(75):
            place, value = rng.choice(places), rng.choice((*VALUES, "DELETE"))
            damage = written("bad.json", json.dumps(_changed(json.loads(text), place, value)))
            name = f"json {source} {'.'.join(map(str, place))} = {str(value)[:12]}"
            yield BadInput(name, commands[k % len(commands)], damage, ANY)
        for k, (name, content) in enumerate(
            (
                ("empty", ""),
                ("cut", text[: len(text) // 2]),
                ("deep", "[" * 100_000),
                ("of another kind", '{"schema": 1}'),
                ("a list", "[1, 2, 3]"),
                ("a number", "1"),
                ("no UTF-8", b'{"a": "\xff\xfe"}'),
                ("a long number", '{"schema": ' + "9" * 10_000 + "}"),
                ("a newer schema", re.sub(r'/\d+"', '/99999"', text, count=1)),
                ("lone surrogate", '{"schema": "\\ud800"}'),
            )
        ):
            words = commands[k % len(commands)]
            damage = written("bad.json", content)
            yield BadInput(f"json {source} {name}", words, damage, thing="bad.json")


def _places(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = list(enumerate(value))[:2]
    for key, below in items:
        yield (*above, key)
        yield from _places(below, (*above, key))


def _changed(value: Any, place: tuple[str | int, ...], new: Any) -> Any:
    holder = value
    for key in place[:-1]:
        holder = holder[key]
    if new == "DELETE":
        del holder[place[-1]]
    else:
        holder[place[-1]] = new
    return value
