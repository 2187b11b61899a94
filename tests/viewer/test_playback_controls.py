"""Time, speed and layers by sliders, which a stand-in for PyBullet's GUI moves."""

import pytest

from robotid_sim.viewer.view_settings import LAYERS, WINDOW_LAYERS
from robotid_sim.viewer.window import MAX_SPEED, PlaybackControls

FIRST, LAST = -2.0, 8.0
"""A motion with an approach [s]."""


class Sliders:
    """Sliders and buttons as PyBullet has them: numbers that only the user changes."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.values: list[float] = []
        self.ends: list[tuple[float, float]] = []

    def addUserDebugParameter(self, name: str, low: float, high: float, start: float) -> int:
        self.names.append(name.strip())
        self.values.append(start)
        self.ends.append((low, high))
        return len(self.names) - 1

    def readUserDebugParameter(self, number: int) -> float:
        return self.values[number]

    def move(self, name: str, value: float) -> None:
        low, high = self.ends[self.names.index(name)]
        assert low <= value <= high
        self.values[self.names.index(name)] = value

    def press(self, name: str) -> None:
        low, high = self.ends[self.names.index(name)]
        assert low > high  # what makes it a button
        self.values[self.names.index(name)] += 1


@pytest.fixture
def sliders() -> Sliders:
    return Sliders()


@pytest.fixture
def controls(sliders) -> PlaybackControls:
    return PlaybackControls(sliders, FIRST, LAST, {"panel", "path"}, 1.0)


def test_it_plays_from_the_start_at_normal_speed(controls) -> None:
    assert controls.time == FIRST
    controls.advance(0.5)
    assert controls.time == pytest.approx(-1.5)


def test_the_motion_begins_again_at_its_end(controls) -> None:
    controls.advance(LAST - FIRST + 0.5)
    assert controls.time == pytest.approx(-1.5)


def test_the_button_pauses_and_goes_on(controls, sliders) -> None:
    sliders.press("play / pause")
    controls.advance(1.0)
    controls.advance(1.0)
    assert (controls.time, controls.playing) == (FIRST, False)
    sliders.press("play / pause")
    controls.advance(1.0)
    assert controls.time == pytest.approx(-1.0)


def test_moving_the_slider_of_the_time_goes_there_and_pauses(controls, sliders) -> None:
    sliders.move("time [s]", 3.0)
    controls.advance(1.0)
    controls.advance(1.0)
    assert (controls.time, controls.playing) == (3.0, False)
    sliders.press("play / pause")
    controls.advance(1.0)
    assert controls.time == pytest.approx(4.0)  # though the slider stays where it is


def test_the_slider_of_the_speed_is_seconds_of_motion_per_second(controls, sliders) -> None:
    sliders.move("speed", 2.5)
    controls.advance(1.0)
    assert controls.time == pytest.approx(0.5)
    sliders.move("speed", 0.0)
    controls.advance(1.0)
    assert controls.time == pytest.approx(0.5)


def test_a_speed_beyond_the_usual_ones_is_on_the_slider(sliders) -> None:
    controls = PlaybackControls(sliders, 0.0, 1000.0, (), 2.0 * MAX_SPEED)
    controls.advance(1.0)
    assert controls.time == pytest.approx(2.0 * MAX_SPEED)
    sliders.move("speed", 2.0 * MAX_SPEED)


def test_every_layer_of_the_window_has_a_slider(controls, sliders) -> None:
    assert set(WINDOW_LAYERS) == set(LAYERS) - {"panel", "curves"}
    assert controls.layers == {"path"}
    for name in WINDOW_LAYERS:
        sliders.move(name, 0.9)
    assert controls.layers == set(WINDOW_LAYERS)
    sliders.move("path", 0.2)
    assert controls.layers == set(WINDOW_LAYERS) - {"path"}
