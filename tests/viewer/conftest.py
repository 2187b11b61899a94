"""A motion that many tests of the viewer show."""

import pytest

from robotid_sim.viewer.animation import Animation


@pytest.fixture(scope="session")
def sweep(irb140) -> Animation:
    """Return a sweep of all joints."""
    return Animation.sweep(irb140)
