"""Studies identified in one engine and proved in the other, for many seeds and robots.

One row a robot: the share of parameters whose difference between the engines' estimates lies within
its 95 % interval (goal 94 to 96 %), the squared difference over variance (1 where the covariances
are right), the tracking gap that is closed in the other engine (goal at least 98 %) and the model
error on the other engine's unseen motion, worst joint (goal at most 0.06 %). Of both, the median
and the worst of all seeds and both ways round stand in the table. UR10 and Panda come from
example-robot-data, whose files have no rotors; two arms are drawn.

Run as ``python bench/certificate.py [NAME ...] [--seeds N] [--quick] [--keep FILE] [--workers N]``;
a seed of six joints takes some 40 s, with ``--quick`` 15 s. What FILE holds is not run again.
"""

import argparse
import os
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import groupby
from pathlib import Path

import numpy as np
from kept import map_kept

from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction import Friction
from robotid_sim.model.geometry import rotation_from_rpy, transform
from robotid_sim.model.inertia import pack
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Link, Robot
from robotid_sim.study.build import build_setup
from robotid_sim.study.certificate import both_engines, crossing
from robotid_sim.study.config import load_config

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
    """Shares of the tracking gap that are left there."""


def row_of(task: tuple[str, int, bool]) -> Row:
    """Run one study in both engines."""
    name, seed, quick = task
    config = load_config(None, {"seed": seed})
    setup = build_setup(robot_of(name), config.quick() if quick else config)
    crossed = crossing(setup, both_engines())
    pair = crossed.difference
    if pair is None or crossed.failed_loops:
        raise RuntimeError(f"{name}, seed {seed}: a fit or a loop failed")
    proofs = [proof for proof in crossed.proofs if proof.crosses]
    return Row(
        within=int((np.abs(pair.values) <= pair.half_width).sum()),
        parameters=len(pair.names),
        squared=pair.chi_squared / pair.rank,
        errors=tuple(float("nan" if p.worst_error is None else p.worst_error) for p in proofs),
        gaps=tuple(float("nan" if p.gap_left is None else p.gap_left) for p in proofs),
    )


def show(name: str, rows: list[Row]) -> None:
    """Print the row of one robot, or of all."""
    errors = np.array([row.errors for row in rows])
    closed = 1.0 - np.array([row.gaps for row in rows])
    share = sum(row.within for row in rows) / sum(row.parameters for row in rows)
    print(
        f"{name:10} {len(rows):5} {sum(row.parameters for row in rows):10} {share:8.2%} "
        f"{np.mean([row.squared for row in rows]):8.3f} {np.median(closed):9.2%} "
        f"{closed.min():9.2%} {np.median(errors):9.4%} {errors.max():9.4%}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=ROBOTS)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    tasks = [(name, seed, given.quick) for seed in range(given.seeds) for name in given.names]
    rows = map_kept(row_of, tasks, given.keep, Row, given.workers)
    print(
        f"\n{'robot':10} {'seeds':>5} {'parameters':>10} {'within':>8} {'squared':>8} "
        f"{'closed':>9} {'worst':>9} {'error':>9} {'worst':>9}"
    )
    by_name = sorted(zip(tasks, rows, strict=True), key=lambda pair: given.names.index(pair[0][0]))
    for name, pairs in groupby(by_name, key=lambda pair: pair[0][0]):
        show(name, [row for _, row in pairs])
    show("all", rows)


if __name__ == "__main__":
    main()
