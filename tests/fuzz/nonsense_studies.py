"""Configurations whose keys exist and whose values make no sense."""

import dataclasses
import random
from collections.abc import Iterator

from bad_input import DOUBTED, BadInput, Study, written
from bad_texts import keys_of

from robotid_sim.estimation import ESTIMATORS
from robotid_sim.excitation import CRITERIA
from robotid_sim.experiment.conditions import CONDITIONS
from robotid_sim.measurement import SENSORS
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.model.plant_drives import PLANT_DRIVES
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.tasks import TASKS

DRY = ("run", "2r.urdf", "--out", "out", "--dry-run", "--config", "bad.toml")

TOO_LARGE = ("nan", "1e308", "1000000000000")
"""Numbers that nothing in a study has, the last one as a count."""

PARTS = {
    "[sensors.NAME]": SENSORS,
    "[control.tasks.NAME]": TASKS,
    "[control.conditions.NAME]": CONDITIONS,
    "[estimation.options.NAME]": ESTIMATORS,
    "[preprocess]\nname = 'NAME'\n[preprocess.options]": PREPROCESSORS,
    "[design]\ncriterion = 'NAME'\n[design.criterion_options]": CRITERIA,
    "[experiment.friction]\nlaw = 'NAME'": FRICTION_LAWS,
    "[experiment.drive]\nkind = 'NAME'": PLANT_DRIVES,
}
"""Parts of a study, by the table that names one and holds its options."""

SENSELESS = (
    *("design.constraints.jerk = 1e-9", "design.margin = 1e-9", "design.amplitude = 1e-9"),
    *("design.period = 99999.0", "design.periods = 99999", "experiment.rate = 1e-9"),
    *("nominal.mismatch = [0.3, 0.1]", "nominal.mismatch = [0, 1e9]", "control.tasks = {}"),
    *("robot.joints.elbow.Ia = 1e9", "robot.joints.elbow.acceleration = 1e-9"),
    *("robot.joints.elbow.velocity = 1e-9", "robot.joints.elbow.lower = 9", "seed = -1"),
    *("control.conditions.impulsive.rate = 1e9", "control.conditions.impulsive.width = 0"),
    *("control.conditions.dropped-samples.lost = 1", "control.conditions.payload.mass = -1"),
    *("control.conditions.friction.factor = -1", "control.conditions.sinusoidal.frequency = -1"),
    *("sensors.torque-delay.delay = 1e9", "sensors.torque-delay.samples = 1e9"),
    "preprocess = { name = 'butterworth', options = { order = 1000000 } }",
    "preprocess = { name = 'savitzky-golay', options = { order = 1000000 } }",
    "preprocess = { name = 'kalman-torque', options = { form = 5 } }",
    "experiment.drive = { kind = 'elastic', joints = 1 }",
    *(
        f"design = {{ criterion = 'e-optimality', criterion_options = {option} }}"
        for option in ("{ p = 0 }", "{ p = 1e-9 }", "{ p = -1 }", "{ scaling = 1 }")
    ),
    "design = { criterion = 'a-optimality', criterion_options = { motions = 0 } }",
    "design = { criterion = 'combined-condition', criterion_options = { y1 = inf } }",
)
"""Lines that no study can have."""


def senseless_studies(_study: Study, rng: random.Random) -> Iterator[BadInput]:
    """Every number of a section, and options of every part, beyond what can be meant."""
    lines = [f"{key} = {value}" for key in keys_of(StudyConfig) for value in TOO_LARGE]
    lines = [line for line in lines if line != f"seed = {TOO_LARGE[-1]}"]
    options = [
        f"{head.replace('NAME', name)}\n{option.name} = {value}"
        for head, registry in PARTS.items()
        for name, kind in registry.items()
        for option in dataclasses.fields(kind)
        for value in TOO_LARGE
    ]
    for text in (*SENSELESS, *rng.sample(lines, 60), *rng.sample(options, 150)):
        yield BadInput(f"study {text!r}", DRY, written("bad.toml", f"{text}\n"), DOUBTED)
