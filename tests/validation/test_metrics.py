"""Metrics: step responses against python-control, torques against closed forms."""

from itertools import product

import control
import numpy as np
import pytest
from sampling import thinned

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model import inertia
from robotid_sim.model.geometry import Link
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.metrics import (
    absolute_energy,
    compute_chattering_index,
    compute_signed_energy,
    integral_absolute_error,
    integral_time_absolute_error,
    step_metrics,
    step_work,
    torque_variation,
)

OMEGA = 10.0  # [rad/s]
DT = 1e-4  # [s]
GRID = 2.0 * DT
"""python-control takes times from the grid, we interpolate: a sample at either end."""


def second_order(damping, gain=1.0, seconds=4.0):
    """Return time and step response of a second-order system."""
    system = control.tf([gain * OMEGA**2], [1.0, 2.0 * damping * OMEGA, OMEGA**2])
    t = np.arange(0.0, seconds, DT)
    return t, np.asarray(control.step_response(system, t).outputs)


@pytest.mark.parametrize(
    ("size", "damping"),
    thinned(product((1.0, -0.02), (0.2, 0.4, 0.7, 0.9, 1.0, 1.5, 2.5)), 4, pytest.mark.slow),
)
def test_step_metrics_equal_those_of_python_control(damping, size):
    t, y = second_order(damping)
    info = control.step_info(
        y, T=t, SettlingTimeThreshold=0.02, RiseTimeLimits=(0.1, 0.9), yfinal=1.0
    )
    found = step_metrics(t, size * (1.0 - y))
    assert found.rise_time == pytest.approx(info["RiseTime"], abs=GRID)
    assert found.settling_time == pytest.approx(info["SettlingTime"], abs=GRID)
    # The peak is read from the same samples.
    assert 100.0 * found.overshoot == pytest.approx(info["Overshoot"], abs=1e-9)
    assert found.steady_state_error == pytest.approx(0.0, abs=5e-3)  # e^-8 / sin at damping 0.2


@pytest.mark.parametrize("damping", [0.2, 0.5, 0.8])
def test_overshoot_of_a_second_order_system_is_the_closed_form(damping):
    t, y = second_order(damping)
    wanted = np.exp(-np.pi * damping / np.sqrt(1.0 - damping**2))
    # The peak lies between two samples: (omega dt)^2 / 8 of the curvature.
    assert step_metrics(t, 1.0 - y).overshoot == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("gain", [0.8, 0.95, 1.1])
def test_steady_state_error_is_the_distance_that_stays(gain):
    t, y = second_order(1.0, gain)
    found = step_metrics(t, 1.0 - y)
    assert found.steady_state_error == pytest.approx(abs(1.0 - gain), abs=1e-9)  # e^-36
    assert found.settling_time is None
    assert (found.rise_time is None) == (gain < 0.9)


def test_a_response_that_is_there_at_once_takes_no_time():
    found = step_metrics(np.arange(10) * DT, np.array([1.0] + [0.0] * 9))
    assert found.rise_time == pytest.approx(0.8 * DT, rel=1e-12)  # interpolated
    assert found.settling_time == pytest.approx(0.98 * DT, rel=1e-12)
    assert found.overshoot == 0.0
    assert found.steady_state_error == 0.0


def sinusoid(frequency, seconds=5.0, dt=1e-3):
    return np.sin(2.0 * np.pi * frequency * np.arange(0.0, seconds, dt))[:, None]


@pytest.mark.parametrize(("frequency", "wanted"), [(1.0, 0.0), (10.0, 0.0), (100.0, 1.0)])
def test_chattering_index_is_the_share_above_50_hz(frequency, wanted):
    # A window of 5 s leaks beyond 40 Hz from the line with the 6th power of 1 / (200 lines).
    assert compute_chattering_index(sinusoid(frequency), 1e-3) == pytest.approx(wanted, abs=1e-9)


def test_chattering_index_weighs_by_the_square_of_the_rate():
    tau = sinusoid(10.0) + 0.1 * sinusoid(100.0)
    # Rates of a sampled sinusoid go with sin(pi f dt).
    slow, fast = np.sin(np.pi * 0.01) ** 2, (0.1 * np.sin(np.pi * 0.1)) ** 2
    assert compute_chattering_index(tau, 1e-3) == pytest.approx(fast / (slow + fast), abs=1e-9)


def test_chattering_index_looks_at_every_joint_alone_and_takes_a_torque_at_rest():
    tau = np.hstack([sinusoid(10.0), sinusoid(100.0), np.full((5000, 1), 3.0)])
    np.testing.assert_allclose(compute_chattering_index(tau, 1e-3), [0.0, 1.0, 0.0], atol=1e-9)


def test_fast_torque_that_the_motion_needs_is_no_chatter():
    needed = sinusoid(10.0) + 0.1 * sinusoid(100.0)
    late = np.roll(needed, 7, axis=0)  # a loop reverses a little later than its reference
    assert compute_chattering_index(late, 1e-3, needed) == pytest.approx(0.0, abs=1e-3)
    noisy = needed + 0.5 * sinusoid(200.0)
    slow, fast, noise = (
        (a * np.sin(np.pi * f * 1e-3)) ** 2 for a, f in ((1.0, 10.0), (0.1, 100.0), (0.5, 200.0))
    )
    wanted = noise / (slow + fast + noise)
    assert compute_chattering_index(noisy, 1e-3, needed) == pytest.approx(wanted, abs=1e-6)


def test_torque_variation_of_a_ramp_is_its_slope():
    t = np.arange(100)[:, None] * 1e-3
    found = torque_variation(np.hstack([5.0 * t, -2.0 * t, 0.0 * t + 1.0]), 1e-3)
    np.testing.assert_allclose(found, [5.0, 2.0, 0.0], atol=1e-11)  # rounding of 1e-3 steps


def test_torque_variation_of_a_sinusoid_is_its_effective_rate():
    frequency = 3.0  # [Hz], whole periods in 5 s
    wanted = 2.0 * np.pi * frequency / np.sqrt(2.0)
    # Differences damp by sin(x)/x with x = pi f dt: 1.5e-5.
    assert torque_variation(sinusoid(frequency), 1e-3) == pytest.approx(wanted, rel=2e-4)


def swing(seconds, dt=1e-3):
    """Return time, angle and torque of a pendulum that swings from hanging to 90 degrees."""
    t = np.arange(0.0, seconds + dt / 2.0, dt)
    u = t / seconds
    angle = 0.5 * np.pi * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
    acceleration = 0.5 * np.pi * (60.0 * u - 180.0 * u**2 + 120.0 * u**3) / seconds**2
    m, length, g = 2.0, 0.5, 9.81
    tau = m * length**2 * acceleration + m * g * length * np.sin(angle)
    return t, angle, tau, m * g * length


def test_net_energy_of_a_swing_is_the_potential_energy_gained():
    _, angle, tau, size = swing(2.0)
    # Torque held over a sample: the left rectangle rule, error dt / 2 * (tau(T) - tau(0)) dq: 1e-3.
    assert compute_signed_energy(tau[:, None], angle[:, None]) == pytest.approx(size, rel=1e-3)
    back = np.concatenate([angle, angle[::-1]])[:, None], np.concatenate([tau, tau[::-1]])[:, None]
    assert compute_signed_energy(back[1], back[0]) == pytest.approx(0.0, abs=2e-3 * size)


def test_absolute_energy_of_a_slow_swing_counts_both_ways():
    _, angle, tau, size = swing(8.0)  # slow: gravity outweighs braking, the torque keeps its sign
    assert tau.min() >= 0.0
    there = absolute_energy(tau[:, None], angle[:, None])
    assert there == pytest.approx(size, rel=1e-3)
    both = np.concatenate([angle, angle[::-1]])[:, None], np.concatenate([tau, tau[::-1]])[:, None]
    assert absolute_energy(both[1], both[0]) == pytest.approx(2.0 * size, rel=1e-3)


def test_the_engine_gives_a_pendulum_the_energy_of_the_closed_form():
    bob = Link("bob", inertia.pack(2.0, np.array([0.0, 0.0, -0.5]), np.diag([0.02, 0.03, 0.02])))
    axis, limits = np.array([0.0, 1.0, 0.0]), {"lower": -3.0, "upper": 3.0, "velocity": 5.0}
    joint = Joint("swing", np.eye(4), axis, prismatic=False, acceleration=50.0, **limits)
    pendulum = Robot("pendulum", (bob,), (joint,))
    motion = PointToPoint(("swing",), np.zeros(1), np.array([0.5 * np.pi]), 0.0, 2.0)
    with Plant(pendulum) as plant:
        log = rollout(plant, ComputedTorque(pendulum), motion)
    q, dq = log.q[:, 0], log.truth.dq[:, 0]
    height = 0.5 * (1.0 - np.cos(q))
    wanted = 2.0 * 9.81 * height + 0.5 * (0.03 + 2.0 * 0.25) * dq**2
    work = np.cumsum(step_work(log.truth.tau, log.q)[:, 0])
    # The work of a held torque is exact; what the engine loses is of order dt / 4: 0.2 ms.
    assert np.abs(work - wanted[1:]).max() < 1e-3 * wanted.max()
    assert compute_signed_energy(log.truth.tau, log.q) == pytest.approx(2.0 * 9.81 * 0.5, rel=1e-3)


def test_integrals_of_a_decaying_error_are_the_closed_form():
    dt, rate = 1e-4, 3.0
    t = np.arange(0.0, 10.0, dt)
    error = np.outer(np.exp(-rate * t), [1.0, -2.0])
    # Rectangle rule: rate dt / 2.
    np.testing.assert_allclose(
        integral_absolute_error(error, dt), np.array([1, 2]) / rate, rtol=1e-3
    )
    wanted = np.array([1, 2]) / rate**2
    np.testing.assert_allclose(integral_time_absolute_error(error, dt), wanted, rtol=1e-3)
    assert integral_absolute_error(error[:, 0], dt) == pytest.approx(1.0 / rate, rel=1e-3)
