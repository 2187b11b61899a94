"""Hostile maps, studies and plans: TOML, and the code that a text in it may become."""

import os
from pathlib import Path

from hostile_file import PAYLOAD, HostileFile, both, text

IMPORT = "import log.csv --robot arm.urdf --map map.toml -o new.h5"
CHECK = "check arm.urdf --config study.toml"
RUN = "run arm.urdf --config study.toml --quick --out out"
CAMPAIGN = "campaign run plan.toml --out out --workers 1"


def pipe(name: str):
    """Return what makes a pipe that nobody writes into."""

    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(folder / name)

    return write


def link(name: str, target: str):
    """Return what makes a link."""

    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)

    return write


def spring(formula: str):
    """Return what writes a map whose shoulder has a spring."""
    quoted = formula.replace("\\", "\\\\").replace('"', '\\"')
    return text("map.toml", f'[joints.shoulder]\nspring = "{quoted}"\n')


SPRINGS = {
    "exec": f'sin(*(exec("{PAYLOAD}") or 0 for x in (1,)))',
    "import": "__import__('os').system('touch code-of-a-stranger')",
    "print": "print('code-of-a-stranger')",
    "exit": "exit()",
    "shift": "1<<99999999999",
    "powers": "9**9**9",
    "power of q": "q**q**q",
    "strings": "'a'*999999999",
    "lists": "[0]*999999999",
    "attribute": "q.__class__.__base__.__subclasses__()",
    "lambda": "(lambda: 1)()",
    "deep": "(" * 900 + "q" + ")" * 900,
    "signs": "-" * 1900 + "q",
    "long": "q+" * 100_000 + "q",
    "format": "f'{q}'",
    "unicode": "ｅｘｅｃ('1')",
}

TOMLS = {
    "brackets": "a = " + "[" * 100_000,
    "tables": "a = " + "{a = " * 300 + "1" + "}" * 300,
    "dots": ".".join("a" * 15_000) + " = 1",
    "number": "seed = 0x" + "f" * 900_000,
    "large": "a = 1 # " + "x" * 2_000_000,
    "bytes": b"\xff\xfe\x00",
}

PLUGIN = "from pathlib import Path\nPath('code-of-a-stranger').touch()\n"


def _texts():
    for name, formula in SPRINGS.items():
        yield HostileFile(f"map spring {name}", IMPORT, spring(formula), "spring .* of shoulder")
    for name, content in TOMLS.items():
        yield HostileFile(f"map {name}", IMPORT, text("map.toml", content), "map.toml")
        yield HostileFile(f"study {name}", CHECK, text("study.toml", content), "study.toml")
        yield HostileFile(f"plan {name}", CAMPAIGN, text("plan.toml", content), "plan.toml")
    for name, words in {"map": IMPORT, "study": CHECK, "plan": CAMPAIGN}.items():
        yield HostileFile(f"{name} pipe", words, pipe(f"{name}.toml"), f"{name}.toml is a device")
        zero = link(f"{name}.toml", "/dev/zero")
        yield HostileFile(f"{name} device", words, zero, f"{name}.toml is a device")
    plugin = text("part.py", PLUGIN)
    for name in ("part.py", "part", "os", "antigravity"):
        study = text("study.toml", f'plugins = ["{name}"]')
        said = f"study.toml.*plugin.*{name}.*--trust-plugins"
        yield HostileFile(f"study plugin {name}", CHECK, both(plugin, study), said)
    plan = 'robot = "twolink"\nseeds = 2\n[study]\nplugins = ["part.py"]'
    said = "plugin.*part.py.*--trust-plugins"
    yield HostileFile("plan plugin", CAMPAIGN, both(plugin, text("plan.toml", plan)), said)
    function = 'robot = "twolink"\nfunction = "os:system"\n'
    function += 'parameters = {command = "touch code-of-a-stranger"}'
    yield HostileFile("plan function", CAMPAIGN, text("plan.toml", function), "unknown key")
    factors = "\n".join(f'"design.{k}" = [{", ".join(map(str, range(100)))}]' for k in "abcdef")
    many = f'robot = "twolink"\nseeds = 1000000\n[factors]\n{factors}'
    yield HostileFile("plan many trials", CAMPAIGN, text("plan.toml", many), "trials")
    wide = 'robot = "twolink"\nseeds = 1000000\ndesign = "sobol"\nsamples = 1000000'
    wide += "\n[factors]\nseed = {low = 0, high = 9}"
    yield HostileFile("plan wide", CAMPAIGN, text("plan.toml", wide), "trials|seed")
    nominal = text("study.toml", '[nominal]\nfile = "there.urdf"')
    yield HostileFile("study names a pipe", RUN, both(nominal, pipe("there.urdf")), "there.urdf")
    zero = both(nominal, link("there.urdf", "/dev/zero"))
    yield HostileFile("study names a device", RUN, zero, "there.urdf")
    prior = text("study.toml", '[design]\nprior = ["there.json"]')
    yield HostileFile("study prior pipe", RUN, both(prior, pipe("there.json")), "there.json")
    task = text("study.toml", '[control.tasks.csv]\npath = "there.csv"')
    yield HostileFile("study path pipe", RUN, both(task, pipe("there.csv")), "there.csv")
    for name, line in {
        "harmonics": "[design]\nharmonics = 1000000",
        "period": "[design]\nperiod = 1e9",
        "rate": "[experiment]\nrate = 1e9",
        "cutoff": "[preprocess]\nname = 'butterworth'\ncutoff = 1e-9",
    }.items():
        yield HostileFile(f"study {name}", RUN, text("study.toml", line), name)


TEXTS = tuple(_texts())
