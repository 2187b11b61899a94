"""
Swarms beside least squares
===========================

Weighted least squares finds the minimum at once. Swarms search it: how far above it they are,
by evaluations, on the same rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid
from robotid_sim.optim.minimize import minimize

plant = rid.load_robot("twolink")
nominal = rid.perturb(plant, np.random.default_rng(1))
basis = rid.base_parameters(nominal)
path = rid.random_design(nominal, basis, np.random.default_rng(2), candidates=10)
with rid.Plant(plant) as engine:
    clean = rid.rollout(engine, rid.ComputedTorque(nominal), path)
log = rid.measure(clean, [rid.EncoderNoise(), rid.TorqueNoise()], np.random.default_rng(3))
problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
best = rid.WeightedLeastSquares().fit(problem)

y, W = problem.y.ravel(), problem.W.reshape(-1, basis.rank)


def cost(points):
    """Return the sums of squares of points (m, b)."""
    return ((y[:, None] - W @ points.T) ** 2).sum(axis=0)


lower, upper = best.beta - 50.0 * best.std, best.beta + 50.0 * best.std
least = float(cost(np.linalg.lstsq(W, y, rcond=None)[0][None])[0])
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name in ("pso", "qpso-delta", "mupso", "elpidso", "bso", "de", "gwo"):
    found = minimize(
        cost, lower, upper, method=name, max_evals=20_000, rng=np.random.default_rng(0)
    )
    ax.loglog(found.history[:, 0], found.history[:, 1] / least - 1.0, label=name)
ax.set(xlabel="evaluations", ylabel="cost over least squares, minus 1")
ax.legend(ncols=2)
