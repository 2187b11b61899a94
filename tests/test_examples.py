"""The examples in docstrings print what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import robotid_sim

PACKAGE = Path(robotid_sim.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def examples_of(module: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder().find(import_module(module))
    return [test for test in found if test.examples]


def test_the_names_that_are_used_most_have_one():
    documented = {
        test.name.rpartition(".")[2] for module in MODULES for test in examples_of(module)
    }
    assert len(documented & set(robotid_sim.__all__)) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    for test in examples_of(module):
        runner.run(test)
    assert runner.tries
    assert not runner.failures
