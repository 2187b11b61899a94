"""What every registered control law does, built from the common specification."""

from dataclasses import fields, replace

import numpy as np
import pytest
from loops import path_of, some_state

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque, GravityPd
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.perturb import perturb
from robotid_sim.tasks.path import Lap, make_tracking_path
from robotid_sim.validation.metrics import compute_chattering_index

RATE = 1000.0  # [Hz]
MODEL_BASED = tuple(name for name in CONTROLLERS if CONTROLLERS[name].uses_feedforward)

LAGS = 0.02
"""Largest RMS error of the laws without feedforward [rad]."""


def gains_of(robot):
    return LoopGains.from_specification(robot, path_of(robot), rate=RATE)


@pytest.fixture(params=["arm", pytest.param("irb140", marks=pytest.mark.slow)])
def small_robot(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=list(CONTROLLERS))
def name(request):
    return request.param


@pytest.fixture
def law(name, small_robot):
    return CONTROLLERS[name].from_gains(small_robot, gains_of(small_robot))


def commands(law, robot, count=5):
    """Return the commands of some samples in a row, all of other states."""
    law.reset()
    rows = []
    for k in range(count):
        q, dq, ddq = some_state(robot, k)
        rows.append(law(k / RATE, q, dq, Setpoint(q + 0.01, dq - 0.02, ddq)))
    return rows


def test_torques_are_finite_and_new_arrays(law, small_robot):
    rows = commands(law, small_robot)
    for row in rows:
        assert row.shape == (small_robot.dof,)
        assert row.dtype == np.float64
        assert np.isfinite(row).all()
    kept = rows[0].copy()
    law(0.0, *some_state(small_robot, 9)[:2], Setpoint(*some_state(small_robot, 9)))
    np.testing.assert_array_equal(rows[0], kept)


def test_the_model_is_the_one_given_and_the_gains_are_not(name, small_robot):
    other = perturb(small_robot, np.random.default_rng(0))
    gains = gains_of(small_robot)
    one, two = (CONTROLLERS[name].from_gains(model, gains) for model in (small_robot, other))
    assert two.model is other
    for f in fields(one):
        if f.init and f.name not in ("model", "gains"):
            np.testing.assert_array_equal(getattr(one, f.name), getattr(two, f.name))


def test_gains_of_another_number_of_joints_are_refused(name, arm, irb140):
    with pytest.raises((OptionError, ShapeError), match=r"6 joints|shape"):
        CONTROLLERS[name].from_gains(arm, gains_of(irb140))


def test_numbers_that_make_no_sense_are_refused_by_name(name, arm):
    law = CONTROLLERS[name].from_gains(arm, gains_of(arm))
    for f in fields(law):
        value = getattr(law, f.name)
        if not f.init or f.name in ("model", "gains"):
            continue
        bad = [-1.0, np.nan] if np.ndim(value) == 0 else [-value, value * np.nan, value[:1]]
        for wrong in bad:
            with pytest.raises((OptionError, ShapeError), match=f"{f.name}|gains must not"):
                replace(law, **{f.name: wrong})


def tracked(plant_robot, law, lap):
    """Return RMS error, chattering index and whether a torque was clipped."""
    with Plant(plant_robot, dt=1.0 / RATE) as plant:
        log = rollout(plant, law, lap)
    error = log.q - lap(log.t).q
    clipped = bool((log.tau_meas != log.tau_cmd).any())
    return np.sqrt((error**2).mean(axis=0)), compute_chattering_index(log.tau_meas, log.dt), clipped


@pytest.fixture(scope="module")
def lap(arm):
    return Lap(make_tracking_path(arm), 3.2)


def gains_for(nominal, lap):
    reference = lap(np.arange(0.0, lap.duration, 1.0 / RATE))
    return LoopGains.from_specification(nominal, reference, rate=RATE)


def test_a_moving_reference_is_tracked_without_chatter(name, arm, lap):
    law = CONTROLLERS[name].from_gains(arm, gains_for(arm, lap))
    error, chatter, clipped = tracked(arm, law, lap)
    assert not clipped
    assert (chatter <= 0.05).all()
    # The true model leaves the torque held over a sample, and friction at reversals.
    assert (error <= (1e-4 if name in MODEL_BASED else LAGS)).all()


@pytest.mark.slow
def test_a_wrong_model_is_borne(name, arm, lap):
    nominal = perturb(arm, np.random.default_rng(3))
    gains = gains_for(nominal, lap)
    error, chatter, clipped = tracked(arm, CONTROLLERS[name].from_gains(nominal, gains), lap)
    assert not clipped
    assert (chatter <= 0.05).all()
    assert (error <= (gains.error_bound if name in MODEL_BASED else LAGS)).all()


def test_stiffness_and_damping_are_shared(arm):
    gains = gains_of(arm)
    torque, pd = (CONTROLLERS[n].from_gains(arm, gains) for n in ("computed-torque", "gravity-pd"))
    assert isinstance(torque, ComputedTorque)
    assert isinstance(pd, GravityPd)
    assert (torque.kp, torque.kd) == (gains.bandwidth**2, 2.0 * gains.bandwidth)
    np.testing.assert_array_equal(pd.kp, gains.inertia * gains.bandwidth**2)
    np.testing.assert_array_equal(pd.kd, 2.0 * gains.inertia * gains.bandwidth)
