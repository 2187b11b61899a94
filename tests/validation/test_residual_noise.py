"""Residuals beside what sensors explain, where an encoder is coarse."""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.excitation.design import random_design
from robotid_sim.measurement.encoder_sensors import EncoderQuantization
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.validation.honesty import residual_noise


@pytest.mark.slow
@pytest.mark.parametrize("robot", sampled(("rs010n", "irb140"), "rs010n"))
def test_steps_of_a_coarse_encoder_are_its_noise(robot):
    """They repeat to the bit in replicates of the same motion, and would be no noise at all."""
    setup = build_setup(robot, load_config(None, {"seed": 1}))
    path = random_design(setup.nominal, setup.basis, np.random.default_rng(1), candidates=20)
    sensors = (TorqueNoise(relative=0.01), EncoderQuantization(bits=12))
    log = run_experiment(replace(setup.cell, sensors=sensors), path, np.random.default_rng(2))
    fit = fit_logs(log, setup.nominal, setup.basis, setup.fit, np.random.default_rng(3))
    args = (sensors, fit.preprocessor, fit.motion, fit.plain, fit.estimator)
    rngs = [np.random.default_rng([4, k]) for k in range(4)]
    noise = residual_noise(setup.cell.plant, fit.nominal, log, *args, rngs)
    assert noise.ratio.max() < 1.25
    assert noise.ratio.min() > 0.9
