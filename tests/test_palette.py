"""Colors of texts can be read: WCAG AA asks for a contrast of 4.5 to 1."""

import re
from importlib.resources import files

import pytest

from robotid_sim.palette import ROLES

AA = 4.5
STYLE = (files("robotid_sim.report") / "assets" / "page.css").read_text(encoding="utf-8")


def luminance(color: str) -> float:
    shares = [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    red, green, blue = (s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_texts_of_a_page_have_enough_contrast(theme, ground) -> None:
    own = {n: re.findall(rf"--{n}: (#\w+);", STYLE)[theme] for n in ("paper", "panel")}
    texts = {role: ROLES[role][theme] for role in ("ink", "muted", "identified")}
    for name in ("passed", "failed"):
        texts[name] = re.findall(rf"--{name}: (#\w+);", STYLE)[theme]
    for name, color in texts.items():
        assert contrast(color, own[ground]) >= AA, name


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
