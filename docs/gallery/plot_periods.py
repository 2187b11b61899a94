"""
More periods, smaller errors
============================

Standard deviations and true errors of the parameters by the number of periods that are
recorded: noise averages with the root of time, what the model lacks would not.
"""

import matplotlib.pyplot as plt
import numpy as np

import robotid_sim as rid

plant = rid.load_robot("twolink")
nominal = rid.perturb(plant, np.random.default_rng(1))
basis = rid.base_parameters(nominal)
true = basis.project(plant.parameters())
periods = (1, 2, 4, 8)
std, error = [], []
for count in periods:
    path = rid.random_design(
        nominal,
        basis,
        np.random.default_rng(2),
        options=rid.FourierOptions(periods=count, period=5.0),
        candidates=5,
    )
    with rid.Plant(plant) as engine:
        clean = rid.rollout(engine, rid.ComputedTorque(nominal), path)
    log = rid.measure(clean, [rid.EncoderNoise(), rid.TorqueNoise()], np.random.default_rng(3))
    problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    estimate = rid.WeightedLeastSquares().fit(problem)
    std.append(estimate.std)
    error.append(np.abs(estimate.beta - true))

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for k, name in enumerate(basis.names):
    (line,) = ax.loglog(periods, np.array(std)[:, k], label=name)
    ax.loglog(periods, np.array(error)[:, k], "o", color=line.get_color())
ax.set(xlabel="periods of 5 s", ylabel="standard deviation (line), error (dots)")
ax.set_xticks(periods, periods)
ax.legend(ncols=2, fontsize="small")
