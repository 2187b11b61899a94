"""What acts on the robot beside its controller: disturbance, start offset, divergence.

Torques from outside are what their formulas say."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError, ShapeError, SimulationDiverged
from robotid_sim.experiment.conditions import CONDITIONS, ConditionScale, compose
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Constant, Impulses, Scenario, Sinusoidal
from robotid_sim.measurement.log import Log
from robotid_sim.pipeline.build import build_conditions
from robotid_sim.streams import make_stream
from robotid_sim.trajectory.reference import PointToPoint

AMPLITUDE = np.array([4.0, 1.5])  # [N m]


def still(robot, seconds):
    return PointToPoint(robot.joint_names, robot.home, robot.home, 0.0, seconds)


def test_default_is_undisturbed_and_starts_on_the_trajectory():
    scenario = Scenario()
    assert scenario.name == "undisturbed"
    assert scenario.disturbance(np.zeros(3), 2) is None
    np.testing.assert_array_equal(scenario.start_offset(2), np.zeros(2))


def test_offset_is_a_frozen_copy():
    offset = np.array([0.1, -0.2])
    scenario = Scenario(offset=offset)
    offset[0] = 9.0
    np.testing.assert_array_equal(scenario.start_offset(2), [0.1, -0.2])
    with pytest.raises(ValueError, match="read-only"):
        scenario.offset[0] = 1.0


def test_an_offset_that_is_not_finite_is_refused():
    with pytest.raises(ShapeError, match="offset"):
        Scenario(offset=np.array([1.0, np.nan]))


@pytest.mark.parametrize("delay", [-1, 2])
def test_the_delay_is_one_sample_at_most(delay):
    with pytest.raises(OptionError, match="0 or 1"):
        Scenario(delay=delay)


def test_disturbance_moves_the_robot_and_stays_out_of_the_torque(arm):
    scenario = Scenario(name="sinusoidal", disturbances=(Sinusoidal(AMPLITUDE, 2.0),))
    with Plant(arm) as plant:
        log = rollout(plant, ComputedTorque(arm), still(arm, 0.5), scenario=scenario)
    truth = log.truth
    needed = joint_torque(arm, truth.q, truth.dq, truth.ddq)
    outside = scenario.disturbance(log.t, arm.dof)
    # The engine's equation of motion holds to the rounding of its solve.
    np.testing.assert_allclose(needed - truth.tau, outside, atol=1e-9)
    np.testing.assert_array_equal(log.tau_meas, log.tau_cmd)
    assert np.abs(log.q - arm.home).max() > 1e-3
    with Plant(arm) as plant:
        quiet = rollout(plant, ComputedTorque(arm), still(arm, 0.5))
    assert np.abs(quiet.q - arm.home).max() < 1e-6  # held at rest by the exact model


def test_start_offset_adds_to_the_pose_of_the_trajectory(arm):
    offset = np.array([0.02, -0.05])
    with Plant(arm) as plant:
        log = rollout(plant, ComputedTorque(arm), still(arm, 0.5), scenario=Scenario(offset=offset))
    np.testing.assert_array_equal(log.q[0], arm.home + offset)
    # A critically damped loop of 50 rad/s: (1 + 25) exp(-25) of the offset is left; friction at
    # standstill is compensated at the reference velocity only and leaves up to Fc / (M kp).
    assert np.abs(log.q[-1] - arm.home).max() < 0.2 * np.abs(offset).max()


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(offset=np.ones(3)),
        Scenario(disturbances=(Sinusoidal(np.ones(3)),)),
        Scenario(disturbances=(Constant(np.ones(1)),)),
        Scenario(disturbances=(Impulses(np.zeros(2), np.ones((2, 3))),)),
    ],
)
def test_wrong_number_of_joints_is_refused(arm, scenario):
    with Plant(arm) as plant, pytest.raises(ShapeError):
        rollout(plant, ComputedTorque(arm), still(arm, 0.1), scenario=scenario)


def test_a_diverging_loop_carries_time_joint_and_the_log_up_to_there(arm):
    strong = replace(arm, joints=tuple(replace(joint, effort=np.inf) for joint in arm.joints))
    wild = ComputedTorque(strong, kp=1e7, kd=0.0)
    offset = Scenario(offset=np.array([1e-6, 0.0]))
    with Plant(strong) as plant, pytest.raises(SimulationDiverged) as caught:
        rollout(plant, wild, still(arm, 5.0), scenario=offset)
    error = caught.value
    assert error.joint in arm.joint_names
    assert error.joint in str(error)
    assert 0.0 < error.t < 5.0
    log = error.log
    assert isinstance(log, Log)
    assert log.t[-1] <= error.t
    assert error.t - log.t[-1] < 2e-3  # two samples of 1 kHz
    needed = joint_torque(strong, log.truth.q, log.truth.dq, log.truth.ddq)
    size = 1.0 + np.abs(log.truth.tau).max()
    assert np.abs(needed - log.truth.tau).max() < 1e-9 * size  # only samples that were simulated


def test_a_loop_that_diverges_at_once_has_no_log(arm):
    strong = replace(arm, joints=tuple(replace(joint, effort=np.inf) for joint in arm.joints))
    wild = ComputedTorque(strong, kp=1e9, kd=0.0)
    offset = Scenario(offset=np.array([0.1, 0.0]))
    with Plant(strong) as plant, pytest.raises(SimulationDiverged) as caught:
        rollout(plant, wild, still(arm, 5.0), scenario=offset)
    assert caught.value.log is None


T = np.linspace(-1.0, 2.0, 7)


@pytest.mark.parametrize("phase", [None, np.array([0.3, -1.2])])
def test_sinusoid_is_the_formula(phase):
    shift = np.pi / 3.0 * np.array([1.0, 2.0]) if phase is None else phase
    wanted = [
        [a * np.sin(2.0 * np.pi * 1.7 * t + p) for a, p in zip(AMPLITUDE, shift, strict=True)]
        for t in T
    ]
    found = Sinusoidal(AMPLITUDE, frequency=1.7, phase=phase)(T, 2)
    np.testing.assert_allclose(found, wanted, atol=1e-13)  # rounding


def test_constant_torque_does_not_change():
    np.testing.assert_array_equal(Constant(AMPLITUDE)(T, 2), np.tile(AMPLITUDE, (7, 1)))


def test_impulse_has_the_area_of_a_half_sine_and_ends():
    t = np.arange(0.0, 1.0, 1e-4)
    blow = Impulses(np.array([0.3]), AMPLITUDE[None], 0.05)(t, 2)
    outside = (t < 0.3 - 1e-9) | (t > 0.35 + 1e-9)
    assert np.abs(blow[outside]).max() < 1e-9
    np.testing.assert_allclose(blow.max(axis=0), AMPLITUDE, rtol=1e-5)
    # Rectangle rule of a smooth pulse with 500 samples: 1e-5.
    np.testing.assert_allclose(blow.sum(axis=0) * 1e-4, AMPLITUDE * 0.1 / np.pi, rtol=1e-4)


def test_disturbances_add_up():
    both = Scenario(disturbances=(Constant(AMPLITUDE), Sinusoidal(AMPLITUDE)))
    wanted = Constant(AMPLITUDE)(T, 2) + Sinusoidal(AMPLITUDE)(T, 2)
    np.testing.assert_array_equal(both.disturbance(T, 2), wanted)


def test_no_impulse_is_no_torque():
    nothing = Impulses(np.zeros(0), np.zeros((0, 2)))
    np.testing.assert_array_equal(nothing(T, 2), np.zeros((7, 2)))


@pytest.mark.parametrize("frequency", [0.0, -1.0, float("nan")])
def test_a_frequency_that_is_not_positive_is_refused(frequency):
    with pytest.raises(OptionError, match="frequency must be positive"):
        Sinusoidal(AMPLITUDE, frequency)


@pytest.mark.parametrize("width", [0.0, -1.0, float("nan")])
def test_a_width_that_is_not_positive_is_refused(width):
    with pytest.raises(OptionError, match="width"):
        Impulses(np.zeros(1), AMPLITUDE[None], width)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sinusoidal(np.array([1.0, np.nan])),
        lambda: Sinusoidal(AMPLITUDE, phase=np.ones(3)),
        lambda: Constant(np.array([np.inf, 0.0])),
        lambda: Impulses(np.zeros(2), np.ones((3, 2))),
    ],
)
def test_values_of_the_wrong_shape_or_not_finite_are_refused(make):
    with pytest.raises(ShapeError):
        make()


@pytest.fixture
def setting(arm) -> ConditionScale:
    return ConditionScale(arm, np.array([20.0, 5.0]), 3.0)


def made(name, setting, seed=0, **options):
    parts = build_conditions(name, options)
    return compose(name, parts, setting, make_stream(seed, name))


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_same_seed_same_scenario_and_only_random_ones_differ_by_seed(arm, setting, name):
    t = np.linspace(0.0, 3.0, 500)
    one, two, *others = (made(name, setting, seed) for seed in (0, 0, 1, 2, 3, 4, 5, 6))
    assert one.name == name
    torques = [s.disturbance(t, arm.dof) for s in (one, two, *others)]
    if torques[0] is not None:
        np.testing.assert_array_equal(torques[0], torques[1])
        differ = [np.abs(torques[0] - other).max() > 0.1 for other in torques[2:]]
        assert any(differ)  # signs of two joints agree by chance once in four seeds
        assert CONDITIONS[name].random
    for other in others:
        np.testing.assert_array_equal(one.plant(arm).parameters(), other.plant(arm).parameters())
        assert one.feedback == other.feedback


@pytest.mark.parametrize(("name", "share"), [("sinusoidal", 0.4), ("constant", 0.2)])
def test_torques_are_shares_of_the_peak(setting, name, share):
    t = np.linspace(0.0, 3.0, 3001)
    largest = np.abs(made(name, setting).disturbance(t, 2)).max(axis=0)
    np.testing.assert_allclose(largest, share * setting.peak, rtol=1e-4)  # grid of the maximum


def test_blows_come_at_their_rate_within_the_run(setting):
    scenario = made("impulsive", setting, impulsive={"rate": 2.0})
    (blows,) = scenario.disturbances
    assert blows.times.size == 6
    assert blows.times.min() >= 0.0
    assert blows.times.max() <= 3.0 - blows.width
    np.testing.assert_array_equal(np.abs(blows.peaks), np.tile(setting.peak, (6, 1)))


def test_payload_loads_the_plant_and_no_model(arm, setting):
    loaded = made("payload", setting, payload={"mass": 0.7}).plant(arm)
    assert loaded.links[-1].phi[0] == pytest.approx(arm.links[-1].phi[0] + 0.7, rel=1e-12)
    default = made("payload", setting).plant(arm)
    moved = sum(link.phi[0] for link in arm.links)
    added = default.links[-1].phi[0] - arm.links[-1].phi[0]
    assert added == pytest.approx(0.03 * moved, rel=1e-9)


def test_friction_changes_by_its_factor(arm, setting):
    changed = made("friction", setting, friction={"factor": 2.0}).plant(arm)
    for before, after in zip(arm.joints, changed.joints, strict=True):
        assert after.friction.Fc == 2.0 * before.friction.Fc
        assert after.friction.Fv == 2.0 * before.friction.Fv
        assert after.friction.eps == before.friction.eps


@pytest.mark.parametrize("name", ["feedback+dropped-samples", "dropped-samples+feedback"])
def test_noise_and_lost_samples_combine_in_any_order(setting, name):
    seen = made(name, setting).feedback
    assert (seen.revolute, seen.lost) == (1e-4, 0.1)


def test_lost_samples_alone_have_no_noise(setting):
    assert made("dropped-samples", setting).feedback.revolute == 0.0


def test_all_conditions_hold_together(arm, setting):
    name = "payload+friction+sinusoidal+impulsive+feedback+computation-delay"
    scenario = made(name, setting)
    assert scenario.name == name
    assert len(scenario.disturbances) == 2
    assert len(scenario.changes) == 2
    assert scenario.delay == 1
    assert scenario.feedback is not None
    assert (scenario.plant(arm).parameters() != arm.parameters()).any()


def test_undisturbed_is_the_default(setting):
    assert made("undisturbed", setting).disturbance(np.zeros(1), 2) is None
    assert made("undisturbed", setting).name == Scenario().name


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [("sinusoidal", "share", -0.1), ("constant", "share", np.nan), ("impulsive", "width", np.inf)],
)
def test_sizes_must_not_be_negative(name, option, value):
    with pytest.raises(OptionError, match=option):
        build_conditions(name, {name: {option: value}})
