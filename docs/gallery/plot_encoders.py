"""
Parameter error over encoder noise
==================================

How much worse encoders may be before the estimate suffers: RMS error over its Cramér-Rao bound
with perfect encoders, by preprocessor.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid

plant = rid.load_robot("twolink")
nominal = rid.perturb(plant, np.random.default_rng(1))
basis = rid.base_parameters(nominal)
path = rid.random_design(nominal, basis, np.random.default_rng(2), candidates=10)
with rid.Plant(plant) as engine:
    clean = rid.rollout(engine, rid.ComputedTorque(nominal), path)
true = basis.project(plant.parameters())
torque = rid.TorqueNoise()

levels = np.array([1e-5, 1e-4, 1e-3, 5e-3])
methods = {"butterworth": rid.Butterworth(), "rts": rid.RtsSmoother(), "adaptive": rid.Adaptive()}
bound = None
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, preprocess in methods.items():
    errors = []
    for level in levels:
        sensors = [rid.EncoderNoise(revolute=level), torque]
        log = rid.measure(clean, sensors, np.random.default_rng(4))
        problem = rid.build_problem(preprocess(log, nominal), nominal, basis)
        estimate = rid.WeightedLeastSquares().fit(problem)
        bound = estimate.std if bound is None else bound
        errors.append(np.sqrt(np.mean(((estimate.beta - true) / bound) ** 2)))
    ax.loglog(levels, errors, "o-", label=name)
ax.set(xlabel="encoder noise [rad]", ylabel="RMS error over standard deviation")
ax.legend()
