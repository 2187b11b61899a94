"""The control law that a page of the site writes out keeps what every controller must."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from robotid_sim.control import CONTROLLERS
from robotid_sim.testing import check_controller

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-controller.md"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the Python on the page."""
    module = ModuleType("documented_law")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look it up
    monkeypatch.setattr(CONTROLLERS, "register", lambda name: lambda cls: cls)
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.M):
        exec(code, vars(module))
    return module


def test_the_law_of_the_page_is_a_controller(page: ModuleType) -> None:
    check_controller(page.MyGravityPd.from_gains)


def test_the_laws_of_its_comparison_are_controllers(page: ModuleType) -> None:
    for factory in page.comparison.controllers.values():
        check_controller(factory)


def test_without_the_trait_it_is_none(page: ModuleType) -> None:
    page.MyGravityPd.uses_feedforward = True
    with pytest.raises(AssertionError, match="uses_feedforward = False"):
        check_controller(page.MyGravityPd.from_gains)
