"""
Mass where it is
================

Every body as the ellipsoid of uniform density with the same mass and inertia: an impossible
inertia has none. Here those of a KUKA iiwa, as its URDF has them (black) and as a nominal model
(orange).
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import pybullet_data

import robotid_sim as rid
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.recorder import record
from robotid_sim.viewer.view_settings import ViewSettings

plant = rid.load_robot(Path(pybullet_data.getDataPath()) / "kuka_iiwa/model.urdf")
models = {"true": plant, "nominal": rid.perturb(plant, np.random.default_rng(1))}
picture = Path(mkdtemp()) / "robot.png"
view = ViewSettings(width=720, height=540, layers=frozenset({"inertia"}))
record(Animation.sweep(plant), picture, view, models=models)
figure, ax = plt.subplots(figsize=(7.2, 5.4), layout="constrained")
ax.imshow(plt.imread(picture))
ax.axis("off")
