"""Words that no command takes, and places where nothing can be read or written."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

from bad_input import ANY, BadInput, Study

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
        "identify": ("--drive-gain-std", "--seed"),
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
