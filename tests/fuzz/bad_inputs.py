"""A corpus of bad inputs, drawn from a seed: damaged files of every format, words, and folders."""

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from lxml import etree
from pydantic import BaseModel

from robotid_sim.study.config import StudyConfig

BAD_INPUT = frozenset({2})
DOUBTED = frozenset({1, 2})
ANY = frozenset({0, 1, 2})
"""Codes of a command; the last for damages that may leave an input in order."""


@dataclass(frozen=True)
class BadInput:
    """Words of a command, and what makes an input of it bad."""

    name: str
    words: tuple[str, ...]
    """Of the command line; paths are inside the folder of the study."""
    damage: Callable[[Path], None] = field(default=lambda _: None)
    """Writes the damaged input into a copy of that folder."""
    codes: frozenset[int] = BAD_INPUT
    """Exit codes that are right."""
    thing: str = ""
    """Pattern of what the line must name, where the code is 2."""


@dataclass(frozen=True)
class Study:
    """The files of a short study, of which the corpus is made."""

    urdf: str
    trajectory: str
    estimate: str
    csv: str
    hdf5: bytes


def corpus(study: Study, seed: int) -> Iterator[BadInput]:
    """Yield the bad inputs of all families; the same for one seed."""
    for k, family in enumerate((robots, configurations, tables, hdf5, json_files, words, folders)):
        yield from family(study, random.Random(f"{seed} {k}"))


def written(name: str, content: str | bytes) -> Callable[[Path], None]:
    """Return the damage that puts a file in place of what was there."""
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data) and None


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
    keys = list(_keys(StudyConfig))
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


def _keys(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Yield the dotted keys of a configuration, those of its sections too."""
    for name, info in model.model_fields.items():
        section = next((a for a in _annotations(info.annotation) if _is_model(a)), None)
        if section is None or above.count(".") > 3:
            yield above + name
        else:
            yield from _keys(section, f"{above}{name}.")


def _annotations(annotation: Any) -> Iterator[Any]:
    yield annotation
    if not any(word in str(annotation) for word in ("tuple", "dict", "list")):
        for part in getattr(annotation, "__args__", ()):
            yield from _annotations(part)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


LOG_COMMANDS = (
    ("identify", "2r.urdf", "{log}", "-o", "new.json"),
    ("diagnose", "2r.urdf", "{log}"),
    ("predict", "2r.urdf", "e.json", "{log}"),
    ("import", "{log}", "--robot", "2r.urdf", "-o", "new.h5"),
    ("view", "2r.urdf", "--record", "new.png", "--log", "{log}"),
)


def of_log(log: str, k: int) -> tuple[str, ...]:
    """Return the words of a command that reads a log."""
    return tuple(word.replace("{log}", log) for word in LOG_COMMANDS[k % len(LOG_COMMANDS)])


CELLS = ("", "abc", "nan", "inf", "-inf", "1e999", "1;5", '"', "1e308", "\x00", "9" * 500)


def tables(study: Study, rng: random.Random) -> Iterator[BadInput]:
    """CSV logs: cells, columns, rows, times and encodings that are wrong."""
    lines = study.csv.splitlines()
    head = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    for k in range(60):
        damaged, cell = list(lines), rng.choice(CELLS)
        row = rng.randrange(head, len(lines))
        cells = damaged[row].split(",")
        cells[rng.randrange(len(cells))] = cell
        damaged[row] = ",".join(cells)
        name = f"csv cell {k} {cell[:5]!r}"
        yield BadInput(name, of_log("bad.csv", k), written("bad.csv", "\n".join(damaged)), ANY)
    for k, (name, text) in enumerate(_no_tables(lines, head)):
        for command in (k, k + 1):
            damage = written("bad.csv", text)
            yield BadInput(f"csv {name}", of_log("bad.csv", command), damage, thing="bad.csv")
    for k, (name, time) in enumerate(
        (
            ("milliseconds", lambda t: 1e3 * t),
            ("microseconds", lambda t: 1e6 * t),
            ("samples", lambda t: round(250 * t)),
            ("backward", lambda t: -t),
            ("constant", lambda t: 0.0 * t),
            ("random", lambda _: rng.random()),
        )
    ):
        retimed = [
            ",".join([repr(time(float(c))), rest]) for c, _, rest in _split(lines[head + 1 :])
        ]
        text = "\n".join([*lines[: head + 1], *retimed])
        words = of_log("bad.csv", 0)
        yield BadInput(f"csv time {name} {k}", words, written("bad.csv", text), thing="bad.csv")


def _split(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    return (line.partition(",") for line in lines)


def _no_tables(lines: list[str], head: int) -> Iterator[tuple[str, str | bytes]]:
    body, names = lines[head + 1 :], lines[head]
    yield "empty", ""
    yield "only names", names
    yield "one row", "\n".join([names, body[0]])
    yield "two rows", "\n".join([names, *body[:2]])
    yield "no names", "\n".join(body)
    yield "names twice", "\n".join([",".join([names, *names.split(",")[1:]]), *body])
    yield "one column", "\n".join(line.split(",")[0] for line in lines[head:])
    yield "a short row", "\n".join([names, *body[:50], body[50].rsplit(",", 1)[0], *body[51:]])
    yield "a long row", "\n".join([names, *body[:50], body[50] + ",1", *body[51:]])
    yield "UTF-16", "\n".join(lines).encode("utf-16")
    yield "binary", bytes(range(256)) * 64
    yield "NULs", b"\0" * 4096
    yield "an open quote", "\n".join([names, *body[:50], '"' + body[50], *body[51:]])
    yield "a long line", "t," + "a" * 3_000_000
    yield "many columns", ",".join(f"c{k}" for k in range(20_000)) + "\n" + ",".join(20_000 * "1")
    yield "a page", "<!DOCTYPE html><html><body>404</body></html>"


def hdf5(study: Study, rng: random.Random) -> Iterator[BadInput]:
    """HDF5 logs: bytes cut and turned, and contents of other kinds."""
    size = len(study.hdf5)
    for k in range(20):
        cut = study.hdf5[: rng.randrange(size)]
        yield BadInput(f"h5 cut {k}", of_log("bad.h5", k), written("bad.h5", cut), thing="bad.h5")
    for k in range(60):
        damaged = bytearray(study.hdf5)
        for _ in range(rng.choice((1, 4, 64))):  # most in the head, where the structure is
            place = rng.randrange(rng.choice((64, 4096, size)))
            damaged[place] = rng.randrange(256)
        damage = written("bad.h5", bytes(damaged))
        yield BadInput(f"h5 bytes {k}", of_log("bad.h5", k), damage, ANY)
    for k, change in enumerate(CONTENTS):
        for command in (k, k + 1):
            damage = _changed_hdf5(study.hdf5, change)
            # Without attributes it is a log of other programs.
            codes = ANY if change == "no attributes" else BAD_INPUT
            words = of_log("bad.h5", command)
            yield BadInput(f"h5 {change}", words, damage, codes, thing="bad.h5")


def _changed_hdf5(content: bytes, change: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / "bad.h5").write_bytes(content)
        with h5py.File(folder / "bad.h5", "r+") as file:
            CONTENTS[change](file, folder)

    return damage


def _replace(name: str, value: Any) -> Callable[[h5py.File, Path], None]:
    def change(file: h5py.File, _folder: Path) -> None:
        del file[name]
        file[name] = value

    return change


def _as_group(file: h5py.File, _folder: Path) -> None:
    del file["q"]
    file.create_group("q/q/q")


def _loop(file: h5py.File, _folder: Path) -> None:
    del file["q"]
    file["q"] = h5py.SoftLink("/q")


def _external(file: h5py.File, folder: Path) -> None:
    with h5py.File(folder / "other.h5", "w") as other:
        other["q"] = file["q"][()]
    del file["q"]
    file["q"] = h5py.ExternalLink("other.h5", "/q")


def _huge(file: h5py.File, _folder: Path) -> None:
    del file["q"]
    file.create_dataset("q", shape=(10**12, 2), dtype="f8", chunks=(1000, 2))


def _without_attributes(file: h5py.File, _folder: Path) -> None:
    for holder in (file, *file.values()):
        for name in list(holder.attrs):
            del holder.attrs[name]


CONTENTS: dict[str, Callable[[h5py.File, Path], None]] = {
    "without q": lambda file, _: file.__delitem__("q"),
    "without t": lambda file, _: file.__delitem__("t"),
    "q a group": _as_group,
    "q a loop": _loop,
    "q elsewhere": _external,
    "q huge": _huge,
    "q text": _replace("q", "abc"),
    "q complex": _replace("q", np.ones((700, 2), complex)),
    "q bool": _replace("q", np.ones((700, 2), bool)),
    "q a scalar": _replace("q", 1.0),
    "q empty": _replace("q", h5py.Empty("f8")),
    "q of no rows": _replace("q", np.ones((0, 2))),
    "q of three axes": _replace("q", np.ones((3, 700, 2))),
    "q of 3 joints": _replace("q", np.ones((700, 3))),
    "q NaN": _replace("q", np.full((700, 2), np.nan)),
    "t text": _replace("t", "now"),
    "t backward": _replace("t", -np.arange(700.0)),
    "t NaN": _replace("t", np.full(700, np.nan)),
    "no attributes": _without_attributes,
}


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


SAID_AS = {"--fps": "frames per second", "--floor": "floor", "--seed": "seed"} | {
    f"--{name}": f"a {name} " for name in ("speed", "size", "time")
}
"""What a message may call an option."""

NUMBERS = ("nan", "inf", "-inf", "1e999", "-1", "0x1", "٣", "1_0_", "9" * 4000, " ", "1,2", "None")


def words(_study: Study, rng: random.Random) -> Iterator[BadInput]:
    """Command lines: numbers that are none, names that are unknown, options that are not there."""
    numeric = {
        "run": ("--seed", "--workers", "--clearance"),
        "design": ("--seed", "--count", "--clearance", "--floor"),
        "simulate": ("--seed",),
        "identify": ("--torque-gain-std", "--seed"),
        "validate": ("--runs", "--workers"),
        "view": ("--fps", "--speed", "--size", "--time"),
    }
    begun = {
        "run": ("2r.urdf", "--out", "out", "--dry-run"),
        "design": ("2r.urdf", "-o", "new.json"),
        "simulate": ("2r.urdf", "--trajectory", "t.json", "-o", "new.h5"),
        "identify": ("2r.urdf", "l.csv", "-o", "new.json"),
        "validate": ("2r.urdf", "e.json"),
        "view": ("2r.urdf", "--log", "l.csv", "--record", "new.gif"),
    }
    allowed = {("design", "--floor", "-inf"), ("design", "--floor", "-1")}
    for command, options in numeric.items():
        for option in options:
            for value in NUMBERS:
                if (command, option, value) not in allowed:
                    line = (command, *begun[command], option, value)
                    thing = f"{option}|{SAID_AS.get(option, option)}"
                    yield BadInput(f"words {command} {option} {value[:9]}", line, thing=thing)
    junk = ("--", "-", "-x", "--no", "\u202e", "a" * 100_000, "$(ls)", "*", "%s%n", "\udcff", "\n")
    for k in range(30):
        command, word = rng.choice(sorted(begun)), rng.choice(junk)
        line = [command, *begun[command]]
        line.insert(rng.randrange(len(line) + 1), word)
        yield BadInput(f"words {k} {word[:9]!r}", tuple(line), codes=ANY)


def folders(_study: Study, _rng: random.Random) -> Iterator[BadInput]:
    """Outputs that cannot be, and inputs that are folders, devices or pipes."""
    for place in ("2r.urdf", "2r.urdf/out", "/proc/out", "/dev/null", "x" * 300, "a/" * 3000):
        yield BadInput(f"out {place[:9]}", ("run", "2r.urdf", "--out", place, "--quick"))
        yield BadInput(f"-o {place[:9]}", ("design", "2r.urdf", "-o", f"{place}.json/t.json"))
    for name in (".", "/dev/zero", "/dev/null", "pipe", "nowhere", "to_nowhere", "to_itself"):
        for k, line in enumerate(
            (
                ("check", name),
                ("identify", "2r.urdf", name, "-o", "new.json"),
                ("simulate", "2r.urdf", "--trajectory", name, "-o", "new.h5"),
                ("predict", "2r.urdf", name, "l.csv"),
                ("run", "2r.urdf", "--out", "out", "--dry-run", "--config", name),
                ("view", "--result", name, "--record", "new.png"),
            )
        ):
            yield BadInput(f"input {name} {k}", line, _strange_files)


def _strange_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "to_nowhere").symlink_to("nowhere")
    (folder / "to_itself").symlink_to("to_itself")
