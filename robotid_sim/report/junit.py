"""Checks as JUnit XML, which servers of continuous integration read."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from robotid_sim.files import write_text
from robotid_sim.pipeline.result import CheckResult, VerdictResult


class JunitCase(NamedTuple):
    """One check."""

    name: str
    failure: str = ""
    """Why it fails; empty if it passes."""

    @classmethod
    def of(cls, check: CheckResult) -> "JunitCase":
        """Return a check of a verdict."""
        if check.passed:
            return cls(check.name)
        least = "" if check.lower is None else f"{check.lower:.6g} to "
        text = f"{check.value} against {least}{check.limit:.6g} {check.message}"
        return cls(check.name, text.strip())


def write_junit(path: Path, suite: str, cases: Sequence[JunitCase]) -> None:
    """Write checks as one suite of tests, named by what they are of.

    Raises `FileFormatError` if the file cannot be written.
    """
    failures = sum(bool(case.failure) for case in cases)
    counts = {"name": suite, "tests": str(len(cases)), "failures": str(failures)}
    root = ElementTree.Element("testsuites")
    tests = ElementTree.SubElement(root, "testsuite", counts)
    for case in cases:
        test = ElementTree.SubElement(tests, "testcase", classname=suite, name=case.name)
        if case.failure:
            ElementTree.SubElement(test, "failure", message=case.failure)
    ElementTree.indent(root)
    write_text(path, ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")


def write_verdict(path: Path | None, suite: str, verdict: VerdictResult) -> None:
    """Write the checks of a verdict, if there is a path."""
    if path is not None:
        write_junit(path, suite, [JunitCase.of(check) for check in verdict.checks])
