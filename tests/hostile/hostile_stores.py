"""Hostile result folders: manifests, and databases of campaigns."""

import json
import os
import sqlite3
from pathlib import Path

from hostile_file import HostileFile, both, text
from hostile_texts import link, pipe

STATUS = "campaign status out"
VIEW = "view out --record a.png --size 64x48"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"

ABOUT = "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)"
SOUND = f"{ABOUT}; CREATE TABLE trial (TRIAL)"
SOUND_PLAN = {"robot": "twolink", "seeds": 2}


def columns() -> str:
    """Return the columns of a store as this program makes them."""
    from robotid_sim.campaign.store import _COLUMNS

    key, *others = (f"{name} {kind}" for name, kind in _COLUMNS.items())
    return ", ".join([f"{key} PRIMARY KEY", *others])


def store(script: str, plan: object = SOUND_PLAN):
    """Return what writes a store of a campaign; ``TRIAL`` and ``NAMES`` are its columns."""

    def write(folder: Path) -> None:
        from robotid_sim.campaign.store import _COLUMNS

        (folder / "out").mkdir()
        rows = sqlite3.connect(folder / "out" / "campaign.sqlite")
        text = script.replace("NAMES", ", ".join(f"'' AS {name}" for name in _COLUMNS))
        rows.executescript(text.replace("TRIAL", columns()))
        note = plan if isinstance(plan, str) else json.dumps(plan)
        if "CREATE TABLE about" in script:
            rows.execute("INSERT INTO about VALUES ('schema', '1')")
            rows.execute("INSERT INTO about VALUES ('plan', ?)", (note,))
        rows.commit()
        rows.close()

    return write


def manifest(files: object, *more):
    """Return what writes a manifest of a result folder that names files."""
    content = {"schema": "robotid/manifest/1", "kind": "study", "subject": "arm", "command": "x"}
    return both(text("out/manifest.json", json.dumps({**content, "files": files})), *more)


def cyclic(folder: Path) -> None:
    """Write a store whose pages lead to one another."""
    store(SOUND)(folder)
    path = folder / "out" / "campaign.sqlite"
    rows = sqlite3.connect(path)
    count = len(columns().split(","))
    marks = ", ".join("?" for _ in range(count))
    rows.executemany(
        f"INSERT INTO trial VALUES ({marks})",
        ([f"k{k}"] + ["x" * 90] * (count - 1) for k in range(500)),
    )
    rows.commit()
    (root,) = rows.execute("SELECT rootpage FROM sqlite_master WHERE name = 'trial'").fetchone()
    (size,) = rows.execute("PRAGMA page_size").fetchone()
    rows.close()
    data = bytearray(path.read_bytes())
    page = (root - 1) * size
    cells = int.from_bytes(data[page + 3 : page + 5])
    for k in range(cells):  # every child is the root itself
        at = int.from_bytes(data[page + 12 + 2 * k : page + 14 + 2 * k])
        data[page + at : page + at + 4] = root.to_bytes(4)
    data[page + 8 : page + 12] = root.to_bytes(4)
    path.write_bytes(data)


STORES_OF = {
    "view": store(f"{ABOUT}; CREATE VIEW trial AS {ENDLESS} NAMES FROM n"),
    "view about": store(f"CREATE VIEW about AS {ENDLESS} 'schema' AS name, i AS value FROM n"),
    "generated": store(
        f"{ABOUT}; CREATE TABLE trial (TRIAL, fat TEXT AS (hex(zeroblob(900000000))));"
    ),
    "virtual": store(f"{ABOUT}; CREATE VIRTUAL TABLE trial USING fts5(key)"),
    "trigger": store(
        f"{SOUND}; CREATE TRIGGER t BEFORE INSERT ON trial BEGIN "
        "SELECT RAISE(FAIL, 'x') WHERE (SELECT count(*) FROM trial, trial, trial) > 0; END"
    ),
    "garbage": text("out/campaign.sqlite", b"SQLite format 3\0" + b"\xff" * 5000),
    "pipe": pipe("out/campaign.sqlite"),
    "device": link("out/campaign.sqlite", "/dev/zero"),
    "log pipe": both(store(SOUND), pipe("out/campaign.sqlite-wal")),
    "pages": cyclic,
    "plan deep": store(SOUND, "[" * 100_000),
    "plan tables": store(SOUND, '{"study":' * 900 + "1" + "}" * 900),
    "plan plugin": both(
        text("part.py", "from pathlib import Path\nPath('code-of-a-stranger').touch()\n"),
        store(SOUND, {**SOUND_PLAN, "study": {"plugins": ["part.py"]}}),
    ),
    "plan seeds": store(
        SOUND,
        {"robot": "twolink", "seeds": 10**6, "factors": {"design.period": list(range(1, 1000))}},
    ),
}

MANIFESTS = {
    "pipe": pipe("out/manifest.json"),
    "device": link("out/manifest.json", "/dev/zero"),
    "deep": text("out/manifest.json", "[" * 100_000),
    "above": manifest({"../arm.urdf": "0" * 64}),
    "absolute": manifest({"/etc/passwd": "0" * 64}),
    "names a pipe": manifest({"identified.urdf": "0" * 64}, pipe("out/identified.urdf")),
    "names a device": manifest(
        {"identified.urdf": "0" * 64}, link("out/identified.urdf", "/dev/zero")
    ),
    "names a link out": manifest(
        {"identified.urdf": "0" * 64}, link("out/identified.urdf", "/etc/passwd")
    ),
    "names many": manifest({f"f{k}": "0" * 64 for k in range(100_000)}),
    "files": manifest([[[]]]),
}


def running(folder: Path) -> None:
    """Write a folder whose unfinished run is a pipe."""
    (folder / "out" / "incomplete").mkdir(parents=True)
    os.mkfifo(folder / "out" / "incomplete" / "run.json")


def _stores():
    for name, write in STORES_OF.items():
        yield HostileFile(f"store {name}", STATUS, write, "out|plan|trials|plugin")
    for name in ("view", "trigger", "generated", "pipe", "pages"):
        plan = text("plan.toml", 'robot = "twolink"\nseeds = 2\n')
        words = "campaign run plan.toml --out out --workers 1"
        yield HostileFile(f"store {name} resumed", words, both(plan, STORES_OF[name]), "out")
    for name, write in MANIFESTS.items():
        yield HostileFile(f"manifest {name}", VIEW, write, "out")
    yield HostileFile("manifest running", VIEW, running, "out")
    words = "run arm.urdf --quick --out out"
    for name in ("pipe", "names a pipe", "names a device"):
        yield HostileFile(f"manifest {name} replaced", words, MANIFESTS[name], "out")


STORES = tuple(_stores())
