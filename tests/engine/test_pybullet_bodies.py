"""PyBullet's side of a plant: clients that are closed, bodies that it changed, what it prints."""

import subprocess

import numpy as np
import pytest

from robotid_sim.engine import bullet
from robotid_sim.engine.bullet import open_clients
from robotid_sim.engine.client import capture_output
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import RobotIdError, ShapeError
from robotid_sim.model.robot import Robot


def clients() -> list[int]:
    """Return the engine clients that are connected now."""
    return sorted(open_clients)


def test_client_is_closed_after_with_and_after_an_error(irb140: Robot) -> None:
    before = clients()
    with Plant(irb140):
        assert len(clients()) == len(before) + 1
    assert clients() == before
    with pytest.raises(ShapeError), Plant(irb140) as plant:
        plant.step(np.full(6, np.nan))
    assert clients() == before
    plant.close()  # once more does no harm


def test_client_is_closed_when_loading_fails(irb140: Robot, monkeypatch) -> None:
    before = clients()
    monkeypatch.setattr(bullet, "private_urdf", lambda robot: "<robot>")
    with pytest.raises(RobotIdError, match="refused the private copy"):
        Plant(irb140)
    assert clients() == before


def test_body_that_the_engine_changed_is_noticed(irb140: Robot, monkeypatch) -> None:
    real = bullet.private_urdf
    text = real(irb140).replace('iyy="', 'iyy="1')  # larger moment: Bullet zeroes the tensor
    monkeypatch.setattr(bullet, "private_urdf", lambda robot: text)
    before = clients()
    with pytest.raises(RobotIdError, match=r"changed the inertia of link 'link_\d'"):
        Plant(irb140)
    assert clients() == before


def test_captured_text_is_kept_and_the_descriptors_come_back(capfd) -> None:
    def speak() -> None:
        with capture_output() as captured:
            texts.append(captured)
            subprocess.run(["sh", "-c", "echo out; echo err >&2"], check=True)
            raise ArithmeticError

    texts: list = []
    with pytest.raises(ArithmeticError):
        speak()
    assert texts[0].text == "out\nerr"
    subprocess.run(["sh", "-c", "echo after"], check=True)
    assert capfd.readouterr() == ("after\n", "")
