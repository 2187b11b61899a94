"""Coverage-guided fuzzing of the parsers: URDF and robot.toml, TOML of studies and maps, text logs.

Atheris (``pip install atheris``) changes files so that they reach further into the code of the
package. Whatever a parser raises must be an error of `robotid_sim.errors` in one line; anything
else is a finding: it is printed, and the input that made it is kept in FOLDER.

Run as ``python bench/fuzz.py [urdf] [toml] [table] [--seconds N] [--folder FOLDER]``; one process
after another, ten minutes each by default.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARSERS = (
    *("tomllib", "robotid_sim.importing.importer", "robotid_sim.measurement.files"),
    *("robotid_sim.model.robot", "robotid_sim.pipeline.config"),
)
"""Modules whose coverage guides; what they import of the package counts too."""

LARGEST = 8192
"""Size of an input [bytes]."""

SLOWEST = 20
"""Time of an input that counts as a hang [s]."""

STUDY = """seed = 1
plugins = []
[robot]
tip = "tool0"
joints.joint_1 = { Ia = 0.1 }
[design]
family = "fourier"
constraints = { clearance = 0.02, boxes = [{ lower = [0, 0, 0], upper = [1, 1, 1] }] }
[sensors.encoder-noise]
revolute = 1e-4
[control]
tasks = { circle = {}, joint-step = {} }
"""
MAP = """time = "t"
time_unit = "ms"
windows = [[0.0, 1.0]]
[joints.shoulder]
position = "q1"
position_unit = "deg"
gear_ratio = 100.0
spring = "-3 * sin(q)"
[coupling]
position = [[1.0, 0.0], [0.0, 1.0]]
"""
TABLE = "".join(f"{k};{0.1 * k};{k % 7};{-k};{2 * k}\n" for k in range(60))
LOG = "".join(f"{0.01 * k:g},{0.1 * k},{k % 7},{-k},{2 * k}\n" for k in range(60))


PIECES = tuple(
    map(re.compile, (rb"[^\W\d][\w.-]*", rb"[-+]?\d[\d.eE+-]*", rb"<[^<>]*>", rb"[^\n]*\n"))
)
"""What is changed as a whole: words, numbers, tags, lines."""

VALUES = (b"", b"nan", b"inf", b"-1", b"0", b"1e308", b"1e-320", b"9" * 30, b"true", b"[]", b"{}")


def changed(data: bytes, most: int, seed: int) -> bytes:
    """Return an input with a piece replaced, doubled or left out, or as libFuzzer changes it."""
    import atheris

    rng = random.Random(seed)
    if rng.random() < 0.2:
        return bytes(atheris.Mutate(data, most))
    for _ in range(rng.choice((1, 1, 2, 4))):
        pieces = list(rng.choice(PIECES).finditer(data))
        if pieces:
            piece, other = rng.choice(pieces), rng.choice(pieces)
            new = rng.choice((rng.choice(VALUES), other[0], piece[0] + piece[0]))
            data = data[: piece.start()] + new + data[piece.end() :]
    return data[:most]


def seeds(target: str) -> list[bytes]:
    """Return sound inputs, from which a target begins."""
    if target == "urdf":
        return [path.read_bytes() for path in (ROOT / "tests" / "data").glob("*.urdf")]
    if target == "toml":
        return [STUDY.encode(), MAP.encode(), b"[joints.elbow]\nFv = 0.5\nlower = -1\nupper = 1\n"]
    header = "t,q.shoulder,q.elbow,tau.shoulder,tau.elbow\n"
    commented = f"# period: 0.3\n# torque_time_offset: 0.001\n{header}{LOG}"
    return [commented.encode(), f"time;q1;q2;tau1;tau2\nms;deg;deg;Nm;Nm\n{TABLE}".encode()]


def parsers(target: str, folder: Path) -> list[Callable[[bytes], object]]:
    """Return what reads the bytes of a target."""
    from robotid_sim.importing.import_map import load_map
    from robotid_sim.importing.importer import import_log
    from robotid_sim.measurement.files import load_log
    from robotid_sim.model.robot import Robot
    from robotid_sim.pipeline.config import load_config

    def file(name: str, data: bytes) -> Path:
        path = folder / name
        path.write_bytes(data)
        return path

    def robot(data: bytes) -> None:
        Robot.from_urdf(file("arm.urdf", data), assume_limits=True).parameters()

    def overrides(data: bytes) -> None:
        file("robot.toml", b'schema = "robotid/robot/1"\nurdf = "2r.urdf"\n' + data)
        Robot.from_urdf(arm)

    arm = file("2r.urdf", (ROOT / "tests" / "data" / "2r.urdf").read_bytes())
    reference = Robot.from_urdf(arm)

    def of(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
        return lambda data: read(file(name, data))

    if target == "urdf":
        return [robot]
    if target == "toml":
        return [of("a.toml", load_config), of("a.toml", load_map), overrides]
    return [of("a.csv", load_log), of("a.csv", lambda path: import_log([path], reference))]


def fuzz(target: str, seconds: int, folder: Path) -> None:
    """Fuzz a target in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["robotid_sim", "tomllib"]):
        for module in PARSERS:
            import_module(module)
    from robotid_sim.errors import RobotIdError

    warnings.simplefilter("ignore")
    corpus = folder / target
    corpus.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(seeds(target)):
        (corpus / f"seed-{k}").write_bytes(data)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as room:
        readers = parsers(target, Path(room))

        def one(data: bytes) -> None:
            for read in readers:
                try:
                    read(data)
                except RobotIdError as error:
                    if "\n" in str(error):
                        raise ValueError(f"an error of several lines: {error}") from error

        limits = (f"-max_total_time={seconds}", f"-timeout={SLOWEST}", f"-max_len={LARGEST}")
        found = f"-artifact_prefix={folder / target}-"
        words = [sys.argv[0], *limits, found, "-rss_limit_mb=4096", str(corpus)]
        atheris.Setup(words, one, custom_mutator=changed)
        atheris.Fuzz()


def main() -> int:
    """Fuzz targets one after another; return 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=["urdf", "toml", "table"])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "fuzz")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        fuzz(given.targets[0], given.seconds, given.folder)
        return 0
    codes = {}
    for target in given.targets:
        words = (target, "--here", f"--seconds={given.seconds}", f"--folder={given.folder}")
        codes[target] = subprocess.run([sys.executable, __file__, *words], check=False).returncode
        print(f"{target}: {'nothing found' if codes[target] == 0 else 'FOUND, see above'}")
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main())
