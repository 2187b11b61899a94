"""Metrics: step responses against python-control, torques against closed forms."""

import control
import numpy as np
import pytest

from robotid_sim.validation.metrics import (
    absolute_energy,
    chattering_index,
    step_metrics,
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


@pytest.mark.parametrize("damping", [0.2, 0.4, 0.7, 0.9, 1.0, 1.5, 2.5])
@pytest.mark.parametrize("size", [1.0, -0.02])
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
    assert chattering_index(sinusoid(frequency), 1e-3) == pytest.approx(wanted, abs=1e-9)


def test_chattering_index_weighs_by_the_square_of_the_rate():
    tau = sinusoid(10.0) + 0.1 * sinusoid(100.0)
    # Rates of a sampled sinusoid go with sin(pi f dt).
    slow, fast = np.sin(np.pi * 0.01) ** 2, (0.1 * np.sin(np.pi * 0.1)) ** 2
    assert chattering_index(tau, 1e-3) == pytest.approx(fast / (slow + fast), abs=1e-9)


def test_chattering_index_looks_at_every_joint_alone_and_takes_a_torque_at_rest():
    tau = np.hstack([sinusoid(10.0), sinusoid(100.0), np.full((5000, 1), 3.0)])
    np.testing.assert_allclose(chattering_index(tau, 1e-3), [0.0, 1.0, 0.0], atol=1e-9)


def test_torque_variation_of_a_ramp_is_its_slope():
    t = np.arange(100)[:, None] * 1e-3
    found = torque_variation(np.hstack([5.0 * t, -2.0 * t, 0.0 * t + 1.0]), 1e-3)
    np.testing.assert_allclose(found, [5.0, 2.0, 0.0], atol=1e-11)  # rounding of 1e-3 steps


def test_torque_variation_of_a_sinusoid_is_its_effective_rate():
    frequency = 3.0  # [Hz], whole periods in 5 s
    wanted = 2.0 * np.pi * frequency / np.sqrt(2.0)
    # Differences damp by sin(x)/x with x = pi f dt: 1.5e-5.
    assert torque_variation(sinusoid(frequency), 1e-3) == pytest.approx(wanted, rel=2e-4)


def test_absolute_energy_counts_work_done_and_absorbed():
    t = np.arange(0.0, 1.0, 1e-3)[:, None]
    angle = 2.0 * np.pi * t
    # Integral of |sin cos| over a period of 1 s: 1 / pi; driving and braking both count.
    found = absolute_energy(3.0 * np.sin(angle), 2.0 * np.cos(angle), 1e-3)
    assert found == pytest.approx(6.0 / np.pi, rel=1e-4)  # rectangle rule
    both = absolute_energy(np.hstack([1.0 + 0.0 * t, t]), np.hstack([-2.0 + 0.0 * t, t]), 1e-3)
    np.testing.assert_allclose(both, [2.0, 1.0 / 3.0], rtol=2e-3)  # rectangle rule: dt / 2 * 3
