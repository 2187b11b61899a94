"""The viewer's state: time, keys, switches."""

import pytest

from robotid_sim.errors import OptionError
from robotid_sim.viewer.choices import DIRECTIONS, LAYERS
from robotid_sim.viewer.playback_controls import (
    KEYS,
    LEAP,
    SPEEDS,
    STEP,
    SWITCHES,
    PlaybackControls,
)


@pytest.fixture
def player() -> PlaybackControls:
    """A motion with an approach: times -2 to 8 s."""
    return PlaybackControls(-2.0, 8.0)


def test_plays_from_the_start_at_normal_speed(player) -> None:
    player.advance(0.5)
    assert player.time == pytest.approx(-1.5)
    assert player.share == pytest.approx(0.05)


def test_space_pauses_and_goes_on(player) -> None:
    player.press("space")
    player.advance(1.0)
    assert player.time == -2.0
    assert player.state == "paused"
    player.press("space")
    player.advance(1.0)
    assert player.time == pytest.approx(-1.0)


def test_stops_at_the_end_and_space_starts_again(player) -> None:
    player.advance(100.0)
    assert (player.time, player.playing) == (8.0, False)
    player.press("space")
    assert (player.time, player.playing) == (-2.0, True)


def test_a_loop_starts_again_by_itself(player) -> None:
    player.press("l")
    player.advance(10.5)
    assert player.time == pytest.approx(-1.5)
    assert player.playing
    assert player.is_on("l")


def test_arrows_step_and_pause(player) -> None:
    player.seek(0.5)
    player.press("right")
    assert player.time == pytest.approx(3.0 + STEP)
    player.press("left")
    player.press("left")
    assert player.time == pytest.approx(3.0 - STEP)
    player.press("up")
    assert player.time == pytest.approx(3.0 - STEP + LEAP)
    player.press("down")
    assert not player.playing


@pytest.mark.parametrize("key", ["left", "right", "up", "down"])
def test_no_key_leaves_the_motion(player, key) -> None:
    for _ in range(1000):
        player.press(key)
        assert player.start <= player.time <= player.end


def test_steps_are_finer_in_slow_motion(player) -> None:
    player.press("-")
    player.press("right")
    assert player.time == pytest.approx(-2.0 + 0.5 * STEP)


@pytest.mark.parametrize("faster", ["+", "=", "]"])
@pytest.mark.parametrize("slower", ["-", "["])
def test_speed_goes_up_and_down_within_bounds(player, faster, slower) -> None:
    for _ in range(20):
        player.press(faster)
    assert player.speed == SPEEDS[-1]
    player.advance(0.1)
    assert player.time == pytest.approx(-2.0 + 0.1 * SPEEDS[-1])
    for _ in range(20):
        player.press(slower)
    assert player.speed == SPEEDS[0]


def test_an_odd_speed_goes_to_the_next_usual_one() -> None:
    player = PlaybackControls(0.0, 1.0, speed=0.7)
    player.press("+")
    assert player.speed == 1.0


@pytest.mark.parametrize(("share", "time"), [(-1.0, -2.0), (0.25, 0.5), (2.0, 8.0)])
def test_scrubbing_goes_there_and_pauses(player, share, time) -> None:
    player.seek(share)
    assert (player.time, player.playing) == (time, False)


@pytest.mark.parametrize(("key", "layer"), SWITCHES.items())
def test_switches_toggle_their_layer(player, key, layer) -> None:
    before = layer in player.layers
    player.press(key)
    assert (layer in player.layers) != before
    assert player.is_on(key) != before
    player.press(key)
    assert (layer in player.layers) == before


def test_every_layer_has_a_switch() -> None:
    assert set(SWITCHES.values()) == set(LAYERS)


def test_digits_take_the_cameras_in_their_order(player) -> None:
    for key, name in zip("1234", DIRECTIONS, strict=True):
        player.new_view = False
        player.press(key)
        assert (player.camera, player.new_view) == (name, True)
    assert tuple(DIRECTIONS) == ("front", "side", "top", "iso")


def test_reset_goes_to_the_start_at_normal_speed(player) -> None:
    player.press("+")
    player.seek(0.7)
    player.press("r")
    assert (player.time, player.speed, player.playing) == (-2.0, 1.0, True)


@pytest.mark.parametrize("key", ["q", "escape"])
def test_quit_closes(player, key) -> None:
    player.press(key)
    assert player.closed


def test_unknown_keys_do_nothing(player) -> None:
    before = (player.time, player.playing, player.speed, set(player.layers), player.closed)
    player.press("z")
    assert before == (player.time, player.playing, player.speed, player.layers, player.closed)


def test_every_key_of_the_help_does_something() -> None:
    for group in (group for row in KEYS for group in row):
        for key in group[:-1]:
            player = PlaybackControls(0.0, 10.0)
            player.seek(0.5)
            player.press("+")
            player.new_view = False
            before = dict(vars(player), layers=set(player.layers))
            player.press(key)
            assert vars(player) != before, key


def test_time_does_not_run_backwards(player) -> None:
    player.advance(-1.0)
    assert player.time == -2.0


def test_a_motion_without_duration_is_refused() -> None:
    with pytest.raises(OptionError, match="no duration"):
        PlaybackControls(1.0, 1.0)
    with pytest.raises(OptionError, match="speed"):
        PlaybackControls(0.0, 1.0, speed=0.0)
