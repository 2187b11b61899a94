"""Workflows of GitHub: they are YAML, and the parts that machines run side by side are all."""

from pathlib import Path

import pytest
import yaml

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
