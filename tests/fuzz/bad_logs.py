"""Damaged logs: CSV and HDF5."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from bad_input import ANY, BAD_INPUT, BadInput, Study, written

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
