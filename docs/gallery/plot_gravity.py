"""
Gravity torque of the shoulder
==============================

What holds the arm still, over shoulder and elbow: where it vanishes, and how near to the limit
the arm works.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid

robot = rid.load_robot("irb140")
shoulder = np.linspace(robot.limits.lower[1], robot.limits.upper[1], 120)
elbow = np.linspace(robot.limits.lower[2], robot.limits.upper[2], 120)
q = np.tile(robot.limits.middle, (120, 120, 1))
q[..., 1], q[..., 2] = np.meshgrid(shoulder, elbow, indexing="ij")
torque = rid.gravity_torque(robot, q.reshape(-1, robot.dof))[:, 1].reshape(120, 120)

figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
drawn = ax.contourf(elbow, shoulder, torque, levels=21, cmap="RdBu")
ax.contour(elbow, shoulder, torque, levels=[0.0], colors="k")
ax.set(xlabel="elbow [rad]", ylabel="shoulder [rad]")
figure.colorbar(drawn, label="torque of joint_2 [N m]")
