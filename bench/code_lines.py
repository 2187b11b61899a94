"""Code lines, all lines and modules of the package by subpackage, with the ceilings of CI.

Code lines are those that hold a token which is no docstring and no comment. Ceilings stand in
pyproject.toml, `[tool.robotid_sim.code-lines]`; tests/test_structure.py holds them.

Run as ``python bench/code_lines.py``. Exits with 1 if a subpackage is above its ceiling.
"""

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOP = "(top)"
NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def code_lines(text: str) -> int:
    """Return the number of lines of a module without docstrings, comments and blank lines."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def counts() -> dict[str, Counter[str]]:
    """Return code lines, all lines and modules by subpackage, the largest first."""
    package, result = ROOT / "robotid_sim", dict[str, Counter[str]]()
    for path in sorted(package.rglob("*.py")):
        parts, text = path.relative_to(package).parts, path.read_text(encoding="utf-8")
        row = result.setdefault(parts[0] if len(parts) > 1 else TOP, Counter())
        row.update(code=code_lines(text), lines=text.count("\n"), modules=1)
    return dict(sorted(result.items(), key=lambda item: -item[1]["code"]))


def ceilings() -> dict[str, int]:
    """Return the most code lines by subpackage."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return dict(config["tool"]["robotid_sim"]["code-lines"])


def main() -> int:
    """Print the table."""
    table, most = counts(), ceilings()
    print(f"{'package':14} {'code':>6} {'ceiling':>7} {'lines':>6} {'modules':>7}")
    for name, row in table.items():
        ceiling = most.get(name, 0)
        print(f"{name:14} {row['code']:6} {ceiling:7} {row['lines']:6} {row['modules']:7}")
    total = sum(table.values(), Counter())
    print(f"{'all':14} {total['code']:6} {'':7} {total['lines']:6} {total['modules']:7}")
    return int(any(row["code"] > most.get(name, 0) for name, row in table.items()))


if __name__ == "__main__":
    sys.exit(main())
