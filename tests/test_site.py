"""What the pages of the site and the workflows name is there; building the site takes minutes."""

import ast
import re
from pathlib import Path

import default_reasons
import pytest
import theory_links
import yaml
from sources import trees

import robotid_sim

REFERENCE = Path(__file__).parents[1] / "docs/reference"
MODULES = {
    module
    for page in REFERENCE.glob("*.md")
    for module in re.findall(r"^\.\. automodule:: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
}
PACKAGE = Path(robotid_sim.__file__).parent
PUBLIC = {name: getattr(robotid_sim, name) for name in robotid_sim.__all__}
WITHOUT_CODE = {"index", "notation", "method", "defaults"}
"""Pages of the theory that derive nothing."""


def test_the_module_of_a_public_name_is_documented() -> None:
    modules = {n: v.__module__ for n, v in PUBLIC.items() if hasattr(v, "__qualname__")}
    assert {name: module for name, module in modules.items() if module not in MODULES} == {}


def test_no_public_name_is_that_of_a_package() -> None:
    """An import of the package would hide the function."""
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    assert set(robotid_sim.__all__) & (packages | modules) == set()


def test_what_the_theory_links_to_exists_and_is_in_the_reference() -> None:
    names = theory_links.pages_of()  # raises where there is not a such object
    assert not [n for n in names if not any(f"{n}.".startswith(f"{m}.") for m in MODULES)]


def test_every_page_with_equations_links_to_code() -> None:
    linked = {page for pages in theory_links.pages_of().values() for page in pages}
    assert {page.stem for page in theory_links.THEORY.glob("*.md")} - WITHOUT_CODE == linked


def test_a_link_with_a_text_of_its_own_is_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("{py:func}`~a.b` and {py:attr}`words <a.C.d>`, `e.f`, {py:func}`~a.b`", "utf-8")
    assert theory_links.targets(page) == ["a.b", "a.C.d"]


def test_every_default_has_a_reason_and_every_reason_a_default() -> None:
    sections = default_reasons.rows_by_section()  # raises where one is without the other
    assert sum(map(len, sections.values())) == len(default_reasons.defaults())


@pytest.mark.parametrize("change", ["added", "dropped"])
def test_a_key_without_a_reason_is_told(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    known = default_reasons.defaults()
    texts = {**known, "design.new": "`1`"} if change == "added" else {"seed": known["seed"]}
    monkeypatch.setattr(default_reasons, "defaults", lambda: texts)
    with pytest.raises(ValueError, match=r"design\.(new|family)"):
        default_reasons.rows_by_section()


def test_a_script_that_is_not_there_is_told() -> None:
    assert default_reasons.measured_text(["design.py"]) == "`python bench/design.py`"
    with pytest.raises(ValueError, match=r"no bench/dream\.py"):
        default_reasons.measured_text(["dream.py"])


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


FOLDER = Path(__file__).parents[1] / ".github" / "workflows"


@pytest.mark.parametrize("name", ["ci.yml", "site.yml"])
def test_every_job_has_steps(name: str) -> None:
    jobs = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))["jobs"]
    assert all("run" in step or "uses" in step for job in jobs.values() for step in job["steps"])


def test_the_parts_of_the_check_are_all_of_it() -> None:
    jobs = yaml.safe_load((FOLDER / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    parts = jobs["check"]["strategy"]["matrix"]["part"]
    count = len(parts) - 2
    assert parts == ["lint", "site", *(f"tests {k}/{count}" for k in range(1, count + 1))]
