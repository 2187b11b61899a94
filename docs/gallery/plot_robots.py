"""
The catalog
===========

Robots that ship with the package, drawn without a display.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt

import robotid_sim as rid
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.recorder import record
from robotid_sim.viewer.view_settings import ViewSettings

figure, axes = plt.subplots(1, 5, figsize=(10, 2.6), layout="constrained")
for ax, name in zip(axes, ("irb140", "irb120", "rs010n", "twolink", "rocr6"), strict=True):
    robot, picture = rid.load_robot(name), Path(mkdtemp()) / "robot.png"
    bent = robot.limits.middle + 0.3 * robot.limits.half_range
    still = rid.PointToPoint(robot.joint_names, bent, bent, 0.0, 1.0)
    view = ViewSettings(width=360, height=400, layers=frozenset())
    record(Animation.from_trajectory(robot, still), picture, view)
    ax.imshow(plt.imread(picture))
    ax.set_title(name)
    ax.axis("off")
