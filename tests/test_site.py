"""What the pages of the site name is there: seconds, where building the site takes minutes."""

import re
from pathlib import Path

import pytest

import robotid_sim

REFERENCE = Path(__file__).parents[1] / "docs/reference"
MODULES = {
    module
    for page in REFERENCE.glob("*.md")
    for module in re.findall(r"^\.\. automodule:: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
}
PUBLIC = {name: getattr(robotid_sim, name) for name in robotid_sim.__all__}


@pytest.mark.parametrize("name", [n for n, v in PUBLIC.items() if hasattr(v, "__qualname__")])
def test_the_module_of_a_public_name_is_documented(name: str) -> None:
    assert PUBLIC[name].__module__ in MODULES
