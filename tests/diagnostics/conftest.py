"""Measured logs of robots that follow their excitation exactly."""

import pytest
from measured import Measured, measured


@pytest.fixture(scope="session")
def cell(irb140) -> Measured:
    """The log of an industrial arm."""
    return measured(irb140)


@pytest.fixture(scope="session")
def small_cell(arm) -> Measured:
    """The log of a planar arm with two joints."""
    return measured(arm)
