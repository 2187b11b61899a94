"""The commands: one line of each, and examples; what they do is in the module of their name."""

from collections.abc import Mapping
from typing import NamedTuple


class CommandText(NamedTuple):
    """What the help says of a command beside its own text."""

    summary: str
    """Line in the list of commands, at most 62 characters."""
    examples: tuple[str, ...]
    """Words after ``robotid``; each can be run as it stands, after those of the commands above."""
    module: str = ""
    """Module in ``cli`` that has the command; by default the one of its name."""


COMMANDS: Mapping[str, CommandText] = {
    "run": CommandText(
        "the whole study: excitation, experiment, fit, control, verdict",
        ("run irb140 --out out", "run irb140 --preset industrial --quick --out quick"),
    ),
    "certify": CommandText(
        "a study in two engines: identified in one, proved in the other",
        ("certify twolink --quick --out certificate",),
    ),
    "check": CommandText(
        "can a robot exist, and what can be identified of it?",
        ("check irb140", "check irb140 --repair -o possible.urdf"),
    ),
    "design": CommandText(
        "an optimal excitation",
        (
            "design irb140 -o path.json",
            "design irb140 --quick --explain --csv path.csv -o quick.json",
        ),
    ),
    "simulate": CommandText(
        "the virtual experiment along a trajectory",
        (
            "simulate irb140 --trajectory path.json -o log.h5",
            "simulate irb140 --trajectory path.json --payload 2 -o loaded.h5",
            "simulate irb140 --trajectory quick.json --seed 2 -o again.h5",
        ),
    ),
    "import": CommandText(
        "a machine's log in any usual form: CSV, MAT, HDF5, ROS bag",
        (
            "import log.h5 --robot irb140 -o machine.csv",
            "import machine.csv --robot irb140 -o machine.h5 --write-map map.toml",
        ),
        module="import_log",  # a keyword names no module
    ),
    "identify": CommandText(
        "from a log, virtual or of a machine, to parameters and URDF",
        (
            "identify irb140 log.h5 -o estimate.json",
            "identify irb140 log.h5 -o estimate.json --urdf identified.urdf",
            "identify irb140 again.h5 -o again.json",
        ),
    ),
    "diagnose": CommandText(
        "what is wrong with a log or with the model for it", ("diagnose irb140 log.h5",)
    ),
    "predict": CommandText(
        "what an estimate predicts of a log that it has not seen",
        ("predict irb140 estimate.json loaded.h5 --report prediction.html",),
    ),
    "compare": CommandText(
        "are estimates of one robot? What differs, and by how much",
        (
            "compare estimate.json again.json",
            "compare estimate.json again.json -o agreement.json",
            "compare estimate.json again.json --report comparison.html",
        ),
    ),
    "validate": CommandText(
        "an estimate on an unseen log and in the closed loop",
        ("validate irb140 estimate.json --quick --report validation.html",),
    ),
    "payload": CommandText(
        "a load at the tip, from a log without and one with it",
        ("payload irb140 log.h5 loaded.h5", "payload irb140 log.h5 loaded.h5 --load 2"),
    ),
    "reproduce": CommandText(
        "a published system: its tables and figures beside ours",
        ("reproduce twolink-elpidso --quick --out paper", "reproduce all --out papers"),
    ),
    "campaign": CommandText(
        "many virtual experiments: factors, seeds, and what comes of them",
        (
            "campaign list",
            "campaign run encoder --quick --out encoder",
            "campaign summary encoder",
            "campaign export encoder -o trials.csv",
        ),
    ),
    "view": CommandText(
        "a motion in a window, or in a picture or film",
        (
            "view irb140 --record irb140.png",
            "view irb140 --log log.h5 --record motion.gif --fps 10 --speed 4",
        ),
    ),
    "export": CommandText(
        "a robot as a file for other tools", ("export irb140 --format mjcf -o irb140.xml",)
    ),
    "cad": CommandText(
        "the inertia of a robot from its geometry",
        ("cad irb140 --total-mass 98 -o irb140-cad.urdf",),
    ),
    "schema": CommandText(
        "what other programs may read and write, as JSON Schema",
        ("schema result", "schema study -o study.schema.json"),
    ),
    "list": CommandText(
        "what there is: robots, sensors, estimators, ..., and options",
        ("list", "list estimators", "list estimators wls"),
    ),
}
