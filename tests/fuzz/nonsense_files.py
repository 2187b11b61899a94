"""Maps, motions, estimates, plans, stores and options that read well and make no sense."""

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bad_input import BAD_INPUT, DOUBTED, BadInput, Study, written

IMPORT = ("import", "l.csv", "--robot", "2r.urdf", "--map", "bad.toml", "-o", "new.h5")

MAPS = (
    *(f"[joints.elbow]\ngear_ratio = {value}" for value in ("0", "nan", "1e-300", "1e300", "'a'")),
    *(f"[joints.elbow]\ntorque_constant = {value}" for value in ("0", "-1", "nan", "1e300")),
    *(f"[joints.elbow]\nrated_torque = {value}" for value in ("0", "-1", "inf")),
    *(f"[joints.elbow]\noffset = {value}" for value in ("nan", "1e300", "'a'")),
    *(f"[joints.elbow]\nsign = {value}" for value in ("0", "2", "nan")),
    "[joints.elbow]\nposition = ''",
    "[joints.elbow]\nposition = 'nowhere'",
    "[joints.elbow]\nposition_unit = 'parsec'",
    "[joints.nobody]\nsign = 1",
    "[joints]\nelbow = 1",
    *(f"rate = {value}" for value in ("0", "-1", "nan", "1e300", "1e9")),
    "time = 'nowhere'",
    "time_unit = 'year'",
    "[coupling]\nposition = [[1, 0], [1, 0]]",
    "[coupling]\nposition = [[0, 0], [0, 0]]",
    "[coupling]\nposition = [[nan, 0], [0, 1]]",
    "[coupling]\nposition = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
    "[coupling]\nposition = [[1e300, 0], [0, 1]]",
)
"""Maps of columns."""

SPEEDS = (-1.0, 0.0, 1e-300, 1e-9, 1e9, 1e300, float("nan"), float("inf"), "1", True, None)


def maps(_study: Study, _rng: random.Random) -> Iterator[BadInput]:
    """Maps of columns that lead to none, or to no numbers."""
    for text in MAPS:
        yield BadInput(f"map {text!r}", IMPORT, written("bad.toml", text + "\n"))


def _change_key(content: Any, key: str, value: Any) -> str:
    return json.dumps({**content, key: value})


def motions(study: Study, _rng: random.Random) -> Iterator[BadInput]:
    """Trajectories that no arm can run."""
    content = json.loads(study.trajectory)
    words = ("simulate", "2r.urdf", "--trajectory", "bad.json", "-o", "new.h5")
    changes: list[tuple[str, Any]] = [
        *(("base_period", value) for value in SPEEDS),
        *(("periods", value) for value in (0, -1, 10**9, 10**30, 1.5, "2")),
        *(("q0", value) for value in ([], [0.0], [1e9, 0.0], [float("nan"), 0.0], 0.0)),
        ("a", [[1e300] * 5] * 2),
        ("a", [[0.0] * 10**5] * 2),
        ("a", []),
        ("b", [[float("inf")] * 5] * 2),
        ("joint_names", ["shoulder", "shoulder"]),
        ("joint_names", ["shoulder", "el\nbow"]),
        ("joint_names", []),
    ]
    for key, value in changes:
        text = _change_key(content, key, value)
        yield BadInput(
            f"motion {key} = {str(value)[:30]}", words, written("bad.json", text), thing="bad.json"
        )


def _covariances(cov: Any) -> Iterator[tuple[str, Any]]:
    size = len(cov)
    eye = [[float(j == k) for k in range(size)] for j in range(size)]
    yield "negative", [[-x for x in row] for row in eye]
    yield "asymmetric", [[x + (k > j) for k, x in enumerate(row)] for j, row in enumerate(eye)]
    yield "indefinite", [[1.0 if j == k else 5.0 for k in range(size)] for j in range(size)]
    yield "nan", [[float("nan")] * size] * size
    yield "inf", [[float("inf") * x if x else 0.0 for x in row] for row in eye]
    yield "1e308", [[1e308] * size] * size
    yield "small", eye[1:]
    yield "ragged", [*eye[:-1], []]
    yield "a vector", eye[0]
    yield "a number", 1.0
    yield "zero diagonal", [[float(j != k) for k in range(size)] for j in range(size)]


def estimates(study: Study, _rng: random.Random) -> Iterator[BadInput]:
    """Estimates whose covariance is none."""
    commands = (
        ("predict", "2r.urdf", "bad.json", "l.csv"),
        ("compare", "bad.json", "e.json"),
        ("validate", "2r.urdf", "bad.json", "--log", "l.csv", "--runs", "1"),
    )
    k = 0
    for place in _covariance_places(json.loads(study.estimate)):
        for name, cov in _covariances(_at(json.loads(study.estimate), place)):
            content = json.loads(study.estimate)
            _at(content, place[:-1])[place[-1]] = cov
            words, k = commands[k % 3], k + 1
            text = json.dumps(content)
            yield BadInput(
                f"estimate {'.'.join(map(str, place))} {name}",
                words,
                written("bad.json", text),
                thing="bad.json",
            )


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _covariance_places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = enumerate(value) if isinstance(value, list) else getattr(value, "items", list)()
    for key, below in items:
        if key in ("cov", "covariance"):
            if below is not None:
                yield (*above, key)
        elif isinstance(below, list | dict):
            yield from _covariance_places(below, (*above, key))


PLANS = (
    "seeds = 0",
    "seeds = -1",
    "seeds = 1000000000000",
    "seeds = [1, 1]",
    "seeds = 2\nfactors = { 'design.period' = [] }",
    "seeds = 2\nfactors = { 'design.period' = [nan] }",
    "seeds = 2\nfactors = { 'design.period' = [4, 4] }",
    "seeds = 2\nfactors = { 'design.nowhere' = [4] }",
    "seeds = 2\nfactors = { 'experiment.rate' = [-1.0] }",
    "seeds = 2\nfactors = { 'experiment.rate' = [1e9] }",
    "seeds = 2\nsamples = 1000000000000",
    "seeds = 2\ntime_limit = 0",
    "seeds = 2\ntime_limit = nan",
    "seeds = 2\ntitle = 3",
    "seeds = 2\nrecord = ['nothing']",
    "seeds = 2\nstudy = { design = { period = -1 } }",
    "seeds = 2\nstudy = { design = { candidates = 1000000000000 } }",
)


def plans(_study: Study, _rng: random.Random) -> Iterator[BadInput]:
    """Plans of campaigns that cannot be run."""
    for k, text in enumerate(PLANS):
        words = ("campaign", "run", "plan.toml", "--out", "out", "--workers", "1")
        words = (*words, "--dry-run") if k % 2 else words
        yield BadInput(
            f"plan {text!r}", words, written("plan.toml", f'robot = "twolink"\n{text}\n')
        )


def stores(_study: Study, rng: random.Random) -> Iterator[BadInput]:
    """Folders of a campaign whose store is none, cut, or of another program."""
    actions = (
        "campaign status out",
        "campaign summary out",
        "campaign export out -o t.csv",
        "campaign run plan.toml --out out --workers 1",
    )
    for kind in ("folder", "text", "other", "cut", "bytes", "newer", "empty"):
        for line in actions[: 3 if kind == "empty" else 4]:  # a run may begin in an empty one
            damage = _damage_store(kind, rng.randrange(10**6))
            yield BadInput(f"store {kind}: {line}", tuple(line.split()), damage)


def _damage_store(kind: str, seed: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        rng, place = random.Random(seed), folder / "out" / "campaign.sqlite"
        (folder / "plan.toml").write_text('robot = "twolink"\nseeds = 1\n')
        place.parent.mkdir()
        if kind == "folder":
            place.mkdir()
        elif kind in ("text", "empty"):
            place.write_text("no store" if kind == "text" else "")
        else:
            _write_store(place, "CREATE TABLE other (x)" if kind == "other" else ABOUT)
            data = bytearray(place.read_bytes())
            if kind == "cut":
                del data[rng.randrange(20, len(data)) :]
            for _ in range(64 if kind == "bytes" else 0):
                data[rng.randrange(len(data))] = rng.randrange(256)
            place.write_bytes(data)

    return damage


ABOUT = """CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT);
INSERT INTO about VALUES ('schema', '99');"""


def _write_store(place: Path, script: str) -> None:
    rows = sqlite3.connect(place)
    rows.executescript(script)
    rows.close()


OPTIONS = (
    "check 2r.urdf --payload nan",
    "check 2r.urdf --payload -1",
    "check 2r.urdf --payload 1e308",
    "check 2r.urdf --payload 1,1e308,0,0",
    "check 2r.urdf --payload 1,0,0,0,1,0,1,0,0,9",
    "check 2r.urdf --payload 1,0,0,0,-1,0,-1,0,0,-1",
    "check 2r.urdf --payload 1,2",
    "check 2r.urdf --base nowhere",
    "check 2r.urdf --tip base --base lower",
    "check 2r.urdf --junit /dev/full",
    "check 2r.urdf --junit .",
    "run 2r.urdf --out out --dry-run --seed 99999999999999999999",
    "run 2r.urdf --out out --dry-run --workers 1000000000",
    "run 2r.urdf --out out --dry-run --junit /dev/full",
    "run 2r.urdf --out /dev/full",
    "run 2r.urdf --out /proc/1/out",
    "design 2r.urdf -o t2.json --count 1000000000",
    "design 2r.urdf -o t2.json --count 0",
    "design 2r.urdf -o t2.json --clearance 1e9",
    "design 2r.urdf -o t2.json --clearance -1",
    "design 2r.urdf -o t2.json --clearance 100",
    "design 2r.urdf -o t2.json --floor 1e9",
    "design 2r.urdf -o t2.json --floor 100",
    "design 2r.urdf -o t2.json --report /dev/full",
    "design 2r.urdf -o t2.json --csv /dev/full",
    "design 2r.urdf -o /dev/full",
    "simulate 2r.urdf --trajectory t.json -o /dev/full",
    "simulate 2r.urdf --trajectory t.json -o .",
    "simulate 2r.urdf --trajectory t.json -o nowhere/l.h5",
    "identify 2r.urdf l.csv -o new.json --report /dev/full",
    "identify 2r.urdf l.csv -o new.json --report .",
    "identify 2r.urdf l.csv -o new.json --urdf /dev/full",
    "identify 2r.urdf l.csv -o new.json --parameters /dev/full",
    "identify 2r.urdf l.csv -o new.json --posterior-samples 1000000000 drawn",
    "identify 2r.urdf l.csv -o new.json --posterior-samples 0 drawn",
    "identify 2r.urdf l.csv -o new.json --posterior-samples 3 2r.urdf",
    "identify 2r.urdf l.csv -o new.json --hold-out blocks:1000000000",
    "identify 2r.urdf l.csv -o new.json --hold-out blocks:0",
    "identify 2r.urdf l.csv -o new.json --hold-out last:0%",
    "identify 2r.urdf l.csv -o new.json --hold-out last:100%",
    "identify 2r.urdf l.csv -o new.json --hold-out last:nan%",
    "identify 2r.urdf l.csv -o new.json --hold-out last:1e-9%",
    "identify 2r.urdf l.csv -o new.json --drive-gain-std 1e308",
    "identify 2r.urdf l.csv -o /dev/full",
    "predict 2r.urdf e.json l.csv --report /dev/full",
    "predict 2r.urdf e.json l.csv -o /dev/full",
    "predict 2r.urdf e.json l.csv -o .",
    "diagnose 2r.urdf l.csv --report /dev/full",
    "compare e.json e.json --report /dev/full",
    "validate 2r.urdf e.json --runs 1000000000",
    "validate 2r.urdf e.json -o /dev/full",
    "validate 2r.urdf e.json --report /dev/full",
    "payload 2r.urdf l.csv l.csv --load 1e308",
    "payload 2r.urdf l.csv l.csv --load nan",
    "import l.csv --robot 2r.urdf -o new.h5 --segment 1000000000",
    "import l.csv --robot 2r.urdf -o new.h5 --write-map /dev/full",
    "import l.csv --robot 2r.urdf -o /dev/full",
    "view 2r.urdf --record new.png --size 1000000x1000000",
    "view 2r.urdf --record new.png --size 0x0",
    "view 2r.urdf --record new.gif --log l.csv --fps 1e9",
    "view 2r.urdf --record new.gif --log l.csv --speed 1e-9",
    "view 2r.urdf --record new.png --log l.csv --time 1e9",
    "view 2r.urdf --record /dev/full --log l.csv",
    "view 2r.urdf --web --port 1000000",
    "export 2r.urdf -o /dev/full",
    "export 2r.urdf -o .",
    "export 2r.urdf -o new.urdf --payload 1e308",
    "cad 2r.urdf --total-mass 1e308 -o new.urdf",
    "cad 2r.urdf --total-mass nan -o new.urdf",
    "cad 2r.urdf --total-mass 1e-300 -o new.urdf",
    "schema result -o /dev/full",
    "campaign run encoder --out /dev/full --quick",
    "certify 2r.urdf --out /dev/full",
    "reproduce twolink-elpidso --out /dev/full",
)
"""Command lines with sizes and places that cannot be."""


def options(_study: Study, _rng: random.Random) -> Iterator[BadInput]:
    """Command lines with sizes and places that cannot be."""
    for line in OPTIONS:
        codes = DOUBTED if "--floor" in line else BAD_INPUT  # no motion keeps above it
        yield BadInput(f"option {line}", tuple(line.split()), codes=codes)


def senseless_files(study: Study, rng: random.Random) -> Iterator[BadInput]:
    """All of them."""
    for family in (maps, motions, estimates, plans, stores, options):
        yield from family(study, rng)
