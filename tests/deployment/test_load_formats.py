"""Loads in the forms of controllers: read back, they are the same body."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from robotid_sim.deployment.load_formats import LOAD_FORMATS, Load
from robotid_sim.errors import OptionError

MASS, COM = 2.5, np.array([0.01, -0.02, 0.05])
TENSOR = np.array([[0.012, 0.001, -0.002], [0.001, 0.02, 0.0005], [-0.002, 0.0005, 0.015]])


def numbers(text):
    return np.array([float(x) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)])


def read_ur(text):
    values = numbers(text.splitlines()[0].removeprefix("set_target_payload"))
    xx, yy, zz, xy, xz, yz = values[4:]
    return values[0], values[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def read_franka(text):
    content = json.loads(text)
    return content["mass"], content["centerOfMass"], np.array(content["inertia"]).reshape(3, 3)


def read_kuka(text):
    body = text.partition("=")[2]
    values = {key: float(x) for key, x in re.findall(r"([MABC]) (-?[\d.e-]+)", body)}
    place, moments = (numbers(re.search(rf"{key} \{{(X [^}}A]*)", body)[1]) for key in ("CM", "J"))
    a, b, c = (np.deg2rad(values[key]) for key in "ABC")
    z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    x = np.array([[1, 0, 0], [0, np.cos(c), -np.sin(c)], [0, np.sin(c), np.cos(c)]])
    axes = z @ y @ x
    return values["M"], 1e-3 * place, axes @ np.diag(moments) @ axes.T


def read_ros2(text):
    root = ElementTree.fromstring(text)
    place = [float(x) for x in root.find("origin").get("xyz").split()]
    xx, xy, xz, yy, yz, zz = (
        float(root.find("inertia").get(name)) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    return float(root.find("mass").get("value")), place, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


READERS = {
    "ur-payload": read_ur,
    "franka-endeffector": read_franka,
    "kuka-load": read_kuka,
    "ros2-inertia": read_ros2,
}


@pytest.mark.parametrize("name", LOAD_FORMATS)
def test_a_load_is_the_same_body_in_every_form(name) -> None:
    mass, com, tensor = READERS[name](LOAD_FORMATS[name](Load(MASS, COM, TENSOR)))
    assert mass == pytest.approx(MASS)
    assert np.allclose(com, COM, rtol=1e-5)
    assert np.allclose(tensor, TENSOR, atol=1e-7)


@pytest.mark.parametrize("mass", [0.0, -1.0, float("nan")])
def test_a_load_without_mass_is_refused(mass) -> None:
    with pytest.raises(OptionError, match="positive mass"):
        Load(mass, COM, TENSOR)
