"""PyBullet's renderer: EGL where it works, and what draws."""

import numpy as np
import pytest
from PIL import Image

from robotid_sim.errors import RobotIdError
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.pybullet_renderer import egl_device, is_graphics_card
from robotid_sim.viewer.recorder import record
from robotid_sim.viewer.view_settings import ViewSettings


@pytest.mark.slow
def test_egl_draws_the_arm_or_says_that_it_cannot(irb140, tmp_path) -> None:
    view = ViewSettings(width=320, height=240, layers=frozenset(), renderer="egl")
    sweep = Animation.sweep(irb140)
    if egl_device() is None:
        with pytest.raises(RobotIdError, match="renderer software"):
            record(sweep, tmp_path / "a.png", view)
        return
    assert record(sweep, tmp_path / "a.png", view).renderer == "egl"
    shown = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"), dtype=int)
    assert 0.01 < (shown[..., 0] - shown[..., 2] > 100).mean() < 0.3


@pytest.mark.parametrize(
    ("device", "card"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", False),
        ("NVIDIA GeForce RTX 3060/PCIe/SSE2", True),
        (None, False),
    ],
)
def test_only_a_graphics_card_is_chosen_by_itself(device, card) -> None:
    assert is_graphics_card(device) is card
