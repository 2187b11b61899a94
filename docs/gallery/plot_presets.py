"""
Sensors of typical cells
========================

The same two seconds of a motion, as the sensors of a laboratory, of an industrial cell and of a
harsh one see its torque.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid
from robotid_sim.measurement.sensors import preset

plant = rid.load_robot("twolink")
nominal = rid.perturb(plant, np.random.default_rng(1))
path = rid.random_design(
    nominal, rid.base_parameters(nominal), np.random.default_rng(2), candidates=10
)
with rid.Plant(plant) as engine:
    clean = rid.rollout(engine, rid.ComputedTorque(nominal), path)

part = slice(2000, 4000)
names = ("lab", "industrial", "harsh")
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for ax, name in zip(axes, names, strict=True):
    sensors = [rid.SENSORS.build(kind, **options) for kind, options in preset(name).items()]
    log = rid.measure(clean, sensors, np.random.default_rng(3))
    ax.plot(log.t[part], log.tau_meas[part, 1], lw=0.6)
    ax.plot(clean.t[part], clean.tau_meas[part, 1], "k", lw=1)
    ax.set(title=name, xlabel="time [s]")
axes[0].set_ylabel("torque of joint_2 [N m]")
