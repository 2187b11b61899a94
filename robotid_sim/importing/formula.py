"""A formula in a file: parsed to a tree of a few kinds of nodes, which NumPy evaluates."""

import ast
import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

MAX_LENGTH = 2000
"""Longest formula [characters]; no formula has more nodes."""

MAX_DEPTH = 100
"""Most levels of a formula; a sum has as many as terms."""

MAX_EXPONENT = 10.0
"""Size up to which powers are taken, of constants only."""

FUNCTIONS: Mapping[str, np.ufunc] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "arcsin", "arccos", "arctan")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh", "exp", "log", "sqrt")},
    **{name: getattr(np, name) for name in ("abs", "sign", "arctan2", "minimum", "maximum")},
}
"""What a formula may call, by name."""

OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def evaluate_formula(text: str, values: Mapping[str, Any]) -> Any:
    """Evaluate a formula of numbers, names with their values, ``+ - * / **`` and `FUNCTIONS`.

    NaN or infinite where the formula has no value; raises `ValueError`, which says why, if the text
    is no such formula.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"it has {len(text)} characters, at most {MAX_LENGTH} are read")
    text = text.strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"it cannot be parsed: {error}") from error

    def value_of(node: ast.expr, depth: int) -> Any:
        """Evaluate a node; every kind that does not stand here is refused."""
        if not depth:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return np.float64(repr(number))  # of a text, for an integer may be too large
            case ast.Name(id=name) if name in values:
                return values[name]
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in OPERATORS:
                return OPERATORS[type(sign)](value_of(operand, depth - 1))
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                power = value_of(exponent, depth - 1)
                if np.ndim(power) or not abs(power) <= MAX_EXPONENT:
                    raise ValueError(f"'{shown(node)}' has no exponent of at most {MAX_EXPONENT:g}")
                return value_of(base, depth - 1) ** power
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return OPERATORS[type(sign)](value_of(left, depth - 1), value_of(right, depth - 1))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                if len(args) != FUNCTIONS[name].nin:
                    raise ValueError(f"'{shown(node)}' needs {FUNCTIONS[name].nin} argument(s)")
                return FUNCTIONS[name](*(value_of(part, depth - 1) for part in args))
        raise ValueError(f"'{shown(node)}' cannot be used")

    def shown(node: ast.expr) -> str:
        return reprlib.repr(ast.get_source_segment(text, node) or text)[1:-1]

    with np.errstate(all="ignore"):
        return value_of(tree, MAX_DEPTH)
