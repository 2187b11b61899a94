"""Planted parameters through the log of every target: coverage of the 95 % intervals.

A random motion is deployed and rehearsed with several seeds of the sensors: friction and payload
are planted, the log is written in the form of the target's recorder and read by the importer.

Columns: share of base parameters within their intervals over all seeds, rehearsals that passed,
largest interpolation error [rad], CPU seconds.

Run as ``python bench/rehearsals.py [--seeds 20] [--robot irb140] [--targets ur ros2]``. Exits with
1 if a share is outside 92 to 98 % or a rehearsal failed.
"""

import argparse
import sys
import time

import numpy as np
from interval_coverage import robot_of

from robotid_sim.deployment.target import list_targets
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation.design import random_design
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.deploy import deploy

MIN_COVERED, MAX_COVERED = 0.92, 0.98


def main() -> int:
    """Print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--robot", default="irb140")
    parser.add_argument("--targets", nargs="*")
    options = parser.parse_args()
    robot, passed = robot_of(options.robot), True
    motion = random_design(robot, base_parameters(robot), np.random.default_rng(0))
    fitting = [name for name, t in list_targets().items() if robot.dof in (t.dof or [robot.dof])]
    print("target     within  passed  interpolation error  CPU")
    for name in options.targets or fitting:
        began, packages = time.process_time(), []
        for seed in range(options.seeds):
            settings = {"seed": seed, "design": {"constraints": {"contact": True}}}
            packages.append(deploy(robot, motion, name, load_config(None, settings)))
        rehearsals = [package.rehearsal for package in packages if package.rehearsal is not None]
        share = float(np.mean([done.covered.mean() for done in rehearsals]))
        count = sum(done.passed for done in rehearsals)
        passed &= MIN_COVERED <= share <= MAX_COVERED and count == options.seeds
        print(
            f"{name:10} {share:6.1%}  {count:2}/{options.seeds}  {packages[0].error.max():18.2g}"
            f"  {time.process_time() - began:4.0f}",
            flush=True,
        )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
