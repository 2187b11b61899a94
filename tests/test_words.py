"""Names and texts of the package in the field's words; see docs/reference/glossary.md."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import robotid_sim

PACKAGE = Path(robotid_sim.__file__).parent

VAGUE_NAMES = frozenset(
    "found wanted known made one own kept told left given held said filled taken".split()
)
"""A name says what it holds."""

PREPOSITIONS = frozenset(
    "of in on at by without for into onto over under between among beside behind before after "
    "above below within until till since than per through against along around across out off up "
    "down near like beyond".split()
)
"""First words of no function; ``from_``, ``to_``, ``as_`` and ``with_`` are idioms of Python."""

IRREGULAR_PARTICIPLES = frozenset(
    "drawn told sought known found held given shut kept made left taken shown written built bound "
    "bought brought caught chosen done driven fallen felt flown gone grown heard hung hidden laid "
    "led lent lost met paid ridden risen said sent shaken shot sold spent spoken stood stolen "
    "stuck swept taught thrown torn understood woken won worn begun broken thought".split()
)

VERBS_IN_ED_OR_ING = frozenset(
    "need feed seed speed embed exceed bring string spring swing".split()
)

NOUNS_LIKE_PARTICIPLES = frozenset(
    "bound coloring coupling finding gating meaning oversampling recording setting spacing "
    "warning".split()
)

ALLOWED_FUNCTIONS = {
    "passed": "the word of checks, as in reports of tests",
    "overlaps": "a verb that is a predicate",
    **dict.fromkeys(
        (
            *("solve_cholesky", "_solve_linear", "_solve_two_masses", "run_newton"),
            *("has_advanced", "_update_load"),
        ),
        "kernels that work in place and return their success",
    ),
}
"""With the reason."""

ADJECTIVES = frozenset(
    "ahead all alone coarse deep far farthest fine first fixed free largest last late later least "
    "left lower lowest many most near nearest random right sharp small smallest smooth sure tight "
    "upper wide wrong".split()
)
"""No last word of a constant."""

ALLOWED_CONSTANTS = {"LOWER": "bounds of a paper's parameters", "UPPER": "see LOWER"}

MAX_WORDS = 25
"""Words of a message."""

PREDICATE = re.compile(r"_*(is|has|have|can|are)_|__")


PHRASES = re.compile(
    r"\b("
    r"foretell|foretold|gross cause|amendments?|"
    r"plain (rows|columns|fit|problem|least squares)|shaken|heeds?|seen (worst|best|least)|"
    r"sees? (worst|best|least)|data (see|want)|worth a word|notable|speaks? (for|against)|"
    r"(that|what) (is|are) left(?! out)|left out|dry friction|cannot exist|honest|honestly|"
    r"mend|mends|mended|rivals?|faint|lifted|believed?|promises?|blows?|yardsticks?|goes? on|"
    r"what comes of|not looked at|(is|are) looked for|has? no place for|nothing but|"
    r"from which on|of ours|our own|foreign logs?|how far to trust|but for|far off|in words|"
    r"no real arm|"
    r"(row|number|torque|column|run|share|value) a (joint|row|point|link|motor|column|level|seed)|"
    r"(another|other) (shape|size|strength)|does not show|(is|are|be) told|told by|up to which"
    r")\b",
    re.IGNORECASE,
)
"""Of a dialect that the glossary replaces."""


@cache
def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Yield nodes of some kinds with their place."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}", node


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    yield from nodes(ast.FunctionDef, ast.AsyncFunctionDef)


def is_participle(word: str) -> bool:
    if word in VERBS_IN_ED_OR_ING | NOUNS_LIKE_PARTICIPLES:
        return False
    return word in IRREGULAR_PARTICIPLES or (len(word) > 4 and word.endswith(("ed", "ing")))


def is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def test_functions_are_verbs():
    wrong = []
    for place, node in functions():
        first, *others = node.name.strip("_").split("_")
        if is_property(node) and others:
            continue  # a participle with a noun, such as ``combined_symbols``
        if (is_participle(first) or first in PREPOSITIONS) and node.name not in ALLOWED_FUNCTIONS:
            wrong.append(f"{place} {node.name}")
    assert not wrong, "\n".join(wrong)


def test_predicates_begin_with_is_or_has():
    wrong = []
    for place, node in functions():
        returns = ast.unparse(node.returns) if node.returns else ""
        allowed = is_property(node) or node.name in ALLOWED_FUNCTIONS
        if returns == "bool" and not allowed and not PREDICATE.match(node.name):
            wrong.append(f"{place} {node.name}")
    assert not wrong, "\n".join(wrong)


def constants() -> Iterator[tuple[str, str]]:
    """Yield the names of the numbers of modules with their place."""
    for path, tree in modules().items():
        for node in (node for node in tree.body if isinstance(node, ast.Assign)):
            kinds = {type(leaf.value) for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
            if kinds and kinds <= {int, float}:
                names = (leaf for target in node.targets for leaf in ast.walk(target))
                names = (leaf.id for leaf in names if isinstance(leaf, ast.Name))
                yield from ((f"{path.relative_to(PACKAGE)}:{node.lineno}", name) for name in names)


def test_constants_end_with_what_they_bound():
    names = list(constants())
    assert len(names) > 500
    wrong = []
    for place, name in names:
        last = name.strip("_").split("_")[-1].lower()
        vague = is_participle(last) or last in PREPOSITIONS | ADJECTIVES | VAGUE_NAMES
        if name.isupper() and len(name) > 1 and vague and name not in ALLOWED_CONSTANTS:
            wrong.append(f"{place} {name}")
    assert not wrong, "\n".join(wrong)


def test_variables_say_what_they_hold():
    wrong = []
    for place, node in nodes(ast.Name, ast.arg):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            continue
        name = node.id if isinstance(node, ast.Name) else node.arg
        if name.strip("_") in VAGUE_NAMES:
            wrong.append(f"{place} {name}")
    assert not wrong, "\n".join(wrong)


def text_of(node: ast.expr) -> str:
    """Return the text of a message, one word for every value in it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(text_of, values))
        case ast.BinOp(left=first, op=ast.Add(), right=second):
            return text_of(first) + text_of(second)
        case ast.IfExp(body=body, orelse=other):
            return max(text_of(body), text_of(other), key=len)
    return "X"


def test_texts_are_in_the_words_of_the_glossary():
    wrong = []
    for place, node in nodes(ast.Constant):
        if isinstance(node.value, str) and (hit := PHRASES.search(" ".join(node.value.split()))):
            wrong.append(f"{place} {hit[0]}")
    assert not wrong, "\n".join(wrong)


def test_messages_are_short():
    wrong = []
    for place, node in nodes(ast.Raise):
        if isinstance(node.exc, ast.Call):
            texts = [text_of(argument) for argument in node.exc.args]
            wrong += [f"{place} {text}" for text in texts if len(text.split()) > MAX_WORDS]
    assert not wrong, "\n".join(wrong)


def docstrings() -> Iterator[tuple[str, str]]:
    for place, node in nodes(ast.FunctionDef, ast.ClassDef, ast.Module):
        text = ast.get_docstring(node)
        if text:
            yield place, text


def test_docstrings_say_what_is_done():
    wrong = [f"{place} {text}" for place, text in docstrings() if re.match("Returns? what", text)]
    assert not wrong, "\n".join(wrong)
