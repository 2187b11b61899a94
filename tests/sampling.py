"""Tests of many cases: some always, the others by `.ci/run` or nightly."""

from collections.abc import Iterable

import pytest


def _marked(case: object, mark: pytest.MarkDecorator) -> object:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=mark)


def sampled(
    cases: Iterable[object], *kept: object, mark: pytest.MarkDecorator = pytest.mark.nightly
) -> list[object]:
    """Return cases for `parametrize`, all of which but those that are kept have a mark."""
    return [case if case in kept else _marked(case, mark) for case in cases]


def thinned(
    cases: Iterable[object], step: int, mark: pytest.MarkDecorator = pytest.mark.nightly
) -> list[object]:
    """Return cases for `parametrize`, all of which but every `step`-th have a mark."""
    return [_marked(case, mark) if k % step else case for k, case in enumerate(cases)]
