"""The package: names, sizes, what imports cost, and the map of it for contributors."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from importlib import import_module

import pytest
from code_lines import ceilings, counts
from sources import MODULES, PACKAGE, tree_of, trees

from robotid_sim.cli.commands import COMMANDS

ROOT = PACKAGE.parent
LONGEST = 60
"""Lines of code of a function with its signature, without its docstring and comments."""
ALIAS = re.compile(r"[A-Z][a-z]")


def class_names():
    """Return where every class, and every alias with a name like a class, is defined."""
    places = defaultdict(list)
    for path, tree in trees().items():
        where = str(path.relative_to(PACKAGE))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(where)
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if ALIAS.match(node.targets[0].id):
                    places[node.targets[0].id].append(where)
    return places


def test_no_two_classes_have_one_name():
    twice = {name: where for name, where in class_names().items() if len(where) > 1}
    assert twice == {}


def code_lines(function, lines):
    """Return the number of lines of a function that hold code."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    spans = [range(function.lineno, function.body[0].lineno)]
    if body:
        spans.append(range(body[0].lineno, function.end_lineno + 1))
    texts = (lines[k - 1].strip() for span in spans for k in span)
    return sum(bool(text) and not text.startswith("#") for text in texts)


def test_functions_are_short_enough_to_read():
    long = {}
    for path, tree in trees().items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and code_lines(node, lines) > LONGEST:
                long[f"{path.relative_to(PACKAGE)}:{node.name}"] = code_lines(node, lines)
    assert long == {}


def defined_in(tree):
    """Return the names that a module defines itself."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {t.id for t in targets if isinstance(t, ast.Name)}
            parts = [e for t in targets if isinstance(t, ast.Tuple) for e in t.elts]
            names |= {e.id for e in parts if isinstance(e, ast.Name)}
    return names


def test_a_name_is_imported_from_the_module_that_defines_it():
    by_module = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): tree
        for path, tree in trees().items()
    }
    own = {module: defined_in(tree) for module, tree in by_module.items()}
    elsewhere = []
    for importer, tree in by_module.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("robotid_sim"):
                for alias in node.names:
                    is_module = f"{node.module}.{alias.name}" in by_module
                    if alias.name not in own[node.module] and not is_module:
                        elsewhere.append(f"{importer}: {alias.name} from {node.module}")
    assert elsewhere == []


def test_only_one_module_looks_names_up():
    """`StudyConfig` is seen by what builds values, by commands, papers and plans alone."""
    allowed = ("pipeline/build", "pipeline/config", "cli/", "papers/", "campaign/trial_list")
    allowed += tuple(f"pipeline/{task}.py" for task in ("check", "design", "simulate", "study"))
    allowed += (
        "pipeline/deploy.py",
        "pipeline/validate.py",
        "pipeline/certificate.py",
        "pipeline/build.py",
        "pipeline/schemas.py",
        "viewer/sources.py",
    )
    seers = [
        str(path.relative_to(PACKAGE))
        for path, tree in trees().items()
        if any(isinstance(n, ast.Name) and n.id == "StudyConfig" for n in ast.walk(tree))
    ]
    assert [path for path in seers if not path.startswith(allowed)] == []


def rows_of_map():
    """Return rows and packages of the table in CONTRIBUTING, from the top."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## Packages\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| (\d+) \| (?:`([\w/.]+)`) \| (.*?) \|$", table, re.MULTILINE)


def test_the_map_of_the_packages_is_that_of_the_layers():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(c for c in config["tool"]["importlinter"]["contracts"] if c["id"] == "layers")
    expected = [
        (str(row), name)
        for row, layer in enumerate(contract["layers"], start=1)
        for name in layer.split(" | ")
        if (PACKAGE / name).is_dir()
    ]
    assert [(row, name.removesuffix("/")) for row, name, _ in rows_of_map()] == expected


def test_the_map_of_the_packages_says_what_the_package_says():
    for _, name, text in rows_of_map():
        docstring = import_module(f"robotid_sim.{name.removesuffix('/')}").__doc__
        assert text == docstring.splitlines()[0].removesuffix(".")


@pytest.mark.slow
@pytest.mark.pybullet
def test_every_bench_still_imports():
    for path in sorted((ROOT / "bench").glob("*.py")):
        import_module(path.stem)


def imported_by(name, path, modules):
    """Return the modules of the package that a module imports, types apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for part in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in types:
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {part if part in modules else node.module for part in parts}
    return found & modules.keys() - {name}


@pytest.mark.slow
def test_modules_import_one_another_in_no_circle():
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in MODULES
    }
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    left = {name: imported_by(name, path, modules) for name, path in modules.items()}
    while free := {name for name, needs in left.items() if not needs & left.keys()}:
        left = {name: needs for name, needs in left.items() if name not in free}
    assert left == {}


def test_a_command_module_is_short():
    files = {text.module or name for name, text in COMMANDS.items()}
    sizes = {f: len((PACKAGE / "cli" / f"{f}.py").read_text().splitlines()) for f in files}
    assert {name: size for name, size in sizes.items() if size > 120} == {}


@pytest.mark.slow
def test_no_package_has_more_code_lines_than_its_ceiling():
    most = ceilings()
    assert {name: row["code"] for name, row in counts().items() if row["code"] > most[name]} == {}


ROOT_IMPORTS = ("pybullet", "matplotlib", "numba", "mujoco", "pinocchio")


def loaded_by(statement: str) -> set[str]:
    """Return which heavy packages a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*(m for m in {ROOT_IMPORTS} if m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_import_loads_neither_engine_nor_figures() -> None:
    assert not loaded_by("import robotid_sim") & {"pybullet", "matplotlib"}


def test_dynamics_need_no_engine_and_no_oracle() -> None:
    loaded = loaded_by("import robotid_sim.dynamics.dynamics, robotid_sim.model.export")
    assert loaded <= {"numba"}


def test_modules_have_a_docstring_and_are_short_enough_to_read() -> None:
    assert [path for path in MODULES if not ast.get_docstring(tree_of(path))] == []
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    most = {path: 750 if path.name == "kernels.py" else 400 for path in MODULES}  # share one cache
    assert [path for path, lines in sizes.items() if lines > most[path]] == []


def test_types_are_published() -> None:
    assert (PACKAGE / "py.typed").is_file()
