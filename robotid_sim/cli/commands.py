"""Summary and examples of every command; its code is in the module of its name."""

from collections.abc import Mapping
from typing import NamedTuple


class CommandText(NamedTuple):
    """Texts of the help of a command in addition to its docstring."""

    summary: str
    """Line in the list of commands, at most 62 characters."""
    examples: tuple[str, ...]
    """Words after ``robotid``; each example needs only files of the examples before it."""
    module: str = ""
    """Module in ``cli`` that has the command; by default the module of its name."""


COMMANDS: Mapping[str, CommandText] = {
    "run": CommandText(
        "run a complete study: excitation, experiment, identification, control, verdict",
        ("run irb140 --out out", "run irb140 --preset industrial --quick --out quick"),
    ),
    "certify": CommandText(
        "identify in one physics engine, validate in the other",
        ("certify twolink --quick --out certificate",),
    ),
    "check": CommandText(
        "check physical consistency and identifiability of a robot model",
        ("check irb140", "check irb140 --repair -o possible.urdf"),
    ),
    "design": CommandText(
        "design an excitation trajectory",
        (
            "design irb140 -o path.json",
            "design irb140 --quick --explain --csv path.csv -o quick.json",
        ),
    ),
    "deploy": CommandText(
        "write a motion for the controller of a robot",
        ("deploy irb140 path.json --to ros2 -o ros2",),
    ),
    "simulate": CommandText(
        "simulate an experiment along a trajectory",
        (
            "simulate irb140 --trajectory path.json -o log.h5",
            "simulate irb140 --trajectory path.json --payload 2 -o loaded.h5",
            "simulate irb140 --trajectory quick.json --seed 2 -o again.h5",
        ),
    ),
    "import": CommandText(
        "convert a log of a machine: CSV, MAT, HDF5, ROS bag",
        (
            "import log.h5 --robot irb140 -o machine.csv",
            "import machine.csv --robot irb140 -o machine.h5 --write-map map.toml",
        ),
        module="import_log",  # `import` is a keyword
    ),
    "identify": CommandText(
        "identify parameters from logs and write a URDF",
        (
            "identify irb140 log.h5 -o estimate.json",
            "identify irb140 log.h5 -o estimate.json --urdf identified.urdf",
            "identify irb140 again.h5 -o again.json",
        ),
    ),
    "diagnose": CommandText(
        "find faults in a log or in the nominal model", ("diagnose irb140 log.h5",)
    ),
    "predict": CommandText(
        "predict the torques of a new log",
        ("predict irb140 estimate.json loaded.h5 --report prediction.html",),
    ),
    "compare": CommandText(
        "test whether estimates agree",
        (
            "compare estimate.json again.json",
            "compare estimate.json again.json -o agreement.json",
            "compare estimate.json again.json --report comparison.html",
        ),
    ),
    "validate": CommandText(
        "validate an estimate on a new log and in the closed loop",
        ("validate irb140 estimate.json --quick --report validation.html",),
    ),
    "payload": CommandText(
        "estimate a payload from logs without and with it",
        ("payload irb140 log.h5 loaded.h5", "payload irb140 log.h5 loaded.h5 --load 2"),
    ),
    "reproduce": CommandText(
        "reproduce a published paper: tables, figures, claims",
        ("reproduce twolink-elpidso --quick --out paper", "reproduce all --out papers"),
    ),
    "campaign": CommandText(
        "run many simulated experiments over factors and seeds",
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
        "convert a robot model for other tools", ("export irb140 --format mjcf -o irb140.xml",)
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
        "list robots, sensors, estimators, ... and their options",
        ("list", "list estimators", "list estimators wls"),
    ),
}
