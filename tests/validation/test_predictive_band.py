"""Bands about predicted torques: noise of a log and its residual, errors of the model."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from robots import DATA
from sampling import sampled

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation.discrepancy import add_function_values, weigh_discrepancy
from robotid_sim.estimation.discrepancy_search import find_discrepancy
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation.design import random_design
from robotid_sim.measurement.encoder_sensors import EncoderQuantization
from robotid_sim.measurement.motion import Motion, RowFilter
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.catalog import load_robot
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.identify import measure_error, predict_fit
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.streams import Streams
from robotid_sim.validation.fit_tests import residual_noise
from robotid_sim.validation.predictive_band import (
    BAND_LEVEL,
    ModelError,
    error_of,
    half_width,
    spread_of,
)

LAWS = (None, "stribeck", "load-dependent", "asymmetric")


def motion_of(samples, dt=0.004):
    zero = np.zeros((samples, 2))
    rows = RowFilter(first=0, stop=samples, step=25, edge=25, cutoff=5.0 * dt)
    t = np.arange(samples) * dt
    return Motion(t, zero, zero, zero, zero, ("a", "b"), row_filter=rows)


@pytest.mark.parametrize("model", [0.0, 2.0])
def test_the_band_holds_its_share_of_noise_and_of_a_model_error(model):
    rng, samples = np.random.default_rng(0), 20_000
    noise = rng.standard_normal((samples, 2)) * [1.0, 0.3]
    waves = rng.uniform(0.3, 6.0, 40) * np.arange(samples)[:, None] * 0.004
    slow = np.sin(waves + rng.uniform(0.0, 6.0, 40)).sum(axis=1, keepdims=True)
    slow *= model / np.sqrt(20.0)
    spread = np.zeros((samples, 2))
    half = half_width(noise + slow, motion_of(samples), np.full(2, model), spread)
    # What is slow is not quite Gaussian, nor all below the cut-off.
    assert (np.abs(noise + slow) < half).mean() == pytest.approx(BAND_LEVEL, abs=0.05)
    wide = half_width(noise, motion_of(samples), np.full(2, model), spread + 5.0)
    assert (wide > half).all()


def test_spread_is_that_of_torques_of_drawn_parameters():
    robot = load_robot(DATA / "2r.urdf")
    basis, rng = base_parameters(robot), np.random.default_rng(0)
    q, dq, ddq = rng.standard_normal((3, 30, 2))
    root = rng.standard_normal((basis.rank, basis.rank))
    draws = root @ rng.standard_normal((basis.rank, 20_000))
    torques = torque_regressor(robot, q, dq, ddq, basis.columns) @ draws
    t = 0.004 * np.arange(30)
    motion = Motion(t, q, dq, ddq, np.zeros((30, 2)), robot.joint_names)
    found = spread_of(ModelError(np.zeros(2), root @ root.T), motion, robot, basis)
    assert found == pytest.approx(torques.std(axis=2), rel=0.03)


@pytest.mark.slow
def test_the_spread_grows_where_a_motion_is_faster_than_that_of_the_fit(irb140, exact):
    case, joint = exact(irb140, 50.0), 3
    _, dq, ddq = case.state
    sign, lack = np.tanh(dq / irb140.joints[joint].friction.eps), np.zeros(case.tau.shape)
    lack[:, joint] = 20.0 * case.noise[joint] * (sign * np.exp(-((dq / 0.3) ** 2)))[:, joint]
    motion = case.motion(case.tau + lack + case.white(np.random.default_rng(0)))
    plain = build_problem(motion, case.robot, case.basis)
    found = find_discrepancy(plain, motion, case.robot)
    problem = weigh_discrepancy(plain, found)
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    assert [(lack.joint, lack.quantity) for lack in found.unmodeled] == [("joint_4", "speed")]
    phi = case.basis.complete(estimate.beta, case.robot.parameters())
    model = case.robot.with_parameters(phi, formal=True)
    found = add_function_values(found, plain, estimate.beta, motion, model)
    assert all(lack.values for lack in found.unmodeled)
    (function,) = found.functions
    of_value = np.sqrt((function.root[0] ** 2).sum())
    error = error_of(plain, estimate.beta, found, np.zeros(6))
    assert error.functions[0].knots[:-2] == tuple(function.knots)
    faster = replace(motion, dq=2.0 * dq, ddq=4.0 * ddq)
    seen, unseen = (spread_of(error, m, case.robot, case.basis) for m in (motion, faster))
    beyond = np.abs(faster.dq[:, joint]) > error.functions[0].knots[-2]
    assert beyond.any()
    moving = np.abs(dq[:, joint]) > 0.1
    assert seen[moving, joint].max() < 0.2 * of_value
    assert unseen[beyond, joint].min() > of_value
    others = np.arange(6) != joint
    assert (unseen[:, others] < 2.0 * case.noise[others]).all()
    plain_lacks = tuple(replace(k, values=(), friction=(0.0, 0.0, 0.0)) for k in found.unmodeled)
    left_out = replace(found.select([False]), unpredicted=replace(found, unmodeled=plain_lacks))
    counted = spread_of(
        error_of(plain, estimate.beta, left_out, np.zeros(6)), motion, case.robot, case.basis
    )
    assert counted[:, joint].max() > 5.0 * seen[moving, joint].max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "law", "solver"),
    sampled(
        product(("irb140", "rs010n"), LAWS, ("slsqp", "random")),
        ("irb140", None, "random"),
        ("rs010n", "asymmetric", "random"),
    ),
)
def test_bands_hold_on_unseen_motions_with_friction_that_the_model_lacks(name, law, solver):
    """The unseen motion is as fast as the one by SLSQP, up to twice as fast as the random one."""
    friction = {} if law is None else {"law": law}
    experiment = {"experiment": {"friction": friction}, "design": {"solver": solver}}
    content = experiment | {"control": {"enabled": False}}
    setup, streams = build_setup(name, load_config(None, content).quick()), Streams(0)
    (path,) = design_excitation(
        setup.nominal, setup.basis, setup.excitation, streams("d")
    ).trajectories
    log = replace(run_experiment(setup.cell, path, streams("a")), truth=None)
    unseen = replace(run_experiment(setup.cell, setup.unseen, streams("b")), truth=None)
    fit = fit_logs(log, setup.nominal, setup.basis, setup.fit, streams("i"))
    found = predict_fit(fit, unseen, setup.fit, measure_error(fit, [log], setup.fit)).coverage
    if (name, law, solver) == ("rs010n", "asymmetric", "random"):
        # Along this slow motion the offsets of the first joints are nearly gravity's: errors are
        # up to 47 % of the torque, of one seed to the next, and bands hold them (94 % in seven).
        assert 0.88 < np.mean(found) < 0.97
        assert found.min() > 0.81
        return
    # A joint whose friction errs where the motion of the fit was, and less elsewhere, has more.
    # Which motion that is depends on the processor, and with it how far the mean lies above.
    assert np.mean(found) == pytest.approx(0.905, abs=0.025)
    assert np.median(found) == pytest.approx(0.905, abs=0.02)
    assert np.abs(found - 0.9).max() < 0.09


@pytest.mark.slow
@pytest.mark.parametrize("robot", sampled(("rs010n", "irb140"), "rs010n"))
def test_steps_of_a_coarse_encoder_are_its_noise(robot):
    """They repeat to the bit in replicates of the same motion, and would be no noise at all."""
    setup = build_setup(robot, load_config(None, {"seed": 1}))
    path = random_design(setup.nominal, setup.basis, np.random.default_rng(1), candidates=20)
    sensors = (TorqueNoise(relative=0.01), EncoderQuantization(bits=12))
    log = run_experiment(replace(setup.cell, sensors=sensors), path, np.random.default_rng(2))
    fit = fit_logs(log, setup.nominal, setup.basis, setup.fit, np.random.default_rng(3))
    args = (sensors, fit.preprocessor, fit.motion, fit.problem_without_terms, fit.estimator)
    rngs = [np.random.default_rng([4, k]) for k in range(4)]
    noise = residual_noise(setup.cell.plant, fit.nominal, log, *args, rngs)
    assert noise.ratio.max() < 1.25
    assert noise.ratio.min() > 0.9
