"""
Do the error bars hold?
=======================

Errors over their standard deviations of 25 noise seeds: a standard normal distribution, if the
covariance says the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import robotid_sim as rid

plant = rid.load_robot("twolink")
nominal = rid.perturb(plant, np.random.default_rng(1))
basis = rid.base_parameters(nominal)
path = rid.random_design(nominal, basis, np.random.default_rng(2), candidates=10)
with rid.Plant(plant) as engine:
    clean = rid.rollout(engine, rid.ComputedTorque(nominal), path)
true = basis.project(plant.parameters())

scores = []
for seed in range(25):
    log = rid.measure(clean, [rid.EncoderNoise(), rid.TorqueNoise()], np.random.default_rng(seed))
    problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    estimate = rid.WeightedLeastSquares().fit(problem)
    scores.append((estimate.beta - true) / estimate.std)
scores = np.ravel(scores)

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.hist(scores, bins=np.linspace(-4, 4, 33), density=True, alpha=0.6)
z = np.linspace(-4, 4, 200)
ax.plot(z, norm.pdf(z), "k")
ax.set(
    xlabel="error over standard deviation",
    title=f"{np.mean(np.abs(scores) < 1.96):.1%} within ± 1.96",
)
