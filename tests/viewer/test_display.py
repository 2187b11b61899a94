"""The question whether there is a display with OpenGL; a wrong yes would end the process."""

import pytest
from virtual_display import virtual_display

from robotid_sim.errors import MissingExtraError, OptionError
from robotid_sim.viewer import display
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.viewer import show


@pytest.fixture
def no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)


@pytest.mark.usefixtures("no_name")
def test_without_a_name_there_is_no_display() -> None:
    assert not display.is_display_available()


def test_a_name_without_a_server_is_no_display(monkeypatch) -> None:
    monkeypatch.setenv("DISPLAY", ":8765")
    assert not display.is_display_available()


@pytest.mark.usefixtures("no_name", "pybullet")
def test_the_error_names_the_way_around_in_one_line() -> None:
    with pytest.raises(OptionError, match=r"DISPLAY is not set.*--record FILE") as caught:
        display.require_display()
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("no_name", "pybullet")
def test_the_viewer_asks_before_it_starts_anything(arm) -> None:
    with pytest.raises(OptionError, match="--record FILE"):
        show(Animation.sweep(arm))


def test_without_pybullet_there_is_no_window(arm, monkeypatch) -> None:
    monkeypatch.setattr(display, "is_installed", lambda name: False)
    for ask in (display.require_display, lambda: show(Animation.sweep(arm))):
        with pytest.raises(MissingExtraError, match=r"pip install pybullet.*in a browser"):
            ask()


def test_a_child_that_hangs_is_no_display(monkeypatch) -> None:
    monkeypatch.setenv("DISPLAY", ":8765")
    assert not display.is_display_available(timeout=0.01)


@pytest.mark.gui
@pytest.mark.pybullet
def test_a_virtual_display_works(monkeypatch) -> None:
    with virtual_display() as name:
        monkeypatch.setenv("DISPLAY", name)
        assert display.is_display_available()
        display.require_display()


@pytest.mark.gui
def test_a_display_without_opengl_does_not_work(monkeypatch) -> None:
    with virtual_display(opengl=False) as name:
        monkeypatch.setenv("DISPLAY", name)
        assert not display.is_display_available()
