"""Torques from outside are what their formulas say."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.experiment.scenario import Constant, Impulses, Scenario, Sinusoidal

AMPLITUDE = np.array([4.0, 1.5])  # [N m]
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
