"""
Mass matrix along a joint
=========================

Entries of the mass matrix of an IRB 140 while the elbow bends: inertia that the shoulder feels
changes by a factor.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid

robot = rid.load_robot("irb140")
q = np.tile(robot.limits.middle, (200, 1))
q[:, 2] = np.linspace(robot.limits.lower[2], robot.limits.upper[2], 200)
M = rid.mass_matrix(robot, q)

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for i, j in ((0, 0), (1, 1), (1, 2), (2, 2), (3, 3)):
    ax.plot(q[:, 2], M[:, i, j], label=f"M[{i + 1}, {j + 1}]")
ax.set(xlabel="position of joint_3 [rad]", ylabel="[kg m²]")
ax.legend(ncols=3)
