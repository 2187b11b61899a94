"""Tests of many cases: some for every change, all of them nightly."""

from collections.abc import Iterable

import pytest


def _nightly(case: object) -> object:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.nightly)


def sampled(cases: Iterable[object], *kept: object) -> list[object]:
    """Return cases for `parametrize`, of which all but those that are kept run nightly."""
    return [case if case in kept else _nightly(case) for case in cases]


def thinned(cases: Iterable[object], step: int) -> list[object]:
    """Return cases for `parametrize`, of which all but every `step`-th run nightly."""
    return [_nightly(case) if k % step else case for k, case in enumerate(cases)]
