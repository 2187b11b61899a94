"""The messages that the site explains are those that the package says."""

import ast
import re
from pathlib import Path

import pytest
from sources import trees

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def said() -> str:
    """All texts in the sources, those that are put together with a mark where values go."""
    texts = []
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


def test_there_are_many():
    assert len(MESSAGES) >= 40


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_said(message, said):
    parts = [part.strip() for part in message.split("…")]
    assert sum(map(len, parts)) >= 12
    for part in filter(None, parts):
        assert part in said, part
