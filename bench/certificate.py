"""Studies identified in one engine and proved in the other, for many seeds and robots.

Every seed is a nominal model and an excitation of its own; what the sensors draw is drawn anew for
every noise, in either engine. One row a robot: the share of parameters whose difference between the
engines' estimates lies within its 95 % interval (goal 94 to 96 %), the squared difference over
variance (1 where the covariances are right), the model error on the other engine's unseen motion,
worst joint (goal at most 0.06 %), and the tracking gap that is closed in the other engine (goal at
least 98 %), which the first noise of every seed tells. Of both, the median, the RMS and the worst
of all and both ways round. UR10 and Panda come from example-robot-data, whose files have no rotors;
two arms are drawn.

Run as ``python bench/certificate.py [NAME ...] [--seeds N] [--noises N] [--quick] [--keep FILE]
[--workers N]``; a seed of six joints takes some 40 s, a further noise 6 s. What FILE holds is not
run again.
"""

import argparse
import os
from dataclasses import dataclass, replace
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from kept import map_kept

from robotid_sim.arrays import rms
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.geometry import Link, rotation_from_rpy, transform
from robotid_sim.model.inertia import pack
from robotid_sim.model.joint import Friction, Joint
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.engine_comparison import (
    EngineComparison,
    both_engines,
    compare_engines,
    engine_runs,
)
from robotid_sim.streams import Streams

EXAMPLES = "cmeel.prefix/share/example-robot-data/robots"
FILES = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
}
ROBOTS = ("irb140", "rs010n", "panda", "ur10", "random-1", "random-2")
DRAWN = "random-"
"""Prefix of arms that are drawn, before the seed of the draw."""


def random_arm(seed: int) -> Robot:
    """Return a drawn arm of six joints: lengths, tilts, bodies, friction and rotors."""
    rng = np.random.default_rng(seed)
    axes, links, joints = ("z", "y", "y", "x", "y", "x"), [], []
    length, mass = rng.uniform(0.3, 0.5), rng.uniform(15.0, 30.0)
    before = np.zeros(3)
    for k, axis in enumerate(axes):
        reach = length * rng.uniform(0.7, 1.3)
        size = np.array([0.25, 0.25, 0.5]) * reach
        com = np.array([0.0, 0.0, 0.5 * reach]) + rng.normal(0.0, 0.05 * reach, 3)
        central = mass / 12.0 * np.diag([*(size[[1, 0]] ** 2 + reach**2), 2.0 * size[0] ** 2])
        turn = rotation_from_rpy(rng.uniform(-0.3, 0.3, 3))
        links.append(Link(f"link_{k + 1}", pack(mass, com, turn @ central @ turn.T)))
        effort = 60.0 * mass * reach
        joints.append(
            Joint(
                name=f"joint_{k + 1}",
                T_parent_joint=transform(rotation_from_rpy(rng.uniform(-0.2, 0.2, 3)), before),
                axis=np.eye(3)["xyz".index(axis)],
                prismatic=False,
                lower=-2.0,
                upper=2.0,
                velocity=rng.uniform(2.0, 4.0),
                acceleration=30.0,
                effort=effort,
                friction=Friction(Fv=0.01 * effort, Fc=0.01 * effort),
                rotor_inertia=0.1 * mass * reach**2,
            )
        )
        before = np.array([0.0, 0.0, reach])
        length, mass = 0.75 * length, 0.6 * mass
    return Robot(f"{DRAWN}{seed}", tuple(links), tuple(joints))


def robot_of(name: str) -> Robot:
    """Return a robot of the table."""
    if name.startswith(DRAWN):
        return random_arm(int(name.removeprefix(DRAWN)))
    if name in FILES:
        path = distribution("example-robot-data").locate_file(f"{EXAMPLES}/{FILES[name]}")
        return load_robot(str(path))
    return load_robot(name)


@dataclass(frozen=True)
class Row:
    """What one study of one robot gives."""

    within: int
    """Parameters whose difference is within its interval."""
    parameters: int
    squared: float
    """Squared difference of the estimates over variance, per parameter."""
    errors: tuple[float, ...]
    """Model errors in the other engine, worst joint."""
    gaps: tuple[float, ...]
    """Shares of the tracking gap that are left there; empty if no loop ran."""


def rows_of(task: tuple[str, int, int, bool]) -> list[Row]:
    """Run one study in both engines, and measure and identify it with several noises."""
    name, seed, noises, quick = task
    config = load_config(None, {"seed": seed})
    setup = build_setup(robot_of(name), config.quick() if quick else config)
    runs = engine_runs(setup, both_engines())
    again = replace(setup, comparison=None)
    drawn = [replace(again, streams=Streams(1000 * (seed + 1) + k)) for k in range(1, noises)]
    return [row_of(name, compare_engines(one, runs)) for one in (setup, *drawn)]


def row_of(name: str, crossed: EngineComparison) -> Row:
    """Return what one identification in both engines gives."""
    pair = crossed.difference
    if pair is None or crossed.failed_loops:
        raise RuntimeError(f"{name}, seed {crossed.seed}: a fit or a loop failed")
    proofs = [proof for proof in crossed.validations if proof.has_other_engine]
    return Row(
        within=int((np.abs(pair.values) <= pair.half_width).sum()),
        parameters=len(pair.names),
        squared=pair.chi_squared / pair.rank,
        errors=tuple(float("nan" if p.worst_error is None else p.worst_error) for p in proofs),
        gaps=tuple(p.remaining_gap for p in proofs if p.remaining_gap is not None),
    )


def show(name: str, rows: list[Row]) -> None:
    """Print the row of one robot, or of all."""
    errors = np.array([row.errors for row in rows])
    closed = 1.0 - np.concatenate([row.gaps for row in rows])
    share = sum(row.within for row in rows) / sum(row.parameters for row in rows)
    squared = np.mean([row.squared for row in rows])
    print(
        f"{name:10} {len(rows):6} {sum(row.parameters for row in rows):10} {share:8.2%} "
        f"{squared:8.3f} {np.median(errors):9.4%} {rms(errors.ravel()):8.4%} {errors.max():8.4%} "
        f"{np.median(closed):9.2%} {closed.min():8.2%}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=ROBOTS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--noises", type=int, default=20, help="of every seed")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    tasks = [
        (name, seed, given.noises, given.quick)
        for seed in range(given.seeds)
        for name in given.names
    ]
    parts = map_kept(rows_of, tasks, given.keep, list[Row], given.workers)
    print(
        f"\n{'robot':10} {'trials':>6} {'parameters':>10} {'within':>8} {'squared':>8} "
        f"{'error':>9} {'RMS':>8} {'worst':>8} {'closed':>9} {'worst':>8}"
    )
    for name in given.names:
        pairs = zip(tasks, parts, strict=True)
        show(name, [row for task, part in pairs if task[0] == name for row in part])
    show("all", [row for part in parts for row in part])


if __name__ == "__main__":
    main()
