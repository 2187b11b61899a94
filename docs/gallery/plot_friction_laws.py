"""
Friction laws of the plant
==========================

Torque over speed of the laws that a simulated joint may have, where the model has only Coulomb
and viscous friction: measured on a joint that is driven at constant speeds in the engine.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid
from robotid_sim.model.friction_law import FRICTION_LAWS

arm = rid.load_robot("twolink")
speeds = np.concatenate([-np.geomspace(2.0, 0.002, 25), np.geomspace(0.002, 2.0, 25)])
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name in ("smooth-coulomb", "stribeck", "asymmetric"):
    law = FRICTION_LAWS.build(name)
    torque = []
    with rid.Plant(arm, friction=law) as plant:
        for speed in speeds:
            q, dq = np.array([0.0, 0.0]), np.array([0.0, speed])
            plant.reset(q, dq)
            wanted = rid.rigid_body_torque(arm, q, dq, np.zeros(2))
            plant.step(wanted)
            slowed = (plant.dq - dq) / plant.dt
            torque.append(-(rid.mass_matrix(arm, q) @ slowed)[1])
    ax.plot(speeds, torque, label=name)
ax.set(xlabel="speed of joint_2 [rad/s]", ylabel="friction [N m]")
ax.legend()
