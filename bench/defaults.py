"""What the defaults of motion, log and rows are worth: each of them halved and doubled.

Every line is the default chain with one value changed, from the design to the estimate; the rate of
rows follows their cut-off. The torque error is that of the estimate along one motion that is the
same for all lines, over the RMS torque, worst joint; errors of the base parameters are over those
of the defaults, median over parameters. Both are medians over seeds of design, nominal model and
noise; seconds are of one core.

Run as ``python bench/defaults.py [--seeds 3] [--workers N] [--keep FILE]``: an hour of one core.
With a file it goes on where it was ended.
"""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from interval_coverage import robot_of
from kept import map_kept
from pydantic import ValidationError

from robotid_sim.arrays import rms
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.errors import RobotIdError
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.trajectory.reference import Reference

Task = tuple[str, str, float, int]

ROBOTS = ("irb140", "iiwa")
KEYS = (
    *("design.harmonics", "design.period", "design.periods", "design.candidates"),
    *("design.starts", "design.iterations", "design.margin", "design.torque_ratio"),
    *("design.amplitude", "experiment.rate", "preprocess.rows.cutoff", "preprocess.rows.rate"),
    *("preprocess.rows.tail", "preprocess.rows.edge"),
)
FACTORS = (0.5, 2.0)
DEFAULT = "default"
STATES = 2000
"""States of the common motion."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What comes of a run, or why there is none."""

    torque: float = np.nan
    """Torque error along the common motion over the RMS torque, worst joint."""
    errors: tuple[float, ...] = ()
    """Of the base parameters, absolute."""
    seconds: float = np.nan
    message: str = ""


def values_of(key: str) -> list[float]:
    """Return the values of a key beside its default, as far as the configuration takes them."""
    section, *rest = key.split(".")
    before = getattr(Rows() if rest[0] == "rows" else getattr(StudyConfig(), section), rest[-1])
    kind = round if isinstance(before, int) else float
    values = [kind(before * factor) for factor in FACTORS]
    return [value for value in values if value != before and is_valid(key, value)]


def is_valid(key: str, value: float) -> bool:
    """Return whether the configuration takes a value."""
    try:
        configuration(key, value)
    except ValidationError:
        return False
    return True


def configuration(key: str = DEFAULT, value: float = 0.0, seed: int = 0) -> StudyConfig:
    """Return the default configuration with one value changed."""
    content: dict[str, Any] = {"seed": seed, "control": {"enabled": False}}
    if key != DEFAULT:
        *sections, name = key.split(".")
        inner: Any = {name: value}
        if name == "cutoff":
            inner["rate"] = 2.0 * value  # the least that carries it
        for name in reversed(sections):
            inner = {name: inner}
        content |= inner
    return StudyConfig.model_validate(content)


def common_motion(robot: str) -> Reference:
    """Return states of the motion that all lines are compared along."""
    path = build_setup(robot_of(robot), configuration()).unseen
    return path(np.linspace(0.0, path.duration, STATES))


def outcome(task: Task) -> Outcome:
    """Run one study up to the estimate."""
    robot, *change, seed = task
    began = time.process_time()
    try:
        setup = build_setup(robot_of(robot), configuration(*change, seed))
        found = design_excitation(
            setup.nominal, setup.basis, setup.excitation, setup.streams("design")
        )
        log = run_experiment(setup.cell, found.trajectories[0], setup.streams("measure"))
        blind = replace(log, truth=None)
        streams = setup.streams("identify")
        fit = fit_logs(blind, setup.nominal, setup.basis, setup.fit, streams)
    except RobotIdError as error:
        return Outcome(message=str(error).splitlines()[0])
    seconds = time.process_time() - began
    plant = setup.cell.plant
    wrong = fit.chosen.beta - setup.basis.project(plant.parameters())
    motion = common_motion(robot)
    q, dq, ddq = motion.q, motion.dq, motion.ddq
    off = torque_regressor(setup.nominal, q, dq, ddq, setup.basis.columns) @ wrong
    relative = rms(off) / rms(joint_torque(plant, q, dq, ddq))
    return Outcome(float(relative.max()), tuple(np.abs(wrong).tolist()), seconds)


def line(task: tuple[str, float], own: list[Outcome], usual: list[Outcome]) -> str:
    """Return a line of the table: change, torque error, errors over the usual ones, seconds."""
    pairs = [(o, u) for o, u in zip(own, usual, strict=True) if not o.message and not u.message]
    label = task[0] if task[0] == DEFAULT else f"{task[0]} = {task[1]:g}"
    if not pairs:
        return f"{label:32} {own[0].message}"
    torque = np.median([100.0 * o.torque for o, _ in pairs])
    ratio = np.median([np.median(np.array(o.errors) / u.errors) for o, u in pairs])
    failed = f"  {len(own) - len(pairs)} failed" if len(pairs) < len(own) else ""
    seconds = np.median([o.seconds for o, _ in pairs])
    return f"{label:32} {torque:9.4f} % {ratio:9.2f} {seconds:9.1f}{failed}"


def main() -> None:
    """Run all lines and print a table a robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    lines = [(DEFAULT, 0.0), *((key, value) for key in KEYS for value in values_of(key))]
    tasks = [(r, *k, seed) for r in ROBOTS for k in lines for seed in range(options.seeds)]
    results = map_kept(outcome, tasks, options.keep, Outcome, options.workers)
    found = dict(zip(tasks, results, strict=True))
    for robot in ROBOTS:
        runs = {k: [found[robot, *k, seed] for seed in range(options.seeds)] for k in lines}
        print(f"\n{robot:32} {'torque':>11} {'errors':>9} {'seconds':>9}")
        for key in lines:
            print(line(key, runs[key], runs[lines[0]]))


if __name__ == "__main__":
    main()
