"""
What an optimal motion is worth
===============================

Expected standard deviations of all parameters by a random motion, the best of 100 random ones,
and the optimal one, of the same duration.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid
from robotid_sim.excitation.plan import DesignPlan, GradientSearch

nominal = rid.load_robot("twolink")
basis = rid.base_parameters(nominal)
plan = DesignPlan(search=GradientSearch(candidates=100, iterations=60))
motions = {
    "one random draw": rid.random_design(nominal, basis, np.random.default_rng(5), candidates=1),
    "best of 100": rid.random_design(nominal, basis, np.random.default_rng(5), candidates=100),
    "optimal": rid.optimal_design(nominal, basis, np.random.default_rng(5), plan).trajectory,
}

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for k, (name, path) in enumerate(motions.items()):
    moving = path(np.arange(0.0, path.duration, 0.01))
    Y = rid.torque_regressor(nominal, moving.q, moving.dq, moving.ddq, basis.columns)
    scale = np.sqrt(np.mean((Y @ basis.project(nominal.parameters())) ** 2, axis=0))
    W = (Y / (0.01 * scale[:, None])).reshape(-1, basis.rank)
    std = np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    ax.semilogy(np.arange(basis.rank) + 0.2 * k, std, "o", label=name)
ax.set_xticks(range(basis.rank), basis.groupings, rotation=60)
ax.set_ylabel("expected standard deviation")
ax.legend()
