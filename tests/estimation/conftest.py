"""Exact data that several tests of the estimators fit."""

import pytest


@pytest.fixture(scope="session")
def data(exact, arm):
    """Return exact data of the small arm."""
    return exact(arm)


@pytest.fixture(scope="session")
def case(exact, irb140):
    """Return exact data of the ABB IRB 140 at 50 Hz."""
    return exact(irb140, 50.0)
