"""Tests of many cases: some for every change, all of them nightly."""

from collections.abc import Iterable

import pytest


def sampled(cases: Iterable[object], *kept: object) -> list[object]:
    """Return cases for `parametrize`, of which all but those that are kept run nightly."""
    return [
        case if case in kept else pytest.param(case, marks=pytest.mark.nightly) for case in cases
    ]
