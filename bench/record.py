"""Recording 10 s of motion at 640 x 480 and 30 frames per second, by robot and file format.

The motion is the first 10 s of an excitation that fills the workspace. Rendering time goes with the
area and the overlapping parts of the robot; the encoder of an MP4 runs beside it.

Run as ``python bench/record.py``.
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pybullet_data
from threadpoolctl import threadpool_limits

from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.catalog import load_robot
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.recorder import record
from robotid_sim.viewer.view_settings import ViewSettings

SECONDS = 10.0
TARGET = 30.0  # [s]
ROBOTS = ("irb140", Path(pybullet_data.getDataPath()) / "kuka_iiwa" / "model.urdf")
FORMATS = (".mp4", ".gif")


def motion(robot_name: str | Path) -> Animation:
    """Return ten seconds of an excitation."""
    robot = load_robot(robot_name)
    options = FourierOptions(period=SECONDS, periods=1)
    path = random_feasible(robot, np.random.default_rng(0), options)
    whole = Animation.from_trajectory(robot, path)
    kept = whole.t <= whole.start + SECONDS
    assert whole.tau is not None
    return Animation(
        "excitation", robot, whole.t[kept], whole.q[kept], whole.dq[kept], whole.tau[kept]
    )


def main() -> None:
    """Record, print times."""
    print(f"{SECONDS:g} s of motion, 640 x 480, 30 frames per second; target {TARGET:g} s")
    print(f"{'robot':12} {'file':5} {'frames':>6} {'wall s':>7} {'CPU s':>6} {'kB':>6}  renderer")
    for name in ROBOTS:
        animation = motion(name)
        for suffix in FORMATS:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"film{suffix}"
                began, used = time.perf_counter(), os.times()
                made = record(animation, path, ViewSettings())
                wall, now = time.perf_counter() - began, os.times()
                cpu = sum(now[:4]) - sum(used[:4])
                size = path.stat().st_size / 1e3
            print(
                f"{animation.robot.name:12} {suffix:5} {made.frames:6} {wall:7.1f} {cpu:6.1f} "
                f"{size:6.0f}  {made.renderer}"
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
