"""A friction velocity eps that is wrong by a factor of two, in the engine, by the default chain."""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.diagnostics.suspect_friction import suspect_friction
from robotid_sim.estimation.friction_fit import estimate_eps, finer_rows, with_eps
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.validation.honesty import residual_noise

SENSORS = (EncoderNoise(), TorqueNoise())
NOISE_RATIO = 1.25
"""Limit of the verdict."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=sampled(("irb140", "geared_iiwa"), "irb140"))
def run(request, experiment):
    return experiment(request.getfixturevalue(request.param))


@pytest.fixture(scope="module", params=sampled((2.0, 0.5), 2.0))
def wrong(request, run):
    return with_eps(run.nominal, request.param * run.nominal.eps)


@pytest.fixture(scope="module")
def logs(run):
    return [measure(run.log, SENSORS, np.random.default_rng(seed)) for seed in range(6)]


def test_the_check_of_the_residuals_fails_and_eps_is_named(run, wrong, logs):
    preprocessor = RtsSmoother().tuned(logs[0], wrong)
    rngs = [np.random.default_rng([9, k]) for k in range(5)]
    motion = preprocessor(logs[0], wrong)
    problem = build_problem(motion, wrong, run.basis)
    args = (logs[0], SENSORS, preprocessor, motion, problem, WeightedLeastSquares(), rngs)
    noise = residual_noise(run.plant, wrong, *args)
    assert noise.ratio.max() > NOISE_RATIO
    worst = run.plant.joint_names[int(noise.ratio.argmax())]
    suspicion = suspect_friction(motion, wrong, run.basis)
    assert worst in suspicion.suspects
    right = suspect_friction(preprocessor(logs[0], run.nominal), run.nominal, run.basis)
    assert right.suspects == ()


def linear_part(motion, nominal, basis):
    problem = build_problem(motion, nominal, basis)
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


def test_it_is_estimated_and_costs_the_linear_parameters_little(run, wrong, logs):
    truth = run.basis.of(run.plant.parameters())
    eps, found, known = [], [], []
    for log in logs:
        motion = RtsSmoother()(log, wrong)
        fit = estimate_eps(finer_rows(motion), wrong, run.basis)
        assert fit.success
        assert all(fit.shown)
        best = linear_part(motion, run.nominal, run.basis)
        own = linear_part(motion, with_eps(wrong, fit.eps), run.basis)
        eps.append(fit.eps / run.plant.eps - 1.0)
        found.append((own.beta - truth) / best.std)
        known.append((best.beta - truth) / best.std)
    assert np.sqrt(np.square(eps).mean(axis=0)).max() < 0.06
    assert np.sqrt(np.square(found).mean()) < 1.3 * np.sqrt(np.square(known).mean())


def test_the_truth_is_not_looked_at(run, wrong, logs):
    blind = replace(logs[0], truth=None)
    fits = [estimate_eps(RtsSmoother()(log, wrong), wrong, run.basis) for log in (logs[0], blind)]
    assert fits[0].eps.tobytes() == fits[1].eps.tobytes()
    assert fits[0].estimate.beta.tobytes() == fits[1].estimate.beta.tobytes()
