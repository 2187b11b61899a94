"""Checks as JUnit XML, which servers of continuous integration read."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from robotid_sim.files import write_text
from robotid_sim.pipeline.result import VerdictResult

JunitCase = tuple[str, str]
"""The name of a check, and why it fails; empty if it passes."""


def write_junit(path: Path | None, suite: str, cases: Sequence[JunitCase]) -> None:
    """Write checks as one suite of tests, named by what they are of, if there is a path.

    Raises `FileFormatError` if the file cannot be written.
    """
    if path is None:
        return
    failures = sum(bool(failure) for _, failure in cases)
    counts = {"name": suite, "tests": str(len(cases)), "failures": str(failures)}
    root = ElementTree.Element("testsuites")
    tests = ElementTree.SubElement(root, "testsuite", counts)
    for name, failure in cases:
        test = ElementTree.SubElement(tests, "testcase", classname=suite, name=name)
        if failure:
            ElementTree.SubElement(test, "failure", message=failure)
    ElementTree.indent(root)
    write_text(path, ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def verdict_cases(verdict: VerdictResult) -> list[JunitCase]:
    """Return the checks of a verdict."""
    cases = []
    for check in verdict.checks:
        least = "" if check.lower is None else f"{check.lower:.6g} to "
        text = f"{check.value} against {least}{check.limit:.6g} {check.message}".strip()
        cases.append((check.name, "" if check.passed else text))
    return cases
